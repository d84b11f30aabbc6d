"""The report of a cross-judging: each arm's label, what every judge says of it, how far they agree, and the points of each question."""

from collections.abc import Iterator

from evalplatform.comparisons.cross_judge_records import (
    ArmLabel,
    CrossJudgedRun,
    CrossJudgement,
)
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.cross_judge_tables import (
    alpha_section,
    deltas_section,
    measures_section,
    pairs_section,
    questions_section,
    verdict_tone,
)
from evalplatform.reports.cross_judge_words import (
    MEANINGS,
    constant_words,
    delta_words,
    label_words,
    left_out_words,
    one_measure_words,
)
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.page import Page
from evalplatform.reports.view import Fact, Figure, Finding, Notice, Tone

PLOT_ROWS_LIMIT = 60


def cross_judge_page(result: CrossJudgement) -> Page:
    """Return the report, worded and rounded."""
    several = len(result.runs) > 1
    answered = [f"{one.run.name} ({plural(len(one.run.question_texts), 'question')})" for one in result.runs]
    libraries = dict.fromkeys(one.run.library_name for one in result.runs if one.run.library_name)
    return Page(
        kind="Cross-judge report",
        title=f"{words.listed(list(libraries)) if libraries else 'Stored answers'} under {_judges_words(result)}",
        subtitle="Is a verdict the arm's, or the judge's that scored it? The same answers, the same material, several judges.",
        headline_facts=(
            Fact(label="Judges", value=words.listed(list(_names_with_a_say(result)))),
            Fact(label="Answers", value=words.listed(answered)),
        ),
        notices=tuple(_notices(result)),
        findings=tuple(_findings(result)),
        figures=tuple(_figures(result)),
        sections=(
            measures_section(result),
            deltas_section(result),
            pairs_section(result),
            alpha_section(result),
            *(questions_section(one.run, place, several=several) for place, one in enumerate(result.runs)),
        ),
        facts=tuple(_facts(result)),
    )


def _names_with_a_say(result: CrossJudgement) -> dict[str, str]:
    """Return the judge of each measure that has a say in some run, by the measure's name."""
    return {measure.name: measure.judge for one in result.runs for measure in one.run.counted}


def _judges_words(result: CrossJudgement) -> str:
    """Return how many judges have a say, and how many measures of them where these are more."""
    judge_of = _names_with_a_say(result)
    judges = len(set(judge_of.values()))
    return plural(judges, "judge") if judges == len(judge_of) else f"{plural(judges, 'judge')} ({plural(len(judge_of), 'measure')})"


def _findings(result: CrossJudgement) -> Iterator[Finding]:
    for one in result.runs:
        for arm in one.arms:
            yield Finding(
                sentence=f"{_where(result, one, arm.arm)}: {label_words(arm.label)}",
                evidence=f"{MEANINGS[arm.label.kind]} {'; '.join(delta_words(delta) for delta in arm.deltas)}.",
                tone=_tone(arm.label),
            )


def _figures(result: CrossJudgement) -> Iterator[Figure]:
    rows = [
        ForestRow(
            label=f"{_where(result, one, arm.arm)}: {delta.measure}",
            mean=None if delta.estimate is None else delta.estimate.mean,
            lo=None if delta.estimate is None else delta.estimate.ci_lo,
            hi=None if delta.estimate is None else delta.estimate.ci_hi,
            tone=verdict_tone(delta),
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
            elif measure.judge == one.run.model:
                yield Notice(level="caution", text=f"{measure.name} grades answers of its own model, {measure.judge}, in {one.run.name}.")
        for sentence in constant_words(one.run):
            yield Notice(level="caution", text=sentence)
        if not one.dependence_is_known:
            sentence = one_measure_words(one)
            yield Notice(level="problem", text=sentence[0].upper() + sentence[1:])
        elif len({measure.judge for measure in one.run.counted}) == 1:
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
