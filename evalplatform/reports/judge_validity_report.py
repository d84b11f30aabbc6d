"""A judge's validity in words: one page, one JSON form, and lines for a terminal."""

from collections.abc import Iterator, Sequence

import orjson

from evalplatform.comparisons.judge_validity_records import Condition, JudgeValidity, ProbedPair, ProbeResult, ProbeState, TriedJudge
from evalplatform.kernel.text import plural
from evalplatform.project.policy import LEAST_COVERAGE_RATE
from evalplatform.reports import words
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.page import Page
from evalplatform.reports.view import Cell, Column, Fact, Figure, Finding, Notice, Section, Table, Tone
from evalplatform.reports.visible import one_line
from evalplatform.stats.mean import MeanEstimate
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST

SCHEMA = "judge_validity.v1"
CAVEAT = (
    "A judge that sees the treatment material has more to go by: a delta judged with material stands on a higher level than one judged "
    "without it. Compare deltas within one condition alone; what lies between the two is no evidence that a treatment helps."
)
CHOICE = "one a question, chosen by their digests and not by their points"
VERDICTS = {
    "passed": "The judge ranks intact answers above degraded ones",
    "failed": "The judge does not rank intact answers above degraded ones reliably",
    "inconclusive": "Too few pairs to say whether the judge ranks intact answers above degraded ones",
    "unanswered": "Whether the judge ranks intact answers above degraded ones could not be found out",
}
_TONES: dict[ProbeState, Tone] = {
    "passed": "better",
    "failed": "worse",
    "inconclusive": "caution",
    "too_few_pairs": "muted",
    "unscored": "muted",
}
_PROBE = Column(label="Degradation", numeric=False)
_INTERVAL = Column(label="95% interval")
_CONDITION_COLUMNS = (
    _PROBE,
    Column(label="Verdict", numeric=False),
    Column(label="Pairs", meaning="Questions whose intact and degraded answer both have points."),
    Column(label="Accuracy", meaning="Share of pairs with the intact answer ranked higher; a tie counts as half."),
    _INTERVAL,
    Column(label="Higher/equal/lower", meaning="Points of the intact answer beside those of its degraded copy."),
    Column(
        label="Intact at 0",
        meaning="Pairs whose intact answer has 0 points, so that a tie is the best it can come to.",
    ),
    Column(label="Length alone", meaning="The accuracy of a counter of characters that ranks the longer text higher."),
    Column(label="Mean drop", meaning="Points of the intact answer minus those of its degraded copy."),
    _INTERVAL,
    Column(label="p (sign)", meaning="Exact, two-sided, without the ties."),
    Column(label="p (adjusted)", meaning="Holm, over the degradations of this table."),
    Column(label="Could not be degraded", meaning="Intact answers that offer nothing to change in this way."),
    Column(label="Unscored", numeric=False, meaning="Pairs that lack points, by reason."),
)


def judge_validity_page(tried: TriedJudge, validity: JudgeValidity, pairs: Sequence[ProbedPair]) -> Page:
    """Return the report: the verdict, what each degradation came to in each condition, what the material changes, one pair of each."""
    conditions = list(dict.fromkeys(result.condition for result in validity.results))
    sections = [
        *(_condition_section(validity, condition) for condition in conditions),
        _difference_section(validity),
        _example_section(validity, pairs),
    ]
    return Page(
        kind="judge validity",
        title=f"Judge {tried.judge_id}: does it rank the better answer higher?",
        subtitle=f"{tried.project} / {tried.suite}, {tried.tried_at:%d %B %Y %H:%M} UTC, cell {tried.cell_key}",
        headline_facts=(
            Fact(label="Verdict", value=verdict_sentence(tried, validity)),
            Fact(label="Judge", value=f"{tried.judge_id}, {tried.judge_kind}, {tried.judge_model}"),
            Fact(label="Intact answers", value=f"{validity.intact_answers:,}, {CHOICE}, {validity.with_material:,} with material"),
            Fact(label="Needed accuracy", value=f"{words.percent(validity.min_accuracy_rate)}, {_judged(validity.gating)}"),
        ),
        notices=tuple(_notices(tried, validity)),
        findings=tuple(_finding(result) for result in validity.gate),
        figures=_figures(validity),
        sections=tuple(section for section in sections if section is not None),
        facts=(
            Fact(label="Suite", value=tried.suite),
            Fact(label="Cell", value=f"{tried.cell_key} ({tried.cell_label})"),
            Fact(label="Answers", value=f"version {tried.answers_version}"),
            Fact(label="Judge key", value=tried.judge_key),
        ),
    )


