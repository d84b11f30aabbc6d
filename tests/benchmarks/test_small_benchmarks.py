from benchmarks.__main__ import all_figures
from benchmarks.figures import Figure, ratio_figure, table
from benchmarks.sizes import SMALL
from tests.interop.reference_tool import installed_reference

EVERY_FIGURE = [
    "run loop, wall",
    "run loop, CPU",
    "whole process, wall",
    "unchanged run, wall",
    "unchanged run, to a bare interpreter",
    "unchanged run, model calls",
    "--help, wall",
    "60 questions, write, peak memory",
    "60 questions, read, peak memory",
    "60 questions, time to half as many",
    "60 questions x 2 arms, write, peak memory",
    "60 questions x 2 arms, read, peak memory",
    "200 scores, write, peak memory",
    "200 scores, read, peak memory",
    "200 scores, aggregate, peak memory",
    "200 scores, time to half as many",
    "backfill of 3 partitions, to one process",
    "backfill of 3 partitions, through the daemon",
    *(
        f"{partitions} partitions, {step}"
        for partitions in (20, 200)
        for step in ("definitions load", "partitions sensor, a look", "new-judges sensor, a look")
    ),
]
AGAINST_THE_REFERENCE = [f"model-compare, 4 runs x 60 questions, {how}, to dokimi" for how in ("in process, CPU", "whole command")]

LAST_FIGURES = [
    "model-compare, 120 questions to 60, CPU",
    "batches, 100 scenarios x 4 runs, compared, to reading, CPU",
    "batches, 100 scenarios x 4 runs, peak memory to half as many",
    "push, 100 scenarios x 4 runs, wall",
    "push, 100 scenarios x 4 runs, CPU to half as many",
    "push, 100 scenarios x 4 runs, peak memory to half as many",
    "flag table, 10 v 10, 200 tables to one of SciPy, CPU",
    "gate, 30 scenarios x 10 v 10, to its least arithmetic, CPU",
    "30 different run counts, flag tables, CPU",
    "30 different run counts, gate, CPU",
]


def test_small_benchmarks_run_and_report_every_figure() -> None:
    figures = all_figures(SMALL)
    against = AGAINST_THE_REFERENCE if installed_reference() else []
    assert [figure.name for figure in figures] == [*EVERY_FIGURE, *against, *LAST_FIGURES]
    measured = {figure.name: figure.measured for figure in figures}
    assert measured.pop("unchanged run, model calls") == 0
    assert all(number > 0 for number in measured.values())


def test_a_missed_bound_is_named_in_the_table() -> None:
    slow = ratio_figure("loop", [3.0, 4.0, 9.0], [1.0, 2.0, 3.0], unit="s", allowed=2.5)
    assert slow.measured == 3.0  # the median of 3, 2 and 3: pairs are compared, not medians
    assert not slow.is_kept
    shown = table([slow, Figure("told", 1.0, "s")]).splitlines()
    assert "MISSED" in shown[2]
    assert shown[3].split() == ["told", "1.00", "s"]
