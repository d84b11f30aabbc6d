"""The tables of a cross-judge report."""

from collections.abc import Iterable, Iterator

from evalplatform.comparisons.cross_judge import question_deltas
from evalplatform.comparisons.cross_judge_records import (
    AlphaOrReason,
    CrossJudgement,
    JudgePair,
    Measure,
    MeasureDelta,
    RunUnderJudges,
)
from evalplatform.kernel.text import clip
from evalplatform.reports import words
from evalplatform.reports.cross_judge_words import (
    coefficient,
    coefficient_interval,
    share_interval,
    share_words,
    verdict_words,
)
from evalplatform.reports.view import Cell, Column, Section, Table, Tone

QUESTION_ROWS_LIMIT = 200
QUESTION_CHARS = 60
NAMED_LIMIT = 5
_DIGEST_CHARS = 12
_INTERVAL = Column(label="95% CI")


def measures_section(result: CrossJudgement) -> Section:
    """Return who judged, with which prompt and material, how much, and who has a say."""
    columns = (
        *_run_column(result, "Measure"),
        *(Column(label=label, numeric=False) for label in ("Judge model", "Provider", "Prompt", "Material")),
        Column(label="Temperature"),
        Column(label="Coverage", meaning="The least share of questions scored in both arms, over all arms but the baseline."),
        Column(label="Has a say", numeric=False),
    )
    rows = [
        _row(
            *_run_cell(result, one.run),
            measure.name,
            measure.judge_model,
            measure.judge_provider,
            (measure.judge_prompt_digest or words.MISSING).removeprefix("sha256:")[:_DIGEST_CHARS],
            measure.judge_context or "not stamped",
            words.MISSING if measure.judge_temperature is None else f"{measure.judge_temperature:g}",
            words.share(one.coverage_rates[measure.name]),
            words.yes_no(measure.counts),
        )
        for one in result.runs
        for measure in one.run.measures
    ]
    return _section("measures", "Who judged", columns, rows)


def deltas_section(result: CrossJudgement) -> Section:
    """Return what every measure says of every arm."""
    columns = (
        *_run_column(result, "Arm"),
        Column(label="Measure", numeric=False),
        Column(label="Pairs"),
        Column(label="Mean delta", meaning="Arm minus baseline in points, over the questions that the judge scored in both."),
        _INTERVAL,
        *(Column(label=label) for label in ("Won", "Lost", "Tied")),
        Column(label="p", meaning="Exact two-sided sign test."),
        Column(label="p adj.", meaning="Holm's correction over the measures that have a say on the arm."),
        Column(label="Verdict", numeric=False),
    )
    rows = [
        (*_row(*_run_cell(result, one.run), arm.arm, *_delta_texts(delta)), Cell(text=verdict_words(delta), tone=verdict_tone(delta)))
        for one in result.runs
        for arm in one.arms
        for delta in arm.deltas
    ]
    clustered = [one.run.clusters.field for one in result.runs if one.run.clusters is not None]
    notes = (f"Questions are clustered by {clustered[0]}: a cluster is won or lost by the sum of its deltas.",) if clustered else ()
    intro = "Each judge's paired deltas. Won and lost count questions, whatever the margin."
    return Section(
        key="deltas", title="Each arm under each judge", intro=intro, table=Table(columns=columns, rows=tuple(rows)), notes=notes
    )


def _delta_texts(delta: MeasureDelta) -> Iterator[str]:
    estimate, sign = delta.estimate, delta.sign
    yield from (delta.measure, words.count(delta.pairs))
    yield words.points(None if estimate is None else estimate.mean, signed=True)
    yield words.MISSING if estimate is None else words.interval(estimate.ci_lo, estimate.ci_hi, signed=True)
    yield from (words.count(None if sign is None else number) for number in _sign_counts(delta))
    yield words.p_value(None if sign is None else sign.p_value)
    yield words.p_value(delta.p_holm)


def _sign_counts(delta: MeasureDelta) -> tuple[int, int, int]:
    return (0, 0, 0) if delta.sign is None else (delta.sign.wins, delta.sign.losses, delta.sign.ties)


def verdict_tone(delta: MeasureDelta) -> Tone:
    """Return the tone of a verdict: `better` or `worse` where significant."""
    if not delta.significant:
        return "muted"
    return "better" if delta.direction == "+" else "worse"


def pairs_section(result: CrossJudgement) -> Section:
    """Return how far each two judges agree about each arm."""
    has_mark = any(one.run.pass_points is not None for one in result.runs)
    columns = (
        *_run_column(result, "Arm"),
        Column(label="Judges", numeric=False),
        Column(label="Questions"),
        Column(label="Same direction", meaning="How often both put the arm on the same side of the baseline: higher, same or lower."),
        _INTERVAL,
        Column(label="Cohen's kappa", meaning="Agreement on the direction beyond what chance gives two judges with these habits."),
        _INTERVAL,
        Column(label="Rank correlation", meaning="Spearman's, of the points of the arm's own answers."),
        _INTERVAL,
        *((Column(label="Same verdict", meaning="Both pass the answer or both fail it."), Column(label="Its kappa")) if has_mark else ()),
    )
    rows = [
        _row(*_run_cell(result, one.run), arm.arm, *_pair_texts(pair, has_mark=has_mark))
        for one in result.runs
        for arm in one.arms
        for pair in arm.pairs
    ]
    intro = "Question by question. A single question's direction is noisy, even between two draws of one judge; the counts above are not."
    notes = tuple(_pair_notes(result))
    return Section(
        key="agreement", title="How far two judges agree", intro=intro, table=Table(columns=columns, rows=tuple(rows)), notes=notes
    )


