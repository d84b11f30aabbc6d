"""The checks of what is stored: evidence read from artifacts, checks made on it, and the stop where one blocks.

Nothing is kept of them but what a report repeats: they are computed again wherever they are asked for, so that a new limit holds at once.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from evalplatform.answering.prompts import ANSWER_PROMPT_DIGEST
from evalplatform.answering.records import ArmAnswer
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.comparisons.records import PlacedPoints
from evalplatform.kernel.errors import CheckFailedError, EvalplatformError
from evalplatform.ports.documents import Chunk
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.policy import SuiteChecks
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.checks.answer_checks import ANSWER_CHECKS, AnswerEvidence, asked_alike
from evalplatform.stages.checks.check import Check, CheckResult, results_of
from evalplatform.stages.checks.judge_checks import JUDGE_CHECKS, JudgeEvidence, prompt_digests
from evalplatform.stages.checks.score_checks import SCORE_CHECKS, ScoreEvidence
from evalplatform.stages.checks.unpriced import PricedRow, call_prices
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import corpus_inputs, open_treatments
from evalplatform.stages.facts import answer_facts, score_facts


def run_check_results(
    settings: SuiteChecks, *, answers: AnswerEvidence, judge: JudgeEvidence | None, scores: ScoreEvidence | None
) -> tuple[CheckResult, ...]:
    """Return what the checks find of a run that is read already; without a judge, of its answers alone."""
    return (
        *results_of(ANSWER_CHECKS, answers, settings),
        *(() if judge is None else results_of(JUDGE_CHECKS, judge, settings)),
        *(() if scores is None else results_of(SCORE_CHECKS, scores, settings)),
    )


def reported_sentences(results: Iterable[CheckResult]) -> tuple[str, ...]:
    """Return what a report repeats of failed checks: not what it says of itself, nor what puts none of its numbers in doubt."""
    repeated = {(check.asset, check.name) for check in _EVERY if check.in_report}
    return tuple(result.finding.sentence for result in results if result.failed and (result.asset, result.name) in repeated)


def answer_check_results(context: SuiteContext, cell: Cell) -> tuple[CheckResult, ...]:
    """Return what the checks find of a cell's current answers. Raises InputError where there are none."""
    manifest = context.upstream(arm_answers.ASSET, cell.key)
    evidence = answer_evidence(context, manifest, arm_answers.stored_answers(context, manifest))
    return results_of(ANSWER_CHECKS, evidence, context.suite.checks)


def answer_evidence(context: SuiteContext, manifest: ArtifactManifest, answers: Sequence[ArmAnswer]) -> AnswerEvidence:
    """Return what the checks of a stored version of answers look at, given its answers."""
    facts = answer_facts(manifest)
    cells = [context.project.cell(cell_id) for cell_id in context.suite.cells]  # flags may have changed the suite, under an id of its own
    return AnswerEvidence(answers=answers, calls=facts.calls, asked_as=asked_alike(facts.cell, cells))


def judge_check_results(context: SuiteContext, cell: Cell, judge: JudgeCell) -> tuple[CheckResult, ...]:
    """Return what is found before a judge is asked to grade a cell's current answers. Raises InputError where there are none."""
    sent = prompt_digests(context.upstream(arm_answers.ASSET, cell.key).inputs)
    evidence = JudgeEvidence(cell=cell, judge=judge, prompts_sent=sent, prompts_now=_prompts_now(context))
    return results_of(JUDGE_CHECKS, evidence, context.suite.checks)


def score_check_results(context: SuiteContext, cell: Cell, judge: JudgeCell) -> tuple[CheckResult, ...]:
    """Return what the checks find of a cell's current scores under a judge. Raises InputError where there are none."""
    manifest = context.upstream(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
    evidence = score_evidence(
        context, manifest, judged_scores.stored_points(context, manifest), judged_scores.stored_costs(context, manifest)
    )
    return results_of(SCORE_CHECKS, evidence, context.suite.checks)


def stored_check_results(context: SuiteContext, asset: str, cell: Cell, judge: JudgeCell | None) -> tuple[CheckResult, ...]:
    """Return what the checks of an asset find of its current version; nothing for an asset without checks.

    Raises:
        InputError: there is no current version.
    """
    if asset == arm_answers.ASSET:
        return answer_check_results(context, cell)
    if asset == judged_scores.ASSET and judge is not None:
        return (*judge_check_results(context, cell, judge), *score_check_results(context, cell, judge))
    return ()


def score_evidence(
    context: SuiteContext, manifest: ArtifactManifest, points: Iterable[PlacedPoints], costs: Iterable[PricedRow]
) -> ScoreEvidence:
    """Return what the checks of a stored version of scores look at, given its points and what they cost."""
    answers = context.made_from(manifest, arm_answers.ASSET)
    question_ids = [question.id for question in question_set.asked_questions(context, answers).questions]
    arms = [arm.name for arm in answer_facts(answers).arms]
    return ScoreEvidence(
        scores=question_scores(points, arms=arms, question_ids=question_ids, draws=arm_answers.stored_draws(answers)),
        baseline_arm=context.suite.baseline_arm,
        questions=len(question_ids),
        prices=call_prices(costs, score_facts(manifest).calls),
    )


def blocks(settings: SuiteChecks) -> bool:
    """Say whether any check of a suite blocks. Where none does, a run need not make them before it goes on."""
    return any(getattr(settings, name).blocking for name in type(settings).model_fields)


def refuse_where_blocked(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> None:
    """Raise CheckFailedError where a check that blocks fails for a cell's stored answers, or, given a judge, for their scores.

    Where no check of the suite blocks, nothing is read.
    """
    if not blocks(context.suite.checks):
        return
    refuse_blocked(context, answer_check_results(context, cell), partition=cell.key)
    if judge is not None:
        of_scores = (*judge_check_results(context, cell, judge), *score_check_results(context, cell, judge))
        refuse_blocked(context, of_scores, partition=judged_scores.partition(cell.key, judge.key))


def refuse_blocked(context: SuiteContext, results: Iterable[CheckResult], *, partition: str) -> None:
    """Raise CheckFailedError where a check that blocks failed, with the number, the limit, and the setting that decides."""
    blocked = [result for result in results if result.blocks]
    if blocked:
        raise CheckFailedError(" ".join(_why(context, result, partition) for result in blocked))


def _why(context: SuiteContext, result: CheckResult, partition: str) -> str:
    place = f"suites.{context.suite_id}.checks.{result.name}"
    limit = "" if result.setting is None else f" (limit: {result.setting} {result.finding.limit:g})"
    another = "" if result.setting is None else f", or {place}.{result.setting} to another limit"
    return (
        f"{place}: the check {result.name!r} blocks, and failed for {result.asset} of {partition}: {result.finding.sentence}{limit} What "
        f"comes after it is not made for this partition, nor is a report; what was made before is kept. "
        f"To go on all the same, set {place}.blocking to false{another}."
    )


_EVERY: tuple[Check[Any], ...] = (*ANSWER_CHECKS, *JUDGE_CHECKS, *SCORE_CHECKS)


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
