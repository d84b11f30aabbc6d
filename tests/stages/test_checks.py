"""The checks: what each of them finds, and what one that blocks stops."""

import asyncio
import shutil
from pathlib import Path

import pytest

from evalplatform.answering.records import ArmAnswer
from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.comparisons.records import ScoreCost
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import CheckFailedError
from evalplatform.ports.documents import Chunk
from evalplatform.project.load import load_project
from evalplatform.project.policy import CheckSettings, ConstantScoresCheck, CoverageCheck, EmptyRetrievalCheck, SuiteChecks, UnpricedCheck
from evalplatform.retrieval.recorded import retrieval_record
from evalplatform.stages import arms_report, judged_scores, verdicts
from evalplatform.stages.checks.answer_checks import ANSWER_CHECKS, AnswerEvidence, asked_alike
from evalplatform.stages.checks.check import Finding, results_of
from evalplatform.stages.checks.judge_checks import JUDGE_CHECKS, JudgeEvidence, prompt_digests
from evalplatform.stages.checks.score_checks import SCORE_CHECKS, ScoreEvidence
from evalplatform.stages.checks.stored import judge_check_results, score_check_results
from evalplatform.stages.checks.unpriced import CallPrices, call_prices
from evalplatform.stages.facts import report_facts
from evalplatform.stages.judged_scores import materialize_judged_scores
from evalplatform.stages.pipeline import CellRun, run_cell
from evalplatform.stages.score_chain import ChecksMade, StageBegun, StageMade, score_events
from evalplatform.stages.score_stages import stages_of
from evalplatform.wiring import OpenedProject
from tests.support.arm_rows import Table, answer, question_id, scores_of
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter, starter_project

PAID = CallCounts(paid=4, paid_usd=0.1)
JUDGES = "    judges: [facts]\n"


def with_checks(file: Path, checks: str) -> Path:
    return edited(file, (JUDGES, f"{JUDGES}    checks: {checks}\n"))


def ran(file: Path, *, judged: bool = True) -> CellRun:
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        (cell,) = context.project.cells_of("kettle")
        return run_cell(context, cell, context.project.judges_of("kettle")[0] if judged else None)


def stored_assets(file: Path) -> set[str]:
    with OpenedProject(load_project(file, environ={})) as opened:
        return {artifact.asset for artifact in opened.catalog.list(suite="kettle")}


# Answers.


def of_answers(name: str, answers: list[ArmAnswer], *, calls: CallCounts = PAID, settings: SuiteChecks | None = None) -> Finding:
    results = results_of(ANSWER_CHECKS, AnswerEvidence(answers=answers, calls=calls), settings or SuiteChecks())
    return next(result.finding for result in results if result.name == name)


def retrieved(number: int, arm: str, *, empty: bool) -> ArmAnswer:
    row = answer(number, arm)
    metadata = {**row.metadata, **retrieval_record([Chunk(source="a.md", text="x", relevance=1.0)], top_k=5)}
    return row.with_changes(metadata=metadata, context_chunks=() if empty else row.context_chunks)


def test_the_worst_retrieving_arm_decides_with_the_questions_that_got_nothing() -> None:
    answers = [answer(number, "baseline") for number in range(4)]
    answers += [retrieved(number, "docs", empty=number == 0) for number in range(4)]
    answers += [retrieved(number, "docs+skill", empty=number < 2) for number in range(4)]
    found = of_answers("empty_retrieval", answers)
    assert (found.passed, found.value, found.limit) == (False, 0.5, 0.25)
    assert found.sentence.startswith("docs+skill: 50.0% of 4 prompts had no retrieved chunk")
    assert found.examples == (question_id(0), question_id(1))
    assert of_answers("empty_retrieval", answers, settings=SuiteChecks(empty_retrieval=EmptyRetrievalCheck(most_empty_rate=0.5))).passed


