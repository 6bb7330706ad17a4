"""Reports: what a person sees of a run."""
