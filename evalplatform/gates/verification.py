"""Checks a gate's certificate by itself: everything is derived again from its counts, with whole numbers and fractions alone.

Nothing of the code that decides gates is used here, which an import contract holds; so a mistake there cannot hide here. The file can be
read as the rule of the gate, written down a second time.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from evalplatform.gates.claim import BOUND, COVERED, EXACT_UP_TO_RUNS, NOT_COVERED, RELATIVE_ERROR
from evalplatform.gates.verified_shape import Json, shape_problems
from evalplatform.gates.verified_suite import Table, exact_tail, tail_bounds
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value

FORMAT, VERSION = "evalplatform.gate-certificate", 1
LEVELS = {"single_level": Fraction(1, 25), "listed_level": Fraction(1, 20), "suite_level": Fraction(1, 100)}
FEWEST_POOLED, MOST_POOLED = 10, 20
GRADED = frozenset({"passed", "failed", "agent_error", "budget_stop"})
OUTCOMES = GRADED | {"harness_error", "ungraded"}
CHOICES = frozenset({"named", "previous_batch", "last_gate", "branch", "seed"})


class Verification(Value):
    """What checking a certificate found: each thing that does not hold, and what it says of the gate where it holds."""

    problems: tuple[str, ...]
    fails: bool
    scenarios: int
    gating: tuple[str, ...]
    digest: str

    @property
    def holds(self) -> bool:
        """Whether the certificate is one: nothing in it contradicts anything else."""
        return not self.problems


class _Scenario(NamedTuple):
    """A scenario's given part."""

    id: str
    rule: str
    critical: bool
    k1: int
    n1: int
    k2: int
    n2: int
    before: str | None
    after: str | None
    legs_differ: bool

    @property
    def tail(self) -> Fraction:
        """How often chance alone puts at least `k1` of all passes on the baseline's side."""
        passes = self.k1 + self.k2
        ways = sum(comb(self.n1, first) * comb(self.n2, passes - first) for first in range(self.k1, min(self.n1, passes) + 1))
        return Fraction(ways, comb(self.n1 + self.n2, passes))

    @property
    def least(self) -> Fraction:
        """The least that `tail` can be with these margins."""
        passes = self.k1 + self.k2
        most = min(self.n1, passes)
        return Fraction(comb(self.n1, most) * comb(self.n2, passes - most), comb(self.n1 + self.n2, passes))

    @property
    def dropped(self) -> bool:
        """Whether the candidate passes less often."""
        return self.k2 * self.n1 < self.k1 * self.n2


def verify_certificate(data: bytes, *, file: object = None) -> Verification:
    """Derive a gate's decision again from its certificate, and say what of it does not hold.

    Args:
        data: a certificate, or a batch comparison (schema version 3) that holds one.
        file: for error messages.

    Returns:
        The problems; none where the certificate holds. A certificate of other fields or types than it should have is one problem.

    Raises:
        InputError: it is no JSON, or no certificate and holds none.
    """
    stated = _certificate(data, file)
    try:
        problems = tuple(_problems(stated))
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        problems = (f"it is not made as a certificate is: {type(error).__name__}: {error}",)
    return Verification(
        problems=problems,
        fails=stated.get("fails") is True,
        scenarios=_length(stated.get("scenarios")),
        gating=tuple(str(name) for name in stated.get("gating") or () if isinstance(stated.get("gating"), list)),
        digest=str(stated.get("digest")),
    )


def _certificate(data: bytes, file: object) -> dict[str, Json]:
    try:
        read = json.loads(data, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot be read as JSON: {error}.", file=file) from None
    gate = read.get("gate") if isinstance(read, dict) else None
    found = gate.get("certificate") if isinstance(gate, dict) else read
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"is no gate certificate, and holds none (`format` would be {FORMAT!r}).", file=file)
    return found


