"""The staleness table of docs/staleness.md, row by row: what each edit makes stale, and that the stages then do exactly that work."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from evalplatform.cli.starter import write_starter
from evalplatform.kernel.digests import text_digest
from evalplatform.project.load import PROJECT_FILE_NAME, load_project
from evalplatform.stages import (
    arm_answers,
    arm_summary,
    arms_report,
    corpus,
    judged_scores,
    matrix_rollup,
    model_comparison,
    plugin_deltas,
    question_set,
    score_moves,
    verdicts,
)
from evalplatform.stages.comparison_stages import COMPARISON_STAGES, suite_comparisons
from evalplatform.stages.comparison_stages import READS as COMPARISONS_READ
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.pipeline import run_cell
from evalplatform.stages.score_stages import SCORE_STAGES
from evalplatform.stages.staleness import PartitionState, suite_states
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import ModelStub, running_stub

DOCS = Path(__file__).parents[2] / "docs" / "staleness.md"
SUITE = "kettle"
READS = {
    question_set.ASSET: (),
    corpus.ASSET: (),
    arm_answers.ASSET: (question_set.ASSET, corpus.ASSET),
    **{stage.asset: tuple(read.ASSET for read in stage.reads) for stage in SCORE_STAGES},
    **{stage.asset: tuple(read.ASSET for read in COMPARISONS_READ) for stage in COMPARISON_STAGES},
}
CELLS = ("reader", "brief", "short")
PLUGIN_CELL = "short"
OVER_MANY_CELLS = {matrix_rollup.ASSET, model_comparison.ASSET}
Place = tuple[str, str | None, str | None]
"""Asset, cell id, judge id."""


@dataclass
class Edited:
    """A copy of the project that a test edits."""

    folder: Path
    patch: pytest.MonkeyPatch

    def project(self, **changes: Any) -> None:
        """Set values of the project file; `__` stands for the dots of their paths."""
        yaml, file = YAML(), self.folder / PROJECT_FILE_NAME
        data = yaml.load(file.read_text())
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = data
            for name in parents:
                place = place.setdefault(name, {})
            place[last] = value
        with file.open("w") as out:
            yaml.dump(data, out)

    def text(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def code(self, stage: ModuleType) -> None:
        self.patch.setattr(stage, "CODE_VERSION", f"{stage.CODE_VERSION}x")


EDITS: dict[str, Callable[[Edited], None]] = {
    "a question": lambda edited: edited.text("questions.json", "install Kettle on a laptop", "install Kettle on a phone"),
    "the layout of the question file": lambda edited: edited.text("questions.json", "\n", "\n\n"),
    "a document": lambda edited: edited.text("docs/boiling.md", "\n", "\nWater boils at 100 degrees.\n"),
    "a skill": lambda edited: edited.text("skills/use-kettle/SKILL.md", "\n---\n", "\n---\nAlways name the setting.\n"),
    "a profile": lambda edited: edited.text("profiles/plain-speaker.md", "\n---\n", "\n---\nUse short words.\n"),
    "the list of arms": lambda edited: edited.project(suites__kettle__arms=["baseline", "docs:local:docs"]),
    "the answer prompt": lambda edited: edited.patch.setattr(arm_answers, "ANSWER_PROMPT_DIGEST", text_digest("another prompt")),
    "`draws`": lambda edited: edited.project(suites__kettle__draws=2),
    "`top_k` or `rerank_threshold`": lambda edited: edited.project(suites__kettle__top_k=2),
    "the seed of a cell": lambda edited: edited.project(cells__brief__sampling__seed=5),
    "the seed of a judge": lambda edited: edited.project(judges__strict__sampling={"seed": 5}),
    "`baseline_arm`": lambda edited: edited.project(suites__kettle__baseline_arm="docs"),
    "`correction`": lambda edited: edited.project(suites__kettle__correction="bh"),
    "`pass_points` or `checks`": lambda edited: edited.project(suites__kettle__pass_points=80),
    "`product`": lambda edited: edited.project(products__pot={}, suites__kettle__product="pot"),
    "code version of `question_set`": lambda edited: edited.code(question_set),
    "code version of `corpus`": lambda edited: edited.code(corpus),
    "code version of `arm_answers`": lambda edited: edited.code(arm_answers),
    "code version of `judged_scores`": lambda edited: edited.code(judged_scores),
    "code version of `verdicts`": lambda edited: edited.code(verdicts),
    "code version of `arm_summary`": lambda edited: edited.code(arm_summary),
    "code version of `score_moves`": lambda edited: edited.code(score_moves),
    "code version of `arms_report`": lambda edited: edited.code(arms_report),
    "code version of `plugin_deltas`": lambda edited: edited.code(plugin_deltas),
    "code version of `matrix_rollup`": lambda edited: edited.code(matrix_rollup),
    "code version of `model_comparison`": lambda edited: edited.code(model_comparison),
    "a cell's model or sampling": lambda edited: edited.project(cells__brief__sampling__max_tokens=77),
    "a cell's plugins": lambda edited: edited.project(cells__short__plugins=["truncate:30"]),
    "a judge's model or sampling": lambda edited: edited.project(judges__strict__model="judge-small"),
    "a rubric": lambda edited: edited.text("rubric.md", "fair", "strict"),
    "a cell is added": lambda edited: edited.project(
        cells__new={"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 20}},
        suites__kettle__cells=[*CELLS, "new"],
    ),
    "a cell with plugins is removed": lambda edited: edited.project(suites__kettle__cells=["reader", "brief"]),
    "a judge is added": lambda edited: edited.project(
        judges__new={"kind": "overlap", "model": "overlap", "endpoint": "here"}, suites__kettle__judges=["new", "facts", "strict"]
    ),
    "a judge is removed": lambda edited: edited.project(suites__kettle__judges=["strict"]),
    "prices, limits, `key_env`, spend caps": lambda edited: edited.project(
        endpoints__here__prices={"input_per_million_usd": 1.0, "output_per_million_usd": 1.0},
        endpoints__here__limits={"max_concurrent": 2},
        endpoints__stub__key_env="PATH",
        budgets={"kettle": {"max_cost_usd": 100.0}},
    ),
}


@dataclass(frozen=True)
class Row:
    """A row of the documented table: assets, and the partitions that they concern."""

    stale: str
    partitions: str
    missing: str


def _table() -> dict[str, Row]:
    section = DOCS.read_text().split("| edited |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()[2:]]
    return {edited: Row(stale, partitions, missing) for edited, stale, partitions, missing in rows}


TABLE = _table()


@pytest.fixture(scope="module")
def stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, stub: ModelStub) -> Path:
    """A project of two cells, one of them with plugins too, and two judges, with everything made."""
    folder = tmp_path_factory.mktemp("made") / "project"
    write_starter(folder)
    (folder / "rubric.md").write_text("Be fair.\n")
    with pytest.MonkeyPatch.context() as patch:
        Edited(folder, patch).project(
            endpoints__stub={"provider": "openai-compatible", "base_url": stub.url},
            cells__brief={"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 30}},
            cells__short={"model": "extractive", "endpoint": "here", "plugins": ["truncate:40"], "sampling": {"max_tokens": 120}},
            judges__strict={"kind": "rubric", "model": "judge-large", "endpoint": "stub", "rubric": "rubric.md"},
            suites__kettle__cells=list(CELLS),
            suites__kettle__judges=["facts", "strict"],
            suites__kettle__pass_points=50,
        )
    _run(folder)
    return folder


@pytest.fixture
def edited(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edited:
    return Edited(Path(shutil.copytree(made, tmp_path / "project")), monkeypatch)


def test_the_documented_table_has_a_row_for_every_edit_that_is_tried() -> None:
    assert set(TABLE) == set(EDITS)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_makes_stale_exactly_what_is_documented_and_that_is_what_is_made_again(edit: str, edited: Edited) -> None:
    EDITS[edit](edited)
    states = _states(edited.folder)
    assert _in_state(states, "stale") == _expected(TABLE[edit].stale, TABLE[edit].partitions)
    assert _in_state(states, "missing") == _missing(TABLE[edit])
    assert _in_state(states, "incomplete") == set()

    made_again = _run(edited.folder)
    assert made_again == _in_state(states, "stale") | _in_state(states, "missing")
    assert all(state.is_fresh for state in _states(edited.folder))


def test_nothing_is_stale_where_nothing_was_edited(edited: Edited) -> None:
    states = _states(edited.folder)
    assert all(state.is_fresh for state in states)
    assert len(states) == 2 + len(CELLS) + len(CELLS) * 2 * len(SCORE_STAGES) + 2 * len(COMPARISON_STAGES)
    assert _run(edited.folder) == set()


def test_an_edit_that_is_undone_leaves_nothing_stale(edited: Edited) -> None:
    edited.text("docs/boiling.md", "\n", "\nWater boils.\n")
    _run(edited.folder)
    edited.text("docs/boiling.md", "\nWater boils.\n", "\n")
    assert any(state.state == "stale" for state in _states(edited.folder))
    _run(edited.folder)
    assert all(state.is_fresh for state in _states(edited.folder))


@pytest.mark.parametrize(
    ("edit", "asset", "changed"),
    [
        ("a question", "arm_answers", {"question_set"}),
        ("a document", "arm_answers", {"treatment:docs/documents", "treatment:docs+skill:use-kettle/1:docs:documents"}),
        ("the answer prompt", "arm_answers", {"answer_prompt"}),
        ("the answer prompt", "judged_scores", {"arm_answers"}),
        ("code version of `arm_summary`", "arm_summary", {"code_version"}),
    ],
)
def test_what_is_stale_names_the_inputs_that_changed(edit: str, asset: str, changed: set[str], edited: Edited) -> None:
    EDITS[edit](edited)
    found = {state.because for state in _states(edited.folder) if state.asset == asset}
    assert found == {tuple(sorted(changed))}


def test_what_failed_calls_left_is_incomplete_and_so_is_what_was_made_from_it(edited: Edited) -> None:
    with running_stub(fail_first=1) as failing:
        edited.project(
            endpoints__failing={
                "provider": "openai-compatible",
                "base_url": failing.url,
                "retry": {"attempts": 1},
                "limits": {"max_concurrent": 1},
            },
            cells__reader={"model": "small", "endpoint": "failing"},
            suites__kettle__judges=["facts"],
        )
        _run(edited.folder)
        states = _states(edited.folder)
        of_reader = {place for place in _places(states) if place[1] == "reader" or place[0] in OVER_MANY_CELLS}
        assert _in_state(states, "incomplete") == of_reader
        assert {state.state for state in states} == {"fresh", "incomplete"}
        because = {state.asset: state.because for state in states if state.state == "incomplete"}
        assert because["arm_answers"] == ()
        assert because["judged_scores"] == ("arm_answers",)
        assert because["arm_summary"] == ("arm_answers", "judged_scores")
        assert because["matrix_rollup"] == ("arm_summary:reader",)
        while any(state.state == "incomplete" for state in _states(edited.folder)):
            assert _run(edited.folder)  # the breaker stops each run at some more requests that failed once
        assert all(state.is_fresh for state in _states(edited.folder))


def test_an_artifact_that_is_gone_is_missing(edited: Edited) -> None:
    versions = edited.folder / ".evalplatform/store/artifacts/kettle/arms_report"
    shutil.rmtree(versions)
    assert {place[0] for place in _in_state(_states(edited.folder), "missing")} == {"arms_report"}


def _states(folder: Path) -> list[PartitionState]:
    with OpenedProject(load_project(folder / PROJECT_FILE_NAME)) as opened:
        return asyncio.run(suite_states(opened.suite_context(SUITE)))


def _run(folder: Path) -> set[Place]:
    """Run every cell under every judge and compare the cells, and return what was made anew."""
    with OpenedProject(load_project(folder / PROJECT_FILE_NAME)) as opened:
        context = opened.suite_context(SUITE)
        stages = [
            stage
            for cell in context.project.cells_of(SUITE)
            for judge in context.project.judges_of(SUITE)
            for stage in run_cell(context, cell, judge).stages
        ]
        stages += [one.stage.materialize(context, one.cell, one.judge) for one in suite_comparisons(context)]
        return {_place(context, stage) for stage in stages if not stage.unchanged}


def _place(context: SuiteContext, stage: StageResult) -> Place:
    cells = {cell.key: cell.id for cell in context.project.cells_of(SUITE)}
    judges = {judge.key: judge.id for judge in context.project.judges_of(SUITE)}
    artifact = stage.manifest.artifact
    keys = artifact.partition.split("/")
    cell_key, judge_key, *_ = ("", *keys) if artifact.asset in OVER_MANY_CELLS else (*keys, "")
    return artifact.asset, cells.get(cell_key), judges.get(judge_key)


def _places(states: list[PartitionState]) -> set[Place]:
    return {(state.asset, state.cell, state.judge) for state in states}


def _in_state(states: list[PartitionState], name: str) -> set[Place]:
    return _places([state for state in states if state.state == name])


def _expected(assets: str, partitions: str) -> set[Place]:
    """Return the partitions that a cell of the documented table stands for."""
    named: set[str] = set()
    for part in re.findall(r"`(\w+)`( and what follows)?", assets):
        named |= _following(part[0]) if part[1] else {part[0]}
    cells = {"of the cell": ("brief",), "of the plugin cell": (PLUGIN_CELL,), "of the new cell": ("new",)}.get(partitions, CELLS)
    judges = {"of the judge": ("strict",), "of the new judge": ("new",)}.get(partitions, ("facts", "strict"))
    places: set[Place] = {(name, None, None) for name in named & {question_set.ASSET, corpus.ASSET}}
    places |= {(name, cell, None) for name in named & {arm_answers.ASSET} for cell in cells}
    places |= {(name, None, judge) for name in named & OVER_MANY_CELLS for judge in judges}
    places |= {(name, cell, judge) for name in named & {plugin_deltas.ASSET} for cell in {*cells} & {PLUGIN_CELL} for judge in judges}
    scored = named & {stage.asset for stage in SCORE_STAGES}
    return places | {(name, cell, judge) for name in scored for cell in cells for judge in judges}


def _missing(row: Row) -> set[Place]:
    """Return what a row calls missing: of a cell alone, what is over many cells is there already."""
    places = _expected(row.missing, row.partitions)
    return {place for place in places if place[0] not in OVER_MANY_CELLS} if row.partitions.endswith("cell") else places


def _following(asset: str) -> set[str]:
    """Return an asset and all that is made from it, at any remove."""
    found = {asset}
    for name, reads in READS.items():  # in the order of the data
        if found & set(reads):
            found.add(name)
    return found
