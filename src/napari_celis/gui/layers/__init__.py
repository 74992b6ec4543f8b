"""Volumes as napari layers, and back; nothing else turns one into the other.

Imports nothing else in `gui`.
"""
