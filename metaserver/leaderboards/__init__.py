"""Leaderboards: gold, live scores, what they are compared by, who sees them, and boards as files.

No lanes and no clock are known here. It may import the store, the tasks and all below.
"""
