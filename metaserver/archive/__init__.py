"""Archives of a hub's data as one zip: exported from its store, imported into a new one.

Plain copies of a store are in `store.copies`. It may import curation, phases and all below.
"""
