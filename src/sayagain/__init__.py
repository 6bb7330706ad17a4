"""sayagain benchmarks speech-to-text and text-to-speech providers and keeps every result.

The package imports nothing heavy: `import sayagain` costs no more than this file. The nouns live in
`sayagain.records`, and each later step of a run (metrics, ledger, artifact) is a package of its own.
"""

__version__ = "0.1.0"
