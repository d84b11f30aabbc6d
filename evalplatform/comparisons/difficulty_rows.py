"""The numbers of runs by the difficulty that their questions state."""

from collections.abc import Iterable, Mapping, Sequence

from evalplatform.comparisons.arm_differences import known, known_labels
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
    contenders: Sequence[Contender],
    questions: Sequence[str],
    *,
    stated: Sequence[Mapping[str, Difficulty]],
    clusters: Sequence[str] | None,
) -> tuple[DifficultyRow, ...]:
    """Return a row for each difficulty that a question states: the known ones from easy to hard, then all others by name.

    Args:
        contenders: a side each, in every row.
        questions: the common questions, in the order of the contenders' points.
        stated: by question, what each run says of it. A question of which none says anything is in no row.
        clusters: the cluster of each question, where questions are not independent.
    """
    said = [run for place, run in enumerate(stated) if run not in stated[:place]]  # most often all say the same
    names: dict[Difficulty | None, str | None] = {value: difficulty_name(value) for run in said for value in set(run.values())}
    by_name: dict[str, list[int]] = {}  # places of the questions
    columns = [[names.get(run.get(question)) for question in questions] for run in said]
    for place, name in enumerate(columns[0] if len(columns) == 1 else map(_agreed, zip(*columns, strict=True))):
        if name is not None:
            by_name.setdefault(name, []).append(place)
    ordered = [*(name for name in ORDER if name in by_name), *sorted(by_name.keys() - set(ORDER))]
    return tuple(
        DifficultyRow(difficulty=name, questions=len(by_name[name]), sides=tuple(_side(one, by_name[name], clusters) for one in contenders))
        for name in ordered
    )


def _agreed(names: Iterable[str | None]) -> str | None:
    """Return what runs call one question's difficulty; None where none states it."""
    stated = set(names) - {None}
    return None if not stated else stated.pop() if len(stated) == 1 else DISPUTED


def _side(contender: Contender, places: Sequence[int], clusters: Sequence[str] | None) -> DifficultySide:
    column = [contender.deltas[place] for place in places]
    points, deltas = known([contender.points[place] for place in places]), known(column)
    labels = None if clusters is None else known_labels(column, [clusters[place] for place in places])
    estimate = estimate_mean(deltas, clusters=labels)
    return DifficultySide(
        run=contender.name,
        treatment_mean_points=plain_mean(points) if points else None,
        pairs=len(deltas),
        delta_points=estimate.mean if estimate is not None else plain_mean(deltas) if deltas else None,
        ci_lo_points=None if estimate is None else estimate.ci_lo,
        ci_hi_points=None if estimate is None else estimate.ci_hi,
    )
