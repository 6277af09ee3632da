"""Running phases: their lanes, boards and jobs, and the clock that advances them.

It may import everything but the operations and what is above them.
"""