def judge_validity_payload(tried: TriedJudge, validity: JudgeValidity, pairs: Sequence[ProbedPair]) -> bytes:
    """Return the result as JSON, unrounded: who was tried, the verdict, every number, every pair with what was done to it."""
    payload = {
        "schema_version": SCHEMA,
        "tried": tried.model_dump(mode="json"),
        "verdict": "unanswered" if tried.stopped_message is not None else validity.verdict,
        "validity": validity.model_dump(mode="json"),
        "pairs": [pair.model_dump(mode="json") for pair in pairs],
    }
    return orjson.dumps(payload, option=orjson.OPT_INDENT_2)


def judge_validity_lines(tried: TriedJudge, validity: JudgeValidity) -> Iterator[str]:
    """Yield the result as lines: each degradation in each condition, what the material changes, the caveat where both were tried."""
    head = f"judge {tried.judge_key} on {plural(validity.intact_answers, 'answer')} of {tried.suite} / {tried.cell_key}"
    yield f"{head}, {validity.with_material:,} with material"
    for condition in dict.fromkeys(result.condition for result in validity.results):
        yield f"  {_judged(condition)}"
        for result in validity.results:
            if result.condition == condition:
                found = _finding(result)
                yield f"    {one_line(found.sentence)}: {one_line(found.evidence)}"
    if validity.differences:
        yield f"  material changes the points of intact answers by {_mean(validity.level)}"
        yield f"  note: {CAVEAT}"


def verdict_sentence(tried: TriedJudge, validity: JudgeValidity) -> str:
    """Return the verdict as a sentence; of a run that was stopped none is given."""
    return f"{VERDICTS['unanswered' if tried.stopped_message is not None else validity.verdict]}."


def _judged(condition: Condition) -> str:
    return f"judged {condition} the treatment material"


def _notices(tried: TriedJudge, validity: JudgeValidity) -> Iterator[Notice]:
    if tried.stopped_message is not None:
        yield Notice(level="problem", text=f"The run was stopped before everything was graded: {tried.stopped_message}")
    if tried.judges_itself:
        yield Notice(level="caution", text="The judge is the model that answered; a model may be blind to its own mistakes.")
    if validity.differences and not validity.with_material:
        yield Notice(level="caution", text="None of the answers had material, so that both conditions asked the judge the same.")
    if len({result.condition for result in validity.results}) == 1:
        yield Notice(level="note", text=f"The judge was tried in one condition: {_judged(validity.gating)}.")
    yield Notice(level="note", text=CAVEAT)


def _finding(result: ProbeResult) -> Finding:
    name, accuracy = result.probe.name, result.accuracy
    if accuracy is None or result.state in {"too_few_pairs", "unscored"}:
        lacking = (
            [f"{plural(result.probe.lacking, 'answer')} without anything to change so ({result.probe.lack})"]
            if result.probe.lacking
            else []
        )
        unscored = [f"unscored: {words.tally(result.unscored_reasons)}"] if result.unscored_reasons else []
        evidence = "; ".join((_lack_of_pairs(result), *lacking, *unscored))
        return Finding(sentence=f"{name} could not be tried", evidence=f"{evidence}.", tone="muted")
    shown = f"{words.percent(accuracy.rate)} [{words.percent(accuracy.ci_lo)}, {words.percent(accuracy.ci_hi)}]"
    evidence = f"accuracy {shown} of {plural(result.pairs, 'pair')}, length alone {words.percent(result.longer_accuracy_rate)}, "
    evidence += f"mean drop {_mean(result.drop)}, adjusted p {words.p_value(result.sign_p_adjusted)}"
    if result.floored:
        evidence += f"; {plural(result.floored, 'intact answer')} at 0 points, below which nothing ranks"
    if result.unscored_reasons:
        evidence += f"; unscored: {words.tally(result.unscored_reasons)}"
    return Finding(sentence=f"{name} {_state_words(result)}", evidence=f"{evidence}.", tone=_TONES[result.state])


