"""The gate policy of a project, in words: what is in force, where it stands, and what to change where another place says another thing."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evalplatform.gates.policy_standing import PolicyDifference, PolicySource, PolicyStanding
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.gate_policy import HeldPolicy

PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
NO_PLAIN_KEYS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that YAML 1.1 or 1.2 reads as something else than text."""

OFFER = (
    "This project has no gate policy, so one run a side decides its gates. Hold one: `evalplatform gate policy set --target-drop 50` (a "
    "50-point target, every scenario standard). A `gate:` block in the scenario file gives one to `evalplatform run`."
)
SOURCE_WORDS: dict[PolicySource, str] = {
    "held": "held by the platform",
    "file": "of the scenario file; the platform holds none",
    "batch": "that the newest batch ran under; the platform holds none",
    "none": "none yet; this is what one would begin with",
}
ONE_GATE_LATER = (
    "A tier move takes effect one gate later: the stricter tier of the two batches applies, so a scenario that was critical still is at "
    "the next gate, which says so."
)


def policy_sentence(standing: PolicyStanding) -> str:
    """Return which policy is spoken of, in a sentence."""
    return f"Policy: {policy_words(standing)}"


def policy_words(standing: PolicyStanding) -> str:
    """Return what the policy in force says, and where it stands."""
    policy = standing.policy
    targets = [
        f"target drop {policy.target_drop} points",
        *(f"{tier} {points}" for tier, points in sorted(policy.target_drop_by_tier.items())),
    ]
    said = (
        f"{', '.join(targets)}; at most {policy.max_runs_per_gate:,} runs a gate; {policy.runs} runs of a scenario without enough history"
    )
    return f"{said} ({SOURCE_WORDS[standing.source]})."


def policy_lines(standing: PolicyStanding) -> Iterator[str]:
    """Yield the policy as a block that a scenario file takes, where it stands, and where another place differs."""
    yield policy_sentence(standing)
    if standing.stored is not None:
        yield f"set by {standing.stored.set_by}, {standing.stored.set_at:%Y-%m-%d %H:%M} UTC"
    yield from block_lines(standing.policy)
    for scenario_id, tier in sorted(standing.policy.tier_by_scenario.items()):
        yield f"  tier of {with_visible_spaces(scenario_id)}: {tier}"
    yield from difference_lines(standing)
    if standing.source == "none":
        yield OFFER


def difference_lines(standing: PolicyStanding) -> Iterator[str]:
    """Yield where the scenario file and the newest batch differ from the held policy, and the lines to change in the file."""
    if standing.file_differs:
        yield "The scenario file differs from the held policy; `evalplatform run` and gates of its batches follow the file. To change:"
        yield from _changes(standing.file_differs)
    if standing.batch_differs and standing.newest is not None:
        settings = ", ".join(difference.setting for difference in standing.batch_differs)
        yield f"The newest batch, {standing.newest.id}, ran under another policy, which it keeps: {settings}."


def block_lines(policy: HeldPolicy) -> Iterator[str]:
    """Yield a policy as the `gate:` block of a scenario file."""
    yield "gate:"
    yield f"  target_drop: {policy.target_drop}"
    yield from _mapping("target_drop_by_tier", policy.target_drop_by_tier.items())
    yield f"  max_runs_per_gate: {policy.max_runs_per_gate}"
    yield f"  runs: {policy.runs}"
    yield from _mapping("tier_by_tag", policy.tier_by_tag.items())


def _mapping(name: str, values: Iterable[tuple[str, object]]) -> Iterator[str]:
    lines = [f"    {yaml_key(key)}: {value}" for key, value in values]
    if lines:
        yield f"  {name}:"
        yield from sorted(lines)


def _changes(differences: Sequence[PolicyDifference]) -> Iterator[str]:
    for difference in differences:
        if difference.elsewhere is None:
            yield "  gate: (the block is missing)"
            continue
        yield f"  {difference.setting}: {_written(difference.in_force)}   (now {_written(difference.elsewhere)})"


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_key(key)}: {item}" for key, item in sorted(value.items())) + "}"
    return str(value)


def yaml_key(text: str) -> str:
    """Return a tag as a key of a YAML file: as it is where that is a plain word, else quoted as JSON has it, which YAML reads alike."""
    is_plain = PLAIN_KEY.fullmatch(text) is not None and text.lower() not in NO_PLAIN_KEYS
    return text if is_plain else json.dumps(text, ensure_ascii=False)
