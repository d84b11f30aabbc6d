"""Which stored answers a judge has not graded, from what is known of whole assets at once: no object is read for a partition."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from evalplatform.project.cells import Cell, JudgeCell

Pair = tuple[str, str]
"""The keys of a cell and of a judge."""


@dataclass(frozen=True)
class RecordedVersion:
    """What was last recorded of a partition: its data version, and a number that grows with time."""

    data_version: str
    recorded: int

    @property
    def name(self) -> str:
        """`VERSION@NUMBER`: no other recording has it, also not one of the same version."""
        return f"{self.data_version}@{self.recorded}"


@dataclass(frozen=True)
class UnjudgedAnswers:
    """A cell's answers, as they were last recorded, that a judge has not graded."""

    cell: Cell
    judge: JudgeCell
    answers: RecordedVersion

    @property
    def pair(self) -> Pair:
        """The keys of cell and judge."""
        return self.cell.key, self.judge.key


def unjudged_answers(
    cells: Iterable[Cell], judges: Iterable[JudgeCell], *, answers: Mapping[str, RecordedVersion], scores: Mapping[Pair, RecordedVersion]
) -> Iterator[UnjudgedAnswers]:
    """Iterate over the answers that are recorded and that a judge has not graded since, judge by judge in the order given.

    Scores that were recorded after the answers count as theirs; of answers that were replaced while a judge was grading the earlier ones,
    staleness tells. Scores from before are of earlier answers, or of the same where the answers were recorded again without a change: that
    only their own inputs can tell, and `judged_scores` then finds nothing to ask.

    Args:
        cells: the cells to look at.
        judges: the judges to look at.
        answers: what was last recorded of each cell's answers, by cell key.
        scores: what was last recorded of each pair's scores.
    """
    answered = [(cell, answers[cell.key]) for cell in cells if cell.key in answers]
    for judge in judges:
        for cell, made in answered:
            graded = scores.get((cell.key, judge.key))
            if graded is None or graded.recorded < made.recorded:
                yield UnjudgedAnswers(cell=cell, judge=judge, answers=made)


def still_unjudged(found: Iterable[UnjudgedAnswers], *, asked: Mapping[Pair, str], under_way: Container[Pair]) -> Iterator[UnjudgedAnswers]:
    """Iterate over those that nobody was asked to grade since the answers were recorded, and that nothing is grading now.

    Args:
        found: the answers that judges have not graded.
        asked: by pair, the name of the recorded answers that a run was asked for.
        under_way: the pairs that are being graded.
    """
    return (one for one in found if asked.get(one.pair) != one.answers.name and one.pair not in under_way)
