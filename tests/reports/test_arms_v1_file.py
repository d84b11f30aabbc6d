import json
from pathlib import Path
from typing import Any

import pytest

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.reports.arms_v1_file import arms_v1_bytes, read_arms_v1, recomputed_summary, write_arms_v1
from tests.reports.test_arms_v1 import payload_of


def small() -> dict[str, Any]:
    """The least a file of another tool may hold."""
    return {
        "arms": ["baseline", "docs"],
        "answers": [
            {"question_id": 0, "question_text": "How?", "arms": {"baseline": {"answer": "So."}, "docs": {"answer": None, "error": "x"}}}
        ],
    }


def judged() -> dict[str, Any]:
    scores = {"baseline": {"aggregate": 50, "correctness": 40, "feedback": "thin"}, "docs": None}
    return {**small(), "judge_model": "j", "judge_provider": "p", "evaluations": [{"question_id": 0, "scores": scores}]}


def _with_metrics(**metrics: object) -> dict[str, object]:
    return {"answers": [{"question_id": 0, "question_text": "How?", "arms": {"baseline": {"answer": "So.", "metrics": metrics}}}]}


def stored(folder: Path, content: object) -> Path:
    path = folder / "run.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_file_is_ascii_indented_and_byte_stable(tmp_path: Path) -> None:
    payload = payload_of()
    first, second = (write_arms_v1(tmp_path / name, payload).read_bytes() for name in ("a.json", "b.json"))
    assert first == second
    assert first.isascii()
    assert first.decode() == json.dumps(payload, indent=2, default=list) + "\n"
    assert first == arms_v1_bytes(payload)
    assert b"\\u00bfqu\\u00e9?" in first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_a_payload_that_is_not_valid_is_kept_aside_and_the_old_file_stays(tmp_path: Path) -> None:
    path = write_arms_v1(tmp_path / "run.json", payload_of())
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"judge_model and judge_provider must not be empty\. Kept as .*run\.json\.rejected"):
        write_arms_v1(path, {**payload_of(), "judge_model": ""})
    assert path.read_bytes() == before
    assert json.loads((tmp_path / "run.json.rejected").read_text())["judge_model"] == ""


def test_a_number_json_cannot_hold_is_rejected_not_written(tmp_path: Path) -> None:
    for name, value, rule in (("top_k", float("nan"), "cannot be written as JSON"), ("judge_temperature", float("inf"), "finite number")):
        with pytest.raises(InputError, match=rule):
            write_arms_v1(tmp_path / "run.json", {**payload_of(), name: value})
    assert [path.name for path in tmp_path.iterdir()] == ["run.json.rejected"]


def test_a_valid_write_removes_what_was_kept_aside_before(tmp_path: Path) -> None:
    (tmp_path / "run.json.rejected").write_text("{}")
    write_arms_v1(tmp_path / "run.json", payload_of())
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_file_of_another_tool_needs_arms_and_answers_only(tmp_path: Path) -> None:
    file = read_arms_v1(stored(tmp_path, small()))
    assert [(row.question_id, row.arm, row.state, row.reason) for row in file.answers] == [
        ("0", "baseline", "answered", None),
        ("0", "docs", "failed", "x"),
    ]
    assert (file.plugin_set, file.baseline_arm, file.total_questions, file.is_judged) == ("none", "baseline", 1, False)


def test_scores_of_another_tool_keep_dimensions_notes_and_the_reason_of_what_is_missing(tmp_path: Path) -> None:
    baseline, docs = (row.judgement for row in read_arms_v1(stored(tmp_path, judged())).scores)
    assert (baseline.points, baseline.dimensions, baseline.notes) == (50.0, {"correctness": 40.0}, {"feedback": "thin"})
    assert baseline.material_source == "snippet_fallback", "a score that does not say what it saw saw no stored material"
    assert (docs.points, docs.reason) == (None, "x")


def test_an_absent_and_a_null_aggregate_are_unscored_alike(tmp_path: Path) -> None:
    content = judged()
    for score in ({"error": "judge down"}, {"error": "judge down", "aggregate": None}):
        content["evaluations"][0]["scores"]["baseline"] = score
        judgement = read_arms_v1(stored(tmp_path, content)).scores[0].judgement
        assert (judgement.points, judgement.reason) == (None, "judge down")


def test_a_file_where_nothing_was_scored_pools_with_one_that_was(tmp_path: Path) -> None:
    # pitfall D06: an all-null column must not turn into another type than a column of numbers
    content = judged()
    numbers = read_arms_v1(stored(tmp_path, content)).scores
    content["evaluations"][0]["scores"] = {"baseline": {"aggregate": None, "error": "judge down"}}
    nulls = read_arms_v1(stored(tmp_path, content)).scores
    assert [type(row) for row in (*nulls, *numbers)] == [type(numbers[0])] * 3
    assert [row.judgement.points for row in (*nulls, *numbers)] == [None, 50.0, None]
    assert type(numbers[0].judgement.points) is float


