"""The stages on a real project: what is skipped, what is asked again, what is refused."""

import asyncio
import io
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evalplatform.answering.trace import rebuilt_request
from evalplatform.artifacts.catalog import file_key
from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.kernel.errors import DigestMismatchError, InputError, ObjectNotFoundError
from evalplatform.project.load import load_project
from evalplatform.stages import arm_answers, arm_summary, arms_report, corpus, judged_scores, question_set
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import answer_facts, report_facts, score_facts
from evalplatform.stages.pipeline import CellRun, run_cell
from evalplatform.stages.plan import plan_suite
from evalplatform.stages.tables import ANSWERS, SCORES, TIMINGS
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter

HERE = "  here: {provider: offline}"
READER = "endpoint: here, sampling"
JUDGE = "facts: {kind: overlap, model: overlap, endpoint: here}"


@contextmanager
def suite(file: Path) -> Iterator[SuiteContext]:
    with OpenedProject(load_project(file, environ={})) as opened:
        yield opened.suite_context("kettle")


def ran(file: Path, *, judged: bool = True) -> CellRun:
    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        return run_cell(context, cell, context.project.judges_of("kettle")[0] if judged else None)


def at_stub(file: Path, url: str) -> Path:
    there = f'  there: {{provider: openai-compatible, base_url: "{url}", retry: {{attempts: 1}}}}'
    return edited(file, (HERE, f"{HERE}\n{there}"), (READER, "endpoint: there, sampling"))


def with_questions(file: Path, count: int) -> Path:
    questions = [
        {"id": f"q{number}", "question": f"How do I boil water, {number} times?", "expected_facts": ["boil"]} for number in range(count)
    ]
    (file.parent / "questions.json").write_text(json.dumps({"questions": questions}))
    return file


def test_a_second_run_computes_nothing_and_a_touched_input_only_what_depends_on_it(tmp_path: Path) -> None:
    file = starter(tmp_path)
    assert [stage.unchanged for stage in ran(file).stages] == [False] * 7
    again = ran(file)
    assert again.unchanged
    assert again.counts.paid + again.counts.replayed == 0
    edited(file, ("baseline_arm: baseline", "baseline_arm: docs"))
    assert [stage.unchanged for stage in ran(file).stages] == [True, True, True, True, False, False, False]


def test_a_new_judge_asks_no_answer_again(tmp_path: Path) -> None:
    with running_stub() as stub:
        file = at_stub(starter(tmp_path), stub.url)
        ran(file)
        answers = stub.requests
        edited(file, (JUDGE, "facts: {kind: rubric, model: grader, endpoint: there}"))
        run = ran(file)
        assert {body["model"] for body in stub.bodies()[answers:]} == {"grader"}
        assert score_facts(run.stages[3].manifest).answer_calls == 0
        assert run.stages[2].unchanged


def test_a_cluster_field_that_questions_lack_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with running_stub() as stub:
        file = edited(at_stub(starter(tmp_path), stub.url), ("baseline_arm: baseline", "cluster_field: expected_fact"))
        with pytest.raises(InputError, match=r"cluster_field: the question 'install' .* has no 'expected_fact' .*'expected_facts'\?"):
            ran(file)
        with suite(file) as context, pytest.raises(InputError, match="cluster_field"):
            asyncio.run(plan_suite(context))
        assert stub.requests == 0


