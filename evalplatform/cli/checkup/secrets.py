"""A check of what is stored encrypted: whether this process has keys, and whether they open it."""

from collections.abc import Sequence
from pathlib import Path

from evalplatform.cli.checkup.findings import Finding, Patient, ok, problem
from evalplatform.kernel.errors import CredentialUnreadableError, InputError
from evalplatform.kernel.text import plural
from evalplatform.project.deployment import variable_of
from evalplatform.wiring import SQLITE_PREFIX

CHECK = "secrets"
VARIABLE = variable_of("secret_keys")


def look_at_secrets(patient: Patient) -> Sequence[Finding]:
    """Open each Authorization value of the project's schedules, as a night would, and show none."""
    from evalplatform.adapters.vault import open_vault
    from evalplatform.stages.authorization import opened_authorization

    try:
        vault = open_vault(patient.opened.project.deployment)
    except InputError as error:
        return [problem(CHECK, str(error), fix="Correct it; until then no schedule can be read, and no night runs.")]
    if not _has_newest_schema(patient.opened.database_url):
        return [ok(CHECK, "no Authorization value was looked for: the database is made or migrated by the next run.")]
    stored = [schedule for schedule in patient.opened.monitoring_store.schedules() if schedule.auth is not None]
    unreadable = []
    for schedule in stored:
        try:
            opened_authorization(vault, schedule)
        except CredentialUnreadableError as error:
            again = f"`evalplatform monitor add {schedule.id} --auth-env VARIABLE`"
            fix = f"Put the key that it was stored with into {VARIABLE}, or save it again by {again}."
            unreadable.append(problem(CHECK, f"schedule {schedule.id!r}: {error}", fix=fix))
    if unreadable:
        return unreadable
    if stored:
        return [ok(CHECK, f"{plural(len(stored), 'stored Authorization value')} can be read.")]
    return [ok(CHECK, "no Authorization value is stored.")]


def _has_newest_schema(url: str) -> bool:
    """Return whether schedules can be read without making or migrating the database, which looking must not do."""
    from evalplatform.adapters.tables.probe import probe_database
    from evalplatform.adapters.tables.schema import HEAD_REVISION

    if url.startswith(SQLITE_PREFIX) and not Path(url.removeprefix(SQLITE_PREFIX)).exists():
        return False
    return probe_database(url) == HEAD_REVISION
