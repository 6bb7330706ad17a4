"""Providers: one small file each, a codec without I/O, and the catalog of what can be measured."""