@pytest.mark.parametrize("damage", ["changed", "gone"])
@pytest.mark.parametrize("asset", ["question_set", "corpus", "arm_answers", "judged_scores", "arm_summary"])
def test_a_damaged_version_is_healed_as_its_error_says_and_nothing_is_paid_again(tmp_path: Path, asset: str, damage: str) -> None:
    with running_stub() as stub:
        file = at_stub(starter(tmp_path), stub.url)
        ran(file)
        asked = stub.requests
        with suite(file) as context:
            (artifact,) = context.catalog.list(suite="kettle", asset=asset)
            manifest = context.catalog.current(artifact)
            assert manifest is not None
            name = min(manifest.files)
            stored = tmp_path / ".evalplatform/store" / file_key(manifest, name)
            stored.unlink() if damage == "gone" else stored.write_bytes(b"damaged")
            with pytest.raises((DigestMismatchError, ObjectNotFoundError)) as failure:
                context.catalog.read(manifest, name)
        said = re.search(r"Remove (artifacts/\S+/) from (file://\S+) and run the suite again", str(failure.value))
        assert said is not None
        shutil.rmtree(Path(said[2].removeprefix("file://")) / said[1])
        run = ran(file)
        assert run.counts.paid == 0
        assert stub.requests == asked
        with suite(file) as context:
            healed = context.catalog.current(artifact)
            assert healed is not None
            assert healed.data_version == manifest.data_version
            for name in healed.files:
                context.catalog.read(healed, name)


def test_another_seed_keeps_the_cell_and_asks_for_other_samples(tmp_path: Path) -> None:
    file = starter(tmp_path)
    first = ran(file)
    edited(file, ("{max_tokens: 120}", "{max_tokens: 120, seed: 3}"))
    second = ran(file)
    assert first.stages[2].manifest.artifact == second.stages[2].manifest.artifact
    assert first.stages[2].manifest.data_version != second.stages[2].manifest.data_version
    edited(file, ("{max_tokens: 120, seed: 3}", "{max_tokens: 120}"))
    back = ran(file)
    # Going back finds the stored versions; what moved the scores is computed anew, since other scores were in between.
    assert {stage.manifest.artifact.asset for stage in back.stages if not stage.unchanged} == {"score_moves"}
    assert ran(file).unchanged


def test_an_incomplete_version_is_shown_but_never_taken_for_the_finished_one(tmp_path: Path) -> None:
    with running_stub(fail_first=1, fail_status=500) as stub:
        file = with_questions(at_stub(starter(tmp_path), stub.url), 1)
        broken = ran(file)
        facts = answer_facts(broken.stages[2].manifest)
        assert not facts.complete
        assert facts.states["failed"] > 0
        whole = ran(file)
        assert answer_facts(whole.stages[2].manifest).complete
        assert whole.stages[2].manifest.data_version != broken.stages[2].manifest.data_version
        assert report_facts(whole.report).complete
        assert ran(file).unchanged


def test_documents_that_change_between_the_stages_are_refused(tmp_path: Path) -> None:
    file = starter(tmp_path)
    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        question_set.materialize_question_set(context)
        corpus.materialize_corpus(context)
        (tmp_path / "docs" / "boiling.md").write_text("All new.")
        with pytest.raises(InputError, match="have changed since `corpus` was materialized; materialize `corpus` again"):
            asyncio.run(arm_answers.materialize_arm_answers(context, cell))
        corpus.materialize_corpus(context)
        assert not asyncio.run(arm_answers.materialize_arm_answers(context, cell)).unchanged


def test_a_stage_before_its_inputs_says_what_to_materialize(tmp_path: Path) -> None:
    with suite(starter(tmp_path)) as context:
        (cell,) = context.project.cells_of("kettle")
        (judge,) = context.project.judges_of("kettle")
        with pytest.raises(InputError, match="has no question_set yet; materialize question_set first"):
            asyncio.run(arm_answers.materialize_arm_answers(context, cell))
        with pytest.raises(InputError, match=f"has no arm_answers of partition '{cell.key}' yet"):
            asyncio.run(judged_scores.materialize_judged_scores(context, cell, judge))
        with pytest.raises(InputError, match="has no arm_answers of partition"):
            arm_summary.materialize_arm_summary(context, cell, judge)
        with pytest.raises(InputError, match="has no arm_answers of partition"):
            arms_report.materialize_arms_report(context, cell, judge)


