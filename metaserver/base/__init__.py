"""Values, errors, states and settings that every package shares; small helpers for files.

It may import nothing of the hub.
"""
