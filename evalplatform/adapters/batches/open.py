"""Opens a batch store by its database URL."""

from evalplatform.adapters.batches.sql import SqlBatchStore
from evalplatform.adapters.tables.schema import migrated_engine


def open_batch_store(url: str, *, project: str) -> SqlBatchStore:
    """Return the project's batches in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id. Batches of other projects in the same database are not listed, and refused by name when asked for.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlBatchStore(migrated_engine(url), project=project)
