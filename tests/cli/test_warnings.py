"""What is odd about questions and treatment files is said by `plan`, by every `arms run`, and once in its report."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

QUESTIONS = [{"id": "q", "question": "How do I boil water?"}]
FLAGS = ("--suite", "kettle", "--arms", "baseline,skill:skills/odd,docs:local:docs+skill:skills/odd")
OF_THE_SKILL = "skills/odd/SKILL.md: byte-order-mark (loading): the file begins with a byte order mark; it is dropped."


def odd(project: Path, *, mark: str = "\ufeff") -> None:
    (project / "skills/odd").mkdir(exist_ok=True)
    (project / "skills/odd/SKILL.md").write_text(f"{mark}---\nname: odd\ndescription: d\n---\nBoil it.", encoding="utf-8")


def warned(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("warning: ")]


def test_a_run_says_every_warning_also_when_nothing_changed_and_the_report_says_it_once(command: Command, project: Path) -> None:
    odd(project)
    (project / "questions.json").write_text(json.dumps(QUESTIONS))
    first, second = command("arms", "run", *FLAGS), command("arms", "run", *FLAGS, "--json")
    assert (first.code, second.code) == (0, 0)
    of_questions, of_skill = warned(first.err)
    assert "bare list" in of_questions
    assert of_skill == f"warning: {OF_THE_SKILL}"
    assert "nothing changed" in command("arms", "run", *FLAGS).err
    assert warned(second.err) == [of_questions, of_skill]
    assert [f"warning: {text}" for text in json.loads(second.out)["warnings"]] == [of_questions, of_skill]
    report = (project / "results/arms/kettle.md").read_text().replace("\\", "")
    assert [report.count(line.removeprefix("warning: ")) for line in (of_questions, of_skill)] == [1, 1]


def test_what_was_mended_is_no_longer_warned_of_and_nothing_is_asked_again(command: Command, project: Path) -> None:
    odd(project)
    assert warned(command("arms", "run", *FLAGS).err) == [f"warning: {OF_THE_SKILL}"]
    odd(project, mark="")
    mended = command("arms", "run", *FLAGS)
    assert warned(mended.err) == []
    assert "0 model calls" in mended.err
    assert mended.code == 0


def test_a_plan_says_what_is_odd_about_a_skill(command: Command, project: Path) -> None:
    odd(project)
    file = project / "evalplatform.yaml"
    file.write_text(file.read_text().replace("skill:skills/use-kettle", "skill:skills/odd"))
    planned = command("plan", "--suite", "kettle")
    assert planned.code == 0, planned.err
    assert warned(planned.out) == [f"warning: {OF_THE_SKILL}"]


def test_a_skill_whose_name_would_break_a_report_is_refused_by_name(command: Command, project: Path) -> None:
    odd(project)
    (project / "skills/odd/SKILL.md").write_text("---\nname: a|b, c/d\ndescription: d\n---\nBoil it.")
    ran = command("arms", "run", *FLAGS)
    assert (ran.code, ran.out) == (2, "")
    assert "skills/odd/SKILL.md: name: the name 'a|b, c/d' holds '|'" in ran.err


@pytest.mark.parametrize(
    "arguments", [("arms", "run", "--suite", "kettle"), ("plan", "--suite", "kettle", "--json"), ("assets", "list")], ids=" ".join
)
def test_a_misspelt_variable_is_said_once_by_whatever_opens_the_project(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("EVALPLATFORM_STORGE", "s3://bucket")
    monkeypatch.setenv("EVALPLATFORM_SOAK", "0")  # of this repository's tests
    assert warned(command(*arguments).err) == [
        "warning: EVALPLATFORM_STORGE is set, and nothing reads it. Did you mean EVALPLATFORM_STORAGE?"
    ]


@pytest.mark.parametrize(
    ("storage", "meant"),
    [("s3//nope", "s3://nope"), ("s3:/nope/a", "s3://nope/a"), ("s3:nope", "s3://nope"), ("file//tmp/a", "file:///tmp/a")],
)
def test_a_storage_that_begins_like_a_url_and_is_none_is_refused_and_makes_no_folder(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, storage: str, meant: str
) -> None:
    monkeypatch.setenv("EVALPLATFORM_STORAGE", storage)
    ran = command("arms", "run", "--suite", "kettle")
    assert (ran.code, ran.out) == (2, "")
    assert f"storage: {storage!r} begins like a URL and is none." in ran.err
    assert f"Did you mean {meant!r}?" in ran.err
    assert [*project.glob("s3*"), *project.glob("file*")] == []
