"""Datasets: pinned items, their manifests, loading with hash checks, and importers."""
