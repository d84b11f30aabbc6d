"""What stages say of their artifacts, as it is stored and read again."""

from pathlib import Path

from evalplatform.project.load import load_project
from evalplatform.stages.facts import answer_facts, score_facts
from evalplatform.stages.pipeline import CellRun, run_cell
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter

HERE = "  here: {provider: offline}"


def ran(file: Path) -> CellRun:
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        (cell,) = context.project.cells_of("kettle")
        return run_cell(context, cell, context.project.judges_of("kettle")[0])


def test_manifests_of_earlier_versions_are_read_as_saying_nothing_of_failures_and_warnings(tmp_path: Path) -> None:
    run = ran(starter(tmp_path))
    earlier = [
        stage.manifest.model_copy(
            update={
                "facts": {
                    name: fact
                    for name, fact in stage.manifest.facts.items()
                    if name not in {"failure_reasons", "first_failure", "warnings"}
                }
            }
        )
        for stage in run.stages
    ]
    assert (answer_facts(earlier[2]).failure_reasons, answer_facts(earlier[2]).first_failure) == ({}, None)
    assert (score_facts(earlier[3]).failure_reasons, score_facts(earlier[3]).first_failure) == ({}, None)


def test_an_answer_that_was_never_asked_for_is_no_failure_and_neither_is_the_score_it_lacks(tmp_path: Path) -> None:
    with running_stub(fail_first=1, fail_status=401) as stub:
        there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}", retry: {{attempts: 1}}}}'
        run = ran(edited(starter(tmp_path), (HERE, f"{HERE}\n{there}"), ("endpoint: here, sampling", "endpoint: there, sampling")))
    facts = answer_facts(run.stages[2].manifest)
    assert facts.truncated_reason == "circuit_open"
    assert set(facts.failure_reasons) == {"generation_failed: auth"}
    assert 0 < facts.failure_reasons["generation_failed: auth"] < facts.states["failed"]
    assert facts.first_failure is not None
    assert facts.first_failure.startswith("generation_failed: auth: ")
    assert run.failed_answers.counts == facts.failure_reasons
    assert run.failed_scores.counts == {}