def test_a_material_that_fails_its_digest_is_skipped_with_a_warning(tmp_path: Path) -> None:
    good, bad = text_digest("good"), text_digest("bad")
    file = read_arms_v1(stored(tmp_path, {**small(), "judge_materials": {good: "good", bad: "tampered"}}))
    assert file.materials == {good: "good"}
    assert len(file.warnings) == 1
    assert bad in file.warnings[0]


def test_scores_without_an_answer_and_other_texts_beside_scores_are_said(tmp_path: Path) -> None:
    content = judged()
    assert read_arms_v1(stored(tmp_path, content)).warnings == ()
    content["evaluations"][0] |= {"question_text": "Why?", "scores": {"baseline": {"aggregate": 50}, "docs": {"aggregate": 60}}}
    path = stored(tmp_path, content)
    assert read_arms_v1(path).warnings == (
        f"{path}: 1 score of the arm docs without an answer, since it failed or is not there (first: question '0').",
        f"{path}: 1 question with another text in evaluations than in answers (first: question '0').",
    )


def test_what_is_written_here_and_by_the_reference_fits_itself(tmp_path: Path) -> None:
    assert read_arms_v1(write_arms_v1(tmp_path / "run.json", payload_of())).warnings == ()
    cases = sorted((Path(__file__).parents[1] / "cases/treatment-arms").glob("*/arms.json"))
    assert cases
    assert [warning for path in cases for warning in read_arms_v1(path).warnings] == []


def test_the_files_own_correction_is_used_again(tmp_path: Path) -> None:
    payload = payload_of()
    path = write_arms_v1(tmp_path / "run.json", payload)
    text = path.read_text().replace('"correction": "holm"', '"correction": "bh"')
    blocks = recomputed_summary(read_arms_v1(stored(tmp_path, text)))["per_arm"]
    assert blocks["docs"]["significance"]["correction"] == "bh"


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"schema_version": "arms.v2"}, "schema_version", "arms.v1"),
        ({"arms": []}, "arms", "must hold at least one item."),
        ({"arms": ["docs", "docs"]}, None, "two arms have one name"),
        ({"answers": "none"}, "answers", "must be a list, not 'none'."),
        ({"judge_model": None}, None, "names its judge"),
        ({"answers": [{"question_id": True, "question_text": "", "arms": {}}]}, "answers.0.question_id", "must be text, not True."),
        ({"answers": [{"question_id": "a", "arms": {}}]}, "answers.0.question_text", "is needed."),
        ({"evaluations": [{"question_id": "z", "scores": {}}]}, "evaluations.0.question_id", "'z' has no answers in this file"),
        (
            {"evaluations": [{"question_id": 0, "scores": {}}, {"question_id": "0", "scores": {}}]},
            "evaluations.1.question_id",
            "there twice",
        ),
        ({"evaluations": [{"question_id": 0, "scores": {"dcs": None}}]}, "evaluations.0.scores", "Did you mean 'docs'"),
        ({"evaluations": [{"question_id": 0, "scores": {"docs": {"aggregate": True}}}]}, "evaluations.0.scores.docs.aggregate", "a number"),
        ({"evaluations": [{"question_id": 0, "scores": {"docs": {"aggregate": "80"}}}]}, "evaluations.0.scores.docs.aggregate", "a number"),
        ({"evaluations": [{"question_id": 0, "scores": {"docs": {"aggregate": 101}}}]}, "evaluations.0.scores.docs.aggregate", "100"),
        (_with_metrics(cost_usd=-5), "answers.0.arms.baseline.metrics.cost_usd", "must be at least 0, not -5"),
        (_with_metrics(cost_usd=1e300), "answers.0.arms.baseline.metrics.cost_usd", "must be at most 1,000,000,000, not 1e+300"),
        (_with_metrics(latency_sec=1e12), "answers.0.arms.baseline.metrics.latency_sec", "must be at most"),
        (_with_metrics(prompt_tokens=1.5), "answers.0.arms.baseline.metrics.prompt_tokens", "must be a whole number, not 1.5"),
        (_with_metrics(final_answer_chars=-1), "answers.0.arms.baseline.metrics.final_answer_chars", "must be at least 0, not -1"),
        ({"judge_materials": {"sha256:1": "x"}}, "judge_materials.sha256:1.[key]", "must match ^sha256:"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, change: dict[str, object], field: str | None, rule: str) -> None:
    path = stored(tmp_path, {**judged(), **change})
    with pytest.raises(InputError) as caught:
        read_arms_v1(path)
    assert (caught.value.file, caught.value.field) == (str(path), field)
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("{", "is not JSON"),
        ('{"arms": ["a"], "answers": [], "x": NaN}', "is not JSON: NaN is no number there; what is missing is null"),
        ('{"arms": ["a"],\n"answers": [],\n"x": [-Infinity]}', r"run\.json:3: is not JSON: Infinity is no number there"),
        ("[]", "must be an object, not a list"),
        ("{}", "arms: is needed"),
        ("", "is not JSON"),
    ],
)
def test_what_is_no_json_object_is_named(tmp_path: Path, content: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule) as caught:
        read_arms_v1(stored(tmp_path, content))
    assert caught.value.file is not None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json: cannot be read: No such file"):
        read_arms_v1(tmp_path / "absent.json")
