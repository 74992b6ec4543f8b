"""The napari plugin: layers, panels and threads; no arithmetic on voxels."""
