"""The numbers of runs by the difficulty that their questions state."""

from collections.abc import Iterable, Mapping, Sequence

from evalplatform.comparisons.head_to_head import Contender
from evalplatform.comparisons.model_comparison_records import DifficultyRow, DifficultySide
from evalplatform.stats.mean import estimate_mean, plain_mean

Difficulty = str | int | float

ORDER = ("easy", "beginner", "intermediate", "medium", "advanced", "hard")
DISPUTED = "stated differently"
"""The row of questions to which runs give more than one difficulty."""

_NUMBERED = {1: "easy", 2: "medium", 3: "hard", "1": "easy", "2": "medium", "3": "hard"}


def difficulty_name(stated: Difficulty) -> str | None:
    """Return a stated difficulty as the name of its row: in lower case, 1, 2 and 3 as easy, medium and hard; None for an empty text."""
    text = stated.strip().casefold() if isinstance(stated, str) else stated
    return _NUMBERED.get(text) or str(text) or None


def difficulty_rows(
    contenders: Sequence[Contender], questions: Iterable[str], *, stated: Sequence[Mapping[str, Difficulty]]
) -> tuple[DifficultyRow, ...]:
    """Return a row for each difficulty that a question states: the known ones from easy to hard, then all others by name.

    Args:
        contenders: a side each, in every row.
        questions: the common questions, in a fixed order.
        stated: by question, what each run says of it. A question of which none says anything is in no row.
    """
    by_name: dict[str, list[str]] = {}
    for question in questions:
        names = {name for run in stated if question in run and (name := difficulty_name(run[question])) is not None}
        if names:
            by_name.setdefault(names.pop() if len(names) == 1 else DISPUTED, []).append(question)
    ordered = [*(name for name in ORDER if name in by_name), *sorted(by_name.keys() - set(ORDER))]
    return tuple(
        DifficultyRow(difficulty=name, questions=len(by_name[name]), sides=tuple(_side(one, by_name[name]) for one in contenders))
        for name in ordered
    )


def _side(contender: Contender, questions: Sequence[str]) -> DifficultySide:
    points = [contender.points[question] for question in questions if question in contender.points]
    deltas = [contender.deltas[question] for question in questions if question in contender.deltas]
    estimate = estimate_mean(deltas)
    return DifficultySide(
        run=contender.name,
        treatment_mean_points=plain_mean(points) if points else None,
        pairs=len(deltas),
        delta_points=plain_mean(deltas) if deltas else None,
        ci_lo_points=None if estimate is None else estimate.ci_lo,
        ci_hi_points=None if estimate is None else estimate.ci_hi,
    )
