"""Adding a judge to the project file: what is written, and what is refused with the file left as it was."""

import stat
from pathlib import Path
from typing import Any

import pytest

from evalplatform.kernel.errors import InputError, ProjectFileError, UnknownNameError
from evalplatform.project import add_judge as module
from evalplatform.project.add_judge import add_judge
from evalplatform.project.load import load_project
from tests.support.starter import edited, starter

OVERLAP = {"kind": "overlap", "model": "overlap", "endpoint": "here"}
RUBRIC: dict[str, Any] = {"kind": "rubric", "model": "gpt-large", "endpoint": "there", "sampling": {"temperature": 0}}
THERE = '  there: {provider: openai-compatible, base_url: "http://localhost:1/v1"}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return starter(tmp_path / "project", ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{THERE}"))


def add(file: Path, judge_id: str = "strict", declaration: dict[str, Any] | None = None, suites: list[str] | None = None) -> None:
    add_judge(load_project(file, environ={}), judge_id, declaration or RUBRIC, suites=suites)


def changed_lines(file: Path, before: str) -> list[str]:
    """The lines of the file that were not there before; every old line but those named as replaced is still there, in order."""
    import difflib

    return [line for line in difflib.ndiff(before.splitlines(), file.read_text().splitlines()) if line[0] in "+-"]


def test_one_line_is_added_for_the_judge_and_one_name_to_its_suite(file: Path) -> None:
    before = file.read_text()
    add(file)
    assert changed_lines(file, before) == [
        "+   strict: {kind: rubric, model: gpt-large, endpoint: there, sampling: {temperature: 0}}",
        "-     judges: [facts]",
        "+     judges: [facts, strict]",
    ]


def test_a_judge_is_written_in_the_form_of_the_one_before(file: Path) -> None:
    block = "facts:\n      kind: overlap\n      model: overlap  # keyless\n      endpoint: here"
    edited(file, ("facts: {kind: overlap, model: overlap, endpoint: here}", block), ("    judges: [facts]", "    judges:\n    -  facts"))
    before = file.read_text()
    add(file)
    assert changed_lines(file, before) == [
        "+   strict:",
        "+       kind: rubric",
        "+       model: gpt-large",
        "+       endpoint: there",
        "+       sampling: {temperature: 0}",
        "+     -  strict",
    ]


def test_without_judges_a_section_is_made_behind_the_cells(file: Path) -> None:
    section = "judges:\n  # Who grades. `overlap` counts the expected facts that an answer states; kind `rubric` asks a model.\n"
    edited(file, (f"{section}  facts: {{kind: overlap, model: overlap, endpoint: here}}\n\n", ""), ("    judges: [facts]", "    draws: 1"))
    before = file.read_text()
    add(file)
    assert changed_lines(file, before) == [
        "+ judges:",
        "+   strict: {kind: rubric, model: gpt-large, endpoint: there, sampling: {temperature: 0}}",
        "+ ",
        "+     judges: [strict]",
    ]
    assert "\n\njudges:\n" in file.read_text()
    assert load_project(file, environ={}).suite("kettle").judges == ("strict",)


@pytest.mark.parametrize("bare", ["judges:\n", "judges:  # nobody yet\n", "judges:\n\n  # Who grades.\n"])
def test_a_section_that_is_still_empty_gets_its_first_judge(file: Path, bare: str) -> None:
    section = "judges:\n  # Who grades. `overlap` counts the expected facts that an answer states; kind `rubric` asks a model.\n"
    facts = "  facts: {kind: overlap, model: overlap, endpoint: here}\n"
    edited(file, (section + facts, bare), ("    judges: [facts]", "    draws: 1"))
    before = file.read_text()
    add(file)
    assert changed_lines(file, before) == [
        "+   strict: {kind: rubric, model: gpt-large, endpoint: there, sampling: {temperature: 0}}",
        "+     judges: [strict]",
    ]
    assert load_project(file, environ={}).suite("kettle").judges == ("strict",)


def test_a_section_that_is_said_to_be_null_is_left_to_its_writer(file: Path) -> None:
    section = "judges:\n  # Who grades. `overlap` counts the expected facts that an answer states; kind `rubric` asks a model.\n"
    facts = "  facts: {kind: overlap, model: overlap, endpoint: here}\n"
    edited(file, (section + facts, "judges: null\n"), ("    judges: [facts]", "    draws: 1"))
    before = file.read_bytes()
    with pytest.raises(ProjectFileError, match=r"add `strict: .*` under `judges` yourself"):
        add(file)
    assert file.read_bytes() == before


