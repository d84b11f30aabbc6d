"""A batch check's report says first what is wrong, and colours no number before nothing is."""

from typing import get_args

import pytest

from evalplatform.comparisons.batch_check import BatchCheck, FileVerdict
from evalplatform.comparisons.batch_findings import BatchCheckName, BatchFinding, CheckResult, FileCheckName, LowCoverage, Truncated
from evalplatform.comparisons.batch_pool import CellDelta, PooledDelta
from evalplatform.comparisons.batch_rules import BatchRules
from evalplatform.reports.batch_check_report import batch_check_cases, batch_check_page, batch_check_payload
from evalplatform.reports.batch_check_words import CHECK_WORDS, finding_sentence
from evalplatform.reports.page import page_html, page_markdown
from evalplatform.stats.paired import PairedEffect

TESTS = {"p_t": 0.0004, "p_wilcoxon": None, "n_wilcoxon": None, "p_permutation": 0.00001}


def effect(mean: float, **changes: object) -> PairedEffect:
    values = {
        "n": 60,
        "delta_mean": mean,
        "delta_sd": 4.0,
        "standard_error": 0.5,
        "d_z": mean / 4,
        "effect": "large",
        "ci_lo": mean - 1,
        "ci_hi": mean + 1,
        "ci_method": "student_t",
        **TESTS,
        **changes,
    }
    return PairedEffect.model_validate(values)


def check(pooled: PairedEffect | None, *, finding: bool = False, pairs: int = 60) -> BatchCheck:
    delta = CellDelta(
        treatment_arm="profile:concise",
        model="haiku",
        questions=40,
        baseline_scored=40,
        treatment_scored=39,
        pairs=39,
        mean_points=2.04,
        effect=effect(2.04),
        stated_points=2.5,
    )
    complete = CheckResult(check="complete", finding=Truncated(reason="deferred") if finding else None)
    return BatchCheck(
        rules=BatchRules(),
        files=(FileVerdict(file="haiku_regular.json", results=(CheckResult(check="schema"), complete), delta=delta),),
        results=(CheckResult(check="files", not_made="no number of files was asked for"), CheckResult(check="pooling")),
        pooled=PooledDelta(files=2, pairs=pairs, mean_points=2.0, mean_of_file_means_points=2.25, effect=pooled),
    )


def test_every_finding_has_a_sentence_and_every_check_has_words() -> None:
    union, _ = get_args(BatchFinding)
    assert all(kind in finding_sentence.registry for kind in get_args(union))
    assert set(CHECK_WORDS) == {*get_args(FileCheckName), *get_args(BatchCheckName)}


@pytest.mark.parametrize(
    ("mean", "finding", "tone"), [(2.0, False, "better"), (-2.0, False, "worse"), (0.5, False, "plain"), (2.0, True, "plain")]
)
def test_the_pooled_delta_has_a_colour_only_in_a_batch_that_passed(mean: float, finding: bool, tone: str) -> None:
    page = batch_check_page(check(effect(mean), finding=finding), folder="runs/persona")
    assert page.findings[-1].tone == tone
    assert [notice.level for notice in page.notices] == (["problem"] if finding else [])


def test_findings_stand_before_the_delta_with_file_and_check() -> None:
    page = batch_check_page(check(effect(2.0), finding=True), folder="runs/persona", skipped=[("rollup.json", "states another schema")])
    assert page.title == "Batch check of persona"
    assert [found.evidence.split(";")[0] for found in page.findings][:1] == ["haiku_regular.json: complete"]
    assert page.subtitle == "1 file: 1 check failed, in 1 file."
    assert page.notices[-1].text == "rollup.json was skipped: states another schema."
    text = page_markdown(page)
    assert text.index("truncated (deferred)") < text.index("Delta +2.0 points [+1.0, +3.0] over 60 pairs of 2 files, pooled over questions")
    assert "the mean of the files' means is +2.2" in text
    assert "haiku_regular.json" in page_html(page)


@pytest.mark.parametrize(
    ("pooled", "pairs", "said"),
    [
        (effect(2.0), 60, "p (t) 0.0004, p (sign flip) <0.0001"),
        (effect(2.0, clusters=30), 60, "the pairs are of 30 questions, asked in several files, which the interval allows for"),
        (effect(2.0, p_t=None, p_permutation=None), 5, "Not tested: below 6 questions, or without spread"),
        (None, 1, "One pair has no interval."),
        (None, 3, "One question has no interval, however often it was asked."),
    ],
)
def test_what_the_delta_rests_on_is_said_beside_it(pooled: PairedEffect | None, pairs: int, said: str) -> None:
    evidence = batch_check_page(check(pooled, pairs=pairs), folder="x").findings[-1].evidence
    assert said in evidence
    assert "—" not in evidence


def test_a_stated_delta_that_differs_is_marked_in_its_row() -> None:
    (section,) = (section for section in batch_check_page(check(effect(2.0)), folder="x").sections if section.key == "deltas")
    assert [(cell.text, cell.tone) for cell in section.table.rows[0][-2:]] == [("[+1.0, +3.0]", "plain"), ("+2.5", "caution")]


def test_the_figure_shows_every_file_and_the_pooled_delta() -> None:
    (figure,) = batch_check_page(check(effect(2.0)), folder="x").figures
    assert "haiku_regular.json +2.0 [+1.0, +3.0]" in figure.plot.alt
    assert "pooled over questions +2.0 [+1.0, +3.0]" in figure.plot.alt


def test_json_and_junit_tell_passed_failed_and_not_made_apart() -> None:
    found = check(effect(2.0), finding=True)
    payload = batch_check_payload(found, folder="x")
    files = payload["files"]
    assert isinstance(files, list)
    assert [case.outcome for case in batch_check_cases(found)] == ["passed", "failed", "skipped", "passed"]
    assert [case.group for case in batch_check_cases(found)] == ["haiku_regular.json", "haiku_regular.json", "batch", "batch"]
    assert (payload["passed"], payload["findings"]) == (False, 1)


@pytest.mark.parametrize(
    ("unscored", "why"), [({"malformed_reply": 4}, "unscored: malformed_reply 4."), ({}, "the others are not in the scores at all.")]
)
def test_low_coverage_says_what_became_of_the_other_questions(unscored: dict[str, int], why: str) -> None:
    said = finding_sentence(LowCoverage(pairs=4, total_questions=8, least_rate=0.95, unscored=unscored))
    assert said == f"Coverage: 4 of 8 questions were scored in both arms (50.0%), below 95%; {why}"
