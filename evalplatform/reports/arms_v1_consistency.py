"""Whether the parts of an arms.v1 file fit each other. What does not fit is said and read all the same: other tools may have reasons."""

from collections.abc import Iterator, Mapping, Sequence

from evalplatform.answering.records import ArmAnswer
from evalplatform.comparisons.records import JudgedScore
from evalplatform.kernel.text import plural


def consistency_warnings(
    source: str,
    *,
    answers: Sequence[ArmAnswer],
    scores: Sequence[JudgedScore],
    answered_texts: Mapping[str, str],
    evaluated_texts: Mapping[str, str],
) -> Iterator[str]:
    """Yield a sentence for each thing that does not fit.

    Args:
        source: the file, as it is named.
        answers: every answer of the file.
        scores: every score of the file.
        answered_texts: each question's text beside its answers, by id.
        evaluated_texts: each question's text beside its scores, where it is stated, by id.
    """
    has_answer = {(answer.question_id, answer.arm) for answer in answers if answer.state != "failed"}
    by_arm: dict[str, list[str]] = {}
    for score in scores:
        if score.judgement.points is not None and (score.question_id, score.arm) not in has_answer:
            by_arm.setdefault(score.arm, []).append(score.question_id)
    for arm, questions in by_arm.items():
        count = plural(len(questions), "score")
        yield f"{source}: {count} of the arm {arm} without an answer, since it failed or is not there (first: question {questions[0]!r})."
    other = [question for question, text in evaluated_texts.items() if answered_texts.get(question) != text]
    if other:
        yield f"{source}: {plural(len(other), 'question')} with another text in evaluations than in answers (first: question {other[0]!r})."
