"""Local speech engines, each behind the Wyoming protocol in a process of its own.

Two halves that share only the registry. The server half (`python -m sayagain.engines NAME`) runs inside the
engine's process: it loads one engine and serves one connection at a time. The host half (`host`, `process`,
`endpoint`) runs in the measuring process: it starts, leases, replaces and ends those processes and never imports
an engine, so that an engine's crash, hang or licence stays on its side of the socket.
"""
