"""Protocols that annotation servers speak, as plug-ins: articles to requests, answers to values.

A protocol does no I/O of its own: it is given a channel. It may import wire, uniprot and model.
"""
