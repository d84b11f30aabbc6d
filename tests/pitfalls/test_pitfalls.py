"""Every pitfall of tests/cases/pitfalls.json is shown by a test, or belongs to a part that is not here yet.

The table is checked: an id that is nowhere, or a test that does not exist, fails.
"""

import ast
import io
import json
from pathlib import Path

import pytest

from evalplatform.project.load import load_project
from evalplatform.project.yaml_file import plain, read_yaml_mapping
from evalplatform.questions.read import read_question_set
from evalplatform.reports.html import write_arms_html
from evalplatform.stages import arm_answers, question_set
from evalplatform.stages.pipeline import run_cell
from evalplatform.wiring import OpenedProject
from tests.support.arms_fixture import arms_run
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter

ROOT = Path(__file__).parents[2]
PITFALLS = {pitfall["id"]: pitfall for pitfall in json.loads((ROOT / "tests/cases/pitfalls.json").read_text(encoding="utf-8"))}
HERE = "tests/pitfalls/test_pitfalls.py"
COMPARISONS = "tests/pitfalls/test_comparison_pitfalls.py"

SHOWN_BY: dict[str, list[str]] = {
    # Reading what a judge says.
    "J01": ["tests/judging/test_parsing.py::test_a_fenced_a_fence_holding_and_a_wordy_reply_are_read"],
    "J02": [
        "tests/judging/test_parsing.py::test_a_fenced_a_fence_holding_and_a_wordy_reply_are_read",
        "tests/judging/test_parsing.py::test_prose_around_json_whose_text_holds_a_fence_falls_back_to_the_braces",
    ],
    "J03": [
        "tests/judging/test_parsing.py::test_a_reason_keeps_its_braces_and_fences",
        "tests/judging/test_rubric.py::test_three_unreadable_replies_leave_it_unscored_with_the_last_one_kept",
    ],
    "J05": [
        "tests/judging/test_parsing.py::test_a_number_with_repeated_digits_is_out_of_range_and_never_clamped",
        "tests/judging/test_rubric.py::test_a_number_out_of_range_is_drawn_again_and_then_unscored",
    ],
    # Summing up.
    "J07": [
        "tests/stages/test_pipeline.py::test_stored_rows_give_the_summary_that_rows_in_memory_give",
        "tests/stages/test_tables.py::test_nan_never_gets_into_a_record_so_it_cannot_come_back_as_something_else",
        f"{COMPARISONS}::test_a_run_that_was_written_and_read_compares_as_its_rows_did",
        f"{COMPARISONS}::test_a_nan_in_a_file_is_refused_and_never_becomes_a_score",
    ],
    "J08": [
        "tests/judging/test_panel.py::test_a_vote_that_fails_is_counted_with_its_reason_and_the_others_decide",
        "tests/comparisons/test_arm_summary.py::test_a_question_is_scored_by_the_draws_that_its_judge_could_score",
    ],
    "J09": [
        "tests/comparisons/test_arm_summary.py::test_failed_judge_calls_are_counted_beside_the_mean_and_lower_the_coverage",
        "tests/comparisons/test_arm_summary.py::test_deltas_are_taken_on_the_questions_that_both_arms_scored",
        "tests/cli/test_arms_run.py::test_unreadable_judge_replies_fail_the_coverage_and_exit_with_2",
        f"{COMPARISONS}::test_a_judge_that_fails_on_half_of_the_questions_is_counted_in_every_comparison",
        "tests/comparisons/test_batch_check.py::test_arms_that_each_scored_enough_may_have_too_little_in_common",
    ],
    # Question sets.
    "D01": ["tests/questions/test_refusals.py::test_an_id_used_twice_is_refused_with_both_places"],
    "D03": [
        "tests/questions/test_upgrades.py::test_positional_ids_do_not_depend_on_when_the_file_is_read",
        f"{HERE}::test_a_shuffled_file_without_ids_gets_every_answer_back_for_its_own_question",
    ],
    "D04": [
        "tests/questions/test_reading.py::test_a_nan_of_pandas_is_missing_and_never_the_word_nan",
        f"{HERE}::test_a_nan_is_no_question_and_no_label",
    ],
    # Storing.
    "D06": [
        "tests/stages/test_tables.py::test_a_column_that_is_all_null_in_one_shard_is_a_double_in_both",
        "tests/artifacts/test_parquet.py::test_a_column_that_is_all_null_in_one_shard_keeps_its_declared_type",
    ],
    "T02": [
        "tests/contracts/test_object_stores.py::test_text_of_any_kind_comes_back_as_it_was",
        "tests/stages/test_tables.py::test_the_awkward_texts_of_pitfall_t02_come_back_with_the_digest_of_the_whole_text",
        "tests/reports/test_arms_report_html.py::test_a_mebibyte_answer_is_cut_with_its_length_and_the_digest_of_the_whole",
        f"{HERE}::test_awkward_texts_are_shown_in_the_page",
        "tests/reports/test_arms_report_csv.py::test_any_question_text_round_trips_through_the_file",
    ],
    "T03": [
        "tests/reports/test_junit.py::test_the_message_of_pitfall_t03_is_kept_with_its_controls_made_visible",
        "tests/reports/test_junit.py::test_any_text_parses_and_every_count_is_kept",
        "tests/cli/test_batch_check.py::test_terminal_controls_in_a_models_name_reach_neither_terminal_nor_junit",
    ],
    # Skills.
    "K01": [
        "tests/arms/test_skill_files.py::test_crlf_and_a_byte_order_mark_load",
        "tests/arms/test_front_matter.py::test_crlf_files_are_read_and_their_bodies_keep_crlf",
    ],
    "K02": [
        "tests/arms/test_skill_files.py::test_crlf_and_a_byte_order_mark_load",
        "tests/arms/test_skill_lint.py::test_what_the_loader_tolerates_is_a_warning_and_what_it_refuses_an_error",
    ],
    "K03": ["tests/arms/test_skill_files.py::test_an_unquoted_colon_is_refused_with_file_line_text_and_remedy"],
    "K05": ["tests/arms/test_skill_files.py::test_unclosed_is_refused_an_empty_body_loads_and_a_rule_in_the_body_stays"],
    "K06": [
        "tests/arms/test_skill_lint.py::test_a_name_breaks_the_rules_of_each_rule_set_by_name",
        "tests/arms/test_skill_lint.py::test_a_description_has_one_to_1024_characters",
        "tests/arms/test_skill_lint.py::test_the_folder_must_be_called_like_the_skill_for_the_specification_alone",
    ],
    # Calls.
    "M01": [
        "tests/answering/test_run.py::test_what_is_no_answer_is_a_row_with_a_reason_and_never_an_empty_answer",
        f"{HERE}::test_a_model_that_spends_its_budget_thinking_is_unscored_and_counted_and_never_wrong",
    ],
    "M04": [
        "tests/adapters/models/test_http_errors.py::test_m04_retry_after_as_seconds_as_a_date_as_a_day_and_as_garbage",
        "tests/calls/test_desk.py::test_retry_after_holds_the_whole_endpoint_back",
        "tests/calls/test_desk.py::test_a_retry_after_beyond_the_cap_defers_the_run_and_the_endpoint_is_asked_nothing_more",
    ],
    "M05": [
        "tests/contracts/test_ledgers.py::test_repeated_samples_of_one_request_are_calls_of_their_own_and_replay_as_they_were",
        "tests/calls/test_desk.py::test_repeated_draws_are_different_calls_with_different_seeds",
    ],
    "M08": ["tests/contracts/test_ledgers.py::test_what_a_run_paid_adds_up_over_resumptions"],
    "R02": [
        "tests/stages/test_new_judge.py::test_a_new_judge_scores_stored_answers_while_the_answering_server_is_down",
        "tests/stages/test_new_judge.py::test_a_judging_that_asked_for_answers_would_show_in_facts_and_report",
        "tests/stages/test_pipeline.py::test_a_new_judge_asks_no_answer_again",
    ],
    "R03": [
        "tests/stages/test_verdicts.py::test_another_threshold_gives_verdicts_beside_the_first_by_pure_computation",
        "tests/stages/test_verdicts.py::test_a_threshold_is_moved_while_every_endpoint_is_down",
    ],
    # Statistics.
    "X01": [
        "tests/stats/test_paired.py::test_paired_data_is_compared_in_pairs",
        f"{COMPARISONS}::test_pairs_are_compared_as_pairs",
    ],
    "X03": [
        "tests/stats/test_exact_drops.py::test_the_documented_numbers_of_run_sets_and_of_the_sentinel_are_these",
        "tests/stats/test_exact_drops.py::test_a_worked_drop_has_its_p_values_and_its_flag",
        "tests/stats/test_repeated_runs.py::test_a_night_drifts_from_the_worked_number_of_failures_on",
    ],
    "X04": [
        "tests/stats/test_repeated_runs.py::test_a_hundred_flaky_scenarios_fail_a_gate_at_most_one_night_in_twenty",
        "tests/gates/test_false_gates.py::test_a_hundred_scenarios_that_each_fail_one_run_in_twenty_do_not_fail_the_gate",
    ],
    "X05": ["tests/stats/test_repeated_runs.py::test_five_runs_catch_a_coin_flip_flake_with_15_in_16"],
    # Keys and object stores.
    "G01": ["tests/orchestration/test_partition_key_pitfalls.py::test_three_dimensions_are_refused_by_dagster_and_two_with_a_prefix_do"],
    "G02": [
        "tests/kernel/test_keys.py::test_an_unsafe_key_is_refused_with_what_it_was_for",
        "tests/orchestration/test_partition_key_pitfalls.py::test_a_bar_in_a_key_makes_its_partitions_vanish_in_dagster",
        "tests/orchestration/test_partition_key_pitfalls.py::test_a_cell_or_judge_of_such_an_id_is_refused_with_its_line",
    ],
    "G03": [
        "tests/kernel/test_keys.py::test_an_unsafe_key_is_refused_with_what_it_was_for",
        "tests/orchestration/test_partition_key_pitfalls.py::test_a_cell_or_judge_of_such_an_id_is_refused_with_its_line",
    ],
    "G04": [
        "tests/kernel/test_keys.py::test_an_unsafe_key_is_refused_with_what_it_was_for",
        "tests/orchestration/test_partition_key_pitfalls.py::test_a_cell_or_judge_of_such_an_id_is_refused_with_its_line",
        "tests/orchestration/test_partition_key_pitfalls.py::test_a_key_with_dots_is_a_partition_like_any_other",
    ],
    "G06": [
        "tests/orchestration/test_partition_key_pitfalls.py::test_nights_have_one_dimension_though_dagster_takes_days_beside_dynamic_keys"
    ],
    "G07": [
        f"{HERE}::test_a_cancelled_run_does_not_keep_its_pool_slot",
        "tests/system/test_pools.py::test_a_cancelled_run_does_not_keep_its_pool_slot",
    ],
    "G09": ["tests/orchestration/test_sync.py::test_lost_events_come_back_from_the_store_with_their_versions"],
    "G12": [
        "tests/adapters/stores/test_open_store.py::test_an_endpoint_of_its_own_gets_no_checksum_trailers_unless_asked_for",
        "tests/adapters/stores/test_open_store.py::test_a_store_that_changes_bodies_is_caught_before_any_data",
        "tests/system/test_storage_faults.py::test_a_store_that_changes_what_it_gives_back_is_found_before_anything_is_paid_for",
    ],
    "G14": ["tests/contracts/test_object_stores.py::test_keys_that_are_not_ours_reach_no_store"],
}
LATER = {
    "S01": "skill selection measures no arm yet: the kind skill-catalog is not there",
    "S03": "query sets of other tools are read with skill selection",
}


