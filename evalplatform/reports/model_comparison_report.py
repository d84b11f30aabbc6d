"""The report of runs beside each other: regular and golden questions in one page, under the scored arm's own name."""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from evalplatform.comparisons.model_comparison_records import (
    ComparisonWarning,
    FactorUnstated,
    ModelComparison,
    NoScoredArm,
    OneNameForOthers,
    RunRow,
    RunsDiffer,
    Uncovered,
)
from evalplatform.comparisons.refusals import Refused
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.comparisons.section_names import names_of_others
from evalplatform.kernel.text import plural
from evalplatform.project.policy import LEAST_COVERAGE_RATE
from evalplatform.reports import words
from evalplatform.reports.cost_plot import CostDot, cost_plot, left_out_sentence
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.model_comparison_facts import common_facts, run_facts
from evalplatform.reports.model_comparison_tables import comparison_sections, delta_tone, difference_interval, scored_arm_name
from evalplatform.reports.page import Page
from evalplatform.reports.refusal_words import refusal_sentence
from evalplatform.reports.run_warning_words import truncated_sentence
from evalplatform.reports.view import Figure, Finding, Notice

KIND = "Model comparison"
SECTION_TITLES = {"regular": "Regular", "golden": "Golden"}
"""What sections of questions are called; a section of an arm has the arm's own name."""
CONSEQUENCES = {
    "question_set": "Only the questions that all runs have are compared, and they may still be other questions under one id.",
    "run_config": "A difference between these runs may come from how answers were sampled, not from the model.",
}

Compared = Mapping[str, ModelComparison | Refused]
"""What came of each section, by its name: `regular`, `golden`."""


def model_comparison_page(sections: Compared) -> Page:
    """Return the report. A refused section is a problem for each of its reasons, and has no numbers.

    Args:
        sections: at least one. Where there are several, each heading and notice names its own.
    """
    made = {name: found for name, found in sections.items() if isinstance(found, ModelComparison)}
    titles = {name: SECTION_TITLES.get(name, name) for name in sections}
    prefixes = {name: f"{title}: " if len(sections) > 1 else "" for name, title in titles.items()}
    arms = list(dict.fromkeys(scored_arm_name(found) for found in made.values()))
    return Page(
        kind=KIND,
        title=f"Model comparison of {words.listed(arms)}" if arms else "Models that were not compared",
        subtitle=_subtitle(sections),
        headline_facts=tuple(common_facts(made, titles=titles)),
        notices=(
            *(Notice(level="caution", text=sentence) for sentence in section_warning_sentences(sections)),
            *(notice for name, found in sections.items() for notice in _notices(found, prefixes[name])),
            *((Notice(level="note", text=families_sentence([titles[name] for name in made])),) if len(made) > 1 else ()),
        ),
        findings=tuple(finding for name, found in made.items() for finding in _findings(found, prefixes[name])),
        figures=tuple(figure for name, found in made.items() for figure in _figures(found, prefixes[name])),
        sections=tuple(
            section.model_copy(
                update={
                    "key": f"{name}-{section.key}",
                    "title": f"{prefixes[name]}{section.title}",
                    "nav_label": section.nav_label or section.title,
                    "nav_group": titles[name] if len(sections) > 1 else None,
                }
            )
            for name, found in made.items()
            for section in comparison_sections(found)
        ),
        facts=tuple(run_facts(made, titles=titles)),
    )


def model_comparison_json(sections: Compared) -> bytes:
    """Return the unrounded values of every section as JSON; a refused one has its `refusals`."""
    dumped = {name: found.model_dump(mode="json") for name, found in sections.items()}
    return orjson.dumps(dumped, option=orjson.OPT_INDENT_2) + b"\n"


def warning_sentence(warning: ComparisonWarning) -> str:
    """Return what a reader of the comparison has to know, as one or two sentences."""
    match warning:
        case RunsDiffer():
            return f"{refusal_sentence(warning.difference)} {CONSEQUENCES[warning.difference.factor]}"
        case NoScoredArm():
            return f"{warning.run} has no points for a scored arm: it gives baseline numbers and no delta."
        case RunTruncated():
            return truncated_sentence(warning)
        case FactorUnstated():
            verb = "does" if len(warning.runs) == 1 else "do"
            return (
                f"{words.listed(list(warning.runs))} {verb} not say the {words.listed(list(warning.factors))}: that could not be compared."
            )


def shortfall_sentences(found: ModelComparison) -> Iterator[str]:
    """Yield why a comparison that was made is not an answer: nobody judged, or runs have points for too few questions."""
    if not found.is_judged:
        yield "Nobody judged these runs: there are costs to see, and nothing is compared."
        return
    yield from map(_uncovered_sentence, found.uncovered)


def section_warning_sentences(sections: Compared) -> Iterator[str]:
    """Yield what a reader has to know of the sections together."""
    yield from map(_one_name_sentence, names_of_others(sections))


