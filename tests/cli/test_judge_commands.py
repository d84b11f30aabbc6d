"""`judge add` and `judge list`: a new judge from the command line, and every judge that was ever one."""

import json
from pathlib import Path

import pytest

from evalplatform.project.load import load_project
from tests.cli.conftest import Command

THERE = '  there: {provider: openai-compatible, base_url: "http://127.0.0.1:9/v1"}'
STRICT = ("judge", "add", "strict", "--kind", "rubric", "--model", "grader", "--endpoint", "there")


@pytest.fixture
def file(project: Path) -> Path:
    file = project / "evalplatform.yaml"
    file.write_text(file.read_text().replace("  here: {provider: offline}", f"  here: {{provider: offline}}\n{THERE}"))
    return file


def test_a_judge_is_added_and_what_comes_next_is_said(command: Command, file: Path) -> None:
    ran = command(*STRICT, "--temperature", "0.5", "--seed", "7")
    judge = load_project(file).judge("strict")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "added judge strict to evalplatform.yaml, grading kettle",
        f"key: {judge.key}",
        f"prompt digest: {judge.prompt_digest}",
        "next: evalplatform backfill --judge strict",
    ]
    assert "  strict: {kind: rubric, model: grader, endpoint: there, sampling: {temperature: 0.5, seed: 7}}\n" in file.read_text()
    assert "    judges: [facts, strict]\n" in file.read_text()


def test_a_rubric_is_named_from_where_the_command_stands(command: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubrics = file.parent / "rubrics"
    rubrics.mkdir()
    (rubrics / "hard.md").write_text("Be hard.")
    monkeypatch.chdir(rubrics)
    added = json.loads(command(*STRICT, "--rubric", "hard.md", "--json").out)
    assert load_project(file).settings.judges["strict"].rubric == "rubrics/hard.md"
    assert (added["key"], added["suites"]) == (load_project(file).judge("strict").key, ["kettle"])
    assert Path(added["file"]) == file


def test_a_panel_is_added_with_its_roles(command: Command, file: Path) -> None:
    panel = ("judge", "add", "board", "--kind", "panel", "--model", "grader", "--endpoint", "there")
    assert command(*panel, "--role", "doc_reviewer", "--role", "technical_expert").code == 0
    assert load_project(file).settings.judges["board"].roles == ("doc_reviewer", "technical_expert")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("judge", "add", "facts", "--kind", "rubric", "--model", "m", "--endpoint", "there"), "judges.facts: is there already"),
        ((*STRICT[:4], "rubrik", *STRICT[5:]), "judges.strict.kind: unknown judge kind 'rubrik'"),
        ((*STRICT[:-1], "ther"), "Did you mean 'there'?"),
        ((*STRICT, "--suite", "kettel"), "--suite: unknown suite 'kettel' (known: kettle). Did you mean 'kettle'?"),
        ((*STRICT, "--rubric", "none.md"), "judges.strict.rubric: the text file 'none.md' cannot be read"),
        ((*STRICT, "--role", "sceptic"), "judges.strict.roles: are for the judge kind 'panel'"),
        (STRICT[:-2], "Missing option '--endpoint'"),
    ],
)
def test_what_cannot_be_added_is_said_and_the_file_stays(command: Command, file: Path, arguments: tuple[str, ...], said: str) -> None:
    before = file.read_bytes()
    ran = command(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert file.read_bytes() == before


def test_a_project_without_a_suite_may_have_judges(command: Command, file: Path) -> None:
    text = file.read_text()
    file.write_text(text[: text.index("suites:")])
    assert command(*STRICT).out.startswith("added judge strict to evalplatform.yaml, grading no suite yet")


def test_an_edited_rubric_is_listed_as_a_new_key_beside_the_old_one(command: Command, file: Path) -> None:
    rubric = file.parent / "rubric.md"
    rubric.write_text("Be strict.")
    assert command(*STRICT, "--rubric", "rubric.md").code == 0
    old = load_project(file).judge("strict")
    assert command("sync").code == 0
    rubric.write_text("Be lenient.")
    new = load_project(file).judge("strict")

    ran = command("judge", "list", "--json")
    assert ran.code == 0
    facts, current, retired = json.loads(ran.out)
    assert (facts["id"], facts["state"]) == ("facts", "current")
    assert [current[name] for name in ("id", "key", "state", "prompt_digest", "suites")] == [
        "strict", new.key, "current", new.prompt_digest, ["kettle"],
    ]  # fmt: skip
    assert [retired[name] for name in ("id", "key", "state", "prompt_digest", "cells_scored", "first_scored")] == [
        "strict", old.key, "retired", old.prompt_digest, 0, None,
    ]  # fmt: skip
    assert old.prompt_digest != new.prompt_digest


def test_what_a_judge_has_graded_is_counted_also_after_it_was_removed(command: Command, file: Path) -> None:
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    (facts,) = json.loads(command("judge", "list", "--json").out)
    assert facts["cells_scored"] == 1
    assert facts["first_scored"] is not None

    text = file.read_text().replace("facts: {kind: overlap", "checks: {kind: overlap").replace("judges: [facts]", "judges: [checks]")
    file.write_text(text)
    checks, gone = json.loads(command("judge", "list", "--json").out)
    assert (checks["id"], checks["state"], checks["cells_scored"]) == ("checks", "current", 0)
    assert gone == {**facts, "state": "retired"}
    for record in (file.parent / ".evalplatform/store/keys/judges").iterdir():
        record.unlink()  # as in a store from before keys were registered
    assert json.loads(command("judge", "list", "--json").out)[1] == gone
    lines = command("judge", "list").out.splitlines()
    assert lines[0].split()[:3] == ["Judge", "Key", "State"]
    assert lines[2].split()[:6] == ["facts", facts["key"], "retired", "overlap", "overlap", facts["prompt_digest"][:19]]


def test_a_project_without_a_judge_has_none_to_list(command: Command, file: Path) -> None:
    text = file.read_text()
    file.write_text(
        text.replace("  facts: {kind: overlap, model: overlap, endpoint: here}\n", "")
        .replace("judges:\n", "judges: {}\n")
        .replace("judges: [facts]", "judges: []")
    )
    assert command("judge", "list").code == 1
    assert command("judge", "list", "--json").out.strip() == "[]"
