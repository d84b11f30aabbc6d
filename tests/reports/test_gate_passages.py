"""The block of a gate in the report of a comparison, and how sure each of its drops is, as a reader sees them."""

import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalplatform.comparisons.batches.records import ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.comparisons.label_agreement import verdict_agreement
from evalplatform.gates.records import HistoryPool, ReplayDeterminism
from evalplatform.gates.verification import verify_certificate
from evalplatform.ports.labels import Verdict
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown, lines_above, lines_below
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_schema import batch_comparison_schema_text
from evalplatform.reports.batch_comparison_v3 import batch_comparison_v3, read_batch_comparison_v3
from evalplatform.reports.batch_comparison_view import BatchComparisonReport
from evalplatform.reports.gate_view import GateView
from evalplatform.reports.gate_words import frequency_words
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import GateTier
from evalplatform.runs.remembered_gate import GateReport, RememberedGate
from evalplatform.stages.gate import gated_comparison
from evalplatform.stages.gate_baseline import GateBaseline
from evalplatform.stages.gate_view import gate_view
from tests.support.compared_batches import Told, batch_of
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
POLICY = {"target_drop": 50}
RATED: list[tuple[Verdict, Verdict]] = [*[("passed", "passed")] * 25, *[("failed", "failed")] * 20, *[("passed", "failed")] * 5]
AGREEMENT = verdict_agreement(RATED)


def runs_of(batch: BundleSummary) -> BatchRuns:
    return BatchRuns(batch.batch, lambda: iter(batch.runs))


def of_ten(passed: int, tier: GateTier = "standard") -> Told:
    return Told("P" * passed + "F" * (10 - passed), tier=tier)


def before_and_after(baseline: dict[str, Told], candidate: dict[str, Told], policy: Any = POLICY) -> tuple[BundleSummary, BundleSummary]:
    return batch_of(baseline, policy=policy), batch_of(candidate, hours=1, policy=policy, commit="beef002")


def the_worked_gate() -> tuple[BundleSummary, BundleSummary]:
    """A collapse, a small drop of a critical scenario, one that is not proven, one that failed before, and one that hardly moves."""
    tiers: dict[str, GateTier] = {"refund": "critical", "escalate": "critical"}
    passes = {"collapse": (10, 0), "refund": (10, 9), "half": (10, 6), "escalate": (7, 7), "quiet": (8, 7)}
    sides = ({name: of_ten(both[side], tiers.get(name, "standard")) for name, both in passes.items()} for side in (0, 1))
    return before_and_after(*sides)


def gate_of(
    baseline: BundleSummary, candidate: BundleSummary, *, found: dict[str, Any] | None = None, **given: Any
) -> tuple[BatchComparisonReport, GateView | None, list[ScenarioChange]]:
    """The report, the gate's view and every row; `found` says how the baseline was found."""
    rows: list[ScenarioChange] = []
    judge_agreement = given.pop("judge_agreement", None)
    gated = gated_comparison(runs_of(baseline), runs_of(candidate), on_row=rows.append, **given)
    resolved = GateBaseline(**{"batch": baseline.batch, "choice": "named", **(found or {})})
    view = gate_view(gated, resolved, judge_agreement=judge_agreement)
    return batch_comparison_report(gated.comparison, choice=resolved.choice, gate=view), view, rows


def said(report: BatchComparisonReport) -> list[str]:
    return [*lines_above(report), *(line.strip() for line in lines_below(report))]


def test_the_worked_gate_is_printed_with_its_threshold_its_suite_and_its_bound() -> None:
    report, _, _ = gate_of(*the_worked_gate())
    lines = said(report)
    start = lines.index("Gate (gate policy, 10 runs per scenario):")
    assert lines[start + 1 : start + 9] == [
        "K = 2, threshold 0.0200 (Fisher, Tarone)",
        "- collapse  standard  10/10 → 0/10 (p 0.0000): drop, significant; gates",
        "- half  standard  10/10 → 6/10 (p 0.0433): listed, not proven; does not gate",
        "- refund  critical  10/10 → 9/10: drop; gates",
        "Pre-existing failing (critical, no further drop): escalate.",
        (
            "Unstable critical baseline (escalate): it both passed and failed, so any-drop gating will fail on noise there; "
            "consider the standard tier."
        ),
        "Suite: exact stratified drop p 0.066 over the 2 standard scenarios without a single flag: no spread-out drop.",
        (
            "A gate without critical scenarios in which nothing changed fails at most 1 time in 20, however many scenarios it has. "
            "Each critical scenario that is not perfectly reliable adds to that."
        ),
    ]
    assert lines[0].startswith("The gate would fail (1 significant drop, 1 critical drop). By one run a side: 3 flipped to failing")


