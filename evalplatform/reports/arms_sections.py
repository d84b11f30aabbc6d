"""The tables of an arms report."""

from evalplatform.comparisons.records import ArmCost, ArmDelta, ArmScore, ArmSummary, Interaction
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_rows import RunRows
from evalplatform.reports.arms_view import ResultRow
from evalplatform.reports.view import Cell, Column, Section, Table, Tone
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST, PairedEffect

ARM = Column(label="Arm", numeric=False)
INTERVAL = Column(label="95% interval", meaning="How far the mean may be from the one of all such questions.")
EXAMPLES_SHOWN = 5


def against(summary: ArmSummary, word: str = "minus") -> str:
    """Return what the deltas compare, by name: `skill:demo minus baseline`, `4 arms minus baseline`."""
    treated = [arm for arm in summary.arms if arm != summary.baseline_arm]
    if not treated:
        return f"{summary.baseline_arm} alone"
    names = words.listed(treated) if len(treated) <= 2 else f"{len(treated)} arms"
    return f"{names} {word} {summary.baseline_arm}"


def tone_of(significant: bool | None, delta: float | None) -> Tone:
    """Return the tone of a delta: colour is for what is significant alone."""
    if not significant or delta is None:
        return "plain"
    return "better" if delta > 0 else "worse"


def result_rows(summary: ArmSummary) -> tuple[ResultRow, ...]:
    """Return the worded result of every arm."""
    return tuple(_result_row(summary, arm) for arm in summary.arms)


def _result_row(summary: ArmSummary, arm: str) -> ResultRow:
    score, delta = summary.scores[arm], summary.deltas.get(arm)
    effect = None if delta is None else delta.effect
    return ResultRow(
        arm=arm,
        mean_points=words.points(score.mean_points),
        mean_interval=words.interval(score.ci_lo_points, score.ci_hi_points),
        scored=f"{score.scored:,}/{score.questions:,}",
        delta_points=words.MISSING if effect is None else words.points(effect.delta_mean, signed=True),
        delta_interval=words.MISSING if effect is None else words.interval(effect.ci_lo, effect.ci_hi, signed=True),
        pairs=words.MISSING if delta is None else words.count(delta.pairs),
        p_adjusted=words.MISSING if delta is None else words.p_value(delta.p_adjusted),
        verdict="baseline" if arm == summary.baseline_arm else verdict(delta),
        cost_usd=_total_cost(summary.costs.get(arm)),
    )


def verdict(delta: ArmDelta | None) -> str:
    """Return the verdict on an arm, saying why where there is none: `— (4 pairs, 6 needed)`."""
    if delta is None or delta.effect is None:
        return f"{words.MISSING} (no pairs)" if delta is None or not delta.pairs else f"{words.MISSING} (one pair)"
    if delta.significant_adjusted is None:
        return f"{words.MISSING} ({lack_of_a_test(delta.effect) or 'N/A: no spread'})"
    if tests_disagree(delta):
        return f"{words.direction(False, delta.effect.delta_mean)} (tests disagree)"
    return words.direction(delta.significant_adjusted, delta.effect.delta_mean)


def lack_of_a_test(effect: PairedEffect) -> str | None:
    """Return what a test of the effect lacks, such as `4 clusters, 6 needed`; None where it only lacks spread."""
    if effect.clusters is not None and effect.clusters < MIN_PAIRS_FOR_TEST:
        return f"{plural(effect.clusters, 'cluster')}, {MIN_PAIRS_FOR_TEST} needed"
    return f"{plural(effect.n, 'pair')}, {MIN_PAIRS_FOR_TEST} needed" if effect.n < MIN_PAIRS_FOR_TEST else None


def tests_disagree(delta: ArmDelta) -> bool:
    """Say whether the adjusted t-test alone would have decided: the Wilcoxon test does not agree, and a verdict needs both."""
    return delta.significant_adjusted is False and delta.p_adjusted is not None and delta.p_adjusted < ALPHA


def summary_section(summary: ArmSummary) -> Section:
    """Return the summary: one row an arm."""
    delta = Column(label=f"Delta vs {summary.baseline_arm}")
    shown = (Column(label="Mean points"), INTERVAL, Column(label="Scored"), delta, Column(label="95% interval of the delta"))
    columns = (ARM, *shown, Column(label="Pairs"), Column(label="p (adjusted)"), Column(label="Verdict", numeric=False))
    intro = f"Points are 0 to 100. A delta is the mean of paired differences ({against(summary)}) over the questions both arms scored."
    return Section(
        key="summary",
        title="Summary",
        intro=intro,
        table=Table(columns=columns, rows=tuple(_summary_row(row, summary) for row in result_rows(summary))),
        notes=_summary_notes(summary),
    )


