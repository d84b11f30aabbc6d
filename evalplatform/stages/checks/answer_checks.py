"""Checks on a cell's answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalplatform.answering.records import ArmAnswer
from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.empty_retrieval import empty_retrievals
from evalplatform.comparisons.equal_arms import equal_arms
from evalplatform.kernel.text import plural
from evalplatform.plugins.plugin import OutputShaper
from evalplatform.project.cells import Cell, plugin_free_pair
from evalplatform.project.policy import SuiteChecks
from evalplatform.reports import words
from evalplatform.stages import arm_answers
from evalplatform.stages.checks.check import EXAMPLES_SHOWN, Check, Finding, not_told
from evalplatform.stages.checks.unpriced import call_prices, unpriced_finding


@dataclass(frozen=True)
class AnswerEvidence:
    """The answers of a cell, and the calls of the run that made them.

    `asked_as` is the id of the cell that sends the very same calls, see `asked_alike`; None where the cell's calls are its own.
    """

    answers: Sequence[ArmAnswer]
    calls: CallCounts
    asked_as: str | None = None


def asked_alike(cell: Cell, cells: Iterable[Cell]) -> str | None:
    """Return the id of the plugin-free pair whose replies a cell is meant to share, or None.

    Its plugins then reshape replies alone and its seed is the pair's: their delta is of one set of replies, shown in two ways.
    """
    pair = plugin_free_pair(cell, cells)
    if pair is None or pair.sampling.seed != cell.sampling.seed:
        return None
    return pair.id if all(stamp.kind == OutputShaper.kind for stamp in cell.plugins) else None


def _empty_retrieval(evidence: AnswerEvidence, settings: SuiteChecks) -> Finding:
    found = empty_retrievals(evidence.answers)
    if not found:
        return not_told("No arm retrieved anything, so there is no retrieval to check.")
    limit = settings.empty_retrieval.most_empty_rate
    worst = max(found, key=lambda arm: arm.empty_rate)
    said = f"{worst.arm}: {words.share_up(worst.empty_rate)} of {plural(worst.rows, 'prompt')} had no retrieved chunk"
    return Finding(
        passed=worst.empty_rate <= limit,
        sentence=f"{said}." if worst.empty_rate <= limit else f"{said}, so they asked what an arm without documents asks.",
        value=worst.empty_rate,
        unit="share of the worst arm's rows",
        limit=limit,
        examples=worst.empty_questions[:EXAMPLES_SHOWN],
    )


def _unpriced(evidence: AnswerEvidence, settings: SuiteChecks) -> Finding:
    return unpriced_finding(call_prices(evidence.answers, evidence.calls), settings, what="answer")


def _all_cached(evidence: AnswerEvidence, settings: SuiteChecks) -> Finding:
    # A prompt that the provider read from its own cache is a call all the same: the reply was drawn anew.
    calls = evidence.calls
    # One that failed measured nothing; one shared with an identical call of this run, of another arm or cell, was made anew as well.
    made, known = calls.paid, calls.replayed + calls.shared
    failed = f" {plural(calls.failed, 'call')} failed." if calls.failed else ""
    if not made + known:
        return not_told(f"There is no reply to tell of.{failed}" if failed else "No answer was asked for.")
    return Finding(
        passed=made + calls.shared > 0 or evidence.asked_as is not None,
        sentence=f"{_replies(calls, asked_as=evidence.asked_as)}{failed}",
        value=(made + calls.shared) / (made + known),
        unit="share of replies that were asked for anew",
    )


def _replies(calls: CallCounts, *, asked_as: str | None) -> str:
    if calls.paid:
        return f"{plural(calls.paid, 'answer call')} made and {calls.replayed + calls.shared:,} taken from the ledger."
    if calls.shared:
        return f"No answer call made: {calls.shared:,} were identical with calls of this run, and {calls.replayed:,} taken from the ledger."
    if asked_as is not None:
        return (
            f"All {plural(calls.replayed, 'answer')} were replayed from the ledger, as they are meant to be: the cell's plugins reshape "
            f"replies and change nothing of what is asked, so it shares its replies with {asked_as}."
        )
    return (
        f"All {plural(calls.replayed, 'answer')} were replayed from the ledger: nothing was measured anew. They are as good as when they "
        "were paid for; for new samples raise `draws`, or change the cell's `seed`."
    )


def _equal_arms(evidence: AnswerEvidence, settings: SuiteChecks) -> Finding:
    if len({answer.arm for answer in evidence.answers}) < 2:
        return not_told("There is one arm alone.")
    found = equal_arms(evidence.answers)
    named = tuple(f"{pair.arm_a} and {pair.arm_b} ({plural(pair.questions, 'question')})" for pair in found)
    return Finding(
        passed=not found,
        sentence=f"Equal arms: {words.listed(list(named[:EXAMPLES_SHOWN]))} were sent the same prompts. What they differ in is noise, not "
        "the treatment."
        if found
        else "No two arms were sent the same prompts throughout.",
        value=len(found),
        unit="pairs of arms",
        examples=named[:EXAMPLES_SHOWN],
    )


ANSWER_CHECKS: tuple[Check[AnswerEvidence], ...] = (
    Check(
        name="empty_retrieval",
        asset=arm_answers.ASSET,
        severity="warn",
        description="Did arms that retrieve bring something? The worst arm's share of prompts without a chunk.",
        find=_empty_retrieval,
        setting="most_empty_rate",
    ),
    Check(
        name="unpriced",
        asset=arm_answers.ASSET,
        severity="warn",
        description="Is the price of every answer call known, whichever run paid for it? Costs and spend caps leave out those without one.",
        find=_unpriced,
        setting="most_unpriced_rate",
        in_report=False,  # the cost table says which totals are partial
    ),
    Check(
        name="all_cached",
        asset=arm_answers.ASSET,
        severity="warn",
        description="Was anything asked? A run whose answers all came from the ledger measured nothing new; not where plugins only "
        "reshape the replies of another cell.",
        find=_all_cached,
        in_report=False,  # replayed answers are as good as paid ones; the header counts both
    ),
    Check(
        name="equal_arms",
        asset=arm_answers.ASSET,
        severity="error",
        description="Were the arms sent different prompts? A delta between equal arms measures noise.",
        find=_equal_arms,
    ),
)