def test_the_markdown_and_the_page_say_the_same() -> None:
    report, _, _ = gate_of(*the_worked_gate(), judge_agreement=AGREEMENT)
    assert_snapshot(SNAPSHOTS / "gated_comparison.md", batch_comparison_markdown(report))
    html = batch_comparison_html(report)
    assert "<script" not in html
    for passage in (passage for passage in report.passages if passage.key in ("gate", "how-sure")):
        for text in (passage.title, *(item.scenario_id for item in passage.items)):
            assert text in html
    assert "threshold 0.0200" in html


def test_how_sure_speaks_of_what_gates_or_is_listed_and_of_nothing_else() -> None:
    report, _, _ = gate_of(*the_worked_gate(), judge_agreement=AGREEMENT)
    passage = next(passage for passage in report.passages if passage.key == "how-sure")
    told = {item.scenario_id: item.text for item in passage.items}
    assert list(told) == ["collapse", "half", "refund"]
    assert "if nothing had changed, a drop this large would happen less than 1 time in 10,000" in told["collapse"]
    assert "about 1 time in 23; p 0.0433 is above the threshold 0.0200 (0.04 divided by K = 2); listed, not proven" in told["half"]
    assert "about 1 time in 2; any drop of a critical scenario gates" in told["refund"]
    agreement = "90.0% [78.6%, 95.7%] of 50 labelled runs, kappa +0.80 [+0.64, +0.96]"
    assert f"Judge: structural. Agreement with people's labels: {agreement}." in passage.notes
    assert not any("probability" in text for text in (*told.values(), *passage.notes))


def test_a_gate_that_passes_with_nothing_listed_has_no_section_on_how_sure_it_is() -> None:
    report, _, _ = gate_of(*before_and_after({"a": of_ten(10)}, {"a": of_ten(10)}))
    assert [passage.key for passage in report.passages][:2] == ["gate", "violations"]
    assert report.headline.sentence.startswith("The gate would pass (no scenario gates, and no drop is spread over the suite)")


def test_what_is_unverified_gates_with_its_reason() -> None:
    few = {"few": Told("PP"), "none": Told("PPPP")}
    report, view, _ = gate_of(*before_and_after(few, {"few": Told("PP"), "none": Told("HHHH")}))
    lines = said(report)
    assert "- few  standard  2/2 → 2/2: unverified: so few graded runs could not show even a total collapse; gates" in lines
    assert "- none  standard  4/4 → 0/0: unverified: the candidate has no graded run of it; gates" in lines
    assert view is not None
    assert view.decision.fails
    assert lines[0].startswith("The gate would fail (2 unverified)")


def test_two_declared_tiers_are_said_with_the_one_that_applies() -> None:
    report, _, _ = gate_of(*before_and_after({"a": of_ten(10, "critical")}, {"a": of_ten(9)}))
    assert "a: standard in the candidate, critical in the baseline; critical applies." in said(report)


def test_a_drop_that_is_spread_over_the_suite_gates_by_itself() -> None:
    names = [f"s{place}" for place in range(7)]
    report, _, _ = gate_of(*before_and_after(dict.fromkeys(names, of_ten(10)), dict.fromkeys(names, of_ten(9))))
    lines = said(report)
    assert (
        "Suite: exact stratified drop p 0.008 over the 7 standard scenarios without a single flag: a drop that is spread over them: gates."
        in lines
    )
    assert lines[0].startswith("The gate would fail (a drop spread over the suite)")


def test_one_run_a_side_is_said_to_have_no_statistics() -> None:
    report, _, _ = gate_of(*before_and_after({"a": Told("P"), "b": Told("P")}, {"a": Told("F"), "b": Told("P")}))
    lines = said(report)
    assert "- a  standard  passed → failed: flipped to failing; gates" in lines
    assert "2 scenarios with one run a side or a replay: a flip to failing decides, and no statistics." in lines
    assert any("one run a side shows a flip, and cannot tell a change from chance" in line for line in lines)


