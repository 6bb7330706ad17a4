"""Local speech engines, each behind the Wyoming protocol in a process of its own."""
