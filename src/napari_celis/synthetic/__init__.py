"""Synthetic neuropil with its truth."""
