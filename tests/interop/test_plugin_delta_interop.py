"""plugin_delta.v1 between this platform and the tool that the format comes from: the same numbers from the same files, both ways."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.comparisons.refusals import Refused
from evalplatform.plugins.plugin_set import parse_plugins
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import write_arms_v1
from evalplatform.reports.compared_run_file import read_compared_run
from evalplatform.reports.plugin_delta_v1 import plugin_delta_bytes, plugin_delta_payload, read_plugin_delta
from tests.interop.reference_tool import reference_python, run_reference
from tests.support.arm_rows import MATERIALS, Table, answers_of, failed, question_set, run_facts, scores_of, timings_of

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]  # the first run installs the tool

CASES = Path(__file__).parents[1] / "cases" / "treatment-arms"
PLAIN: Table = {
    "baseline": [50.0, 60.0, 70.0, 55.5, 65.0, 75.0, 52.0, 58.0, 61.0],
    "docs": [58.0, 66.0, 75.3, None, 72.0, 83.0, 59.0, 61.0, 70.0],
    "skill:x": [51.0, 59.0, 70.0, 56.0, 66.0, 71.0, None, 58.0, 66.0],
}
SHAPED: Table = {
    "baseline": [49.0, 61.0, 66.0, 51.5, 60.0, 75.0, 50.0, 57.3, 60.0],
    "docs": [50.0, 60.1, 70.3, 44.0, 70.0, None, 51.0, 55.0, 61.0],
    "skill:x": [51.0, 59.0, 70.0, 56.0, 66.0, 71.0, 40.0, 58.0, 66.0],
}
PLUGINS = {"plugins": parse_plugins(["truncate:60"]).stamps}
OURS_ALONE = {"significance", "n", "paired_delta"}
"""What we add to the blocks of an arm."""


def written(path: Path, table: Table, *, failing: str | None = None, **facts: object) -> Path:
    """Write a run of ours; of the arm `failing` the first answer failed."""
    answers = answers_of(table)
    place = None if failing is None else next(place for place, row in enumerate(answers) if row.arm == failing)
    if place is not None and failing is not None:
        answers[place] = failed(0, failing)
    payload = arms_v1_payload(
        run_facts(list(table)).with_changes(**facts),
        question_set(9),
        answers=answers,
        scores=[row for row in scores_of(table) if place is None or (row.question_id, row.arm) != (answers[place].question_id, failing)],
        timings=timings_of(table),
        materials=MATERIALS,
    )
    return write_arms_v1(path, payload)


def theirs(control: Path, plugin: Path, folder: Path) -> dict[str, Any]:
    flags = ("--baseline-json", str(control), "--plugin-json", str(plugin), "--out-json", "theirs.json", "--out-md", "theirs.md")
    outcome = run_reference("arms", "plugin-delta", *flags, cwd=folder)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return json.loads((folder / "theirs.json").read_text())  # type: ignore[no-any-return]


def ours(control: Path, plugin: Path) -> PluginDelta | Refused:
    return plugin_delta(read_compared_run(control, name="plain"), read_compared_run(plugin, name="shaped"))


def without_additions(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    dropped = OURS_ALONE if "baseline_avg" in value else OURS_ALONE - {"n"}
    return {key: without_additions(inner) for key, inner in value.items() if key not in dropped}


def assert_same_numbers(mine: dict[str, Any], expected: dict[str, Any]) -> None:
    for key, value in expected.items():
        if key != "warnings":  # worded by each
            assert without_additions(mine[key]) == value, key
    assert len(mine["warnings"]) >= len(expected["warnings"])


@pytest.mark.parametrize("failing", [None, "docs"], ids=["all answered", "a failed answer"])
def test_the_tool_takes_our_numbers_from_our_files(failing: str | None, tmp_path: Path) -> None:
    control, plugin = written(tmp_path / "plain.json", PLAIN, failing=failing), written(tmp_path / "shaped.json", SHAPED, **PLUGINS)
    delta = ours(control, plugin)
    assert isinstance(delta, PluginDelta)
    mine = plugin_delta_payload(delta)
    assert mine["score_deltas"]["docs"]["n"] == (6 if failing else 7)  # type: ignore[index,call-overload]
    assert_same_numbers(mine, theirs(control, plugin, tmp_path))


def test_we_take_the_tools_numbers_from_files_that_are_not_ours(tmp_path: Path) -> None:
    paths = [CASES / f"D01_n20_{side}" / "arms.json" for side in "ab"]
    delta = ours(*paths)
    assert isinstance(delta, PluginDelta)
    assert_same_numbers(plugin_delta_payload(delta), theirs(*paths, tmp_path))


def test_the_tool_accepts_our_file_and_we_read_its_own(tmp_path: Path) -> None:
    control, plugin = written(tmp_path / "plain.json", PLAIN), written(tmp_path / "shaped.json", SHAPED, **PLUGINS)
    delta = ours(control, plugin)
    assert isinstance(delta, PluginDelta)
    good, broken = tmp_path / "ours.json", tmp_path / "broken.json"
    good.write_bytes(plugin_delta_bytes(delta))
    broken.write_text(json.dumps({**json.loads(good.read_text()), "score_deltas": []}))
    program = "import sys, pathlib; from dokimi.artifacts import load_artifact; load_artifact('plugin_delta', pathlib.Path(sys.argv[1]))"
    outcomes = [
        subprocess.run([reference_python(), "-c", program, path], capture_output=True, text=True, check=False, cwd=tmp_path)
        for path in (good, broken)
    ]
    assert outcomes[0].returncode == 0, outcomes[0].stderr
    assert "score_deltas" in outcomes[1].stderr, "the check is one that can fail"
    theirs(control, plugin, tmp_path)
    file = read_plugin_delta(tmp_path / "theirs.json")
    assert file.score_deltas["docs"].aggregate_delta == read_plugin_delta(good).score_deltas["docs"].aggregate_delta


def _set(**stamps: object) -> Callable[[dict[str, Any]], None]:
    return lambda data: data.update(stamps)


def _reversed_answers(data: dict[str, Any]) -> None:
    data["answers"].reverse()


def _reversed_evaluations(data: dict[str, Any]) -> None:
    data["evaluations"].reverse()


def _unjudged(data: dict[str, Any]) -> None:
    for key in [key for key in data if key.startswith("judge") or key in ("evaluations", "summary")]:
        del data[key]


def _unstamped(data: dict[str, Any]) -> None:
    del data["judge_context"]


REFUSED_BY_BOTH: dict[str, Callable[[dict[str, Any]], None]] = {
    "library_name": _set(library_name="Queues"),
    "model": _set(model="large"),
    "provider": _set(provider="other"),
    "harness": _set(harness="agent"),
    "arms": _set(arms=["docs", "baseline", "skill:x"]),
    "baseline_arm": _set(baseline_arm="docs"),
    "total_questions": _set(total_questions=21),
    "question_ids": _reversed_answers,
    "evaluation_ids": _reversed_evaluations,
    "is_judged": _unjudged,
    "judge_model": _set(judge_model="j-2"),
    "judge_provider": _set(judge_provider="other"),
    "judge_context": _unstamped,
    "same_plugin_set": _set(plugin_set="none", plugin_set_id="sha256:e3b0c44298fc1c149afbf4c8996fb924"),
    "mixed_material": _set(judge_context="treatment_material.v1+snippet_fallback"),
}
REFUSED_BY_US: dict[str, Callable[[dict[str, Any]], None]] = {
    "run_config": lambda data: data["run_config"].update(temperature=1.0),
    "judge_temperature": _set(judge_temperature=1.0),
    "judge_prompt": _set(judge_prompt_sha256="sha256:" + "1" * 64),
    "question_texts": lambda data: data["answers"][3].update(question_text="Another question?"),
}
"""Both sides answer, and what is measured is not the plugin."""


MANY_DELTAS = """
import json, pathlib, sys
from dokimi.cli import main
codes = {}
for plugin in sorted(pathlib.Path(sys.argv[1]).glob("*.plugin.json")):
    sys.argv = ["dokimi", "arms", "plugin-delta", "--baseline-json", "plain.json", "--plugin-json", str(plugin)]
    try:
        codes[plugin.name.removesuffix(".plugin.json")] = main() or 0
    except SystemExit as end:
        codes[plugin.name.removesuffix(".plugin.json")] = end.code or 0
