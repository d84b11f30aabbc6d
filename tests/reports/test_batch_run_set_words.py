"""Run sets of two batches in words."""

from evalplatform.comparisons.batches.records import BatchComparison
from evalplatform.reports.batch_comparison_markdown import lines_below
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_run_set_words import one_run_sentences, run_sets_against_verdict
from evalplatform.reports.pass_count_plot import ROWS_LIMIT, pass_count_figure
from evalplatform.runs.bundle import BundleSummary
from tests.support.compared_batches import Told, batch_of, compared


def of(baseline: dict[str, Told], candidate: dict[str, Told]) -> BatchComparison:
    return compared(batch_of(baseline), batch_of(candidate, hours=1))


def block(comparison: BatchComparison) -> list[str]:
    lines = list(lines_below(batch_comparison_report(comparison)))
    start = next(place for place, line in enumerate(lines) if line.startswith("Run sets"))
    return [line for line in lines[start:] if line]


def test_run_sets_read_as_a_block_of_drops_flags_and_power() -> None:
    comparison = of(
        {"collapse": Told("PPPP"), "half": Told("PPPP"), "replayed": Told("P")},
        {"collapse": Told("FFFF"), "half": Told("FFPP"), "replayed": Told("P")},
    )
    assert block(comparison) == [
        "Run sets (4 vs 4 runs per scenario):",
        "  - collapse  4/4 → 0/4  (p 0.004, drop)",
        "  - half  4/4 → 2/4  (p 0.089, not significant)",
        "  1 flagged, 0.0 expected by chance (chance of 1 or more: 0.01).",
        "  At 4 vs 4 graded runs a drop from 4/4 is flagged at 1/4 or fewer passes (2 scenarios).",
        "  1 scenario with one graded run on each side is not tested here.",
    ]


def test_nothing_flagged_never_reads_as_no_regression() -> None:
    lines = block(of({"a": Told("P"), "b": Told("PPPP"), "c": Told("PPPP")}, {"a": Told("PPFF"), "b": Told("PPPF"), "c": Told("FPPP")}))
    assert "  - a  1/1 → 2/4  (p 0.344, cannot flag at 1 vs 4)" in lines
    assert "  No drop detectable at this power: 0 flagged of 3 tested scenarios, 0.0 expected by chance." in lines
    assert "  At 1 vs 4 graded runs no drop can be flagged (1 scenario)." in lines
    assert not any("no regression" in line.lower() for line in lines)


def test_where_nothing_could_be_flagged_no_flags_are_expected() -> None:
    lines = block(of({"a": Told("PP")}, {"a": Told("FF")}))
    assert "  No drop can be flagged with so few runs (1 tested scenario), and that none is says nothing." in lines
    assert not any("expected by chance" in line for line in lines)


def test_a_long_list_of_scenarios_is_cut_and_counted() -> None:
    names = [f"s{number}" for number in range(9)]
    lines = block(of(dict.fromkeys(names, Told("PP")), dict.fromkeys(names, Told("HH"))))
    assert "  Without a graded run on a side, and so not tested: s0, s1, s2, s3, s4 and 4 more." in lines


def test_budget_stops_and_missing_runs_are_disclosed() -> None:
    lines = block(of({"a": Told("PPPP"), "b": Told("PPPP")}, {"a": Told("BBFF"), "b": Told("HPF", planned=4)}))
    assert "  - a  4/4 → 0/4  (p 0.004, drop); 2 budget stops among the failures" in lines
    assert any(line.startswith("  - b  4/4 → 1/2 (1 could not run, 1 missing)  (p ") for line in lines)
    assert "  1 run could not run (harness): left out of the counts." in lines
    assert "  1 planned run missing: shown under the count of the scenario." in lines


def test_a_flagged_drop_beside_a_verdict_that_does_not_regress_is_said() -> None:
    recovered = of({"a": Told("PPPP")}, {"a": Told("FFFP")})
    assert run_sets_against_verdict(recovered) == (
        "Run sets and verdict differ: 1 flagged drop is not newly failing (a). "
        "The verdict (clean) rests on one run a side, the most recent that was made and not left ungraded; run sets do not decide it."
    )
    unlucky = of({"a": Told("PPPP")}, {"a": Told("PPPF")})
    assert str(run_sets_against_verdict(unlucky)).startswith(
        "Run sets and verdict differ: 1 newly failing scenario has no flagged drop (a). The verdict (regressed) rests on"
    )
    assert run_sets_against_verdict(of({"a": Told("PPPP")}, {"a": Told("FFFF")})) is None


def test_one_run_a_side_says_what_it_cannot_tell_and_what_could() -> None:
    sentences = list(one_run_sentences(of({"a": Told("P")}, {"a": Told("F")})))
    assert sentences[0].startswith("No scenario has more than one run on a side.")
    assert "cannot tell a change of the agent from chance" in sentences[0]
    assert "An agent compared with itself flips too" in sentences[1]
    assert sentences[2] == (
        "Repeated runs can tell: at 4 vs 4 runs a drop from 4/4 is flagged at 1/4 or fewer; "
        "at 10 vs 10 runs a drop from 10/10 is flagged at 6/10 or fewer."
    )
    assert list(one_run_sentences(of({"a": Told("PP")}, {"a": Told("F")}))) == []
    assert list(one_run_sentences(of({"a": Told("H")}, {"a": Told("F")}))) == []


def test_replays_are_no_matter_of_chance() -> None:
    def replayed(letters: str, hours: int) -> BundleSummary:
        batch = batch_of({"a": Told(letters)}, hours=hours)
        planned = {name: scenario.with_changes(leg="replay") for name, scenario in batch.header.scenarios.items()}
        return batch._replace(header=batch.header.with_changes(scenarios=planned))

    (sentence,) = one_run_sentences(compared(replayed("P", 0), replayed("F", 1)))
    assert sentence.startswith("All runs are replays of recordings, no more than one of a scenario on a side.")


def test_the_figure_shows_the_largest_drops_and_says_what_it_leaves_out() -> None:
    many = {f"s{number:02}": Told("PPPP") for number in range(ROWS_LIMIT + 2)}
    figure = pass_count_figure(of(many, {name: Told("FFFP" if name == "s41" else "PFPP") for name in many}).changes)
    assert figure is not None
    assert figure.plot.alt.startswith("Passed of graded runs by scenario, baseline then candidate: s41 4/4 → 1/4; s00 4/4 → 3/4;")
    assert figure.caption.endswith("2 further scenarios differ by less.")
    assert pass_count_figure(of({"a": Told("P")}, {"a": Told("F")}).changes) is None
    assert pass_count_figure(of({"a": Told("PF")}, {"a": Told("FP")}).changes) is None
