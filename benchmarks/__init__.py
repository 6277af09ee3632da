"""Measurements against named peers, each pair in one run: `make bench`."""
