"""`arms matrix-run`: what is asked and how often, what is written, what is refused before anything is paid, and how a cell fails."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalplatform.cli.main import exit_code
from evalplatform.reports.arms_v1_file import read_arms_v1
from evalplatform.reports.matrix_rollup_v1 import read_matrix_rollup
from evalplatform.reports.plugin_delta_v1 import read_plugin_delta
from tests.cli.conftest import Command
from tests.support.command_line import ended, started, wait_until
from tests.support.matrix_project import (
    ARMS,
    CELLS,
    CONCURRENCY,
    QUESTIONS,
    SUITE,
    calls_by_model,
    distinct_calls,
    matrix_cells,
    write_matrix_project,
)
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter import edited

OUT = Path("results/arms/kettle-matrix")
RUN = ("arms", "matrix-run", "--suite", SUITE, "--judge")
PROMPTS = QUESTIONS * len(ARMS)


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


@pytest.fixture
def matrix(stub: ModelStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the matrix project, which is the working folder too."""
    folder = write_matrix_project(tmp_path / "matrix", stub.url)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, int]]]:
    """A matrix that was run once from its file: its folder, and what the stub was asked."""
    with running_stub() as stub:
        folder = write_matrix_project(tmp_path_factory.mktemp("whole") / "matrix", stub.url)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            assert exit_code([*RUN, "--matrix-cells", "matrix.json"]) == 0
        yield folder, calls_by_model(stub)


def with_cells(folder: Path, *cells: dict[str, object]) -> None:
    (folder / "matrix.json").write_text(json.dumps({"cells": cells}))


def cell(name: str, **changes: object) -> dict[str, object]:
    return {"id": name, "model": "small", "provider": "stub", "harness": "arms-runner", **changes}


def test_what_cells_ask_alike_is_asked_once(whole: tuple[Path, dict[str, int]]) -> None:
    assert whole[1] == distinct_calls()
    # Without sharing, every one of the eight cells would have asked for itself.
    assert sum(whole[1].values()) == PROMPTS * 10 < PROMPTS * len(CELLS) * 2


def test_a_plan_counts_once_what_cells_ask_alike(command: Command, stub: ModelStub, matrix: Path) -> None:
    (plan,) = json.loads(command("plan", "--suite", SUITE, "--json").out)
    to_ask = [sum(one["calls"] - one["finished"] - one["shared"] for one in plan[stage]) for stage in ("answers", "judgements")]
    # Which answers are equal, nobody knows before they are given: a plan has every cell's own for the judge.
    assert to_ask == [distinct_calls()["small"] + distinct_calls()["large"], PROMPTS * len(CELLS)]
    assert stub.requests == 0
    told = command("plan", "--suite", SUITE).out
    assert f"answers small-cut: {PROMPTS} calls, 0 finished, {PROMPTS} shared with what is asked above, 0 to ask; about 0 prompt" in told


def test_every_cell_has_its_report_and_says_which_cell_it_is(whole: tuple[Path, dict[str, int]]) -> None:
    folder = whole[0] / OUT / "cells"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{name}{end}" for name in CELLS for end in (".csv", ".html", ".json", ".md")
    )
    for declared in matrix_cells():
        path = folder / f"{declared['id']}.json"
        stamped = json.loads(path.read_text())
        assert stamped["matrix_cell"] == declared["id"]
        assert (stamped["model"], stamped["plugin_set"]) == (declared["model"], "+".join(declared["plugins"]) or "none")  # type: ignore[arg-type]
        assert read_arms_v1(path).total_questions == QUESTIONS