def test_what_must_be_ready_is_checked_before_the_first_answer_and_not_where_nothing_is_asked(tmp_path: Path) -> None:
    file = starter(tmp_path)

    async def refuse() -> None:
        raise InputError("not ready.")

    with suite(file) as context:
        (cell,) = context.project.cells_of("kettle")
        question_set.materialize_question_set(context)
        corpus.materialize_corpus(context)
        with pytest.raises(InputError, match="not ready"):
            asyncio.run(arm_answers.materialize_arm_answers(context, cell, before_asking=refuse))
        asyncio.run(arm_answers.materialize_arm_answers(context, cell))
        assert asyncio.run(arm_answers.materialize_arm_answers(context, cell, before_asking=refuse)).unchanged


def test_stored_rows_give_the_summary_that_rows_in_memory_give(tmp_path: Path) -> None:
    """Pitfall J07: writing and reading changes no number and no count of what is unscored."""
    with suite(starter(tmp_path)) as context:
        (cell,) = context.project.cells_of("kettle")
        (judge,) = context.project.judges_of("kettle")
        done = run_cell(context, cell, judge)
        answers = arm_answers.stored_answers(context, done.stages[2].manifest)
        scores = judged_scores.stored_scores(context, done.stages[3].manifest)
        scores[0] = scores[0].with_changes(judgement=scores[0].judgement.with_changes(points=None, reason="malformed_reply"))
        timings = arm_answers.stored_timings(context, done.stages[2].manifest)

        def summary(answers, scores, timings):  # type: ignore[no-untyped-def]
            return summarise_arms(
                arms=[arm.name for arm in answer_facts(done.stages[2].manifest).arms],
                baseline_arm="baseline",
                question_ids=[question.id for question in question_set.stored_questions(context).questions],
                answers=answers,
                scores=scores,
                timings=timings,
                draws=1,
            )

        reread = summary(
            list(ANSWERS.read(ANSWERS.write(answers))), list(SCORES.read(SCORES.write(scores))), list(TIMINGS.read(TIMINGS.write(timings)))
        )
        assert reread == summary(answers, scores, timings)
        assert reread.scores["baseline"].scored == 7


def test_every_stored_answer_gives_back_its_request(tmp_path: Path) -> None:
    with suite(starter(tmp_path)) as context:
        (cell,) = context.project.cells_of("kettle")
        done = run_cell(context, cell, None)
        manifest = done.stages[2].manifest
        questions = {question.id: question.question for question in question_set.stored_questions(context).questions}
        texts = arm_answers.stored_texts(context, manifest)
        answers = arm_answers.stored_answers(context, manifest)
        assert len(answers) == 40
        for answer in answers:
            rebuilt_request(
                answer,
                question=questions[answer.question_id],
                texts=texts,
                provider=cell.provider,
                model=cell.model,
                base_url=cell.base_url,
                sampling=cell.sampling,
            )


@pytest.mark.parametrize("judged", [True, False])
def test_one_copy_of_judge_material_is_stored_for_each_distinct_text_judged_or_not(tmp_path: Path, judged: bool) -> None:
    for count in (2, 20):
        file = with_questions(starter(tmp_path / str(count)), count)
        with suite(file) as context:
            (cell,) = context.project.cells_of("kettle")
            done = run_cell(context, cell, context.project.judges_of("kettle")[0] if judged else None)
            stored = context.catalog.read(done.stages[2].manifest, arm_answers.TEXTS_FILE)
            materials = {answer.arm: set() for answer in arm_answers.stored_answers(context, done.stages[2].manifest)}
            for answer in arm_answers.stored_answers(context, done.stages[2].manifest):
                materials[answer.arm].add(answer.material_digest)
            texts = arm_answers.stored_texts(context, done.stages[2].manifest)
            written = json.loads(context.catalog.read(done.report, "arms.json"))
        assert pq.read_table(io.BytesIO(stored)).num_rows == len(texts) == len(set(texts.values()))
        assert len(materials["skill:use-kettle"]) == 1
        assert len(materials["baseline"]) == 1
        assert {digest: text for digest, text in texts.items() if digest in written["judge_materials"]} == written["judge_materials"]
        assert set(written["judge_materials"]) == set().union(*materials.values())
        skill_text = written["judge_materials"][next(iter(materials["skill:use-kettle"]))]
        assert json.dumps(written).count(json.dumps(skill_text)) == 1


