"""Opens a label store by its database URL."""

from evalplatform.adapters.labels.sql import SqlLabelStore
from evalplatform.adapters.tables.schema import migrated_engine


def open_label_store(url: str, *, project: str) -> SqlLabelStore:
    """Return the project's labels in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id. Labels of other projects in the same database are neither found nor listed.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlLabelStore(migrated_engine(url), project=project)
