"""Dagster's instance as a deployment opens it, on a real Postgres."""

from pathlib import Path

import dagster as dg
import pytest

from tests.support.deployment import deployed
from tests.support.servers import PostgresServer
from tests.support.starter_project import StarterProject

pytestmark = pytest.mark.system


def test_a_suite_is_materialized_and_recorded_in_postgres(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    folder = tmp_path / "project"
    deployment = deployed("production/dagster.yaml", tmp_path, monkeypatch, postgres=postgres, project=folder)
    with deployment.instance() as instance:
        assert instance.event_log_storage.postgres_url.startswith("postgresql+psycopg2://")  # type: ignore[attr-defined]
        starter = StarterProject.written_to(folder)
        starter.instance = instance
        starter.register()
        made = starter.materialize_all()
    assert {"arm_answers", "judged_scores", "arm_summary", "arms_report"} <= set(made)
    with deployment.instance() as instance:  # another process would see the same
        answers = dg.AssetKey(["suites", "kettle", "arm_answers"])
        assert instance.get_materialized_partitions(answers) == {starter.cell_key}
        assert instance.run_monitoring_enabled
        assert instance.run_monitoring_settings["free_slots_after_run_end_seconds"] > 0
        assert instance.run_retries_enabled
        assert not instance.run_retries_retry_on_asset_or_op_failure
        assert not instance.telemetry_enabled
    assert list((deployment.home / "logs").iterdir())


def test_without_the_scheme_dagster_would_record_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer) -> None:
    """Should a later version of Dagster choose the driver by itself, the line can go."""
    without = {"      scheme: postgresql+psycopg2": "      #"}
    deployment = deployed("production/dagster.yaml", tmp_path, monkeypatch, postgres=postgres, project=tmp_path, replacements=without)
    with deployment.instance() as instance, pytest.raises(Exception, match=r"psycopg|insert"):
        instance.add_dynamic_partitions("cells", ["a"])
        dg.materialize([_nothing], instance=instance)


@dg.asset
def _nothing() -> None:
    """An asset of no content."""
