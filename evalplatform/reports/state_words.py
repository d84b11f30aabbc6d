"""How the state of a partition is worded: why it is to be made."""

import re
from collections.abc import Iterable

# What an arm's digest is of, by the last part of its name; the rest of the name says which arm.
TREATMENT_WORDS = {
    "documents": "documents",
    "retrieval": "retrieval settings",
    "skill_block": "skill",
    "skill_files": "skill",
    "profile_prompt": "profile",
}
# Inputs that are no asset and no setting, in the words of those who read what is made from them.
INPUT_WORDS = {
    "question_set": "question set",
    "answer_prompt": "answer prompt",
    "code_version": "code version",
    "judge_seed": "judge seed",
    "baseline_arm": "baseline arm",
    "before": "the scores before",
    "bridges": "the scores that tell judge and answers apart",
    "statistics": "correction or cluster field",
    "cluster_field": "cluster field",
}


def why(state: str, because: Iterable[str]) -> str:
    """Return why a partition is not fresh: its state, with the inputs that changed or the assets that it waits for."""
    named = ", ".join(dict.fromkeys(input_words(name) for name in because))
    if not named:
        return state
    return f"{state} by {named}" if state == "stale" else f"{state}, as is {named}"


def input_words(name: str) -> str:
    """Return the name of an input as a reader knows it.

    Example:
        >>> input_words("treatment:docs+skill:use-kettle/1:docs:documents")
        'documents of docs+skill:use-kettle'
    """
    if name.startswith("treatment:"):
        arm, _, digest = name.removeprefix("treatment:").rpartition("/")
        last = digest.rpartition(":")[2]
        return f"{TREATMENT_WORDS.get(last, last)} of {arm}"
    if re.fullmatch(r"arm\[\d+\]", name):
        return "list of arms"
    if name.startswith("arm_summary:"):
        return f"summary of {name.removeprefix('arm_summary:')}"
    return INPUT_WORDS.get(name, name)
