"""Honest baselines for the three tasks: what a simple method gets, and how to start a server."""
