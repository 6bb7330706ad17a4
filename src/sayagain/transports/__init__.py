"""Transports own sockets, pacing, clocks and timeouts; codecs tell them what to say."""
