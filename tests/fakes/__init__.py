"""Fakes of the hub's ports: one a port, named for it, with its variants as class methods."""
