"""The jobs of a suite, as a schedule or the command line runs them."""

from pathlib import Path

from tests.support.starter_project import QUIET, StarterProject, materializations, value_of


def test_the_two_jobs_take_a_cell_from_questions_to_report(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    evaluate = starter.definitions.resolve_job_def("kettle__evaluate_cell")
    evaluated = evaluate.execute_in_process(partition_key=starter.cell_key, instance=starter.instance, run_config=QUIET)
    assert set(materializations(evaluated)) == {"question_set", "corpus", "arm_answers"}

    judge = starter.definitions.resolve_job_def("kettle__judge_cells")
    judged = judge.execute_in_process(partition_key=starter.score_key, instance=starter.instance, run_config=QUIET)
    made = materializations(judged)
    assert set(made) == {"judged_scores", "arm_summary", "score_moves", "arms_report"}
    assert value_of(made["arms_report"], "complete") is True


def test_a_run_is_found_by_its_suite(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    job = starter.definitions.resolve_job_def("kettle__evaluate_cell")
    result = job.execute_in_process(partition_key=starter.cell_key, instance=starter.instance, run_config=QUIET)
    assert result.dagster_run.tags["evalplatform/suite"] == "kettle"


def test_calls_are_grouped_under_the_dagster_run(tmp_path: Path) -> None:
    import asyncio

    starter = StarterProject.written_to(tmp_path / "project")
    job = starter.definitions.resolve_job_def("kettle__evaluate_cell")
    result = job.execute_in_process(partition_key=starter.cell_key, instance=starter.instance, run_config=QUIET)
    paid = value_of(materializations(result)["arm_answers"], "calls_paid")
    with starter.opened() as opened:
        assert asyncio.run(opened.ledger.spend(result.run_id)).calls == paid
