"""Volumes and sessions on disk.

`volumes` opens and writes every format; a format is one file. May import `core`, and runs no network.
"""
