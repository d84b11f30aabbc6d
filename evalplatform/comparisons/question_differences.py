"""What runs say of single questions, compared over the questions that several of them have."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from evalplatform.comparisons.compared_run import ComparedRun

QuestionKey = tuple[str | None, str, str | None]
"""Product, id and text of a question; what a comparison does not tell questions apart by is None."""
Key = TypeVar("Key", bound=str | QuestionKey)


class QuestionDifference(NamedTuple):
    """Of how many common questions runs say different things, the first of them, and the runs that speak of any of them."""

    questions: int
    first: str
    runs: tuple[str, ...]


def question_key(run: ComparedRun, question: str) -> QuestionKey:
    """Return what names a question across runs: product, id and text. Two questions that share an id alone are two."""
    return run.identity.library_name, question, run.question_texts.get(question)


def question_difference(sides: Sequence[tuple[str, Mapping[Key, str]]]) -> QuestionDifference | None:
    """Return where runs say different things of one question, or None. A question that one run alone speaks of is left alone.

    Questions are told apart by their ids, or by their keys.
    """
    if all(by_question == sides[0][1] for _, by_question in sides):
        return None  # most often, and in a fraction of the time
    said: dict[Key, str] = {}
    differing: dict[Key, None] = {}
    for _, by_question in sides:
        for key, says in by_question.items():
            if said.setdefault(key, says) != says:
                differing[key] = None
    if not differing:
        return None
    runs = tuple(run for run, by_question in sides if any(key in by_question for key in differing))
    first = next(iter(differing))
    return QuestionDifference(questions=len(differing), first=first if isinstance(first, str) else first[1], runs=runs)