def test_the_rollup_names_every_cell_and_every_delta_and_its_files_are_there(whole: tuple[Path, dict[str, int]]) -> None:
    folder = whole[0] / OUT
    rollup = read_matrix_rollup(folder / "matrix-rollup.json")
    assert [one.matrix_cell for one in rollup.cells] == list(CELLS)
    assert rollup.total_cells == len(CELLS)
    pairs = [(f"{model}-plain", f"{model}-{name}") for model in ("small", "large") for name in ("full", "ultra", "cut")]
    assert [(delta.baseline_cell, delta.plugin_cell) for delta in rollup.plugin_deltas] == pairs
    assert rollup.warnings == ()
    for one in rollup.cells:
        assert json.loads((folder / one.artifact).read_text())["summary"] == one.summary
    for delta in rollup.plugin_deltas:
        assert read_plugin_delta(folder / delta.artifact).score_deltas == delta.score_deltas
        assert all((folder / delta.artifact).with_suffix(end).is_file() for end in (".md", ".html"))
    assert (folder / "matrix-rollup.html").read_text().startswith("<!DOCTYPE html>")


def test_deltas_are_those_of_the_two_cells_files(whole: tuple[Path, dict[str, int]], tmp_path: Path) -> None:
    folder = whole[0] / OUT
    for delta in read_matrix_rollup(folder / "matrix-rollup.json").plugin_deltas[:3]:
        before, after = (str(folder / "cells" / f"{name}.json") for name in (delta.baseline_cell, delta.plugin_cell))
        again = tmp_path / delta.artifact
        assert exit_code(["arms", "plugin-delta", "--baseline-json", before, "--plugin-json", after, "--out-json", str(again)]) == 0
        from_files, from_cells = (json.loads(path.read_text()) for path in (again, folder / delta.artifact))
        costs = [file.pop("cost_deltas") for file in (from_files, from_cells)]  # files round what a run cost and how long it took
        assert from_files == from_cells
        assert all(
            costs[0][arm][name] == pytest.approx(figure, abs=1e-3) for arm, block in costs[1].items() for name, figure in block.items()
        )


def test_a_cut_answer_is_graded_as_the_user_would_see_it_and_costs_what_the_whole_one_does(whole: tuple[Path, dict[str, int]]) -> None:
    cells = {name: json.loads((whole[0] / OUT / "cells" / f"{name}.json").read_text()) for name in ("small-plain", "small-cut")}
    plain, cut = (cells[name]["answers"][0]["arms"]["baseline"] for name in ("small-plain", "small-cut"))
    assert (len(cut["answer"]), cut["raw_answer"], cut["token_usage"]) == (80, plain["answer"], plain["token_usage"])


def test_a_rerun_asks_nothing_and_changes_no_file(command: Command, stub: ModelStub, matrix: Path) -> None:
    first = command(*RUN)
    assert first.code == 0, first.err
    asked, files = stub.requests, {path: path.stat().st_mtime_ns for path in (matrix / OUT).rglob("*.*")}
    again = command(*RUN)
    assert (again.code, again.out) == (0, first.out)
    assert "nothing changed since the last run: 0 model calls" in again.err
    assert stub.requests == asked
    assert {path: path.stat().st_mtime_ns for path in (matrix / OUT).rglob("*.*")} == files


def test_the_file_and_the_suite_name_the_same_cells_so_the_second_asks_nothing(command: Command, stub: ModelStub, matrix: Path) -> None:
    command(*RUN)
    asked = stub.requests
    from_file = command(*RUN, "--matrix-cells", "matrix.json")
    assert from_file.code == 0
    assert stub.requests == asked


def test_progress_tells_of_each_cell(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("cut", plugins="truncate:80"))
    told = command(*RUN, "--matrix-cells", "matrix.json").err
    for name in ("plain", "cut"):
        assert f"answers {name}: {PROMPTS}/{PROMPTS}" in told
        assert f"scores rubric of {name}: {PROMPTS}/{PROMPTS}" in told


