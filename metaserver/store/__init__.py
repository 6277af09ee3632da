"""The store for data that outlives the process: SQLAlchemy Core on SQLite (WAL) or PostgreSQL.

It has tables and queries, no challenge rules.
"""
