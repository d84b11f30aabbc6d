"""What is stored encrypted, encrypted anew."""

from evalplatform.ports.audit import AuditEntry
from evalplatform.stages.monitoring_context import MonitoringContext

ACTION = "secrets.rotated"
SUBJECT = "Authorization values of schedules"


def rotate_secrets(context: MonitoringContext, *, actor: str) -> int:
    """Encrypt every stored value of the database with the newest key, and return how many there are. All of them are, or none.

    Raises:
        MissingSecretError: the deployment has no key, and a value is stored.
        CredentialUnreadableError: no key of the deployment opens one of them.
        StorageUnavailableError: the store does not answer; trying again is safe.
    """
    entry = AuditEntry(actor=actor, action=ACTION, subject=SUBJECT, happened_at=context.clock.now())
    return context.store.reseal_headers(context.vault.reseal, entry=entry)
