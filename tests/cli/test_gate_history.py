"""`evalplatform gate history`: every remembered gate of a scenario, and where it changed first."""

import json
from pathlib import Path

from evalplatform.gates.scenario_history import scenario_history
from evalplatform.runs.remembered_gate import GatedScenario, GateReport, RememberedGate, Verdict
from evalplatform.stats.pass_counts import PassCount
from tests.cli.conftest import Command
from tests.cli.test_gate import on_main, pushed
from tests.support.compared_batches import AT, Told

PASSES, FAILS = Told("P" * 10), Told("F" * 10, tools=("find_order",))


def at(verdict: Verdict | None, path: str | None) -> tuple[RememberedGate, GatedScenario]:
    gate = RememberedGate(report=GateReport(key="k", baseline="a", candidate="b"), standing="clean", received_at=AT)
    return gate, GatedScenario(
        scenario_id="refund", verdict=verdict, path_digest=path, candidate=PassCount(passed=0, graded=0), gates=False
    )


def test_a_gate_without_a_verdict_or_a_path_is_passed_over_when_the_next_is_looked_at() -> None:
    found = scenario_history("refund", [at("passed", "x"), at(None, None), at("passed", "x"), at("failed", None), at("failed", "y")])
    assert [entry.verdict_flipped for entry in found.entries] == [False, False, False, True, False]
    assert [entry.path_changed for entry in found.entries] == [False, False, False, False, True]
    assert (found.first_flip, found.first_path_change) == (found.entries[3], found.entries[4])
    assert scenario_history("refund", []).first_flip is None


def test_it_lists_the_gates_oldest_first_and_marks_where_verdict_and_path_changed_first(command: Command, project: Path) -> None:
    for hour, told in enumerate([PASSES, PASSES, FAILS, PASSES]):
        pushed(command, on_main({"refund": told, "steady": PASSES}, hours=hour))
        assert command("gate", "--baseline-branch", "main", "--record").code in (0, 1)
    ran = command("gate", "history", "refund")
    assert ran.code == 0
    first, *lines = ran.out.splitlines()
    assert first.startswith("refund: of 4 remembered gates, first its verdict flipped at commit c0ffee2 (")
    assert "and its path changed at commit c0ffee2 (" in first
    assert [line.split()[3] for line in lines[2:]] == ["c0ffee0", "c0ffee1", "c0ffee2", "c0ffee3"]
    assert "flagged, failing it  first flip, first change of path" in lines[4]
    assert "flipped, other path" in lines[5]
    entries = json.loads(command("gate", "history", "refund", "--json").out)["entries"]
    assert [entry["scenario"]["candidate"]["passed"] for entry in entries] == [10, 10, 0, 10]
    assert "neither its verdict nor its path changed at 4 remembered gates" in command("gate", "history", "steady").out


def test_a_scenario_that_no_gate_compared_is_said_and_an_unknown_one_refused_with_the_nearest(command: Command, project: Path) -> None:
    pushed(command, on_main({"refund": PASSES}, hours=0))
    ran = command("gate", "history", "refund")
    assert (ran.code, ran.out) == (1, "")
    assert "no remembered gate compared refund yet" in ran.err
    ran = command("gate", "history", "refnud")
    assert ran.code == 2
    assert "Did you mean 'refund'?" in ran.err
