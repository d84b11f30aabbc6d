"""Scanning a trajectory for breached policies. Violations never change a verdict."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evalplatform.runs.assertions.json_text import strings_in_json
from evalplatform.runs.detectors.detector import detectors
from evalplatform.runs.pattern_search import texts_found
from evalplatform.runs.records import Violation
from evalplatform.runs.scenario import PolicySpec, ScannedPart
from evalplatform.runs.trajectory import MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory

_PART_OF_ROLE: dict[str, ScannedPart] = {"assistant": "agent_messages", "user": "user_messages", "system": "system_messages"}


class PolicyScan(NamedTuple):
    """What a scan found, as a run records it.

    Attributes:
        violations: each breach with the 1-based step, once a step, in the order of steps, then of policies; what breached is not kept.
            `()` where all was scanned and nothing found, also where no policy is given. None where nothing was found and not all was
            scanned, which is never the same as no violation.
        given_up: whether there may be violations beside those found, because a pattern needed more time than a search is given.
    """

    violations: tuple[Violation, ...] | None
    given_up: bool = False


def policy_scan(trajectory: Trajectory, policies: Iterable[PolicySpec]) -> PolicyScan:
    """Return which policies a trajectory breaches. Where a pattern's search is given up, all the others are still searched for.

    Raises:
        UnknownNameError: a policy names a detector that there is not. A loaded scenario set has been checked for that.
    """
    found: list[tuple[int, int, str]] = []
    is_whole = True
    for place, policy in enumerate(policies):
        texts = list(_texts(trajectory, policy.look_in))
        holds = _holding(policy, [text for _, text in texts])
        is_whole &= None not in holds
        steps = {number for (number, _), held in zip(texts, holds, strict=True) if held}
        found += [(number, place, policy.name) for number in steps]
    violations = tuple(Violation(policy=name, step=number) for number, _, name in sorted(found))
    return PolicyScan(violations, given_up=not is_whole) if violations or is_whole else PolicyScan(None)


def _holding(policy: PolicySpec, texts: list[str]) -> list[bool | None]:
    if policy.detector is not None:
        found_in = detectors.get(policy.detector).found_in
        return [found_in(text) for text in texts]
    return texts_found(policy.pattern or "", texts)


def _texts(trajectory: Trajectory, look_in: tuple[ScannedPart, ...]) -> Iterator[tuple[int, str]]:
    for number, step in enumerate(trajectory.steps, start=1):
        for part, text in _parts(step):
            if part in look_in and text:
                yield number, text
                yield from ((number, unescaped) for unescaped in strings_in_json(text))


def _parts(step: Step) -> Iterator[tuple[ScannedPart, str]]:
    if isinstance(step, MessageStep):
        yield _PART_OF_ROLE[step.role], step.text
    elif isinstance(step, ToolCallStep):
        yield "agent_messages", step.text or ""
        yield "tool_arguments", step.arguments_text
        yield "tool_arguments", step.tool
    elif isinstance(step, ToolResultStep):
        yield "tool_results", step.text
