"""Metrics: pure functions from a finished case to results, one module a metric family."""
