"""What every gate store promises, over every one there is."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread

import pytest
from sqlalchemy import insert, inspect

from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.adapters.batches.rows import batch_row
from evalplatform.adapters.batches.sql import batches_table
from evalplatform.adapters.gates import sql
from evalplatform.adapters.gates.open import open_gate_store
from evalplatform.adapters.gates.sql import SqlGateStore, audit_table, gates_table, policies_table, scenarios_table
from evalplatform.adapters.tables.engine import database_engine, write_transaction
from evalplatform.adapters.tables.schema import migrate
from evalplatform.kernel.errors import InputError, StorageError
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.remembered_gate import GatedScenario, GateReport, GateStrictness, RememberedGate, StoredPolicy
from evalplatform.stats.pass_counts import PassCount
from tests.support.recorded_batches import NOW, recorded
from tests.support.stored_rows import rows

ENTRY = AuditEntry(actor="ana", action="gates.remember", subject="k", new_value={"standing": "clean"}, happened_at=NOW)
FULL = RememberedGate(
    report=GateReport(
        key="7-1-0a1b2c3d4e5f",
        baseline="b-1",
        candidate="b-2",
        strictness=GateStrictness(require_replay_determinism=True),
        history=("b-1", "b-0"),
        history_unreadable=True,
        branch="feature/Ünal",
        baseline_branch="main",
    ),
    standing="failed_check",
    reason="comparison refused: b-0 is compacted",
    received_at=NOW,
    commit="c0ffee1",
    certificate_digest="sha256:" + "1" * 64,
)
SCENARIOS = (
    GatedScenario(scenario_id="refund", verdict="failed", path_digest="sha256:2", candidate=PassCount(passed=1, graded=4), gates=True),
    GatedScenario(scenario_id="Ünal 👩‍👩‍👧", verdict=None, path_digest=None, candidate=PassCount(passed=0, graded=0), gates=False),
)


@contextmanager
def opened(url: str, project: str = "probe", tenant: str = "default") -> Iterator[SqlGateStore]:
    store = open_gate_store(url, project=project, tenant=tenant)
    try:
        yield store
    finally:
        store.close()


def gate(key: str, *, hours: int = 0, **report: object) -> RememberedGate:
    facts = {"key": key, "baseline": "b-1", "candidate": "b-2", **report}
    return RememberedGate(report=GateReport.model_validate(facts), standing="clean", received_at=NOW + timedelta(hours=hours))


def held(url: str, policy: HeldPolicy, replaces: HeldPolicy | None) -> None:
    with opened(url) as store:
        store.set_policy(StoredPolicy(policy=policy, set_by="ana", set_at=NOW), replaces=replaces, entry=ENTRY)


def test_a_gate_and_its_scenarios_come_back_as_they_were_after_reopening(url: str) -> None:
    with opened(url) as store:
        assert store.remember(FULL, SCENARIOS, entry=ENTRY).already_there is False
    with opened(url) as store:
        assert store.gate(FULL.report.key) == FULL
        assert list(store.gates()) == [FULL]
        assert [tuple(at) for at in store.of_scenario("refund")] == [(FULL, SCENARIOS[0])]
        assert [tuple(at) for at in store.of_scenario("Ünal 👩‍👩‍👧")] == [(FULL, SCENARIOS[1])]
        assert store.gate("none") is None
        assert store.gate("no\x00ne") is None
        assert list(store.of_scenario("no\x00ne")) == []
    assert [row["action"] for row in rows(url, audit_table)] == ["gates.remember"]


def test_the_same_key_again_is_one_gate_and_nothing_changes(url: str) -> None:
    with opened(url) as store:
        store.remember(FULL, SCENARIOS, entry=ENTRY)
        other = FULL.with_changes(standing="clean", reason=None)
        again = store.remember(other, (), entry=ENTRY)
        assert (again.gate, again.already_there) == (FULL, True)
    assert (len(rows(url, gates_table)), len(rows(url, scenarios_table)), len(rows(url, audit_table))) == (1, 2, 1)


def test_gates_come_newest_first_page_by_page_by_branch_and_by_candidate(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "PAGE_GATES", 2)
    with opened(url) as store:
        for place in range(7):
            at_once = gate(f"k{place}", hours=place // 3, branch="main" if place % 2 else None, candidate=f"b-{place % 3}")
            store.remember(at_once, (), entry=ENTRY)
        assert [each.report.key for each in store.gates()] == ["k6", "k5", "k4", "k3", "k2", "k1", "k0"]
        assert [each.report.key for each in store.gates(branch="main")] == ["k5", "k3", "k1"]
        assert [each.report.key for each in store.gates(candidate="b-0")] == ["k6", "k3", "k0"]
        assert [each.report.key for each in store.gates(branch="main", candidate="b-0", limit=5)] == ["k3"]
        assert [each.report.key for each in store.gates(limit=3)] == ["k6", "k5", "k4"]


def test_a_scenarios_gates_come_oldest_first(url: str) -> None:
    with opened(url) as store:
        for key, hours in (("late", 5), ("early", 1), ("middle", 3)):
            store.remember(gate(key, hours=hours), SCENARIOS[:1], entry=ENTRY)
        assert [at.gate.report.key for at in store.of_scenario("refund")] == ["early", "middle", "late"]


def test_gates_and_policies_of_another_project_or_tenant_are_as_if_they_were_not_there(url: str) -> None:
    with opened(url) as ours, opened(url, project="other") as other, opened(url, tenant="acme") as foreign:
        ours.remember(FULL, SCENARIOS, entry=ENTRY)
        held(url, HeldPolicy(target_drop=40), None)
        for store in (other, foreign):
            assert (list(store.gates()), list(store.of_scenario("refund")), store.gate(FULL.report.key), store.policy()) == (
                [],
                [],
                None,
                None,
            )
            assert store.remember(FULL, (), entry=ENTRY).already_there is False


def test_writers_of_one_key_at_once_leave_one_gate(url: str) -> None:
    added: list[bool] = []

    def remember() -> None:
        with opened(url) as store:
            added.append(store.remember(FULL, SCENARIOS, entry=ENTRY).already_there)

    with opened(url):
        threads = [Thread(target=remember) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(added) == [False] + [True] * 5
    assert (len(rows(url, gates_table)), len(rows(url, scenarios_table)), len(rows(url, audit_table))) == (1, 2, 1)


def test_a_write_that_fails_midway_leaves_nothing(url: str) -> None:
    with opened(url) as store:
        with pytest.raises(StorageError):
            store.remember(FULL, (*SCENARIOS, SCENARIOS[0]), entry=ENTRY)  # a scenario twice
        assert list(store.gates()) == []
    assert (rows(url, gates_table), rows(url, scenarios_table), rows(url, audit_table)) == ([], [], [])


def test_a_policy_is_held_replaced_and_audited(url: str) -> None:
    first, second = HeldPolicy(), HeldPolicy(target_drop=40, tier_by_scenario={"refund": "standard"})
    held(url, first, None)
    held(url, second, first)
    with opened(url) as store:
        assert store.policy() == StoredPolicy(policy=second, set_by="ana", set_at=NOW)
    assert (len(rows(url, policies_table)), len(rows(url, audit_table))) == (1, 2)


def test_a_policy_that_somebody_changed_meanwhile_is_not_overwritten(url: str) -> None:
    with opened(url), pytest.raises(InputError, match="changed by somebody else"):
        held(url, HeldPolicy(target_drop=30), HeldPolicy())
    held(url, HeldPolicy(), None)
    for replaces in (None, HeldPolicy(target_drop=30)):
        with pytest.raises(InputError, match="changed by somebody else"):
            held(url, HeldPolicy(target_drop=20), replaces)
    with opened(url) as store:
        stored = store.policy()
    assert stored is not None
    assert stored.policy == HeldPolicy()


def test_of_writers_of_a_policy_at_once_one_wins(url: str) -> None:
    ended: list[str] = []

    def change(points: int) -> None:
        try:
            held(url, HeldPolicy(target_drop=points), HeldPolicy())
            ended.append("held")
        except InputError:
            ended.append("told")

    held(url, HeldPolicy(), None)
    threads = [Thread(target=change, args=(points,)) for points in range(10, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["held"] + ["told"] * 5


def test_a_database_from_before_gates_is_upgraded_with_what_it_holds(url: str) -> None:
    engine = database_engine(url)
    with write_transaction(engine) as connection:
        migrate(connection, "0002")
        assert not inspect(connection).has_table("gates")
        connection.execute(insert(audit_table).values(project="probe", **ENTRY.model_dump()))
        stored = recorded({"rebook": "P"}, days_ago=3).batch
        connection.execute(insert(batches_table).values(batch_row(stored)))
    engine.dispose()
    with opened(url) as store:
        assert list(store.gates()) == []
        store.remember(FULL, SCENARIOS, entry=ENTRY)
    batches = open_batch_store(url, project="probe", tenant="default")
    summary = recorded({"refund": "P"})
    batches.add(summary.batch, summary.runs, entry=ENTRY)
    assert batches.ids() == (summary.batch.id, stored.id)
    batches.close()
    assert len(rows(url, audit_table)) == 3
