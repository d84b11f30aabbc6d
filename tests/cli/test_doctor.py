"""`evalplatform doctor`: what is well, what is not, how to mend it, and nothing that is secret."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import register_partitions
from evalplatform.adapters.tables.engine import database_engine, write_transaction
from evalplatform.adapters.tables.schema import VERSION_TABLE
from evalplatform.cli.checkup import stores
from evalplatform.cli.checkup.checks import CHECKS
from evalplatform.cli.checkup.examination import examination
from evalplatform.cli.checkup.findings import Check, Finding, Patient, ok
from evalplatform.cli.checkup.settings import _packages
from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.project.load import load_project
from evalplatform.wiring import OpenedProject
from tests.cli.conftest import Command
from tests.support.starter import edited

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def of_this_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("EVALPLATFORM_") or name == "DAGSTER_HOME":
            monkeypatch.delenv(name)
    monkeypatch.setenv("EVALPLATFORM_WEB_URL", NOBODY)


def lines(out: str) -> dict[str, str]:
    """The last line of each check, by its name."""
    return {line.split(":")[0].split(maxsplit=1)[1]: line for line in out.splitlines() if not line.startswith(" ")}


def findings(project: Path, *checks: Check, seconds: float = 60) -> list[Finding]:
    with OpenedProject(load_project(project / "evalplatform.yaml")) as opened:
        return examination(checks, Patient(opened=opened, environ=dict(os.environ)), timeout_seconds=seconds)


def looked_at(project: Path, name: str) -> list[Finding]:
    return findings(project, *(check for check in CHECKS if check.name == name))


def test_a_new_project_is_well_and_only_the_web_app_is_missed(command: Command, project: Path):
    ran = command("doctor")
    assert ran.code == 0, ran.out
    states = {name: line.split()[0] for name, line in lines(ran.out).items()}
    assert states.pop("web app") == "warning"
    assert set(states.values()) == {"ok"}
    assert {
        "environment",
        "versions",
        "storage",
        "download links",
        "database",
        "disk",
        "dagster",
        "endpoint here",
        "secrets",
        "mail",
        "webhook",
        "entitlements",
    } == set(states)
    assert "Start `evalplatform serve`" in ran.out


def test_json_holds_every_finding_with_its_fix(command: Command, project: Path):
    found = json.loads(command("doctor", "--json").out)
    assert {"check", "state", "found", "fix"} == set(found[0])
    assert all((finding["fix"] is None) == (finding["state"] == "ok") for finding in found)


def test_without_a_project_nothing_can_be_answered(command: Command):
    ran = command("doctor")
    assert (ran.code, ran.out) == (2, "")


def test_looking_makes_no_database(command: Command, project: Path):
    command("doctor")
    assert not (project / ".evalplatform" / "evalplatform.db").exists()


def test_a_misspelt_variable_is_a_problem_that_names_the_one_that_was_meant(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EVALPLATFORM_STORGE", "s3://bucket")
    ran = command("doctor")
    assert ran.code == 1
    assert "problem  environment: EVALPLATFORM_STORGE is set, and nothing reads it.\n         Set EVALPLATFORM_STORAGE instead." in ran.out
    assert ran.err == ""  # it is said once


def test_settings_that_cannot_be_used_are_problems_and_hide_no_other_check(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "entitlements.yaml"
    file.write_text("default: {scenario_allowanse: 50}\n")
    for name, value in (("RUNS_PER_ENDPOINT", "abc"), ("WEB_URL", "ftp://me:s3cret@host"), ("ENTITLEMENTS", str(file))):
        monkeypatch.setenv(f"EVALPLATFORM_{name}", value)
    ran = command("doctor")
    assert ran.code == 1, ran.err
    assert "problem  environment: EVALPLATFORM_RUNS_PER_ENDPOINT: must be a whole number" in ran.out
    assert "problem  environment: EVALPLATFORM_WEB_URL: must be an http or https address" in ran.out
    assert f"problem  entitlements: {file}:1: default.scenario_allowanse: unknown key" in ran.out
    assert "s3cret" not in ran.out
    states = {name: line.split()[0] for name, line in lines(ran.out).items()}
    assert (states["storage"], states["database"], states["dagster"], states["web app"]) == ("ok", "ok", "ok", "warning")


def test_a_storage_that_is_a_url_without_its_colon_is_a_problem_and_makes_no_folder(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EVALPLATFORM_STORAGE", "s3//nope")
    before = sorted(project.iterdir())
    ran = command("doctor")
    assert ran.code == 1
    assert "problem  storage: storage: 's3//nope' begins like a URL and is none." in ran.out
    assert "Did you mean 's3://nope'?" in ran.out
    assert not (project / "s3").exists()
    assert sorted(project.iterdir()) == before


def test_a_database_that_is_down_is_a_problem_and_its_password_and_the_keys_are_never_shown(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EVALPLATFORM_DATABASE", "postgresql://me:pa55word-of-mine@127.0.0.1:9/db")
    monkeypatch.setenv("MODEL_KEY", "key-that-nobody-may-see")
    _with_remote_endpoint(project)
    ran = command("doctor")
    assert ran.code == 1
    assert lines(ran.out)["database"].startswith("problem  database: the database does not answer")
    assert lines(ran.out)["storage"].startswith("ok")
    assert "pa55word" not in ran.out + ran.err
    assert "key-that-nobody-may-see" not in ran.out + ran.err


def _with_remote_endpoint(project: Path, url: str = f"{NOBODY}/v1") -> None:
    remote = f"endpoints:\n  remote: {{provider: openai-compatible, base_url: '{url}', key_env: MODEL_KEY}}\n"
    edited(project / "evalplatform.yaml", ("endpoints:\n", remote))


def test_an_endpoint_without_its_key_and_without_a_server_has_both_problems(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MODEL_KEY", raising=False)
    _with_remote_endpoint(project)
    key, address = [finding for finding in looked_at(project, "endpoints") if finding.check == "endpoint remote"]
    assert (key.state, address.state) == ("problem", "problem")
    assert "MODEL_KEY" in key.found
    assert "cannot be reached: Connection refused" in address.found


def test_an_endpoint_is_connected_to_and_asked_nothing(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MODEL_KEY", "key-of-no-value")
    with _server() as (url, asked):
        _with_remote_endpoint(project, f"{url}/v1")
        assert {finding.state for finding in looked_at(project, "endpoints")} == {"ok"}
    assert asked == []


def test_a_web_app_that_answers_is_well(project: Path, monkeypatch: pytest.MonkeyPatch):
    with _server() as (url, asked):
        monkeypatch.setenv("EVALPLATFORM_WEB_URL", url)
        assert [finding.state for finding in looked_at(project, "web app")] == ["ok"]
    assert asked == ["/healthz"]


@contextmanager
def _server() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_project_without_endpoints_has_no_outage_of_them(command: Command, tmp_path: Path):
    (tmp_path / "evalplatform.yaml").write_text("version: 1\nproject: scenarios-alone\n")
    ran = command("doctor")
    assert "no answer" not in ran.out
    assert "problem" not in ran.out


def test_one_check_that_fails_and_one_that_hangs_hide_no_other(project: Path):
    release = threading.Event()

    def hangs(patient: Patient) -> list[Finding]:
        release.wait()
        return [ok("hangs", "at last")]

    def fails(patient: Patient) -> list[Finding]:
        raise RuntimeError("no such luck\nsecond line")

    try:
        found = findings(project, Check("hangs", hangs), Check("fails", fails), Check("well", lambda _: [ok("well", "it is")]), seconds=1)
    finally:
        release.set()
    assert [(finding.check, finding.state) for finding in found] == [("hangs", "problem"), ("fails", "problem"), ("well", "ok")]
    assert found[0].found == "no answer in 1 s."
    assert found[1].found == "the check failed: RuntimeError: no such luck"


def test_a_secret_of_the_environment_is_cleared_from_whatever_a_check_says(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DAGSTER_POSTGRES_PASSWORD", "hunter2-hunter2")
    monkeypatch.setenv("EVALPLATFORM_SECRET_KEYS", "newer-key,older-key")
    said = "cannot open postgresql://me:other-secret@host/db?password=third (hunter2-hunter2, older-key)"
    (finding,) = findings(project, Check("any", lambda _: [ok("any", said)]))
    assert finding.found == "cannot open postgresql://me:***@host/db?password=*** (***, ***)"


@pytest.mark.parametrize("said", ["pa55%2Fword%40mine", "pa55/word@mine"])
def test_a_password_is_cleared_as_the_address_has_it_and_as_the_database_names_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, said: str
):
    monkeypatch.setenv("EVALPLATFORM_DATABASE", "postgresql://me:pa55%2Fword%40mine@127.0.0.1:9/db")
    (finding,) = findings(project, Check("any", lambda _: [ok("any", f"the server refuses {said}.")]))
    assert finding.found == "the server refuses ***."


def test_a_database_of_a_newer_version_is_a_problem(project: Path):
    from sqlalchemy import text

    with OpenedProject(load_project(project / "evalplatform.yaml")) as opened:
        opened.ledger  # noqa: B018  # makes the database
        engine = database_engine(opened.database_url)
        with write_transaction(engine) as connection:
            connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))  # noqa: S608
        engine.dispose()
    (finding,) = looked_at(project, "database")
    assert finding.state == "problem"
    assert "newer than this version's" in finding.found


def test_a_disk_that_runs_full_is_warned_of_and_then_a_problem(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stores, "FEW_FREE_BYTES", 10**20)
    assert looked_at(project, "disk")[0].state == "warning"
    monkeypatch.setattr(stores, "TOO_FEW_FREE_BYTES", 10**20)
    assert looked_at(project, "disk")[0].state == "problem"


def test_an_instance_that_dev_made_is_well_once_its_partitions_are_registered(project: Path):
    loaded = load_project(project / "evalplatform.yaml")
    home = prepare_dagster_home(loaded)
    states = {finding.check: finding for finding in looked_at(project, "dagster")}
    assert states["dagster"].state == "ok"
    assert states["partitions"].state == "warning"
    assert "`evalplatform sync`" in (states["partitions"].fix or "")
    with dg.DagsterInstance.from_config(str(home)) as instance:
        register_partitions(instance, loaded)
    assert {finding.state for finding in looked_at(project, "dagster")} == {"ok"}


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("{}", "nobody notices when a run's process dies"),
        ("run_monitoring: {enabled: true}", "a cancelled run keeps its pool's slot for ever"),
        ("nux: {enabled: false}", "telemetry is sent to Dagster's makers"),
        ("concurrency: {pools: {default_limit: 3}}", "3 runs may ask an endpoint at once, each of them with 1/1 of its limits"),
        ("nux: {enabled: true}", "any number of runs may ask an endpoint at once"),
    ],
)
def test_settings_of_dagster_that_lose_something_are_warned_of(project: Path, settings: str, found: str):
    home = project / ".evalplatform" / "dagster"
    home.mkdir(parents=True)
    (home / "dagster.yaml").write_text(settings)
    warned = [finding for finding in looked_at(project, "dagster") if finding.state == "warning"]
    assert any(found in finding.found for finding in warned)


def test_pools_need_no_limit_where_one_run_goes_at_a_time_at_all(project: Path):
    home = project / ".evalplatform" / "dagster"
    home.mkdir(parents=True)
    (home / "dagster.yaml").write_text("concurrency: {runs: {max_concurrent_runs: 1}}")
    assert not any("an endpoint" in finding.found for finding in looked_at(project, "dagster"))


def test_a_dagster_home_without_settings_is_a_problem(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (finding,) = looked_at(project, "dagster")
    assert finding.state == "problem"
    assert "has no dagster.yaml" in finding.found


def test_entitlements_are_shown_as_they_hold(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    granted = tmp_path / "entitlements.yaml"
    granted.write_text("default: {withheld: [drift.history], scenario_allowance: 50}\n")
    monkeypatch.setenv("EVALPLATFORM_ENTITLEMENTS", str(granted))
    (finding,) = looked_at(project, "entitlements")
    assert "without drift.history; at most 50 scenarios" in finding.found


@pytest.mark.parametrize(
    ("requirements", "state", "found"),
    [
        (["dagster==1.13.27", "dagster-postgres==0.29.27", "pandas>=3"], "ok", "dagster 1.13.27"),
        (["dagster==1.13.28"], "problem", "dagster is 1.13.27, where 1.13.28 belongs"),
        (['no-such-package==1.0; extra == "x"', "dagster==1.13.27"], "ok", "dagster 1.13.27"),
    ],
)
def test_a_package_of_another_version_than_the_one_released_with_is_a_problem(requirements: list[str], state: str, found: str):
    (finding,) = _packages(requirements)
    assert finding.state == state
    assert found in finding.found