def _pair_texts(pair: JudgePair, *, has_mark: bool) -> Iterator[str]:
    directions, kappa, correlation = pair.directions, pair.directions.kappa, pair.rank_correlation
    yield from (words.listed(list(pair.measures)), words.count(directions.pairs), share_words(directions), share_interval(directions))
    yield from (coefficient(kappa), coefficient_interval(kappa), coefficient(correlation), coefficient_interval(correlation))
    if has_mark:
        verdicts = pair.verdicts
        yield from (words.MISSING,) * 2 if verdicts is None else (share_words(verdicts), coefficient(verdicts.kappa))


def _pair_notes(result: CrossJudgement) -> Iterator[str]:
    """Yield why coefficients, or their intervals, are missing, and whose they are."""
    whose: dict[tuple[str, str], list[str]] = {}
    for one in result.runs:
        for arm in one.arms:
            for pair in arm.pairs:
                for what, reason in _missing(pair):
                    whose.setdefault((what, reason), []).append(
                        f"{words.listed(list(pair.measures))} on {', '.join((*_run_cell(result, one.run), arm.arm))}"
                    )
    for (what, reason), names in whose.items():
        left = len(names) - NAMED_LIMIT
        yield f"No {what}: {reason} ({'; '.join(names[:NAMED_LIMIT])}{f'; {left:,} more' if left > 0 else ''})."


def _missing(pair: JudgePair) -> Iterator[tuple[str, str]]:
    """Yield what one pair of judges has no number for, and why."""
    for what, found, reason in (
        ("kappa", pair.directions.kappa, pair.directions.kappa_reason),
        ("rank correlation", pair.rank_correlation, pair.rank_correlation_reason),
    ):
        if found is None:
            yield what, reason or words.MISSING
        elif found.ci_reason is not None:
            yield f"interval of the {what}", found.ci_reason


def alpha_section(result: CrossJudgement) -> Section:
    """Return Krippendorff's alpha of directions and of points."""
    columns = (
        *_run_column(result, "Of"),
        *(Column(label=label) for label in ("Units", "Ratings", "Alpha")),
        _INTERVAL,
        Column(label="Note", numeric=False),
    )
    rows = [
        _row(*_run_cell(result, one.run), name, *_alpha_texts(found))
        for one in result.runs
        for name, found in (
            *((f"directions, {arm.arm}", arm.direction_alpha) for arm in one.arms),
            ("points of all answers", one.points_alpha),
        )
    ]
    intro = (
        "Krippendorff's alpha over all judges that have a say: 1 is perfect agreement, 0 what chance gives. "
        "Of points, a judge that is milder throughout disagrees; of directions, it does not."
    )
    return _section("alpha", "How far all judges agree", columns, rows, intro=intro)


def _alpha_texts(found: AlphaOrReason) -> tuple[str, ...]:
    alpha = found.alpha
    if alpha is None:
        return (words.MISSING,) * 4 + (found.reason or "",)
    return words.count(alpha.units), words.count(alpha.ratings), coefficient(alpha), coefficient_interval(alpha), alpha.ci_reason or ""


def questions_section(run: RunUnderJudges, place: int, *, several: bool) -> Section:
    """Return every judge's points of the first questions of a run."""
    columns = (
        Column(label="Question", numeric=False),
        Column(label="Arm", numeric=False),
        *(Column(label=measure.name) for measure in run.measures),
    )
    deltas = {(measure.name, arm): question_deltas(run, measure, arm) for measure in run.measures for arm in run.treatment_arms}
    shown = list(run.question_texts.items())[: max(1, QUESTION_ROWS_LIMIT // len(run.arms))]
    rows = [
        _row(
            f"{question}: {clip(text, QUESTION_CHARS)}",
            arm,
            *(_points_text(measure, arm, question, deltas.get((measure.name, arm), {})) for measure in run.measures),
        )
        for question, text in shown
        for arm in run.arms
    ]
    left = len(run.question_texts) - len(shown)
    notes = (f"The first {len(shown):,} questions; points.csv and cross_judge.json hold the other {left:,}.",) if left > 0 else ()
    title = f"Points of {run.name}" if several else "Points by question"
    intro = "Each judge's points, and in brackets the delta from the baseline."
    return _section(f"questions-{place}", title, columns, rows, intro=intro, notes=notes)


def _points_text(measure: Measure, arm: str, question: str, deltas: dict[str, float]) -> str:
    points = words.points(measure.points.get(arm, {}).get(question))
    return f"{points} ({words.points(deltas[question], signed=True)})" if question in deltas else points


def _run_column(result: CrossJudgement, first: str) -> tuple[Column, ...]:
    """Return the columns that name a row: the run where there are several, and what the row is of."""
    own = Column(label=first, numeric=False)
    return (Column(label="Run", numeric=False), own) if len(result.runs) > 1 else (own,)


def _run_cell(result: CrossJudgement, run: RunUnderJudges) -> tuple[str, ...]:
    return (run.name,) if len(result.runs) > 1 else ()


def _section(
    key: str,
    title: str,
    columns: tuple[Column, ...],
    rows: Iterable[tuple[Cell, ...]],
    *,
    intro: str | None = None,
    notes: tuple[str, ...] = (),
) -> Section:
    return Section(key=key, title=title, intro=intro, table=Table(columns=columns, rows=tuple(rows)), notes=notes)


def _row(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text=text) for text in texts)
