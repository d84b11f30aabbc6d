"""Alembic's environment. It runs on the connection it is given, in that connection's transaction."""

from alembic import context

from evalplatform.adapters.tables.models import metadata
from evalplatform.adapters.tables.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # SQLite alters a table by copying it.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