def test_where_no_arm_retrieves_there_is_nothing_to_pass() -> None:
    found = of_answers("empty_retrieval", [answer(0, "baseline")])
    assert (found.passed, found.value) == (None, None)
    assert "No arm retrieved anything" in found.sentence


def test_one_unpriced_call_of_a_thousand_is_seen_whichever_run_paid_for_it() -> None:
    priced = [answer(number, "baseline").with_changes(calls=1, cost_usd=0.0) for number in range(2_000)]
    one = [priced[0].with_changes(cost_usd=None), *priced[1:]]
    for calls in (CallCounts(paid=2_000, unpriced=1), CallCounts(replayed=2_000), CallCounts(paid=1, replayed=1_999)):
        found = of_answers("unpriced", one, calls=calls)
        assert (found.passed, found.value) == (False, 0.0005)
        assert found.sentence.startswith("0.1% of 2,000 answer calls have no known price")
        assert of_answers("unpriced", one, calls=calls, settings=SuiteChecks(unpriced=UnpricedCheck(most_unpriced_rate=0.0005))).passed
    assert of_answers("unpriced", priced).passed is True
    assert of_answers("unpriced", [one[0].with_changes(calls=0)]).passed is None


def test_a_judgement_of_several_calls_hides_none_without_a_price_from_the_run_that_paid_for_it() -> None:
    rows = [ScoreCost(calls=3, cost_usd=0.2), ScoreCost(calls=1, cost_usd=None), ScoreCost(calls=0, cost_usd=None)]
    assert call_prices(rows, CallCounts()) == CallPrices(calls=4, unpriced=1)
    assert call_prices(rows, CallCounts(paid=4, unpriced=2)) == CallPrices(calls=4, unpriced=2)


