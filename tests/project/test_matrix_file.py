"""Matrix files: three shapes, one meaning; whatever is wrong is said with its place and the nearest name."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.keys import KEY_PATTERN
from evalplatform.project.matrix_file import MatrixCell, named_cell, read_matrix_cells, refuse_other_harnesses, safe_name

PLAIN = {"id": "plain", "model": "m", "provider": "openai", "harness": "arms-runner"}
TERSE = {"name": "terse", "model": "m", "provider": "openai", "harness": "arms-runner", "plugins": "caveman:lite, truncate:80"}


def cell_called(name: str) -> MatrixCell:
    return MatrixCell(name=name, model="m", provider="p", harness="arms-runner", field="cells.0")


A_B_ID = cell_called("A b").id


def written(folder: Path, data: object, name: str = "matrix.json") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def refusal(folder: Path, data: object) -> InputError:
    with pytest.raises(InputError) as refused:
        read_matrix_cells(written(folder, data))
    return refused.value


@pytest.mark.parametrize("shape", [{"matrix": {"cells": [PLAIN, TERSE]}}, {"cells": [PLAIN, TERSE]}, [PLAIN, TERSE]])
def test_the_three_shapes_name_the_same_cells(tmp_path: Path, shape: object) -> None:
    cells = read_matrix_cells(written(tmp_path, shape))
    assert [(cell.name, cell.model, cell.provider, cell.harness, cell.plugins) for cell in cells] == [
        ("plain", "m", "openai", "arms-runner", ()),
        ("terse", "m", "openai", "arms-runner", ("caveman:lite", "truncate:80")),
    ]


@pytest.mark.parametrize(
    "plugins",
    [
        "caveman:full,truncate:80",
        " caveman:full,, truncate:80,",
        ["caveman:full", "truncate:80"],
        [{"ref": "caveman:full"}, {"ref": "truncate:80", "x": 1}],
    ],
)
def test_plugins_are_a_comma_list_or_a_list_of_refs_or_of_objects(tmp_path: Path, plugins: object) -> None:
    (cell,) = read_matrix_cells(written(tmp_path, [PLAIN | {"plugins": plugins}]))
    assert cell.plugins == ("caveman:full", "truncate:80")


def test_yaml_says_the_same(tmp_path: Path) -> None:
    text = "cells:\n  - {id: plain, model: m, provider: openai, harness: arms-runner, plugins: [truncate]}\n"
    (cell,) = read_matrix_cells(written(tmp_path, text, "matrix.yaml"))
    assert (cell.name, cell.plugins) == ("plain", ("truncate",))


@pytest.mark.parametrize(
    ("data", "field", "rule", "nearest"),
    [
        ({"cells": []}, "cells", "names no cell", None),
        ([], "cells", "names no cell", None),
        ({"cels": [PLAIN]}, None, "must be a list of cells, or hold one", "cells"),
        ({"matrix": {"cells": {}}}, "matrix.cells", "must be a list of cells.", None),
        ("7", None, "must be a list of cells", None),
        (["plain"], "cells.0", "must be an object", None),
        ([PLAIN | {"id": " "}], "cells.0.id", "is missing: a cell has an id or a name", None),
        ([{"model": "m"}], "cells.0.name", "is missing: a cell has an id or a name", None),
        ([PLAIN | {"model": None}], "cells.0.model", "is missing.", None),
        ({"matrix": {"cells": [PLAIN | {"provider": ""}]}}, "matrix.cells.0.provider", "is missing.", None),
        ([PLAIN | {"model": ["m"]}], "cells.0.model", "must be text", None),
        ([PLAIN | {"harness": "arms-runer"}], "cells.0.harness", "unknown harness 'arms-runer'", "arms-runner"),
        ([PLAIN | {"harness": "terminal-bench:"}], "cells.0.harness", "unknown harness", "terminal-bench:<agent>"),
        ([PLAIN | {"plugin": "caveman"}], "cells.0.plugin", "unknown key", "plugins"),
        ([PLAIN | {"plugins": "cavemen"}], "cells.0.plugins: plugin 'cavemen'", "unknown plugin 'cavemen'", "caveman"),
        ([PLAIN | {"plugins": ["truncate", "caveman:ful"]}], "cells.0.plugins.1: plugin 'caveman:ful'", "", "full"),
        ([PLAIN | {"plugins": [{"id": "caveman"}]}], "cells.0.plugins.0.ref", "is missing: the plugin that is meant", None),
        ([PLAIN | {"plugins": 80}], "cells.0.plugins", "must be a comma list of plugin refs", None),
        ([PLAIN | {"harness": "terminal-bench:x", "plugins": "caveman"}], "cells.0.plugins: harness", "cannot run the plugin set", None),
        ([PLAIN, TERSE, PLAIN], "cells.2", "two cells are called 'plain'; the other is cells.0", None),
        ([PLAIN | {"id": "a b"}, PLAIN | {"id": "a/b"}], "cells.1", "'a/b' and 'a b' (cells.0) would be one file, 'a-b'", None),
        ([PLAIN, PLAIN | {"id": "Plain"}], "cells.1", "would be one file", None),
        ([PLAIN | {"id": "日本"}, PLAIN | {"id": "中国"}], "cells.1", "'中国' and '日本' (cells.0) would be one file, 'cell'", None),
        ([PLAIN | {"id": "A b"}, PLAIN | {"id": A_B_ID}], "cells.1", f"would be one id, '{A_B_ID}'", None),
        ([PLAIN | {"model": 5}], "cells.0.model", "must be text (got 5; put it in quotes)", None),
        ([PLAIN | {"id": True}], "cells.0.id", "must be text (got True", None),
        ([PLAIN | {"id": "x" * 300}], "cells.0.id", "has 300 characters; files are called after cells, so a name has 100 at most", None),
        (
            [PLAIN | {"temperature": 0.7}],
            "cells.0.temperature",
            "with --temperature, --max-tokens or --seed; for one, in `cells.<id>.sam",
            None,
        ),
        ([PLAIN | {"sampling": {"seed": 3}}], "cells.0.sampling", "no cell of a matrix file has a sampling of its own", None),
        ([PLAIN | {"seed": 1}], "cells.0.seed", "no cell of a matrix file has a sampling of its own", None),
        ([PLAIN | {"max_tokens": 9}], "cells.0.max_tokens", "no cell of a matrix file has a sampling of its own", None),
        ([PLAIN | {"top_p": 1}], "cells.0.top_p", "no cell of a matrix file has a sampling of its own", None),
        ([PLAIN | {"base_url": "http://x/v1"}], "cells.0.base_url", "Say the address in `endpoints.<id>.base_url`", None),
        ('{"cells": [], "cells": []}', "cells", "stands twice in one object", None),
        ('[{"id": "a"}, {"id": "b", "plugins": [{"ref": "x", "ref": "y"}]}]', "1.plugins.0.ref", "stands twice in one object", None),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, data: object, field: str | None, rule: str, nearest: str | None) -> None:
    error = refusal(tmp_path, data)
    assert error.file == str(tmp_path / "matrix.json")
    assert (error.field, error.nearest) == (field, nearest)
    assert rule in str(error)


def test_broken_json_names_its_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, '[\n{"id": "a",}\n]')
    assert (error.line, "is not valid JSON" in str(error)) == (2, True)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: cannot be read"):
        read_matrix_cells(tmp_path / "nowhere.json")


def test_other_keys_mean_nothing(tmp_path: Path) -> None:
    (cell,) = read_matrix_cells(written(tmp_path, [PLAIN | {"notes": "the control", "tags": ["x"]}]))
    assert cell.name == "plain"


def test_a_cell_is_found_by_name_and_an_unknown_one_answered_with_the_nearest(tmp_path: Path) -> None:
    cells = read_matrix_cells(written(tmp_path, [PLAIN, TERSE]))
    assert named_cell(cells, "terse", file=tmp_path / "m.json") is cells[1]
    with pytest.raises(UnknownNameError, match=r"--matrix-cell: unknown cell 'plane'.*Did you mean 'plain'\?"):
        named_cell(cells, "plane", file=tmp_path / "m.json")


def test_only_cells_of_the_own_harness_are_run(tmp_path: Path) -> None:
    cells = read_matrix_cells(written(tmp_path, {"cells": [PLAIN, TERSE | {"harness": "openclaw-agent"}]}))
    with pytest.raises(InputError, match=r"cells\.1\.harness: is 'openclaw-agent'.*Did you mean 'arms-runner'\?"):
        refuse_other_harnesses(cells, file=tmp_path / "m.json")
    refuse_other_harnesses(cells[:1], file=tmp_path / "m.json")


def test_a_name_that_is_an_id_is_the_id() -> None:
    assert cell_called("sonnet-caveman.full").id == "sonnet-caveman.full"


@given(name=st.text(min_size=1, max_size=200))
def test_every_name_gives_an_id_and_a_file_name_that_leads_nowhere_else(name: str) -> None:
    cell = cell_called(name)
    assert KEY_PATTERN.fullmatch(cell.id)
    assert len(cell.id) <= 60
    assert all(character.isascii() and (character.isalnum() or character in "-_.") for character in cell.file_stem)
    assert cell.file_stem.strip(".")


def test_names_that_slugs_would_confuse_stay_two_cells() -> None:
    assert cell_called("A b").id != cell_called("a-b").id != cell_called("a  b").id


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("gpt 4o/x", "gpt-4o-x"),
        ("..", "cell"),
        ("//", "cell"),
        ("v1.2_b", "v1.2_b"),
        ("-a-", "a"),
        ("é", "cell"),
        ("café-2", "caf--2"),
        ("日本", "cell"),
        ("٣", "cell"),
    ],
)
def test_file_names_keep_what_is_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe
