"""The tables of a plugin delta: points, costs and tokens, lengths."""

from collections.abc import Callable

from evalplatform.comparisons.plugin_delta_records import AnswerTextDelta, CostDelta, FigureDelta, LengthDelta, PluginDelta, ScoreDelta
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_sections import ARM, INTERVAL, lack_of_a_test, tone_of
from evalplatform.reports.view import Cell, Column, Section, Table

NO_COST_INTERVAL = (
    "These deltas have no interval and no test: a run's file states sums and means over its answers, which say nothing of their spread. "
    "A small one may be chance."
)
USD_DECIMALS = 6  # as plugin_delta.v1 rounds costs: a plugin moves an answer's cost by less than a hundredth of a cent


def score_section(delta: PluginDelta) -> Section | None:
    """Return the points of every arm in both runs, with the paired delta, its interval and its verdict; None where nobody judged."""
    if not delta.is_judged:
        return None
    columns = (
        ARM,
        Column(label="Control", meaning="Mean points of the control, over the pairs."),
        Column(label="With plugins", meaning="Mean points with the plugin set, over the same pairs."),
        Column(label="Delta", meaning="Mean of paired differences: with plugins minus control."),
        INTERVAL,
        Column(label="Pairs", meaning="Questions that the arm scored in both runs."),
        Column(label="p (adjusted)"),
        Column(label="p (Wilcoxon)"),
        Column(label="d_z", meaning="Mean difference over the standard deviation of the differences."),
        Column(label="Verdict", numeric=False),
    )
    correction = {"holm": "Holm", "bh": "Benjamini-Hochberg"}[delta.correction]
    tested = delta.scores[0].verdict.family_tested
    clustered = "" if delta.cluster_field is None else f" with questions clustered by {delta.cluster_field}"
    rank_test = ", and need the Wilcoxon test to agree" if delta.cluster_field is None else "; clusters have no Wilcoxon test"
    return Section(
        key="scores",
        title=f"Points: {delta.plugin_set} against {delta.control.plugin_set}",
        nav_label="Points",
        intro="Points are 0 to 100. All numbers of a row are over the questions that the arm scored in both runs.",
        table=Table(columns=columns, rows=tuple(_score_row(score, delta.control.total_questions) for score in delta.scores)),
        notes=(
            f"Each interval is 95% on its own, by Student's t{clustered}, and is not corrected.",
            f"Verdicts are at 5% after {correction} correction over {plural(tested, 'tested arm')}{rank_test}.",
            "So an interval can leave 0 out where no difference is shown.",
            "“No difference shown” is not “no difference”: the interval says how large one may still be.",
        ),
    )


def cost_section(delta: PluginDelta) -> Section:
    """Return what each arm's answers cost more or less with the plugin set."""
    labels = ("Cost USD", "Prompt tokens", "Completion tokens", "Total tokens", "Mean latency (s)", "Mean first token (s)")
    columns = (ARM, *(Column(label=label, meaning="With plugins minus control, and as a share of the control.") for label in labels))
    partial = {cost.arm for cost in delta.partial_costs}
    return Section(
        key="costs",
        title="Cost and tokens: with plugins minus control",
        nav_label="Cost and tokens",
        intro="Of finished answers, as the two runs state them. A share is of the control's figure.",
        table=Table(columns=columns, rows=tuple(_cost_row(cost, is_partial=cost.arm in partial) for cost in delta.costs)),
        notes=(
            NO_COST_INTERVAL,
            "— is unknown in one of the runs, never 0.",
            *(("Partial: a run has answers without a known price.",) if partial else ()),
        ),
    )


def length_section(delta: PluginDelta) -> Section:
    """Return how long each arm's answers were, as the model wrote them and as a user would see them."""
    labels = ("raw, control", "raw, with plugins", "raw, delta", "final, control", "final, with plugins", "final, delta")
    columns = (ARM, *(Column(label=label.capitalize()) for label in labels), Column(label="Pairs"))
    return Section(
        key="lengths",
        title="Answer length: characters",
        nav_label="Answer length",
        intro="Raw is what the model wrote, final what a user would see and the judge graded.",
        table=Table(columns=columns, rows=tuple(_length_row(text, delta.control.total_questions) for text in delta.texts)),
        notes=("Means are over the answers of their own run; deltas over the questions answered in both, with their own 95% interval.",),
    )


