"""Protocols that annotation servers speak, as plug-ins: articles to requests, answers to values.

A protocol does no I/O itself: it gets a channel.
"""
