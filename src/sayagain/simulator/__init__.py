"""A stand-in for speech providers: it speaks their protocols on loopback, with scripted delays and faults.

It is for rehearsals and tests, and says so in every response. Nothing here is imported by a run;
`sayagain simulate` starts it in a process of its own. docs/simulator.md is the guide.
"""
