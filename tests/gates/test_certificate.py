"""Certificates: every decision's holds, any edit is refused, and what derives it again shares nothing with what decided."""

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.gates.certificate import Certificate, certificate_bytes, certificate_of
from evalplatform.gates.decision import decide_gate
from evalplatform.gates.records import GateScenario, HistoryPool, ReplayDeterminism
from evalplatform.gates.verification import verify_certificate
from evalplatform.gates.verified_suite import exact_tail, tail_bounds
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.runs.records import Batch, BatchHeader, ScanCoverage
from evalplatform.runs.remembered_gate import GateStrictness
from evalplatform.stats.stratified_drop import exact_stratified_drop_p, stratified_drop_p
from tests.cli.conftest import Command, command  # noqa: F401
from tests.support.gate_suites import drawn_suite, gated, pass_count, suite_of, tables

AT = datetime(2026, 11, 30, tzinfo=UTC)
NOT_DERIVABLE = {"tenant", "project", "baseline", "candidate", "branch", "history", "scenario_id", "batches"}
"""What a certificate only states: whose it is, and names. An edit of it is refused by the digest alone."""


def batch(name: str) -> Batch:
    header = BatchHeader(project="shop", commit="c0ffee", agent="a", judge="j", recorded_at=AT)
    return Batch(id=name, header=header, content_digest="sha256:1", run_count=1, graded_runs=1, passed_runs=1, coverage=ScanCoverage())


def certified(scenarios: list[GateScenario], *, history: tuple[str, ...] | None = None, **how: Any) -> Certificate:
    seed, determinism = how.get("is_seed", False), how.get("determinism")
    baseline = batch("b-1")
    return certificate_of(
        decide_gate(scenarios, **how),
        baseline=baseline,
        candidate=baseline if seed else batch("b-2"),
        choice="seed" if seed else "branch" if history or how.get("history_error") else "named",
        branch="main" if seed or history else None,
        history=history,
        strictness=GateStrictness(require_replay_determinism=determinism is not None),
    )


def every_kind() -> list[GateScenario]:
    pool = HistoryPool(newest_first=(True,) * 19 + (False,), stop="limit", batches=("b-1",))
    flip = {"rule": "flip", "baseline": pass_count(1, 1), "baseline_outcome": "passed"}
    return [
        gated("always", (10, 10, 10, 10)),
        gated("collapse", (10, 10, 0, 10)),
        gated("critical", (10, 10, 9, 10), "critical"),
        gated("dead", (0, 10, 0, 10)),
        gated("escalate", (7, 10, 7, 10), "critical"),
        GateScenario(scenario_id="flip", candidate=pass_count(0, 1), candidate_outcome="failed", **flip),
        GateScenario(scenario_id="flip-harness", candidate=pass_count(0, 0), candidate_outcome="harness_error", **flip),
        gated("half", (10, 10, 6, 10)),
        GateScenario(scenario_id="pooled", baseline=pool.passes, candidate=pass_count(11, 12), pool=pool),
        gated("small", (2, 2, 0, 2)),
        gated("spread", (8, 10, 7, 10)),
    ]


CERTIFICATES = {
    "every kind": lambda: certified(every_kind(), history=("b-1",)),
    "passing": lambda: certified([gated("a", (10, 10, 9, 10)), gated("b", (20, 20, 20, 20))]),
    "a spread-out drop": lambda: certified(suite_of([(10, 10, 9, 10)] * 7)),
    "seed": lambda: certified([gated("a", (2, 2, 2, 2))], is_seed=True),
    "history error": lambda: certified([gated("a", (10, 10, 10, 10))], history_error="gone"),
    "replays": lambda: certified([gated("a", (10, 10, 10, 10))], determinism=ReplayDeterminism(verified=2, differing=("a",))),
    "nothing": lambda: certified([]),
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, dict | list):
        yield path
    for key, child in children:
        yield from leaves(child, (*path, key))


def edits(old: Any) -> list[Any]:
    if isinstance(old, bool):
        return [not old, None]
    if isinstance(old, int):
        return [old + 1, old - 1, -1, float(old) + 0.5, str(old)]
    if isinstance(old, float):
        return [old * 1.001 + 1e-6, old / 2 + 0.3]
    if isinstance(old, str):
        return [f"{old}1", "1/7", ""]
    return ["1/7", 0, True]


def edited(certificate: dict[str, Any], path: tuple[Any, ...], new: Any, *, with_new_digest: bool) -> bytes:
    made = copy.deepcopy(certificate)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    if with_new_digest:
        made["digest"] = json_digest({name: value for name, value in made.items() if name != "digest"})
    return json.dumps(made).encode()


def refused(data: bytes) -> bool:
    try:
        return not verify_certificate(data).holds
    except InputError:  # it no longer says that it is a certificate
        return True


@pytest.mark.parametrize("made", CERTIFICATES.values(), ids=CERTIFICATES)
def test_the_certificate_of_a_decision_holds_and_says_what_was_decided(made: Any) -> None:
    certificate = made()
    found = verify_certificate(certificate_bytes(certificate))
    assert found.problems == ()
    assert (found.fails, found.gating, found.scenarios) == (certificate.fails, certificate.gating, len(certificate.scenarios))
    assert found.digest == certificate.digest == certificate.content_digest


@pytest.mark.parametrize("made", CERTIFICATES.values(), ids=CERTIFICATES)
def test_any_edit_is_refused_and_with_a_new_digest_every_edit_of_what_can_be_derived(made: Any) -> None:
    certificate = json.loads(certificate_bytes(made()))
    for path in leaves(certificate):
        old = certificate
        for key in path:
            old = old[key]
        for new in edits(old):
            if new == old and type(new) is type(old):
                continue
            if path != ("digest",):
                assert refused(edited(certificate, path, new, with_new_digest=False)), (path, new)
            is_named = bool(NOT_DERIVABLE.intersection(str(key) for key in path)) or (path[-1] == "history_error" and old is not None)
            if not is_named and path != ("digest",) and not _says_the_same(path, old, new):
                assert refused(edited(certificate, path, new, with_new_digest=True)), (path, old, new)


