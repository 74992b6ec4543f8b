"""Metrics, contingency tables, and the expert that follows the truth.

May import `core`.
"""
