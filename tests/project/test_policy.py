"""A suite's threshold and checks in the project file: what is refused, and what makes a policy another one."""

from pathlib import Path

import pytest

from evalplatform.kernel.errors import ProjectFileError
from evalplatform.project.load import load_project
from evalplatform.project.policy import LEAST_COVERAGE_RATE, Policy, SuiteChecks
from tests.support.starter import starter

LAST = "    judges: [facts]\n"


def policy(folder: Path, more: str) -> Policy:
    return load_project(starter(folder, (LAST, f"{LAST}{more}")), environ={}).suite("kettle").policy


@pytest.mark.parametrize(
    ("more", "field", "rule", "nearest"),
    [
        ("pass_point: 70", "pass_point", "unknown key", "pass_points"),
        ("pass_points: 101", "pass_points", "less than or equal to 100", None),
        ("pass_points: -1", "pass_points", "greater than or equal to 0", None),
        ('pass_points: "70"', "pass_points", "must be a number", None),
        ("checks: {coverge: {}}", "checks.coverge", "unknown key", "coverage"),
        ("checks: {coverage: {least_scored: 1}}", "checks.coverage.least_scored", "unknown key", "least_scored_rate"),
        ("checks: {coverage: {least_scored_rate: 95}}", "checks.coverage.least_scored_rate", "less than or equal to 1", None),
        ("checks: {coverage: {blocking: yes please}}", "checks.coverage.blocking", "must be true or false", None),
        ("checks: {coverage: true}", "checks.coverage", "must be a mapping", None),
        ("checks: {constant_scores: {least_distinct_points: 1}}", "checks.constant_scores.least_distinct_points", "equal to 2", None),
    ],
)
def test_a_wrong_setting_is_refused_at_its_place(tmp_path: Path, more: str, field: str, rule: str, nearest: str | None) -> None:
    with pytest.raises(ProjectFileError) as error:
        policy(tmp_path, f"    {more}\n")
    assert (error.value.line, error.value.field, error.value.nearest) == (37, f"suites.kettle.{field}", nearest)
    assert rule in error.value.rule


def test_an_unknown_check_is_answered_with_all_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ProjectFileError, match="known here: all_cached, constant_scores, coverage, empty_retrieval, equal_arms"):
        policy(tmp_path, "    checks: {typo: {}}\n")


def test_a_suite_that_says_nothing_has_no_threshold_and_no_check_that_blocks(tmp_path: Path) -> None:
    found = policy(tmp_path, "")
    assert found.pass_points is None
    assert [name for name in SuiteChecks.model_fields if getattr(found.checks, name).blocking] == []
    assert found.checks.coverage.least_scored_rate == LEAST_COVERAGE_RATE


def test_a_policy_is_named_by_what_it_comes_to_and_not_by_how_it_is_written(tmp_path: Path) -> None:
    written = policy(tmp_path / "a", "    pass_points: 70\n    checks: {coverage: {least_scored_rate: 0.95, blocking: false}}\n")
    bare = policy(tmp_path / "b", "    pass_points: 70.0\n")
    assert (written.digest, written.key) == (bare.digest, bare.key)
    assert bare.key == f"p-{bare.digest.removeprefix('sha256:')[:12]}"
    others = ["    pass_points: 71\n", "    pass_points: 70\n    checks: {coverage: {blocking: true}}\n", ""]
    assert len({bare.key, *(policy(tmp_path / str(number), more).key for number, more in enumerate(others))}) == 4
