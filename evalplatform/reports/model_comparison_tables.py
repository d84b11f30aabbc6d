"""The tables of a model comparison, in the order of the report (treatment-arms spec, 16). Headings name the scored arm."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from evalplatform.comparisons.compared_run import CostFigures
from evalplatform.comparisons.model_comparison_records import (
    ArmDifference,
    DifficultySide,
    MeanInterval,
    ModelComparison,
    RankedRun,
    RunPair,
    RunRow,
    Uncovered,
)
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.view import Cell, Column, Section, Table, Tone
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST

RUN = Column(label="Run", numeric=False)
INTERVAL = Column(label="95% interval", meaning="Student's t over paired differences, in points; on its own, not corrected.")
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
P_ADJUSTED = Column(label="p adjusted", meaning="Student's test, corrected over all tests of this table.")
NO_ARM = "no scored arm"
MEAN_MEANING = "Mean points over the questions that this arm scored, with its own 95% interval (Student's t)."
POOLED_NOTE = "A pooled row shows the sum of its runs' costs and tokens, and the mean of their times."
POOLED_INTRO = (
    "Runs of one configuration are averaged question by question, over the questions that every one of them scored in both arms. A mean of "
    "k runs spreads less than one run, so these intervals are narrower: that is what k runs paid for, not a sharper judge."
)


def comparison_sections(compared: ModelComparison) -> Iterator[Section]:
    """Yield the sections of one comparison; those that need a scored arm are left out where there is none."""
    if compared.pooled:
        yield _pooling(compared)
    yield _models(compared)
    yield _resources(compared, compared.baseline_arm, "resource-usage", lambda row: row.baseline_cost)
    if compared.treatment_arm is not None:
        yield _resources(compared, compared.treatment_arm, "resource-usage-scored", lambda row: row.treatment_cost)
    yield _summary(compared)
    if compared.treatment_arm is not None:
        yield _significance(compared)
        if compared.difficulty:
            yield _difficulty(compared)
        yield _head_to_head(compared)
        if compared.pairs:
            yield _pairs(compared)
        yield _benefit(compared)
    yield _quality_ranking(compared)
    if compared.treatment_arm is not None:
        yield _delta_ranking(compared)


def scored_arm_name(compared: ModelComparison) -> str:
    """Return the scored arm as headings have it."""
    return NO_ARM if compared.treatment_arm is None else compared.treatment_arm


def delta_tone(difference: ArmDifference) -> Tone:
    """Return `better` or `worse` for a difference that is significant after correction."""
    if not difference.verdict.significant_adjusted or difference.delta_points is None:
        return "plain"
    return "better" if difference.delta_points > 0 else "worse"


def difference_interval(difference: ArmDifference) -> str:
    """Return the 95% interval, or `—` below two pairs."""
    effect = difference.effect
    return words.MISSING if effect is None else words.interval(effect.ci_lo, effect.ci_hi, signed=True)


def _pooling(compared: ModelComparison) -> Section:
    columns = (RUN, Column(label="Pools", numeric=False), Column(label="Questions kept"), Column(label="Questions dropped"))
    rows = [
        (pool.label, ", ".join(pool.runs), words.count(pool.kept_questions), words.count(pool.dropped_questions))
        for pool in compared.pooled
    ]
    return Section(key="pooling", title="Replicate Pooling", intro=POOLED_INTRO, table=_table(columns, rows))


def _models(compared: ModelComparison) -> Section:
    texts = ("Model", "Provider", "Harness", "Plugin set", "Judge", "Treatment arm")
    columns = (
        RUN,
        *(Column(label=label, numeric=False) for label in texts),
        Column(label="Questions", meaning="All of the run."),
        Column(label="Scored", meaning="Common questions with points in both arms."),
        Column(label="Unscored", meaning="Common questions without points in one of the two arms."),
    )
    return Section(
        key="models-compared",
        title="Models Compared",
        intro=f"Common questions: {words.count(compared.common_questions)}. All points, deltas, tests and ranks below are of these alone.",
        table=_table(columns, [_model_row(row) for row in compared.runs]),
    )


def _model_row(row: RunRow) -> tuple[str, ...]:
    judge = words.MISSING if row.judge_model is None else f"{row.judge_model} ({row.judge_provider or 'unknown provider'})"
    known = (row.model, row.provider, row.harness, row.plugin_set)
    counts = (row.questions, row.delta.pairs, row.unscored)
    arm = row.treatment_arm or f"{words.MISSING} (baseline only)"
    return (row.run, *(text or words.MISSING for text in known), judge, arm, *map(words.count, counts))


def correction_note(compared: ModelComparison) -> str:
    """Return why an interval and the colour beside it may disagree: intervals stand alone, verdicts are corrected over the runs."""
    return (
        "Each interval is 95% on its own, not corrected. Colours, verdicts and adjusted p are corrected "
        f"({CORRECTIONS[compared.correction]}) over {_family_words(compared)}, so an interval can leave 0 out where nothing is significant."
    )


def _family_words(compared: ModelComparison) -> str:
    tested = sum(row.delta.effect is not None and row.delta.effect.p_t is not None for row in compared.runs)
    return f"the deltas of {plural(tested, 'tested run')}"


def _resources(compared: ModelComparison, arm: str, key: str, cost_of: Callable[[RunRow], CostFigures]) -> Section:
    columns = (
        RUN,
        Column(label="Total cost, USD", meaning="In brackets: answers with a known price, of all answers, where some have none."),
        Column(label="Prompt tokens"),
        Column(label="Completion tokens"),
        Column(label="Total tokens"),
        Column(label="Mean latency"),
        Column(label="Mean time to first token"),
    )
    rows = [(row.run, *_cost_cells(cost_of(row))) for row in compared.runs]
    return Section(
        key=key,
        title=f"Resource Usage ({arm} arm)",
        intro="Over all questions of each run, as the run states it; the judge is not in it. Sums and means, so there is no interval.",
        table=_table(columns, rows),
        notes=(POOLED_NOTE,) if compared.pooled else (),
    )


def _cost_cells(cost: CostFigures) -> tuple[str, ...]:
    partly = f" ({words.count(cost.priced_answers)}/{words.count(cost.answers)})" if cost.is_partial else ""
    tokens = (cost.prompt_tokens, cost.completion_tokens, cost.total_tokens)
    times = (cost.mean_latency_seconds, cost.mean_time_to_first_token_seconds)
    return (words.usd(cost.total_cost_usd) + partly, *map(words.count, tokens), *map(words.seconds, times))


def _summary(compared: ModelComparison) -> Section:
    columns = (
        RUN,
        Column(label="Pairs", meaning="Questions with points in both arms; delta, improved and degraded are of these."),
        Column(label=scored_arm_name(compared), meaning=MEAN_MEANING),
        Column(label=compared.baseline_arm, meaning=MEAN_MEANING),
        Column(label="Delta", meaning="Mean of the paired differences, in points."),
        INTERVAL,
        Column(label="Improved"),
        Column(label="Degraded"),
    )
    return Section(
        key="overall-summary",
        title="Overall Summary",
        intro="The delta is the mean of paired differences; where questions are unscored, it is not the difference of the two means.",
        table=Table(columns=columns, rows=tuple(_summary_row(row) for row in compared.runs)),
        notes=() if compared.treatment_arm is None else (correction_note(compared),),
    )


def _summary_row(row: RunRow) -> tuple[Cell, ...]:
    pairs = f"{words.count(row.delta.pairs)} ({words.count(row.unscored)} unscored)" if row.unscored else words.count(row.delta.pairs)
    means = (
        _mean_words(row.treatment_mean_points, row.treatment_interval),
        _mean_words(row.baseline_mean_points, row.baseline_interval),
    )
    moved = (words.count(row.improved), words.count(row.degraded)) if row.delta.pairs else (words.MISSING, words.MISSING)
    delta = Cell(text=words.points(row.delta.delta_points, signed=True), tone=delta_tone(row.delta))
    return (*_cells(row.run, pairs, *means), delta, *_cells(difference_interval(row.delta), *moved))


def _mean_words(mean_points: float | None, interval: MeanInterval | None) -> str:
    mean = words.points(mean_points)
    return mean if interval is None else f"{mean} {_mean_interval_words(interval)}"


def _mean_interval_words(interval: MeanInterval | None) -> str:
    return words.MISSING if interval is None else words.interval(interval.lo_points, interval.hi_points)


def _significance(compared: ModelComparison) -> Section:
    columns = (
        RUN,
        Column(label="Delta"),
        Column(label="p (t)", meaning="Student's test of the paired differences, not corrected."),
        P_ADJUSTED,
        Column(label="p (Wilcoxon)", meaning="Signed-rank test, not corrected."),
        Column(label="d_z", meaning="Mean of the paired differences over their standard deviation."),
        Column(label="Effect", numeric=False),
        Column(label="Significant", numeric=False, meaning="Adjusted p below 0.05, and Wilcoxon's p where there is one."),
    )
    return Section(
        key="significance",
        title=f"Significance of the delta of {compared.treatment_arm}",
        nav_label="Significance",
        intro=f"{CORRECTIONS[compared.correction]}'s correction over {_family_words(compared)}, on unrounded p-values. "
        f"There is no test below {MIN_PAIRS_FOR_TEST} pairs, or where all differences are equal.",
        table=_table(columns, [_significance_row(row) for row in compared.runs]),
    )


def _significance_row(row: RunRow) -> tuple[str, ...]:
    delta, effect = words.points(row.delta.delta_points, signed=True), row.delta.effect
    if effect is None:
        return (row.run, delta, *(words.MISSING for _ in range(5)), "N/A")
    p_values = (effect.p_t, row.delta.verdict.p_adjusted, effect.p_wilcoxon)
    significant = row.delta.verdict.significant_adjusted
    verdict = "N/A" if significant is None else words.yes_no(significant)
    return (row.run, delta, *map(words.p_value, p_values), words.fixed(effect.d_z, 2, signed=True), effect.effect, verdict)


def _difficulty(compared: ModelComparison) -> Section:
    columns = [Column(label="Difficulty", numeric=False), Column(label="Questions")]
    for row in compared.runs:
        columns += [Column(label=f"{row.run} {compared.treatment_arm}"), Column(label=f"{row.run} delta")]
    rows = [
        (row.difficulty, words.count(row.questions), *(text for side in row.sides for text in _difficulty_cells(side)))
        for row in compared.difficulty
    ]
    intro = (
        "The common questions that state a difficulty. Each delta is of the questions that the run scored in both arms, with its own 95% "
        "interval. Nothing here is tested or corrected: of many such intervals some leave 0 out by chance."
    )
    return Section(key="by-difficulty", title="By Difficulty", intro=intro, table=_table(tuple(columns), rows))


def _difficulty_cells(side: DifficultySide) -> tuple[str, str]:
    delta = words.points(side.delta_points, signed=True)
    interval = words.interval(side.ci_lo_points, side.ci_hi_points, signed=True)
    return words.points(side.treatment_mean_points), delta if interval == words.MISSING else f"{delta} {interval}"


def _head_to_head(compared: ModelComparison) -> Section:
    found = compared.head_to_head
    columns = (
        Column(label="Most points", numeric=False),
        Column(label="Questions"),
        Column(label="Share", meaning="Of all common questions."),
        Column(label="Uncontested", meaning="Questions among them that some other run has no points for."),
    )
    counted = [(one.run, one.wins, words.count(one.uncontested)) for one in found.runs]
    counted += [("tie", found.ties, words.MISSING), ("no points", found.unscored, words.MISSING)]
    rows = [(name, words.count(number), words.percent(number / found.questions), rest) for name, number, rest in counted]
    return Section(
        key="head-to-head",
        title=f"Head-to-Head ({compared.treatment_arm})",
        nav_label="Head-to-Head",
        intro=f"Which run alone has the most points with {compared.treatment_arm}: who answers best, not who gains most.",
        table=_table(columns, rows),
    )


def _pairs(compared: ModelComparison) -> Section:
    columns = (
        Column(label="Runs", numeric=False, meaning="The first minus the second."),
        Column(label="Questions", meaning="Scored by both runs."),
        Column(label=f"Points of {compared.treatment_arm}", meaning="Mean of the paired differences."),
        INTERVAL,
        P_ADJUSTED,
        Column(label="Difference of the deltas", meaning=f"How much more {compared.treatment_arm} adds in the first run."),
        INTERVAL,
        P_ADJUSTED,
    )
    return Section(
        key="head-to-head-differences",
        title=f"Head-to-Head differences ({compared.treatment_arm})",
        nav_label="Head-to-Head differences",
        intro="Paired question by question. Each interval is 95% on its own; colours and adjusted p are corrected "
        f"({CORRECTIONS[compared.correction]}) over {_tested_pairs([pair.quality for pair in compared.pairs])} for the points and over "
        f"{_tested_pairs([pair.benefit for pair in compared.pairs])} for the deltas.",
        table=Table(columns=columns, rows=tuple(_pair_row(pair) for pair in compared.pairs)),
    )


def _tested_pairs(differences: Sequence[ArmDifference]) -> str:
    return plural(sum(one.verdict.p_adjusted is not None for one in differences), "tested pair")


def _pair_row(pair: RunPair) -> tuple[Cell, ...]:
    pairs = words.count(pair.quality.pairs)
    cells = _cells(f"{pair.first} − {pair.second}", pairs)
    for difference in (pair.quality, pair.benefit):
        mean = Cell(text=words.points(difference.delta_points, signed=True), tone=delta_tone(difference))
        cells += (mean, *_cells(difference_interval(difference), words.p_value(difference.verdict.p_adjusted)))
    return cells


def _benefit(compared: ModelComparison) -> Section:
    columns = (RUN, Column(label="Delta"), INTERVAL, Column(label="Helped"), Column(label="Hurt"), Column(label="Unchanged"))
    return Section(
        key="benefit",
        title=f"Benefit of {compared.treatment_arm}",
        nav_label="Benefit",
        intro=f"On how many questions {compared.treatment_arm} raised or lowered the points, of those with points in both arms.",
        table=_table(columns, [_benefit_row(row) for row in compared.runs]),
    )


def _benefit_row(row: RunRow) -> tuple[str, ...]:
    pairs = row.delta.pairs
    counts = (row.improved, row.degraded, pairs - row.improved - row.degraded)
    shares = [f"{words.count(number)} ({words.percent(number / pairs)})" if pairs else words.MISSING for number in counts]
    return (row.run, words.points(row.delta.delta_points, signed=True), difference_interval(row.delta), *shares)


def _quality_ranking(compared: ModelComparison) -> Section:
    arm, of_run = compared.ranked_arm, {row.run: row for row in compared.runs}
    intervals = {
        run: _mean_interval_words(row.baseline_interval if compared.treatment_arm is None else row.treatment_interval)
        for run, row in of_run.items()
    }
    table, notes = _ranking(compared.quality_ranking, intervals, compared.uncovered)
    see = "whether two runs differ is under Head-to-Head differences" if compared.pairs else "no two runs were tested"
    intro = f"By the mean alone: {see}. Each interval is that of the run's own mean (95%)."
    title = f"Ranking by points of {arm}"
    return Section(key="ranking-quality", title=title, nav_label="Ranking by points", intro=intro, table=table, notes=notes)


def _delta_ranking(compared: ModelComparison) -> Section:
    intervals = {row.run: difference_interval(row.delta) for row in compared.runs}
    table, notes = _ranking(compared.delta_ranking, intervals, compared.uncovered, signed=True)
    intro = "By the delta alone; each interval is 95% on its own. Two runs whose intervals overlap widely may stand in either order."
    title = f"Ranking by what {compared.treatment_arm} adds"
    return Section(key="ranking-delta", title=title, nav_label="Ranking by delta", intro=intro, table=table, notes=notes)


def _ranking(
    ranked: Sequence[RankedRun], intervals: Mapping[str, str], uncovered: Sequence[Uncovered], *, signed: bool = False
) -> tuple[Table, tuple[str, ...]]:
    """Return the table of places, and which runs have none."""
    columns = (Column(label="Rank", numeric=False), RUN, Column(label="Points"), Column(label="95% interval"))
    rows = [
        (words.count(place.rank), place.run, words.points(place.points, signed=signed), intervals[place.run])
        for place in ranked
        if place.rank is not None
    ]
    left_out = [f"{place.run} ({_why_unranked(place, uncovered)})" for place in ranked if place.rank is None]
    return _table(columns, rows), (f"Not ranked: {words.listed(left_out)}.",) if left_out else ()


def _why_unranked(place: RankedRun, uncovered: Sequence[Uncovered]) -> str:
    few = next((few for few in uncovered if few.run == place.run), None)
    return "no points" if few is None else f"{few.pairs:,} of {few.questions:,} questions have points in {words.listed(list(few.arms))}"


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    return Table(columns=tuple(columns), rows=tuple(_cells(*row) for row in rows))


def _cells(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text=text) for text in texts)
