"""Whatever rows there are, every check says something: it passed, it failed, or why it could not be told."""

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.question_scores import question_scores
from evalplatform.comparisons.records import ScoreCost
from evalplatform.comparisons.verdicts import arm_verdicts, question_verdicts
from evalplatform.judging.judge import JudgeSettings
from evalplatform.kernel.digests import text_digest
from evalplatform.ports.model_client import Sampling
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.policy import ConstantScoresCheck, CoverageCheck, EmptyRetrievalCheck, SuiteChecks, UnpricedCheck
from evalplatform.reports.verdicts import verdicts_markdown
from evalplatform.stages.checks.answer_checks import ANSWER_CHECKS, AnswerEvidence
from evalplatform.stages.checks.check import CheckResult, results_of
from evalplatform.stages.checks.judge_checks import JUDGE_CHECKS, JudgeEvidence
from evalplatform.stages.checks.score_checks import SCORE_CHECKS, ScoreEvidence
from evalplatform.stages.checks.unpriced import CallPrices, call_prices
from evalplatform.stats.paired_rates import PairedPasses, mcnemar_p_value, paired_rate_difference
from tests.support.arm_rows import answer, failed, question_id, score

rates = st.floats(0, 1)
counts = st.integers(0, 40)
calls = st.builds(CallCounts, paid=counts, replayed=counts, shared=counts, failed=counts, unpriced=st.just(0)).flatmap(
    lambda made: st.integers(0, made.paid).map(lambda unpriced: made.with_changes(unpriced=unpriced))
)
costs = st.builds(ScoreCost, calls=st.integers(0, 9), cost_usd=st.one_of(st.none(), st.floats(0, 1)))
settings = st.builds(
    SuiteChecks,
    coverage=st.builds(CoverageCheck, least_scored_rate=rates, blocking=st.booleans()),
    empty_retrieval=st.builds(EmptyRetrievalCheck, most_empty_rate=rates, blocking=st.booleans()),
    unpriced=st.builds(UnpricedCheck, most_unpriced_rate=rates),
    constant_scores=st.builds(ConstantScoresCheck, least_distinct_points=st.integers(2, 9)),
)
arms = st.lists(st.sampled_from(["docs", "skill:a", "a|b", "x+y", "profile:é"]), unique=True, max_size=3).map(
    lambda rest: ["baseline", *rest]
)
points = st.one_of(st.none(), st.floats(0, 100, allow_nan=False), st.sampled_from([0.0, 50.0, 100.0]))
odd_metadata = st.dictionaries(
    st.sampled_from(["retrieved_sources", "top_k", "treatments", "arm_kind"]),
    st.one_of(
        st.none(), st.integers(-1, 5), st.lists(st.text(max_size=3), max_size=2), st.just([{"retrieved_sources": ["a"], "top_k": 3}])
    ),
)


@st.composite
def answer_rows(draw: st.DrawFn) -> AnswerEvidence:
    rows = []
    for arm in draw(arms):
        for number in range(draw(st.integers(0, 4))):
            row = draw(st.sampled_from([answer, failed]))(number, arm)
            digest = draw(st.one_of(st.none(), st.sampled_from("ab").map(text_digest)))
            chunks = row.context_chunks if draw(st.booleans()) else ()
            rows.append(row.with_changes(request_digest=digest, metadata=draw(odd_metadata), context_chunks=chunks))
    return AnswerEvidence(answers=draw(st.permutations(rows)), calls=draw(calls))


@st.composite
def score_tables(draw: st.DrawFn) -> tuple[list[str], int, int, list]:  # type: ignore[type-arg]
    names, questions, draws = draw(arms), draw(st.integers(0, 8)), draw(st.integers(1, 3))
    rows = [
        score(number, arm, draw(points), draw=drawn)
        for arm in names
        for number in range(questions)
        for drawn in range(draws)
        if draw(st.booleans())
    ]
    return names, questions, draws, rows


