"""The store of data that outlives the process: SQLAlchemy Core on SQLite (WAL) or PostgreSQL."""