pathlib.Path("codes.json").write_text(json.dumps(codes))
"""
"""The tool's command on many files in one process: it takes seconds to start."""


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """The worked case with one stamp of its second file changed, a file each, and how the tool's command ends on it."""
    folder = tmp_path_factory.mktemp("spoilt")
    shutil.copy(CASES / "D01_n20_a" / "arms.json", folder / "plain.json")
    for name, spoil in {**REFUSED_BY_BOTH, **REFUSED_BY_US}.items():
        data = json.loads((CASES / "D01_n20_b" / "arms.json").read_text())
        spoil(data)
        (folder / f"{name}.plugin.json").write_text(json.dumps(data))
    outcome = subprocess.run(
        [reference_python(), "-c", MANY_DELTAS, folder], capture_output=True, text=True, check=False, cwd=folder, timeout=240
    )
    assert outcome.returncode == 0, outcome.stderr
    return folder, json.loads((folder / "codes.json").read_text())


def our_reasons(folder: Path, name: str) -> list[str]:
    refused = ours(folder / "plain.json", folder / f"{name}.plugin.json")
    assert isinstance(refused, Refused)
    return [getattr(refusal, "factor", refusal.reason) for refusal in refused.refusals]


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_what_the_tool_refuses_we_refuse(name: str, spoilt: tuple[Path, dict[str, int]]) -> None:
    folder, codes = spoilt
    assert name in our_reasons(folder, name)
    assert codes[name] == 1


@pytest.mark.parametrize("name", REFUSED_BY_US)
def test_what_the_tool_compares_and_should_not_we_refuse(name: str, spoilt: tuple[Path, dict[str, int]]) -> None:
    folder, codes = spoilt
    assert our_reasons(folder, name) == [name]
    assert codes[name] == 0
