"""Stage `question_set`: read the questions, refuse what cannot be asked, store them in one spelling."""

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.questions.read import read_question_set
from evalplatform.questions.records import QuestionSet
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result, warning_inputs
from evalplatform.stages.question_clusters import suite_clusters

ASSET = "question_set"
CODE_VERSION = "1"
FILE = "questions.json"


def materialize_question_set(context: SuiteContext) -> StageResult:
    """Read the suite's question file and store it. Raises as `current_questions` does."""
    questions = current_questions(context)
    key = StageKey(context.artifact(ASSET), inputs=question_inputs(questions), code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    # The path is kept as the project file writes it: an absolute one would differ from machine to machine.
    stored = questions.model_copy(update={"source": context.suite.questions})
    return stored_result(
        context,
        key,
        files={FILE: stored.model_dump_json(indent=1).encode()},
        facts={"questions": len(questions.questions), "digest": questions.digest, "warnings": list(questions.warnings)},
    )


def current_questions(context: SuiteContext) -> QuestionSet:
    """Read the suite's question file as it is now.

    Raises:
        QuestionSetError: the file cannot be used; file, line and rule are named.
        InputError: a question lacks the suite's `cluster_field`.
    """
    questions = read_question_set(context.project.root / context.suite.questions)
    suite_clusters(context, questions)  # every question has the field to cluster by, or nothing is asked
    return questions


def question_inputs(questions: QuestionSet) -> dict[str, str]:
    """Return the named inputs of the stored questions."""
    return {"questions": questions.digest, **warning_inputs(questions.warnings)}


def stored_questions(context: SuiteContext) -> QuestionSet:
    """Return the suite's current questions, or raise InputError where there are none yet."""
    return _read(context, context.upstream(ASSET))


def asked_questions(context: SuiteContext, answers: ArtifactManifest) -> QuestionSet:
    """Return the questions that stored answers were given to: whoever grades or reports answers must not mix in later edits."""
    return _read(context, context.made_from(answers, ASSET))


def _read(context: SuiteContext, manifest: ArtifactManifest) -> QuestionSet:
    return QuestionSet.model_validate_json(context.catalog.read(manifest, FILE))
