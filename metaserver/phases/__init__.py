"""Running phases: their lanes, boards and jobs, and the clock that advances them.

It may import config, monitoring and all below.
"""