def test_a_run_whose_calls_an_interrupted_one_paid_is_blocked_for_their_prices_all_the_same(tmp_path: Path) -> None:
    with running_stub() as stub:
        there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}"}}'
        file = with_checks(starter(tmp_path, ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{there}")), "{}")
        edited(file, ("endpoint: here, sampling", "endpoint: there, sampling"))
        ran(file)
        for artifact in ("arm_answers", "judged_scores"):  # a kill before they were stored leaves the ledger alone
            shutil.rmtree(next(folder for folder in (tmp_path / ".evalplatform").rglob(artifact)))
        asked = stub.requests
        edited(file, ("checks: {}", "checks: {unpriced: {blocking: true}}"))
        with pytest.raises(CheckFailedError, match=r"checks\.unpriced: .* 100.0% of 40 answer calls have no known price"):
            ran(file)
        assert stub.requests == asked


def test_a_judges_calls_are_looked_at_for_their_prices_in_the_stored_scores(tmp_path: Path) -> None:
    with running_stub() as stub:
        there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}"}}'
        file = starter(
            tmp_path,
            ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{there}"),
            ("facts: {kind: overlap, model: overlap, endpoint: here}", "facts: {kind: rubric, model: other, endpoint: there}"),
        )
        ran(file)
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        results = score_check_results(context, context.project.cells_of("kettle")[0], context.project.judges_of("kettle")[0])
    found = next(result.finding for result in results if result.name == "unpriced")
    assert (found.passed, found.value) == (False, 1.0)
    assert found.sentence.startswith("100.0% of 40 judge calls have no known price")


@pytest.mark.parametrize(
    ("calls", "passed"),
    [
        (CallCounts(paid=1, replayed=9), True),
        (CallCounts(replayed=10), False),
        (CallCounts(replayed=9, shared=1), True),  # the one was paid for by another arm or cell of this run
        (CallCounts(failed=2, replayed=8), False),
        (CallCounts(failed=2), None),
        (CallCounts(), None),
    ],
)
def test_a_run_that_only_replayed_measured_nothing_new(calls: CallCounts, passed: bool | None) -> None:
    found = of_answers("all_cached", [], calls=calls)
    assert found.passed is passed
    assert ("raise `draws`, or change the cell's `seed`" in found.sentence) is (passed is False)
    assert ("2 calls failed" in found.sentence) is (calls.failed == 2)


def test_a_cell_whose_plugins_only_reshape_replies_is_meant_to_replay_those_of_its_pair(tmp_path: Path) -> None:
    reader = "  reader: {model: extractive, endpoint: here, sampling: {max_tokens: 120}}"
    plugins = {"cut": "plugins: [truncate:80], ", "told": "plugins: [caveman], ", "both": "plugins: [caveman, truncate:80], "}
    cells = [f"  {name}: {{model: extractive, endpoint: here, {refs}sampling: {{max_tokens: 120}}}}" for name, refs in plugins.items()]
    seeded = "  seeded: {model: extractive, endpoint: here, plugins: [truncate:80], sampling: {max_tokens: 120, seed: 7}}"
    project = starter_project(tmp_path / "project", (reader, "\n".join([reader, *cells, seeded])))
    plain = project.cell("reader")
    alike = {name: asked_alike(project.cell(name), [plain]) for name in (*plugins, "seeded", "reader")}
    assert alike == {"cut": "reader", "told": None, "both": None, "seeded": None, "reader": None}
    assert asked_alike(project.cell("cut"), []) is None

    evidence = AnswerEvidence(answers=[], calls=CallCounts(replayed=10), asked_as="reader")
    (found,) = (result.finding for result in results_of(ANSWER_CHECKS, evidence, SuiteChecks()) if result.name == "all_cached")
    assert (found.passed, found.value) == (True, 0)
    assert "shares its replies with reader" in found.sentence
    assert "seed" not in found.sentence


def test_arms_that_asked_the_same_throughout_are_named_and_arms_that_differ_once_are_not() -> None:
    same = [answer(number, arm).with_changes(request_digest=text_digest(str(number))) for number in range(3) for arm in ("a", "b", "c")]
    found = of_answers("equal_arms", [row if row.arm != "c" or row.question_id != question_id(2) else answer(2, "c") for row in same])
    assert (found.passed, found.value, found.examples) == (False, 1, ("a and b (3 questions)",))
    assert of_answers("equal_arms", [answer(number, arm) for number in range(3) for arm in ("a", "b")]).passed is True
    assert of_answers("equal_arms", [answer(0, "a")]).passed is None


def test_questions_that_one_arm_could_not_be_prepared_for_do_not_make_arms_differ() -> None:
    rows = [answer(number, arm).with_changes(request_digest=text_digest(str(number))) for number in range(3) for arm in ("a", "b")]
    rows[0] = rows[0].with_changes(request_digest=None, state="failed", answer=None, reason="prepare_failed: retrieval_failed: no reply")
    assert of_answers("equal_arms", rows).examples == ("a and b (2 questions)",)


# Who judges, and what.


def of_judge(name: str, evidence: JudgeEvidence) -> Finding:
    return next(result.finding for result in results_of(JUDGE_CHECKS, evidence, SuiteChecks()) if result.name == name)


@pytest.mark.parametrize(
    ("answering", "judging", "passed", "said"),
    [
        ("model-a", "model-b", True, "model-b judges the answers of model-a: two models by their names, compared without vendor, region"),
        ("model-a", "model-a", False, "model-a judges its own answers: models"),
        ("model-a", "maker/Model-A", False, "model-a judges its own answers under the name maker/Model-A: models"),
        ("model-a", "openai:model-a-2024-08-06", False, "model-a judges its own answers under the name openai:model-a-2024-08-06: models"),
        ("model-a", "model-a-mini", True, "judges the answers of"),
    ],
)
def test_a_judge_that_is_the_answering_model_is_told(tmp_path: Path, answering: str, judging: str, passed: bool, said: str) -> None:
    project = starter_project(tmp_path)
    cell = project.cells_of("kettle")[0].with_changes(model=answering)
    judge = project.judges_of("kettle")[0]
    judge = judge.with_changes(settings=judge.settings.with_changes(model=judging))
    found = of_judge("self_judging", JudgeEvidence(cell=cell, judge=judge, prompts_sent={}, prompts_now={}))
    assert found.passed is passed
    assert said in found.sentence
    elsewhere = judge.with_changes(settings=judge.settings.with_changes(base_url="http://other.example/v1"))
    moved = of_judge("self_judging", JudgeEvidence(cell=cell, judge=elsewhere, prompts_sent={}, prompts_now={}))
    assert moved.passed is passed
    assert ("asked at different endpoints" in moved.sentence) is (not passed)


def stale_prompts(file: Path) -> Finding:
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        results = judge_check_results(context, context.project.cells_of("kettle")[0], context.project.judges_of("kettle")[0])
    return next(result.finding for result in results if result.name == "stale_prompts")


def test_an_edited_skill_or_profile_makes_stored_answers_stale_and_a_document_does_not(tmp_path: Path) -> None:
    file = starter(tmp_path)
    ran(file)
    assert stale_prompts(file).passed is True
    (tmp_path / "docs/boiling.md").write_text("# Boiling\n\nOther words.\n")
    assert stale_prompts(file).passed is True
    skill, profile = tmp_path / "skills/use-kettle/SKILL.md", tmp_path / "profiles/plain-speaker.md"
    as_answered = profile.read_text()
    profile.write_text(as_answered + "\nAlways in one sentence.\n")
    assert stale_prompts(file).examples == ("profile:plain-speaker/profile_prompt",)
    profile.write_text(as_answered)
    assert stale_prompts(file).passed is True
    skill.write_text(skill.read_text() + "\nOne more line.\n")
    found = stale_prompts(file)
    assert (found.passed, found.value) == (False, 2)
    assert found.examples == ("docs+skill:use-kettle/2:skill:use-kettle:skill_block", "skill:use-kettle/skill_block")
    assert found.sentence.startswith("Stale answers: they were given to other arms or prompts than those of now")
    skill.unlink()
    assert stale_prompts(file).passed is None
    assert "cannot be told" in stale_prompts(file).sentence


SKILL_ARM = "      - skill:skills/use-kettle\n"


@pytest.mark.parametrize(
    ("arm", "now", "changed"),
    [
        (SKILL_ARM, "      - skill:skills/other-skill\n", ("skill:other-skill", "skill:use-kettle")),
        (SKILL_ARM, "      - {name: renamed, spec: skill:skills/use-kettle}\n", ("renamed", "skill:use-kettle")),
        (SKILL_ARM, "", ("skill:use-kettle",)),
        (SKILL_ARM, f"{SKILL_ARM}      - skill:skills/other-skill\n", ("skill:other-skill",)),
        ("      - docs:local:docs\n", "      - docs:local:skills\n", ("docs",)),
    ],
)
def test_an_arm_that_is_another_now_makes_stored_answers_stale(tmp_path: Path, arm: str, now: str, changed: tuple[str, ...]) -> None:
    file = starter(tmp_path)
    ran(file)
    other = tmp_path / "skills/other-skill/SKILL.md"
    other.parent.mkdir()
    other.write_text((tmp_path / "skills/use-kettle/SKILL.md").read_text().replace("name: use-kettle", "name: other-skill"))
    edited(file, (arm, now))
    found = stale_prompts(file)
    assert (found.passed, found.examples, found.value) == (False, changed, len(changed))


def test_the_order_of_arms_makes_no_answer_stale(tmp_path: Path) -> None:
    file = starter(tmp_path)
    ran(file)
    edited(file, (SKILL_ARM, ""))
    edited(file, ("      - docs:local:docs\n", f"{SKILL_ARM}      - docs:local:docs\n"))
    assert stale_prompts(file).passed is True


def test_only_arms_and_what_was_said_to_the_model_count_as_prompts() -> None:
    inputs = {"answer_prompt": "a", "draws": "1", "arm[000]": "docs=docs:d"}
    inputs |= {"treatment:docs/documents": "b", "treatment:docs/retrieval": "c"}
    inputs |= {"treatment:x/1:docs:documents": "e", "treatment:x/2:skill:s:skill_block": "f", "treatment:p/profile_prompt": "g"}
    assert prompt_digests(inputs) == {"docs": "docs:d", "answer prompt": "a", "x/2:skill:s:skill_block": "f", "p/profile_prompt": "g"}


# Scores.


def of_scores(name: str, table: Table, *, questions: int, settings: SuiteChecks | None = None) -> Finding:
    ids = [question_id(number) for number in range(questions)]
    scores = question_scores(scores_of(table), arms=list(table), question_ids=ids, draws=1)
    evidence = ScoreEvidence(scores=scores, baseline_arm="baseline", questions=questions, prices=CallPrices(calls=4, unpriced=0))
    results = results_of(SCORE_CHECKS, evidence, settings or SuiteChecks())
    return next(result.finding for result in results if result.name == name)


def test_coverage_is_the_least_share_scored_in_both_arms_and_says_what_is_missing() -> None:
    table: Table = {"baseline": [50.0] * 19 + [None], "docs": [None, *[60.0] * 19], "skill": [70.0] * 20}
    found = of_scores("coverage", table, questions=20)
    assert (found.passed, found.value, found.limit) == (False, 0.9, 0.95)
    assert found.examples == ("baseline: malformed_reply 1", "docs: malformed_reply 1")
    assert of_scores("coverage", table, questions=20, settings=SuiteChecks(coverage=CoverageCheck(least_scored_rate=0.9))).passed is True


def test_coverage_of_a_single_arm_is_the_share_that_it_scored() -> None:
    found = of_scores("coverage", {"baseline": [50.0, None]}, questions=2)
    assert (found.passed, found.value) == (False, 0.5)
    assert "in the only arm" in found.sentence


def test_points_that_never_differ_are_told_from_six_questions_on() -> None:
    flat: Table = {"baseline": [50.0] * 6, "docs": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]}
    found = of_scores("constant_scores", flat, questions=6)
    assert (found.passed, found.value, found.examples) == (False, 1, ("baseline",))
    assert found.sentence.startswith("baseline: 1 different score over 6 questions")
    assert of_scores("constant_scores", {arm: points[:5] for arm, points in flat.items()}, questions=5).passed is None
    every = of_scores("constant_scores", {"baseline": [50.0] * 6, "docs": [50.0] * 6}, questions=6)
    assert every.sentence.startswith("Every answer of every arm has 50.0 points")
    ended: Table = {"baseline": [0.0] * 6, "docs": [100.0] * 6, "skill": [0.0, 100.0] * 3}
    assert of_scores("constant_scores", ended, questions=6).passed is True
    assert of_scores("constant_scores", {arm: ended[arm] for arm in ("baseline", "docs")}, questions=6).passed is True
    assert of_scores("constant_scores", {"baseline": [100.0] * 6}, questions=6).passed is False
    stricter = SuiteChecks(constant_scores=ConstantScoresCheck(least_distinct_points=7))
    assert of_scores("constant_scores", flat, questions=6, settings=stricter).examples == ("baseline", "docs")


