"""`evalplatform sync`: the Dagster instance as the project file and the object store have it."""

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus  # what the UI asks; there is no public way to
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.loader import LoadingContextForTest
from dagster._core.remote_origin import InProcessCodeLocationOrigin, RemoteInstigatorOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, SensorInstigatorData
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from evalplatform.cli.main import exit_code
from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.kernel.digests import json_digest
from evalplatform.project.key_register import meaning_of
from sensors.partitions import partitions_sensor
from tests.support.starter_project import StarterProject, key_of

SCORED = ("judged_scores", "arm_summary", "arms_report")


class Synced(StarterProject):
    """The starter project with the instance in its own folder that commands use."""

    def sync(self, capsys: pytest.CaptureFixture[str], *flags: str) -> list[str]:
        assert exit_code(["sync", "--project", str(self.folder), *flags]) == 0
        return capsys.readouterr().out.splitlines()

    def state(self) -> dict[str, set[str]]:
        return {name: self.instance.get_materialized_partitions(key_of(name)) for name in ("arm_answers", *SCORED)}


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Synced]:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    folder = tmp_path / "project"
    starter = StarterProject.written_to(folder)
    with dg.DagsterInstance.from_config(str(prepare_dagster_home(starter.project))) as instance:
        yield Synced(folder, instance)


def test_a_new_project_is_registered_with_labels_and_a_second_sync_finds_nothing(
    synced: Synced, capsys: pytest.CaptureFixture[str]
) -> None:
    cell, judge = synced.cell_key, synced.score_key.keys_by_dimension["judge"]
    digest = synced.project.judge("facts").prompt_digest[:19]
    judge_labels = f"kind overlap, model overlap, provider offline, endpoint here, prompt_digest {digest}"
    would = synced.sync(capsys, "--dry-run")
    assert would[:2] == [
        f"kettle: would be added: cell {cell} (reader: model extractive, provider offline, endpoint here, harness arms-runner)",
        f"kettle: would be added: judge {judge} (facts: {judge_labels})",
    ]
    assert synced.instance.get_dynamic_partitions("kettle.cells") == []
    assert synced.sync(capsys)[:2] == [line.replace("would be ", "") for line in would[:2]]
    assert synced.instance.get_dynamic_partitions("kettle.cells") == [cell]
    assert synced.instance.get_dynamic_partitions("kettle.judges") == [judge]
    assert synced.sync(capsys)[0] == "kettle: everything is as the project file asks"


