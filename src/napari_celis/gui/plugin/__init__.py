"""What the manifest of napari names: reader, writer, sample and panel; and the windows of the command line.

May import everything in `gui`; nothing in `gui` imports it.
"""
