"""Threads and processes that work while the window answers.

Imports nothing else in `gui`.
"""
