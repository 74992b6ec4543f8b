"""The napari plugin: layers, panels and threads; no arithmetic on voxels.

Packages, each of which may import those after it: `plugin`, `tabs`, `canvas`, `session`, `layers`, `qt`.
"""
