"""Scores and measures computed from the store: gold, leaderboards, response times, metrics.

Lanes, the clock and score visibility are not part of it. It may import scoring, store, tasks,
exchange and all below.
"""
