"""The tabs of the panel, one package each.

A tab gets a `Workspace` (see `session.workspace`) and may use what it has; `Canvas.of(workspace)` is what is
drawn and clicked. It may import `canvas`, `session`, `layers` and `qt`, never another tab. `plugin.panel`
lists the tabs.
"""
