"""What Dagster makes of awkward partition keys, and how none of them reaches it."""

import json
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context  # there is no public way to it
from dagster._core.errors import DagsterInvalidInvocationError

from assets.partitions import suite_partitions
from evalplatform.kernel.errors import ProjectFileError
from evalplatform.kernel.keys import checked_key
from evalplatform.project.load import load_project
from tests.support.runs_project import SCENARIOS, RunsProject
from tests.support.starter import starter
from tests.support.starter_project import StarterProject

PITFALLS = {pitfall["id"]: pitfall["input"] for pitfall in json.loads(Path("tests/cases/pitfalls.json").read_text(encoding="utf-8"))}
AWKWARD = [*(key for key in PITFALLS["G02"]["dynamic_keys"] if "|" in key), *PITFALLS["G03"]["keys"], *PITFALLS["G04"]["keys"]]


def test_three_dimensions_are_refused_by_dagster_and_two_with_a_prefix_do(tmp_path: Path) -> None:
    """G01: product, cell and judge. A product's suite is the prefix of its asset keys; a partition is a cell under a judge."""
    with pytest.raises(DagsterInvalidInvocationError, match="only supports multi-partitions definitions with 2"):
        dg.MultiPartitionsDefinition({name: dg.DynamicPartitionsDefinition(name=name) for name in PITFALLS["G01"]["dims"]})
    project = StarterProject.written_to(tmp_path / "project")
    kettle = project.project.suite("kettle").model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    project.edit({"suites.steam": kettle})
    dimensions: dict[str, set[tuple[str, ...]]] = {}
    for asset in project.definitions.resolve_asset_graph().asset_nodes:
        if isinstance(asset.partitions_def, dg.MultiPartitionsDefinition):
            names = tuple(dimension.name for dimension in asset.partitions_def.partitions_defs)
            dimensions.setdefault("/".join(asset.key.path[:2]), set()).add(names)
    assert dimensions == {"suites/kettle": {("cell", "judge")}, "suites/steam": {("cell", "judge")}}


def test_a_bar_in_a_key_makes_its_partitions_vanish_in_dagster(tmp_path: Path) -> None:
    """G02, as Dagster has it: what our keys are kept from."""
    with dg.DagsterInstance.ephemeral() as instance:
        partitions = suite_partitions("kettle")
        instance.add_dynamic_partitions("kettle.cells", PITFALLS["G02"]["dynamic_keys"])
        instance.add_dynamic_partitions("kettle.judges", PITFALLS["G02"]["other_dim"])
        with partition_loading_context(dynamic_partitions_store=instance):
            assert instance.get_dynamic_partitions("kettle.cells") == ["a|b", "c"]
            assert [str(key) for key in partitions.scores.get_partition_keys()] == ["c|1"]


def test_nights_have_one_dimension_though_dagster_takes_days_beside_dynamic_keys(tmp_path: Path) -> None:
    """G06: the pinned version ends such a step well; earlier ones did not, so that no asset of ours depends on it."""
    days = dg.DailyPartitionsDefinition("2025-11-30", end_date="2025-12-02")
    both = dg.MultiPartitionsDefinition({"day": days, "stream": dg.DynamicPartitionsDefinition(name="streams")})

    @dg.asset(partitions_def=both)
    def nights() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(data_version=dg.DataVersion("1"))

    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("streams", ["checkout"])
        key = dg.MultiPartitionKey({"day": "2025-12-01", "stream": "checkout"})
        assert dg.materialize([nights], partition_key=key, instance=instance).success
        assert instance.get_materialized_partitions(nights.key) == {str(key)}

    runs = RunsProject.written_to(tmp_path / "project", scenarios=SCENARIOS)
    partitions = {node.key.path[-1]: node.partitions_def for node in runs.definitions.resolve_asset_graph().asset_nodes}
    for asset in ("sentinel_nights", "monitoring_nights"):
        assert isinstance(partitions[asset], dg.DynamicPartitionsDefinition)
    times = (dg.TimeWindowPartitionsDefinition, dg.MultiPartitionsDefinition)
    assert not [asset for asset, definition in partitions.items() if isinstance(definition, times)]


@pytest.mark.parametrize("awkward", [key for key in AWKWARD if key != "0.94-to-0.95"])
@pytest.mark.parametrize("section", ["cells", "judges"])
def test_a_cell_or_judge_of_such_an_id_is_refused_with_its_line(tmp_path: Path, awkward: str, section: str) -> None:
    """G02, G03, G04: bars, commas, colons, slashes, `..`, line breaks, nothing at all."""
    old = {"cells": "  reader: {", "judges": "  facts: {"}[section]
    file = starter(tmp_path / "project", (old, f"  {json.dumps(awkward)}: {{"))
    with pytest.raises(ProjectFileError, match=rf"evalplatform.yaml:\d+: {section}\."):
        load_project(file, environ={})


def test_a_key_with_dots_is_a_partition_like_any_other(tmp_path: Path) -> None:
    """G04: `0.94-to-0.95` is safe, so it is no reason to refuse."""
    project = StarterProject.written_to(tmp_path / "project")
    cell = {"model": "extractive", "endpoint": "here"}
    project.edit({"cells": {"0.94-to-0.95": cell}, "suites.kettle.cells": ["0.94-to-0.95"]})
    project.register()
    (key,) = project.instance.get_dynamic_partitions("kettle.cells")
    assert checked_key(key, what="partition key") == key == project.cell_key
    keys = suite_partitions("kettle").scores.get_partition_keys(dynamic_partitions_store=project.instance)
    assert [str(pair) for pair in keys] == [str(project.score_key)]
