"""The report of a cross-judging: each arm's label, what every judge says of it, how far they agree, and the points of each question."""

from collections.abc import Iterable, Iterator

from evalplatform.comparisons.cross_judge import question_deltas
from evalplatform.comparisons.cross_judge_records import (
    AlphaOrReason,
    ArmLabel,
    CrossJudgedRun,
    CrossJudgement,
    JudgePair,
    Measure,
    MeasureDelta,
    RunUnderJudges,
)
from evalplatform.kernel.text import clip, plural
from evalplatform.reports import words
from evalplatform.reports.cross_judge_words import (
    MEANINGS,
    coefficient,
    coefficient_interval,
    delta_words,
    label_words,
    left_out_words,
    share_interval,
    share_words,
    verdict_words,
)
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.page import Page
from evalplatform.reports.view import Cell, Column, Fact, Figure, Finding, Notice, Section, Table, Tone

QUESTION_ROWS_LIMIT = 200
PLOT_ROWS_LIMIT = 60
QUESTION_CHARS = 60
_DIGEST_CHARS = 12
_INTERVAL = Column(label="95% CI")


def cross_judge_page(result: CrossJudgement) -> Page:
    """Return the report, worded and rounded."""
    several = len(result.runs) > 1
    counts = [plural(len(result.judges), "judge"), *([plural(len(result.runs), "run")] if several else [])]
    libraries = dict.fromkeys(one.run.library_name for one in result.runs if one.run.library_name)
    return Page(
        kind="Cross-judge report",
        title=f"{words.listed(list(libraries)) if libraries else 'Stored answers'} under {plural(len(result.judges), 'judge')}",
        subtitle="Is a verdict the arm's, or the judge's that scored it? The same answers, the same material, several judges.",
        headline_facts=(
            Fact(label="Judges", value=words.listed(list(result.judges))),
            Fact(label="Compared", value=", ".join(counts)),
        ),
        notices=tuple(_notices(result)),
        findings=tuple(_findings(result)),
        figures=tuple(_figures(result)),
        sections=(
            _measures_section(result),
            _deltas_section(result),
            _pairs_section(result),
            _alpha_section(result),
            *(_questions_section(one.run, place, several=several) for place, one in enumerate(result.runs)),
        ),
        facts=tuple(_facts(result)),
    )


def _findings(result: CrossJudgement) -> Iterator[Finding]:
    for one in result.runs:
        for arm in one.arms:
            yield Finding(
                sentence=f"{_where(result, one, arm.arm)}: {label_words(arm.label)}",
                evidence=f"{MEANINGS[arm.label.kind]}. {'; '.join(delta_words(delta) for delta in arm.deltas)}.",
                tone=_tone(arm.label),
            )


def _figures(result: CrossJudgement) -> Iterator[Figure]:
    rows = [
        ForestRow(
            label=f"{_where(result, one, arm.arm)}: {delta.measure}",
            mean=None if delta.estimate is None else delta.estimate.mean,
            lo=None if delta.estimate is None else delta.estimate.ci_lo,
            hi=None if delta.estimate is None else delta.estimate.ci_hi,
            tone=_verdict_tone(delta),
            right_label=words.points(None if delta.estimate is None else delta.estimate.mean, signed=True),
        )
        for one in result.runs
        for arm in one.arms
        for delta in arm.deltas
    ]
    plot = forest_plot(rows[:PLOT_ROWS_LIMIT])
    if plot is not None:
        left = len(rows) - PLOT_ROWS_LIMIT
        more = f" The table holds {left:,} more." if left > 0 else ""
        caption = f"Mean delta from the baseline in points, with its 95% interval; coloured where significant after correction.{more}"
        yield Figure(title="Each arm under each judge", caption=caption, plot=plot)


def _where(result: CrossJudgement, one: CrossJudgedRun, arm: str) -> str:
    return f"{one.run.name}, {arm}" if len(result.runs) > 1 else arm


def _tone(label: ArmLabel) -> Tone:
    if label.kind in ("judge_dependent", "not_tested"):
        return "caution"
    if label.direction is None:
        return "muted"
    return "better" if label.direction == "+" else "worse"


