"""Lanes: each works through one phase's articles with one annotation server."""
