"""The tab Agglomerate: run, hold, step, go back, and watch what happens."""
