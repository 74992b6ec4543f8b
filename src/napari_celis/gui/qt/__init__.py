"""Widgets that know nothing of CELIS.

Imports nothing else in `gui`.
"""
