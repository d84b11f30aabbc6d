"""Which questions belong together: the suite's `cluster_field`, read from the questions."""

from evalplatform.comparisons.arm_summary import QuestionClusters
from evalplatform.comparisons.records import ArmSummary
from evalplatform.kernel.errors import InputError, nearest_name
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.stages.context import SuiteContext


def suite_clusters(context: SuiteContext, questions: QuestionSet) -> QuestionClusters | None:
    """Return each question's cluster, or None where the suite has no `cluster_field`.

    Called when the questions are read, so that a wrong name is found before an answer is paid for.

    Raises:
        InputError: a question has no such field; the project file's field and the nearest name are named.
    """
    field = context.suite.cluster_field
    if field is None:
        return None
    try:
        return clusters_by_field(questions, field)
    except InputError as error:
        raise error.placed(file=context.project.file, field=f"suites.{context.suite_id}.cluster_field") from None


def stored_clusters(questions: QuestionSet, summary: ArmSummary) -> QuestionClusters | None:
    """Return the clusters that a stored summary was made with, whatever the suite says by now; None where it was made without."""
    return None if summary.cluster_field is None else clusters_by_field(questions, summary.cluster_field)


def clusters_by_field(questions: QuestionSet, field: str) -> QuestionClusters:
    """Return each question's cluster: the value of one of its own fields, of its open keys, or of its metadata.

    Raises:
        InputError: a question has no such field; it would have to be dropped or guessed.
    """
    labels: dict[str, str] = {}
    for question in questions.questions:
        value = _field(question, field)
        if value is None:
            raise InputError(
                f"the question {question.id!r} of {questions.source} has no {field!r} to cluster by.",
                field="cluster_field",
                nearest=nearest_name(field, _given_fields(question) - {field}),
            )
        labels[question.id] = str(value)
    return QuestionClusters(field=field, labels=labels)


def _field(question: Question, field: str) -> object:
    if field in Question.model_fields:
        return getattr(question, field)
    return question.extra.get(field, question.metadata.get(field))


def _given_fields(question: Question) -> set[str]:
    own = {name for name in Question.model_fields if getattr(question, name) not in (None, (), {})}
    return own - {"has_expected_skill", "extra", "metadata"} | question.extra.keys() | question.metadata.keys()