# What comes of them.


def test_a_check_that_blocks_counts_as_an_error_and_every_check_has_settings() -> None:
    names = {check.name for check in (*ANSWER_CHECKS, *JUDGE_CHECKS, *SCORE_CHECKS)}
    assert names == set(SuiteChecks.model_fields)
    settings = SuiteChecks(all_cached=CheckSettings(blocking=True))
    results = results_of(ANSWER_CHECKS, AnswerEvidence(answers=[], calls=CallCounts(replayed=1)), settings)
    assert [(result.name, result.severity, result.blocks) for result in results if result.failed] == [("all_cached", "error", True)]


def test_every_limit_that_a_check_names_is_a_setting_of_it() -> None:
    for check in (*ANSWER_CHECKS, *JUDGE_CHECKS, *SCORE_CHECKS):
        own = set(type(getattr(SuiteChecks(), check.name)).model_fields) - {"blocking"}
        assert own == ({check.setting} if check.setting else set())


def test_a_failed_check_of_answers_stops_judging_and_names_the_setting(tmp_path: Path) -> None:
    file = with_checks(starter(tmp_path), "{empty_retrieval: {most_empty_rate: 0.1, blocking: true}}")
    with pytest.raises(CheckFailedError) as stopped:
        ran(file)
    said = str(stopped.value)
    assert said.startswith(
        "suites.kettle.checks.empty_retrieval: the check 'empty_retrieval' blocks, and failed for arm_answers of reader-"
    )
    for part in (
        "docs: 25.0% of 8 prompts",
        "(limit: most_empty_rate 0.1)",
        "nor is a report",
        "empty_retrieval.blocking to false, or suites.kettle.checks.empty_retrieval.most_empty_rate to another limit.",
    ):
        assert part in said
    assert stored_assets(file) == {"question_set", "corpus", "arm_answers"}
    with pytest.raises(CheckFailedError):  # once more, with nothing left to make
        ran(file)
    edited(file, ("most_empty_rate: 0.1", "most_empty_rate: 0.25"))
    assert arms_report.ASSET in {stage.manifest.artifact.asset for stage in ran(file).stages}


