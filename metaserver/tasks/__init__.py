"""Tasks that a challenge can run: one module each, found by the entry point `metaserver.tasks`."""
