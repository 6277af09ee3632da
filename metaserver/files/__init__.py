"""Files and cells as the hub writes them: compressed, for their owner alone, inert in spreadsheets.

This package imports nothing of the hub.
"""
