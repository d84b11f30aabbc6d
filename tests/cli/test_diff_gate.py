"""`evalplatform diff` of batches that ran under a gate policy: it answers as the gate does, and says how sure that is."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.cli.console import required_project
from evalplatform.gates.verification import verify_certificate
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.labels import Label
from evalplatform.reports.batch_comparison_v3 import read_batch_comparison_v3
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import ModelVerdict
from evalplatform.wiring import OpenedProject
from tests.cli.conftest import Command
from tests.support.compared_batches import Told, batch_of, write_bundle

PROJECT = "my-project"
"""The id of a starter project."""


def of_ten(passed: int) -> dict[str, Told]:
    """One scenario's ten runs, the failures last, so that the compared run fails wherever one does."""
    return {"lookup": Told("P" * passed + "F" * (10 - passed))}


def under_policy(scenarios: dict[str, Told], *, hours: int = 0, project: str = "shop") -> BundleSummary:
    return batch_of(scenarios, hours=hours, project=project, policy={"target_drop": 50})


@pytest.mark.parametrize(
    ("baseline", "candidate", "code", "sentence"),
    [
        ("PPPPPPPPPP", "PFFFFFFFFF", 1, "The gate would fail (1 significant drop)."),
        ("PPPPPPPPPP", "PPPPPPPPPF", 0, "The gate would pass (no scenario gates, and no drop is spread over the suite)."),
        ("FFFFFFFFFP", "FFFFFFFFFF", 0, "The gate would pass (no scenario gates, and no drop is spread over the suite)."),
        ("PP", "PP", 1, "The gate would fail (1 unverified)."),
        ("PPPP", "HHHH", 1, "The gate would fail (1 unverified)."),
        ("P", "F", 1, "The gate would fail (1 flipped)."),
        ("F", "P", 0, "The gate would pass (no scenario gates, and no drop is spread over the suite)."),
    ],
)
def test_run_sets_decide_the_exit_code_and_the_headline(
    command: Command, tmp_path: Path, baseline: str, candidate: str, code: int, sentence: str
) -> None:
    before = write_bundle(tmp_path / "b.jsonl", under_policy({"lookup": Told(baseline)}))
    after = write_bundle(tmp_path / "c.jsonl", under_policy({"lookup": Told(candidate)}, hours=1))
    ran = command("diff", before, after)
    assert (ran.code, ran.out.splitlines()[0].startswith(sentence)) == (code, True)
    assert "Gate (gate policy, " in ran.out


def test_a_policy_that_only_the_baseline_ran_under_still_decides(command: Command, tmp_path: Path) -> None:
    before = write_bundle(tmp_path / "b.jsonl", under_policy(of_ten(10)))
    after = write_bundle(tmp_path / "c.jsonl", batch_of(of_ten(9), hours=1))
    assert command("diff", before, after).code == 0
    unruled = write_bundle(tmp_path / "u.jsonl", batch_of(of_ten(10)))
    assert command("diff", unruled, after).code == 1  # no policy: the compared run flipped


def test_batches_with_nothing_in_common_have_no_answer(command: Command, tmp_path: Path) -> None:
    before = write_bundle(tmp_path / "b.jsonl", under_policy({"a": Told("PPPP")}))
    after = write_bundle(tmp_path / "c.jsonl", under_policy({"b": Told("PPPP")}, hours=1))
    assert command("diff", before, after).code == 2


def test_the_json_holds_the_decision_and_a_certificate_that_holds_by_itself(command: Command, tmp_path: Path) -> None:
    before = write_bundle(tmp_path / "b.jsonl", under_policy(of_ten(10)))
    after = write_bundle(tmp_path / "c.jsonl", under_policy(of_ten(1), hours=1))
    data = command("diff", before, after, "--json").out.encode()
    gate = read_batch_comparison_v3(data).gate
    assert gate is not None
    assert [decided.reading for decided in gate.decision.scenarios] == ["drop_significant"]
    assert gate.judge_agreement is None  # no project is open, so no labels are at hand
    verified = verify_certificate(json.dumps(json.loads(data)["gate"]["certificate"]).encode())
    assert (verified.problems, verified.fails) == ((), True)


def test_how_sure_it_is_says_how_far_the_judge_agrees_with_labelled_runs(command: Command, project: Path, tmp_path: Path) -> None:
    before, after = under_policy(of_ten(10), project=PROJECT), under_policy(of_ten(0), hours=1, project=PROJECT)
    told = ModelVerdict(judge="model", verdict="passed")
    many = under_policy({f"s{place:02d}": Told("PPPP") for place in range(10)}, hours=2, project=PROJECT)
    judged = many._replace(runs=tuple(run.with_changes(model_verdict=told) for run in many.runs))
    dropped = under_policy({f"s{place:02d}": Told("FFFF") for place in range(10)}, hours=3, project=PROJECT)
    paths = [write_bundle(tmp_path / f"{place}.jsonl", each) for place, each in enumerate((before, after, judged, dropped))]
    for path in paths:
        assert command("push", path).code == 0
    ids = [each.batch.id for each in (before, after, judged, dropped)]
    unjudged = command("diff", *ids[:2])
    assert "Judge: structural. Agreement with people's labels: none: no model decided any verdict." in unjudged.out
    labelled_at = datetime(2026, 5, 2, tzinfo=UTC)
    labels = [
        Label(subject_kind="run", subject=run.id, labeller="ana", scale="verdict", value="passed", labelled_at=labelled_at)
        for run in judged.runs[:30]
    ]
    with OpenedProject(required_project(project)) as opened:
        entry = AuditEntry(actor="ana", action="labels.import", subject="labels.csv", happened_at=labelled_at)
        opened.label_store.add(labels[:29], entry=entry)
        assert "Agreement with people's labels: withheld" in command("diff", *ids[2:]).out
        opened.label_store.add(labels[29:], entry=entry)
    assert "Agreement with people's labels: 100.0% [88.6%, 100.0%] of 30 labelled runs" in command("diff", *ids[2:]).out
