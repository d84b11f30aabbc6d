"""matrix_rollup.v1: what is written, that it is read back, and what another tool's file may leave out."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.comparisons.matrix_rollup import roll_up
from evalplatform.comparisons.plugin_delta_records import FewPairs
from evalplatform.kernel.errors import InputError
from evalplatform.reports.matrix_rollup_v1 import (
    cell_artifact,
    delta_stem,
    matrix_rollup_bytes,
    matrix_rollup_payload,
    read_matrix_rollup,
)
from evalplatform.reports.matrix_stamp import with_matrix_cell
from evalplatform.reports.plugin_delta_v1 import plugin_delta_payload
from evalplatform.reports.plugin_delta_words import delta_warning
from tests.support.plugin_cells import changed, control_run, plugin_run, unjudged, with_arm

MADE_AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def test_a_rollup_repeats_each_delta_and_says_where_its_file_is() -> None:
    rollup = roll_up([control_run(), plugin_run()])
    payload = matrix_rollup_payload(rollup, generated_at=MADE_AT)
    assert (payload["schema_version"], payload["generated_at"]) == ("matrix_rollup.v1", "2026-03-01T12:30:00Z")
    assert (payload["library_name"], payload["total_cells"], payload["warnings"]) == ("Object Storage", 2, [])
    (delta,) = payload["plugin_deltas"]  # type: ignore[misc]
    assert delta["artifact"] == "plugin-delta-plain-to-caveman-bf362824.json"  # type: ignore[index, call-overload]
    whole = plugin_delta_payload(rollup.deltas[0])
    for name in ("plugin_set", "plugin_set_id", "score_deltas", "cost_deltas", "answer_text_deltas"):
        assert delta[name] == whole[name]  # type: ignore[index, call-overload]


def test_a_cell_has_the_summary_of_its_own_file() -> None:
    payload = matrix_rollup_payload(roll_up([control_run()]), generated_at=MADE_AT)
    (cell,) = payload["cells"]  # type: ignore[misc]
    assert (cell["matrix_cell"], cell["artifact"], cell["plugin_set"]) == ("plain", "cells/plain.json", "none")  # type: ignore[index, call-overload]
    docs = cell["summary"]["per_arm"]["docs"]  # type: ignore[index, call-overload]
    assert (docs["n"], docs["significance"]["n"]) == (23, 23)  # type: ignore[index, call-overload]
    assert cell["cost_summary"]["docs"]["cost_known_n"] == 24  # type: ignore[index, call-overload]


def test_cells_that_nobody_judged_have_no_summary_and_several_draws_name_the_first() -> None:
    (cell,) = matrix_rollup_payload(roll_up([changed(unjudged(control_run()), draws=3)]), generated_at=MADE_AT)["cells"]  # type: ignore[misc]
    assert (cell["summary"], cell["artifact"]) == ({}, "cells/plain.d0.json")  # type: ignore[index, call-overload]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    orphan = changed(plugin_run(), model="orphan", answering_digest="sha256:orphan")
    rollup = roll_up([control_run(), plugin_run(), orphan])
    path = tmp_path / "rollup.json"
    path.write_bytes(matrix_rollup_bytes(rollup, generated_at=MADE_AT))
    read = read_matrix_rollup(path)
    assert read.model_dump(mode="json") == json.loads(path.read_text())
    assert read.warnings[0].startswith("The cell caveman (caveman:full) has no plugin-free pair, a cell of the same model")


def test_a_refused_delta_stands_in_the_warnings_and_apart_with_every_reason(tmp_path: Path) -> None:
    path = tmp_path / "rollup.json"
    path.write_bytes(matrix_rollup_bytes(roll_up([control_run(), unjudged(plugin_run())]), generated_at=MADE_AT))
    read = read_matrix_rollup(path)
    assert read.warnings[0].startswith("The delta of caveman from plain is refused. ")
    (refused,) = read.refused_deltas
    assert (refused.baseline_cell, refused.plugin_cell) == ("plain", "caveman")
    assert all(reason in read.warnings[0] for reason in refused.reasons)


def test_whatever_leaves_a_matrix_unanswered_is_among_its_warnings_and_first() -> None:
    control, plugin = replace(control_run(), truncated_reason="circuit_open"), plugin_run()
    half = {question: points for question, points in plugin.arms["docs"].points.items() if question < "q012"}
    rollup = roll_up(
        [control, with_arm(plugin, "docs", points=half)], missing={"large": "its key is missing."}, flaws={"caveman": ["2 failed."]}
    )
    assert matrix_rollup_payload(rollup, generated_at=MADE_AT)["warnings"] == [
        "The cell large has no run, and is in none of the numbers: its key is missing.",
        "The cell plain ended before its last question: the same failure came again and again. A rerun asks only what is missing.",
        "The cell caveman: 2 failed.",
        f"caveman against plain: {delta_warning(next(found for found in rollup.deltas[0].warnings if isinstance(found, FewPairs)))}",
    ]


def test_the_least_that_the_format_asks_for_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rollup.json"
    least = {"schema_version": "matrix_rollup.v1", "library_name": None, "cells": [{"matrix_cell": "a", "artifact": "a.json", "x": 1}]}
    path.write_text(json.dumps({**least, "plugin_deltas": [{"artifact": "d.json"}], "of_another_tool": True}))
    read = read_matrix_rollup(path)
    assert (read.cells[0].matrix_cell, read.plugin_deltas[0].artifact, read.correction) == ("a", "d.json", None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"schema_version": "arms.v1"}, "schema_version"),
        ({"cells": [{"artifact": "a"}]}, "cells.0.matrix_cell"),
        ({"cells": None}, "cells"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_field(tmp_path: Path, changes: dict[str, object], field: str) -> None:
    path = tmp_path / "rollup.json"
    path.write_text(json.dumps({"schema_version": "matrix_rollup.v1", "library_name": "x", "cells": [], **changes}))
    with pytest.raises(InputError) as refused:
        read_matrix_rollup(path)
    assert (refused.value.file, refused.value.field) == (str(path), field)


def test_names_of_delta_files_keep_pairs_apart_that_look_alike() -> None:
    assert delta_stem("a b", "c") != delta_stem("a/b", "c")
    assert delta_stem("a b", "c").rpartition("-")[0] == delta_stem("a/b", "c").rpartition("-")[0] == "plugin-delta-a-b-to-c"


def test_a_cell_of_a_matrix_is_stamped_into_its_file_and_nothing_else_of_it_changes() -> None:
    stamped = with_matrix_cell(b'{\n  "schema_version": "arms.v1"\n}\n', 'a "b" \u00e9')
    assert stamped.isascii()
    assert json.loads(stamped) == {"matrix_cell": 'a "b" \u00e9', "schema_version": "arms.v1"}


def test_a_cells_file_is_named_after_it() -> None:
    assert (cell_artifact("a/b"), cell_artifact("a", draws=2)) == ("cells/a-b.json", "cells/a.d0.json")
