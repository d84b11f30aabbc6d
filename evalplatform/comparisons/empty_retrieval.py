"""How often retrieval brought nothing that could be sent."""

from collections.abc import Iterable

from evalplatform.answering.records import ArmAnswer
from evalplatform.kernel.values import Value
from evalplatform.retrieval.recorded import recorded_retrievals


class EmptyRetrieval(Value):
    """Of one arm: the answers that something was retrieved for, and the questions (each once, in order) for which nothing was kept."""

    arm: str
    rows: int
    empty_rows: int
    empty_questions: tuple[str, ...]

    @property
    def empty_rate(self) -> float:
        """The share of rows without a chunk."""
        return self.empty_rows / self.rows


def empty_retrievals(answers: Iterable[ArmAnswer]) -> list[EmptyRetrieval]:
    """Return how often each retrieving arm was sent no chunk, in the order in which the arms appear.

    An arm retrieves where its answers record a retrieval. An answer whose retrieval failed is a failed row, counted as such elsewhere.
    """
    rows: dict[str, list[ArmAnswer]] = {}
    for answer in answers:
        if recorded_retrievals(answer.metadata):
            rows.setdefault(answer.arm, []).append(answer)
    return [_of_arm(arm, of_arm) for arm, of_arm in rows.items()]


def _of_arm(arm: str, rows: list[ArmAnswer]) -> EmptyRetrieval:
    empty = [row.question_id for row in rows if not row.context_chunks]
    return EmptyRetrieval(arm=arm, rows=len(rows), empty_rows=len(empty), empty_questions=tuple(dict.fromkeys(empty)))