def _score_row(score: ScoreDelta, questions: int) -> tuple[Cell, ...]:
    effect, verdict = score.effect, score.verdict
    tone = tone_of(verdict.significant_adjusted, score.delta_points)
    return (
        Cell(text=score.arm),
        Cell(text=words.points(score.control_mean_points)),
        Cell(text=words.points(score.plugin_mean_points)),
        Cell(text=words.points(score.delta_points, signed=True), tone=tone),
        Cell(text=words.MISSING if effect is None else words.interval(effect.ci_lo, effect.ci_hi, signed=True)),
        Cell(text=f"{score.pairs:,}/{questions:,}", tone="caution" if score.pairs < questions else "plain"),
        Cell(text=words.p_value(verdict.p_adjusted)),
        Cell(text=words.p_value(None if effect is None else effect.p_wilcoxon)),
        Cell(text=words.fixed(None if effect is None else effect.d_z, 3, signed=True)),
        Cell(text=delta_verdict(score), tone="muted" if tone == "plain" else tone),
    )


def delta_verdict(score: ScoreDelta) -> str:
    """Return the verdict on an arm, saying why where there is none."""
    if score.effect is None:
        return f"{words.MISSING} ({'one pair' if score.pairs else 'no pairs'})"
    verdict, mean = score.verdict, score.effect.delta_mean
    if verdict.significant_adjusted is None:
        return f"{words.MISSING} ({lack_of_a_test(score.effect) or 'N/A: no spread'})"
    if not verdict.significant_adjusted and verdict.p_adjusted is not None and verdict.p_adjusted < ALPHA:
        return f"{words.direction(False, mean)} (tests disagree)"
    return words.direction(verdict.significant_adjusted, mean)


def _cost_row(cost: CostDelta, *, is_partial: bool) -> tuple[Cell, ...]:
    usd = _change(cost.total_cost_usd, lambda delta: words.fixed(delta, USD_DECIMALS, signed=True))
    is_flagged = is_partial and usd != words.MISSING
    return (
        Cell(text=cost.arm),
        Cell(text=f"{usd}, partial" if is_flagged else usd, tone="caution" if is_flagged else "plain"),
        *(Cell(text=_change(figure, _signed_count)) for figure in (cost.prompt_tokens, cost.completion_tokens, cost.total_tokens)),
        *(Cell(text=_change(figure, _signed_seconds)) for figure in (cost.mean_latency_seconds, cost.mean_time_to_first_token_seconds)),
    )


def _signed_count(delta: float) -> str:
    return words.fixed(delta, 0, signed=True)


def _signed_seconds(delta: float) -> str:
    return words.fixed(delta, 2, signed=True)


def _change(figure: FigureDelta, shown: Callable[[float], str]) -> str:
    """Return a delta and its share of the control's figure; the delta alone where that is 0."""
    if figure.delta is None:
        return words.MISSING
    share = f" ({words.fixed(100 * figure.delta / figure.control, 1, signed=True)}%)" if figure.control else ""
    return shown(figure.delta) + share


def _length_row(text: AnswerTextDelta, questions: int) -> tuple[Cell, ...]:
    pairs = min(text.raw.pairs, text.final.pairs)
    numbers = (*_lengths(text.raw), *_lengths(text.final))
    is_whole = pairs == questions
    return (Cell(text=text.arm), *map(_cell, numbers), Cell(text=f"{pairs:,}/{questions:,}", tone="plain" if is_whole else "caution"))


def _lengths(length: LengthDelta) -> tuple[str, str, str]:
    delta = words.fixed(length.paired_delta_chars, 1, signed=True)
    interval = words.interval(length.ci_lo_chars, length.ci_hi_chars, signed=True)
    shown = delta if interval == words.MISSING else f"{delta} {interval}"
    return words.fixed(length.control_mean_chars, 1), words.fixed(length.plugin_mean_chars, 1), shown


def _cell(text: str) -> Cell:
    return Cell(text=text)
