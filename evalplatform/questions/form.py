"""The one spelling of a question, which files are written in and digests are taken of."""

from collections.abc import Iterable

from pydantic import JsonValue

from evalplatform.kernel.digests import json_digest
from evalplatform.questions.facts import facts_as_json
from evalplatform.questions.records import Question


def questions_v2_record(question: Question) -> dict[str, JsonValue]:
    """Return the question as a questions.v2 record: what is not set is left out, open keys stand beside the others.

    `expected_skill` is null where the label is "no skill should load", and absent where the question has no label.
    """
    record: dict[str, JsonValue] = {"id": question.id, "question": question.question}
    optional: dict[str, JsonValue] = {
        "category": question.category,
        "level": question.level,
        "difficulty": question.difficulty,
        "persona": question.persona,
        "ground_truth_chunk": question.ground_truth_chunk,
        "expected_topics": list(question.expected_topics) or None,
        "expected_facts": facts_as_json(question.expected_facts) or None,
        "forbidden_facts": facts_as_json(question.forbidden_facts) or None,
        "metadata": question.metadata or None,
    }
    record.update({key: value for key, value in optional.items() if value is not None})
    if question.has_expected_skill:
        skill = question.expected_skill
        record["expected_skill"] = list(skill) if isinstance(skill, list) else skill
    return {**question.extra, **record}


def questions_digest(questions: Iterable[Question]) -> str:
    """Return the digest of everything of every question, in order; it does not depend on the format or spelling they were read from."""
    return json_digest([questions_v2_record(question) for question in questions])