def test_the_material_of_a_skill_costs_an_artifact_its_text_once_however_many_questions(tmp_path: Path) -> None:
    """The growth of arms.v1 by its materials; the same for 2 questions and for 40."""

    def growth(count: int, arms: str) -> int:
        file = with_questions(starter(tmp_path / f"{count}-{len(arms)}"), count)
        text = file.read_text()
        start, end = text.index("    arms:\n"), text.index("    baseline_arm")
        file.write_text(f"{text[:start]}    arms: [baseline, {arms}]\n{text[end:]}")
        with suite(file) as context:
            (cell,) = context.project.cells_of("kettle")
            done = run_cell(context, cell, None)
            written = json.loads(context.catalog.read(done.report, "arms.json"))
        whole = len(json.dumps(written))
        return whole - len(json.dumps({key: value for key, value in written.items() if key != "judge_materials"}))

    assert growth(2, "skill:skills/use-kettle") == growth(40, "skill:skills/use-kettle")


def test_a_plan_counts_exactly_the_calls_that_a_run_then_makes(tmp_path: Path) -> None:
    with running_stub() as stub:
        file = edited(at_stub(starter(tmp_path), stub.url), (JUDGE, "facts: {kind: rubric, model: grader, endpoint: there}"))
        with suite(file) as context:
            planned = asyncio.run(plan_suite(context))
        assert stub.requests == 0
        run = ran(file)
        assert planned.answers[0].calls == run.stages[2].manifest.facts["calls"]["paid"]
        assert stub.requests == run.counts.paid
        with suite(file) as context:
            after = asyncio.run(plan_suite(context))
        assert after.answers[0].finished == after.answers[0].calls
        assert after.judgements[0].finished == after.judgements[0].calls == run.stages[3].manifest.facts["calls"]["paid"]


def test_retrieval_context_that_was_cut_is_counted_per_arm_in_the_report(tmp_path: Path) -> None:
    file = starter(tmp_path)
    for name in ("boiling", "installing"):
        page = tmp_path / "docs" / f"{name}.md"
        page.write_text(page.read_text() + "\nWater boils in the kettle.\n" * 600)
    run = ran(file)
    with suite(file) as context:
        report = context.catalog.read(run.report, "report.md").decode()
        cut = [answer for answer in arm_answers.stored_answers(context, run.stages[2].manifest) if answer.metadata.get("context_truncated")]
    assert cut
    for arm in ("docs", "docs+skill:use-kettle"):
        number = sum(answer.arm == arm for answer in cut)
        assert f"{arm}: {number} answers got a context that was cut at its limit; the model was not sent all of it." in report.replace(
            "\\", ""
        )


def test_a_reply_with_half_a_character_is_kept_with_a_mark_in_its_place_since_it_was_paid_for(tmp_path: Path) -> None:
    body = '{"choices":[{"index":0,"message":{"role":"assistant","content":"half \\ud83d of it"},"finish_reason":"stop"}]}'
    with running_stub() as stub:
        file = with_questions(at_stub(starter(tmp_path), stub.url), 1)
        edited(file, ("model: extractive", f"model: 'stub;do=body;raw={body}'"))
        run = ran(file)
        with suite(file) as context:
            answers = arm_answers.stored_answers(context, run.stages[2].manifest)
            written = json.loads(context.catalog.read(run.report, "arms.json"))
    assert {(answer.state, answer.answer) for answer in answers} == {("answered", "half \ufffd of it")}
    assert len(written["answers"]) == 1
