"""Compiled loops over arrays; the caller has checked and allocated everything."""
