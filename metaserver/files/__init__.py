"""Files and cells that the hub writes: compressed, readable by their owner, safe in spreadsheets.

This package imports nothing of the hub.
"""
