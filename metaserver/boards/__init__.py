"""Scores and measures of what is stored: gold, leaderboards, response times, metrics.

Lanes, the clock and the visibility of scores are not part of it. It may import scoring, store,
tasks, exchange and all below.
"""