def _once(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    twice = [name for name, number in Counter(name for name, _ in pairs).items() if number > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} stands there twice")
    return dict(pairs)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no number of JSON")


def _length(value: Json) -> int:
    return len(value) if isinstance(value, list) else 0


def _problems(stated: Mapping[str, Json]) -> Iterator[str]:
    """Yield what does not hold, first what everything else rests on."""
    misshapen = list(shape_problems(stated))
    yield from misshapen
    if misshapen:
        return  # nothing can be derived of what is not there
    if stated["version"] != VERSION:
        yield f"version is {stated['version']!r}, and only {VERSION} is known"
    digest = json_digest({name: value for name, value in stated.items() if name != "digest"})
    if digest != stated["digest"]:
        yield "digest is not that of the content: something was edited after the certificate was made"
    yield from _constants(stated)
    scenarios = []
    for entry in stated["scenarios"]:
        wrong = list(_given_problems(entry, stated))
        yield from wrong
        if wrong:
            return  # nothing can be derived of what is not there
        scenarios.append(_scenario(entry))
    if [scenario.id for scenario in scenarios] != sorted({scenario.id for scenario in scenarios}):
        yield "scenarios are not in the order of their ids, or one stands there twice"
    for name, total in stated["totals"].items():
        if total != sum(entry[name] for entry in stated["scenarios"]):
            yield f"totals.{name} is {total}, and the scenarios have another sum"
    yield from _derived_problems(stated, scenarios)


def _constants(stated: Mapping[str, Json]) -> Iterator[str]:
    for name, level in LEVELS.items():
        if _fraction(stated[name]) != level:
            yield f"{name} is {stated[name]}, and the rule has {level}"
    claim = {"at_most": str(BOUND), "covers": COVERED, "does_not_cover": list(NOT_COVERED)}
    for name, said in claim.items():
        if stated["bound"][name] != said:
            yield f"bound.{name} is {stated['bound'][name]!r}, and what the rule can claim is {said!r}"
    if stated["choice"] not in CHOICES:
        yield f"choice is {stated['choice']!r}"
    if stated["is_seed"] is not (stated["choice"] == "seed"):
        yield "is_seed and choice contradict each other"
    if stated["history_error"] is not None and (stated["history"] is not None or stated["choice"] not in ("branch", "last_gate")):
        yield "history_error speaks of a history that was read, or that a gate without a branch does not ask for"
    if stated["is_seed"] and stated["baseline"] != stated["candidate"]:
        yield "a seed gates a batch against itself, and these are two"


def _given_problems(entry: Mapping[str, Json], stated: Mapping[str, Json]) -> Iterator[str]:
    """Yield what is wrong with the given part of a scenario."""
    name = entry["scenario_id"]
    counts = [entry[f"{side}_{what}"] for side in ("baseline", "candidate") for what in ("passed", "graded")]
    if any(type(count) is not int or count < 0 for count in counts) or counts[0] > counts[1] or counts[2] > counts[3]:
        yield f"{name}: its counts are not passes of graded runs: {counts}"
        return
    tiers = [entry["baseline_tier"], entry["candidate_tier"]]
    if not set(tiers) <= {"critical", "standard"}:
        yield f"{name}: its tiers are {tiers}"
    elif entry["tier"] != ("critical" if "critical" in tiers else "standard"):
        yield f"{name}: tier is {entry['tier']!r}, and not the stricter of {tiers}"
    if entry["rule"] not in ("flip", "run_sets") or type(entry["legs_differ"]) is not bool:
        yield f"{name}: its rule is {entry['rule']!r}"
    yield from _outcome_problems(entry)
    if entry["pool"] is not None:
        yield from _pool_problems(entry, stated)


def _outcome_problems(entry: Mapping[str, Json]) -> Iterator[str]:
    name = entry["scenario_id"]
    for side in ("baseline", "candidate"):
        outcome, passed, graded = entry[f"{side}_outcome"], entry[f"{side}_passed"], entry[f"{side}_graded"]
        if entry["rule"] == "run_sets":
            if outcome is not None:
                yield f"{name}: run sets decide it, and no {side} outcome does"
        elif outcome is not None and outcome not in OUTCOMES:
            yield f"{name}: {outcome!r} is no outcome"
        elif outcome in GRADED and not (passed if outcome == "passed" else graded - passed):
            yield f"{name}: the {side}'s outcome is {outcome}, and its counts are {passed}/{graded}"


def _pool_problems(entry: Mapping[str, Json], stated: Mapping[str, Json]) -> Iterator[str]:
    name, pool = entry["scenario_id"], entry["pool"]
    marks = pool["marks"]
    if entry["rule"] != "run_sets" or stated["history"] is None:
        yield f"{name}: it has a history pool, and none can be used"
        return
    if marks.strip("01") or not FEWEST_POOLED <= len(marks) <= MOST_POOLED or (pool["stop"] == "limit") != (len(marks) == MOST_POOLED):
        yield f"{name}: its pool is no history of {FEWEST_POOLED} to {MOST_POOLED} runs that ends by {pool['stop']!r}"
    if (marks.count("1"), len(marks)) != (entry["baseline_passed"], entry["baseline_graded"]):
        yield f"{name}: the baseline's counts are not those of its pool"
    if not pool["batches"] or not set(pool["batches"]) <= set(stated["history"]):
        yield f"{name}: its pool is of batches that the history does not have"


def _scenario(entry: Mapping[str, Json]) -> _Scenario:
    return _Scenario(
        id=entry["scenario_id"],
        rule=entry["rule"],
        critical=entry["tier"] == "critical",
        k1=entry["baseline_passed"],
        n1=entry["baseline_graded"],
        k2=entry["candidate_passed"],
        n2=entry["candidate_graded"],
        before=entry["baseline_outcome"],
        after=entry["candidate_outcome"],
        legs_differ=entry["legs_differ"],
    )


def _derived_problems(stated: Mapping[str, Json], scenarios: Sequence[_Scenario]) -> Iterator[str]:
    """Yield what of the derived part is not what the given part gives."""
    unverified = {scenario.id: _unverified(scenario) for scenario in scenarios}
    tested = [scenario for scenario in scenarios if scenario.rule == "run_sets" and unverified[scenario.id] is None]
    standard = [scenario for scenario in tested if not scenario.critical]
    k = _tarone([scenario.least for scenario in standard])
    threshold = LEVELS["single_level"] / k
    if type(stated["k"]) is not int or stated["k"] != k:
        yield f"k is {stated['k']}, and the margins give {k}"
    if _fraction(stated["threshold"]) != threshold:
        yield f"threshold is {stated['threshold']}, and 1/25 divided by K is {threshold}"
    readings = {scenario.id: _reading(scenario, unverified[scenario.id], threshold) for scenario in scenarios}
    for entry, scenario in zip(stated["scenarios"], scenarios, strict=True):
        expected = _expected(scenario, readings[scenario.id], unverified[scenario.id])
        for field, value in expected.items():
            if not _is_same(entry[field], value):
                yield f"{scenario.id}: {field} is {entry[field]!r}, and its counts give {value if value is not None else 'none'}"
    spread = [scenario for scenario in standard if readings[scenario.id] != "drop_significant"]
    tables = [(scenario.k1, scenario.n1, scenario.k2, scenario.n2) for scenario in spread]
    tail = _suite_tail(tables)
    is_drop = tail[1] <= LEVELS["suite_level"]
    yield from _suite_problems(stated["suite"], tables, tail, is_drop=is_drop)
    yield from _answer_problems(stated, readings, suite_drop=is_drop)


def _expected(scenario: _Scenario, reading: str, unverified: str | None) -> dict[str, Fraction | str | bool | None]:
    is_tested = scenario.rule == "run_sets" and unverified is None
    return {
        "p": scenario.tail if is_tested else None,
        "smallest_p": scenario.least if is_tested else None,
        "reading": reading,
        "unverified_reason": unverified,
        "unstable_critical": is_tested and scenario.critical and 0 < scenario.k1 < scenario.n1,
        "gates": reading in ("flipped", "unverified", "drop", "drop_significant"),
    }


def _unverified(scenario: _Scenario) -> str | None:
    if scenario.legs_differ:
        return "legs_differ"
    if scenario.rule == "flip":
        if scenario.before not in GRADED:
            return "baseline_ungraded"
        if scenario.after in GRADED or (scenario.before == "passed" and scenario.after == "harness_error"):
            return None
        return "candidate_ungraded"
    if not scenario.n1:
        return "baseline_ungraded"
    if not scenario.n2:
        return "candidate_ungraded"
    return None if Fraction(1, comb(scenario.n1 + scenario.n2, scenario.n1)) <= LEVELS["single_level"] else "too_few_runs"


def _reading(scenario: _Scenario, unverified: str | None, threshold: Fraction) -> str:
    if unverified is not None:
        return "unverified"
    if scenario.rule == "flip":
        return "flipped" if scenario.before == "passed" != scenario.after else "not_flipped"
    if scenario.critical:
        if scenario.dropped:
            return "drop"
        return "pre_existing_failing" if scenario.k2 < scenario.n2 else "no_drop"
    rules: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("drop_significant", lambda: scenario.tail <= threshold),
        ("listed_not_proven", lambda: scenario.tail <= LEVELS["listed_level"]),
        ("always_failing", lambda: scenario.k1 == 0),
        ("not_significant", lambda: scenario.dropped),
    )
    return next((reading for reading, applies in rules if applies()), "no_drop")