def test_a_failed_check_of_scores_keeps_the_scores_and_makes_nothing_of_them(tmp_path: Path) -> None:
    file = edited(with_checks(starter(tmp_path), "{constant_scores: {least_distinct_points: 9, blocking: true}}"))
    edited(file, (JUDGES, f"{JUDGES}    pass_points: 50\n"))
    with pytest.raises(CheckFailedError, match=r"checks\.constant_scores: .* failed for judged_scores of reader-[0-9a-f]+/facts-"):
        ran(file)
    assert judged_scores.ASSET in stored_assets(file)
    assert not stored_assets(file) & {verdicts.ASSET, "arm_summary", arms_report.ASSET}


def test_a_judge_that_may_not_judge_itself_is_never_asked(tmp_path: Path) -> None:
    with running_stub() as stub:
        there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}"}}'
        file = starter(
            tmp_path,
            ("  here: {provider: offline}", f"  here: {{provider: offline}}\n{there}"),
            ("facts: {kind: overlap, model: overlap, endpoint: here}", "facts: {kind: rubric, model: extractive, endpoint: there}"),
        )
        with pytest.raises(CheckFailedError, match="extractive judges its own answers"):
            ran(with_checks(file, "{self_judging: {blocking: true}}"))
        assert stub.requests == 0
        assert "judged_scores" not in stored_assets(file)
        # Without blocking it is asked, and the report says so.
        edited(file, ("blocking: true", "blocking: false"))
        run = ran(file)
        assert stub.requests > 0
    assert [result.name for result in run.failed_checks if result.name == "self_judging"] == ["self_judging"]
    with OpenedProject(load_project(file, environ={})) as opened:
        assert "extractive judges its own answers" in opened.catalog.read(run.report, arms_report.MARKDOWN_FILE).decode()


