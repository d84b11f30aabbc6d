import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from evalplatform.answering.records import ArmAnswer
from evalplatform.comparisons.arm_summary import QuestionClusters, summarise_arms
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.records import Judgement
from evalplatform.kernel.digests import EMPTY_TEXT_DIGEST, text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Sampling
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.reports.arms_v1 import arms_v1_payload, run_config_block
from evalplatform.reports.arms_v1_file import (
    read_arms_v1,
    recomputed_cost_summary,
    recomputed_retrieval_summary,
    recomputed_summary,
    write_arms_v1,
)
from tests.support.arm_rows import (
    MATERIALS,
    Table,
    answer,
    answers_of,
    failed,
    question_id,
    question_set,
    run_facts,
    score,
    scores_of,
    timing,
    timings_of,
)
from tests.support.arms_fixture import arms_run

CASES = Path(__file__).parents[1] / "cases/treatment-arms"
TABLE: Table = {
    "baseline": [50.0, 60.0, 70.0, 55.5, 65.0, 75.0, 52.0, 58.0],
    "docs": [58.0, 66.0, 75.3, None, 72.0, 83.0, 59.0, 61.0],
    "skill:x": [51.0, 59.0, 70.0, 56.0, 66.0, 71.0, None, 58.0],
    "docs+skill:x": [60.0, 70.0, 80.0, 66.0, 70.0, 85.0, 61.0, 66.0],
}
TOP_LEVEL_KEYS = [
    "schema_version", "generated_at", "library_name", "model", "provider", "harness", "plugin_set", "plugin_set_id", "plugins", "cell",
    "arms", "baseline_arm", "total_questions", "run_config", "grounded_from_topics", "grounded_questions", "answers", "cost_summary",
    "agentic_usage_summary", "skill_selection_summary", "judge_materials", "evaluations", "summary", "judge_context_sources",
    "judge_context", "judge_model", "judge_provider", "judge_temperature", "judge_prompt_sha256", "judge_metrics",
]  # fmt: skip


def payload_of(
    table: Table = TABLE,
    *,
    answers: Sequence[ArmAnswer] | None = None,
    scores: Sequence[JudgedScore] | None = None,
    judged: bool = True,
    clusters: QuestionClusters | None = None,
) -> dict[str, JsonValue]:
    return arms_v1_payload(
        run_facts(list(table), judged=judged),
        question_set(len(table["baseline"])),
        answers=answers_of(table) if answers is None else answers,
        scores=scores_of(table) if judged and scores is None else scores or (),
        timings=timings_of(table),
        materials=MATERIALS,
        clusters=clusters,
    )


@pytest.mark.parametrize("case", sorted(path.parent.name for path in CASES.glob("*/arms.json")))
def test_numbers_of_a_worked_case_are_computed_again_exactly(case: str) -> None:
    file = read_arms_v1(CASES / case / "arms.json")
    expected = json.loads((CASES / case / "numbers.json").read_text())
    assert recomputed_summary(file) == expected["summary"]
    assert recomputed_cost_summary(file) == expected["cost_summary"]


def test_keys_stand_in_the_order_of_the_format_and_ours_follow() -> None:
    keys = list(payload_of())
    assert keys[: len(TOP_LEVEL_KEYS)] == TOP_LEVEL_KEYS
    assert keys[len(TOP_LEVEL_KEYS) :] == [
        "base_url", "answering_digest", "cluster_field", "question_set_hash", "arm_specs", "document_sources", "input_digests", "top_k",
        "rerank_threshold", "reranker", "price_table_version", "truncated", "cell_key", "judge_key", "judge_digest", "draw", "draws",
    ]  # fmt: skip


