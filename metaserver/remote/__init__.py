"""The commands that ask a running hub: one for each operation, through its JSON interface."""
