"""The rows of a run, findable by question, arm and draw."""

from collections import Counter
from collections.abc import Sequence

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.calls.failures import Failures, failures_of
from evalplatform.comparisons.question_scores import NOT_JUDGED
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.records import Judgement
from evalplatform.judging.run import JUDGE_FAILED

Place = tuple[str, str, int]

CUTS = {"context_truncated": "context", "skill_truncated": "skill body", "profile_prompt_truncated": "profile prompt"}
"""What the metadata says of a treatment that was too long, and the word for what was cut."""


class RunRows:
    """Answers, judgements and timings of one cell under one judge, by (question id, arm, draw). Nothing is copied."""

    def __init__(self, answers: Sequence[ArmAnswer], scores: Sequence[JudgedScore], timings: Sequence[CallTiming]) -> None:
        self.answers: dict[Place, ArmAnswer] = {(row.question_id, row.arm, row.draw): row for row in answers}
        self.judgements: dict[Place, Judgement] = {(row.question_id, row.arm, row.draw): row.judgement for row in scores}
        self.timings: dict[Place, CallTiming] = {(row.question_id, row.arm, row.draw): row for row in timings}

    def why_unscored(self, place: Place) -> str | None:
        """Return why this place has no points: its judgement's reason, its answer's, or that it was never asked; None when it has."""
        judgement, answer = self.judgements.get(place), self.answers.get(place)
        if judgement is not None:
            return None if judgement.points is not None else judgement.reason or "unscored"
        if answer is None:
            return "not_asked"
        return answer.reason or NOT_JUDGED

    def states(self, arm: str, state: str) -> Counter[str]:
        """Return how many of an arm's answers are in a state, by reason."""
        rows = (row for row in self.answers.values() if row.arm == arm and row.state == state)
        return Counter((row.reason or "no reason given").split(": ", 1)[0] for row in rows)

    def failed_answers(self, arm: str) -> Failures:
        """Return why an arm's answers failed, those that were never asked for included."""
        rows = (row for row in self.answers.values() if row.arm == arm and row.state == "failed")
        return failures_of(row.reason or "no reason given" for row in rows)

    def failed_scores(self) -> Failures:
        """Return why judge calls failed, in all arms."""
        reasons = (row.reason or "" for row in self.judgements.values())
        return failures_of(reason for reason in reasons if reason.startswith(JUDGE_FAILED))

    def cut(self, arm: str) -> Counter[str]:
        """Return how many of an arm's answers got a treatment that was cut, by what was cut; parts of a combined arm count too."""
        found: Counter[str] = Counter()
        for row in self.answers.values():
            if row.arm == arm:
                parts = row.metadata.get("treatments")
                records = [row.metadata, *(part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, dict))]
                found.update({word for key, word in CUTS.items() if any(record.get(key) is True for record in records)})
        return found

    def latencies_seconds(self, arm: str) -> list[float]:
        """Return the known latencies of an arm's answers, ascending."""
        return sorted(row.latency_seconds for row in self.timings.values() if row.arm == arm and row.latency_seconds is not None)

    def replayed(self, arm: str) -> int:
        """Return how many of an arm's answers came from the ledger."""
        return sum(row.replayed for row in self.timings.values() if row.arm == arm)