def test_an_unjudged_run_has_answers_and_materials_and_nothing_of_a_judge(tmp_path: Path) -> None:
    payload = payload_of(judged=False)
    assert not {"evaluations", "summary", "judge_context_sources", "judge_context", "judge_model", "judge_metrics"} & set(payload)
    assert payload["judge_materials"] == MATERIALS
    file = read_arms_v1(write_arms_v1(tmp_path / "run.json", payload))
    assert (file.is_judged, file.scores) == (False, ())
    assert recomputed_cost_summary(file) == payload["cost_summary"]


def test_a_clustered_run_states_its_clusters_and_its_summary_is_clustered_and_computed_so_again(tmp_path: Path) -> None:
    ids = [question.id for question in question_set(len(TABLE["baseline"])).questions]
    clusters = QuestionClusters(field="page", labels={question: f"page {place // 2}" for place, question in enumerate(ids)})
    payload = payload_of(clusters=clusters)
    file = read_arms_v1(write_arms_v1(tmp_path / "run.json", payload))
    assert payload["cluster_field"] == file.cluster_field == "page"
    assert {question.id: question.cluster for question in file.questions} == clusters.labels
    significance = file.summary["per_arm"]["docs"]["significance"]  # type: ignore[index, call-overload]
    assert (significance["ci_method"], significance["p_wilcoxon"]) == ("cluster_t", None)  # type: ignore[index, call-overload]
    assert recomputed_summary(file) == payload["summary"] == file.summary
    assert payload_of()["summary"] != payload["summary"]


def test_run_config_holds_the_whole_sampling() -> None:
    sampling = Sampling(temperature=0.0, top_p=0.5, max_tokens=20, seed=3, extra={"reasoning_effort": "low"})
    assert run_config_block(sampling, grounded_from_topics=False) == {
        "max_tokens": 20,
        "max_iterations": None,
        "grounded_from_topics": False,
        "temperature": 0.0,
        "seed": 3,
        "top_p": 0.5,
        "extra": {"reasoning_effort": "low"},
    }
    assert set(run_config_block(Sampling(), grounded_from_topics=False)) == {
        "max_tokens", "max_iterations", "grounded_from_topics", "temperature", "seed",
    }  # fmt: skip


def test_stamps_say_what_was_run() -> None:
    payload = payload_of()
    assert payload["cell"] == "small-8b|arms-runner|none"
    assert payload["plugin_set_id"] == EMPTY_TEXT_DIGEST[: len("sha256:") + 32]
    assert payload["generated_at"] == "2026-03-14T09:26:53Z"
    assert payload["run_config"]["seed"] == 7
    assert payload["judge_context_sources"] == {"stored": 32}
    assert payload["judge_context"] == "treatment_material.v1"
    assert payload["judge_metrics"]["redrawn_judgements"] == 2


def test_what_is_written_is_read_back_as_the_same_rows(tmp_path: Path) -> None:
    answers = answers_of(TABLE)
    answers[0] = failed(0, "baseline")
    answers[1] = answers[1].with_changes(state="no_answer", answer=None, reason="no_answer:budget")
    answers[2] = answers[2].with_changes(same_call=True, usage=Usage(prompt_tokens=5), cost_usd=None)
    scores = scores_of(TABLE)
    for place, reason in ((0, answers[0].reason), (1, answers[1].reason)):
        judgement = Judgement(task_id="t", reason=reason, material_digest=EMPTY_TEXT_DIGEST)
        scores[place] = scores[place].with_changes(judgement=judgement)
    payload = payload_of(answers=answers, scores=scores)
    file = read_arms_v1(write_arms_v1(tmp_path / "run.json", payload))
    by_place = {(row.arm, row.question_id): row for row in file.answers}
    assert [by_place[row.arm, row.question_id] for row in answers] == answers
    assert sorted(file.timings, key=str) == sorted([row for row in timings_of(TABLE) if row not in timings_of(TABLE)[:1]] +
                                                   [timing(0, "baseline", seconds=None)], key=str)  # fmt: skip
    points = {(row.arm, row.question_id): (row.judgement.points, row.judgement.reason) for row in file.scores}
    assert points == {(row.arm, row.question_id): (row.judgement.points, row.judgement.reason) for row in scores}
    assert file.materials == MATERIALS


