"""Assets of one's own below a suite's: what they are given."""

from pathlib import Path

import dagster as dg
import pandas as pd
import pytest

from tests.support.starter_project import QUIET, StarterProject, key_of


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> StarterProject:
    starter = StarterProject.written_to(tmp_path_factory.mktemp("starter"))
    starter.materialize_all()
    return starter


def _materialize(starter: StarterProject, asset: dg.AssetsDefinition, partition_key: str | None) -> object:
    definitions = starter.definitions
    result = dg.materialize(
        [*(definitions.assets or []), asset],
        selection=[asset],
        partition_key=partition_key,
        resources=definitions.resources,
        instance=starter.instance,
        run_config=QUIET,
    )
    return result.success


def test_a_downstream_asset_receives_a_cells_answers_as_a_dataframe(starter: StarterProject) -> None:
    received: list[pd.DataFrame] = []
    answers = starter.definitions.resolve_assets_def(key_of("arm_answers"))

    @dg.asset(ins={"answers": dg.AssetIn(key_of("arm_answers"))}, partitions_def=answers.partitions_def)
    def longest(answers: pd.DataFrame) -> None:
        received.append(answers)

    assert _materialize(starter, longest, starter.cell_key)
    (table,) = received
    assert len(table) == 40
    assert set(table["state"]) == {"answered"}
    assert table["question_id"].nunique() == 8


def test_a_downstream_asset_receives_scores_of_a_cell_and_judge(starter: StarterProject) -> None:
    received: list[pd.DataFrame] = []
    scores = starter.definitions.resolve_assets_def(key_of("judged_scores"))

    @dg.asset(ins={"scores": dg.AssetIn(key_of("judged_scores"))}, partitions_def=scores.partitions_def)
    def best(scores: pd.DataFrame) -> None:
        received.append(scores)

    assert _materialize(starter, best, starter.score_key)
    assert received[0]["points"].between(0, 100).all()


def test_an_asset_without_partitions_receives_all_cells_one_below_the_other(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.add_cells("short")
    starter.answer()
    cells = starter.instance.get_dynamic_partitions("kettle.cells")
    assert len(cells) == 2
    received: list[pd.DataFrame] = []

    @dg.asset(ins={"answers": dg.AssetIn(key_of("arm_answers"))})
    def compared(answers: pd.DataFrame) -> None:
        received.append(answers)

    assert _materialize(starter, compared, None)
    assert received[0].groupby("partition").size().to_dict() == dict.fromkeys(cells, 40)


def test_an_asset_that_has_no_table_is_named(starter: StarterProject) -> None:
    @dg.asset(ins={"questions": dg.AssetIn(key_of("question_set"))})
    def counted(questions: pd.DataFrame) -> None: ...

    with pytest.raises(Exception, match=r"unknown asset with a table 'question_set' \(known: arm_answers, judged_scores\)"):
        _materialize(starter, counted, None)


def test_a_returned_value_is_refused_rather_than_pickled(starter: StarterProject) -> None:
    @dg.asset
    def returning() -> int:
        return 3

    with pytest.raises(dg.DagsterInvariantViolationError, match="returned a value; write an artifact"):
        _materialize(starter, returning, None)
