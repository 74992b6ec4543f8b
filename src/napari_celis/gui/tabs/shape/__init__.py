"""The tab Shape: what the descriptors see around one position."""
