"""Phases at work: their lanes, their boards, their jobs, and the clock that drives them.

It may import everything but the operations and what is above them.
"""
