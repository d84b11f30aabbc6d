"""What has to be said of reports besides their numbers: that too little was scored for an answer, and which checks failed."""

from collections.abc import Iterable, Mapping

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.values import Value
from evalplatform.reports import words
from evalplatform.stages import arm_answers, judged_scores
from evalplatform.stages.checks.check import CheckResult
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import ComparisonFacts, comparison_facts_of, report_facts, score_facts

COMPARABLE = "comparable"
"""The check of everything that compares cells: it fails where something was refused or too little was scored, with the reasons."""


class Shortfall(Value):
    """Too little was scored for a report to answer what it was made for.

    `rate` is the share of questions with points in both arms of a comparison, the least over the arms; where nothing is `compared`, it is
    that of answers with points. `unscored` counts the scores without points by reason.
    """

    rate: float
    least_rate: float
    compared: bool
    unscored: dict[str, int]

    @property
    def sentence(self) -> str:
        """The shortfall in words, with what lacks points."""
        what = "of the questions were scored in both arms of a comparison" if self.compared else "of the answers were scored"
        found = f"{words.share(self.rate)} {what}; {self.least_rate * 100:g}% are needed."
        if not any(self.unscored.values()):
            return f"{found} The others have no row of scores: their answers were not made, or not graded."
        return f"{found} Without points: {words.tally(self.unscored)}."


class PartitionShortfall(Value):
    """A report's shortfall; `partition` is that of the report, `CELL/JUDGE`."""

    suite: str
    partition: str
    shortfall: Shortfall


class FailedCheck(Value):
    """A check that failed without blocking, in one partition of `asset` or several; `sentence` is what it found in the first of them."""

    suite: str
    check: str
    asset: str
    partitions: tuple[str, ...]
    sentence: str


class ReportFindings(Value):
    """What was found of several reports. Coverage is a shortfall, and is not repeated as a check."""

    shortfalls: tuple[PartitionShortfall, ...] = ()
    failed_checks: tuple[FailedCheck, ...] = ()

    def __add__(self, other: "ReportFindings") -> "ReportFindings":
        return ReportFindings(shortfalls=self.shortfalls + other.shortfalls, failed_checks=self.failed_checks + other.failed_checks)


def coverage_shortfall(
    *, coverage_rate: float | None, scored_rate: float | None, unscored: Mapping[str, int], least_rate: float
) -> Shortfall | None:
    """Return by what a report falls short of the coverage that is needed, or None.

    Args:
        coverage_rate: the least share of questions scored in both arms of a comparison; None where nothing is compared.
        scored_rate: the share of answers with points, which then decides; None where nobody judged.
        unscored: the scores without points, by reason.
        least_rate: the suite's limit.
    """
    rate = scored_rate if coverage_rate is None else coverage_rate
    if rate is None or rate >= least_rate:
        return None
    return Shortfall(rate=rate, least_rate=least_rate, compared=coverage_rate is not None, unscored=dict(unscored))


def found_in_reports(context: SuiteContext, reports: Iterable[ArtifactManifest]) -> ReportFindings:
    """Return what is to be said of a suite's reports on judged answers: each shortfall, and each check that failed with its partitions.

    Raises:
        StorageError: the store does not answer, or a manifest is damaged or gone.
    """
    shortfalls = []
    failed: dict[tuple[str, str], dict[str, CheckResult]] = {}
    for report in reports:
        partition = report.artifact.partition
        if (shortfall := _shortfall(context, report)) is not None:
            shortfalls.append(PartitionShortfall(suite=context.suite_id, partition=partition, shortfall=shortfall))
        for result in other_failed_checks(report_facts(report).checks):
            checked = partition.partition("/")[0] if result.asset == arm_answers.ASSET else partition
            failed.setdefault((result.asset, result.name), {}).setdefault(checked, result)
    checks = (
        FailedCheck(
            suite=context.suite_id,
            check=name,
            asset=asset,
            partitions=tuple(of_check),
            sentence=next(iter(of_check.values())).finding.sentence,
        )
        for (asset, name), of_check in failed.items()
    )
    return ReportFindings(shortfalls=tuple(shortfalls), failed_checks=tuple(checks))


def found_in_comparisons(context: SuiteContext, comparisons: Iterable[ArtifactManifest]) -> ReportFindings:
    """Return what is to be said of a suite's comparisons of cells: for each asset which are no answer, with the first one's reason."""
    failed: dict[str, list[ArtifactManifest]] = {}
    for manifest in comparisons:
        if not comparison_facts_of(manifest).is_answer:
            failed.setdefault(manifest.artifact.asset, []).append(manifest)
    checks = (
        FailedCheck(
            suite=context.suite_id,
            check=COMPARABLE,
            asset=asset,
            partitions=tuple(manifest.artifact.partition for manifest in of_asset),
            sentence=_why_no_answer(asset, comparison_facts_of(of_asset[0])),
        )
        for asset, of_asset in failed.items()
    )
    return ReportFindings(failed_checks=tuple(checks))


def _why_no_answer(asset: str, facts: ComparisonFacts) -> str:
    """Return the first reason why a comparison is no answer, with what to do about it where that is known."""
    if facts.refusals:
        return " ".join([f"{asset} was refused: {facts.refusals[0]}", *facts.advice])
    return f"{asset} is no answer: {facts.shortfalls[0]}"


def other_failed_checks(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the checks that failed, without coverage: a shortfall of it is an error of its own, with what lacks points."""
    return tuple(result for result in results if result.failed and result.name != "coverage")


def _shortfall(context: SuiteContext, report: ArtifactManifest) -> Shortfall | None:
    scores = score_facts(context.made_from(report, judged_scores.ASSET))
    return coverage_shortfall(
        coverage_rate=report_facts(report).coverage_rate,
        scored_rate=scores.scored / scores.rows if scores.rows else None,
        unscored=scores.unscored_reasons,
        least_rate=context.suite.checks.coverage.least_scored_rate,
    )
