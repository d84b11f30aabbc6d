"""A run as comparisons need it, read from a file of any tool."""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.compared_run import PROVIDER_ADDRESS, CostFigures
from evalplatform.kernel.errors import InputError
from evalplatform.reports.arms_v1_file import read_arms_v1, write_arms_v1
from evalplatform.reports.compared_run_file import compared_run_of, read_compared_run
from tests.reports.test_arms_v1 import payload_of
from tests.support.model_runs import Points, arms_file, with_profile

CASES = sorted((Path(__file__).parents[1] / "cases/treatment-arms").glob("*/arms.json"))
POINTS: Points = {"baseline": [50.0, None, 61.5], "docs": [58.0, 66.0, 0.0]}


def stored(folder: Path, content: object) -> Path:
    path = folder / "run.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def points_by_place(path: Path) -> dict[tuple[str, str], float]:
    return {
        (score.question_id, score.arm): score.judgement.points for score in read_arms_v1(path).scores if score.judgement.points is not None
    }


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_case_has_the_points_that_the_whole_file_has(path: Path) -> None:
    run = read_compared_run(path)
    found = {(question, arm): points for arm, of_arm in run.arms.items() for question, points in of_arm.points.items()}
    assert found == points_by_place(path)
    assert found, "a case without points says nothing"


def test_our_own_file_has_the_points_that_the_whole_file_has(tmp_path: Path) -> None:
    path = write_arms_v1(tmp_path / "run.json", payload_of())
    run, whole = read_compared_run(path), read_arms_v1(path)
    found = {(question, arm): points for arm, of_arm in run.arms.items() for question, points in of_arm.points.items()}
    assert found == points_by_place(path)
    assert (run.identity.arms, run.identity.question_ids) == (whole.arms, tuple(question.id for question in whole.questions))
    assert run.identity.judge_prompt_digest == whole.judge_prompt_digest
    for arm, of_arm in run.arms.items():
        assert of_arm.failed == sum(answer.arm == arm and answer.state == "failed" for answer in whole.answers)
        unscored = [score for score in whole.scores if score.arm == arm and score.judgement.points is None]
        assert sum(of_arm.unscored_reasons.values()) == len(unscored)


POINTS_OR_NONE = st.none() | st.floats(min_value=0, max_value=100) | st.integers(min_value=0, max_value=100)


@given(
    rows=st.dictionaries(
        st.integers(min_value=-5, max_value=99) | st.text(min_size=1, max_size=4, alphabet="ab01:%"),
        st.tuples(POINTS_OR_NONE, POINTS_OR_NONE),
        min_size=1,
        max_size=8,
    )
)
def test_any_points_under_any_ids_are_those_of_the_whole_file(tmp_path_factory: pytest.TempPathFactory, rows: dict[Any, Any]) -> None:
    ids = list({str(name): name for name in rows}.values())
    points = {arm: [rows[name][place] for name in ids] for place, arm in enumerate(("baseline", "docs"))}
    path = stored(tmp_path_factory.mktemp("any"), arms_file(points, ids=ids))
    run = read_compared_run(path)
    found = {(question, arm): value for arm, of_arm in run.arms.items() for question, value in of_arm.points.items()}
    assert found == points_by_place(path)


def test_a_run_says_who_it_is_and_what_it_cost() -> None:
    run = compared_run_of(arms_file(POINTS, run_config={"temperature": 0.5, "seed": 7}), path=Path("x/a.json"), name="a")
    identity = run.identity
    assert (identity.model, identity.judge_model, identity.plugin_set) == ("small", "grader", "none")
    assert (identity.run_config, identity.seed) == ({"temperature": 0.5}, 7)
    assert run.arms["baseline"].unscored_reasons == {"malformed_reply": 1}
    assert run.arms["docs"].cost == CostFigures(
        answers=3,
        priced_answers=3,
        total_cost_usd=0.01,
        prompt_tokens=30,
        completion_tokens=6,
        total_tokens=36,
        mean_latency_seconds=1.5,
        mean_time_to_first_token_seconds=None,
    )


def test_a_run_is_called_as_its_file_unless_it_is_given_a_name(tmp_path: Path) -> None:
    path = stored(tmp_path, arms_file(POINTS))
    assert (read_compared_run(path).name, read_compared_run(path, name="small").name) == ("run", "small")


def test_zero_is_a_real_id_and_numbers_and_texts_are_one_id() -> None:
    numbers, texts = (compared_run_of(arms_file(POINTS, ids=ids), path=Path("a.json"), name="a") for ids in ([0, 1, 2], ["0", "1", "2"]))
    assert numbers.identity.question_ids == texts.identity.question_ids == ("0", "1", "2")
    assert numbers.arms == texts.arms
    assert numbers.arms["docs"].points["0"] == 58.0