def _lack_of_pairs(result: ProbeResult) -> str:
    if result.state == "unscored":
        total = result.pairs + sum(result.unscored_reasons.values())
        return f"{result.pairs:,} of {plural(total, 'pair')} scored, {100 * LEAST_COVERAGE_RATE:g}% needed"
    return f"{plural(result.pairs, 'pair')}, {MIN_PAIRS_FOR_TEST} needed"


def _state_words(result: ProbeResult) -> str:
    if not result.probe.is_worse:
        return "is not shown to raise the points" if result.state == "passed" else "raises the points: the judge rewards length"
    if result.state == "inconclusive":
        enough = result.pairs_to_settle
        return "is inconclusive" + ("" if enough is None else f": about {plural(enough, 'pair')} would settle it at this accuracy")
    return "is noticed" if result.state == "passed" else "is not noticed reliably"


def _mean(estimate: MeanEstimate | None) -> str:
    if estimate is None:
        return words.MISSING
    return f"{words.points(estimate.mean, signed=True)} {words.interval(estimate.ci_lo, estimate.ci_hi, signed=True)}"


def _figures(validity: JudgeValidity) -> tuple[Figure, ...]:
    """Return the drops in points with their intervals; nothing where no probe has two pairs."""
    rows = [
        ForestRow(
            label=f"{result.probe.name} ({result.condition})",
            mean=None if result.drop is None else result.drop.mean,
            lo=None if result.drop is None else result.drop.ci_lo,
            hi=None if result.drop is None else result.drop.ci_hi,
            tone=_tone(result, validity),
            right_label=_mean(result.drop),
        )
        for result in validity.results
    ]
    plot = forest_plot(rows)
    caption = (
        "Mean of intact minus degraded points with 95% interval, with and without material. Above 0 the judge saw what is worse. "
        f"Green passed and red failed, {_judged(validity.gating)}; the others are not decided, or do not decide."
    )
    return () if plot is None else (Figure(title="Drop in points", caption=caption, plot=plot),)


def _condition_section(validity: JudgeValidity, condition: Condition) -> Section:
    results = [result for result in validity.results if result.condition == condition]
    decides = "This table decides." if condition == validity.gating else "This table does not decide: answers are judged with it."
    return Section(
        key=f"{condition}-material",
        title=f"{condition.capitalize()} the treatment material",
        intro=f"{decides} Each row holds one degraded copy a question.",
        table=Table(columns=_CONDITION_COLUMNS, rows=tuple(_condition_row(result, _tone(result, validity)) for result in results)),
        notes=_condition_notes(results) if condition == validity.gating else (),
    )


def _condition_notes(results: Sequence[ProbeResult]) -> tuple[str, ...]:
    longer = [result.probe.name for result in results if not result.probe.is_worse]
    by_sign = "decided by the sign test alone: a copy that is only longer should not be ranked higher, and may be ranked equal."
    return (
        "The interval of the accuracy is Wilson's, with ties as half: a judge that sees no difference stands at 50%.",
        *(f"{result.probe.name}: {result.probe.what}." for result in results),
        *((f"{words.listed(longer)}: {by_sign}",) if longer else ()),
    )


def _tone(result: ProbeResult, validity: JudgeValidity) -> Tone:
    """Return the tone of a result; a condition that does not decide neither passes nor fails the judge."""
    return _TONES[result.state] if result.condition == validity.gating else "muted"


