"""`evalplatform arms plugin-delta`: two arms.v1 files in; numbers, or every reason why there are none."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalplatform.reports.plugin_delta_v1 import read_plugin_delta
from tests.cli.conftest import Command

CASES = Path(__file__).parents[1] / "cases" / "treatment-arms"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The control's file and that of the cell with plugins."""
    paths = tmp_path / "plain.json", tmp_path / "caveman.json"
    for side, path in zip("ab", paths, strict=True):
        shutil.copy(CASES / f"D01_n20_{side}" / "arms.json", path)
    return paths


def edit(path: Path, **stamps: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **stamps}))


def test_a_delta_is_printed_and_written_where_the_formats_tool_writes_it(command: Command, files: tuple[Path, Path]) -> None:
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1])
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Synth: caveman:full against none (caveman minus plain: one cell, run with and without, everything else equal)",
        (
            "baseline: no difference with caveman:full shown: -2.7 points, 95% interval [-9.6, +4.2], 20 pairs; adjusted p 0.8558, "
            "Wilcoxon p 0.5628."
        ),
        (
            "docs: no difference with caveman:full shown: -4.7 points, 95% interval [-12.5, +3.2], 20 pairs; adjusted p 0.6824, "
            "Wilcoxon p 0.2943."
        ),
        (
            "skill:x: no difference with caveman:full shown: +2.2 points, 95% interval [-4.4, +8.8], 20 pairs; adjusted p 0.8558, "
            "Wilcoxon p 0.4665."
        ),
    ]
    assert "warning: Some answers have no known price" in ran.err
    assert read_plugin_delta("results/arms/plugin_delta.json").score_deltas["docs"].aggregate_delta == -4.65
    assert Path("results/arms/plugin_delta.md").read_text().startswith("# Synth: caveman:full against none\n")


def test_the_html_report_is_written_where_it_is_asked_for(command: Command, files: tuple[Path, Path]) -> None:
    places = ("--out-json", "out/d.json", "--out-md", "out/d.md", "--out-html", "out/d.html")
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1], *places, "--stats-correction", "bh")
    assert ran.code == 0
    assert "<svg" in Path("out/d.html").read_text()
    assert read_plugin_delta("out/d.json").correction == "bh"
    assert not Path("results").exists()


def test_json_holds_the_delta_and_the_files(command: Command, files: tuple[Path, Path]) -> None:
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1], "--json")
    result = json.loads(ran.out)
    assert result["delta"] == json.loads(Path(result["files"][0]).read_text())
    assert result["refusals"] == []


def test_a_refused_delta_names_every_reason_and_writes_nothing(command: Command, files: tuple[Path, Path]) -> None:
    edit(files[1], model="m-2", judge_temperature=0.5)
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1])
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "error: The runs differ in model: plain says m-1; caveman says m-2.",
        "error: The runs differ in judge temperature: plain says nothing of it; caveman says 0.5.",
        "No delta was computed, and nothing was written.",
    ]
    assert not Path("results").exists()


def test_refusals_are_values_in_json_and_an_earlier_result_is_pointed_out(command: Command, files: tuple[Path, Path]) -> None:
    command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1])
    before = Path("results/arms/plugin_delta.json").read_bytes()
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[0], "--json")
    assert ran.code == 2
    (refusal,) = json.loads(ran.out)["refusals"]
    assert (refusal["reason"], refusal["labels"]) == ("same_plugin_set", ["none", "none"])
    assert refusal["sentence"] == "plain and plain have the same plugin set, none: there is no plugin to measure."
    assert "results/arms/plugin_delta.json is of an earlier comparison and stays as it is." in ran.err
    assert Path("results/arms/plugin_delta.json").read_bytes() == before


def test_too_few_pairs_answer_nothing_though_what_there_is_is_written(command: Command, files: tuple[Path, Path]) -> None:
    data = json.loads(files[1].read_text())
    for evaluation in data["evaluations"][:3]:
        evaluation["scores"]["docs"] = None
    edit(files[1], evaluations=data["evaluations"])
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1])
    assert ran.code == 2
    last = ran.err.splitlines()[-1]
    assert last.startswith("error: docs was scored in both runs for 17 of 20 questions (85.0%, 95.0% needed)")
    assert read_plugin_delta("results/arms/plugin_delta.json").coverage_rate == 0.85


def test_files_of_one_name_are_told_apart_by_their_folders(command: Command, tmp_path: Path) -> None:
    for side in "ab":
        (tmp_path / side).mkdir()
        shutil.copy(CASES / f"D01_n20_{side}" / "arms.json", tmp_path / side / "arms.json")
    ran = command("arms", "plugin-delta", "--baseline-json", "a/arms.json", "--plugin-json", "b/arms.json")
    assert "(b/arms minus a/arms: " in ran.out


def test_a_file_that_cannot_be_used_is_named(command: Command, files: tuple[Path, Path]) -> None:
    missing = command("arms", "plugin-delta", "--baseline-json", "none.json", "--plugin-json", files[1])
    assert (missing.code, missing.err) == (2, "error: none.json: cannot be read: No such file or directory.\n")
    edit(files[0], answers={})
    broken = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1])
    assert broken.code == 2
    assert f"error: {files[0]}: answers: " in broken.err


def test_two_reports_in_one_place_are_refused_before_anything_is_written(command: Command, files: tuple[Path, Path]) -> None:
    places = ("--out-json", "d.json", "--out-md", "d.json")
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1], *places)
    assert (ran.code, ran.err) == (2, "error: d.json: --out-md: names the file that --out-json names.\n")
    assert not Path("d.json").exists()


@pytest.mark.parametrize("option", ["--out-json", "--out-md", "--out-html"])
def test_no_form_of_a_delta_takes_the_place_of_a_run(command: Command, files: tuple[Path, Path], tmp_path: Path, option: str) -> None:
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    before = [path.read_bytes() for path in files]
    for place in (files[0], Path("linked") / files[1].name):
        ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1], option, place)
        assert (ran.code, ran.out) == (2, "")
        assert f"{place}: {option}: is one of the files that are read, and is not overwritten" in ran.err
    assert [path.read_bytes() for path in files] == before
    assert not Path("results").exists()


def test_beside_a_project_results_stand_in_its_folder(
    command: Command, project: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    below = project / "docs" / "deep"
    below.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(below)
    assert command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1]).code == 0
    assert (project / "results" / "arms" / "plugin_delta.json").is_file()


def test_a_misspelt_correction_is_answered_with_those_there_are(command: Command, files: tuple[Path, Path]) -> None:
    ran = command("arms", "plugin-delta", "--baseline-json", files[0], "--plugin-json", files[1], "--stats-correction", "holms")
    assert ran.code == 2
    assert "holm" in ran.err
    assert "bh" in ran.err