def test_every_pitfall_is_shown_or_belongs_to_a_later_part() -> None:
    assert sorted([*SHOWN_BY, *LATER]) == sorted(PITFALLS)
    assert set(SHOWN_BY).isdisjoint(LATER)


@pytest.mark.parametrize("pitfall", SHOWN_BY)
def test_the_tests_that_show_it_exist(pitfall: str) -> None:
    for node in SHOWN_BY[pitfall]:
        file, _, name = node.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {function.name for function in tree.body if isinstance(function, ast.FunctionDef)}, node


def at_stub(folder: Path, url: str, model: str = "m") -> Path:
    there = f'  there: {{provider: openai-compatible, base_url: "{url}"}}'
    return edited(
        starter(folder),
        ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{there}"),
        ("model: extractive, endpoint: here", f"model: '{model}', endpoint: there"),
    )


def test_a_shuffled_file_without_ids_gets_every_answer_back_for_its_own_question(tmp_path: Path) -> None:
    """D03: positional ids move with the rows, so what is replayed is found by what was asked, never by an id."""
    rows = PITFALLS["D03"]["input"]["rows_without_id"]

    def answers(order: list[str]) -> dict[str, str | None]:
        (tmp_path / "questions.json").write_text(json.dumps({"questions": [{"question": f"What of {row}?"} for row in order]}))
        with OpenedProject(load_project(tmp_path / "evalplatform.yaml", environ={})) as opened:
            context = opened.suite_context("kettle")
            (cell,) = context.project.cells_of("kettle")
            done = run_cell(context, cell, None)
            texts = {question.id: question.question for question in question_set.stored_questions(context).questions}
            stored = arm_answers.stored_answers(context, done.stages[2].manifest)
            return {texts[answer.question_id]: answer.answer for answer in stored if answer.arm == "baseline"}

    with running_stub() as stub:
        at_stub(tmp_path, stub.url)
        first = answers(rows)
        asked = stub.requests
        assert answers(list(reversed(rows))) == first
        assert stub.requests == asked
        assert len(set(first.values())) == len(rows)


