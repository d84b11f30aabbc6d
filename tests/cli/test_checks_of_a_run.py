"""What `arms run` says of checks: warnings, a stop with exit code 2 where one blocks, and nothing twice."""

import json
from pathlib import Path

from tests.cli.conftest import Command

RUN = ("arms", "run", "--suite", "kettle", "--judge")
JUDGES = "    judges: [facts]\n"


def with_settings(project: Path, settings: str) -> None:
    file = project / "evalplatform.yaml"
    text = file.read_text()
    file.write_text(text.replace(JUDGES, f"{JUDGES}    {settings}\n", 1))


def test_a_failed_check_is_a_warning_at_every_run_and_stands_in_the_json_with_its_number(command: Command, project: Path) -> None:
    with_settings(project, "checks: {empty_retrieval: {most_empty_rate: 0.1}}")
    first, again = command(*RUN), command(*RUN, "--json")
    assert (first.code, again.code) == (0, 0)
    for ran in (first, again):
        (line,) = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
        assert line.startswith("warning: docs: 25.0% of 8 prompts had no retrieved chunk")
    (failed,) = [check for check in json.loads(again.out)["checks"] if check["finding"]["passed"] is False]
    assert (failed["name"], failed["severity"], failed["finding"]["value"], failed["finding"]["limit"]) == (
        "empty_retrieval",
        "warn",
        0.25,
        0.1,
    )


def test_a_blocking_check_ends_the_run_with_2_and_without_a_report(command: Command, project: Path) -> None:
    with_settings(project, "checks: {empty_retrieval: {most_empty_rate: 0.1, blocking: true}}")
    for _ in range(2):
        ran = command(*RUN)
        assert (ran.code, ran.out) == (2, "")
        assert "suites.kettle.checks.empty_retrieval: the check 'empty_retrieval' blocks" in ran.err
        assert "What comes after it is not made for this partition, nor is a report" in ran.err
    assert not (project / "results").exists() or not list((project / "results").rglob("*.md"))
    assert command(*RUN[:-1]).code == 2  # its answers alone are no better


def test_a_blocked_run_says_what_was_asked_and_paid_before_it_says_why_it_stopped(command: Command, project: Path) -> None:
    with_settings(project, "checks: {constant_scores: {least_distinct_points: 9, blocking: true}}")
    for asked in ("36 model calls, $0.0000 paid, 0 replayed from the ledger, 4 shared with an identical call", "0 model calls, 0 replayed"):
        counted, error = command(*RUN).err.splitlines()[-2:]
        assert counted.startswith(asked)
        assert error.startswith("error: suites.kettle.checks.constant_scores: the check 'constant_scores' blocks")


def test_the_coverage_that_a_suite_asks_for_decides_the_exit_code_and_is_said_once(command: Command, project: Path) -> None:
    questions = json.loads((project / "questions.json").read_text())
    del questions["questions"][0]["expected_facts"]
    (project / "questions.json").write_text(json.dumps(questions))
    short = command(*RUN)
    assert short.code == 2
    assert short.err.count("87.5%") == 1
    assert "95% are needed" in short.err
    with_settings(project, "checks: {coverage: {least_scored_rate: 0.875}}")
    assert command(*RUN).code == 0
    assert "below 87.5%" not in (project / "results/arms/kettle.md").read_text()


def test_a_suite_without_blocking_checks_says_nothing_of_them(command: Command, project: Path) -> None:
    ran = command(*RUN)
    assert ran.code == 0
    assert "warning" not in ran.err
