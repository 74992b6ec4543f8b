"""Volumes and sessions on disk."""