def test_a_nan_is_no_question_and_no_label(tmp_path: Path) -> None:
    """D04, as pandas writes it into JSON."""
    file = tmp_path / "questions.json"
    file.write_text('{"questions": [{"id": "q1", "question": "Why?", "expected_skill": NaN}]}')
    question = read_question_set(file).questions[0]
    assert question.expected_skill is None
    assert "nan" not in question.model_dump_json().lower()
    file.write_text('{"questions": [{"id": "q1", "question": NaN}]}')
    with pytest.raises(Exception, match="question"):
        read_question_set(file)


def test_awkward_texts_are_shown_in_the_page(awkward_texts: list[str]) -> None:
    """T02: bidi controls and NUL are made visible, and what belongs together stays together."""
    ids = [question.id for question in arms_run(questions=len(awkward_texts)).questions.questions]
    run = arms_run(questions=len(awkward_texts), failures=False, texts=dict(zip(ids, awkward_texts, strict=True)))
    page = io.StringIO()
    write_arms_html(run.report(), page, downloads=[])
    shown = page.getvalue()
    assert not set(shown) & {"\u202e", "\u2066", "\u2069", "\x00"}
    assert "👩‍👩‍👧‍👦" in shown


def test_a_model_that_spends_its_budget_thinking_is_unscored_and_counted_and_never_wrong(tmp_path: Path) -> None:
    """M01, through every stage: no points, a coverage of 0, and a sentence in the report."""
    with running_stub() as stub:
        file = at_stub(tmp_path, stub.url, model="stub;do=thought_only")
        with OpenedProject(load_project(file, environ={})) as opened:
            context = opened.suite_context("kettle")
            (cell,) = context.project.cells_of("kettle")
            done = run_cell(context, cell, context.project.judges_of("kettle")[0])
            report = context.catalog.read(done.report, "report.md").decode()
    assert done.stages[2].manifest.facts["states"] == {"no_answer": 40}
    assert done.stages[3].manifest.facts["unscored_reasons"] == {"no_answer:budget": 40}
    assert done.report.facts["coverage_rate"] == 0
    assert "8 answers ended without an answer" in report
    assert "never counted as 0 points" in report


def test_a_cancelled_run_does_not_keep_its_pool_slot(tmp_path: Path) -> None:
    """G07: Dagster keeps the slot for ever unless its instance says otherwise."""
    from evalplatform.cli.orchestration.home import prepare_dagster_home

    home = prepare_dagster_home(load_project(starter(tmp_path), environ={}))
    monitoring = plain(read_yaml_mapping(home / "dagster.yaml"))["run_monitoring"]
    assert (monitoring["enabled"], monitoring["free_slots_after_run_end_seconds"]) == (True, 60)