def _summary_row(row: ResultRow, summary: ArmSummary) -> tuple[Cell, ...]:
    delta, score = summary.deltas.get(row.arm), summary.scores[row.arm]
    tone: Tone = "plain"
    if delta is not None and delta.effect is not None:
        tone = tone_of(delta.significant_adjusted, delta.effect.delta_mean)
    return (
        Cell(text=row.arm),
        Cell(text=row.mean_points),
        Cell(text=row.mean_interval),
        Cell(text=row.scored, tone="caution" if score.scored < score.questions else "plain"),
        Cell(text=row.delta_points, tone=tone),
        Cell(text=row.delta_interval),
        Cell(text=row.pairs),
        Cell(text=row.p_adjusted),
        Cell(text=row.verdict, tone="muted" if tone == "plain" else tone),
    )


def _summary_notes(summary: ArmSummary) -> tuple[str, ...]:
    spread = "over questions" if summary.cluster_field is None else f"clustered by {summary.cluster_field}"
    corrections = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
    names = sorted({corrections.get(delta.correction, delta.correction) for delta in summary.deltas.values()})
    notes = [f"Intervals are 95%, Student's t, {spread}."]
    if names:
        rank_test = ", and need the Wilcoxon test to agree" if summary.cluster_field is None else "; clusters have no Wilcoxon test"
        notes.append(f"Verdicts are at 5% after {words.listed(names)} correction over the tested arms{rank_test}.")
        notes.append("“No difference shown” is not “no difference”: the interval says how large one may still be.")
    if summary.draws > 1:
        text = f"A question's score is the mean over its scored draws, of {summary.draws}; it weighs the same however many those are."
        notes.append(f"{text} Draws are no further questions: the intervals are those of draws clustered by question.")
    return tuple(notes)


EFFECT_COLUMNS = (
    Column(label="n", meaning="Questions that all compared arms scored."),
    Column(label="Delta"),
    Column(label="95% interval"),
    Column(label="p (t)"),
    Column(label="p (adjusted)"),
    Column(label="Significant (adjusted)", numeric=False, meaning="At 5%, corrected for the number of tests."),
    Column(label="p (Wilcoxon)"),
    Column(label="p (permutation)"),
    Column(label="d_z", meaning="Mean difference over the standard deviation of the differences."),
    Column(label="Effect", numeric=False),
    Column(label="SD"),
    Column(label="SE"),
    Column(label="n (Wilcoxon)"),
    Column(label="Significant", numeric=False, meaning="At 5%, uncorrected."),
    Column(label="Tested/family"),
    Column(label="Interval method", numeric=False),
)


def effect_cells(effect: PairedEffect, row: ArmDelta | Interaction) -> tuple[Cell, ...]:
    """Return the cells of `EFFECT_COLUMNS` for a delta or an interaction."""
    tone = tone_of(row.significant_adjusted, effect.delta_mean)
    method = effect.ci_method if effect.clusters is None else f"{effect.ci_method}, {plural(effect.clusters, 'cluster')}"
    return (
        Cell(text=words.count(effect.n)),
        Cell(text=words.fixed(effect.delta_mean, 2, signed=True), tone=tone),
        Cell(text=words.interval(effect.ci_lo, effect.ci_hi, decimals=2, signed=True)),
        Cell(text=words.p_value(effect.p_t)),
        Cell(text=words.p_value(row.p_adjusted)),
        Cell(text=words.yes_no(row.significant_adjusted), tone=tone),
        Cell(text=words.p_value(effect.p_wilcoxon)),
        Cell(text=words.p_value(effect.p_permutation)),
        Cell(text=words.fixed(effect.d_z, 3, signed=True)),
        Cell(text=effect.effect),
        Cell(text=words.fixed(effect.delta_sd, 2)),
        Cell(text=words.fixed(effect.standard_error, 2)),
        Cell(text=words.count(effect.n_wilcoxon)),
        Cell(text=words.yes_no(row.significant)),
        Cell(text=f"{row.family_tested}/{row.family_size} ({row.correction})"),
        Cell(text=method, tone="muted"),
    )


def significance_section(summary: ArmSummary) -> Section | None:
    """Return the paired tests of every arm with at least two pairs; None when there is none."""
    compared = [delta for delta in summary.deltas.values() if delta.effect is not None]
    rows = tuple((Cell(text=delta.arm), *effect_cells(delta.effect, delta)) for delta in compared if delta.effect is not None)
    if not rows:
        return None
    return Section(
        key="significance",
        title=f"Paired significance: {against(summary)}",
        table=Table(columns=(ARM, *EFFECT_COLUMNS), rows=rows),
        notes=(
            f"Tests are two-sided and need {MIN_PAIRS_FOR_TEST} pairs (or clusters) with some spread; — where there was none.",
            "The permutation p-value stands beside the others as a check; verdicts use the t-test and Wilcoxon.",
        ),
    )


