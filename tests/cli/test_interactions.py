"""What `arms run` prints of arms that combine two others."""

import json
from pathlib import Path

from tests.cli.conftest import Command

DOCS, SKILL = "docs:local:docs", "skill:skills/use-kettle"
FACTORIAL = ("arms", "run", "--suite", "kettle", "--judge", "--arms", f"baseline,{DOCS},{SKILL},{DOCS}+{SKILL}")


def test_the_interaction_stands_under_the_table_with_its_interval_and_in_the_json(command: Command, project: Path) -> None:
    ran = command(*FACTORIAL)
    assert ran.code == 0
    (line,) = [line for line in ran.out.splitlines() if line.startswith("interaction ")]
    told = json.loads(command(*FACTORIAL, "--json").out)
    (row,) = told["interactions"]
    assert (row["arm_a"], row["arm_b"]) == tuple(arm["arm"] for arm in told["result"][1:3])
    assert line == (
        f"interaction {row['arm']}: {row['interaction_points']} points {row['interaction_interval']}, p adj. {row['p_adjusted']}, "
        f"{row['questions']} questions scored in all four arms: {row['verdict']}"
    )
    assert row["interaction_interval"].startswith("[")
    assert row["questions"] == "8"
    markdown = (project / "results/arms/kettle.md").read_text()
    assert f"- **{row['arm']}: " in markdown
    assert row["interaction_interval"] in markdown


def test_without_a_combined_arm_or_a_judge_no_interaction_is_printed(command: Command, project: Path) -> None:
    two_arms = (*FACTORIAL[:-1], f"baseline,{DOCS}", "--json")
    assert json.loads(command(*two_arms).out)["interactions"] == []
    unjudged = [argument for argument in FACTORIAL if argument != "--judge"]
    assert "interaction" not in command(*unjudged).out
