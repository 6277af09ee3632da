"""Leaderboards: gold, live scores, comparisons, visibility, and boards as files.

Lanes and the clock are not part of it. It may import the store, the tasks and all below.
"""
