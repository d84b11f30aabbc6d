"""The `overlap` grader: counts stated facts in the answer. It is a program, makes no call, and says nothing about style or reasoning."""

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from evalplatform.calls.ask import Asker
from evalplatform.judging.judge import JudgeSettings, judge_kinds, refuse_roles
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.unanswered import unanswered, unscored
from evalplatform.judging.words import STOP_WORDS, TokenText, content_words
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError, nearest_name
from evalplatform.ports.model_client import Sampling

PROVIDER = "offline"
MODEL = "overlap"
RULE_VERSION = 1
"""Raised in the commit that changes a number this grader gives."""


class OverlapJudge:
    """Points by facts: 100 x max(0, expected facts stated - forbidden facts stated) / expected facts.

    A fact is stated when any of its wordings stands in the answer, by the token rule of `judging.words`. A denial holds the words it
    denies, so "does not retry" states "retry": wordings should be long enough to say what they mean.

    Where a question has no expected facts, the points are the share of the distinct content words of the ground truth, or else of the
    expected topics, that the answer holds; forbidden facts are then counted and shown but lower nothing.
    """

    @property
    def prompt_digest(self) -> str:
        """The digest of the rule's name, its version and its stop words."""
        return json_digest({"rule": MODEL, "version": RULE_VERSION, "stop_words": sorted(STOP_WORDS)})

    @property
    def metrics(self) -> tuple[str, ...]:
        """Shares in points: expected facts stated, forbidden facts stated, content words of the reference held."""
        return ("facts_stated", "forbidden_stated", "words_held")

    @property
    def roles(self) -> tuple[str, ...]:
        """None: a rule has one voice."""
        return ()

    async def judge(self, task: JudgeTask) -> Judgement:
        """Return the points, or none with `nothing_to_grade_against`. The notes name the facts that are missing or forbidden and stated."""
        return unanswered(task) or self._graded(task)

    def _graded(self, task: JudgeTask) -> Judgement:
        answer = TokenText(task.answer or "")
        forbidden, _ = _told_apart(task.forbidden_facts, answer)
        dimensions: dict[str, float] = {}
        notes: dict[str, JsonValue] = {}
        if task.forbidden_facts:
            dimensions["forbidden_stated"] = 100 * len(forbidden) / len(task.forbidden_facts)
            notes["forbidden_stated"] = cast("JsonValue", forbidden)
        if task.expected_facts:
            stated, missing = _told_apart(task.expected_facts, answer)
            points = 100 * max(0, len(stated) - len(forbidden)) / len(task.expected_facts)
            dimensions["facts_stated"] = 100 * len(stated) / len(task.expected_facts)
            notes["graded_by"] = "expected_facts"
            notes["missing"] = cast("JsonValue", missing)
        else:
            graded_by, wanted = _reference_words(task)
            if not wanted:
                return unscored(task, "nothing_to_grade_against")
            points = dimensions["words_held"] = 100 * len(wanted.intersection(answer.tokens)) / len(wanted)
            notes["graded_by"] = graded_by
        return Judgement(
            task_id=task.task_id,
            points=points,
            dimensions=dimensions,
            material_digest=task.material_digest,
            material_source=task.material_source,
            notes=notes,
        )


def _told_apart(facts: Sequence[tuple[str, ...]], answer: TokenText) -> tuple[list[str], list[str]]:
    """Return the first wordings of the facts that the answer states, and of those it does not."""
    stated: list[str] = []
    missing: list[str] = []
    for wordings in facts:
        (stated if any(answer.states(wording) for wording in wordings) else missing).append(wordings[0])
    return stated, missing


def _reference_words(task: JudgeTask) -> tuple[str, frozenset[str]]:
    truth = content_words(task.ground_truth or "")
    return ("ground_truth", truth) if truth else ("expected_topics", content_words("\n".join(task.expected_topics)))


@judge_kinds.register("overlap")
def build_overlap(settings: JudgeSettings, *, asker: Asker | None) -> OverlapJudge:
    """Return the grader.

    Raises:
        InputError: settings that a program cannot heed: another provider or model, a rubric, roles, sampling, grounding from topics.
    """
    del asker  # nothing is asked
    refuse_roles(settings)
    for field, value, only in (("provider", settings.provider, PROVIDER), ("model", settings.model, MODEL)):
        if value != only:
            raise InputError(
                f"the judge kind 'overlap' has the {field} {only!r} alone, not {value!r}.", field=field, nearest=nearest_name(value, [only])
            )
    if settings.rubric is not None:
        raise InputError("the judge kind 'overlap' counts facts and reads no rubric.", field="rubric")
    if settings.sampling != Sampling() or settings.grounded_from_topics or settings.base_url is not None:
        raise InputError(
            "the judge kind 'overlap' makes no call, so it has no base_url, sampling or grounded_from_topics.", field="sampling"
        )
    return OverlapJudge()