def families_sentence(titles: Sequence[str]) -> str:
    """Return that nothing is corrected over the parts of a report."""
    return (
        f"{words.listed(list(titles))} are families of their own: p-values and verdicts are corrected inside each, not over all of them "
        "together. Of many verdicts some are wrong by chance."
    )


def _uncovered_sentence(few: Uncovered) -> str:
    return (
        f"{few.run} has points in {words.listed(list(few.arms))} for {few.pairs:,} of {plural(few.questions, 'question')} "
        f"({words.percent(few.pairs / few.questions)}), and at least {LEAST_COVERAGE_RATE:.0%} are needed: it is not ranked, and the "
        "comparison is not an answer."
    )


def _one_name_sentence(warning: OneNameForOthers) -> str:
    said = "; ".join(f"{side.run}: {side.says}" for side in warning.sections)
    return f"The run id {warning.run} does not stand for the same in every section: {said}. Numbers under it are not of one model."


def _subtitle(sections: Compared) -> str:
    names = [row.run for found in sections.values() if isinstance(found, ModelComparison) for row in found.runs]
    names += [name for found in sections.values() if isinstance(found, Refused) for name in found.runs]
    libraries = {found.library_name for found in sections.values() if isinstance(found, ModelComparison) and found.library_name}
    return f"{', '.join(sorted(libraries)) or 'Runs'}: {words.listed(list(dict.fromkeys(names)))}"


def _notices(found: ModelComparison | Refused, prefix: str) -> Iterator[Notice]:
    if isinstance(found, Refused):
        for refusal in found.refusals:
            yield Notice(level="problem", text=f"{prefix}{refusal_sentence(refusal)}")
        return
    yield from (Notice(level="problem", text=f"{prefix}{sentence}") for sentence in shortfall_sentences(found))
    for warning in found.warnings:
        yield Notice(level="note" if isinstance(warning, FactorUnstated) else "caution", text=f"{prefix}{warning_sentence(warning)}")


def _findings(compared: ModelComparison, prefix: str) -> Iterator[Finding]:
    if compared.treatment_arm is None:
        return
    for row in compared.runs:
        verdict = words.direction(row.delta.verdict.significant_adjusted, row.delta.delta_points)
        said = "not tested" if verdict == words.MISSING else verdict
        yield Finding(
            sentence=f"{prefix}{row.run}, {compared.treatment_arm} against {compared.baseline_arm}: {said}",
            evidence=_evidence(row),
            tone=delta_tone(row.delta),
        )


def _evidence(row: RunRow) -> str:
    if row.delta.delta_points is None:
        return "no question has points in both arms"
    delta = words.points(row.delta.delta_points, signed=True)
    p_value = row.delta.verdict.p_adjusted
    tested = "no test" if p_value is None else f"p adjusted {words.p_value(p_value)}"
    return f"{delta} points, 95% interval {difference_interval(row.delta)}, {plural(row.delta.pairs, 'question')}, {tested}"


def _figures(compared: ModelComparison, prefix: str) -> Iterator[Figure]:
    forest = None if compared.treatment_arm is None else forest_plot([_forest_row(row) for row in compared.runs])
    if forest is not None:
        yield Figure(
            title=f"{prefix}What {compared.treatment_arm} adds, by run",
            caption=f"Mean paired difference from {compared.baseline_arm} in points; each interval is 95% on its own. "
            "In colour: significant after correction over the runs.",
            plot=forest,
        )
    dots = [dot for row in compared.runs for dot in _dots(row, compared)]
    cost = cost_plot(dots)
    if cost is not None:
        arms = [compared.baseline_arm, *([] if compared.treatment_arm is None else [compared.treatment_arm])]
        caption = (
            "Each arm of each run: what its answers cost, and its mean points over the common questions. "
            "The intervals of the means are not drawn; they are under Overall Summary."
            f"{left_out_sentence([(row.run, arm) for row in compared.runs for arm in arms], dots)}"
        )
        yield Figure(title=f"{prefix}Cost against score", caption=caption, plot=cost)


def _dots(row: RunRow, compared: ModelComparison) -> Iterator[CostDot]:
    sides = [(compared.baseline_arm, row.baseline_cost, row.baseline_mean_points)]
    if compared.treatment_arm is not None:
        sides.append((compared.treatment_arm, row.treatment_cost, row.treatment_mean_points))
    for arm, cost, points in sides:
        if points is not None and cost.total_cost_usd is not None and cost.priced_answers:
            yield CostDot(cell=row.run, arm=arm, cost_usd=cost.total_cost_usd / cost.priced_answers, points=points)


def _forest_row(row: RunRow) -> ForestRow:
    effect = row.delta.effect
    return ForestRow(
        label=row.run,
        mean=row.delta.delta_points,
        lo=None if effect is None else effect.ci_lo,
        hi=None if effect is None else effect.ci_hi,
        tone=delta_tone(row.delta),
        right_label=words.points(row.delta.delta_points, signed=True) + ("" if effect is None else f" {difference_interval(row.delta)}"),
    )
