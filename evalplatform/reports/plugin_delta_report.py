"""A plugin delta as a page: header, warnings, findings, forest plot, and tables of points, costs and lengths. A refused one lists why."""

from evalplatform.comparisons.plugin_delta_records import DeltaWarning, FewPairs, PluginDelta, ScoreDelta, SeedsDiffer, WrongWayRound
from evalplatform.comparisons.refusals import Refused
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_sections import lack_of_a_test, tone_of
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.page import Page
from evalplatform.reports.plugin_delta_facts import all_facts, headline_facts
from evalplatform.reports.plugin_delta_sections import cost_section, length_section, score_section
from evalplatform.reports.plugin_delta_words import delta_warning, not_compared_words, partial_costs_sentence
from evalplatform.reports.refusal_words import refusal_sentence
from evalplatform.reports.view import Fact, Figure, Finding, Notice, NoticeLevel

COMPARISONS = {"plugin_delta": "Plugin delta", "model_comparison": "Model comparison", "cross_judge": "Cross-judge comparison"}


def plugin_delta_page(delta: PluginDelta) -> Page:
    """Return the report of a plugin delta, worded and rounded."""
    sections = (score_section(delta), cost_section(delta), length_section(delta))
    return Page(
        kind="Plugin delta",
        title=_title(delta),
        subtitle=f"{delta.plugin_name} minus {delta.control_name}: one cell, run with and without, {_equal(delta)}",
        headline_facts=headline_facts(delta),
        notices=tuple(_notices(delta)),
        findings=tuple(_finding(score, delta) for score in delta.scores) if delta.is_judged else (),
        figures=_figures(delta),
        sections=tuple(section for section in sections if section is not None),
        facts=all_facts(delta),
    )


def refused_page(refused: Refused) -> Page:
    """Return the report of a comparison that was not made: every reason, and no number."""
    name, number = COMPARISONS.get(refused.comparison, refused.comparison.replace("_", " ").capitalize()), len(refused.refusals)
    return Page(
        kind=f"{name}, refused",
        title=f"{name} of {words.listed(list(refused.runs))}: not computed",
        subtitle=f"The runs cannot be compared, for {plural(number, 'reason')}. No number was computed.",
        notices=tuple(Notice(level="problem", text=refusal_sentence(refusal)) for refusal in refused.refusals),
        facts=tuple(Fact(label=f"Run {place + 1}", value=run) for place, run in enumerate(refused.runs)),
    )


def _equal(delta: PluginDelta) -> str:
    other_seed = any(isinstance(warning, SeedsDiffer) for warning in delta.warnings)
    return "everything else but the seed equal" if other_seed else "everything else equal"


def _title(delta: PluginDelta) -> str:
    compared = f"{delta.control.library_name or 'Plugin delta'}: {delta.plugin_set} against {delta.control.plugin_set}"
    is_turned = any(isinstance(warning, WrongWayRound) for warning in delta.warnings)
    return f"{compared}, the wrong way round" if is_turned else compared


def _notices(delta: PluginDelta) -> list[Notice]:
    found = [Notice(level=_level(warning), text=delta_warning(warning)) for warning in delta.warnings]
    if not delta.is_judged:
        found.append(
            Notice(level="caution", text="Nobody judged these runs: costs and lengths are compared, and nothing is said of quality.")
        )
    if delta.partial_costs:
        found.append(Notice(level="caution", text=partial_costs_sentence(delta.partial_costs)))
    if delta.not_compared:
        unknown = f"Not everything that should be equal could be compared: {not_compared_words(delta.not_compared)}."
        found.append(Notice(level="note", text=unknown))
    return found


def _level(warning: DeltaWarning) -> NoticeLevel:
    return "problem" if isinstance(warning, RunTruncated | FewPairs | WrongWayRound) else "caution"


def _finding(score: ScoreDelta, delta: PluginDelta) -> Finding:
    """Return what the plugin set did to one arm's points, with interval and p-values."""
    effect, verdict, arm = score.effect, score.verdict, score.arm
    if effect is None:
        why = f"{plural(score.pairs, 'question')} scored in both runs; two are needed."
        return Finding(sentence=f"{arm} cannot be compared", evidence=why, tone="muted")
    shown = words.interval(effect.ci_lo, effect.ci_hi, signed=True)
    size = f"{words.points(effect.delta_mean, signed=True)} points, 95% interval {shown}, {plural(effect.n, 'pair')}"
    if verdict.significant_adjusted is None:
        why = lack_of_a_test(effect) or "every pair differs by the same amount"
        return Finding(sentence=f"{arm} was not tested", evidence=f"{size}; {why}.", tone="muted")
    evidence = f"{size}; adjusted p {words.p_value(verdict.p_adjusted)}, Wilcoxon p {words.p_value(effect.p_wilcoxon)}."
    if not verdict.significant_adjusted:
        disagree = verdict.p_adjusted is not None and verdict.p_adjusted < ALPHA
        why = ", since the tests disagree" if disagree else ""
        return Finding(sentence=f"{arm}: no difference with {delta.plugin_set} shown{why}", evidence=evidence, tone="muted")
    sentence = f"{arm} scores {words.direction(True, effect.delta_mean)} with {delta.plugin_set}"
    return Finding(sentence=sentence, evidence=evidence, tone=tone_of(True, effect.delta_mean))


def _figures(delta: PluginDelta) -> tuple[Figure, ...]:
    plot = forest_plot([_forest_row(score) for score in delta.scores]) if delta.is_judged else None
    if plot is None:
        return ()
    caption = (
        f"Points with {delta.plugin_set} minus points with {delta.control.plugin_set}, by arm; each interval is 95% on its own. "
        "Colour is for verdicts, which are corrected over the arms."
    )
    return (Figure(title="What the plugin set does to each arm", caption=caption, plot=plot),)


def _forest_row(score: ScoreDelta) -> ForestRow:
    effect = score.effect
    if effect is None:
        return ForestRow(label=score.arm, mean=score.delta_points, right_label=f"{words.points(score.delta_points, signed=True)}")
    shown = f"{words.points(effect.delta_mean, signed=True)} {words.interval(effect.ci_lo, effect.ci_hi, signed=True)}"
    tone = tone_of(score.verdict.significant_adjusted, effect.delta_mean)
    return ForestRow(label=score.arm, mean=effect.delta_mean, lo=effect.ci_lo, hi=effect.ci_hi, tone=tone, right_label=shown)
