"""A Dagster home that cannot be used: commands and doctor name what to mend, and no secret."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.kernel.errors import StorageUnavailableError
from tests.cli.conftest import Command

PRODUCTION = Path(__file__).parents[2] / "infra" / "production" / "dagster.yaml"
PASSWORD = "sesame-of-no-value"
COMMANDS = [("sync",), ("sync", "--dry-run"), ("backfill",), ("backfill", "--submit")]


@pytest.fixture(autouse=True)
def of_this_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "USER", "PASSWORD", "DB"):
        monkeypatch.delenv(f"DAGSTER_POSTGRES_{name}", raising=False)
    monkeypatch.setenv("EVALPLATFORM_WEB_URL", "http://127.0.0.1:9")


@pytest.fixture
def deployed_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the settings of a deployment, its variables set but for where Postgres is."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(PRODUCTION, home)
    own = {"DAGSTER_HOME": home, "DAGSTER_POSTGRES_USER": "me", "DAGSTER_POSTGRES_DB": "runs", "DAGSTER_COMPUTE_LOGS": home / "logs"}
    for name, value in own.items():
        monkeypatch.setenv(name, str(value))
    return home


@pytest.fixture
def down(deployed_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port that the settings name, at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can take it
        port = bound.getsockname()[1]
        file = deployed_home / "dagster.yaml"
        file.write_text(file.read_text().replace("port: 5432", f"port: {port}"))
        monkeypatch.setenv("DAGSTER_POSTGRES_HOST", "127.0.0.1")
        monkeypatch.setenv("DAGSTER_POSTGRES_PASSWORD", PASSWORD)
        yield port


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("named", "why"), [("not/absolute", "is a relative path"), ("/not/there", "is no folder that is there")])
def test_a_dagster_home_that_is_none_is_refused_by_name(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], named: str, why: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", named)
    ran = command(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: DAGSTER_HOME: must be the absolute path of a folder that is there; {named!r} {why}.\n"


@pytest.mark.parametrize("named", ["not/absolute", "/not/there"])
def test_doctor_calls_a_dagster_home_that_is_none_a_problem(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", named)
    ran = command("doctor")
    assert ran.code == 1
    assert "problem  dagster: DAGSTER_HOME: must be the absolute path of a folder that is there" in ran.out


@pytest.mark.parametrize("arguments", [*COMMANDS, ("doctor",)], ids=" ".join)
def test_variables_of_the_settings_that_are_not_set_are_named(
    command: Command, project: Path, deployed_home: Path, arguments: tuple[str, ...]
) -> None:
    ran = command(*arguments)
    assert ran.code == (1 if arguments == ("doctor",) else 2)
    sentence = "dagster.yaml: names DAGSTER_POSTGRES_HOST, DAGSTER_POSTGRES_PASSWORD, which the environment does not hold; set them."
    assert sentence in ran.out + ran.err


@pytest.mark.parametrize("arguments", [*COMMANDS, ("doctor",)], ids=" ".join)
def test_a_database_of_dagster_that_is_down_is_named_at_once_and_without_its_password(
    command: Command, project: Path, down: int, arguments: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    ran = command(*arguments)
    assert ran.code == (1 if arguments == ("doctor",) else 2)
    said = ran.out + ran.err
    assert f"the database of Dagster postgresql+psycopg2://me:***@127.0.0.1:{down}/runs does not answer: " in said
    assert "Connection refused" in said
    assert PASSWORD not in said
    assert "unforeseen" not in said
    assert caplog.records == []  # Dagster's own tries, with a warning each, did not begin


def test_settings_of_dagster_that_it_does_not_take_are_named_with_their_file(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / "dagster.yaml").write_text("telemetri: {enabled: false}\n")
    ran = command("sync")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {tmp_path}/dagster.yaml: ")
    assert "telemetri" in ran.err


def test_a_database_of_dagster_that_goes_away_while_it_is_used_is_an_outage_too(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageUnavailableError, match=r"does not answer: server closed the connection"),
        open_instance(tmp_path) as instance,
    ):
        assert instance.get_runs(limit=1) == []
        raise OperationalError("SELECT 1", {}, Exception("server closed the connection\nunexpectedly"))