def test_null_metadata_null_scores_and_a_difficulty_in_the_evaluation_alone_are_read() -> None:
    file = arms_file(POINTS, difficulty=["easy", None, 3])
    file["answers"][0]["difficulty"] = None
    file["answers"][0]["arms"]["docs"] |= {"metadata": None, "metrics": None, "raw_answer": "Boil it"}
    file["evaluations"][1]["scores"]["docs"] = None
    run = compared_run_of(file, path=Path("a.json"), name="a")
    assert run.difficulty == {"q0": "easy", "q2": 3}
    assert run.arms["docs"].unscored_reasons == {"no_answer": 1}
    assert (run.arms["docs"].raw_answer_chars["q0"], run.arms["docs"].final_answer_chars["q0"]) == (7.0, 4.0)


def test_profiles_are_found_inside_combined_arms() -> None:
    file = with_profile(arms_file(POINTS), "docs", "sha256:one", "sha256:two")
    assert compared_run_of(file, path=Path("a.json"), name="a").arms["docs"].profile_prompt_digests == {"sha256:one", "sha256:two"}


def test_failed_answers_are_counted_and_have_no_length() -> None:
    file = arms_file(POINTS)
    file["answers"][1]["arms"]["docs"] = {"answer": None, "error": "generation_failed: timeout"}
    docs = compared_run_of(file, path=Path("a.json"), name="a").arms["docs"]
    assert (docs.answers, docs.failed, sorted(docs.final_answer_chars)) == (3, 1, ["q0", "q2"])


@pytest.mark.parametrize("by_row", [False, True])
def test_points_of_what_was_not_answered_are_no_points(by_row: bool) -> None:
    file = arms_file({"baseline": [50.0, 60.0, 61.5, 70.0], "docs": [58.0, 66.0, 0.0, 80.0]})
    docs = [row["arms"]["docs"] for row in file["answers"]]
    docs[0] |= {"answer": None, "error": "generation_failed: timeout"}
    docs[1] |= {"answer": " \n"}
    if by_row:  # what not every row has is read row by row
        del file["answers"][2]["arms"]["docs"]
    run = compared_run_of(file, path=Path("a.json"), name="a")
    scored = {"q3": 80.0} if by_row else {"q2": 0.0, "q3": 80.0}
    found = run.arms["docs"]
    assert (found.points, found.points_without_answer, found.unscored_reasons) == (scored, 4 - len(scored), {"no_answer": 4 - len(scored)})
    assert (len(run.arms["baseline"].points), run.arms["baseline"].points_without_answer) == (4, 0)


Change = Callable[[dict[str, Any]], object]


def set_aggregate(value: object) -> Change:
    return lambda file: file["evaluations"][2]["scores"]["docs"].update(aggregate=value)


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        (set_aggregate(100.5), "evaluations.2.scores.docs.aggregate", "is a number from 0 to 100, not 100.5."),
        (set_aggregate(-1), "evaluations.2.scores.docs.aggregate", "is a number from 0 to 100, not -1."),
        (set_aggregate(True), "evaluations.2.scores.docs.aggregate", "is a number from 0 to 100, not True."),
        (set_aggregate("50"), "evaluations.2.scores.docs.aggregate", "is a number from 0 to 100, not '50'."),
        (lambda file: file["answers"][1].update(question_id="q0"), "answers.1.question_id", "question id 'q0' is there twice."),
        (lambda file: file["evaluations"][1].update(question_id="q0"), "evaluations.1.question_id", "question id 'q0' is there twice."),
        (
            lambda file: file["evaluations"][1].update(question_id="q9"),
            "evaluations.1.question_id",
            "question id 'q9' has no answers in this file.",
        ),
        (lambda file: file["answers"][0].update(question_id=True), "answers.0.question_id", "is needed: a text or a whole number."),
        (lambda file: file["answers"][0].update(question_id=""), "answers.0.question_id", "is needed: a text or a whole number."),
        (lambda file: file["answers"][0].pop("question_text"), "answers.0.question_text", "is needed: the question's text."),
        (lambda file: file["answers"][0].update(arms=None), "answers.0.arms", "is needed: an object by arm."),
        (lambda file: file["answers"][0]["arms"].update(docs="x"), "answers.0.arms.docs", "is an object."),
        (lambda file: file["answers"][0]["arms"]["docs"].update(answer=4), "answers.0.arms.docs.answer", "is a text, or null."),
        (lambda file: file["answers"][0]["arms"]["docs"].update(metadata=[1]), "answers.0.arms.docs.metadata", "is an object."),
        (lambda file: file["evaluations"][0]["scores"].update(docs=50), "evaluations.0.scores.docs", "is an object."),
        (lambda file: file["answers"].append("x"), "answers.3", "is an object."),
        (lambda file: file["answers"][0].update(difficulty=["easy"]), "answers.0.difficulty", "is a text or a number."),
        (lambda file: file["cost_summary"]["docs"].update(n=-1), "cost_summary.docs.n", "must be at least 0, not -1."),
        (
            lambda file: file["cost_summary"]["docs"].update(total_cost_usd=-5),
            "cost_summary.docs.total_cost_usd",
            "must be at least 0, not -5.",
        ),
        (
            lambda file: file["cost_summary"]["docs"].update(total_cost_usd=1e300),
            "cost_summary.docs.total_cost_usd",
            "must be at most 1,000,000,000, not 1e+300.",
        ),
        (
            lambda file: file["cost_summary"]["docs"].update(mean_latency_sec=-0.5),
            "cost_summary.docs.mean_latency_sec",
            "must be at least 0, not -0.5.",
        ),
        (
            lambda file: file["cost_summary"]["docs"].update(prompt_tokens=10**18),
            "cost_summary.docs.prompt_tokens",
            "must be at most 1,000,000,000,000,000, not 1000000000000000000.",
        ),
        (
            lambda file: file["answers"][1]["arms"]["docs"]["metrics"].update(final_answer_chars=-3),
            "answers.1.arms.docs.metrics.final_answer_chars",
            "is a number of characters, which -3 is not.",
        ),
        (
            lambda file: file["answers"][1]["arms"]["docs"]["metrics"].update(raw_answer_chars=1e300),
            "answers.1.arms.docs.metrics.raw_answer_chars",
            "is a number of characters, which 1e+300 is not.",
        ),
        (lambda file: file.update(cost_summary={"docs": 3}), "cost_summary.docs", None),
        (lambda file: file.update(arms="docs"), "arms", None),
        (lambda file: file.update(schema_version="arms.v2"), "schema_version", "must be 'arms.v1', not 'arms.v2'."),
        (lambda file: file.pop("arms"), "arms", "is needed."),
    ],
)
def test_bad_input_is_said_with_file_field_and_rule(tmp_path: Path, change: Change, field: str, rule: str | None) -> None:
    file = copy.deepcopy(arms_file(POINTS))
    change(file)
    path = stored(tmp_path, file)
    with pytest.raises(InputError) as found:
        read_compared_run(path)
    assert (found.value.file, found.value.field) == (str(path), field)
    assert rule is None or found.value.rule == rule


