"""Remembering gates: recomputed here with exactly what was pinned, found again by branch, and never clean where there was no answer."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from evalplatform.adapters.batches.sql import batches_table, runs_table
from evalplatform.adapters.tables.engine import database_engine, write_transaction
from evalplatform.artifacts.blobs import get_blob
from evalplatform.gates.verification import verify_certificate
from evalplatform.kernel.errors import InputError, StorageUnavailableError, UnknownNameError
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.records import Batch
from evalplatform.runs.remembered_gate import GateReport, RememberedGate
from evalplatform.stages.gate_baseline import branch_baseline
from evalplatform.stages.gate_history import pinned_history, read_history
from evalplatform.stages.remember_gate import gate_key, read_gate_report, remember_gate
from evalplatform.stages.runs_context import RunsContext
from tests.support.recorded_batches import recorded
from tests.support.runs_project import RunsProject

POLICY = HeldPolicy().model_dump(mode="json", exclude={"tier_by_scenario"})
STEADY, FALLEN = {"refund": "P" * 10}, {"refund": "F" * 10}
IDS = ("refund",)


@pytest.fixture
def project(tmp_path: Path) -> RunsProject:
    return RunsProject.written_to(tmp_path / "project")


@pytest.fixture
def context(project: RunsProject) -> Iterator[RunsContext]:
    with project.opened() as opened:
        yield opened.runs_context()


def pushed(project: RunsProject, scenarios: Mapping[str, str], *, days_ago: float, **header: Any) -> Batch:
    (batch,) = project.push(recorded(scenarios, days_ago=days_ago, **{"policy": POLICY, **header}))
    return batch


def on_main(context: RunsContext, batch: Batch, **report: Any) -> RememberedGate:
    """A remembered gate of main against itself, unless a baseline is named."""
    facts = {"key": f"k-{batch.id}", "baseline": batch.id, "candidate": batch.id, "branch": "main", "baseline_branch": "main", **report}
    return remember_gate(context, GateReport(**facts), actor="test").gate


def kept(project: RunsProject, batch: Batch, retention: str) -> None:
    with project.opened() as opened:
        engine = database_engine(opened.database_url)
        with write_transaction(engine) as connection:
            connection.execute(update(batches_table).where(batches_table.c.batch_id == batch.id).values(retention=retention))
        engine.dispose()


def test_a_gate_is_computed_here_and_its_certificate_kept(project: RunsProject, context: RunsContext) -> None:
    before, after = pushed(project, STEADY, days_ago=2), pushed(project, FALLEN, days_ago=1)
    added = remember_gate(context, GateReport(key="k", baseline=before.id, candidate=after.id), actor="test")
    assert (added.already_there, added.gate.standing, added.gate.commit) == (False, "flagged", "c0ffee1")
    verified = verify_certificate(get_blob(context.objects, str(added.gate.certificate_digest)))
    assert (verified.holds, verified.fails, verified.gating) == (True, True, ("refund",))
    (at,) = context.gates.of_scenario("refund")
    assert (at.scenario.verdict, at.scenario.candidate.passed, at.scenario.candidate.graded, at.scenario.gates) == ("failed", 0, 10, True)


def test_the_same_key_again_is_already_remembered_and_nothing_is_computed(project: RunsProject, context: RunsContext) -> None:
    before, after = pushed(project, STEADY, days_ago=2), pushed(project, FALLEN, days_ago=1)
    first = remember_gate(context, GateReport(key="k", baseline=before.id, candidate=after.id), actor="test")
    again = remember_gate(context, GateReport(key="k", baseline=after.id, candidate=before.id), actor="test")
    assert (again.already_there, again.gate) == (True, first.gate)


@pytest.mark.parametrize("word", ["verdict", "standing", "fails", "decision"])
def test_what_a_client_makes_of_a_gate_is_refused_by_its_field(word: str) -> None:
    sent = f'{{"key": "k", "baseline": "b-1", "candidate": "b-2", "{word}": "clean"}}'.encode()
    with pytest.raises(InputError, match="is not taken from a client") as refused:
        read_gate_report(sent)
    assert refused.value.field == word
    assert read_gate_report(b'{"key": "k", "baseline": "b-1", "candidate": "b-2"}').baseline == "b-1"
    with pytest.raises(InputError, match="cannot be used"):
        read_gate_report(b'{"key": "k"}')


def test_a_pinned_history_gives_the_same_decision_whatever_was_gated_since(project: RunsProject, context: RunsContext) -> None:
    older = [pushed(project, STEADY, days_ago=9 - place) for place in range(2)]
    for batch in older:
        on_main(context, batch)
    candidate = pushed(project, {"refund": "PPPPPPFFFF"}, days_ago=5, branch=None)
    pinned = read_history(context, branch="main", candidate=candidate, scenario_ids=IDS)
    assert pinned.pools["refund"].passes.graded == 20
    later = pushed(project, FALLEN, days_ago=3)
    on_main(context, later)
    assert pinned_history(context, pinned.batches, IDS) == pinned
    assert read_history(context, branch="main", candidate=candidate, scenario_ids=IDS) != pinned
    gate = on_main(context, candidate, baseline=older[1].id, history=pinned.batches, branch=None)
    certificate = get_blob(context.objects, str(gate.certificate_digest))
    assert b'"baseline_graded": 20' in certificate
    assert verify_certificate(certificate).holds


def test_a_pinned_batch_that_is_no_longer_whole_makes_a_failed_check(project: RunsProject, context: RunsContext) -> None:
    before, after = pushed(project, STEADY, days_ago=2), pushed(project, STEADY, days_ago=1)
    kept(project, before, "compacted")
    gate = on_main(context, after, baseline=before.id, history=(before.id,))
    assert gate.standing == "failed_check"
    assert f"{before.id} is compacted" in str(gate.reason)
    assert list(context.gates.of_scenario("refund")) == []


def test_a_pinned_run_that_is_damaged_makes_a_failed_check(project: RunsProject, context: RunsContext) -> None:
    before, after = pushed(project, STEADY, days_ago=2), pushed(project, STEADY, days_ago=1)
    pinned = pushed(project, {"refund": "P" * 11}, days_ago=3)
    with project.opened() as opened:
        engine = database_engine(opened.database_url)
        with write_transaction(engine) as connection:
            connection.execute(update(runs_table).where(runs_table.c.run_order == 10).values(outcome="nonsense"))
        engine.dispose()
    gate = on_main(context, after, baseline=before.id, history=(pinned.id,))
    assert gate.standing == "failed_check"
    assert "is damaged: outcome" in str(gate.reason)


def test_a_gate_whose_process_is_gone_between_certificate_and_record_is_remembered_once_by_the_next_try(
    project: RunsProject, context: RunsContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = pushed(project, STEADY, days_ago=1)

    def gone(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(context.gates), "remember", gone)
        with pytest.raises(KeyboardInterrupt):
            on_main(context, batch)
    assert list(context.gates.gates()) == []
    gate = on_main(context, batch)
    assert list(context.gates.gates()) == [gate]
    assert verify_certificate(get_blob(context.objects, str(gate.certificate_digest))).holds


def test_a_gate_without_an_answer_is_a_failed_check(project: RunsProject, context: RunsContext) -> None:
    before, after = pushed(project, {"refund": "P"}, days_ago=2, policy=None), pushed(project, {"rebook": "P"}, days_ago=1, policy=None)
    gate = on_main(context, after, baseline=before.id)
    assert (gate.standing, gate.certificate_digest) == ("failed_check", None)
    assert "comparison refused" in str(gate.reason)


def test_a_history_that_could_not_be_read_is_flagged_and_never_clean(project: RunsProject, context: RunsContext) -> None:
    before, after = pushed(project, STEADY, days_ago=2), pushed(project, STEADY, days_ago=1)
    assert on_main(context, after, baseline=before.id, history_unreadable=True).standing == "flagged"


def test_a_gate_of_a_batch_that_is_not_stored_is_refused(context: RunsContext) -> None:
    with pytest.raises(UnknownNameError):
        remember_gate(context, GateReport(key="k", baseline="b-1", candidate="b-2"), actor="test")


def test_a_gate_is_never_older_than_its_evidence(project: RunsProject, context: RunsContext) -> None:
    batch = pushed(project, STEADY, days_ago=-400)  # the clock of the machine that recorded it goes ahead
    assert on_main(context, batch).received_at > batch.header.recorded_at


def test_a_certificate_that_cannot_be_stored_leaves_no_gate(
    project: RunsProject, context: RunsContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = pushed(project, STEADY, days_ago=1)

    def down(*_: object) -> str:
        raise StorageUnavailableError("the store does not answer")

    monkeypatch.setattr("evalplatform.stages.remember_gate.put_blob", down)
    with pytest.raises(StorageUnavailableError):
        on_main(context, batch)
    assert list(context.gates.gates()) == []
    monkeypatch.undo()
    assert on_main(context, batch).standing == "clean"


def test_a_key_tells_attempts_jobs_and_pairs_of_batches_apart() -> None:
    build = {"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2", "GITHUB_JOB": "gate"}
    keys = {
        gate_key(build, baseline="a", candidate="b"),
        gate_key({**build, "GITHUB_RUN_ATTEMPT": "3"}, baseline="a", candidate="b"),
        gate_key({**build, "GITHUB_JOB": "other"}, baseline="a", candidate="b"),
        gate_key(build, baseline="a", candidate="c"),
    }
    assert len(keys) == 4
    assert all(key.startswith(("7-2-", "7-3-")) for key in keys)
    assert gate_key(build, baseline="a", candidate="b") in keys
    assert gate_key({}, baseline="a", candidate="b") == "local:a:b"


def test_the_baseline_of_a_branch_is_what_its_last_gate_gated_also_where_that_failed(project: RunsProject, context: RunsContext) -> None:
    first, second = pushed(project, STEADY, days_ago=4), pushed(project, FALLEN, days_ago=3)
    on_main(context, first)
    flagged = on_main(context, second, baseline=first.id)
    assert flagged.standing == "flagged"
    candidate = pushed(project, FALLEN, days_ago=1, commit="c0ffee2")
    found = branch_baseline(context, "main", candidate, gate_branch=None)
    assert (found.batch, found.choice, found.branch, found.gate) == (second, "branch", "main", flagged)


def test_what_lacks_something_never_stands_for_its_branch(project: RunsProject, context: RunsContext) -> None:
    good = pushed(project, STEADY, days_ago=9)
    on_main(context, good)
    lacking = [
        pushed(project, {"refund": "P" * 9}, days_ago=8, truncated_reason="cap"),
        pushed(project, {"refund": "P" * 8}, days_ago=7, set_scenarios=5),
        pushed(project, {"refund": "P" * 7}, days_ago=6),
        pushed(project, {"refund": "H" * 4}, days_ago=5),
    ]
    for batch in lacking:
        on_main(context, batch)
    kept(project, lacking[2], "compacted")
    other = pushed(project, {"rebook": "P"}, days_ago=4, policy=None)
    assert on_main(context, other, baseline=good.id).standing == "failed_check"
    candidate = pushed(project, STEADY, days_ago=1, commit="c0ffee2")
    assert branch_baseline(context, "main", candidate, gate_branch=None).batch == good
    assert read_history(context, branch="main", candidate=candidate, scenario_ids=IDS).batches == (good.id,)


def test_a_candidate_is_neither_its_own_baseline_nor_its_own_history(project: RunsProject, context: RunsContext) -> None:
    good, candidate = pushed(project, STEADY, days_ago=2), pushed(project, FALLEN, days_ago=1)
    on_main(context, good)
    on_main(context, candidate, baseline=good.id)
    assert branch_baseline(context, "main", candidate, gate_branch="main").batch == good
    assert read_history(context, branch="main", candidate=candidate, scenario_ids=IDS).batches == (good.id,)


def test_a_branch_is_seeded_by_its_own_push_build_alone(project: RunsProject, context: RunsContext) -> None:
    candidate = pushed(project, STEADY, days_ago=1)
    found = branch_baseline(context, "main", candidate, gate_branch="main")
    assert (found.batch, found.choice) == (candidate, "seed")
    for gate_branch in (None, "feature"):
        with pytest.raises(InputError, match="--baseline-branch main --branch main --record"):
            branch_baseline(context, "main", candidate, gate_branch=gate_branch)
    truncated = pushed(project, {"refund": "P"}, days_ago=0, truncated_reason="cap")
    with pytest.raises(InputError, match="is truncated"):
        branch_baseline(context, "main", truncated, gate_branch="main")
