"""Opens a ledger by its database URL."""

from evalplatform.adapters.ledger.sql import SqlLedger
from evalplatform.adapters.tables.schema import migrated_engine


def open_ledger(url: str, *, project: str) -> SqlLedger:
    """Return the project's ledger in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id. Rows of other projects in the same database are neither found nor listed.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlLedger(migrated_engine(url), project=project)
