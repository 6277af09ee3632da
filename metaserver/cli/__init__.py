"""The `metaserver` command: a module a subcommand, and what they share.

Nothing imports it. It may import web, scoring, annotators and all below.
"""
