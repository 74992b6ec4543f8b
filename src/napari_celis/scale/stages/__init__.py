"""The stages of a block-wise run. Each works on one block at a time; doing it twice gives the same.

`stage` says what a stage is, `listing` which ones a run has; every other file is one stage.
"""