def _says_the_same(path: tuple[Any, ...], old: Any, new: Any) -> bool:
    """Whether the edit states something that the rest neither gives nor contradicts."""
    if "determinism" in path:
        return path[-1] == "verified" or isinstance(path[-1], int)
    return False


def test_a_scenario_that_is_taken_out_or_stands_there_twice_is_refused_also_with_a_new_digest() -> None:
    certificate = json.loads(certificate_bytes(certified(every_kind(), history=("b-1",))))
    for place in range(len(certificate["scenarios"])):
        for scenarios in (
            certificate["scenarios"][:place] + certificate["scenarios"][place + 1 :],
            certificate["scenarios"] + certificate["scenarios"][place : place + 1],
        ):
            assert refused(edited(certificate, ("scenarios",), scenarios, with_new_digest=True))


CONTRADICTIONS: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a field that there is not": (("note",), "audited", "note is no field of a certificate"),
    "a field of a scenario that there is not": (("scenarios", 0, "waived"), True, "scenarios.0.waived is no field"),
    "a wider claim": (("bound", "covers"), "every gate", "what the rule can claim is"),
    "fewer caveats": (("bound", "does_not_cover"), [], "what the rule can claim is"),
    "a fraction left out": (("suite", "exact_p"), None, "up to 600 graded runs a fraction stands there"),
    "more room for error": (("suite", "relative_error"), 1e-6, "suite.relative_error is 1e-06"),
    "a p-value of 30 million digits": (("scenarios", 0, "p"), "1e30000000", "scenarios.0.p is not what it should be"),
    "a p-value over nothing": (("scenarios", 0, "p"), "1/0", "scenarios.0.p is not what it should be"),
    "more runs than a batch can have": (("scenarios", 0, "baseline_graded"), 3_000_000, "scenarios.0.baseline_graded is not what"),
    "a replay of no scenario": (("determinism",), {"verified": 1, "differing": ["nobody"]}, "not all of these are scenarios"),
}


@pytest.mark.parametrize(("path", "new", "said"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_contradicts_the_rule_is_refused_by_name_and_at_once_also_with_a_new_digest(
    path: tuple[Any, ...], new: Any, said: str
) -> None:
    certificate = json.loads(certificate_bytes(certified(every_kind(), history=("b-1",))))
    problems = verify_certificate(edited(certificate, path, new, with_new_digest=True)).problems
    assert any(said in problem for problem in problems), problems


@given(st.lists(st.tuples(tables(), st.sampled_from(["critical", "standard"])), max_size=8))
def test_the_certificate_of_any_decision_holds(drawn: list[Any]) -> None:
    scenarios = [gated(f"s{place}", table, tier) for place, (table, tier) in enumerate(drawn)]
    assert verify_certificate(certificate_bytes(certified(scenarios))).problems == ()


@given(st.lists(tables(), max_size=6))
def test_the_suites_bounds_hold_the_exact_tail_and_agree_with_the_statistic(drawn: list[tuple[int, int, int, int]]) -> None:
    pairs = [(pass_count(*table[:2]), pass_count(*table[2:])) for table in drawn]
    low, high = tail_bounds(drawn)
    exact = exact_tail(drawn)
    assert low <= exact == exact_stratified_drop_p(pairs) <= high
    assert high - low < Fraction(1, 10**50)


def test_a_suite_of_hundreds_of_scenarios_is_verified_by_bounds() -> None:
    random = Random(7)
    suite = drawn_suite([random.choice([1.0, 0.95, 0.7]) for _ in range(200)], runs=(20, 12), random=random)
    certificate = certified(suite)
    assert certificate.suite.exact_p is None
    assert verify_certificate(certificate_bytes(certificate)).problems == ()
    spread = [(one.baseline, one.candidate) for one in suite if one.scenario_id not in certificate.gating]
    assert certificate.suite.p == pytest.approx(stratified_drop_p(spread), rel=1e-12)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cannot be read as JSON"),
        (b'{"format": 1, "format": 2}', "stands there twice"),
        (b'{"p": NaN}', "NaN is no number"),
        (b"[]", "is no gate certificate"),
        (b'{"gate": null}', "is no gate certificate"),
        (b"[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_what_is_no_certificate_is_no_answer(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        verify_certificate(data)


def test_a_certificate_that_lacks_a_part_is_refused_and_not_a_crash() -> None:
    certificate = json.loads(certificate_bytes(certified(every_kind(), history=("b-1",))))
    for name in set(certificate) - {"format"}:
        less = {key: value for key, value in certificate.items() if key != name}
        assert refused(json.dumps(less).encode()), name


def test_the_command_says_what_holds_and_what_does_not(command: Command, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "c.json"
    path.write_bytes(certificate_bytes(certified([gated("collapse", (10, 10, 0, 10))])))
    ran = command("gate", "verify", path)
    assert (ran.code, "holds: the gate fails; failing it: collapse." in ran.out) == (0, True)
    path.write_bytes(path.read_bytes().replace(b'"candidate_passed": 0', b'"candidate_passed": 5', 1))
    ran = command("gate", "verify", path)
    assert ran.code == 1
    assert "digest is not that of the content" in ran.out
    assert "collapse: p is '1/184756', and its counts give" in ran.out
    assert json.loads(command("gate", "verify", path, "--json").out)["problems"]
    assert command("gate", "verify", tmp_path / "none").code == 2