def test_numbers_of_a_reread_run_are_those_of_the_run_itself(tmp_path: Path) -> None:
    # pitfall J07: what is missing comes back missing, so that a resumed run and a first try report the same
    payload = payload_of()
    file = read_arms_v1(write_arms_v1(tmp_path / "run.json", payload))
    assert recomputed_summary(file) == payload["summary"] == file.summary
    assert recomputed_cost_summary(file) == payload["cost_summary"] == file.cost_summary
    in_memory = summarise_arms(
        arms=list(TABLE), baseline_arm="baseline", question_ids=[question_id(number) for number in range(8)],
        answers=answers_of(TABLE), scores=scores_of(TABLE),
    )  # fmt: skip
    reread = summarise_arms(
        arms=file.arms, baseline_arm=file.baseline_arm, question_ids=[question.id for question in file.questions],
        answers=file.answers, scores=file.scores,
    )  # fmt: skip
    assert reread == in_memory


def test_an_unscored_answer_has_a_reason_and_a_missing_one_is_null() -> None:
    answers = answers_of(TABLE)
    answers[8] = failed(0, "docs")
    payload = payload_of(answers=answers)
    first, fourth = payload["evaluations"][0], payload["evaluations"][3]
    assert first["scores"]["docs"] is None
    assert (fourth["scores"]["docs"]["aggregate"], fourth["scores"]["docs"]["error"]) == (None, "malformed_reply")
    assert "docs" not in fourth["deltas_vs_baseline"]
    assert fourth["deltas_vs_baseline"]["skill:x"] == 0.5
    record = payload["answers"][0]["arms"]["docs"]
    assert (record["error"], record["answer"]) == ("generation_failed: timeout: no reply", None)
    assert "metrics" not in record
    assert payload["cost_summary"]["docs"]["n"] == 7


def test_an_arm_without_a_finished_answer_has_no_cost() -> None:
    answers = [row if row.arm != "docs" else failed(int(row.question_id[1:]), "docs") for row in answers_of(TABLE)]
    assert list(payload_of(answers=answers)["cost_summary"]) == ["baseline", "skill:x", "docs+skill:x"]


def test_without_a_baseline_average_there_is_no_delta() -> None:
    table: Table = {"baseline": [None, None], "docs": [50.0, 60.0]}
    block = payload_of(table)["summary"]["per_arm"]
    assert block == {"baseline": {"avg_aggregate": None, "n": 0}, "docs": {"avg_aggregate": 55.0, "n": 2}}


@pytest.mark.parametrize(
    ("fallbacks", "stamp"),
    [((), "treatment_material.v1"), (("docs",), "treatment_material.v1+snippet_fallback"), (("baseline", "docs"), None)],
)
def test_the_material_stamp_follows_what_each_score_saw(fallbacks: tuple[str, ...], stamp: str | None) -> None:
    table: Table = {"baseline": [50.0, 40.0], "docs": [50.0, 60.0]}
    scores = [
        row.with_changes(judgement=row.judgement.with_changes(material_source="snippet_fallback")) if row.arm in fallbacks else row
        for row in scores_of(table)
    ]
    payload = payload_of(table, scores=scores)
    assert payload.get("judge_context") == stamp
    assert ("judge_context_sha256" in payload["evaluations"][0]["scores"]["docs"]) == ("docs" not in fallbacks)