def test_what_is_gone_from_the_file_is_retired_and_named(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    synced.sync(capsys)
    old = synced.cell_key
    synced.edit({"cells.reader.sampling.max_tokens": 30})
    (suite,) = json.loads("\n".join(synced.sync(capsys, "--json")))["suites"]
    assert [key["key"] for key in suite["added"]] == [synced.cell_key]
    assert suite["retired"] == [
        {
            "owner": "cell",
            "key": old,
            "id": "reader",
            "labels": {"model": "extractive", "provider": "offline", "endpoint": "here", "harness": "arms-runner"},
        }
    ]
    assert synced.instance.get_dynamic_partitions("kettle.cells") == [synced.cell_key]


def test_a_file_that_cannot_be_used_retires_nothing(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    synced.sync(capsys)
    before = synced.instance.get_dynamic_partitions("kettle.cells")
    synced.file.write_text(synced.file.read_text() + "suites: [unfinished\n")
    assert exit_code(["sync", "--project", str(synced.folder)]) == 2
    assert "evalplatform.yaml" in capsys.readouterr().err
    assert synced.instance.get_dynamic_partitions("kettle.cells") == before


def test_a_key_that_stands_for_something_else_stops_the_sync_before_anything_is_registered(
    synced: Synced, capsys: pytest.CaptureFixture[str]
) -> None:
    with synced.opened() as opened:
        meaning = meaning_of(synced.project.cell("reader"), first_seen=opened.clock.now())
        behaviour = {**meaning.behaviour, "model": "another"}
        opened.store.delete(f"keys/cells/{meaning.key}.json")
        opened.key_register.claim(meaning.with_changes(behaviour=behaviour, digest=json_digest(behaviour)))
    assert exit_code(["sync", "--project", str(synced.folder)]) == 2
    assert "error: cells.reader: the partition key 'reader-26ddb5' stands for another cell already" in capsys.readouterr().err
    assert synced.instance.get_dynamic_partitions("kettle.judges") == []


def test_lost_events_come_back_from_the_store_with_their_versions(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    """G09: an event log that was cut says that nothing was made; the store's manifests say what was."""
    synced.register()
    synced.edit({"suites.kettle.checks": {"empty_retrieval": {"most_empty_rate": 0.1}}})
    synced.materialize_all()
    before, versions, checks = synced.state(), data_versions(synced), check_results(synced)
    assert False in checks.values()
    assert before["arms_report"] == {str(synced.score_key)}

    for database in prepare_dagster_home(synced.project).rglob("*.db"):
        with sqlite3.connect(database) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in tables & {"event_logs", "asset_keys", "asset_event_tags", "asset_check_executions"}:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - of the names above
        connection.close()
    nothing: dict[str, set[str]] = {name: set() for name in before}
    assert synced.state() == nothing
    assert check_results(synced) == {}

    dry = synced.sync(capsys, "--dry-run")
    assert synced.state() == nothing
    lines = synced.sync(capsys)
    stored = 2 + len(before) + (1 if is_declared(synced, "verdicts") else 0)
    assert lines[0] == f"kettle: reported to Dagster from the store: {stored} partitions that it did not know as materialized"
    assert lines[1] == (
        f"kettle: reported to Dagster from the store: {len(checks)} check results that it did not know, "
        f"failed: empty_retrieval of arm_answers/{synced.cell_key}"
    )
    assert dry[:2] == [line.replace("reported", "would be reported", 1) for line in lines[:2]]
    assert synced.state() == before
    assert data_versions(synced) == versions
    assert check_results(synced) == checks
    assert stale_assets(synced) == set()
    latest = synced.instance.get_latest_materialization_event(key_of("arms_report"))
    assert latest is not None
    made = latest.asset_materialization
    assert made is not None
    assert made.metadata["note"].value == "From the object store: Dagster knew of no materialization, and no run made one now."
    assert synced.sync(capsys)[0] == "kettle: everything is as the project file asks"


def test_what_was_made_without_dagster_is_shown_by_it(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["arms", "run", "--suite", "kettle", "--judge", "--project", str(synced.folder)]) == 0
    capsys.readouterr()
    assert "reported to Dagster from the store" in synced.sync(capsys)[2]
    assert synced.state()["judged_scores"] == {str(synced.score_key)}


def test_answers_that_have_changed_since_leave_the_reported_scores_stale(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    synced.register()
    synced.materialize_all()
    (synced.folder / "questions.json").write_text((synced.folder / "questions.json").read_text().replace("kettle", "big kettle"))
    synced.materialize(["question_set", "corpus"])
    synced.materialize(["arm_answers"], synced.cell_key)
    synced.instance.wipe_assets([key_of(name) for name in SCORED])
    synced.sync(capsys)
    assert synced.state()["judged_scores"] == {str(synced.score_key)}
    assert "judged_scores" in stale_assets(synced)


def test_sync_says_whether_the_code_location_has_to_be_loaded_again(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    assert synced.sync(capsys)[-1].endswith("has not looked at this project yet, so it is not known whether it needs a reload")
    record_look(synced, suites=("kettle",))
    assert synced.sync(capsys)[-1] == "code location: has every suite, no reload needed (as seen 2026-03-01 12:00:00 UTC)"
    synced.edit({"suites.steam": {**synced.project.suite("kettle").model_dump(mode="json", exclude_none=True, exclude_defaults=True)}})
    assert synced.sync(capsys)[-1] == ("code location: needs a reload: it has no assets yet of steam (as seen 2026-03-01 12:00:00 UTC)")
    record_look(synced, suites=("kettle", "steam", "old"))
    location = json.loads("\n".join(synced.sync(capsys, "--json")))["code_location"]
    assert location == {
        "looked_at": "2026-03-01T12:00:00Z",
        "missing_suites": [],
        "extra_suites": ["old"],
        "missing_comparisons": [],
        "missing_agent_side": [],
        "needs_reload": True,
    }


def test_sync_says_that_a_suites_first_comparison_needs_a_reload(synced: Synced, capsys: pytest.CaptureFixture[str]) -> None:
    record_look(synced, suites=("kettle",))
    synced.add_cells("brief")
    seen = "(as seen 2026-03-01 12:00:00 UTC)"
    wanted = "kettle/matrix_rollup, kettle/model_comparison"
    assert synced.sync(capsys)[-1] == f"code location: needs a reload: it has no {wanted} yet {seen}"


def record_look(synced: Synced, *, suites: tuple[str, ...]) -> None:
    """Leave in the instance what the daemon leaves after a tick of the sensor in a code location with those suites."""
    with dg.build_sensor_context(instance=synced.instance) as context:
        cursor = partitions_sensor(synced.file, suites=suites).evaluate_tick(context).cursor
    location = InProcessCodeLocationOrigin(LoadableTargetOrigin(module_name="evalplatform.definitions"), location_name="here")
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(location, "repository"), "project_partitions")
    state = InstigatorState(
        origin,
        InstigatorType.SENSOR,
        InstigatorStatus.RUNNING,
        SensorInstigatorData(last_tick_timestamp=datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp(), cursor=cursor, min_interval=30),
    )
    known = synced.instance.all_instigator_state()
    (synced.instance.update_instigator_state if known else synced.instance.add_instigator_state)(state)


def is_declared(synced: Synced, asset: str) -> bool:
    return key_of(asset) in synced.definitions.resolve_asset_graph().get_all_asset_keys()


def data_versions(synced: Synced) -> dict[str, dict[str, str]]:
    return {
        name: {
            partition: tags["dagster/data_version"]
            for partition, tags in synced.instance.event_log_storage.get_latest_tags_by_partition(
                key_of(name), dg.DagsterEventType.ASSET_MATERIALIZATION, ["dagster/data_version"]
            ).items()
        }
        for name in ("arm_answers", *SCORED)
    }


def check_results(synced: Synced) -> dict[tuple[str, str | None], bool]:
    """Whether each check passed, by its name and partition, of those whose result is of the last materialization."""
    keys = list(synced.definitions.resolve_asset_graph().asset_check_keys)
    return {
        (info.check_key.name, info.partition_key): info.latest_execution_status == AssetCheckExecutionRecordStatus.SUCCEEDED
        for info in synced.instance.event_log_storage.get_asset_check_partition_info(keys)
        if info.is_current and info.latest_execution_status != AssetCheckExecutionRecordStatus.PLANNED
    }


def stale_assets(synced: Synced) -> set[str]:
    """The assets of the suite's one cell and judge that Dagster calls stale."""
    graph = synced.definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(synced.instance, graph, loading_context=LoadingContextForTest(synced.instance))
    keys = {"question_set": None, "corpus": None, "arm_answers": synced.cell_key, **dict.fromkeys(SCORED, str(synced.score_key))}
    return {name for name, key in keys.items() if resolver.get_status(key_of(name), key) != StaleStatus.FRESH}
