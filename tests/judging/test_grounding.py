"""Which reference a judge is shown, and how much of it."""

from evalplatform.judging.grounding import clipped_by_lines, reference_of
from evalplatform.judging.records import JudgeTask

TASK = JudgeTask(task_id="1", question="q", answer="a")


def test_a_ground_truth_is_used_whatever_the_topics_say() -> None:
    task = TASK.with_changes(ground_truth=" Four attempts. ", expected_topics=("x" * 50,))
    assert reference_of(task, from_topics=True) == "Four attempts."


def test_long_topics_become_a_bulleted_list_where_that_was_asked_for() -> None:
    task = TASK.with_changes(expected_topics=("a" * 39, "b" * 41))
    assert reference_of(task, from_topics=True) == f"- {'a' * 39}\n- {'b' * 41}"
    assert reference_of(task, from_topics=False) is None


def test_topics_of_a_mean_length_below_forty_are_keywords() -> None:
    assert reference_of(TASK.with_changes(expected_topics=("a" * 39, "b" * 40)), from_topics=True) is None


def test_a_blank_ground_truth_is_none() -> None:
    assert reference_of(TASK.with_changes(ground_truth=" \n"), from_topics=False) is None


def test_a_reference_is_clipped_after_its_last_whole_line() -> None:
    lines = "\n".join(["x" * 1000] * 5)
    assert reference_of(TASK.with_changes(ground_truth=lines), from_topics=False) == "\n".join(["x" * 1000] * 3) + "\n…"


def test_a_line_that_ends_at_the_limit_is_kept() -> None:
    assert clipped_by_lines("ab\ncd\nef", 5) == "ab\ncd\n…"


def test_a_first_line_beyond_the_limit_is_cut_there() -> None:
    assert clipped_by_lines("abcdef\ngh", 4) == "abcd…"


def test_a_text_within_the_limit_is_whole() -> None:
    assert clipped_by_lines("ab\ncd", 5) == "ab\ncd"
