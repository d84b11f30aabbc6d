"""Pitfalls of aggregation and statistics, in every comparison across runs: a file read back gives the numbers that its rows gave."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evalplatform.comparisons.batch_check import BatchFile, check_batch
from evalplatform.comparisons.batch_rules import BatchRules
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison, RunRow
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.kernel.errors import InputError
from evalplatform.plugins.plugin_set import parse_plugins
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import write_arms_v1
from evalplatform.reports.compared_run_file import read_compared_run
from tests.support.arm_rows import MATERIALS, Points, Table, answers_of, question_id, question_set, run_facts, scores_of, timings_of

PLUGINS = {"plugins": parse_plugins(["truncate:80"]).stamps}
UNSCORED: Table = {"baseline": [None, 0.0, 70.0, 55.5, 65.0, 75.0, 52.0, 58.0], "docs": [58.0, 66.0, None, 61.0, 0.0, 83.0, None, 61.0]}
OTHER: Table = {"baseline": [40.0, 10.0, 71.0, None, 64.0, 70.0, 50.0, 59.0], "docs": [57.0, None, 60.0, 62.0, 5.0, 81.0, 44.0, 60.0]}


def from_file(path: Path, table: Table, **stamps: object) -> ComparedRun:
    facts = run_facts(list(table)).with_changes(**stamps)
    size = len(table["baseline"])
    payload = arms_v1_payload(
        facts, question_set(size), answers=answers_of(table), scores=scores_of(table), timings=timings_of(table), materials=MATERIALS
    )
    return read_compared_run(write_arms_v1(path, payload))


def in_memory(run: ComparedRun, table: Table) -> ComparedRun:
    """Return the run with the points that its rows give before anything was written."""
    ids = [question_id(number) for number in range(len(table["baseline"]))]
    placed = question_scores(scores_of(table), arms=list(table), question_ids=ids, draws=1)
    return replace(
        run, arms={arm: replace(run.arms[arm], points=of.points, unscored_reasons=of.unscored_reasons) for arm, of in placed.items()}
    )


def of_plugins(first: ComparedRun, second: ComparedRun) -> PluginDelta:
    delta = plugin_delta(first, second)
    assert isinstance(delta, PluginDelta)
    return delta


def of_models(first: ComparedRun, second: ComparedRun) -> ModelComparison:
    comparison = compare_models([first, second])
    assert isinstance(comparison, ModelComparison)
    return comparison


def row_of(table: Table, path: Path) -> RunRow:
    return of_models(from_file(path / "a.json", table), from_file(path / "b.json", table, model="other-8b")).runs[0]


def test_a_run_that_was_written_and_read_compares_as_its_rows_did(tmp_path: Path) -> None:
    """J07: an unscored question stays unscored through the file, and a 0 stays a 0."""
    plain, shaped = from_file(tmp_path / "plain.json", UNSCORED), from_file(tmp_path / "shaped.json", OTHER, **PLUGINS)
    rows = in_memory(plain, UNSCORED), in_memory(shaped, OTHER)
    for read, row in zip((plain, shaped), rows, strict=True):
        assert {arm: (of.points, of.unscored_reasons) for arm, of in read.arms.items()} == {
            arm: (of.points, of.unscored_reasons) for arm, of in row.arms.items()
        }
    assert sum(plain.arms["docs"].unscored_reasons.values()) == 2
    assert of_plugins(plain, shaped) == of_plugins(*rows)
    assert [score.pairs for score in of_plugins(plain, shaped).scores] == [6, 5]
    models = plain, from_file(tmp_path / "other.json", OTHER, model="other-8b")
    assert of_models(*models) == of_models(in_memory(models[0], UNSCORED), in_memory(models[1], OTHER))
    assert of_models(*models).runs[0].unscored == 3


def test_a_nan_in_a_file_is_refused_and_never_becomes_a_score(tmp_path: Path) -> None:
    """J07: a NaN that one reader takes for nothing is a 0 for the next."""
    path = tmp_path / "nan.json"
    from_file(path, UNSCORED)
    path.write_text(path.read_text().replace('"aggregate": 55.5', '"aggregate": NaN'))
    with pytest.raises(InputError, match="is not JSON"):
        read_compared_run(path)


def test_a_judge_that_fails_on_half_of_the_questions_is_counted_in_every_comparison(tmp_path: Path) -> None:
    """J09: five of ten are scored; no mean is of five without saying so, and none counts the others as 0."""
    failing: list[Points] = [None, None, None, None, None, 60.0, 61.0, 62.0, 63.0, 64.0]
    table: Table = {"baseline": [50.0 + number for number in range(10)], "docs": failing}
    whole: Table = {"baseline": table["baseline"], "docs": [55.0 + number for number in range(10)]}
    plain, shaped = from_file(tmp_path / "plain.json", table), from_file(tmp_path / "shaped.json", whole, **PLUGINS)
    delta = of_plugins(plain, shaped)
    docs = delta.scores[1]
    assert (docs.pairs, docs.control_mean_points, docs.plugin_mean_points, delta.coverage_rate) == (5, 62.0, 62.0, 0.5)
    assert [warning.warning for warning in delta.warnings] == ["few_pairs"]
    row = row_of(table, tmp_path)
    assert (row.unscored, row.delta.pairs, row.delta.delta_points) == (5, 5, 5.0)
    rules = BatchRules(treatment_arm="docs", judge_model="judge-large", expected_questions={"n": 10})
    check = check_batch([BatchFile(name="plain.json", run=plain)], rules)
    (finding,) = (finding for finding in check.files[0].findings)
    assert (finding.check, finding.finding) == ("coverage", "low_coverage")
    assert check.pooled is not None
    assert (check.pooled.pairs, check.pooled.mean_points) == (5, 5.0)


@pytest.mark.parametrize("comparison", ["plugin delta", "model comparison", "batch"])
def test_pairs_are_compared_as_pairs(comparison: str, tmp_path: Path) -> None:
    """X01, a tenth of the size: d_z is 1.9365; 0.0193 would be that of two samples which have nothing to do with each other."""
    low: Sequence[float] = [10.0, 20.0, 30.0, 40.0]
    high: Sequence[float] = [10.1, 20.2, 30.3, 40.4]
    across: Table = {"baseline": low, "docs": high}
    if comparison == "plugin delta":
        plain = from_file(tmp_path / "plain.json", {"baseline": low, "docs": low})
        effect = of_plugins(plain, from_file(tmp_path / "shaped.json", {"baseline": high, "docs": high}, **PLUGINS)).scores[0].effect
    elif comparison == "model comparison":
        effect = row_of(across, tmp_path).delta.effect
    else:
        run = from_file(tmp_path / "n.json", across)
        check = check_batch([BatchFile(name="n.json", run=run)], BatchRules(treatment_arm="docs"))
        effect = check.pooled.effect if check.pooled is not None else None
    assert effect is not None
    assert effect.d_z == pytest.approx(1.9365, abs=5e-5)
