"""The state of one viewer without widgets.

`workspace.Workspace` has an object for each subject: messages, data selection, preparation, run, preview,
selection, decisions. `session_recorder` writes decisions to disk, `run_resume` finds them again. `engine`
owns the agglomerator in a thread of its own; `background` has all other threads and processes. May import
`layers` and `qt`.
"""
