"""Alembic's entry point: runs the migrations on the connection that the hub passes."""

from alembic import context

from metaserver.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