def _tarone(least: Sequence[Fraction]) -> int:
    """Return the smallest K for which at most K tests can reach 1/25 divided by K."""
    k = 1
    while sum(p <= LEVELS["single_level"] / k for p in least) > k:
        k += 1
    return k


def _suite_tail(tables: Sequence[Table]) -> tuple[Fraction, Fraction]:
    """Return bounds of the suite test's p-value on one side of its level: twice the exact fraction where the bounds would not tell."""
    low, high = tail_bounds(tables)
    if low <= LEVELS["suite_level"] < high:
        low = high = exact_tail(tables)
    return low, high


def _suite_problems(suite: Mapping[str, Json], tables: Sequence[Table], tail: tuple[Fraction, Fraction], *, is_drop: bool) -> Iterator[str]:
    if suite["scenarios"] != len(tables):
        yield f"suite.scenarios is {suite['scenarios']}, and {len(tables)} standard scenarios have no single flag"
    low, high = tail
    stated, error = Fraction(suite["p"]), Fraction(RELATIVE_ERROR)
    if suite["relative_error"] != RELATIVE_ERROR:
        yield f"suite.relative_error is {suite['relative_error']}, and what is stated has {RELATIVE_ERROR}"
    if not low * (1 - error) <= stated <= high * (1 + error):
        yield f"suite.p is {suite['p']}, and the counts give {float(low):.12g}"
    runs = sum(n1 + n2 for _, n1, _, n2 in tables)
    if (suite["exact_p"] is not None) is not (runs <= EXACT_UP_TO_RUNS):
        yield f"suite.exact_p is {suite['exact_p']}, and up to {EXACT_UP_TO_RUNS} graded runs a fraction stands there: there are {runs}"
    elif suite["exact_p"] is not None and _fraction(suite["exact_p"]) != exact_tail(tables):
        yield f"suite.exact_p is {suite['exact_p']}, and the counts give another fraction"
    if suite["drop"] is not is_drop:
        yield f"suite.drop is {suite['drop']}, and its p-value against 1/100 gives {is_drop}"


