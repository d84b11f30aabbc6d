"""A batch check as a page, as JSON and as JUnit cases."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from evalplatform.comparisons.batch_check import BatchCheck, FileVerdict
from evalplatform.comparisons.batch_findings import CheckName, CheckResult
from evalplatform.comparisons.batch_pool import CellDelta, PooledDelta
from evalplatform.comparisons.batch_rules import BatchRules
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_v1_wire import JsonObject
from evalplatform.reports.batch_check_words import CHECK_WORDS, finding_sentence
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.junit import JUnitCase
from evalplatform.reports.page import Page
from evalplatform.reports.view import Cell, Column, Fact, Figure, Finding, Notice, Section, Table, Tone
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST, PairedEffect

BATCH = "batch"
"""The group of the checks that are of the batch as a whole."""

DELTA_COLUMNS = (
    Column(label="File", numeric=False),
    Column(label="Model", numeric=False),
    Column(label="Treatment arm", numeric=False),
    Column(label="Pairs", meaning="Questions that both arms scored, of those that the file states."),
    Column(label="Delta", meaning="Treatment minus baseline over those pairs, in points."),
    Column(label="95% interval"),
    Column(label="Stated delta", meaning="As the file has it: each arm averaged over whatever it scored."),
)
CHECK_COLUMNS = (
    Column(label="Check", numeric=False),
    Column(label="What it asks for", numeric=False),
    Column(label="Passed"),
    Column(label="Failed"),
    Column(label="Not made"),
    Column(label="Why not", numeric=False),
)


def batch_check_page(check: BatchCheck, *, folder: str, skipped: Sequence[tuple[str, str]] = ()) -> Page:
    """Return the report of a batch check.

    Args:
        check: what was found.
        folder: where the batch lies.
        skipped: files beside the batch, and why they are not of it.
    """
    warning = f"{plural(check.findings, 'check')} failed. Read no number before what they found is mended."
    notices = [] if check.passed else [Notice(level="problem", text=warning)]
    notices += [Notice(level="note", text=f"{file} was skipped: {why}.") for file, why in skipped]
    return Page(
        kind="Batch check",
        title=f"Batch check of {PurePath(folder).name or folder}",
        subtitle=verdict_sentence(check),
        headline_facts=_headline(check),
        notices=tuple(notices),
        findings=tuple(_findings(check)),
        figures=tuple(_figures(check)),
        sections=tuple(section for section in (_deltas_section(check.files), _checks_section(check)) if section),
        facts=(Fact(label="Folder", value=folder), *_rule_facts(check.rules)),
    )


def verdict_sentence(check: BatchCheck) -> str:
    """Return whether the batch passed, as a sentence with the number of files and of failed checks."""
    files = plural(len(check.files), "file")
    if check.passed:
        return f"{files}: every check passed."
    wrong = sum(bool(file.findings) for file in check.files)
    where = f"in {plural(wrong, 'file')}" if wrong else "of the batch as a whole"
    return f"{files}: {plural(check.findings, 'check')} failed, {where}."


def pooled_sentence(pooled: PooledDelta) -> str:
    """Return the pooled delta with its interval, and beside it what weighs files instead of questions."""
    over = f"over {plural(pooled.pairs, 'pair')} of {plural(pooled.files, 'file')}, pooled over questions"
    means = f"the mean of the files' means is {words.points(pooled.mean_of_file_means_points, signed=True)}"
    return f"Delta {words.points(pooled.mean_points, signed=True)} points{_interval_words(pooled.effect)} {over}; {means}."


def delta_sentence(delta: CellDelta) -> str:
    """Return one file's delta with its interval, and the one that the file states where that is another."""
    said = f"{delta.treatment_arm}: delta {words.points(delta.mean_points, signed=True)}{_interval_words(delta.effect)}"
    stated = f"; the file states {words.points(delta.stated_points, signed=True)}" if delta.stated_differs else ""
    return f"{said} over {delta.pairs:,} of {plural(delta.questions, 'question')}{stated}"


