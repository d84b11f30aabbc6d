"""Opens a monitoring store by its database URL."""

from evalplatform.adapters.monitoring.sql import SqlMonitoringStore
from evalplatform.adapters.tables.schema import migrated_engine


def open_monitoring_store(url: str, *, project: str, tenant: str) -> SqlMonitoringStore:
    """Return the project's schedules and nights in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id.
        tenant: whose project it is. Other tenants in the same database are as if they were not there.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlMonitoringStore(migrated_engine(url), project=project, tenant=tenant)
