"""The digests that labels know stored answers by."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from evalplatform.answering.records import ArmAnswer
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.digests import answer_digest
from evalplatform.kernel.errors import ObjectNotFoundError
from evalplatform.questions.records import Question
from evalplatform.stages import arm_answers, question_set
from evalplatform.stages.context import SuiteContext


def digested_answers(context: SuiteContext, answers: ArtifactManifest) -> Iterator[tuple[str, Question, ArmAnswer]]:
    """Yield each answer of a stored version that has a text, with its digest and its question, in the order question, arm, draw."""
    questions = {question.id: question for question in question_set.asked_questions(context, answers).questions}
    for answer in arm_answers.stored_answers(context, answers):
        if answer.answer is not None:
            question = questions[answer.question_id]
            yield answer_digest(question.question, answer.answer), question, answer


def unknown_digests(contexts: Sequence[SuiteContext], digests: Iterable[str]) -> frozenset[str]:
    """Return those of the digests that no stored answer of the suites has; earlier versions are read only while some are missing.

    A version whose files are gone has no answers any more.
    """
    missing = set(digests)
    for version in _versions(contexts):
        if not missing:
            break
        context, manifest = version
        with suppress(ObjectNotFoundError):
            missing.difference_update(digest for digest, _, _ in digested_answers(context, manifest))
    return frozenset(missing)


def _versions(contexts: Sequence[SuiteContext]) -> Iterator[tuple[SuiteContext, ArtifactManifest]]:
    """Yield every stored version of answers, the current ones of all suites first."""
    artifacts = [
        (context, artifact) for context in contexts for artifact in context.catalog.list(suite=context.suite_id, asset=arm_answers.ASSET)
    ]
    current: set[tuple[str, str]] = set()
    for context, artifact in artifacts:
        if (manifest := context.catalog.find_current(artifact)) is not None:
            current.add((artifact.path, manifest.data_version))
            yield context, manifest
    for context, artifact in artifacts:
        for manifest in context.catalog.versions(artifact):
            if (artifact.path, manifest.data_version) not in current:
                yield context, manifest
