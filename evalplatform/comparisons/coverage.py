"""How much of a question set stands behind a comparison."""

from collections.abc import Mapping


def paired_coverage_rate(points: Mapping[str, Mapping[str, float]], *, baseline_arm: str, questions: int) -> float | None:
    """Return the least share of questions scored in both arms, over all arms but the baseline.

    Args:
        points: every arm's points by question; a question without points is absent.
        baseline_arm: the arm that the others are compared with.
        questions: how many questions were to be asked.

    Returns:
        A rate in [0, 1], or None without a second arm or without questions.
    """
    baseline = points[baseline_arm]
    pairs = [sum(question in of_arm for question in baseline) for arm, of_arm in points.items() if arm != baseline_arm]
    return min(pairs) / questions if pairs and questions else None
