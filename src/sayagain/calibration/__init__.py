"""How far this machine's own numbers are off: what sayagain reports, beside what a stand-in knows to be true."""
