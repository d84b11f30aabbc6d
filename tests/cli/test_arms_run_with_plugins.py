"""`arms run --plugins`: what is asked once for several cells, what the judge sees, what is written and what is refused."""

import json
from pathlib import Path

import pytest

from evalplatform.plugins.kinds.caveman import INSTRUCTIONS
from evalplatform.reports.arms_v1_file import read_arms_v1
from tests.cli.conftest import Command
from tests.support.matrix_project import ARMS, calls_by_model, write_matrix_project
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter import edited

QUESTIONS = 3
PROMPTS = QUESTIONS * len(ARMS)
RUN = ("arms", "run", "--suite", "kettle", "--judge", "--out-json", "out.json", "--out-md", "out.md")


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "matrix"
    monkeypatch.chdir(tmp_path)
    return folder


def written(folder: Path, name: str = "out.json") -> dict:  # type: ignore[type-arg]
    return json.loads((folder / name).read_text())


def judged_prompts(stub: ModelStub) -> list[str]:
    return [body["messages"][-1]["content"] for body in stub.bodies() if body["model"] == "grader"]


def test_a_cell_that_only_cuts_answers_pays_for_none_and_the_judge_sees_them_cut(
    command: Command, matrix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_stub() as stub:
        write_matrix_project(matrix, stub.url, questions=QUESTIONS)
        monkeypatch.chdir(matrix)
        assert command(*RUN, "--cell", "small-plain").code == 0
        plain = written(matrix)
        assert calls_by_model(stub) == {"small": PROMPTS, "grader": PROMPTS}
        planned = command("plan", "--suite", "kettle", "--json")
        assert command(*RUN, "--cell", "small-cut").code == 0
        cut = written(matrix)
        assert calls_by_model(stub) == {"small": PROMPTS, "grader": 2 * PROMPTS}
    (suite,) = json.loads(planned.out)
    by_cell = {calls["who"]: calls for calls in suite["answers"]}
    assert (by_cell["small-cut"]["calls"], by_cell["small-cut"]["finished"]) == (PROMPTS, PROMPTS)
    assert (by_cell["small-full"]["calls"], by_cell["small-full"]["finished"]) == (PROMPTS, 0)
    for before, after in zip(plain["answers"], cut["answers"], strict=True):
        for arm in plain["arms"]:
            whole, seen = before["arms"][arm], after["arms"][arm]
            assert seen["raw_answer"] == whole["answer"]
            assert seen["answer"] == whole["answer"][:79] + "…"
            assert seen["token_usage"] == whole["token_usage"]
            assert (seen["metrics"]["raw_answer_chars"], seen["metrics"]["final_answer_chars"]) == (len(whole["answer"]), 80)
            assert (whole["metrics"]["raw_answer_chars"], whole["raw_answer"]) == (len(whole["answer"]), None)
            assert any(seen["answer"] in prompt and whole["answer"] not in prompt for prompt in judged_prompts(stub))
    assert cut["cost_summary"]["baseline"]["total_tokens"] == plain["cost_summary"]["baseline"]["total_tokens"]


def test_a_plan_of_judgements_counts_the_answers_that_a_judge_would_see(
    command: Command, matrix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_stub() as stub:
        write_matrix_project(matrix, stub.url, questions=QUESTIONS)
        monkeypatch.chdir(matrix)
        assert command(*RUN, "--cell", "small-cut").code == 0
        (suite,) = json.loads(command("plan", "--suite", "kettle", "--json").out)
    by_cell = {calls["who"]: calls for calls in suite["judgements"]}
    assert by_cell["rubric of small-cut"]["finished"] == PROMPTS
    # The answers of the plain cell are known, but not as this judge would grade them.
    assert by_cell["rubric of small-plain"]["finished"] == 0


def test_flags_make_a_cell_with_plugins_and_its_file_stamps_them(command: Command, matrix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_stub() as stub:
        write_matrix_project(matrix, stub.url, questions=QUESTIONS)
        monkeypatch.chdir(matrix)
        ran = command(*RUN, "--cell", "small-plain", "--plugins", "plugin:caveman:lite, truncate:80")
        systems = {body["messages"][0]["content"] for body in stub.bodies() if body["model"] == "small"}
    assert (ran.code, systems) == (0, {INSTRUCTIONS["lite"]})
    file = read_arms_v1(matrix / "out.json")
    assert file.plugin_set == "caveman:lite+truncate:80"
    assert [(stamp["id"], stamp["ref"], stamp["kind"], stamp["version"]) for stamp in file.plugins] == [
        ("caveman", "plugin:caveman:lite", "prompt_middleware", "0.1.0"),
        ("truncate", "plugin:truncate:80", "output_shaper", "0.1.0"),
    ]
    raw = written(matrix)
    assert raw["cell"] == "small|arms-runner|caveman:lite+truncate:80"
    records = [record for row in raw["answers"] for record in row["arms"].values()]
    assert {record["plugin_set_id"] for record in records} == {file.plugin_set_id} == {raw["plugin_set_id"]}
    assert all(record["used_system_prompt"] and record["metadata"]["system_prompt_extended_by_plugins"] for record in records)
    report = (matrix / "out.md").read_text()
    assert "caveman:lite+truncate:80" in report
    assert f"changed {PROMPTS} of {PROMPTS} answers. Points are of what a user would see" in report


def test_flags_can_take_a_cells_plugins_away(command: Command, project: Path) -> None:
    edited(project / "evalplatform.yaml", ("reader: {model", "reader: {plugins: [truncate:20], model"))
    assert command("arms", "run", "--suite", "kettle", "--out-json", "a.json").code == 0
    assert command("arms", "run", "--suite", "kettle", "--plugins", "", "--out-json", "b.json").code == 0
    assert command("arms", "run", "--suite", "kettle", "--temperature", "0.5", "--out-json", "c.json").code == 0
    assert [written(project, name)["plugin_set"] for name in ("a.json", "b.json", "c.json")] == ["truncate:20", "none", "truncate:20"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ("--plugins", "truncate,cavman"),
            "--plugins: plugin 'cavman': unknown plugin 'cavman' (known: caveman, truncate). Did you mean 'caveman'?",
        ),
        (("--plugins", "truncate:none"), "--plugins: plugin 'truncate:none': 'none' is no number of characters"),
        (
            ("--plugins", "caveman,caveman:lite"),
            "the plugin 'caveman' stands in the set twice (caveman:full and caveman:lite); name it once.",
        ),
        (("--plugins", "caveman", "--harness", "agents"), "--harness: 'agents' cannot run the plugin set caveman:full; with plugins, use "),
    ],
)
def test_wrong_plugins_are_refused_before_anything_is_asked(command: Command, project: Path, flags: tuple[str, ...], sentence: str) -> None:
    ran = command("arms", "run", "--suite", "kettle", *flags)
    assert ran.code == 2
    assert sentence in ran.err
    assert not (project / "results").exists()
    assert not (project / ".evalplatform/store").exists()
