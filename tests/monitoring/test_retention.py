"""Which runs of old batches go, and what holds them: by age, gates, nights and pins."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.monitoring.retention import (
    NIGHT_DAYS,
    RETENTIONS,
    BatchNeeds,
    Holder,
    RetentionStep,
    batch_needs,
    parted_runs,
    retention_step,
)
from evalplatform.project.schema import RetentionSettings
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.night import Night, Slot
from evalplatform.runs.records import Batch, Retention, Run
from evalplatform.runs.remembered_gate import GateReport, RememberedGate
from evalplatform.runs.schedule import Pin, Schedule
from tests.support.recorded_batches import NOW, OUTCOMES, recorded

BOTH = RetentionSettings(compact_after_days=30, expire_after_days=90)
COMPACTS, EXPIRES = RetentionSettings(compact_after_days=30), RetentionSettings(expire_after_days=90)
GATED = BatchNeeds(whole={"b": Holder(kind="gate", name="k")})
PINNED = BatchNeeds(pins={"b": {"r-1": "nightly"}})
LETTERS = "".join(OUTCOMES)


def stored(days_ago: float, retention: Retention = "whole") -> Batch:
    return recorded({"refund": "PF"}, days_ago=days_ago).batch.with_changes(id="b", retention=retention)


def step_of(days_ago: float, settings: RetentionSettings, needs: BatchNeeds, retention: Retention = "whole") -> RetentionStep:
    return retention_step(stored(days_ago, retention), needs, settings=settings, now=NOW)


@pytest.mark.parametrize(
    ("days_ago", "settings", "needs", "before", "after", "holder"),
    [
        (400, RetentionSettings(), BatchNeeds(), "whole", "whole", None),
        (29.99, BOTH, BatchNeeds(), "whole", "whole", None),
        (30, BOTH, BatchNeeds(), "whole", "compacted", None),
        (89.99, BOTH, BatchNeeds(), "compacted", "compacted", None),
        (90, BOTH, BatchNeeds(), "compacted", "expired", None),
        (90, BOTH, BatchNeeds(), "whole", "expired", None),
        (400, BOTH, BatchNeeds(), "expired", "expired", None),
        (400, COMPACTS, BatchNeeds(), "whole", "compacted", None),
        (400, COMPACTS, BatchNeeds(), "expired", "expired", None),  # nothing is put back, whatever the settings say by now
        (1, BOTH, BatchNeeds(), "compacted", "compacted", None),
        (89, EXPIRES, BatchNeeds(), "whole", "whole", None),
        (90, EXPIRES, BatchNeeds(), "whole", "expired", None),
        (-1, BOTH, BatchNeeds(), "whole", "whole", None),  # a clock that is ahead
        (1, BOTH, GATED, "whole", "whole", None),
        (30, BOTH, GATED, "whole", "whole", "gate"),
        (400, BOTH, GATED, "whole", "whole", "gate"),
        (400, BOTH, GATED, "compacted", "compacted", "gate"),
        (30, BOTH, PINNED, "whole", "compacted", None),  # the pinned run stays in it
        (400, BOTH, PINNED, "whole", "compacted", "schedule"),
        (400, BOTH, PINNED, "compacted", "compacted", "schedule"),
        (400, EXPIRES, PINNED, "whole", "whole", "schedule"),
        (400, EXPIRES, PINNED, "compacted", "compacted", "schedule"),
        (400, BOTH, PINNED, "expired", "expired", None),
    ],
)
def test_a_batch_keeps_what_its_age_leaves_it_and_what_something_still_needs(
    days_ago: float, settings: RetentionSettings, needs: BatchNeeds, before: Retention, after: Retention, holder: str | None
) -> None:
    step = step_of(days_ago, settings, needs, before)
    assert (step.after, step.holder and step.holder.kind, step.changes) == (after, holder, after != before)


@given(
    st.floats(-10, 500),
    st.sampled_from([RetentionSettings(), BOTH, COMPACTS, EXPIRES]),
    st.sampled_from([BatchNeeds(), GATED, PINNED]),
    st.sampled_from(RETENTIONS),
)
def test_nothing_is_put_back_and_a_second_look_changes_nothing(
    days_ago: float, settings: RetentionSettings, needs: BatchNeeds, before: Retention
) -> None:
    step = step_of(days_ago, settings, needs, before)
    assert RETENTIONS.index(step.after) >= RETENTIONS.index(before)
    assert not step_of(days_ago, settings, needs, step.after).changes
    if not settings.is_set or needs is GATED:
        assert not step.changes


def night(name: str, days_ago: float, **batches: str) -> Night:
    at = NOW - timedelta(days=days_ago)
    return Night(source="monitor", stream=name, slot=Slot(at=at, local_date=at.date()), state="checked_clean", **batches)


def schedule(*pins: Pin, is_on: bool = True) -> Schedule:
    return Schedule(
        id="nightly",
        pins=pins,
        first_at=NOW,
        endpoint_url="https://agent.test",
        recipients=("ops@acme.test",),
        active_since=NOW,
        saved_by="ana",
        saved_at=NOW,
        is_on=is_on,
    )


def test_gates_nights_and_schedules_say_which_batches_they_need() -> None:
    report = GateReport(key="k", baseline="b-1", candidate="b-2", history=("b-3", "b-4"))
    gate = RememberedGate(report=report, standing="failed_check", reason="no baseline", received_at=NOW - timedelta(days=900))
    nights = [night("new", NIGHT_DAYS - 1, replay_batch="b-5", live_batch="b-6"), night("old", NIGHT_DAYS, live_batch="b-7")]
    pins = [Pin(scenario_id=name, batch_id="b-8", run_id=f"r-{name}", trajectory_digest="sha256:0") for name in ("a", "b")]
    needs = batch_needs(gates=[gate], nights=nights, schedules=[schedule(*pins, is_on=False)], now=NOW)
    assert {name: holder.kind for name, holder in needs.whole.items()} == {
        "b-1": "gate",
        "b-2": "gate",
        "b-3": "gate",
        "b-4": "gate",
        "b-5": "night",
        "b-6": "night",
    }
    assert needs.pinned_runs("b-8") == {"r-a", "r-b"}
    assert needs.pinned_runs("b-1") == frozenset()


def kept_letters(letters: str, *, after: Retention = "compacted", pinned: int | None = None) -> str:
    summary = recorded({"refund": letters})
    ids = set() if pinned is None else {summary.runs[pinned].id}
    parted = parted_runs(summary.runs, after=after, pinned=ids)
    assert parted.removed == len(letters) - len(parted.kept)
    return "".join(letter for letter, run in zip(letters, summary.runs, strict=True) if run.id in parted.kept)


@pytest.mark.parametrize(
    ("letters", "kept"), [("PPF", "F"), ("PFP", "P"), ("PH", "H"), ("PUU", "P"), ("FHU", "H"), ("U", "U"), ("UU", "U"), ("AB", "B")]
)
def test_of_each_scenario_the_run_that_comparisons_take_stays(letters: str, kept: str) -> None:
    assert kept_letters(letters) == kept


def test_pinned_runs_stay_beside_it_until_nothing_does() -> None:
    assert kept_letters("PPF", pinned=0) == "PF"
    assert kept_letters("PPF", pinned=2) == "F"
    assert kept_letters("PPF", after="expired") == ""


def test_only_trajectories_that_no_kept_run_of_the_batch_names_are_looked_at() -> None:
    summary = recorded({"a": "PFP", "b": "PA"})  # all passed runs share a trajectory, and all others another one
    passed, other = summary.runs[0].trajectory_digest, summary.runs[1].trajectory_digest
    assert parted_runs(summary.runs, after="compacted", pinned=()).trajectories == frozenset()
    of_a = [run for run in summary.runs if run.scenario_id == "a"]
    assert parted_runs(of_a, after="compacted", pinned=()).trajectories == {other}
    assert parted_runs(summary.runs, after="expired", pinned=()).trajectories == {passed, other}


BATCHES = st.dictionaries(st.sampled_from("abcd"), st.text(LETTERS, min_size=1, max_size=4), min_size=1)


@given(BATCHES, BATCHES, st.data())
def test_a_compacted_batch_comes_out_of_a_comparison_as_the_whole_one_did(
    before: dict[str, str], after: dict[str, str], data: st.DataObject
) -> None:
    baseline, candidate = recorded(before), recorded(after)
    pinned = data.draw(st.sets(st.sampled_from([run.id for run in baseline.runs if run.outcome == "passed"] or [""])))
    kept = parted_runs(baseline.runs, after="compacted", pinned=pinned).kept
    compacted = [run for run in baseline.runs if run.id in kept]
    whole_rows = compared(baseline, baseline.runs, candidate)
    rows = compared(baseline, compacted, candidate, retention="compacted")
    changed = {"baseline_runs": None}  # the run sets do change: one run a scenario is left of them
    assert [row.with_changes(**changed) for row in rows] == [row.with_changes(**changed) for row in whole_rows]
    assert all(row.baseline_runs is None or row.baseline_runs.runs <= 1 for row in rows), "pinned runs are no part of a run set"


def compared(
    baseline: BundleSummary, runs: "tuple[Run, ...] | list[Run]", candidate: BundleSummary, retention: Retention = "whole"
) -> list[ScenarioChange]:
    rows: list[ScenarioChange] = []

    def read() -> Iterator[Run]:
        return iter(runs)

    before = BatchRuns(baseline.batch.with_changes(retention=retention), read)
    compare_batches(before, BatchRuns(candidate.batch, lambda: iter(candidate.runs)), on_row=rows.append)
    return rows
