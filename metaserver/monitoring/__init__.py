"""What is measured of servers: their state, times and errors, by window, for pages and Prometheus.

It hears what lanes publish and stores nothing. It may import lanes, client and model.
"""