def test_an_unknown_arm_is_said_with_the_nearest(tmp_path: Path) -> None:
    file = arms_file(POINTS)
    file["evaluations"][0]["scores"]["dosc"] = {"aggregate": 3}
    with pytest.raises(InputError, match=r"evaluations\.0\.scores: unknown arm 'dosc'.*Did you mean 'docs'"):
        read_compared_run(stored(tmp_path, file))


def test_what_is_no_json_is_said_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json:2: is not JSON"):
        read_compared_run(stored(tmp_path, '{\n"arms": }'))
    with pytest.raises(InputError, match=r"run\.json: must be an object, not a list\.$"):
        read_compared_run(stored(tmp_path, "[]"))
    with pytest.raises(InputError, match="is not JSON"):
        read_compared_run(stored(tmp_path, json.dumps(arms_file({"baseline": [math.nan]}))))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_compared_run(tmp_path / "none.json")


def test_a_base_url_of_null_is_the_providers_own_address_and_a_file_without_the_key_says_nothing() -> None:
    for stated, read in (({}, None), ({"base_url": None}, PROVIDER_ADDRESS), ({"base_url": "http://x/v1"}, "http://x/v1")):
        run = compared_run_of({**arms_file(POINTS), **stated}, path=Path("a.json"), name="a")
        assert run.identity.base_url == read


def test_what_is_not_set_is_absent_and_a_number_has_one_spelling() -> None:
    configs = ({"temperature": 0, "top_p": None, "seed": 3}, {"temperature": 0.0, "extra": None})
    runs = [compared_run_of(arms_file(POINTS, run_config=config), path=Path("a.json"), name="a") for config in configs]
    assert [str(run.identity.run_config) for run in runs] == ["{'temperature': 0}", "{'temperature': 0}"]
    assert compared_run_of(arms_file(POINTS, run_config={"top_p": None}), path=Path("a.json"), name="a").identity.run_config == {}


def test_materials_references_and_clusters_are_read_by_question() -> None:
    file = arms_file(POINTS, cluster_field="page")
    for place, row in enumerate(file["answers"]):
        row |= {"ground_truth_chunk": f"Truth {place}.", "cluster": f"page {place // 2}"}
        row["arms"]["docs"]["judge_context_sha256"] = f"sha256:{place:064}"
    run = compared_run_of(file, path=Path("a.json"), name="a")
    ids = list(run.identity.question_ids)
    assert run.references == {question: f"Truth {place}." for place, question in enumerate(ids)}
    assert run.clusters == {question: f"page {place // 2}" for place, question in enumerate(ids)}
    assert run.arms["docs"].material_digests == {question: f"sha256:{place:064}" for place, question in enumerate(ids)}
    del file["answers"][1]["cluster"]
    with pytest.raises(InputError, match=r"answers\.1\.cluster"):
        compared_run_of(file, path=Path("a.json"), name="a")
