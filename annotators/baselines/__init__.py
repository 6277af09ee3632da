"""Baselines, one a task: the result of a simple method, and examples of a server."""