def test_json_is_all_that_stands_on_standard_output(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("cut", plugins="truncate:80"))
    result = json.loads(command(*RUN, "--matrix-cells", "matrix.json", "--json").out)
    assert [(one["matrix_cell"], one["plugin_set"], one["error"]) for one in result["cells"]] == [
        ("plain", "none", None),
        ("cut", "truncate:80", None),
    ]
    assert result["calls"]["paid"] == PROMPTS * 3
    assert [(delta["baseline_cell"], delta["plugin_cell"]) for delta in result["plugin_deltas"]] == [("plain", "cut")]
    assert {Path(file).name for file in result["files"]} >= {"plain.json", "cut.md", "matrix-rollup.json", "matrix-rollup.html"}


def test_json_has_numbers_as_they_were_computed_and_null_for_what_is_missing(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("cut", plugins="truncate:80"))
    result = json.loads(command(*RUN, "--matrix-cells", "matrix.json", "--json").out)
    (delta,) = result["plugin_deltas"]
    rolled = read_matrix_rollup(matrix / OUT / "matrix-rollup.json")
    for one, block in zip(result["cells"], rolled.cells, strict=True):
        assert one["coverage_rate"] == 1.0
        for name, arm in one["arms"].items():
            written: dict[str, Any] = block.summary["per_arm"][name]  # type: ignore[index, call-overload, assignment]
            assert arm["mean_points"] == pytest.approx(written["avg_aggregate"], abs=0.05)
            assert arm["ci_lo_points"] < arm["mean_points"] < arm["ci_hi_points"]
            assert (arm["scored"], arm["cost"]["answers"], arm["cost"]["priced_answers"]) == (QUESTIONS,) * 3
            assert arm["cost"]["total_cost_usd"] > 0
        assert one["arms"][ARMS[0]]["delta"] is None
        of_arm = one["arms"][ARMS[1]]["delta"]
        assert of_arm["effect"]["delta_mean"] == pytest.approx(one["arms"][ARMS[1]]["mean_points"] - one["arms"][ARMS[0]]["mean_points"])
    for name, score in delta["scores"].items():
        means = [one["arms"][name]["mean_points"] for one in result["cells"]]
        assert score["delta_points"] == pytest.approx(means[1] - means[0])
        assert delta["costs"][name]["total_cost_usd"]["delta"] == 0.0
        assert delta["costs"][name]["mean_time_to_first_token_seconds"] == {"control": None, "plugin": None, "delta": None}


def test_no_cell_is_compared_where_nobody_wants_it(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("cut", plugins="truncate:80"))
    assert command(*RUN, "--matrix-cells", "matrix.json", "--no-plugin-deltas").code == 0
    assert not list((matrix / OUT).glob("plugin-delta-*"))
    assert read_matrix_rollup(matrix / OUT / "matrix-rollup.json").plugin_deltas == ()


def test_files_go_where_they_are_told_to(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("a/b c"))
    told = ("--out-dir", "out", "--out-json", "rollup.json", "--out-md", "rollup.md")
    assert command(*RUN, "--matrix-cells", "matrix.json", *told).code == 0
    assert (matrix / "out" / "cells" / "a-b-c.json").is_file()
    assert read_matrix_rollup(matrix / "rollup.json").cells[0].matrix_cell == "a/b c"
    assert (matrix / "rollup.md").read_text().startswith("# kettle: matrix of 1 cell")


def test_names_beyond_ascii_lose_nothing_that_was_paid_for(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("é"), cell("kurz, 短い", plugins="truncate:80"))
    ran = command(*RUN, "--matrix-cells", "matrix.json", "--out-md", f"{OUT}/überblick.md")
    assert ran.code == 0, ran.err
    (delta,) = read_matrix_rollup(matrix / OUT / "matrix-rollup.json").plugin_deltas
    assert (delta.baseline_cell, delta.plugin_cell) == ("é", "kurz, 短い")
    names = [path.name for path in (matrix / OUT).rglob("*.*") if path.name != "überblick.md"]
    assert Path(delta.artifact).name in names
    assert all(name.isascii() for name in names)
    assert "überblick" not in (matrix / OUT / "matrix-rollup.html").read_text()  # a link to it would have to encode it


