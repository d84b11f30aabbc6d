"""Gate readiness: what is caught, the readings, what other targets would take, and the day on which nothing can be said yet."""

import pytest

from evalplatform.comparisons.run_agreement import run_agreement
from evalplatform.gates.policy_standing import policy_standing
from evalplatform.gates.readiness import Readiness, gate_readiness
from evalplatform.ports.labels import Label
from evalplatform.reports.page import page_html, page_markdown
from evalplatform.reports.readiness_report import agreement_words, marks, readiness_notes, readiness_page, readiness_sentence
from evalplatform.runs.gate_policy import GatePolicy
from tests.gates.test_gate_plan import planned
from tests.support.compared_batches import AT

NO_JUDGE = run_agreement({}, [])
STANDING = policy_standing(None, None, None)


def readiness_of(*scenarios: object, policy: GatePolicy | None = None) -> Readiness:
    return gate_readiness(list(scenarios), policy or GatePolicy(), agreement=NO_JUDGE)  # type: ignore[arg-type]


def test_every_reading() -> None:
    found = readiness_of(
        planned("stable", 20),
        planned("some", 19),
        planned("low", 8),
        planned("dead", 0),
        planned("new", 4, 9),
        planned("flaky", 19, tier="critical"),
        planned("steady-critical", 20, tier="critical"),
        planned("none", 0, 0),
    )
    assert {row.scenario_id: row.reading for row in found.rows} == {
        "stable": "stable",
        "some": "some_failures",
        "low": "not_covered",
        "dead": "always_failing",
        "new": "not_enough_history",
        "flaky": "unstable_critical",
        "steady-critical": "stable",
        "none": "not_enough_history",
    }


def test_the_sentence_counts_what_is_caught_and_what_it_costs() -> None:
    found = readiness_of(planned("a", 20), planned("b", 8))
    assert readiness_sentence(found) == "This gate catches a 50-point drop 8 times in 10 on 1 of 2 scenarios, for 22 runs per gate."
    assert (found.with_full_history, found.with_enough_history, found.is_day_one) == (2, 2, False)


def test_what_the_cap_leaves_short_is_not_caught() -> None:
    found = readiness_of(planned("a", 20), planned("b", 20), policy=GatePolicy(max_runs_per_gate=20))
    assert found.caught == 1
    assert "falling short: b 8 of 12" in " ".join(readiness_notes(found, STANDING, "main"))


def test_a_higher_target_can_catch_fewer_scenarios() -> None:
    found = readiness_of(planned("half", 11))  # a rate of 55% can fall by 50 points, not by 60
    assert [(other.target_drop_points, other.caught) for other in found.what_if] == [(60, 0), (50, 1), (40, 1)]
    steady = readiness_of(planned("a", 20))
    assert [other.total_runs for other in steady.what_if] == sorted(other.total_runs or 0 for other in steady.what_if)


def test_on_day_one_no_figure_of_what_is_caught_is_shown_and_the_way_to_a_history_is() -> None:
    found = readiness_of(planned("a", 9, 9), planned("b", 0, 0))
    assert found.is_day_one
    assert readiness_sentence(found) == "There is not enough history yet: 0 of 2 scenarios have 10 or more baseline runs."
    page = readiness_page(found, STANDING, "main")
    assert [section.key for section in page.sections] == ["scenarios"]
    (how, *_) = readiness_notes(found, STANDING, "main")
    assert "`evalplatform gate --baseline-branch main --record`" in how
    assert "99.8%" in how  # 1 - 2 * 0.5**10


def test_a_page_has_one_mark_a_run_and_runs_no_script() -> None:
    found = readiness_of(planned("a<b>", 19))
    assert marks(found.rows[0].pool) == "○" + "●" * 19  # type: ignore[arg-type]
    page = readiness_page(found, STANDING, "main")
    html = page_html(page)
    assert "<script" not in html
    assert "a&lt;b&gt;" in html
    assert "○" + "●" * 19 in page_markdown(page)


def test_a_project_without_a_policy_is_offered_one() -> None:
    assert any("gate policy set --target-drop 50" in note for note in readiness_notes(readiness_of(planned("a", 20)), STANDING, "main"))


@pytest.mark.parametrize(("labelled", "shown"), [(29, False), (30, True)])
def test_the_judges_agreement_is_withheld_below_thirty_labelled_runs(labelled: int, shown: bool) -> None:
    judged = {f"r-{place}": "passed" if place % 2 else "failed" for place in range(40)}
    labels = [
        Label(subject_kind="run", subject=f"r-{place}", labeller="ann", scale="verdict", value="passed", labelled_at=AT)
        for place in range(labelled)
    ]
    said = agreement_words(run_agreement(judged, labels))  # type: ignore[arg-type]
    assert said.startswith("50.0%" if shown else f"withheld: {labelled} of 30 labelled runs")


def test_no_agreement_where_no_model_decided_a_verdict() -> None:
    assert agreement_words(NO_JUDGE) == "none: no model decided any verdict"
