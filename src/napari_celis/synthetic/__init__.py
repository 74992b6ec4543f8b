"""Synthetic neuropil with its truth.

`phantom.make_phantom` makes it. May import `core`.
"""