def told(results: tuple[CheckResult, ...], settings: SuiteChecks) -> None:
    for result in results:
        assert result.finding.sentence.strip()
        assert "nan" not in result.finding.sentence
        assert result.blocks == (result.finding.passed is False and getattr(settings, result.name).blocking)
        assert (result.finding.value is None) == (result.finding.passed is None)
        assert CheckResult.model_validate_json(result.model_dump_json()) == result


@given(answer_rows(), settings)
def test_checks_of_answers(evidence: AnswerEvidence, limits: SuiteChecks) -> None:
    told(results_of(ANSWER_CHECKS, evidence, limits), limits)


@given(score_tables(), settings, st.lists(costs).flatmap(lambda rows: calls.map(lambda run: call_prices(rows, run))))
def test_checks_of_scores(table: tuple[list[str], int, int, list], limits: SuiteChecks, made: CallPrices) -> None:  # type: ignore[type-arg]
    names, questions, draws, rows = table
    scores = question_scores(rows, arms=names, question_ids=[question_id(number) for number in range(questions)], draws=draws)
    told(results_of(SCORE_CHECKS, ScoreEvidence(scores=scores, baseline_arm="baseline", questions=questions, prices=made), limits), limits)


digests = st.dictionaries(st.text(max_size=5), st.text(max_size=3), max_size=4)


@given(st.text(min_size=1), st.text(min_size=1), digests, st.one_of(digests, st.text(min_size=1)), settings)
def test_checks_before_judging(answering: str, judging: str, sent: dict[str, str], now: dict[str, str] | str, limits: SuiteChecks) -> None:
    cell = Cell(id="c", key="c-1", endpoint="e", provider="p", base_url=None, model=answering, harness="h", sampling=Sampling())
    judge = JudgeCell(
        id="j", key="j-1", endpoint="e", settings=JudgeSettings(kind="rubric", provider="p", model=judging), prompt_digest="d", metrics=()
    )
    told(results_of(JUDGE_CHECKS, JudgeEvidence(cell=cell, judge=judge, prompts_sent=sent, prompts_now=now), limits), limits)


@given(score_tables(), st.floats(0, 100), st.sampled_from(["holm", "bh"]), st.booleans())
def test_verdicts_count_every_question_of_every_arm_once(table, pass_points, correction, clustered) -> None:  # type: ignore[no-untyped-def]
    names, questions, draws, rows = table
    ids = [question_id(number) for number in range(questions)]
    verdicts = question_verdicts(rows, arms=names, question_ids=ids, draws=draws, pass_points=pass_points)
    found = arm_verdicts(
        verdicts, arms=names, baseline_arm="baseline", pass_points=pass_points, draws=draws, correction=correction, clustered=clustered
    )
    assert len(verdicts) == questions * len(names)
    for arm in found.arms:
        assert arm.passed + arm.failed + arm.unscored == arm.questions == questions
        assert sum(arm.unscored_reasons.values()) == arm.unscored
        assert (arm.pass_rate is None) == (arm.passed + arm.failed == 0)
    assert type(found).model_validate_json(found.model_dump_json()) == found
    assert verdicts_markdown(found, title="t", facts=()).count("\n| ") >= len(names)


@given(counts, counts, counts, counts)
def test_a_paired_difference_lies_in_its_interval_and_p_in_its_range(both: int, candidate: int, baseline: int, neither: int) -> None:
    passes = PairedPasses(both=both, candidate_alone=candidate, baseline_alone=baseline, neither=neither)
    found, p_value = paired_rate_difference(passes), mcnemar_p_value(passes)
    if passes.pairs == 0:
        assert found is None
        assert p_value is None
        return
    assert found is not None
    assert p_value is not None
    assert -1 <= found.ci_lo <= found.difference <= found.ci_hi <= 1
    assert 0 < p_value <= 1
