"""The reference tool's `report model-compare` on our files: the same numbers, and the same aborts.

It prints averages and deltas with one decimal, p-values with four (three digits below 1e-4), so its numbers are compared as roundings of
our unrounded ones. Rules that differ: it corrects p-values that it has rounded, which moves an adjusted one by at most half a unit of the
fourth decimal for each test of the family; it shows Cohen's d_z with one decimal, which is not compared; it leaves runs below six pairs out
of its table of tests, where we show them without a test; it has no row for difficulties outside its list; and it ranks runs with points for
under 95% of the questions, which we do not, so rankings are compared by their points.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison, RunRow
from evalplatform.comparisons.refusals import Refused
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import write_arms_v1
from evalplatform.reports.compared_run_file import read_compared_run
from tests.interop.reference_tool import reference_python, run_reference
from tests.support.arm_rows import MATERIALS, Table, answers_of, question_set, run_facts, scores_of, timings_of
from tests.support.model_runs import BETTER, TWO_ARMS, run_file

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]  # the first run installs the tool

SMALL: Table = {
    "baseline": [50.0, 60.0, 70.0, 55.5, 65.0, 75.0, 52.0, 58.0, 61.0, 40.3],
    "docs": [58.0, 66.0, 75.3, None, 72.0, 83.0, 59.0, 61.0, 70.0, 41.2],
    "skill:x": [51.0, 59.0, 70.0, 56.0, 66.0, 71.0, None, 58.0, 66.0, 44.4],
}
LARGE: Table = {
    "baseline": [55.0, None, 72.0, 58.5, 65.0, 71.0, 57.0, 58.5, 63.0, 44.4],
    "docs": [58.0, 70.0, 71.3, 66.0, 70.0, 81.0, 61.0, 65.0, 70.0, 51.7],
    "skill:x": [53.0, 61.0, 74.0, 51.0, 69.0, 75.0, 57.0, None, 64.0, 42.2],
}
Tables = dict[str, list[list[str]]]


def ours(folder: Path, name: str, table: Table, *, model: str, arms: Sequence[str] = ("baseline", "docs")) -> Path:
    """Write a file as this platform does."""
    shown: Table = {arm: table[arm] for arm in arms}
    payload = arms_v1_payload(
        run_facts(list(arms)).model_copy(update={"model": model}),
        question_set(10),
        answers=answers_of(shown),
        scores=scores_of(shown),
        timings=timings_of(shown),
        materials=MATERIALS,
    )
    return write_arms_v1(folder / f"{name}.json", payload)


def theirs(folder: Path, files: dict[str, Path], *options: str) -> Tables | None:
    """Return the tables of the reference tool's report, by heading; None where it refuses."""
    out = folder / "theirs.md"
    arguments = ("--regular-runs", *map(str, files.values()), "--run-ids", ",".join(files), "--out", str(out), *options)
    done = run_reference("report", "model-compare", *arguments, cwd=folder)
    return tables_of(out.read_text()) if done.returncode == 0 else None


def they_refuse(folder: Path, comparisons: Sequence[dict[str, Path]]) -> list[bool]:
    """Return whether the reference tool aborts each comparison, all asked in one process, since loading it takes a second."""
    program = (
        "import json, sys\nfrom dokimi.cli import main\nrefused = []\n"
        "for arguments in json.loads(sys.argv[1]):\n    sys.argv[1:] = arguments\n"
        "    try:\n        main()\n        refused.append(False)\n"
        "    except SystemExit as ended:\n        refused.append(bool(ended.code))\n"
        "print(json.dumps(refused))\n"
    )
    given = [
        ["report", "model-compare", "--regular-runs", *map(str, files.values()), "--run-ids", ",".join(files), "--out", "out.md"]
        for files in comparisons
    ]
    done = subprocess.run([reference_python(), "-c", program, json.dumps(given)], capture_output=True, text=True, cwd=folder, check=True)
    refused = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(refused, list)
    return refused


