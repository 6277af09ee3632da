"""The commands that ask a running hub: one per operation, through its JSON interface.

They need neither a store nor a configuration, except for `challenges check --offline`.
"""
