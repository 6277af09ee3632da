"""Leaderboards: gold, live scores, comparisons, gold changes, and boards as files.

Lanes, the clock and the visibility of scores are not part of it. It may
import scoring, store, tasks and all below.
"""