def test_files_of_an_earlier_matrix_that_stay_are_named(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("cut", plugins="truncate:80"))
    first = command(*RUN, "--matrix-cells", "matrix.json")
    assert "earlier matrix" not in first.err
    with_cells(matrix, cell("plain"))
    again = command(*RUN, "--matrix-cells", "matrix.json")
    assert f"note: of an earlier matrix, 7 files in {OUT} stay, and are in none of these numbers: cells/cut.csv, " in again.err
    for href in re.findall(r'href="([^"#]+)"', (matrix / OUT / "cells" / "plain.html").read_text()):
        assert (matrix / OUT / "cells" / href).is_file(), href
    for href in re.findall(r'href="([^"#]+)"', (matrix / OUT / "matrix-rollup.html").read_text()):
        assert (matrix / OUT / href).is_file(), href


def test_with_several_draws_each_has_its_file_and_deltas_are_over_their_means(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("cut", plugins="truncate:80"))
    assert command(*RUN, "--matrix-cells", "matrix.json", "--draws", "2", "--seed", "3").code == 0
    assert {path.name for path in (matrix / OUT / "cells").glob("*.json")} == {
        f"{name}.d{draw}.json" for name in ("plain", "cut") for draw in (0, 1)
    }
    rollup = read_matrix_rollup(matrix / OUT / "matrix-rollup.json")
    assert [one.artifact for one in rollup.cells] == ["cells/plain.d0.json", "cells/cut.d0.json"]
    for arm, block in rollup.plugin_deltas[0].score_deltas.items():
        means = [mean_points(matrix / OUT / "cells" / f"cut.d{draw}.json", arm) for draw in (0, 1)]
        assert block.plugin_avg_aggregate == pytest.approx(sum(means) / 2, abs=1e-3)


def mean_points(path: Path, arm: str) -> float:
    points = [row["scores"][arm]["aggregate"] for row in json.loads(path.read_text())["evaluations"]]
    return float(sum(points) / len(points))


def test_a_cell_that_fails_stops_no_other(command: Command, stub: ModelStub, matrix: Path) -> None:
    missing = cell("missing", model="no;do=status;code=404")
    with_cells(matrix, cell("plain"), missing, cell("cut", plugins="truncate:80"))
    ran = command(*RUN, "--matrix-cells", "matrix.json")
    assert ran.code == 2
    assert "error: cell missing: " in ran.err
    assert "answered HTTP 404" in ran.err
    assert calls_by_model(stub)["small"] == PROMPTS
    rollup = read_matrix_rollup(matrix / OUT / "matrix-rollup.json")
    assert [(delta.baseline_cell, delta.plugin_cell) for delta in rollup.plugin_deltas] == [("plain", "cut")]


def test_what_makes_a_matrix_end_with_2_stands_at_the_top_of_its_rollup(command: Command, stub: ModelStub, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("refused", model="no;do=status;code=400"))
    ran = command(*RUN, "--matrix-cells", "matrix.json", "--concurrency", "1")  # so that the third failure stops the others
    assert ran.code == 2
    told = [line.removeprefix("error: cell refused: ") for line in ran.err.splitlines() if line.startswith("error: cell refused: ")]
    assert (len(told), told[0].split(".")[0]) == (2, "the run is truncated")
    warnings = read_matrix_rollup(matrix / OUT / "matrix-rollup.json").warnings
    ended = "The cell refused ended before its last question: the same failure came again and again. A rerun asks only what is missing."
    assert warnings == (ended, f"The cell refused: {told[1]}.")
    readable = (matrix / OUT / "matrix-rollup.md").read_text()
    assert 0 < readable.index("**Problem:** The cell refused: ") < readable.index("## Cells")