def test_each_draw_has_a_file_of_its_own(tmp_path: Path) -> None:
    arms = ("baseline", "docs")
    answers = [answer(0, arm, draw=draw, text=f"draw {draw}") for arm in arms for draw in range(2)]
    scores = [score(0, arm, 40.0 + 10 * draw, draw=draw) for arm in arms for draw in range(2)]
    payload = arms_v1_payload(
        run_facts(arms, draws=2), question_set(1), answers=answers, scores=scores, materials=MATERIALS, draw=1
    )  # fmt: skip
    file = read_arms_v1(write_arms_v1(tmp_path / "run.d1.json", payload))
    assert (payload["draw"], payload["draws"], payload["run_config"]["seed"]) == (1, 2, 8)
    assert {row.answer for row in file.answers} == {"draw 1"}
    assert {row.draw for row in (*file.answers, *file.scores)} == {1}
    assert recomputed_summary(file)["per_arm"]["docs"]["avg_aggregate"] == 50.0
    assert recomputed_summary(file) == payload["summary"]


def test_labels_and_references_are_written_where_a_question_has_them() -> None:
    topics = ("Expiry rules run once a day, after midnight UTC, never at once.",)
    questions = (
        Question(id="a", question="One?", has_expected_skill=True, ground_truth_chunk="Rules run daily.", expected_topics=topics),
        Question(id="b", question="Two?", expected_topics=topics),
    )
    facts = run_facts(["baseline"])
    asked = QuestionSet(source="q.json", questions=questions, digest=text_digest("q"))

    def records(from_topics: bool) -> tuple[JsonValue, JsonValue, JsonValue]:
        judge = facts.judge.with_changes(grounded_from_topics=from_topics)
        payload = arms_v1_payload(facts.with_changes(judge=judge), asked, answers=(), materials={})
        return (*payload["answers"], payload["grounded_questions"])

    first, second, grounded = records(from_topics=False)
    assert first["expected_skill"] is None, "present and null: no skill should load"
    assert "expected_skill" not in second
    assert (first["ground_truth_chunk"], grounded) == ("Rules run daily.", 1)
    assert "ground_truth_chunk" not in second
    _, second, grounded = records(from_topics=True)
    assert (second["ground_truth_chunk"], grounded) == (f"- {topics[0]}", 2)


def test_a_material_without_its_text_is_not_passed_over() -> None:
    with pytest.raises(InputError, match=f"judge_materials: the text of judge material {text_digest('lost')}"):
        payload_of(answers=[answer(0, "docs").with_changes(material_digest=text_digest("lost"))])


def test_scores_without_a_judge_are_refused() -> None:
    with pytest.raises(InputError, match="judge: a run with scores names its judge"):
        payload_of(judged=False, scores=scores_of(TABLE))


def test_two_rows_for_one_place_are_refused() -> None:
    with pytest.raises(InputError, match="arm 'docs' has two rows for question 'q0001', draw 0"):
        payload_of(answers=[*answers_of(TABLE), answer(1, "docs")])


def test_retrieval_can_be_computed_again_from_the_file(tmp_path: Path) -> None:
    run = arms_run(questions=8, arms=("baseline", "docs"), retrieval=True)
    materials = {row.material_digest: row.arm for row in run.answers if row.material_digest is not None}
    payload = arms_v1_payload(run.facts, run.questions, answers=run.answers, scores=run.scores, timings=run.timings, materials=materials)
    file = read_arms_v1(write_arms_v1(tmp_path / "arms.json", payload))
    assert file.retrieval_summary == payload["retrieval_summary"] == recomputed_retrieval_summary(file)
    docs = file.retrieval_summary["docs"]
    assert (docs["questions"], docs["retrieved"]["k"], docs["kept"]["k"]) == (7, 5, 3)
    assert docs["retrieved"]["recall_mean"] == round((3 * 1 + 1 + 3 * 0.5) / 7, 4)
    assert docs["retrieved"]["hits"] == 7


def test_without_required_documents_the_file_says_nothing_of_retrieval(tmp_path: Path) -> None:
    payload = payload_of()
    assert "retrieval_summary" not in payload
    assert all("required_documents" not in record for record in payload["answers"])
    assert recomputed_retrieval_summary(read_arms_v1(write_arms_v1(tmp_path / "arms.json", payload))) == {}
