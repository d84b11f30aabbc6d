"""Why a partition is to be made, in words."""

import pytest

from evalplatform.reports.state_words import why


@pytest.mark.parametrize(
    ("state", "because", "words"),
    [
        ("missing", (), "missing"),
        ("stale", ("answer_prompt", "question_set"), "stale by answer prompt, question set"),
        ("stale", ("treatment:docs/documents", "treatment:docs/retrieval"), "stale by documents of docs, retrieval settings of docs"),
        ("stale", ("treatment:skill:a/skill_block", "treatment:skill:a/skill_files"), "stale by skill of skill:a"),
        ("stale", ("treatment:docs+skill:a/1:docs:documents",), "stale by documents of docs+skill:a"),
        ("stale", ("arm[000]", "arm[001]"), "stale by list of arms"),
        (
            "stale",
            ("before", "bridges", "judged_scores"),
            "stale by the scores before, the scores that tell judge and answers apart, judged_scores",
        ),
        ("stale", ("baseline_arm", "statistics"), "stale by baseline arm, correction or cluster field"),
        ("incomplete", (), "incomplete"),
        ("incomplete", ("arm_answers",), "incomplete, as is arm_answers"),
    ],
)
def test_a_state_says_what_changed(state: str, because: tuple[str, ...], words: str) -> None:
    assert why(state, because) == words
