"""The store of data that outlives the process: SQLAlchemy Core on SQLite (WAL).

It has tables and queries, no rules of a challenge. It may import wire, model and files.
"""