def test_a_branch_s_baseline_is_named_with_its_last_gate_and_its_history() -> None:
    baseline, candidate = before_and_after({"lookup": of_ten(10)}, {"lookup": of_ten(2)})
    gate = RememberedGate(
        report=GateReport(key="1-1-abc", baseline="b-0", candidate=baseline.batch.id, branch="main"),
        standing="clean",
        received_at=datetime(2026, 5, 1, 13, 0, tzinfo=UTC),
        commit="c0ffee1",
    )
    pool = HistoryPool(newest_first=(True,) * 20, stop="limit", batches=(baseline.batch.id,))
    report, _, _ = gate_of(baseline, candidate, found={"choice": "branch", "branch": "main", "gate": gate}, pools={"lookup": pool})
    lines = said(report)
    named = f"Baseline: {baseline.batch.id}, what the last remembered gate on main gated: clean, 2026-05-01 13:00 UTC, commit c0ffee1"
    assert named in lines
    assert "Baseline: history for 1 scenario (20 runs for lookup, pool stopped: limit)" in lines
    assert any("20/20 → 2/10 (baseline: 20 runs of history, pool stopped: limit)" in line for line in lines)


def test_a_history_that_could_not_be_read_and_replays_that_differ_fail_the_gate_by_name() -> None:
    sides = before_and_after({"a": of_ten(10)}, {"a": of_ten(10)})
    report, _, _ = gate_of(
        *sides, history_error="b-9 is not stored any more", determinism=ReplayDeterminism(verified=1, differing=("replayed",))
    )
    lines = said(report)
    assert "Baseline: the history could not be read, so the gate fails as unverified: b-9 is not stored any more" in lines
    assert "Replay determinism: 1 of 2 replays came out otherwise when run again: replayed." in lines
    assert lines[0].startswith("The gate would fail (the history could not be read, 1 replay not deterministic)")


def test_a_batch_against_itself_gates_nothing() -> None:
    baseline, _ = before_and_after({"few": Told("PF")}, {})
    report, view, _ = gate_of(baseline, baseline, found={"choice": "seed", "branch": "main"}, is_seed=True)
    assert view is not None
    assert not view.decision.fails
    assert not any(line.endswith("; gates") for line in said(report))
    assert "how-sure" not in [passage.key for passage in report.passages]


def test_without_a_policy_there_is_no_block_of_a_gate() -> None:
    report, view, _ = gate_of(*before_and_after({"a": of_ten(10)}, {"a": of_ten(0)}, policy=None))
    assert view is None
    assert not {"gate", "how-sure"} & {passage.key for passage in report.passages}


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (Fraction(1), "nearly every time"),
        (Fraction(1, 2), "about 1 time in 2"),
        (Fraction(2, 5), "about 1 time in 3"),
        (Fraction(210, 4845), "about 1 time in 23"),
        (Fraction(1, 10_000), "about 1 time in 10,000"),
        (Fraction(1, 10_001), "less than 1 time in 10,000"),
        (Fraction(9, 10), "about 9 times in 10"),
    ],
)
def test_a_p_value_reads_as_a_frequency(p: Fraction, words: str) -> None:
    assert frequency_words(p) == words


def test_the_json_has_the_decision_and_a_certificate_that_holds_and_reads_back_equal() -> None:
    baseline, candidate = the_worked_gate()
    rows: list[ScenarioChange] = []
    gated = gated_comparison(runs_of(baseline), runs_of(candidate), on_row=rows.append)
    view = gate_view(gated, GateBaseline(baseline.batch, "named"))
    data = batch_comparison_v3(gated.comparison, rows, gate=view)
    read = read_batch_comparison_v3(data)
    assert (read.gate, read.comparison) == (view, gated.comparison)
    written = json.loads(data)
    Draft202012Validator(json.loads(batch_comparison_schema_text())).validate(written)
    assert [each["scenario"]["scenario_id"] for each in written["gate"]["decision"]["scenarios"]] == sorted(r.scenario_id for r in rows)
    assert written["would_fail"] is True
    verified = verify_certificate(json.dumps(written["gate"]["certificate"]).encode())
    assert (verified.problems, verified.fails) == ((), True)


def test_the_json_of_a_gate_that_passes_under_its_policy_says_so_whatever_the_compared_runs_did() -> None:
    baseline, candidate = before_and_after({"a": of_ten(10)}, {"a": of_ten(9)})
    rows: list[ScenarioChange] = []
    gated = gated_comparison(runs_of(baseline), runs_of(candidate), on_row=rows.append)
    written = json.loads(batch_comparison_v3(gated.comparison, rows, gate=gate_view(gated, GateBaseline(baseline.batch, "named"))))
    assert (written["verdict"], written["would_fail"]) == ("regressed", False)
    assert written["headline"]["sentence"].startswith("The gate would pass")