def batch_check_payload(check: BatchCheck, *, folder: str, skipped: Sequence[tuple[str, str]] = ()) -> JsonObject:
    """Return the check as JSON: unrounded numbers, and each finding with its sentence."""
    return {
        "folder": folder,
        "passed": check.passed,
        "findings": check.findings,
        "rules": check.rules.model_dump(mode="json"),
        "files": [
            {
                "file": file.file,
                "passed": not file.findings,
                "checks": [_result_payload(result) for result in file.results],
                "delta": None
                if file.delta is None
                else {**file.delta.model_dump(mode="json"), "stated_differs": file.delta.stated_differs},
            }
            for file in check.files
        ],
        "checks": [_result_payload(result) for result in check.results],
        "pooled": None if check.pooled is None else check.pooled.model_dump(mode="json"),
        "skipped": [{"file": file, "why": why} for file, why in skipped],
    }


def batch_check_cases(check: BatchCheck) -> list[JUnitCase]:
    """Return one test case a file and check, and one for each check of the batch as a whole; a check that was not made is skipped."""
    return [_case(group, result) for group, result in _all_results(check)]


def _all_results(check: BatchCheck) -> Iterator[tuple[str, CheckResult]]:
    for file in check.files:
        yield from ((file.file, result) for result in file.results)
    yield from ((BATCH, result) for result in check.results)


def _case(group: str, result: CheckResult) -> JUnitCase:
    name = f"{result.check}: {CHECK_WORDS[result.check]}"
    if result.finding is not None:
        return JUnitCase(group=group, name=name, outcome="failed", text=finding_sentence(result.finding))
    if result.not_made is not None:
        return JUnitCase(group=group, name=name, outcome="skipped", text=result.not_made)
    return JUnitCase(group=group, name=name)


def _result_payload(result: CheckResult) -> JsonObject:
    return {
        "check": result.check,
        "passed": result.passed,
        "not_made": result.not_made,
        "finding": None if result.finding is None else result.finding.model_dump(mode="json"),
        "sentence": None if result.finding is None else finding_sentence(result.finding),
    }


def _headline(check: BatchCheck) -> tuple[Fact, ...]:
    pooled = check.pooled
    rows = [
        ("Files", f"{len(check.files):,}"),
        ("Failed checks", f"{check.findings:,}"),
        (
            "Pooled delta",
            words.MISSING if pooled is None else f"{words.points(pooled.mean_points, signed=True)}{_interval_words(pooled.effect)}",
        ),
    ]
    return tuple(Fact(label=label, value=value) for label, value in rows)


def _findings(check: BatchCheck) -> Iterator[Finding]:
    for group, result in _all_results(check):
        if result.finding is not None:
            yield Finding(sentence=finding_sentence(result.finding).removesuffix("."), evidence=f"{group}: {result.check}", tone="worse")
    if check.pooled is not None:
        yield Finding(sentence=pooled_sentence(check.pooled).removesuffix("."), evidence=_tests(check.pooled), tone=_tone(check))


def _tests(pooled: PooledDelta) -> str:
    effect = pooled.effect
    if effect is None:
        return "One pair has no interval." if pooled.pairs == 1 else "One question has no interval, however often it was asked."
    tests = {"t": effect.p_t, "Wilcoxon": effect.p_wilcoxon, "sign flip": effect.p_permutation}
    made = [f"p ({name}) {words.p_value(p_value)}" for name, p_value in tests.items() if p_value is not None]
    p_values = ", ".join(made) or f"Not tested: below {MIN_PAIRS_FOR_TEST} questions, or without spread"
    if effect.clusters is None:
        return p_values
    return f"{p_values}; the pairs are of {plural(effect.clusters, 'question')}, asked in several files, which the interval allows for"


def _tone(check: BatchCheck) -> Tone:
    """Return the pooled delta's colour; there is none before the batch is what it should be."""
    effect = check.pooled.effect if check.pooled is not None else None
    if not check.passed or effect is None or effect.ci_lo <= 0 <= effect.ci_hi:
        return "plain"
    return "better" if effect.delta_mean > 0 else "worse"