def test_a_cell_with_too_few_points_is_said_at_the_top_of_the_rollup_as_on_the_console(command: Command, matrix: Path) -> None:
    edited(matrix / "evalplatform.yaml", ("model: grader", '"model": "g;do=reply;text=no"'))
    with_cells(matrix, cell("plain"))
    ran = command(*RUN, "--matrix-cells", "matrix.json")
    assert ran.code == 2
    (warning,) = read_matrix_rollup(matrix / OUT / "matrix-rollup.json").warnings
    assert warning.startswith(
        "The cell plain: 0.0% of the questions were scored in both arms of a comparison; 95% are needed. Without points: "
    )
    assert warning.replace("The cell", "error: cell") in ran.err.splitlines()


def test_a_cell_that_a_check_stops_is_reported_and_is_in_no_number(command: Command, matrix: Path) -> None:
    edited(matrix / "evalplatform.yaml", ("    draws: 1", "    draws: 1\n    checks: {self_judging: {blocking: true}}"))
    edited(matrix / "evalplatform.yaml", ("model: grader", "model: large"))
    with_cells(matrix, cell("plain"), cell("own judge", model="large"))
    ran = command(*RUN, "--matrix-cells", "matrix.json")
    assert ran.code == 2
    assert "error: cell own judge: suites.kettle.checks.self_judging" in ran.err
    rollup = read_matrix_rollup(matrix / OUT / "matrix-rollup.json")
    assert [one.matrix_cell for one in rollup.cells] == ["plain"]
    assert rollup.warnings[0].startswith("The cell own judge has no run, and is in none of the numbers: suites.kettle.checks")
    assert not (matrix / OUT / "cells" / "own-judge.json").exists()


def test_a_plugin_cell_of_another_sampling_has_no_pair_and_the_rest_is_compared(command: Command, matrix: Path) -> None:
    all_cells = f"cells: [{', '.join(CELLS)}]"
    hot = '["caveman:full"], sampling: {temperature: 0.7}}'
    few = (
        '  small-full: {model: small, endpoint: stub, plugins: ["caveman:full"]}',
        f"  small-full: {{model: small, endpoint: stub, plugins: {hot}",
    )
    edited(matrix / "evalplatform.yaml", (all_cells, "cells: [small-plain, small-full, small-cut]"), few)
    ran = command(*RUN)
    assert ran.code == 0
    assert "warning: The cell small-full (caveman:full) has no plugin-free pair" in ran.err
    rollup = read_matrix_rollup(matrix / OUT / "matrix-rollup.json")
    assert [delta.plugin_cell for delta in rollup.plugin_deltas] == ["small-cut"]
    assert (rollup.refused_deltas, len(rollup.warnings)) == ((), 1)


def test_a_plugin_cell_without_a_pair_is_warned_of(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("cut", plugins="truncate:80"))
    ran = command(*RUN, "--matrix-cells", "matrix.json")
    assert ran.code == 0
    assert "warning: The cell cut (truncate:80) has no plugin-free pair" in ran.err


def test_the_spend_cap_holds_for_the_whole_matrix(command: Command, matrix: Path) -> None:
    with_cells(matrix, cell("plain"), cell("ultra", plugins="caveman:ultra"))
    ran = command(*RUN, "--matrix-cells", "matrix.json", "--max-cost-usd", "0.006", "--json")
    assert ran.code == 2
    assert "spend cap: $0.006 for the whole matrix of 2 cells, answers and scores together" in ran.err
    result = json.loads(ran.out)
    assert 0 < result["calls"]["paid_usd"] <= 0.006
    assert any(one["truncated"] for one in result["cells"])


def test_a_killed_matrix_is_gone_on_with_and_repeats_no_more_than_was_in_flight(command: Command, matrix: Path, stub: ModelStub) -> None:
    stub.latency_seconds = 0.05
    with started(*RUN, folder=matrix) as process:
        wait_until(lambda: stub.requests > 50, "the matrix to be under way")
        process.send_signal(signal.SIGKILL)
        ended(process)
    stub.latency_seconds = 0.0
    assert command(*RUN).code == 0
    repeated = [seen.count for seen in stub.seen.values() if seen.count > 1]
    assert len(repeated) <= CONCURRENCY
    assert set(repeated) <= {2}
    assert len(stub.seen) == sum(distinct_calls().values())


