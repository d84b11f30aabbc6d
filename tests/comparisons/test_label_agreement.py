"""A judge beside people: which pairs count, what is withheld, and what is said where there is no number."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.label_agreement import label_agreement, latest_labels, majority, verdict_agreement
from evalplatform.comparisons.label_records import GradedAnswer, LabelAgreement
from evalplatform.ports.labels import Label, Verdict

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def graded(points: Sequence[float | None], *, calls: int = 1) -> list[GradedAnswer]:
    return [GradedAnswer(answer_digest=f"a{number}", points=value, calls=calls) for number, value in enumerate(points)]


def a_label(number: int, value: float | str, *, labeller: str = "ana", hours: int = 0, kind: str = "answer") -> Label:
    return Label.model_validate(
        {
            "subject_kind": kind,
            "subject": f"a{number}",
            "labeller": labeller,
            "scale": "verdict" if isinstance(value, str) else "points",
            "value": value,
            "labelled_at": NOON + timedelta(hours=hours),
        }
    )


def compared(
    points: Sequence[float | None], labels: Sequence[Label], *, pass_points: float | None = 50.0, calls: int = 1
) -> LabelAgreement:
    return label_agreement(graded(points, calls=calls), labels, pass_points=pass_points)


RISING = [float(number) for number in range(60)]


def test_points_are_compared_by_rank_and_by_their_side_of_the_pass_mark() -> None:
    found = compared(RISING, [a_label(number, min(100.0, number + 5.0)) for number in range(60)])
    assert found.points.pairs == 60
    assert found.points.rank_correlation is not None
    assert found.points.rank_correlation.rho == 1.0
    assert found.points.same_side is not None
    assert found.points.same_side.rate == pytest.approx(55 / 60)  # 45 to 49 points pass with the person alone


def test_verdicts_are_compared_with_the_judges_points_at_the_pass_mark() -> None:
    found = compared([50.0, 49.9] * 20, [a_label(number, "passed" if number % 4 == 0 else "failed") for number in range(40)])
    assert found.verdicts.agreement is not None
    assert found.verdicts.agreement.rate == 0.75  # 10 of 20 that the judge passes, all 20 that it fails
    assert found.verdicts.kappa is not None
    assert found.verdicts.kappa.kappa == pytest.approx(0.5)
    assert found.points.rank_correlation_reason == "withheld: 0 of 30 labelled answers"


def test_below_thirty_labelled_answers_every_number_is_withheld_with_the_count() -> None:
    found = compared(RISING, [a_label(number, 50.0) for number in range(29)] + [a_label(number, "passed") for number in range(12)])
    assert (found.points.rank_correlation, found.points.same_side, found.verdicts.agreement, found.verdicts.kappa) == (None,) * 4
    assert found.points.rank_correlation_reason == found.points.same_side_reason == "withheld: 29 of 30 labelled answers"
    assert found.verdicts.agreement_reason == found.verdicts.kappa_reason == "withheld: 12 of 30 labelled answers"
    assert not found.is_shown
    assert compared(RISING, [a_label(number, float(number)) for number in range(30)]).is_shown


def test_a_program_has_no_agreement_however_many_labels_there_are() -> None:
    labels = [a_label(number, float(number)) for number in range(60)] + [a_label(number, "passed") for number in range(60)]
    found = compared(RISING, labels, calls=0)
    assert not found.decided_by_model
    assert not found.is_shown
    assert found.points.rank_correlation_reason == found.verdicts.kappa_reason == "none: no model decided any of these scores"
    assert found.labelled == 60


def test_without_a_pass_mark_what_needs_one_is_missing_with_the_reason() -> None:
    labels = [a_label(number, float(number)) for number in range(60)] + [a_label(number, "passed") for number in range(60)]
    found = compared(RISING, labels, pass_points=None)
    assert found.points.rank_correlation is not None
    assert found.points.same_side_reason == found.verdicts.agreement_reason == "no pass mark: the suite has no pass_points"
    assert (found.points.same_side, found.verdicts.agreement, found.verdicts.kappa) == (None,) * 3


def test_numbers_that_are_not_defined_say_so() -> None:
    found = compared(
        [70.0] * 40, [a_label(number, float(number)) for number in range(40)] + [a_label(number, "passed") for number in range(40)]
    )
    assert found.points.rank_correlation_reason == "not defined: one side gave every answer the same points"
    assert found.verdicts.kappa_reason == "not defined: both sides gave every answer the same verdict"
    assert found.verdicts.agreement is not None
    assert found.verdicts.agreement.rate == 1.0


def test_an_answer_that_several_arms_gave_is_one_pair_with_its_mean_points() -> None:
    rows = [GradedAnswer(answer_digest="a0", points=value, calls=1) for value in (20.0, 90.0, None)]
    found = label_agreement([*rows, *graded(RISING)[1:]], [a_label(number, "passed") for number in range(60)], pass_points=55.0)
    assert (found.answers, found.verdicts.pairs) == (60, 60)
    assert found.verdicts.agreement is not None
    assert found.verdicts.agreement.rate == pytest.approx(6 / 60)  # a0 at the mean of 55, and a55 to a59


def test_answers_that_the_judge_left_unscored_are_counted_and_not_compared() -> None:
    found = compared([*RISING[:30], None, None], [a_label(number, float(number)) for number in range(32)])
    assert (found.labelled, found.unscored, found.points.pairs) == (32, 2, 30)


def test_labels_of_other_answers_and_of_runs_are_passed_over() -> None:
    found = compared(RISING[:2], [a_label(0, 1.0), a_label(99, 1.0), a_label(1, "passed", kind="run")])
    assert (found.labelled, found.points.pairs, found.verdicts.pairs) == (1, 1, 0)


def test_several_labellers_count_as_their_mean_and_as_most_of_them_with_ties_left_out() -> None:
    points = [a_label(number, value, labeller=who) for number in range(40) for who, value in (("ana", number), ("ben", number + 40.0))]
    verdicts = [a_label(number, "passed", labeller=who) for number in range(40) for who in ("ana", "ben", "cyd")]
    split = [label.with_changes(value="failed") if label.labeller == "cyd" else label for label in verdicts]
    ties = [label for label in split if not (label.labeller == "ben" and label.subject in {"a0", "a1", "a2"})]
    found = label_agreement(graded(RISING), [*points, *ties], pass_points=20.0)
    assert found.points.same_side is not None
    assert found.points.same_side.rate == 0.5  # people's mean passes from a0 on, the judge from a20 on
    assert (found.tied_verdicts, found.verdicts.pairs, found.labellers) == (3, 37, ("ana", "ben", "cyd"))
    assert found.verdicts.agreement is not None
    assert found.verdicts.agreement.rate == pytest.approx(20 / 37)


def test_labellers_are_compared_with_each_other_where_they_share_thirty_answers() -> None:
    labels = [a_label(number, float(number)) for number in range(60)]
    labels += [a_label(number, float(number % 7), labeller="ben") for number in range(30)]
    labels += [a_label(number, float(number), labeller="cyd") for number in range(29)]
    (pair,) = compared(RISING, labels).labeller_pairs
    assert (pair.labellers, pair.points.pairs) == (("ana", "ben"), 30)
    assert pair.points.rank_correlation is not None
    assert pair.verdicts.agreement_reason == "withheld: 0 of 30 labelled answers"


def test_labellers_are_compared_though_no_model_judged() -> None:
    labels = [a_label(number, float(number), labeller=who) for number in range(30) for who in ("ana", "ben")]
    (pair,) = compared(RISING, labels, calls=0).labeller_pairs
    assert pair.points.rank_correlation is not None


def test_who_changes_their_mind_is_heard_last() -> None:
    labels = [a_label(0, 20.0, hours=2), a_label(0, 80.0), a_label(0, "passed"), a_label(0, 50.0, labeller="ben")]
    assert {(label.labeller, label.value) for label in latest_labels(labels)} == {("ana", 20.0), ("ana", "passed"), ("ben", 50.0)}


def test_as_many_for_as_against_is_no_verdict() -> None:
    assert majority(["passed", "failed", "passed"]) == "passed"
    assert majority(["failed"]) == "failed"
    assert majority(["passed", "failed"]) is None


def test_the_order_of_labels_and_gradings_changes_nothing() -> None:
    labels = [a_label(number, float(7 * number % 60), labeller=who) for number in range(60) for who in ("ana", "ben")]
    assert compared(RISING, labels) == label_agreement(graded(RISING)[::-1], labels[::-1], pass_points=50.0)


CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "agreement"], ids=lambda case: case["id"])
def test_the_worked_agreements_of_judge_and_people(case: dict[str, Any]) -> None:
    cells: list[tuple[str, tuple[Verdict, Verdict]]] = [
        ("both_pass", ("passed", "passed")),
        ("judge_pass_label_fail", ("passed", "failed")),
        ("judge_fail_label_pass", ("failed", "passed")),
        ("both_fail", ("failed", "failed")),
    ]
    found = verdict_agreement([pair for name, pair in cells for _ in range(case["input"][name])])
    expected = case["expect"]
    assert found.pairs == expected["n"]
    if expected["withheld"]:
        assert (found.agreement, found.kappa) == (None, None)
        assert found.agreement_reason == f"withheld: {expected['n']} of 30 labelled answers"
        return
    assert found.agreement is not None
    assert found.kappa is not None
    assert found.agreement.rate == pytest.approx(expected["agreement"], rel=1e-12)
    assert [found.agreement.ci_lo, found.agreement.ci_hi] == pytest.approx(expected["agreement_ci"], rel=1e-9)
    assert (found.kappa.kappa, found.kappa.standard_error) == pytest.approx((expected["kappa"], expected["kappa_se"]), rel=1e-9)
    assert [found.kappa.ci_lo, found.kappa.ci_hi] == pytest.approx(expected["kappa_ci"], rel=1e-9)
