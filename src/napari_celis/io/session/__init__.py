"""Session files: every decision about a volume, in order, in one file that outlasts the program."""