def tables_of(text: str) -> Tables:
    tables: Tables = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.strip("# ").partition(" (")[0]
        elif line.startswith("|") and not set(line) <= set("|-: "):
            cells = [cell.strip().strip("*`") for cell in line.strip("|").split("|")]
            tables.setdefault(heading, []).append(cells)
    return {name: rows[1:] for name, rows in tables.items()}


def our_numbers(files: dict[str, Path], **options: Any) -> ModelComparison | Refused:
    return compare_models([read_compared_run(path, name=name) for name, path in files.items()], **options)


def is_rounding_of(printed: str, number: float | None) -> bool:
    if number is None:
        return printed in ("—", "N/A")
    return abs(float(printed) - number) <= 0.05 + 1e-9


def assert_p(printed: str, number: float | None, *, tests: int = 1) -> None:
    """Compare a p-value that was rounded before it was multiplied by at most `tests`."""
    if number is None:
        assert printed == "N/A"
    else:
        is_fixed = float(printed) >= 1e-4
        assert float(printed) == pytest.approx(number, abs=tests * 0.5e-4 + 1e-9 if is_fixed else 0.0, rel=0.0 if is_fixed else 0.005)


def assert_summary(cells: Sequence[str], row: RunRow, common: int) -> None:
    run, questions, pairs, treated, baseline, delta, improved, degraded = cells
    assert (run, int(questions)) == (row.run, common)
    assert pairs == (f"{row.delta.pairs} ({row.unscored} unscored)" if row.unscored else str(row.delta.pairs))
    assert is_rounding_of(treated, row.treatment_mean_points)
    assert is_rounding_of(baseline, row.baseline_mean_points)
    assert is_rounding_of(delta, row.delta.delta_points)
    assert (int(improved), int(degraded)) == (row.improved, row.degraded)


def assert_same(found: Tables, ours: ModelComparison) -> None:
    """Compare every number that both reports have."""
    for cells, row in zip(found["Overall Summary"], ours.runs, strict=True):
        assert_summary(cells, row, ours.common_questions)
    tests = {row.run: row for row in ours.runs if row.delta.pairs >= 6}
    printed = {cells[0]: cells for cells in found["Statistical Significance of Delta"]}
    assert list(printed) == list(tests)
    for run, row in tests.items():
        effect, verdict = row.delta.effect, row.delta.verdict
        assert effect is not None
        raw, adjusted, wilcoxon = printed[run][2:5]
        assert_p(raw, effect.p_t)
        assert_p(adjusted, verdict.p_adjusted, tests=verdict.family_tested + 1)  # one more: it is rounded again for show
        assert_p(wilcoxon, effect.p_wilcoxon)
        assert printed[run][6] == effect.effect
        said = {True: "Yes", False: "No", None: "N/A"}[verdict.significant_adjusted]
        assert printed[run][7].endswith(said)
    wins = {one.run: one.wins for one in ours.head_to_head.runs} | {"tie": ours.head_to_head.ties}
    assert {cells[0]: int(cells[1]) for cells in found["Head-to-Head"]} == wins
    for heading, ranking in (("By absolute quality", ours.quality_ranking), ("By treatment utilisation", ours.delta_ranking)):
        by_points = sorted(ranking, key=lambda place: -(place.points or 0.0))
        assert [cells[1] for cells in found[heading]] == [place.run for place in by_points]
    for cells, row in zip(found["Resource Usage"], ours.runs, strict=True):
        assert float(cells[1].lstrip("$").split()[0]) == pytest.approx(row.baseline_cost.total_cost_usd, abs=0.5e-4)
        assert cells[4].replace(",", "") == str(row.baseline_cost.total_tokens)
    levels = {row.difficulty: row for row in ours.difficulty}
    for cells in found["By Difficulty"]:
        level = levels.pop(cells[0])
        assert int(cells[1]) == level.questions
        for side, (points, delta) in zip(level.sides, zip(cells[2::2], cells[3::2], strict=True), strict=True):
            assert is_rounding_of(points, side.treatment_mean_points)
            if side.pairs:
                assert is_rounding_of(delta, side.delta_points)


