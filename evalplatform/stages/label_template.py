"""The answers of a suite as a person labels them: blind, each once, in an order that gives nothing away."""

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.values import Value
from evalplatform.stages import arm_answers
from evalplatform.stages.answer_digests import digested_answers
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import answer_facts


class AnswerToLabel(Value):
    """One answer to be judged, without the arm, the cell or any judge's points."""

    question: str
    answer: str
    answer_digest: str


def answers_to_label(context: SuiteContext, *, cell: str | None = None, seed: int = 0) -> list[AnswerToLabel]:
    """Return every distinct current answer of the suite, in an order that depends on the seed and the answers alone.

    Args:
        context: the suite.
        cell: only answers of the cells of this id, or of the one of this key.
        seed: another seed gives another order.

    Raises:
        InputError: the suite has no stored answers.
        UnknownNameError: it has, but none of that cell.
    """
    artifacts = context.catalog.list(suite=context.suite_id, asset=arm_answers.ASSET)
    current = [context.catalog.find_current(artifact) for artifact in artifacts]
    stored = [(answer_facts(manifest).cell, manifest) for manifest in current if manifest is not None]
    if not stored:
        raise InputError(f"the suite {context.suite_id!r} has no stored answers yet; run it first.", field="--suite")
    chosen = [manifest for found, manifest in stored if cell in (None, found.id, found.key)]
    if not chosen:
        names = {name for found, _ in stored for name in (found.id, found.key)}
        raise UnknownNameError("cell with stored answers", str(cell), names, field="--cell")
    distinct = {
        digest: AnswerToLabel(question=question.question, answer=answer.answer or "", answer_digest=digest)
        for manifest in chosen
        for digest, question, answer in digested_answers(context, manifest)
    }
    return [distinct[digest] for digest in sorted(distinct, key=lambda digest: text_digest(f"{seed}:{digest}"))]
