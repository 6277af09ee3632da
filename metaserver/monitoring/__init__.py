"""Measurements of servers: their state, times and errors, by window, for pages and Prometheus.

It receives the events of lanes and stores nothing. It may import lanes, client and model.
"""
