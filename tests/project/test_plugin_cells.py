"""Cells with plugins: what their key and label say, which cell they are compared with, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.kernel.errors import ProjectFileError
from evalplatform.plugins.plugin_set import EMPTY_PLUGIN_SET_ID
from evalplatform.project.cells import Cell, plugin_free_pair
from evalplatform.project.key_register import meaning_of
from evalplatform.project.load import Project
from tests.support.starter import starter_project

READER = "reader: {model: extractive, endpoint: here, sampling: {max_tokens: 120}}"
OTHER_ENDPOINT = ("  here: {provider: offline}", "  here: {provider: offline}\n  near: {provider: offline, limits: {max_concurrent: 2}}")
FIRST_SEEN = datetime(2026, 1, 1, tzinfo=UTC)


def project(folder: Path, *cells: str) -> Project:
    """Return a project whose suite's cell has no plugin, beside cells given as `id: {...}` lines."""
    folder.mkdir(parents=True, exist_ok=True)
    return starter_project(folder, (READER, "\n  ".join((READER, *cells))), OTHER_ENDPOINT)


def cell(folder: Path, settings: str) -> Cell:
    return project(folder, f"other: {{model: extractive, endpoint: here, {settings}}}").cell("other")


def refused(folder: Path, settings: str) -> ProjectFileError:
    with pytest.raises(ProjectFileError) as error:
        cell(folder, settings)
    assert error.value.line == 17
    return error.value


def test_a_label_names_model_harness_and_the_plugins_in_their_order(tmp_path: Path) -> None:
    assert project(tmp_path / "a").cell("reader").label == "extractive|arms-runner|none"
    assert cell(tmp_path / "b", "plugins: [truncate:060, plugin:caveman]").label == "extractive|arms-runner|truncate:60+caveman:full"


def test_a_cell_without_plugins_has_the_empty_sets_id_and_the_key_it_always_had(tmp_path: Path) -> None:
    bare, empty = project(tmp_path / "a").cell("reader"), project(tmp_path / "b", READER.replace("reader", "other")).cell("other")
    assert (bare.plugin_set, bare.plugin_set_id, bare.key) == ("none", EMPTY_PLUGIN_SET_ID, "reader-26ddb5")
    assert cell(tmp_path / "c", "sampling: {max_tokens: 120}, plugins: []").key == empty.key


def test_spellings_of_one_plugin_set_are_one_cell_and_another_order_is_another(tmp_path: Path) -> None:
    def key(name: str, plugins: str) -> str:
        return cell(tmp_path / name, f"plugins: [{plugins}]").key

    assert key("a", "caveman, truncate") == key("b", "plugin:caveman:full, 'truncate: 800'")
    assert len({key("c", "caveman"), key("d", "caveman:lite"), key("e", "caveman, truncate"), key("f", "truncate, caveman")}) == 4


def test_a_list_of_plugins_without_entries_is_an_empty_one(tmp_path: Path) -> None:
    assert cell(tmp_path, "plugins: , sampling: {max_tokens: 120}").plugins == ()


@pytest.mark.parametrize(
    ("plugins", "field", "rule"),
    [
        ("caveman", "cells.other.plugins", "must be a list: [caveman] (got 'caveman')."),
        ("'caveman, truncate:80'", "cells.other.plugins", "must be a list: [caveman, truncate:80] (got 'caveman, truncate:80')."),
        (
            "[caveman, 'caveman:lite,truncate:80']",
            "cells.other.plugins.1",
            "must be one plugin an entry: [caveman:lite, truncate:80] (got 'caveman:lite,truncate:80').",
        ),
        (
            "[truncate: 80]",
            "cells.other.plugins.0",
            "must be text, and a colon with a blank after it makes a mapping: write [truncate:80].",
        ),
    ],
)
def test_what_is_near_to_a_list_of_plugins_is_refused_with_the_right_spelling(tmp_path: Path, plugins: str, field: str, rule: str) -> None:
    error = refused(tmp_path, f"plugins: {plugins}")
    assert (error.field, error.rule) == (field, rule)


def test_what_a_key_stands_for_names_the_plugins_to_a_reader(tmp_path: Path) -> None:
    meaning = meaning_of(cell(tmp_path / "a", "plugins: [truncate:80]"), first_seen=FIRST_SEEN)
    assert meaning.labels["plugin_set"] == "truncate:80"
    assert meaning.behaviour["plugins"] == [
        {"id": "truncate", "kind": "output_shaper", "version": "0.1.0", "config": {"max_chars": 80, "ellipsis": True}}
    ]
    assert "plugin_set" not in meaning_of(project(tmp_path / "b").cell("reader"), first_seen=FIRST_SEEN).labels


