"""Files and cells that the hub writes: compressed, readable by their owner, safe in spreadsheets.

It may import nothing of the hub.
"""
