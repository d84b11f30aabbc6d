"""Whether a database answers and takes writes, without changing what it holds."""

from sqlalchemy import column, table, update

from evalplatform.adapters.tables.engine import database_engine, read_transaction, write_transaction
from evalplatform.adapters.tables.schema import VERSION_TABLE, stored_revision


def probe_database(url: str) -> str | None:
    """Connect, write what is there already, and return the schema revision; None where there is no schema yet.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: it refuses.
    """
    engine = database_engine(url)
    try:
        with read_transaction(engine) as connection:
            revision = stored_revision(connection)
        if revision is not None:
            with write_transaction(engine) as connection:
                connection.execute(update(table(VERSION_TABLE, column("version_num"))).values(version_num=column("version_num")))
        return revision
    finally:
        engine.dispose()
