"""The main job in its order, for drivers that run it in one process: the command line and the demo."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.calls.failures import Failures
from evalplatform.kernel.errors import CheckFailedError
from evalplatform.kernel.usage import known_sum
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages.arm_answers import ASSET as ANSWERS
from evalplatform.stages.arm_answers import materialize_arm_answers
from evalplatform.stages.arms_report import ASSET as REPORT
from evalplatform.stages.checks.check import CheckResult
from evalplatform.stages.checks.stored import blocks
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.corpus import ASSET as CORPUS
from evalplatform.stages.corpus import materialize_corpus
from evalplatform.stages.facts import ScoreFacts, answer_facts, report_facts, score_facts
from evalplatform.stages.judged_scores import ASSET as SCORES
from evalplatform.stages.judged_scores import check_judge
from evalplatform.stages.question_set import ASSET as QUESTION_SET
from evalplatform.stages.question_set import materialize_question_set
from evalplatform.stages.score_chain import StageMade, score_events
from evalplatform.stages.score_stages import stages_of


@dataclass(frozen=True)
class CellRun:
    """One cell taken through the main job.

    `report` is the artifact that its reader wants; `check_counts` are the calls of what was checked before answers were asked for.
    """

    stages: tuple[StageResult, ...]
    check_counts: CallCounts = field(default_factory=CallCounts)

    @property
    def report(self) -> ArtifactManifest:
        """The report's artifact."""
        return self._manifest(REPORT)

    @property
    def unchanged(self) -> bool:
        """Whether everything was stored already, so that nothing was computed or asked."""
        return all(stage.unchanged for stage in self.stages)

    @property
    def truncated_message(self) -> str | None:
        """Why the run ended early, or None."""
        messages = (stage.manifest.facts.get("truncated_message") for stage in self.stages if not stage.unchanged)
        return next((str(message) for message in messages if message), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found in the question set and the arms' files, also where nothing was computed; one sentence each."""
        found = [stage.manifest.facts.get("warnings") for stage in self.stages if stage.manifest.artifact.asset in {QUESTION_SET, CORPUS}]
        return tuple(str(warning) for warnings in found if isinstance(warnings, list) for warning in warnings)

    @property
    def failed_answers(self) -> Failures:
        """The answers that were asked for and failed; a rerun asks for them again."""
        facts = answer_facts(self._manifest(ANSWERS))
        return Failures(counts=facts.failure_reasons, first=facts.first_failure)

    @property
    def failed_scores(self) -> Failures:
        """The scores whose judge call failed; none where nobody judged."""
        facts = self._score_facts
        return Failures(counts={}, first=None) if facts is None else Failures(counts=facts.failure_reasons, first=facts.first_failure)

    @property
    def failed_votes(self) -> Failures:
        """The votes of a judge panel whose call failed though the other roles gave points; a rerun asks for them again."""
        panel = None if self._score_facts is None else self._score_facts.panel
        return Failures(counts={}, first=None) if panel is None else Failures(counts=panel.failed_votes, first=panel.first_failed_vote)

    @property
    def unscored(self) -> Failures:
        """The scores without points, by reason, failed judge calls included; none where nobody judged."""
        facts = self._score_facts
        return Failures(counts={} if facts is None else facts.unscored_reasons, first=None)

    @property
    def scored_rate(self) -> float | None:
        """The share of answers that have points; None where nobody judged, or there was nothing to judge."""
        facts = self._score_facts
        return facts.scored / facts.rows if facts is not None and facts.rows else None

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that failed of what the report was made from; those that block stopped the run before it was made."""
        return tuple(result for result in report_facts(self.report).checks if result.failed)

    @property
    def _score_facts(self) -> ScoreFacts | None:
        judged = any(stage.manifest.artifact.asset == SCORES for stage in self.stages)
        return score_facts(self._manifest(SCORES)) if judged else None

    def _manifest(self, asset: str) -> ArtifactManifest:
        return next(stage.manifest for stage in self.stages if stage.manifest.artifact.asset == asset)

    @property
    def counts(self) -> CallCounts:
        """The calls that this run made or replayed; none where a stage was unchanged."""
        return _counts_of_run(self.stages, self.check_counts)


class BlockedRunError(CheckFailedError):
    """A check that blocks failed. `counts` are the calls that the run had made or replayed by then."""

    def __init__(self, message: str, counts: CallCounts) -> None:
        super().__init__(message)
        self.counts = counts


def run_cell(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> CellRun:
    """Take one cell through every stage, skipping what is stored already; without a judge, answers are summarised by cost alone.

    Raises:
        BlockedRunError: a check that blocks failed; what was made before is kept.
    """
    checks: list[CallCounts] = []

    async def check() -> None:
        if judge is not None:
            checks.append(await check_judge(context, judge))

    stages = [materialize_question_set(context), materialize_corpus(context)]
    stages.append(asyncio.run(materialize_arm_answers(context, cell, before_asking=check)))
    try:
        events = score_events(context, cell, judge, stages_of(context.suite, judge), checked=blocks(context.suite.checks))
        stages.extend(event.result for event in events if isinstance(event, StageMade))
    except CheckFailedError as error:
        raise BlockedRunError(str(error), _counts_of_run(stages, *checks)) from error
    return CellRun(stages=tuple(stages), check_counts=checks[0] if checks else CallCounts())


def _counts_of_run(stages: Sequence[StageResult], *others: CallCounts) -> CallCounts:
    return added_counts([stage for stage in stages if not stage.unchanged], *others)


def added_counts(stages: Sequence[StageResult], *others: CallCounts) -> CallCounts:
    """Return the sum of the stages' call counts and of others; a sum of unknown costs stays unknown."""
    known = [*others]
    known += [CallCounts.model_validate(stage.manifest.facts["calls"]) for stage in stages if "calls" in stage.manifest.facts]
    return CallCounts(
        paid=sum(counts.paid for counts in known),
        replayed=sum(counts.replayed for counts in known),
        shared=sum(counts.shared for counts in known),
        failed=sum(counts.failed for counts in known),
        paid_usd=known_sum(counts.paid_usd for counts in known),
        replayed_usd=known_sum(counts.replayed_usd for counts in known),
        unpriced=sum(counts.unpriced for counts in known),
    )
