"""Volumes as napari layers, and back.

Imports nothing else in `gui`.
"""
