"""What happens in the canvas of a viewer: picking, keys, highlights, surfaces, the camera.

May import `session`, `layers` and `qt`.
"""
