"""`evalplatform report model-compare`: files in, one report out, or nothing and every reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalplatform.cli.many_values import with_names
from tests.cli.conftest import Command
from tests.support.model_runs import BETTER, TWO_ARMS, run_file

COMPARE = ("report", "model-compare")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {
        "a": run_file(tmp_path, "a"),
        "b": run_file(tmp_path, "b", BETTER),
        "teapot": run_file(tmp_path, "teapot", library_name="Teapot"),
        "three": run_file(tmp_path, "three", {**TWO_ARMS, "skill:x": [61.0] * 8}),
    }


def test_several_files_after_one_option_make_one_report_of_both_sections(command: Command, files: dict[str, Path], tmp_path: Path) -> None:
    a, b = files["a"], files["b"]
    places = ("--out", "out/c.md", "--out-html", "out/c.html", "--out-json", "out/c.json")
    ran = command(*COMPARE, "--regular-runs", a, b, "--golden-runs", b, a, "--run-ids", "x, y", *places)
    assert (ran.code, ran.out.splitlines()) == (0, ["wrote out/c.md", "wrote out/c.html", "wrote out/c.json"])
    text = (tmp_path / "out/c.md").read_text()
    assert "| x | a-model |" in text.split("## Golden")[0]
    assert "| x | b-model |" in text.split("## Golden", 1)[1]
    assert "Golden: Ranking by points of docs" in (tmp_path / "out/c.html").read_text()
    data = json.loads((tmp_path / "out/c.json").read_text())
    assert [row["model"] for row in data["golden"]["runs"]] == ["b-model", "a-model"]


def test_repeated_options_and_values_after_an_equals_sign_mean_the_same(command: Command, files: dict[str, Path], tmp_path: Path) -> None:
    spellings = [
        ("--regular-runs", files["a"], files["b"]),
        ("--regular-runs", files["a"], "--regular-runs", files["b"]),
        (f"--regular-runs={files['a']}", files["b"]),
    ]
    texts = set()
    for spelling in spellings:
        assert command(*COMPARE, *spelling, "--run-ids", "x,y", "--out", "c.md").code == 0
        texts.add((tmp_path / "c.md").read_text())
    assert len(texts) == 1


def test_a_value_after_another_option_is_not_taken_for_a_file() -> None:
    assert list(with_names(["x", "--runs", "a", "b", "--flag", "c", "--runs=d", "e"], ["--runs"])) == [
        *("x", "--runs", "a", "--runs", "b", "--flag", "c", "--runs=d", "--runs", "e")
    ]


def test_refused_runs_are_exit_code_2_with_the_sentence_and_nothing_is_written(
    command: Command, files: dict[str, Path], tmp_path: Path
) -> None:
    places = ("--out", "c.md", "--out-html", "c.html", "--out-json", "c.json")
    runs = ("--regular-runs", files["a"], files["b"], "--golden-runs", files["a"], files["teapot"])
    ran = command(*COMPARE, *runs, "--run-ids", "x,y", *places)
    assert ran.code == 2
    assert "error: golden: The runs differ in library: x says Kettle; y says Teapot." in ran.err
    assert ran.err.splitlines()[-1] == "error: the runs were not compared, and nothing was written."
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("c.")]


def test_json_prints_numbers_or_refusals_and_nothing_else(command: Command, files: dict[str, Path]) -> None:
    made = command(*COMPARE, "--regular-runs", files["a"], files["b"], "--run-ids", "x,y", "--out", "c.md", "--json")
    assert made.code == 0
    assert json.loads(made.out)["regular"]["treatment_arm"] == "docs"
    refused = command(*COMPARE, "--regular-runs", files["a"], files["teapot"], "--run-ids", "x,y", "--out", "d.md", "--json")
    assert refused.code == 2
    assert json.loads(refused.out)["regular"]["refusals"][0]["factor"] == "library_name"


def test_options_reach_the_comparison(command: Command, files: dict[str, Path], tmp_path: Path) -> None:
    unpinned = command(*COMPARE, "--regular-runs", files["three"], "--run-ids", "x", "--out", "c.md")
    assert (unpinned.code, "--treatment-arm" in unpinned.err) == (2, True)
    pinned = command(*COMPARE, "--regular-runs", files["three"], "--run-ids", "x", "--out", "c.md", "--treatment-arm", "baseline")
    assert "error: --treatment-arm: 'baseline' is the baseline arm; name an arm that is compared with it." in pinned.err
    assert command(*COMPARE, "--regular-runs", files["three"], "--run-ids", "x", "--out", "c.md", "--treatment-arm", "skill:x").code == 0
    assert "# Model comparison of skill:x" in (tmp_path / "c.md").read_text()
    again = run_file(tmp_path, "again", model="a-model")
    twice = (*COMPARE, "--regular-runs", files["a"], again, "--run-ids", "r1,r2", "--out", "d.md", "--stats-correction", "bh")
    assert "--pool-replicates" in command(*twice).err
    assert command(*twice, "--pool-replicates").code == 0
    assert "r[n=2]" in (tmp_path / "d.md").read_text()
    assert "Benjamini-Hochberg" in (tmp_path / "d.md").read_text()


@pytest.mark.parametrize(
    ("ids", "files_given", "said"),
    [
        ("x,", ["a.json", "b.json"], "--run-ids: a run id must not be empty"),
        ("x,x", ["a.json", "b.json"], "--run-ids: 'x' is there twice"),
        ("x,y", [], "--regular-runs: name the files of some runs with --regular-runs or --golden-runs."),
        ("x,y", ["a.json"], "--regular-runs: 1 file for 2 run ids (x, y); each run has one file."),
        ("x", ["missing.json"], "missing.json: cannot be read: No such file or directory."),
        ("x", ["broken.json"], "broken.json:1: is not JSON"),
    ],
)
def test_what_cannot_be_read_as_asked_is_said(
    command: Command, files: dict[str, Path], tmp_path: Path, ids: str, files_given: list[str], said: str
) -> None:
    (tmp_path / "broken.json").write_text("{")
    runs = ("--regular-runs", *files_given) if files_given else ()
    ran = command(*COMPARE, *runs, "--run-ids", ids, "--out", "c.md")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not (tmp_path / "c.md").exists()


def test_a_report_that_has_no_place_to_go_is_said_before_any_is_written(command: Command, files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ran = command(*COMPARE, "--regular-runs", files["a"], "--run-ids", "x", "--out", "c.md", "--out-html", "folder")
    assert (ran.code, (tmp_path / "c.md").exists()) == (2, False)
    assert "--out-html" in ran.err


def test_no_report_takes_the_place_of_another_or_of_a_file_that_is_read(command: Command, files: dict[str, Path]) -> None:
    before = files["a"].read_bytes()
    runs = (*COMPARE, "--regular-runs", files["a"], "--run-ids", "x")
    Path("latest.json").symlink_to("a.json")
    for place in ("a.json", "latest.json"):
        assert "--out: is one of the files that are read" in command(*runs, "--out", place).err
    assert "--out-json: names the file that --out names" in command(*runs, "--out", "c.md", "--out-json", "./c.md").err
    assert files["a"].read_bytes() == before


def test_too_few_points_are_exit_code_2_and_a_report_that_says_so(command: Command, files: dict[str, Path], tmp_path: Path) -> None:
    few = run_file(tmp_path, "few", {**TWO_ARMS, "docs": [70.0, *[None] * 7]})
    ran = command(*COMPARE, "--regular-runs", files["a"], few, "--run-ids", "x,y", "--out", "c.md")
    assert (ran.code, ran.out) == (2, "wrote c.md\n")
    assert "error: regular: y has points in baseline and docs for 1 of 8 questions" in ran.err
    assert "not ranked" in (tmp_path / "c.md").read_text()


def test_runs_that_nobody_judged_are_exit_code_2(command: Command, tmp_path: Path) -> None:
    stamps: dict[str, Any] = {"evaluations": None, "judge_model": None, "judge_provider": None, "judge_context": None}
    files = [run_file(tmp_path, name, TWO_ARMS, **stamps) for name in ("u", "v")]
    ran = command(*COMPARE, "--regular-runs", *files, "--run-ids", "x,y", "--out", "c.md")
    assert ran.code == 2
    assert "error: regular: Nobody judged these runs" in ran.err


def test_one_run_id_for_two_models_is_warned_of(command: Command, files: dict[str, Path]) -> None:
    ran = command(*COMPARE, "--regular-runs", files["a"], "--golden-runs", files["b"], "--run-ids", "x", "--out", "c.md")
    assert ran.code == 0
    assert "warning: The run id x does not stand for the same in every section" in ran.err
