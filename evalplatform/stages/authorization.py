"""A schedule's Authorization value: sealed with the address that it may be sent to, and opened for no other."""

import json

from evalplatform.kernel.errors import CredentialUnreadableError
from evalplatform.ports.vault import Vault
from evalplatform.runs.schedule import LAST_CHARS, Schedule, StoredHeader


def sealed_authorization(vault: Vault, value: str, *, address: str) -> StoredHeader:
    """Return an Authorization value as it is stored. Raises MissingSecretError where the deployment has no key.

    Of a value so short that its last characters would be half of it or more, fewer are shown.
    """
    shown = value[-min(LAST_CHARS, len(value) // 3) :] if len(value) >= 3 else ""
    return StoredHeader(token=vault.seal(json.dumps({"address": address, "value": value})), last_chars=shown, address=address)


def opened_authorization(vault: Vault, schedule: Schedule) -> str | None:
    """Return the value to send to a schedule's endpoint; None where it has none.

    Raises:
        CredentialUnreadableError: no key opens it, or it was stored for another address than the endpoint's.
    """
    if schedule.auth is None:
        return None
    try:
        stored = json.loads(vault.open(schedule.auth.token))
        address, value = str(stored["address"]), str(stored["value"])
    except (ValueError, KeyError, TypeError):
        raise CredentialUnreadableError("the stored Authorization value is not what was stored.") from None
    if address != schedule.endpoint_address:
        raise CredentialUnreadableError(
            f"the stored Authorization value is for {address}, and the endpoint is {schedule.endpoint_address}."
        )
    return value