def test_rival_models_have_the_reference_tools_numbers(tmp_path: Path) -> None:
    files = {name: ours(tmp_path, name, table, model=name) for name, table in (("small", SMALL), ("large", LARGE))}
    for correction in ("holm", "bh"):
        found = theirs(tmp_path, files, "--stats-correction", correction)
        mine = our_numbers(files, correction=correction)
        assert found is not None
        assert isinstance(mine, ModelComparison)
        assert_same(found, mine)


def test_models_with_points_for_every_question_have_the_reference_tools_ranks(tmp_path: Path) -> None:
    filled = {
        name: {arm: [60.0 if points is None else points for points in column] for arm, column in table.items()}
        for name, table in (("small", SMALL), ("large", LARGE))
    }
    files = {name: ours(tmp_path, name, table, model=name) for name, table in filled.items()}
    found, mine = theirs(tmp_path, files), our_numbers(files)
    assert found is not None
    assert isinstance(mine, ModelComparison)
    assert [place.rank for ranking in (mine.quality_ranking, mine.delta_ranking) for place in ranking] == [1, 2, 1, 2]
    assert_same(found, mine)


def test_a_pinned_arm_has_the_reference_tools_numbers(tmp_path: Path) -> None:
    files = {name: ours(tmp_path, name, table, model=name, arms=list(table)) for name, table in (("small", SMALL), ("large", LARGE))}
    assert theirs(tmp_path, files) is None
    assert isinstance(our_numbers(files), Refused)
    for arm in ("docs", "skill:x"):
        found, mine = theirs(tmp_path, files, "--treatment-arm", arm), our_numbers(files, treatment_arm=arm)
        assert found is not None
        assert isinstance(mine, ModelComparison)
        assert_same(found, mine)


def test_pooled_replicates_have_the_reference_tools_numbers_and_label(tmp_path: Path) -> None:
    tables = {"small-run1": ("small", SMALL), "small-run2": ("small", LARGE), "large": ("large", LARGE)}
    files = {name: ours(tmp_path, name, table, model=model) for name, (model, table) in tables.items()}
    assert theirs(tmp_path, files) is None
    found, mine = theirs(tmp_path, files, "--pool-replicates"), our_numbers(files, pool_replicates=True)
    assert found is not None
    assert isinstance(mine, ModelComparison)
    assert_same(found, mine)


def test_the_reference_tool_aborts_where_we_refuse(tmp_path: Path) -> None:
    other_arm = {"baseline": TWO_ARMS["baseline"], "skill:x": TWO_ARMS["docs"]}
    second: dict[str, dict[str, Any]] = {
        "baseline": {"baseline_arm": "docs"},
        "arms": {"points": other_arm},
        "material": {"judge_context": None},
        "mixed": {"judge_context": "treatment_material.v1+snippet_fallback"},
        "replicates": {"model": "a-model"},
    }
    first = run_file(tmp_path, "a")
    comparisons = [{"a": first, "b": run_file(tmp_path, name, **{"points": BETTER, **stamps})} for name, stamps in second.items()]
    for files in comparisons:
        assert isinstance(our_numbers(files), Refused), files
    fine = {"a": first, "b": run_file(tmp_path, "b", BETTER)}
    assert isinstance(our_numbers(fine), ModelComparison)
    assert they_refuse(tmp_path, [*comparisons, fine]) == [True, True, True, True, True, False]


def test_a_file_of_ours_holds_what_the_comparison_needs(tmp_path: Path) -> None:
    file = json.loads(ours(tmp_path, "small", SMALL, model="small").read_text())
    assert {len(row["scores"]) for row in file["evaluations"]} == {2}, "an unscored arm is in its question, so a pin finds it there"
