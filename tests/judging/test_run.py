"""Judging many answers: in order, bounded, and with everything kept when it must stop."""

import asyncio
from dataclasses import dataclass

import pytest

from evalplatform.calls.progress import Progress, ProgressMeter
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.run import JudgedTasks, judge_all
from evalplatform.kernel.errors import BudgetExhaustedError, RunStoppedError
from tests.support.doubles import HandClock

TASKS = [JudgeTask(task_id=str(number), question="q", answer="a") for number in range(20)]


@dataclass
class SteppingJudge:
    """Gives the task's number as points after a few turns of the loop; raises `failure` from task `fails_from` on."""

    fails_from: int = 1_000
    failure: Exception | None = None
    running: int = 0
    most_running: int = 0
    asked: int = 0

    prompt_digest = "sha256:0"
    metrics = ()

    async def judge(self, task: JudgeTask) -> Judgement:
        number = int(task.task_id)
        self.asked += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            for _ in range(1 + (7 * number) % 5):
                await asyncio.sleep(0)
            if number >= self.fails_from and self.failure is not None:
                raise self.failure
        finally:
            self.running -= 1
        return Judgement(task_id=task.task_id, points=float(number))


def run(judge: SteppingJudge, *, concurrency: int = 4, meter: ProgressMeter | None = None) -> JudgedTasks:
    return asyncio.run(judge_all(TASKS, judge=judge, concurrency=concurrency, meter=meter))


def test_judgements_come_in_the_order_of_the_tasks() -> None:
    judged = run(SteppingJudge())
    assert [judgement.points for judgement in judged.judgements] == [float(number) for number in range(20)]
    assert judged.is_complete
    assert judged.stopped is None


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_no_more_than_the_concurrency_is_judged_at_once(concurrency: int) -> None:
    judge = SteppingJudge()
    run(judge, concurrency=concurrency)
    assert judge.most_running == min(concurrency, len(TASKS))


def test_a_stop_keeps_what_is_finished_and_in_flight_and_asks_no_more() -> None:
    judge = SteppingJudge(fails_from=6, failure=BudgetExhaustedError("spent"))
    judged = run(judge, concurrency=3)
    assert [judgement.points for judgement in judged.judgements[:6]] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert {judgement.reason for judgement in judged.judgements[6:]} == {"not_judged: budget_exhausted"}
    assert all(judgement.points is None for judgement in judged.judgements[6:])
    assert [judgement.task_id for judgement in judged.judgements] == [task.task_id for task in TASKS]
    assert isinstance(judged.stopped, RunStoppedError)
    assert str(judged.stopped) == "spent"
    assert not judged.is_complete
    assert judge.asked <= 6 + 3


def test_any_other_failure_is_raised_as_it_is() -> None:
    judge = SteppingJudge(fails_from=2, failure=OSError("disk"))
    with pytest.raises(OSError, match="disk"):
        run(judge)
    assert judge.running == 0


def test_a_judge_call_without_a_reply_leaves_the_run_incomplete_and_a_malformed_reply_does_not() -> None:
    def judged(reason: str) -> JudgedTasks:
        return JudgedTasks(judgements=(Judgement(task_id="1", reason=reason),))

    assert not judged("judge_failed: timeout").is_complete
    assert judged("malformed_reply").is_complete
    assert judged("no_answer:budget").is_complete


def test_every_judgement_is_told_to_the_meter() -> None:
    shown: list[Progress] = []
    run(SteppingJudge(fails_from=18, failure=BudgetExhaustedError("spent")), meter=ProgressMeter("scores", 20, HandClock(), shown.append))
    assert (shown[-1].done, shown[-1].total) == (20, 20)
    assert shown[-1].failed == 2


def test_no_tasks_give_no_judgements() -> None:
    assert asyncio.run(judge_all([], judge=SteppingJudge(), concurrency=4)).judgements == ()
