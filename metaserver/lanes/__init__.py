"""Lanes: each works through one phase's articles with one annotation server.

HTTP and the store are behind ports (`ports`). It may import `base`.
"""