def test_a_report_repeats_what_puts_its_numbers_in_doubt_once(tmp_path: Path) -> None:
    file = with_checks(starter(tmp_path), "{empty_retrieval: {most_empty_rate: 0.1}, coverage: {least_scored_rate: 1}}")
    edited(file, ("      - profile:profiles/plain-speaker.md\n", "      - {name: again, spec: baseline}\n"))
    run = ran(file)
    with OpenedProject(load_project(file, environ={})) as opened:
        text = opened.catalog.read(run.report, arms_report.MARKDOWN_FILE).decode()
    assert text.count("had no retrieved chunk") == 1
    assert text.count("Equal arms: baseline and again (8 questions) were sent the same prompts") == 1
    same_call = next(line for line in text.splitlines() if "Same call" in line)
    assert "docs 2" in same_call
    assert "again" not in same_call
    assert {result.name for result in report_facts(run.report).checks if result.failed} == {"empty_retrieval", "equal_arms"}


def test_limits_change_reports_and_neither_answers_nor_scores(tmp_path: Path) -> None:
    file = starter(tmp_path)
    assert ran(file).failed_checks == ()
    run = ran(with_checks(file, "{empty_retrieval: {most_empty_rate: 0.1}}"))
    assert {stage.manifest.artifact.asset for stage in run.stages if not stage.unchanged} == {arms_report.ASSET}
    assert [result.name for result in run.failed_checks] == ["empty_retrieval"]


