"""The commands that ask a running hub: one for each operation, through its JSON interface.

They need neither a store nor a configuration.
"""