Refusal = tuple[tuple[str, ...], str]
REFUSED: dict[str, Refusal] = {
    "neither a file nor a suite": (
        ("arms", "matrix-run", "--product", "kettle", "--questions", "questions.json", "--arms", "baseline"),
        "--matrix-cells: is needed",
    ),
    "an unknown suite": (("arms", "matrix-run", "--suite", "kettel"), "Did you mean 'kettle'?"),
    "sampling of a suite's own cells": ((*RUN, "--temperature", "0.5"), "--temperature: is for the cells of --matrix-cells"),
    "a place that cannot be written": ((*RUN, "--out-dir", "questions.json"), "questions.json"),
    "one file for two": (
        (*RUN, "--out-json", "m/cells/small-cut.json", "--out-dir", "m"),
        "--out-json: names the file that --out-dir names.",
    ),
    "the matrix file as a report": ((*RUN, "--matrix-cells", "matrix.json", "--out-json", "matrix.json"), "files that are read"),
    "a skill as a report": ((*RUN, "--out-md", "skills/use-kettle/SKILL.md"), "--out-md: is one of the files that are read"),
    "questions below the folder of results": (
        (*RUN, "--questions", "m/matrix-rollup.json", "--out-dir", "m"),
        "m/matrix-rollup.json: --out-json: is one of the files that are read",
    ),
    "an arm that does not exist": ((*RUN, "--arms", "baseline,skil:x"), "skil"),
    "a folder that is not there": ((*RUN, "--arms", "baseline,skill:nowhere"), "nowhere"),
    "a judge that nobody asks": ((*RUN[:-1], "--judge-model", "rubric"), "--judge-model: changes nothing without --judge"),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_finished_is_refused_before_anything_is_asked(
    command: Command, stub: ModelStub, matrix: Path, refused: Refusal
) -> None:
    ran = command(*refused[0])
    assert (ran.code, ran.out, stub.requests) == (2, "", 0)
    assert refused[1] in ran.err


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([], "names no cell"),
        ([cell("a"), cell("a")], "two cells are called 'a'"),
        ([cell("a"), cell("b", harness="agent")], "cells.1.harness: is 'agent': a matrix runs cells of the harness arms-runner alone"),
        ([cell("a"), cell("b", plugins="cavemam:full")], "Did you mean 'caveman'?"),
        ([cell("a"), cell("b", provider="stubb")], "matrix.json: cells.1.provider: unknown endpoint or provider 'stubb'"),
    ],
)
def test_a_bad_matrix_file_is_refused_before_anything_is_asked(
    command: Command, stub: ModelStub, matrix: Path, cells: list[dict[str, object]], sentence: str
) -> None:
    with_cells(matrix, *cells)
    ran = command(*RUN, "--matrix-cells", "matrix.json")
    assert (ran.code, ran.out, stub.requests) == (2, "", 0)
    assert sentence in ran.err


@pytest.mark.parametrize("provider", ["locked", "openai"])
def test_a_key_that_one_cell_lacks_stops_every_cell_before_anything_is_asked(
    command: Command, stub: ModelStub, matrix: Path, provider: str
) -> None:
    locked = f'  locked: {{provider: openai-compatible, base_url: "{stub.url}", key_env: NO_SUCH_KEY}}\n'
    edited(matrix / "evalplatform.yaml", ("endpoints:\n", f"endpoints:\n{locked}"))
    with_cells(matrix, cell("a"), cell("b", provider=provider))
    ran = command(*RUN, "--matrix-cells", "matrix.json")
    assert (ran.code, ran.out, stub.requests) == (2, "", 0)
    assert ("NO_SUCH_KEY" if provider == "locked" else "OPENAI_API_KEY") in ran.err