def test_answers_alone_are_checked_too(tmp_path: Path) -> None:
    run = ran(with_checks(starter(tmp_path), "{empty_retrieval: {most_empty_rate: 0.1}}"), judged=False)
    assert [result.name for result in report_facts(run.report).checks] == ["empty_retrieval", "unpriced", "all_cached", "equal_arms"]
    assert [result.name for result in run.failed_checks] == ["empty_retrieval"]


def test_a_chain_that_is_entered_later_is_stopped_by_what_is_stored(tmp_path: Path) -> None:
    """A judge that is added once answers failed their check does not grade them."""
    file = starter(tmp_path)
    ran(file, judged=False)
    with_checks(file, "{empty_retrieval: {most_empty_rate: 0.1, blocking: true}}")
    with OpenedProject(load_project(file, environ={})) as opened:
        context = opened.suite_context("kettle")
        (cell,), (judge,) = context.project.cells_of("kettle"), context.project.judges_of("kettle")
        with pytest.raises(CheckFailedError, match="empty_retrieval"):
            list(score_events(context, cell, judge, stages_of(context.suite, judge)))
        asyncio.run(materialize_judged_scores(context, cell, judge))  # made all the same, by hand
        with pytest.raises(CheckFailedError, match="empty_retrieval"):
            list(score_events(context, cell, judge, stages_of(context.suite, judge)[1:]))


def test_a_chain_tells_what_it_does_in_order_and_ends_once_a_check_that_blocks_was_told(tmp_path: Path) -> None:
    file = starter(tmp_path)
    ran(file, judged=False)

    def told(*, made: tuple[str, ...] | None = None, checked: bool = True) -> list[str]:
        steps = []
        with OpenedProject(load_project(file, environ={})) as opened:
            context = opened.suite_context("kettle")
            (cell,), (judge,) = context.project.cells_of("kettle"), context.project.judges_of("kettle")
            chain = stages_of(context.suite, judge)[:2]
            try:
                for event in score_events(context, cell, judge, chain, made=made, checked=checked):
                    match event:
                        case StageBegun():
                            steps.append(f"begin {event.stage.asset}")
                        case StageMade():
                            steps.append(f"made {event.result.manifest.artifact.asset}")
                        case ChecksMade():
                            steps.append(" ".join(["checks", *(result.name for result in event.results)]))
            except CheckFailedError:
                steps.append("blocked")
        return steps

    of_scores = "checks self_judging stale_prompts coverage constant_scores unpriced"
    whole = ["begin judged_scores", "made judged_scores", of_scores, "begin arm_summary", "made arm_summary", "checks"]
    assert told() == whole
    assert told(checked=False) == [step for step in whole if not step.startswith("checks")]
    assert told(made=("arm_summary",)) == [of_scores, "begin arm_summary", "made arm_summary", "checks"]
    with_checks(file, "{constant_scores: {least_distinct_points: 9, blocking: true}}")
    assert told() == ["begin judged_scores", "made judged_scores", of_scores, "blocked"]
    edited(file, ("constant_scores: {least_distinct_points: 9, blocking: true}", "stale_prompts: {blocking: true}"))
    edited(file, (SKILL_ARM, ""))
    assert told() == ["checks self_judging stale_prompts", "blocked"]
