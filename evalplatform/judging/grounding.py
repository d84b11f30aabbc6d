"""The reference of a grounded judgement: which text it is, and how much of it is shown. Source: treatment-arms spec, section 6."""

from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.text import ELLIPSIS

REFERENCE_LIMIT_CHARS = 4_000
MIN_MEAN_TOPIC_CHARS = 40
"""Shorter topics are keywords, and a keyword list is no statement to grade against."""


def reference_of(task: JudgeTask, *, from_topics: bool) -> str | None:
    """Return the reference text, or None where the task is judged without one.

    It is the ground truth; or, where there is none and `from_topics` says so, the expected topics as a bulleted list when their mean length
    is at least 40 characters. It is clipped at 4,000 characters by whole lines.
    """
    if task.ground_truth is not None and task.ground_truth.strip():
        return clipped_by_lines(task.ground_truth.strip(), REFERENCE_LIMIT_CHARS)
    topics = [topic.strip() for topic in task.expected_topics if topic.strip()]
    if not from_topics or not topics or sum(map(len, topics)) / len(topics) < MIN_MEAN_TOPIC_CHARS:
        return None
    return clipped_by_lines("\n".join(f"- {topic}" for topic in topics), REFERENCE_LIMIT_CHARS)


def clipped_by_lines(text: str, limit_chars: int) -> str:
    """Return `text`, or its first whole lines within the limit and an ellipsis on a line of its own.

    A first line that is longer than the limit is itself cut there.
    """
    if len(text) <= limit_chars:
        return text
    end = text.rfind("\n", 0, limit_chars + 1)
    return f"{text[:end]}\n{ELLIPSIS}" if end > 0 else text[:limit_chars] + ELLIPSIS