COST_COLUMNS = (
    "Answers",
    "Calls",
    "Cost USD",
    "USD per answer",
    "Prompt tokens",
    "Completion tokens",
    "Total tokens",
    "Cache-read share",
    "Mean latency",
    "Median",
    "95th percentile",
    "Mean first token",
)


def cost_section(summary: ArmSummary, rows: RunRows) -> Section:
    """Return cost, tokens and latency of every arm."""
    costs = [summary.costs[arm] for arm in summary.arms if arm in summary.costs]
    replayed = {cost.arm: rows.replayed(cost.arm) for cost in costs}
    notes = ["Failed answers contribute nothing. — is unknown, never 0."]
    if any(cost.priced_answers < cost.answers and cost.total_cost_usd is not None for cost in costs):
        notes.append("Partial: a cost with a fraction covers that many of the arm's answers; the others have no known price.")
    if any(replayed.values()):
        notes.append(f"Latencies of replayed answers are those of the calls when they were paid for ({words.tally(replayed)}).")
    return Section(
        key="cost",
        title="Cost & latency",
        table=Table(columns=(ARM, *(Column(label=label) for label in COST_COLUMNS)), rows=tuple(_cost_row(cost, rows) for cost in costs)),
        notes=tuple(notes),
    )


def _cost_row(cost: ArmCost, rows: RunRows) -> tuple[Cell, ...]:
    latencies = rows.latencies_seconds(cost.arm)
    each = cost.total_cost_usd / cost.priced_answers if cost.total_cost_usd is not None and cost.priced_answers else None
    cached = cost.cache_read_tokens / cost.prompt_tokens if cost.cache_read_tokens is not None and cost.prompt_tokens else None
    texts = (
        words.count(cost.answers),
        words.count(cost.calls),
        _total_cost(cost),
        words.usd(each),
        words.count(cost.prompt_tokens),
        words.count(cost.completion_tokens),
        words.count(cost.total_tokens),
        words.percent(cached),
        words.seconds(cost.mean_latency_seconds),
        words.seconds(nearest_rank(latencies, 0.50)),
        words.seconds(nearest_rank(latencies, 0.95)),
        words.seconds(cost.mean_time_to_first_token_seconds),
    )
    return (Cell(text=cost.arm), *(Cell(text=text) for text in texts))


def nearest_rank(ascending: list[float], share: float) -> float | None:
    """Return the smallest value that at least `share` of the values do not exceed (nearest rank), or None without values."""
    if not ascending:
        return None
    rank = -int(-share * len(ascending) // 1)
    return ascending[max(rank, 1) - 1]


def _total_cost(cost: ArmCost | None) -> str:
    if cost is None or cost.total_cost_usd is None:
        return words.MISSING
    partial = "" if cost.priced_answers == cost.answers else f" ({cost.priced_answers:,}/{cost.answers:,})"
    return words.usd(cost.total_cost_usd) + partial


def unscored_section(summary: ArmSummary, rows: RunRows, question_ids: list[str]) -> Section | None:
    """Return what has no points, by arm and reason, with the first questions of each; None when everything is scored."""
    table = []
    for arm in summary.arms:
        score: ArmScore = summary.scores[arm]
        examples = _examples(arm, summary.draws, rows, question_ids)
        for reason, number in sorted(score.unscored_reasons.items(), key=lambda item: (-item[1], item[0])):
            first = examples.get(reason, [])
            more = ", …" if number > len(first) and len(first) == EXAMPLES_SHOWN else ""
            texts = (arm, reason, words.count(number), ", ".join(first) + more or words.MISSING)
            table.append(tuple(Cell(text=text) for text in texts))
    if not table:
        return None
    columns = (ARM, Column(label="Reason", numeric=False), Column(label="Answers"), Column(label="First questions", numeric=False))
    return Section(
        key="unscored",
        title="Unscored answers",
        intro="These have no points. They are left out of means and pairs, and never counted as 0.",
        table=Table(columns=columns, rows=tuple(table)),
    )


def _examples(arm: str, draws: int, rows: RunRows, question_ids: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for question_id in question_ids:
        for draw in range(draws):
            why = rows.why_unscored((question_id, arm, draw))
            if why is None:
                continue
            named = found.setdefault(words.reason_head(why), [])
            if question_id not in named and len(named) < EXAMPLES_SHOWN:
                named.append(question_id)
    return found
