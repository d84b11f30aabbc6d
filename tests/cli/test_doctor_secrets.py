"""`evalplatform doctor` on what is stored encrypted: a night that could not send its agent's Authorization value is foreseen."""

from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from evalplatform.adapters.vault import open_vault
from evalplatform.cli.checkup.checks import CHECKS
from evalplatform.cli.checkup.examination import examination
from evalplatform.cli.checkup.findings import Finding, Patient
from evalplatform.cli.checkup.loading import usable_project
from evalplatform.project.deployment import DeploymentSettings
from evalplatform.stages.authorization import sealed_authorization
from evalplatform.wiring import OpenedProject
from tests.support.monitoring_values import ENTRY, schedule

VALUE = "Bearer super-secret-value-5678"
OLD_KEY, NEW_KEY = (urlsafe_b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def looked_at(project: Path, keys: str | None, *, sealed_with: str | None = None) -> list[Finding]:
    """What the doctor says under these keys; with `sealed_with`, of a schedule whose value was stored under that key."""
    environ = {} if keys is None else {"EVALPLATFORM_SECRET_KEYS": keys}
    loaded, refused = usable_project(project / "evalplatform.yaml", environ)
    with OpenedProject(loaded) as opened:
        if sealed_with is not None:
            vault = open_vault(DeploymentSettings(secret_keys=sealed_with))
            auth = sealed_authorization(vault, VALUE, address="https://agent.example.com:443")
            opened.monitoring_store.save(schedule(auth=auth), replaces=None, entry=ENTRY)
        checks = [check for check in CHECKS if check.name == "secrets"]
        return examination(checks, Patient(opened, environ, refused), timeout_seconds=60)


def test_without_a_stored_value_no_key_is_needed_and_looking_makes_no_database(project: Path) -> None:
    (before,) = looked_at(project, None)
    assert (before.state, list(project.rglob("*.db"))) == ("ok", [])
    with OpenedProject(usable_project(project / "evalplatform.yaml", {})[0]) as opened:
        opened.monitoring_store.save(schedule(), replaces=None, entry=ENTRY)
    (found,) = looked_at(project, None)
    assert (found.state, found.found) == ("ok", "no Authorization value is stored.")


def test_a_value_that_one_of_the_keys_opens_is_well_and_not_shown(project: Path) -> None:
    (found,) = looked_at(project, f"{NEW_KEY},{OLD_KEY}", sealed_with=OLD_KEY)
    assert (found.state, found.found) == ("ok", "1 stored Authorization value can be read.")


@pytest.mark.parametrize(("keys", "why"), [(NEW_KEY, "no key of EVALPLATFORM_SECRET_KEYS opens it"), (None, "is not set")])
def test_a_value_that_no_key_opens_is_a_problem_of_its_schedule(project: Path, keys: str | None, why: str) -> None:
    (found,) = looked_at(project, keys, sealed_with=OLD_KEY)
    assert found.state == "problem"
    assert "schedule 'nightly'" in found.found
    assert why in found.found
    assert found.fix is not None
    assert "evalplatform monitor add nightly --auth-env" in found.fix
    assert VALUE not in found.model_dump_json()


def test_a_key_that_is_none_is_a_problem_and_not_shown(project: Path) -> None:
    (found,) = looked_at(project, f"{NEW_KEY},garbage-key")
    assert found.state == "problem"
    assert "EVALPLATFORM_SECRET_KEYS: holds a key, number 2, that is not 32 bytes" in found.found
    assert "garbage-key" not in found.model_dump_json()
