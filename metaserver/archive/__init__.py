"""Archives of a hub's data as one zip: exported from its store, imported into a new one."""