def _notices(result: CrossJudgement) -> Iterator[Notice]:
    for one in result.runs:
        for measure in one.run.measures:
            if not measure.counts:
                yield Notice(
                    level="caution",
                    text=f"{measure.name} of {one.run.name} is shown and has no say in labels or agreement. {left_out_words(measure)}",
                )
        if len({measure.judge for measure in one.run.counted}) == 1:
            yield Notice(level="caution", text=f"Only one judge has a say in {one.run.name}: this is its verdict, not agreement of judges.")
        yield from _gaps(one)


def _gaps(one: CrossJudgedRun) -> Iterator[Notice]:
    for measure in one.run.measures:
        rate = one.coverage_rates[measure.name]
        if rate is not None and rate < 1:
            reasons = measure.all_unscored_reasons
            yield Notice(
                level="problem" if measure.counts else "note",
                text=f"{measure.name} scored {words.share(rate)} of the questions of {one.run.name} in both arms"
                f"{f' (without points: {words.tally(reasons)})' if reasons else ''}.",
            )


def _measures_section(result: CrossJudgement) -> Section:
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


def _deltas_section(result: CrossJudgement) -> Section:
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
        (*_row(*_run_cell(result, one.run), arm.arm, *_delta_texts(delta)), Cell(text=verdict_words(delta), tone=_verdict_tone(delta)))
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


def _verdict_tone(delta: MeasureDelta) -> Tone:
    if not delta.significant:
        return "muted"
    return "better" if delta.direction == "+" else "worse"


def _pairs_section(result: CrossJudgement) -> Section:
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
    notes = tuple(dict.fromkeys(_pair_reasons(result)))
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


def _pair_reasons(result: CrossJudgement) -> Iterator[str]:
    """Yield why a coefficient, or its interval, is missing somewhere."""
    for pair in (pair for one in result.runs for arm in one.arms for pair in arm.pairs):
        who = words.listed(list(pair.measures))
        for what, found, reason in (
            ("kappa", pair.directions.kappa, pair.directions.kappa_reason),
            ("rank correlation", pair.rank_correlation, pair.rank_correlation_reason),
        ):
            if found is None:
                yield f"No {what} of {who}: {reason}."
            elif found.ci_reason is not None:
                yield f"No interval of the {what} of {who}: {found.ci_reason}."


def _alpha_section(result: CrossJudgement) -> Section:
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
    intro = "Krippendorff's alpha over all judges that have a say: 1 is perfect agreement, 0 what chance gives."
    return _section("alpha", "How far all judges agree", columns, rows, intro=intro)


def _alpha_texts(found: AlphaOrReason) -> tuple[str, ...]:
    alpha = found.alpha
    if alpha is None:
        return (words.MISSING,) * 4 + (found.reason or "",)
    return words.count(alpha.units), words.count(alpha.ratings), coefficient(alpha), coefficient_interval(alpha), alpha.ci_reason or ""


def _questions_section(run: RunUnderJudges, place: int, *, several: bool) -> Section:
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
    title = f"Points by question: {run.name}" if several else "Points by question"
    intro = "Each judge's points, and in brackets the delta from the baseline."
    return _section(f"questions-{place}", title, columns, rows, intro=intro, notes=notes)


def _points_text(measure: Measure, arm: str, question: str, deltas: dict[str, float]) -> str:
    points = words.points(measure.points.get(arm, {}).get(question))
    return f"{points} ({words.points(deltas[question], signed=True)})" if question in deltas else points


def _facts(result: CrossJudgement) -> Iterator[Fact]:
    for run in (one.run for one in result.runs):
        said = {
            "library": run.library_name,
            "model": run.model,
            "provider": run.provider,
            "harness": run.harness,
            "plugin set": run.plugin_set,
            "arms": words.listed(list(run.arms)),
            "baseline arm": run.baseline_arm,
            "questions": words.count(len(run.question_texts)),
            "pass mark": None if run.pass_points is None else f"{run.pass_points:g} points",
            "source": run.source,
        }
        yield Fact(label=run.name, value="; ".join(f"{name} {value}" for name, value in said.items() if value is not None))


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