def test_a_file_written_as_json_stays_json(file: Path) -> None:
    import json

    from evalplatform.project.yaml_file import plain, read_yaml_mapping

    file.write_text(json.dumps(plain(read_yaml_mapping(file)), indent=2) + "\n")
    add(file)
    assert json.loads(file.read_text())["judges"]["strict"] == RUBRIC
    assert json.loads(file.read_text())["suites"]["kettle"]["judges"] == ["facts", "strict"]


def test_a_judge_that_is_there_is_never_edited(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(
        ProjectFileError, match=r"evalplatform.yaml:\d+: judges.facts: is there already, and `judge add` never edits a judge"
    ):
        add(file, "facts")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("judge_id", "declaration", "said"),
    [
        ("strict", {**RUBRIC, "kind": "rubrik"}, "judges.strict.kind: unknown judge kind 'rubrik'"),
        ("strict", {**RUBRIC, "endpoint": "ther"}, "Did you mean 'there'?"),
        ("strict", {**RUBRIC, "rubric": "missing.md"}, "judges.strict.rubric: the text file 'missing.md' cannot be read"),
        ("strict", {**RUBRIC, "model": ""}, "judges.strict.model: is empty."),
        ("Strict One", RUBRIC, "'Strict One' cannot be a judge id"),
        ("strict", {**RUBRIC, "model": "caf\udce9"}, "judges.strict.model: must be a valid string"),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_file_is_touched(
    file: Path, judge_id: str, declaration: dict[str, Any], said: str
) -> None:
    before = file.read_bytes()
    with pytest.raises(InputError) as refused:
        add(file, judge_id, declaration)
    assert said in str(refused.value)
    assert ".tmp" not in str(refused.value)
    assert file.read_bytes() == before
    assert not list(file.parent.glob(".*.tmp"))


def two_suites(file: Path, judges: str, others: str) -> Path:
    second = "  steam:\n    product: kettle\n    questions: questions.json\n    arms: [baseline]\n    cells: [reader]\n"
    return edited(file, ("    judges: [facts]", f"    judges: {judges}\n{second}    judges: {others}"))


def test_of_several_suites_those_that_are_meant_have_to_be_named(file: Path) -> None:
    two_suites(file, "[facts]", "[]")
    with pytest.raises(InputError, match="--suite: say which of the suites the judge is to grade: kettle, steam"):
        add(file)
    with pytest.raises(UnknownNameError, match="--suite: unknown suite 'steem'"):
        add(file, suites=["steem"])
    add(file, suites=["steam", "steam"])
    project = load_project(file, environ={})
    assert (project.suite("kettle").judges, project.suite("steam").judges) == (("facts",), ("strict",))
    add(file, "milder", suites=["kettle", "steam"])
    project = load_project(file, environ={})
    assert (project.suite("kettle").judges, project.suite("steam").judges) == (("facts", "milder"), ("strict", "milder"))


def test_a_list_that_two_suites_share_is_added_to_for_both_or_not_at_all(file: Path) -> None:
    two_suites(file, "&graders [facts]", "*graders")
    before = file.read_bytes()
    with pytest.raises(ProjectFileError, match=r"add `strict: \{kind: rubric, .*\}` under `judges` yourself, and 'strict' to the suites"):
        add(file, suites=["steam"])
    assert file.read_bytes() == before
    add(file, suites=["steam", "kettle"])
    assert b"judges: &graders [facts, strict]" in file.read_bytes()


def test_an_edit_by_somebody_else_meanwhile_is_not_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = module._check

    def edited_meanwhile(*arguments: Any) -> None:
        check(*arguments)
        file.write_text(file.read_text() + "# theirs\n")

    monkeypatch.setattr(module, "_check", edited_meanwhile)
    with pytest.raises(ProjectFileError, match="was edited meanwhile; nothing was written"):
        add(file)
    assert file.read_text().endswith("# theirs\n")
    assert "strict" not in file.read_text()


def test_the_file_keeps_its_mode_and_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    link = tmp_path / "linked.yaml"
    link.symlink_to(file)
    add(link)
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert "strict" in file.read_text()
