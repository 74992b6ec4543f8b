"""The state of one viewer: chosen data, preparation, engine, selection, decisions and where they are kept.

May import `layers` and `qt`.
"""
