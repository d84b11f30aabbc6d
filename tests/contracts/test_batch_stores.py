"""What every batch store promises, over every one there is."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import insert, inspect, text

from evalplatform.adapters.batches import sql
from evalplatform.adapters.batches.open import holds_batches, open_batch_store
from evalplatform.adapters.batches.rows import batch_row
from evalplatform.adapters.batches.sql import SqlBatchStore, audit_table, batches_table, runs_table, scenarios_table, violations_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction, write_transaction
from evalplatform.adapters.tables.schema import migrate
from evalplatform.kernel.errors import InputError, StorageError, UnknownNameError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.labels import Label
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import AssertionResult, BatchHeader, ModelVerdict, PlannedScenario, Run, ScanCoverage, Violation
from tests.support.recorded_batches import NOW, recorded
from tests.support.stored_rows import rows

ENTRY = AuditEntry(actor="ana", action="batches.push", subject="a-batch", new_value={"runs": 3}, happened_at=NOW)
CODE_POINT_ORDER = ["A", "B", "Z-1", "_x", "a", "a b", "a-b", "ab", "b", "É", "é", "中", "～", "𝔘"]

FULL_HEADER = BatchHeader(
    tenant="acme",
    project="probe",
    commit="c0ffee1",
    branch="main",
    ci_event="push",
    agent="http:bookings",
    model="gpt-x",
    judge="structural",
    origin="run",
    recorded_at=datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=5))),
    scenario_set_digest="sha256:1",
    set_scenarios=7,
    policy={"target_drop": 50, "tier_by_tag": {"money": "critical"}, "share": 0.1 + 0.2},
    scenarios={
        "refund": PlannedScenario(tier="critical", tolerance="any_order", planned_runs=4, leg="replay"),
        "Ünal 👩‍👩‍👧": PlannedScenario(),
    },
)
FULL_RUN = Run(
    scenario_id="refund",
    order=3,
    created_at=datetime(2026, 11, 30, 12, 5, 0, 1, tzinfo=timezone(timedelta(hours=-3))),
    leg="replay",
    outcome="budget_stop",
    reason="came to 3 steps\nof 3",
    score_points=100 / 3,
    assertions=(AssertionResult(assertion="calls refund", state="unchecked", detail="no file state\x00"),),
    model_verdict=ModelVerdict(judge="rubric", verdict="passed", score_points=0.1 + 0.2, reason="fine"),
    violations=(Violation(policy="ssn", step=7), Violation(policy="ssn", step=2), Violation(policy="card", step=2)),
    trajectory_digest="sha256:" + "1" * 64,
    tools=("lookup", "refund"),
    step_count=5,
    usage=Usage(prompt_tokens=3_000_000_000, completion_tokens=0),
    cost_usd=0.1 + 0.7,
    seconds=1e-9,
)
FULL = BundleSummary(
    FULL_HEADER, (FULL_RUN, Run(scenario_id="Ünal 👩‍👩‍👧", order=0, created_at=NOW, outcome="passed", violations=())), True, "cap"
)


@contextmanager
def opened(url: str, project: str = "probe", tenant: str = "default") -> Iterator[SqlBatchStore]:
    store = open_batch_store(url, project=project, tenant=tenant)
    try:
        yield store
    finally:
        store.close()


def added(store: SqlBatchStore, summary: BundleSummary) -> str:
    return store.add(summary.batch, summary.runs, entry=ENTRY).batch.id


def is_empty(url: str) -> bool:
    return not any(rows(url, table) for table in (batches_table, scenarios_table, runs_table, violations_table, audit_table))


def test_a_batch_and_its_runs_come_back_as_they_were_after_reopening(url: str) -> None:
    with opened(url, tenant="acme") as store:
        batch_id = added(store, FULL)
    with opened(url, tenant="acme") as store:
        assert store.batch(batch_id) == FULL.batch
        assert list(store.batches()) == [FULL.batch]
        assert list(store.runs(batch_id)) == sorted(FULL.runs, key=lambda run: run.scenario_id)
        assert store.run(batch_id, FULL_RUN.id) == FULL_RUN
        assert store.of_content(FULL.batch.content_digest) == FULL.batch
        assert store.of_content("sha256:none") is None


def test_what_pages_and_gates_will_ask_for_stands_in_columns_of_its_own(url: str) -> None:
    with opened(url, tenant="acme") as store:
        added(store, FULL)
    (batch,) = rows(url, batches_table)
    header = {name: getattr(FULL_HEADER, name) for name in BatchHeader.model_fields if name != "scenarios"}
    assert {name: batch[name] for name in header} == header
    assert batch["policy_digest"] == FULL_HEADER.policy_digest
    counts = ("run_count", "graded_runs", "passed_runs", "runs_with_steps", "scanned_runs", "truncated_reason", "retention")
    assert tuple(batch[name] for name in counts) == (2, 2, 1, 1, 1, "cap", "whole")
    declared = {row["scenario_id"]: (row["gate_tier"], row["path_tolerance"], row["planned_runs"]) for row in rows(url, scenarios_table)}
    assert declared == {"refund": ("critical", "any_order", 4), "Ünal 👩‍👩‍👧": ("standard", None, 1)}
    (run,) = (row for row in rows(url, runs_table) if row["scenario_id"] == "refund")
    assert (run["run_order"], run["created_at"], run["run_id"]) == (3, FULL_RUN.created_at, FULL_RUN.id)
    assert [(row["policy"], row["step"]) for row in rows(url, violations_table)] == [("ssn", 7), ("ssn", 2), ("card", 2)]


def test_runs_come_in_the_order_of_code_points_whatever_order_they_were_written_in_page_by_page(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "CHUNK_ROWS", 3)
    summary = recorded(dict.fromkeys(reversed(CODE_POINT_ORDER), "PF"))
    with opened(url) as store:
        batch_id = store.add(summary.batch, reversed(summary.runs), entry=ENTRY).batch.id
        assert [(run.scenario_id, run.order) for run in store.runs(batch_id)] == [(name, n) for name in CODE_POINT_ORDER for n in (0, 1)]


def test_what_was_found_before_a_scan_was_given_up_comes_back_as_that(url: str) -> None:
    plain = recorded({"a": "PP"})
    found = (Violation(policy="p", step=1),)
    given_up = plain.runs[0].with_changes(violations=found, scan_given_up=True)
    summary = plain._replace(runs=(given_up, plain.runs[1].with_changes(violations=found)))
    with opened(url) as store:
        batch_id = added(store, summary)
        assert tuple(store.runs(batch_id)) == summary.runs
        assert store.batch(batch_id).coverage == ScanCoverage(scanned_runs=1, runs=2)


def test_violations_stay_with_their_runs_over_pages_and_no_scan_is_not_the_same_as_none_found(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "CHUNK_ROWS", 2)
    plain = recorded({"a": "PPP", "b": "PP"})
    found = [(Violation(policy="p", step=1),), (), None, (Violation(policy="q", step=2), Violation(policy="p", step=1)), ()]
    runs = tuple(run.with_changes(violations=violations) for run, violations in zip(plain.runs, found, strict=True))
    summary = plain._replace(runs=runs)
    with opened(url) as store:
        batch_id = added(store, summary)
        assert [run.violations for run in store.runs(batch_id)] == found
        assert store.batch(batch_id).coverage == ScanCoverage(scanned_runs=4, runs=5)


def test_the_coverage_of_a_stored_batch_leaves_out_what_has_no_steps(url: str) -> None:
    with opened(url) as store:
        batch_id = added(store, recorded({"a": "PFHU"}))
        assert store.batch(batch_id).coverage == ScanCoverage(scanned_runs=2, runs=2)


def test_the_same_content_again_is_one_batch_under_the_id_it_got_first(url: str) -> None:
    first, again = recorded({"a": "PF"}), recorded({"a": "PF"})
    later = again._replace(header=again.header.with_changes(recorded_at=NOW + timedelta(days=1)))
    with opened(url) as store:
        assert not store.add(first.batch, first.runs, entry=ENTRY).already_there
        for same in (again, later):
            found = store.add(same.batch, iter(same.runs), entry=ENTRY)
            assert found.already_there
            assert found.batch == first.batch
        assert list(store.batches()) == [first.batch]
    assert len(rows(url, audit_table)) == 1, "nothing was changed the second time"


def test_pushers_of_the_same_content_at_once_make_one_whole_batch(url: str) -> None:
    summary = recorded({f"s{number:02}": "PFP" for number in range(40)})
    with opened(url):
        pass  # the schema is there
    outcomes: list[bool] = []

    def push() -> None:
        with opened(url) as store:
            outcomes.append(store.add(summary.batch, summary.runs, entry=ENTRY).already_there)

    threads = [Thread(target=push) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False, True, True, True]
    with opened(url) as store:
        assert list(store.runs(summary.batch.id)) == list(summary.runs)


def test_runs_that_are_not_those_of_the_batch_are_refused_and_nothing_is_stored(url: str) -> None:
    summary = recorded({"a": "PF", "b": "P"})
    other = recorded({"a": "PP", "b": "P"})
    with opened(url) as store:
        for runs in (summary.runs[:2], other.runs, ()):
            with pytest.raises(InputError, match="the runs are not those of the batch"):
                store.add(summary.batch, runs, entry=ENTRY)
        with pytest.raises(InputError, match=r"holds run 0 of 'a' twice"):
            store.add(summary.batch, (*summary.runs, summary.runs[0]), entry=ENTRY)
    assert is_empty(url)


def test_a_reader_that_fails_midway_leaves_nothing(url: str) -> None:
    summary = recorded({"a": "PF"})

    def breaking() -> Iterator[Run]:
        yield summary.runs[0]
        raise StorageError("gone")

    with opened(url) as store:
        with pytest.raises(StorageError, match="gone"):
            store.add(summary.batch, breaking(), entry=ENTRY)
        assert is_empty(url)
        assert not store.add(summary.batch, summary.runs, entry=ENTRY).already_there


def test_a_nul_is_refused_by_its_field_before_the_database_meets_it(url: str) -> None:
    plain = recorded({"a": "P"})
    bad_tool = plain._replace(runs=(plain.runs[0].with_changes(tools=("ok", "a\x00b")),))
    bad_policy = plain._replace(header=plain.header.with_changes(policy={"tier_by_tag": {"a\x00": "critical"}}))
    with opened(url) as store:
        with pytest.raises(InputError, match=r"tools\.1: holds a NUL character"):
            added(store, bad_tool)
        with pytest.raises(InputError, match=r"header\.policy\.tier_by_tag: holds a NUL character"):
            added(store, bad_policy)
        literal = plain._replace(runs=(plain.runs[0].with_changes(tools=("a\\u0000b",)),))
        assert store.run(added(store, literal), literal.runs[0].id).tools == ("a\\u0000b",)


def test_a_nul_in_what_an_agent_says_does_not_keep_its_batch_out(url: str) -> None:
    plain = recorded({"a": "F"})
    summary = plain._replace(runs=(plain.runs[0].with_changes(reason="exit 1: a\x00b"),))
    with opened(url) as store:
        (run,) = store.runs(added(store, summary))
        assert run.reason == "exit 1: a␀b"


def test_an_unknown_batch_is_answered_with_the_nearest_one(url: str) -> None:
    with opened(url) as store:
        batch_id = added(store, recorded({"a": "P"}))
        wrong = batch_id[:-1] + ("0" if batch_id[-1] != "0" else "1")
        with pytest.raises(UnknownNameError, match="unknown batch") as error:
            store.batch(wrong)
        assert error.value.nearest == batch_id
        for strange in ("", "b\udcff", "a\x00b", "中"):
            with pytest.raises(UnknownNameError, match="unknown batch"):
                store.runs(strange)
        with pytest.raises(UnknownNameError, match=f"unknown run of {batch_id}"):
            store.run(batch_id, "r-0")


def test_a_batch_of_another_project_is_refused_by_the_name_of_that_project(url: str) -> None:
    summary = recorded({"a": "P"})
    with opened(url) as store, opened(url, project="shop") as other:
        batch_id = added(store, summary)
        assert list(other.batches()) == []
        assert other.ids() == ()
        assert other.of_content(summary.batch.content_digest) is None
        with pytest.raises(InputError, match=f"the batch {batch_id} is of the project 'probe', and this is 'shop'"):
            other.batch(batch_id)
        with pytest.raises(InputError, match="is of the project 'probe', and this is 'shop'"):
            added(other, summary)


def test_what_another_tenant_stored_under_the_same_project_id_is_as_if_it_were_not_there(url: str) -> None:
    theirs = recorded({"a": "P"}, tenant="t-a")
    batch_id, content = theirs.batch.id, theirs.batch.content_digest
    with opened(url, tenant="t-a") as store, opened(url, tenant="t-b") as ours, opened(url, project="shop", tenant="t-b") as ours_too:
        added(store, theirs)
        assert list(ours.batches()) == []
        assert ours.ids() == ()
        assert ours.of_content(content) is None
        for other in (ours, ours_too):
            for ask in (other.batch, other.runs, lambda name, store=other: store.run(name, theirs.runs[0].id)):
                with pytest.raises(UnknownNameError, match="unknown batch") as error:
                    ask(batch_id)
                assert error.value.nearest is None
                assert "t-a" not in str(error.value)
        with pytest.raises(InputError, match="was recorded for another tenant than this project's, 't-b'"):
            added(ours, theirs)
        assert store.ids() == (batch_id,)


def test_two_tenants_may_hold_batches_of_one_id_and_content(url: str) -> None:
    theirs = recorded({"a": "PF"}, tenant="t-a").batch
    ours = theirs.with_changes(header=theirs.header.with_changes(tenant="t-b"))
    with opened(url):
        engine = database_engine(url)
    with write_transaction(engine) as connection:
        for batch in (theirs, ours):
            connection.execute(insert(batches_table).values(batch_row(batch)))
    engine.dispose()
    for batch in (theirs, ours):
        with opened(url, tenant=batch.header.tenant) as store:
            assert store.batch(batch.id).header.tenant == batch.header.tenant


def test_batches_come_newest_first_page_by_page_from_a_day_on_and_no_more_than_asked_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "PAGE_BATCHES", 2)
    days = [recorded({"a": "P"}, days_ago=day, commit=f"c{day}") for day in range(5)]
    twins = [recorded({"a": "P"}, days_ago=2, commit=f"twin{number}") for number in range(3)]
    newest_first = sorted((s.batch for s in (*days, *twins)), key=lambda batch: (batch.header.recorded_at, batch.id), reverse=True)
    with opened(url) as store:
        for summary in (*days[::2], *twins, *days[1::2]):
            added(store, summary)
        assert list(store.batches()) == newest_first
        assert list(store.batches(limit=3)) == newest_first[:3]
        assert store.ids() == tuple(batch.id for batch in newest_first)
        since = NOW - timedelta(days=2)
        assert list(store.batches(since=since)) == [batch for batch in newest_first if batch.header.recorded_at >= since]
        assert list(store.batches(since=NOW + timedelta(days=1))) == []


def test_ids_come_newest_first_and_are_those_of_the_project_alone(url: str) -> None:
    with opened(url) as store, opened(url, "other") as other:
        assert store.ids() == ()
        for days_ago in (2, 0, 1):
            added(store, recorded({"refund": "P"}, days_ago=days_ago))
        added(other, recorded({"refund": "P"}, project="other"))
        assert store.ids() == tuple(batch.id for batch in store.batches())
        assert len(store.ids()) == 3


def test_whether_there_is_a_batch_is_found_out_without_making_or_migrating_anything(url: str) -> None:
    assert not holds_batches(url, project="probe", tenant="default")
    assert is_unmade(url)
    with opened(url) as store:
        assert not holds_batches(url, project="probe", tenant="default")
        added(store, recorded({"refund": "P"}))
    assert holds_batches(url, project="probe", tenant="default")
    assert not holds_batches(url, project="other", tenant="default")
    assert not holds_batches(url, project="probe", tenant="t-b")


def is_unmade(url: str) -> bool:
    """Whether the database has no table yet; a SQLite file is not there at all."""
    if url.startswith("sqlite"):
        return not Path(url.removeprefix("sqlite:///")).exists()
    engine = database_engine(url)
    try:
        return inspect(engine).get_table_names() == []
    finally:
        engine.dispose()


def test_a_label_can_name_a_run(url: str) -> None:
    with opened(url, tenant="acme") as store:
        run = store.run(added(store, FULL), FULL_RUN.id)
    label = Label(subject_kind="run", subject=run.id, labeller="ana", scale="verdict", value="failed", labelled_at=NOW)
    assert label.subject == FULL_RUN.id


def test_batches_go_into_a_database_of_the_first_schema_beside_what_it_holds(url: str) -> None:
    engine = database_engine(url)
    with write_transaction(engine) as connection:
        migrate(connection, "0001")
        connection.execute(
            text(
                "INSERT INTO audit (project, actor, action, subject, happened_at) "
                "VALUES ('probe', 'ben', 'labels.import', 'sha256:1', '2026-01-02 12:00:00')"
            )
        )
    engine.dispose()
    with opened(url, tenant="acme") as store:
        batch_id = added(store, FULL)
        assert store.batch(batch_id) == FULL.batch
    assert {row["actor"] for row in rows(url, audit_table)} == {"ana", "ben"}


def test_postgres_keeps_scenario_ids_by_code_points_whatever_the_database_sorts_by(postgres_url: str) -> None:
    with opened(postgres_url):
        pass
    engine = database_engine(postgres_url)
    with read_transaction(engine) as connection:
        found = connection.execute(
            text("SELECT collation_name FROM information_schema.columns WHERE table_name = 'batch_runs' AND column_name = 'scenario_id'")
        ).scalars()
        assert list(found) == ["C"]
    engine.dispose()
