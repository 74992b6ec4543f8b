"""The experiments of the paper at our scale: one file per section of the report of `celis reproduce`.

`sections.SECTIONS` lists them, `run` goes through them and keeps their numbers, `page` writes them up.
"""
