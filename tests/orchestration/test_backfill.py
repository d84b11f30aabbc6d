"""`evalplatform backfill`: what it makes, what it asks, and what is left when some of it fails."""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from evalplatform.cli.main import exit_code
from evalplatform.stages import judged_scores
from evalplatform.stages.comparison_stages import COMPARISON_ASSETS, wanted_comparisons
from evalplatform.stages.score_stages import suite_stages
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter_project import StarterProject

CELLS = ("one", "two", "three")
QUESTIONS = [
    {"id": "heat", "question": "How hot?", "expected_facts": ["hot"]},
    {"id": "time", "question": "How long?", "expected_facts": ["long"]},
]
ROWS = 2 * 2  # questions, arms
RUBRIC = {"kind": "rubric", "model": "judge-large", "endpoint": "judging", "sampling": {"max_tokens": 50}}


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")


@pytest.fixture
def judging() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


def _endpoint(stub: ModelStub, **settings: object) -> dict[str, object]:
    return {"provider": "openai-compatible", "base_url": stub.url, "retry": {"attempts": 1}, **settings}


def _written(folder: Path, answering: ModelStub, judging: ModelStub, *, judges: tuple[str, ...]) -> StarterProject:
    starter = StarterProject.written_to(folder)
    (folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": QUESTIONS}))
    starter.edit(
        {
            "endpoints.answering": _endpoint(answering),
            "endpoints.judging": _endpoint(judging, limits={"max_concurrent": 1}, prices=_PRICES),
            "cells": {cell: {"model": f"stub;do=reply;text=Kettle+{cell}", "endpoint": "answering"} for cell in CELLS},
            "judges.strict": RUBRIC,
            "suites.kettle.arms": ["baseline", "skill:skills/use-kettle"],
            "suites.kettle.cells": list(CELLS),
            "suites.kettle.judges": list(judges),
        }
    )
    return starter


_PRICES = {"input_per_million_usd": 100.0, "output_per_million_usd": 100.0}


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of three cells that answered and were judged by word overlap; the endpoint that answered is gone."""
    folder = tmp_path_factory.mktemp("answered") / "project"
    with pytest.MonkeyPatch.context() as patch, running_stub() as answering, running_stub() as judging:
        patch.setenv("DAGSTER_HOME", "")
        starter = _written(folder, answering, judging, judges=("facts",))
        assert _backfill(starter) == 0
        fresh = _written(folder.with_name("fresh"), answering, judging, judges=("strict",))
        assert _backfill(fresh) == 0
    return folder


@pytest.fixture
def answered(offline: Path, tmp_path: Path, judging: ModelStub) -> StarterProject:
    """A copy of it, to which a judge is added whose endpoint answers."""
    starter = StarterProject(Path(shutil.copytree(offline, tmp_path / "project", symlinks=True)))
    starter.edit({"endpoints.judging.base_url": judging.url, "suites.kettle.judges": ["facts", "strict"]})
    return starter


def _backfill(starter: StarterProject, *arguments: str) -> int:
    return exit_code(["backfill", "--project", os.fspath(starter.folder), *arguments])


def _scores(folder: Path, judge_id: str) -> dict[tuple[str, str, str, int], tuple[float | None, str | None]]:
    with StarterProject(folder).opened() as opened:
        suite = opened.suite_context("kettle")
        judge = suite.project.judge(judge_id)
        found = {}
        for cell in suite.project.cells_of("kettle"):
            manifest = suite.upstream(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
            for score in judged_scores.stored_scores(suite, manifest):
                found[cell.id, score.question_id, score.arm, score.draw] = (score.judgement.points, score.judgement.reason)
    return found


def test_a_new_judge_scores_every_stored_answer_while_the_answering_endpoint_is_off(
    answered: StarterProject, offline: Path, judging: ModelStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _backfill(answered, "--judge", "strict") == 0
    out = capsys.readouterr().out
    assert "answer calls made: 0, $0.0000 paid, 0 replayed" in out
    scores = _scores(answered.folder, "strict")
    assert len(scores) == len(CELLS) * ROWS
    assert all(points is not None for points, _ in scores.values())
    assert scores == _scores(offline.with_name("fresh"), "strict")
    assert f"judge calls made: {judging.requests}," in out
    assert _backfill(answered, "--judge", "strict") == 0
    assert "nothing to make" in capsys.readouterr().out
    assert {seen.count for seen in judging.seen.values()} == {1}


def test_what_a_new_judge_made_is_shown_by_dagster_with_no_answer_calls(answered: StarterProject) -> None:
    assert _backfill(answered, "--judge", "strict") == 0
    with dg.DagsterInstance.from_config(os.fspath(answered.folder / ".evalplatform/dagster")) as instance:
        key = dg.AssetKey(["suites", "kettle", "judged_scores"])
        records = instance.fetch_materializations(key, limit=20).records
        of_strict = [record.asset_materialization for record in records if "strict" in (record.partition_key or "")]
        assert {made.metadata["answer_calls"].value for made in of_strict if made is not None} == {0}
        assert len(of_strict) == len(CELLS)


def test_when_a_judge_fails_midway_what_it_finished_stays_and_the_rest_alone_is_asked_again(
    answered: StarterProject, judging: ModelStub, capsys: pytest.CaptureFixture[str]
) -> None:
    judging.fail_after, judging.fail_status = ROWS + 2, 401
    assert _backfill(answered, "--judge", "strict") == 2
    told = capsys.readouterr()
    scored, compared = len(suite_stages(answered.project.suite("kettle"))), len(wanted_comparisons(answered.project.cells_of("kettle")))
    stopped, incomplete = answered.project.cell("three").key, answered.project.cell("two").key
    assert told.err.count("|") == told.err.count(f"error: kettle {stopped}|") + told.err.count(f"judged_scores {incomplete}|") == 2
    assert re.search(rf"error: kettle {incomplete}/\S+: 50.0% of .* Without points: judge_failed 2\.", told.err)
    assert f"error: calls failed in judged_scores {incomplete}|" in told.err
    assert f"made {2 * scored + compared} of {3 * scored + compared} partitions, 1 failed" in told.out
    assert sum(_paid_bodies(judging).values()) == ROWS + 2

    judging.fail_after = None
    assert _backfill(answered, "--judge", "strict") == 0
    again = capsys.readouterr().out
    assert f"made {2 * scored + compared} of {2 * scored + compared} partitions" in again
    assert "answer calls made: 0," in again
    assert f"judge calls made: {2 * ROWS - 2}, " in again
    assert "2 replayed from the ledger" in again
    assert set(_paid_bodies(judging).values()) == {1}  # what had a reply was not asked again
    assert len(_scores(answered.folder, "strict")) == len(CELLS) * ROWS


def _paid_bodies(stub: ModelStub) -> Counter[str]:
    return Counter({digest: seen.statuses.count(200) for digest, seen in stub.seen.items() if 200 in seen.statuses})


def test_a_judge_that_gives_no_score_ends_a_backfill_with_2_and_every_partition_is_named(
    answered: StarterProject, capsys: pytest.CaptureFixture[str]
) -> None:
    answered.edit({"judges.strict.model": "stub;do=reply;text=no+scores+here"})
    assert _backfill(answered, "--judge", "strict") == 2
    told = capsys.readouterr()
    judge = answered.project.judge("strict").key
    for cell in answered.project.cells_of("kettle"):
        found = "0.0% of the questions were scored in both arms of a comparison; 95% are needed. Without points: malformed_reply 4."
        assert f"error: kettle {cell.key}/{judge}: {found}" in told.err
    cells = ", ".join(cell.key for cell in answered.project.cells_of("kettle"))
    unpriced = [line for line in told.err.splitlines() if "unpriced failed" in line]
    assert len(unpriced) == 1  # the answers' calls have no price: said once, of every cell
    assert unpriced[0].startswith(f"warning: kettle: unpriced failed in 3 partitions ({cells}); in the first: ")
    assert "warning: kettle: coverage" not in told.err
    assert _backfill(answered, "--judge", "strict") == 0  # nothing to make, and nothing to say


def test_a_shortfall_stands_in_the_json_of_a_backfill(answered: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    answered.edit({"judges.strict.model": "stub;do=reply;text=no+scores+here"})
    assert _backfill(answered, "--judge", "strict", "--cell", "one", "--json") == 2
    findings = json.loads(capsys.readouterr().out)["findings"]
    partition = f"{answered.project.cell('one').key}/{answered.project.judge('strict').key}"
    shortfall = {"rate": 0.0, "least_rate": 0.95, "compared": True, "unscored": {"malformed_reply": ROWS}}
    assert findings["shortfalls"] == [{"suite": "kettle", "partition": partition, "shortfall": shortfall}]
    assert "unpriced" in {failed["check"] for failed in findings["failed_checks"]}


def test_a_suites_own_limit_decides_whether_a_backfill_covers_enough(answered: StarterProject) -> None:
    answered.edit(
        {
            "judges.strict.model": "stub;do=reply;text=no+scores+here",
            "suites.kettle.checks": {"coverage": {"least_scored_rate": 0.0}},
        }
    )
    assert _backfill(answered, "--judge", "strict", "--cell", "one") == 0


def test_a_dry_run_counts_judge_calls_from_stored_answers_and_makes_nothing(
    answered: StarterProject, judging: ModelStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _backfill(answered, "--judge", "strict", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "judged_scores: 3 missing: " in out
    assert "total: 0 answer calls, " in out
    assert judging.requests == 0
    assert _backfill(answered, "--judge", "strict", "--dry-run", "--json") == 0
    (plan,) = json.loads(capsys.readouterr().out)
    assert plan["answers"] == []
    planned = sum(cell["calls"] for cell in plan["judgements"])
    assert plan["price_usd"] > 0
    assert plan["spend_cap"] is None
    answered.edit({"budgets": {"kettle": {"max_cost_usd": 100.0}}})
    assert _backfill(answered, "--judge", "strict", "--dry-run") == 0
    assert "; 3 such runs, at most $300.00 together" in capsys.readouterr().out
    assert _backfill(answered, "--judge", "strict") == 0
    assert judging.requests == planned


def test_cells_without_answers_or_with_stale_ones_are_left_out_of_a_judges_backfill_and_named(
    answered: StarterProject, capsys: pytest.CaptureFixture[str]
) -> None:
    answered.edit(
        {
            "cells.new": {"model": "model-new", "endpoint": "answering"},
            "cells.two.sampling": {"seed": 5},
            "suites.kettle.cells": [*CELLS, "new"],
        }
    )
    assert _backfill(answered, "--judge", "strict") == 0
    err = capsys.readouterr().err
    assert "left out of kettle: 1 cell that strict cannot score, since its answers are stale: two" in err
    assert "left out of kettle: 1 cell that strict cannot score, since it has no answers yet: new" in err
    with answered.opened() as opened:
        scored = {
            artifact.partition.split("/")[0] for artifact in opened.catalog.list(asset="judged_scores") if "strict" in artifact.partition
        }
    assert scored == {answered.project.cell(cell).key for cell in ("one", "three")}


def test_a_judges_backfill_without_any_answers_ends_with_2(answered: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    questions = answered.folder / "questions.json"
    questions.write_text(questions.read_text().replace("How hot?", "How cold?"))
    assert _backfill(answered, "--judge", "strict") == 2
    assert "error: no cell has answers that can be scored" in capsys.readouterr().err
    assert _backfill(answered, "--judge", "strict", "--dry-run") == 2


def test_one_cell_alone_can_be_made(answered: StarterProject, judging: ModelStub) -> None:
    assert _backfill(answered, "--judge", "strict", "--cell", "two") == 0
    with answered.opened() as opened:
        scored = {
            artifact.partition.split("/")[0] for artifact in opened.catalog.list(asset="judged_scores") if "strict" in artifact.partition
        }
    assert scored == {answered.project.cell("two").key}


def test_cells_that_cannot_answer_leave_the_others_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.edit(
        {
            "endpoints.keyed": {"provider": "openai-compatible", "base_url": "http://127.0.0.1:9/v1", "key_env": "NO_SUCH_KEY_HERE"},
            "cells.locked": {"model": "small", "endpoint": "keyed"},
            "suites.kettle.cells": ["locked", "reader"],
        }
    )
    assert _backfill(starter) == 2
    told = capsys.readouterr()
    key = starter.project.cell("locked").key
    assert f"error: kettle {key}: " in told.err
    assert "NO_SUCH_KEY_HERE" in told.err
    assert "its answers were not made" in told.err
    with starter.opened() as opened:
        reported = {artifact.partition.split("/")[0] for artifact in opened.catalog.list(asset="arms_report")}
    assert reported == {starter.project.cell("reader").key}


def test_an_unknown_judge_is_answered_with_the_near_one(answered: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    assert _backfill(answered, "--judge", "strct") == 2
    assert "Did you mean 'strict'?" in capsys.readouterr().err


def test_where_to_watch_a_submitted_backfill_is_said_without_a_port_that_the_ui_may_not_have(
    answered: StarterProject, judging: ModelStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _backfill(answered, "--judge", "strict", "--submit") == 0
    told = capsys.readouterr()
    backfill_id = told.out.removeprefix("backfill ").partition(":")[0]
    assert f"watch it in the Dagster UI at /runs/b/{backfill_id}\n" in told.err
    assert "http" not in told.out + told.err


def test_a_submitted_backfill_waits_for_the_daemon_with_exactly_what_is_to_be_made(
    answered: StarterProject, judging: ModelStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _backfill(answered, "--judge", "strict", "--submit", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert judging.requests == 0
    with dg.DagsterInstance.from_config(os.fspath(answered.folder / ".evalplatform/dagster")) as instance:
        backfill = instance.get_backfill(told["backfill_id"])
        assert backfill is not None
        assert backfill.tags["evalplatform/suite"] == "kettle"
        data = backfill.get_asset_backfill_data(answered.definitions.resolve_asset_graph())
        judge = answered.project.judge("strict").key
        of_cells = {f"{cell.key}|{judge}" for cell in answered.project.cells_of("kettle")}
        for key in data.target_subset.asset_keys:
            wanted = {judge} if key.path[-1] in COMPARISON_ASSETS else of_cells
            assert set(data.target_subset.get_partitions_subset(key).get_partition_keys()) == wanted
        assert dg.AssetKey(["suites", "kettle", "arm_answers"]) not in data.target_subset.asset_keys
