"""The checks of what is stored: evidence read from artifacts, checks made on it, and the stop where one blocks.

Nothing is kept of them but what a report repeats: they are computed again wherever they are asked for, so that a new limit holds at once.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from evalplatform.answering.prompts import ANSWER_PROMPT_DIGEST
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.kernel.errors import CheckFailedError, EvalplatformError
from evalplatform.ports.documents import Chunk
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.checks.answer_checks import ANSWER_CHECKS, AnswerEvidence
from evalplatform.stages.checks.check import CheckResult, results_of
from evalplatform.stages.checks.judge_checks import JUDGE_CHECKS, JudgeEvidence, prompt_digests
from evalplatform.stages.checks.score_checks import SCORE_CHECKS, ScoreEvidence
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import corpus_inputs, open_treatments
from evalplatform.stages.facts import answer_facts, score_facts


def answer_check_results(context: SuiteContext, cell: Cell) -> tuple[CheckResult, ...]:
    """Return what the checks find of a cell's current answers. Raises InputError where there are none."""
    manifest = context.upstream(arm_answers.ASSET, cell.key)
    evidence = AnswerEvidence(answers=arm_answers.stored_answers(context, manifest), calls=answer_facts(manifest).calls)
    return results_of(ANSWER_CHECKS, evidence, context.suite.checks)


def judge_check_results(context: SuiteContext, cell: Cell, judge: JudgeCell) -> tuple[CheckResult, ...]:
    """Return what is found before a judge is asked to grade a cell's current answers. Raises InputError where there are none."""
    sent = prompt_digests(context.upstream(arm_answers.ASSET, cell.key).inputs)
    evidence = JudgeEvidence(cell=cell, judge=judge, prompts_sent=sent, prompts_now=_prompts_now(context))
    return results_of(JUDGE_CHECKS, evidence, context.suite.checks)


def score_check_results(context: SuiteContext, cell: Cell, judge: JudgeCell) -> tuple[CheckResult, ...]:
    """Return what the checks find of a cell's current scores under a judge. Raises InputError where there are none."""
    manifest = context.upstream(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
    answers = context.made_from(manifest, arm_answers.ASSET)
    question_ids = [question.id for question in question_set.asked_questions(context, answers).questions]
    arms = [arm.name for arm in answer_facts(answers).arms]
    points = judged_scores.stored_points(context, manifest)
    evidence = ScoreEvidence(
        scores=question_scores(points, arms=arms, question_ids=question_ids, draws=int(answers.inputs["draws"])),
        baseline_arm=context.suite.baseline_arm,
        questions=len(question_ids),
        calls=score_facts(manifest).calls,
    )
    return results_of(SCORE_CHECKS, evidence, context.suite.checks)


def refuse_blocked(context: SuiteContext, results: Iterable[CheckResult], *, partition: str) -> None:
    """Raise CheckFailedError where a check that blocks failed, with the number, the limit, and the setting that decides."""
    blocked = [result for result in results if result.blocks]
    if blocked:
        raise CheckFailedError(" ".join(_why(context, result, partition) for result in blocked))


def _why(context: SuiteContext, result: CheckResult, partition: str) -> str:
    place = f"suites.{context.suite_id}.checks.{result.name}"
    limit = "" if result.setting is None else f" (limit: {result.setting} {result.finding.limit:g})"
    return (
        f"{place}: the check {result.name!r} blocks, and failed for {result.asset} of {partition}: {result.finding.sentence}{limit} What "
        f"comes after it is not made for this partition, nor is a report; what was made before is kept. "
        f"To go on all the same, set {place}.blocking to false{'' if result.setting is None else f', or {result.setting}'}."
    )


class _Unopened:
    """Stands for a document source where only prompts are asked for: nothing is read and no service is called."""

    name = "unopened"

    async def open(self) -> str:
        return ""

    async def retrieve(self, query: str, *, top_k: int) -> list[Chunk]:
        raise AssertionError(f"nothing is retrieved for {query!r}")

    async def aclose(self) -> None:
        return None


def _prompts_now(context: SuiteContext) -> dict[str, str] | str:
    async def opened() -> dict[str, str]:
        async with open_treatments(replace(context, open_document_source=lambda spec: _Unopened())) as treatments:
            return corpus_inputs(treatments.arms, treatments.digests)

    try:
        inputs = asyncio.run(opened())
    except EvalplatformError as error:
        return str(error)
    return prompt_digests({**inputs, "answer_prompt": ANSWER_PROMPT_DIGEST})
