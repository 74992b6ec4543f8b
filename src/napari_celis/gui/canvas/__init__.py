"""What is drawn and clicked in the canvas of one viewer.

`canvas.Canvas` has an object for each: the segmentation view, highlights and surfaces, the picker that turns
a click into a selection, the keys, the camera. May import `session`, `layers` and `qt`.
"""