def test_a_model_of_unknown_price_under_a_spend_cap_stops_every_cell_before_anything_is_asked(
    command: Command, stub: ModelStub, matrix: Path
) -> None:
    unpriced = f'  unpriced: {{provider: openai-compatible, base_url: "{stub.url}"}}\n'
    edited(matrix / "evalplatform.yaml", ("endpoints:\n", f"endpoints:\n{unpriced}"))
    with_cells(matrix, cell("a"), cell("b", provider="unpriced"))
    capped = command(*RUN, "--matrix-cells", "matrix.json", "--max-cost-usd", "1")
    assert (capped.code, capped.out, stub.requests) == (2, "", 0)
    assert "error: cells.b.model: openai-compatible:small has no known price, so a spend cap cannot be kept." in capped.err
    assert command(*RUN, "--matrix-cells", "matrix.json").code == 0


def test_a_pinned_judge_that_refuses_its_settings_stops_every_cell_before_an_answer_is_paid(
    command: Command, stub: ModelStub, matrix: Path
) -> None:
    edited(
        matrix / "evalplatform.yaml",
        ("model: grader, endpoint: stub", '"model": "g;do=status;code=400", endpoint: stub, sampling: {seed: 1}'),
    )
    ran = command(*RUN)
    assert (ran.code, ran.out) == (2, "")
    assert calls_by_model(stub) == {"g;do=status;code=400": 1}


def test_cells_at_several_endpoints_need_to_be_told_where_the_judge_is(command: Command, stub: ModelStub, matrix: Path) -> None:
    flags = ("--product", "kettle", "--questions", "questions.json", "--arms", "baseline", "--judge", "--judge-model", "grader")
    with_cells(matrix, cell("a"), cell("b", provider="offline", model="extractive"))
    ran = command("arms", "matrix-run", "--matrix-cells", "matrix.json", *flags)
    assert (ran.code, stub.requests) == (2, 0)
    assert "--judge-provider: is needed: the cells are at several endpoints" in ran.err
    assert command("arms", "matrix-run", "--matrix-cells", "matrix.json", *flags, "--judge-provider", "stub").code == 0


ONE = ("arms", "run", "--suite", SUITE, "--judge")


def test_one_cell_of_a_matrix_is_run_and_stamped(command: Command, stub: ModelStub, matrix: Path) -> None:
    assert command(*ONE, "--matrix-cells", "matrix.json", "--matrix-cell", "large-full", "--out-json", "one.json").code == 0
    written: dict[str, Any] = json.loads(Path("one.json").read_text())
    assert (written["matrix_cell"], written["model"], written["plugin_set"]) == ("large-full", "large", "caveman:full")
    asked = stub.requests
    assert command(*RUN, "--matrix-cells", "matrix.json").code == 0
    assert stub.requests == sum(distinct_calls().values())
    assert asked == PROMPTS * 2


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--matrix-cells", "matrix.json"), "--matrix-cell: is needed with --matrix-cells"),
        (("--matrix-cell", "small-cut"), "--matrix-cells: is needed with --matrix-cell"),
        (("--matrix-cells", "matrix.json", "--matrix-cell", "small-cot"), "Did you mean 'small-cut'?"),
        (("--matrix-cells", "matrix.json", "--matrix-cell", "small-cut", "--model", "x"), "--model: cannot be told beside --matrix-cell"),
        (("--matrix-cells", "matrix.json", "--matrix-cell", "small-cut", "--plugins", ""), "--plugins: cannot be told beside"),
        (("--matrix-cells", "matrix.json", "--matrix-cell", "small-cut", "--cell", "x"), "--cell: cannot be told beside"),
    ],
)
def test_flags_that_contradict_a_matrix_cell_are_refused(
    command: Command, stub: ModelStub, matrix: Path, flags: tuple[str, ...], sentence: str
) -> None:
    ran = command(*ONE, *flags)
    assert (ran.code, ran.out, stub.requests) == (2, "", 0)
    assert sentence in ran.err