def _answer_problems(stated: Mapping[str, Json], readings: Mapping[str, str], *, suite_drop: bool) -> Iterator[str]:
    gating = [name for name, reading in readings.items() if reading in ("flipped", "unverified", "drop", "drop_significant")]
    if stated["is_seed"]:
        gating = []
    if stated["gating"] != gating:
        yield f"gating is {stated['gating']}, and the scenarios give {gating}"
    replays = stated["determinism"]
    differing = replays is not None and bool(replays["differing"])
    if replays is not None and not set(replays["differing"]) <= set(readings):
        yield f"determinism.differing is {replays['differing']}, and not all of these are scenarios of the gate"
    if stated["strictness"]["require_replay_determinism"] is not (replays is not None):
        yield "determinism and strictness contradict each other"
    fails = differing or (not stated["is_seed"] and (bool(gating) or suite_drop or stated["history_error"] is not None))
    if stated["fails"] is not fails:
        yield f"fails is {stated['fails']}, and all of it together gives {fails}"


def _fraction(stated: Json) -> Fraction | None:
    """Return a fraction that is stated as text, or None where it is something else."""
    return Fraction(stated) if isinstance(stated, str) else None


def _is_same(stated: Json, value: Fraction | str | bool | None) -> bool:
    if isinstance(value, Fraction):
        return _fraction(stated) == value
    return bool(stated is value or (isinstance(value, str) and stated == value))
