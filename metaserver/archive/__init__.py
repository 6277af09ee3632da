"""Everything a hub holds as one zip: written from its store, read back into an empty one."""
