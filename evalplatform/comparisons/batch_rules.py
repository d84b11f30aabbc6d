"""What a batch of runs has to be before its numbers are read: the rules of a batch check."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.project.policy import LEAST_COVERAGE_RATE

_DRAW = re.compile(r"\.d\d+$")


class ProfileNow(Value):
    """A profile's file, and the digest of the prompt that it gives now."""

    path: str
    prompt_digest: str


class BatchRules(Value):
    """The rules.

    Attributes:
        baseline_arm: the arm that every run's deltas are measured from.
        treatment_arm: the glob that every run's other arm fits; an exact name fits itself.
        judge_model: the judge that every run must have, as files name it; a panel is `panel[roles]:model`.
        judge_provider: its provider.
        expected_questions: how many questions a file has, by how its name ends.
        expected_files: how many files the batch has, or None for any number.
        profile: the profile whose prompt the treatment arms must have been sent, or None.
        least_coverage_rate: the least share of questions scored in both arms.
    """

    baseline_arm: str = "baseline"
    treatment_arm: str = "profile:*"
    judge_model: str = "claude-sonnet-5-5"
    judge_provider: str = "anthropic"
    expected_questions: dict[str, int] = Field(default_factory=lambda: {"regular": 40, "golden": 20})
    expected_files: int | None = None
    profile: ProfileNow | None = None
    least_coverage_rate: float = LEAST_COVERAGE_RATE


class ExpectedCount(NamedTuple):
    """The suffix that a file's name ends in, and the number of questions it stands for."""

    suffix: str
    questions: int


def expected_count(file_name: str, expected_questions: Mapping[str, int]) -> ExpectedCount | None:
    """Return what the file's name says of its size, or None where no suffix fits.

    A suffix is compared with the name without its ending and without the number of a draw (`haiku_regular.d0.json` ends in `regular`).
    Where several fit, the longest wins: `qt_golden` is said of some of the files that `golden` is said of.

    Example:
        >>> expected_count("haiku_regular.json", {"regular": 40, "golden": 20})
        ExpectedCount(suffix='regular', questions=40)
    """
    stem = _DRAW.sub("", file_name.removesuffix(".json"))
    fitting = [suffix for suffix in expected_questions if stem.endswith(suffix)]
    suffix = max(fitting, key=len, default=None)
    return None if suffix is None else ExpectedCount(suffix, expected_questions[suffix])
