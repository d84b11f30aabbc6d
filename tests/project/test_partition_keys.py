"""Which partitions a project file asks for, against those that are registered."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.artifacts.records import ArtifactId
from evalplatform.project.load import Project, load_project
from evalplatform.project.partition_keys import KeyGroup, current_keys, is_retired, key_changes
from tests.support.starter import starter_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return starter_project(tmp_path_factory.mktemp("starter") / "project")


def changes_from(project: Project, *, cells: Sequence[str], judges: Sequence[str]) -> dict[KeyGroup, tuple[list[str], list[str]]]:
    changes = key_changes(project, lambda suite_id, group: {"cell": cells, "judge": judges}.get(group, ()))
    return {change.group: ([added.key for added in change.added], list(change.retired)) for change in changes}


def test_what_is_registered_as_the_file_asks_changes_nothing(project: Project) -> None:
    assert changes_from(project, cells=[project.cell("reader").key], judges=[project.judge("facts").key]) == {}


def test_a_new_key_is_added_and_one_that_nothing_asks_for_is_retired(project: Project) -> None:
    cell, judge = project.cell("reader").key, project.judge("facts").key
    assert changes_from(project, cells=["reader-000000"], judges=[judge, "strict-111111"]) == {
        "cell": ([cell], ["reader-000000"]),
        "judge": ([], ["strict-111111"]),
    }


def test_a_suite_that_is_not_in_the_file_keeps_its_keys(tmp_path: Path) -> None:
    """Its assets go with a reload, and a half-saved file must not look like an order to retire everything."""
    file = tmp_path / "evalplatform.yaml"
    file.write_text("version: 1\nproject: cut-short\n")
    assert key_changes(load_project(file, environ={}), lambda suite_id, owner: ["reader-26ddb5"]) == []


@given(st.lists(st.sampled_from(["a-000000", "b-111111", "c-222222"]), unique=True), st.booleans())
def test_after_the_changes_the_registered_keys_are_those_of_the_file(project: Project, strange: list[str], registered: bool) -> None:
    asked = project.cell("reader").key
    known = [*strange, *([asked] if registered else [])]
    added, retired = changes_from(project, cells=known, judges=[]).get("cell", ([], []))
    assert {*known, *added} - set(retired) == {asked}
    assert set(added).isdisjoint(known)


def test_an_artifact_is_retired_by_its_cell_or_its_judge_alone(project: Project) -> None:
    cell, judge = project.cell("reader").key, project.judge("facts").key

    def of(partition: str, suite: str = "kettle") -> bool:
        return is_retired(ArtifactId(suite=suite, asset="judged_scores", partition=partition), current_keys(project))

    assert not of(f"{cell}/{judge}")
    assert not of(cell)
    assert not of(judge)
    assert not of("all")
    assert of("reader-000000")
    assert of("facts-000000")
    assert of(f"reader-000000/{judge}")
    assert of(f"{cell}/facts-000000")
    assert not of("reader-000000", suite="made-up-from-flags")  # it was never in the file


def test_a_plugin_cell_is_registered_once_more_where_its_plugin_free_pair_is_in_the_suite(tmp_path: Path) -> None:
    reader = "  reader: {model: extractive, endpoint: here, sampling: {max_tokens: 120}}"
    short = "  short: {model: extractive, endpoint: here, plugins: [truncate:80], sampling: {max_tokens: 120}}"
    alone = "  alone: {model: other, endpoint: here, plugins: [truncate:80], sampling: {max_tokens: 120}}"
    project = starter_project(tmp_path, (reader, f"{reader}\n{short}\n{alone}"), ("cells: [reader]", "cells: [reader, short, alone]"))
    changes = {change.group: change for change in key_changes(project, lambda suite_id, group: ())}
    assert [cell.key for cell in changes["cell"].added] == [project.cell(cell_id).key for cell_id in ("reader", "short", "alone")]
    assert [cell.key for cell in changes["plugin_cell"].added] == [project.cell("short").key]
