"""arms.v1 files of plugin cells: stamps there and back, and files of other tools."""

import json
from pathlib import Path

import pytest

from evalplatform.kernel.errors import InputError
from evalplatform.plugins.plugin_set import EMPTY_PLUGIN_SET_ID, parse_plugins, plugin_set_id
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import ArmsV1, read_arms_v1, write_arms_v1
from evalplatform.reports.compared_run_file import read_compared_run
from tests.support.arm_rows import MATERIALS, Table, answers_of, question_set, run_facts, scores_of, timings_of

CASES = Path(__file__).parents[1] / "cases/treatment-arms"
TABLE: Table = {"baseline": [50.0, 60.0], "docs": [58.0, None]}
STAMPS = parse_plugins(["caveman:ultra", "truncate:9"]).stamps
RAW = "Set a rule: – 30 days."


def written(path: Path) -> Path:
    shaped = [row.with_changes(answer="Set a ru…", raw_answer=RAW) for row in answers_of(TABLE)]
    payload = arms_v1_payload(
        run_facts(list(TABLE)).with_changes(plugins=STAMPS),
        question_set(2),
        answers=shaped,
        scores=scores_of(TABLE),
        timings=timings_of(TABLE),
        materials=MATERIALS,
    )
    return write_arms_v1(path, payload)


def test_a_plugin_set_is_read_back_as_it_was_stamped_and_its_id_computed_again(tmp_path: Path) -> None:
    file = read_arms_v1(written(tmp_path / "run.json"))
    assert (file.plugin_set, file.plugin_set_id) == ("caveman:ultra+truncate:9", plugin_set_id(STAMPS))
    assert file.plugins == tuple(stamp.model_dump(mode="json") for stamp in STAMPS)
    assert {(row.answer, row.raw_answer) for row in file.answers} == {("Set a ru…", RAW)}


def test_every_answer_is_stamped_and_says_how_long_it_was_before_and_after(tmp_path: Path) -> None:
    raw = json.loads(written(tmp_path / "run.json").read_text())
    assert raw["cell"] == "small-8b|arms-runner|caveman:ultra+truncate:9"
    for record in (record for row in raw["answers"] for record in row["arms"].values()):
        assert (record["plugin_set"], record["plugin_set_id"]) == (raw["plugin_set"], raw["plugin_set_id"])
        assert (record["metrics"]["raw_answer_chars"], record["metrics"]["final_answer_chars"]) == (len(RAW), 9)


def test_a_comparison_reads_both_lengths_and_the_set(tmp_path: Path) -> None:
    run = read_compared_run(written(tmp_path / "run.json"))
    assert (run.identity.plugin_set, run.identity.plugin_set_id) == ("caveman:ultra+truncate:9", plugin_set_id(STAMPS))
    assert set(run.arms["docs"].raw_answer_chars.values()) == {float(len(RAW))}
    assert set(run.arms["docs"].final_answer_chars.values()) == {9.0}


def test_stamps_of_another_tool_are_kept_as_they_are() -> None:
    file = read_arms_v1(CASES / "D01_n20_b/arms.json")
    assert (file.plugin_set, file.plugins[0]["config"]) == ("caveman:full", {"level": "full", "target_style": "terse"})
    # Other words under the same name are another plugin set.
    assert file.plugin_set_id != plugin_set_id(parse_plugins(["caveman:full"]).stamps)


def _edited(tmp_path: Path, **changes: object) -> ArmsV1:
    raw = json.loads(written(tmp_path / "run.json").read_text())
    (tmp_path / "edited.json").write_text(json.dumps({**raw, **changes}))
    return read_arms_v1(tmp_path / "edited.json")


def test_a_file_without_plugin_stamps_has_none(tmp_path: Path) -> None:
    raw = json.loads(written(tmp_path / "run.json").read_text())
    for name in ("plugin_set", "plugin_set_id", "plugins"):
        del raw[name]
    (tmp_path / "bare.json").write_text(json.dumps(raw))
    file = read_arms_v1(tmp_path / "bare.json")
    assert (file.plugin_set, file.plugin_set_id, file.plugins) == ("none", EMPTY_PLUGIN_SET_ID, ())
    assert _edited(tmp_path, plugins=None, plugin_set="none", plugin_set_id=EMPTY_PLUGIN_SET_ID).plugins == ()


OTHER_ID = "sha256:" + "0" * 32


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"plugins": []}, "plugin_set is 'caveman:ultra+truncate:9', and plugins are 'none'."),
        ({"plugin_set": "caveman:full"}, "plugin_set is 'caveman:full', and plugins are 'caveman:ultra+truncate:9'."),
        ({"plugin_set_id": OTHER_ID}, f"plugin_set_id is '{OTHER_ID}', and that of the plugins is '{plugin_set_id(STAMPS)}'."),
    ],
)
def test_a_file_of_this_platform_whose_plugins_do_not_fit_their_set_is_refused(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as found:
        _edited(tmp_path, **changes)
    assert found.value.rule == said
    with pytest.raises(InputError) as found:
        read_compared_run(tmp_path / "edited.json")
    assert found.value.rule == said
    # What another tool stamps is open: without our cell's key the file is one of its own.
    assert _edited(tmp_path, **changes, cell_key=None).plugin_set == changes.get("plugin_set", "caveman:ultra+truncate:9")


def test_stamps_that_are_no_list_of_objects_are_refused_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"edited\.json: plugins\.0: "):
        _edited(tmp_path, plugins=["caveman"])
