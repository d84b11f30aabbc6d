"""Judge many answers with bounded concurrency, and keep what is finished when the run must stop."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalplatform.calls.pool import map_bounded
from evalplatform.calls.progress import ProgressMeter
from evalplatform.judging.judge import Judge
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.unanswered import unscored
from evalplatform.kernel.errors import RunStoppedError

NOT_JUDGED = "not_judged"
JUDGE_FAILED = "judge_failed"


@dataclass(frozen=True)
class JudgedTasks:
    """One judgement a task, in the order of the tasks.

    `stopped` says why the run ended early, or is None; tasks not judged then are unscored as `not_judged: <reason>`.
    """

    judgements: tuple[Judgement, ...]
    stopped: RunStoppedError | None = None

    @property
    def is_complete(self) -> bool:
        """Whether a rerun would have nothing to ask: every judge call that was needed got its reply, each vote of a panel included."""
        return not any(_lacks_a_reply(judgement) for judgement in self.judgements)


def _lacks_a_reply(judgement: Judgement) -> bool:
    votes = () if judgement.panel is None else judgement.panel.lost
    return any((reason or "").startswith((NOT_JUDGED, JUDGE_FAILED)) for reason in (judgement.reason, *(vote.reason for vote in votes)))


@dataclass
class _JudgeRun:
    judge: Judge
    meter: ProgressMeter | None
    stopped: RunStoppedError | None = None

    async def judgement(self, task: JudgeTask) -> Judgement:
        """Return the task's judgement, or an unscored one once the run has stopped."""
        stop = self.stopped
        if stop is None:
            try:
                return self._noted(await self.judge.judge(task))
            except RunStoppedError as error:
                stop = self.stopped = error
        return self._noted(unscored(task, f"{NOT_JUDGED}: {stop.reason}"))

    def _noted(self, judgement: Judgement) -> Judgement:
        if self.meter is not None:
            self.meter.finished(failed=judgement.points is None)
        return judgement


async def judge_all(tasks: Sequence[JudgeTask], *, judge: Judge, concurrency: int, meter: ProgressMeter | None = None) -> JudgedTasks:
    """Return every task's judgement.

    When the run is stopped (budget, breaker, a long Retry-After), no further task is asked; those in flight are still kept, since their
    calls are paid for.

    Args:
        tasks: what to judge.
        judge: who judges.
        concurrency: the most tasks judged at once.
        meter: told of each judgement, or None.
    """
    run = _JudgeRun(judge=judge, meter=meter)
    judgements = await map_bounded(run.judgement, tasks, concurrency=concurrency)
    return JudgedTasks(judgements=tuple(judgements), stopped=run.stopped)