PLUGGED = "plugged: {model: extractive, endpoint: here, plugins: [truncate:80], sampling: {max_tokens: 120, seed: 3}}"


@pytest.mark.parametrize(
    ("other", "is_pair"),
    [
        ("endpoint: here, sampling: {max_tokens: 120, seed: 3}", True),
        ("endpoint: near, sampling: {max_tokens: 120, seed: 3}", True),
        ("endpoint: here, sampling: {max_tokens: 120, seed: 3}, plugins: [caveman]", False),
        ("endpoint: here, sampling: {max_tokens: 120, seed: 4}", True),
        ("endpoint: here, sampling: {max_tokens: 120}", True),
        ("endpoint: here, sampling: {max_tokens: 120, seed: 3, top_p: 0.9}", False),
        ("endpoint: here, sampling: {max_tokens: 121, seed: 3}", False),
        ("endpoint: here, harness: agent, sampling: {max_tokens: 120, seed: 3}", False),
    ],
)
def test_the_plugin_free_pair_differs_in_plugins_alone_or_in_the_seed_too(tmp_path: Path, other: str, is_pair: bool) -> None:
    opened = project(tmp_path / "a", PLUGGED, f"other: {{model: extractive, {other}}}")
    cells = [opened.cell("plugged"), opened.cell("other")]
    pair = plugin_free_pair(cells[0], cells)
    assert (pair.id if pair else None) == ("other" if is_pair else None)


def test_of_several_plugin_free_cells_the_one_with_an_equal_seed_is_the_pair(tmp_path: Path) -> None:
    others = [f"s{seed}: {{model: extractive, endpoint: here, sampling: {{max_tokens: 120, seed: {seed}}}}}" for seed in (1, 3)]
    opened = project(tmp_path / "a", PLUGGED, *others)
    cells = [opened.cell(name) for name in ("plugged", "s1", "s3")]
    assert plugin_free_pair(cells[0], cells) == cells[2]
    assert plugin_free_pair(cells[0], cells[:2]) == cells[1]


def test_a_cell_without_plugins_is_nobodys_plugin_cell_and_the_first_of_two_pairs_is_taken(tmp_path: Path) -> None:
    twin = "{model: extractive, endpoint: here, sampling: {max_tokens: 120, seed: 3}}"
    opened = project(tmp_path / "a", PLUGGED, f"first: {twin}", f"second: {twin}")
    cells = [opened.cell(name) for name in ("plugged", "second", "first")]
    assert plugin_free_pair(cells[1], cells) is None
    assert plugin_free_pair(cells[0], cells) == cells[1]


@pytest.mark.parametrize(
    ("settings", "field", "rule", "nearest"),
    [
        ("plugins: [truncate, cavman]", "cells.other.plugins.1: plugin 'cavman'", "unknown plugin 'cavman' (known: ", "caveman"),
        ("plugins: [caveman:light]", "cells.other.plugins.0: plugin 'caveman:light'", "'light' is no level; use lite, full, ultra", "lite"),
        ("plugins: [truncate:0]", "cells.other.plugins.0: plugin 'truncate:0'", "use a whole number from 1 to 999,999,999", None),
        ("plugins: [caveman, truncate, caveman:lite]", "cells.other.plugins.2: plugin 'caveman:lite'", "(caveman:full and ", None),
        (
            "plugins: [caveman], harness: arm-runner",
            "cells.other.harness",
            "'arm-runner' cannot run the plugin set caveman:full",
            "arms-runner",
        ),
    ],
)
def test_wrong_plugins_are_refused_where_they_stand_before_anything_is_asked(
    tmp_path: Path, settings: str, field: str, rule: str, nearest: str | None
) -> None:
    error = refused(tmp_path, settings)
    assert (error.field, error.nearest) == (field, nearest)
    assert rule in error.rule


@pytest.mark.parametrize("harness", ["arms-runner", "single-shot", "agent", "openclaw-agent"])
def test_harnesses_that_can_run_plugins_are_accepted_with_them(tmp_path: Path, harness: str) -> None:
    assert cell(tmp_path, f"plugins: [caveman], harness: {harness}").label == f"extractive|{harness}|caveman:full"


def test_without_plugins_the_harness_is_a_free_label(tmp_path: Path) -> None:
    assert cell(tmp_path, "harness: My own thing").label == "extractive|My own thing|none"
