"""Real recorded runs from import to report: 50 scenarios of one unchanged agent, each run four times."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.requirements import data_folder


def imported(command: Command, out: Path, *trials: int) -> Path:
    wanted = [argument for trial in trials for argument in ("--trial", trial)]
    ran = command("import", data_folder("airline-trajectories") / "runs.jsonl", *wanted, "--project-id", "airline", "--out", out)
    assert ran.code == 0, ran.err
    return out


@pytest.fixture
def passing_of() -> dict[int, set[str]]:
    """The scenarios that pass in each trial."""
    found: dict[int, set[str]] = {}
    with (data_folder("airline-trajectories") / "runs.jsonl").open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            found.setdefault(record["trial"], set()).update({record["scenario"]} if record["reward"] == 1.0 else set())
    return found


def test_two_trials_a_side_show_flips_that_no_run_set_can_flag(command: Command, tmp_path: Path, passing_of: dict[int, set[str]]) -> None:
    before, after = imported(command, tmp_path / "a.jsonl", 0, 1), imported(command, tmp_path / "b.jsonl", 2, 3)
    ran = command("diff", before, after, "--out-html", tmp_path / "out")
    lost = sorted(passing_of[1] - passing_of[3])
    assert ran.code == 1
    assert f"Regressed: {len(lost)} of 50 compared scenarios passed in the baseline and fail in the candidate." in ran.out
    assert re.findall(r"^(airline-\d+) +newly failing", ran.out, re.M) == lost
    assert "No drop can be flagged with so few runs (50 tested scenarios)" in ran.out
    assert "At 2 vs 2 graded runs no drop can be flagged (50 scenarios)." in ran.out
    assert "Scanned for violations: 0 of 100 runs with steps of the baseline" in ran.out
    page = (tmp_path / "out" / "report-diffs" / f"{lost[0]}.html").read_text(encoding="utf-8")
    assert "Diverged here" in page
    assert '<a href="../report.html">' in page


def test_one_trial_a_side_shows_its_flips_and_says_what_they_cannot_tell(
    command: Command, tmp_path: Path, passing_of: dict[int, set[str]]
) -> None:
    ran = command("diff", imported(command, tmp_path / "a.jsonl", 0), imported(command, tmp_path / "b.jsonl", 1))
    lost, won = passing_of[0] - passing_of[1], passing_of[1] - passing_of[0]
    assert ran.code == 1
    assert ran.out.startswith(f"The gate would fail (regressed): {len(lost)} flipped to failing · {len(won)} to passing · ")
    assert "An agent compared with itself flips too" in ran.out
    assert "at 4 vs 4 runs a drop from 4/4 is flagged at 1/4 or fewer" in ran.out
