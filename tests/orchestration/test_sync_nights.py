"""`evalplatform sync` and `evalplatform doctor` of nights: what Dagster lost of them, and settings that let them starve the rest."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets.monitoring_materialized import monitoring_key
from evalplatform.cli.checkup.findings import Patient
from evalplatform.cli.main import exit_code
from evalplatform.cli.orchestration.checks import look_at_dagster
from evalplatform.cli.orchestration.home import INSTANCE_SETTINGS, prepare_dagster_home
from sensors.monitoring import monitoring_sensor
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.planned_agent import running_agent


@pytest.fixture
def monitored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MonitoredProject]:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with running_agent() as agent:
        yield MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)


def warned_of(monitored: MonitoredProject) -> str:
    with monitored.runs.opened() as opened:
        findings = look_at_dagster(Patient(opened, environ={}))
    return " ".join(finding.found for finding in findings if finding.state == "warning")


def test_nights_that_dagster_lost_are_reported_from_the_store_with_their_checks(
    monitored: MonitoredProject, capsys: pytest.CaptureFixture[str]
) -> None:
    with dg.DagsterInstance.from_config(str(prepare_dagster_home(monitored.runs.project))) as instance:
        monitored.runs.instance = instance
        monitored.schedule()
        monitored.at(FIRST + timedelta(days=1))
        monitored.look(monitoring_sensor(monitored.runs.file))
        (missed,) = monitored.nights()
        assert monitored.made("monitoring_nights") == {missed.key}
        instance.wipe_assets([monitoring_key("monitoring_nights")])
        instance.delete_dynamic_partition("monitoring.nights", missed.key)
        assert exit_code(["sync", "--project", str(monitored.runs.folder), "--dry-run"]) == 0
        assert "nights: would be reported to Dagster from the store: 1 partition" in capsys.readouterr().out
        assert monitored.made("monitoring_nights") == set()
        assert exit_code(["sync", "--project", str(monitored.runs.folder)]) == 0
        said = capsys.readouterr().out
        assert f"2 check results that it did not know, failed: could_check of monitoring_nights/{missed.key}" in said
        assert monitored.made("monitoring_nights") == {missed.key}
        assert missed.key in instance.get_dynamic_partitions("monitoring.nights")
        assert not monitored.passed("monitoring_nights", "could_check", missed.key)
        assert exit_code(["sync", "--project", str(monitored.runs.folder)]) == 0
        assert "nights:" not in capsys.readouterr().out


def test_doctor_warns_where_nights_may_take_every_place_or_a_dead_run_is_never_found(monitored: MonitoredProject) -> None:
    home = prepare_dagster_home(monitored.runs.project)
    assert "nights" not in warned_of(monitored)
    assert "going on for ever" not in warned_of(monitored)
    launcher, _, _ = INSTANCE_SETTINGS.partition("run_launcher:")
    (home / "dagster.yaml").write_text(launcher.replace("limit: 1 #", "limit: 2 #"))
    assert "nights may take every place of the run queue" in warned_of(monitored)
    assert "a run that dies with its code server reads as going on for ever" in warned_of(monitored)