def _figures(check: BatchCheck) -> Iterator[Figure]:
    rows = [_plot_row(file.file, file.delta.mean_points, file.delta.effect) for file in check.files if file.delta is not None]
    if check.pooled is not None:
        rows.append(_plot_row("pooled over questions", check.pooled.mean_points, check.pooled.effect))
    if (plot := forest_plot(rows)) is not None:
        caption = "Treatment minus baseline over the questions that both arms scored, in points, with the 95% interval."
        yield Figure(title="Deltas", caption=caption, plot=plot)


def _plot_row(label: str, mean_points: float, effect: PairedEffect | None) -> ForestRow:
    lo, hi = (None, None) if effect is None else (effect.ci_lo, effect.ci_hi)
    right_label = f"{words.points(mean_points, signed=True)}{_interval_words(effect)}"
    return ForestRow(label=label, mean=mean_points, lo=lo, hi=hi, right_label=right_label)


def _deltas_section(files: Sequence[FileVerdict]) -> Section | None:
    rows = tuple(_delta_row(file.file, file.delta) for file in files if file.delta is not None)
    return (
        Section(
            key="deltas",
            title="Deltas over questions that both arms scored",
            table=Table(columns=DELTA_COLUMNS, rows=rows),
            notes=("A stated delta that differs by more than rounding explains is marked: it subtracts means over different questions.",),
        )
        if rows
        else None
    )


def _delta_row(file: str, delta: CellDelta) -> tuple[Cell, ...]:
    effect = delta.effect
    return (
        Cell(text=file),
        Cell(text=delta.model or words.MISSING),
        Cell(text=delta.treatment_arm),
        Cell(text=f"{delta.pairs:,} of {delta.questions:,}"),
        Cell(text=words.points(delta.mean_points, signed=True)),
        Cell(text=words.MISSING if effect is None else words.interval(effect.ci_lo, effect.ci_hi, signed=True)),
        Cell(text=words.points(delta.stated_points, signed=True), tone="caution" if delta.stated_differs else "plain"),
    )


def _checks_section(check: BatchCheck) -> Section:
    by_name: dict[CheckName, list[CheckResult]] = {}
    for _, result in _all_results(check):
        by_name.setdefault(result.check, []).append(result)
    rows = tuple(_check_row(name, results) for name, results in by_name.items())
    return Section(key="checks", title="All checks", table=Table(columns=CHECK_COLUMNS, rows=rows))


def _check_row(name: CheckName, results: Sequence[CheckResult]) -> tuple[Cell, ...]:
    passed, failed, not_made = (sum(result.passed is outcome for result in results) for outcome in (True, False, None))
    reasons = dict.fromkeys(result.not_made for result in results if result.not_made is not None)
    return (
        Cell(text=name),
        Cell(text=CHECK_WORDS[name]),
        Cell(text=words.count(passed)),
        Cell(text=words.count(failed), tone="worse" if failed else "plain"),
        Cell(text=words.count(not_made)),
        Cell(text="; ".join(reasons)),
    )


def _rule_facts(rules: BatchRules) -> tuple[Fact, ...]:
    rows = [
        ("Baseline arm", rules.baseline_arm),
        ("Treatment arm", rules.treatment_arm),
        ("Judge", f"{rules.judge_provider}/{rules.judge_model}"),
        ("Expected questions", ", ".join(f"{suffix} {count:,}" for suffix, count in rules.expected_questions.items())),
        ("Expected files", words.MISSING if rules.expected_files is None else f"{rules.expected_files:,}"),
        ("Least coverage", words.share(rules.least_coverage_rate)),
    ]
    if rules.profile is not None:
        rows.append(("Profile", f"{rules.profile.path} ({rules.profile.prompt_digest})"))
    return tuple(Fact(label=label, value=value) for label, value in rows)


def _interval_words(effect: PairedEffect | None) -> str:
    return "" if effect is None else f" {words.interval(effect.ci_lo, effect.ci_hi, signed=True)}"
