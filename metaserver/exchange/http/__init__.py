"""Client of annotation servers: calls over HTTP that are timed, bounded and checked.

It makes single calls; lanes repeat them, and the store keeps them, and the answers that servers
bring by themselves.
"""
