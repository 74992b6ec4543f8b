"""The tabs of the panel, a package each.

A tab may import `canvas`, `session`, `layers` and `qt`, never another tab.
"""