def _condition_row(result: ProbeResult, tone: Tone) -> tuple[Cell, ...]:
    accuracy, drop = result.accuracy, result.drop
    lacking = f"{result.probe.lacking:,} ({result.probe.lack})" if result.probe.lacking else "0"
    texts = (
        words.count(result.pairs),
        words.percent(None if accuracy is None else accuracy.rate),
        words.MISSING if accuracy is None else f"[{words.percent(accuracy.ci_lo)}, {words.percent(accuracy.ci_hi)}]",
        f"{result.wins:,}/{result.ties:,}/{result.losses:,}",
        words.count(result.floored),
        words.percent(result.longer_accuracy_rate),
        words.points(None if drop is None else drop.mean, signed=True),
        words.MISSING if drop is None else words.interval(drop.ci_lo, drop.ci_hi, signed=True),
        words.p_value(result.sign_p),
        words.p_value(result.sign_p_adjusted),
    )
    verdict = Cell(text=_verdict_words(result), tone=tone)
    rest = (Cell(text=lacking), Cell(text=words.tally(result.unscored_reasons)))
    return (Cell(text=result.probe.name), verdict, *(Cell(text=text) for text in texts), *rest)


def _verdict_words(result: ProbeResult) -> str:
    if result.state in {"too_few_pairs", "unscored"}:
        return f"{words.MISSING} ({_lack_of_pairs(result)})"
    if result.state == "inconclusive" and result.pairs_to_settle is not None:
        return f"inconclusive (about {plural(result.pairs_to_settle, 'pair')} needed)"
    return result.state


def _difference_section(validity: JudgeValidity) -> Section | None:
    """Return what the material changes, pair by pair; None where one condition was tried."""
    if not validity.differences:
        return None
    columns = (
        _PROBE,
        Column(label="Pairs", meaning="Pairs that both conditions scored."),
        Column(label="Accuracy, with minus without", meaning="In percentage points."),
        _INTERVAL,
        Column(label="Mean drop, with minus without"),
        _INTERVAL,
    )
    rows = []
    for difference in validity.differences:
        accuracy, drop = _percentage_points(difference.accuracy), difference.drop
        texts = (difference.probe, words.count(difference.pairs), *accuracy, *_estimate_texts(drop))
        rows.append(tuple(Cell(text=text) for text in texts))
    level = f"Material changes the points of the same intact answers by {_mean(validity.level)}."
    return Section(
        key="difference", title="What the material changes", intro=level, table=Table(columns=columns, rows=tuple(rows)), notes=(CAVEAT,)
    )


def _percentage_points(estimate: MeanEstimate | None) -> tuple[str, str]:
    if estimate is None:
        return words.MISSING, words.MISSING
    lo, hi = 100 * estimate.ci_lo, 100 * estimate.ci_hi
    return words.fixed(100 * estimate.mean, 1, signed=True), words.interval(lo, hi, signed=True)


def _estimate_texts(estimate: MeanEstimate | None) -> tuple[str, str]:
    if estimate is None:
        return words.MISSING, words.MISSING
    return words.points(estimate.mean, signed=True), words.interval(estimate.ci_lo, estimate.ci_hi, signed=True)


def _example_section(validity: JudgeValidity, pairs: Sequence[ProbedPair]) -> Section | None:
    """Return one pair of each degradation in the condition that decides, the one with the least drop: where the judge may be fooled."""
    rows = []
    for result in validity.gate:
        of_probe = [pair for pair in pairs if pair.probe == result.probe.name and pair.condition == validity.gating]
        scored = [(pair.drop_points, pair) for pair in of_probe if pair.drop_points is not None]
        if scored:
            _, pair = min(scored, key=lambda found: found[0])
            texts = (
                pair.probe,
                pair.question_id,
                pair.arm,
                pair.change,
                words.points(pair.intact_points),
                words.points(pair.degraded_points),
            )
            rows.append(tuple(Cell(text=text) for text in texts))
    if not rows:
        return None
    labels = (("Degradation", False), ("Question", False), ("Arm", False), ("What was done", False), ("Intact", True), ("Degraded", True))
    columns = tuple(Column(label=label, numeric=numeric) for label, numeric in labels)
    intro = "Of each degradation the pair with the least drop in points: where the judge was fooled most, if it was."
    return Section(key="examples", title="Where the judge saw least", intro=intro, table=Table(columns=columns, rows=tuple(rows)))
