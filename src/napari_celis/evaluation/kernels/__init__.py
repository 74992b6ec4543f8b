"""Compiled loops of the evaluation."""
