"""The exact statistics of gates, beside SciPy's test and beside the least arithmetic that a gate's answer takes.

CPU seconds of one thread. What is said to be warm has been asked before; everything else begins with empty caches.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from math import comb
from random import Random

import numpy as np
from scipy.stats import boschloo_exact

from benchmarks.figures import Figure, ratio_figure, spread
from benchmarks.workload import Workload
from evalplatform.gates.decision import decide_gate
from evalplatform.gates.records import GateScenario
from evalplatform.stats import boschloo_drop, fisher_drop, stratified_drop
from evalplatform.stats.pass_counts import PassCount

ALLOWED_TO_SCIPY = 1 / 200
"""Of the time for one table by SciPy, the most that one of ours may take where all are asked."""
ALLOWED_TO_ARITHMETIC = 6.0
ALLOWED_SECONDS_OF_PAIRS = 10.0
MOST_RUNS = 50
STEADY, FLAKY, FELL = 0.5, 0.4, 0.1
"""Shares of the scenarios that always pass, that fail now and then, and whose rate fell."""


def figures(workload: Workload) -> list[Figure]:
    """Return the flag table beside SciPy, a gate beside its least arithmetic, and many different run counts."""
    size = workload.size
    return [
        _flag_table(size.flag_table_runs, size.repeats),
        _gate(_suite([(size.flag_table_runs, size.flag_table_runs)] * size.gate_scenarios), size.repeats),
        *_many_pairs(size.gate_scenarios, size.repeats),
    ]


def _flag_table(runs: int, repeats: int) -> Figure:
    """Return how long 200 tables of ours take beside one of SciPy's; which tables it is asked is drawn, and the same in every repeat."""
    random, tables = Random(1), (runs + 1) ** 2
    asked = [sorted(random.sample(range(runs + 1), 2), reverse=True) for _ in range(10)]
    ours, scipys = [], []
    for _ in range(repeats):
        _forget()
        ours.append(_cpu_seconds(partial(boschloo_drop.flag_table, runs, runs)) / tables / ALLOWED_TO_SCIPY)
        scipys.append(_cpu_seconds(partial(_ask_scipy, runs, asked)) / len(asked))
    milliseconds = [[1_000 * each for each in side] for side in (ours, scipys)]
    return ratio_figure(f"flag table, {runs} v {runs}, 200 tables to one of SciPy, CPU", *milliseconds, unit="ms", allowed=1.0)


def _ask_scipy(runs: int, asked: Sequence[Sequence[int]]) -> None:
    for before, after in asked:
        boschloo_exact([[before, after], [runs - before, runs - after]], alternative="greater")


def _gate(suite: Sequence[GateScenario], repeats: int) -> Figure:
    runs = suite[0].baseline.graded
    decide_gate(suite)  # warm
    margins = [each.baseline.passed + each.candidate.passed for each in suite]
    chances = [_chances(runs, passes) for passes in margins]
    least = [_cpu_seconds(partial(_least_arithmetic, runs, chances)) for _ in range(repeats)]
    ours = [_cpu_seconds(partial(decide_gate, suite)) for _ in range(repeats)]
    name = f"gate, {len(suite):,} scenarios x {runs} v {runs}, to its least arithmetic, CPU"
    return ratio_figure(name, [1_000 * each for each in ours], [1_000 * each for each in least], unit="ms", allowed=ALLOWED_TO_ARITHMETIC)


def _least_arithmetic(runs: int, chances: "Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]]") -> None:
    """Compute every tail of every scenario by one matrix product, and the sum over all scenarios by one trimmed convolution.

    Nothing is checked, kept exact or decided: what a gate takes beyond it is what these cost.
    """
    rows = np.zeros((len(chances), runs + 1))
    for place, each in enumerate(chances):
        rows[place, : len(each)] = each
    _ = rows @ np.tri(runs + 1)
    together = np.ones(1)
    for each in chances:
        if len(each) > 1:
            together = np.convolve(together, each)
            kept = np.flatnonzero(together > stratified_drop.TRIMMED)
            together = together[kept[0] : kept[-1] + 1]


def _chances(runs: int, passes: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the chances of the baseline's passes, given those of both sides."""
    least, most = max(0, passes - runs), min(runs, passes)
    return np.array([comb(runs, each) * comb(runs, passes - each) / comb(2 * runs, passes) for each in range(least, most + 1)])


def _many_pairs(number: int, repeats: int) -> list[Figure]:
    """Return how long so many different run counts take: their flag tables, and a gate that has each of them once."""
    every = [(before, after) for before in range(1, MOST_RUNS + 1) for after in range(1, MOST_RUNS + 1)]
    pairs = Random(2).sample(every, number)
    suite = _suite(pairs)
    flag_seconds, gate_seconds = [], []
    for _ in range(min(repeats, 3)):
        _forget()
        flag_seconds.append(_cpu_seconds(lambda: [boschloo_drop.flag_table(*pair) for pair in pairs]))
        _forget()
        gate_seconds.append(_cpu_seconds(partial(decide_gate, suite)))
    return [
        Figure(f"{number:,} different run counts, {what}, CPU", sorted(of)[len(of) // 2], "s", ALLOWED_SECONDS_OF_PAIRS, spread(of))
        for what, of in (("flag tables", flag_seconds), ("gate", gate_seconds))
    ]


def _suite(pairs: Sequence[tuple[int, int]]) -> list[GateScenario]:
    random = Random(3)
    made = []
    for place, (before_runs, after_runs) in enumerate(pairs):
        (before, after) = random.choices([(1.0, 1.0), (0.9, 0.9), (0.95, 0.75)], [STEADY, FLAKY, FELL])[0]
        sides = [_drawn(rate, runs, random) for rate, runs in ((before, before_runs), (after, after_runs))]
        made.append(GateScenario(scenario_id=f"scenario-{place:06d}", baseline=sides[0], candidate=sides[1]))
    return made


def _drawn(rate: float, runs: int, random: Random) -> PassCount:
    return PassCount(passed=sum(random.random() < rate for _ in range(runs)), graded=runs)


def _forget() -> None:
    """Empty every cache of the statistics, so that all of it is computed."""
    for module in (boschloo_drop, fisher_drop, stratified_drop):
        for cached in vars(module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


def _cpu_seconds(work: Callable[[], object]) -> float:
    """Return what this thread took: threads of linear algebra that wait for work would count as CPU time of the process."""
    started = time.thread_time()
    work()
    return time.thread_time() - started
