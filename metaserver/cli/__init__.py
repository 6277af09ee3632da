"""The `metaserver` command: a module a subcommand, and what they share.

It may import everything below; nothing imports it.
"""
