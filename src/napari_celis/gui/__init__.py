"""The napari plugin: layers, panels and threads; no arithmetic on voxels.

Each package may import those below it, and nothing above it::

    plugin    what the manifest names: reader, writer, sample, panel; windows of `celis view` and `celis demo`
    tabs      one package per tab of the panel; tabs never import each other
    canvas    what is drawn and clicked in the canvas: picking, keys, highlights, surfaces, camera
    session   the state of one viewer without widgets: data, preparation, engine, selection, decisions
    layers    volumes as napari layers, and back
    qt        widgets that know nothing of CELIS
"""
