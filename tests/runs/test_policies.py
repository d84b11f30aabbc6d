"""Violations: which policy, at which step, and nothing of what was found; what could not be scanned never reads as clean."""

import pytest

from evalplatform.kernel.errors import UnknownNameError
from evalplatform.runs.policies import PolicyScan, policy_scan
from evalplatform.runs.records import Violation
from evalplatform.runs.scenario import PolicySpec, ScannedPart
from evalplatform.runs.trajectory import MessageStep, Trajectory
from tests.support.run_facts import call, files, result, says, user

CARD = "4111 1111 1111 1111"
CARDS = PolicySpec(name="No card", detector="payment_card")
EVERYWHERE: tuple[ScannedPart, ...] = ("agent_messages", "tool_arguments", "tool_results", "user_messages", "system_messages")

TRAJECTORY = Trajectory(
    steps=(
        MessageStep(role="system", text=f"Test card: {CARD}"),
        user(f"My card is {CARD}"),
        call("charge", {"card": CARD}, text=f"I charge {CARD}"),
        result("charge", f"charged {CARD}"),
        says("Done."),
        says(f"Your card {CARD} was charged."),
        files(),
    )
)


def steps(policy: PolicySpec) -> list[int]:
    violations = policy_scan(TRAJECTORY, [policy]).violations
    assert violations is not None
    assert {violation.policy for violation in violations} <= {policy.name}
    return [violation.step for violation in violations]


def test_by_default_only_what_the_agent_wrote_is_its_breach_and_each_step_counts_once() -> None:
    assert steps(CARDS) == [3, 6]


@pytest.mark.parametrize(
    ("part", "found"), [("system_messages", [1]), ("user_messages", [2]), ("tool_arguments", [3]), ("tool_results", [4])]
)
def test_a_policy_can_name_where_it_looks(part: ScannedPart, found: list[int]) -> None:
    assert steps(CARDS.with_changes(look_in=(part,))) == found


def test_everywhere_is_every_step_that_holds_it() -> None:
    assert steps(CARDS.with_changes(look_in=EVERYWHERE)) == [1, 2, 3, 4, 6]


def test_a_pattern_is_found_anywhere_in_a_step_and_the_tool_name_belongs_to_the_call() -> None:
    assert steps(PolicySpec(name="p", pattern=r"(?i)DONE|^charge$")) == [3, 5]


def test_what_json_escapes_is_found_as_it_is_read() -> None:
    escaped = r'{"to": ["ann\u0040example.com"], "key\nAKIAIOSFODNN7EXAMPLE": 1}'.replace("\\\\", "\\")
    hidden = Trajectory(steps=(call("send", escaped), call("send", r"no json \u0040"), says(r"a\b")))
    for detector in ("email_address", "secret_key"):
        found = policy_scan(hidden, [PolicySpec(name=detector, detector=detector)])
        assert found == PolicyScan((Violation(policy=detector, step=1),))


def test_a_pattern_is_anchored_at_each_text_in_the_arguments_also_of_a_name_that_stands_twice() -> None:
    written = Trajectory(steps=(call("q", '{"sql": "DROP TABLE"}'), call("q", '{"sql": "DROP x", "sql": "SELECT"}'), call("q", "DROP?")))
    found = policy_scan(written, [PolicySpec(name="p", pattern="^DROP")]).violations
    assert found is not None
    assert [violation.step for violation in found] == [1, 2, 3]


def test_violations_stand_in_the_order_of_steps_then_of_policies_and_keep_no_content() -> None:
    found = policy_scan(TRAJECTORY, [PolicySpec(name="z", pattern="card"), CARDS, PolicySpec(name="never", pattern="zebra")]).violations
    assert found is not None
    assert [(violation.step, violation.policy) for violation in found] == [(3, "z"), (3, "No card"), (6, "z"), (6, "No card")]
    assert set(Violation.model_fields) == {"policy", "step"}


def test_a_run_that_no_policy_looks_at_counts_as_scanned() -> None:
    assert policy_scan(TRAJECTORY, []) == PolicyScan(())
    assert policy_scan(Trajectory(steps=()), [CARDS]) == PolicyScan(())


def test_what_was_found_before_a_scan_was_given_up_is_kept_and_the_run_counts_as_not_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalplatform.runs.pattern_search.SEARCH_SECONDS", 0.5)
    slow = PolicySpec(name="slow", pattern="(a+)+$")
    hard = Trajectory(steps=(says("aa"), says("a" * 60 + "b"), says(f"Your card {CARD}")))
    kept = (Violation(policy="slow", step=1), Violation(policy="No card", step=3))
    for policies in ([CARDS, slow], [slow, CARDS]):
        assert policy_scan(hard, policies) == PolicyScan(kept, given_up=True)
    nothing = Trajectory(steps=hard.steps[1:2])
    assert policy_scan(nothing, [CARDS, slow]) == PolicyScan(None)


def test_an_unknown_detector_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'payment_card'"):
        policy_scan(TRAJECTORY, [CARDS.with_changes(detector="payment_cart")])
