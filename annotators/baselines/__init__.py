"""Honest baselines, one a task: what a simple method gets, and how to start a server."""
