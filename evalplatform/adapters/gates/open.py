"""Opens a gate store by its database URL."""

from evalplatform.adapters.gates.sql import SqlGateStore
from evalplatform.adapters.tables.schema import migrated_engine


def open_gate_store(url: str, *, project: str, tenant: str) -> SqlGateStore:
    """Return the project's gates in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id.
        tenant: whose project it is. Gates of other projects and tenants in the same database are as if they were not there.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlGateStore(migrated_engine(url), project=project, tenant=tenant)
