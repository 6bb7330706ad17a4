"""Datasets: pinned items, their manifests, loading with hash checks, and importers."""

from sayagain.datasets.catalog import Entry, available, builtin, describe
from sayagain.datasets.loading import load, read_pcm, verify
from sayagain.datasets.manifest import Dataset
from sayagain.datasets.sampling import sample

__all__ = ["Dataset", "Entry", "available", "builtin", "describe", "load", "read_pcm", "sample", "verify"]
