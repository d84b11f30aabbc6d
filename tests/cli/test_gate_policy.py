"""`evalplatform gate policy`, `gate plan`, `gate readiness` and `run --baseline-branch`: what is held, planned, run and caught."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evalplatform.reports.gate_policy_words import block_lines
from evalplatform.runs.gate_policy import GatePolicy, HeldPolicy
from evalplatform.runs.records import ModelVerdict
from tests.cli.conftest import Command
from tests.cli.test_gate import PROJECT, STEADY, on_main, pushed
from tests.support.compared_batches import Told, batch_of

SCENARIOS = """
version: 1
agent:
  python: {callable: "agent:answer"}
gate:
  target_drop: 50
  tier_by_tag: {money: critical}
scenarios:
  - {id: lookup, message: Where is it?, assertions: [{final_text_contains: here}]}
  - {id: refund, message: Pay me back., tags: [money], assertions: [{final_text_contains: here}]}
"""
AGENT = 'def answer(request):\n    return "It is here."\n'


@pytest.fixture
def scenarios(command: Command, project: Path) -> Path:
    """The project of the tests, with a scenario file whose agent always passes."""
    file = project / "evalplatform.yaml"
    Path("scenarios.yaml").write_text(SCENARIOS)
    Path("agent.py").write_text(AGENT)
    file.write_text(f"{file.read_text()}\nscenarios: scenarios.yaml\n")
    return Path("scenarios.yaml")


def main_has(command: Command, *batches: dict[str, Told]) -> None:
    """Gates of main, each remembered."""
    for hour, told in enumerate(batches):
        pushed(command, on_main(told, hours=hour))
        ran = command("gate", "--baseline-branch", "main", "--record")
        assert ran.code in (0, 1), ran.err


def test_a_policy_is_held_shown_and_audited_with_the_lines_to_change_in_the_file(command: Command, scenarios: Path) -> None:
    shown = command("gate", "policy", "show")
    assert shown.code == 0
    assert "of the scenario file; the platform holds none" in shown.out
    done = command("gate", "policy", "set", "--target-drop", 40, "--tier", "refund=standard", "--target-drop-of", "critical=30")
    assert done.code == 0, done.err
    assert "takes effect one gate later" in done.err
    assert "target_drop: 40   (now 50)" in done.out
    assert "gate_tier of refund: standard   (now critical)" in done.out
    held = json.loads(command("gate", "policy", "show", "--json").out)
    assert (held["source"], held["policy"]["target_drop"], held["policy"]["tier_by_scenario"]) == ("held", 40, {"refund": "standard"})
    assert {difference["setting"] for difference in held["file_differs"]} == {"target_drop", "target_drop_by_tier", "gate_tier of refund"}


def test_every_change_is_in_the_audit_log_with_the_old_and_the_new_value(command: Command, scenarios: Path) -> None:
    for points in (40, 30):
        assert command("gate", "policy", "set", "--target-drop", points).code == 0
    with closing(sqlite3.connect(".evalplatform/evalplatform.db")) as database:
        found = database.execute("SELECT action, old_value, new_value FROM audit ORDER BY id").fetchall()
    changes = [(action, json.loads(old or "null"), json.loads(new)) for action, old, new in found]
    assert [action for action, _, _ in changes] == ["project.gate_policy_set"] * 2
    assert [(None if old is None else old["target_drop"], new["target_drop"]) for _, old, new in changes] == [(None, 40), (40, 30)]


def test_a_scenario_that_is_gone_since_it_was_moved_stops_no_further_change(command: Command, scenarios: Path) -> None:
    assert command("gate", "policy", "set", "--tier", "refund=standard").code == 0
    scenarios.write_text(SCENARIOS.replace("id: refund", "id: payback"))
    assert command("gate", "policy", "set", "--target-drop", 30).code == 0
    assert command("gate", "policy", "set", "--tier", "refund=critical").code == 2


def test_the_printed_block_is_read_back_whatever_the_tags() -> None:
    tags = ["money", "a: b", "*star", "#x", "1", "no", 'say "hi"', "Ünal", "- dash"]
    policy = HeldPolicy(tier_by_tag=dict.fromkeys(tags, "critical"), target_drop_by_tier={"critical": 30})
    read = YAML(typ="safe").load("\n".join(block_lines(policy)))["gate"]
    assert GatePolicy.model_validate(dict(read)) == GatePolicy(**policy.model_dump(exclude={"tier_by_scenario"}))


def test_labels_of_runs_are_imported_and_readiness_shows_how_far_the_judge_agrees(command: Command, scenarios: Path) -> None:
    recorded = on_main({"lookup": Told("P" * 20), "refund": Told("P" * 20)}, hours=0)
    judged = tuple(run.with_changes(model_verdict=ModelVerdict(judge="m", verdict="passed")) for run in recorded.runs)
    pushed(command, recorded._replace(runs=judged))
    assert command("gate", "--baseline-branch", "main", "--record").code == 0
    rows = [f"run,{run.id},{'failed' if place < 4 else 'passed'},ann" for place, run in enumerate(judged)]
    Path("labels.csv").write_text("\n".join(["subject_kind,subject,label_verdict,labeller", *rows[:29]]))
    assert command("labels", "import", "labels.csv").code == 0
    assert "Judge agreement: withheld: 29 of 30 labelled runs" in command("gate", "readiness").out
    Path("labels.csv").write_text("\n".join(["subject_kind,subject,label_verdict,labeller", *rows]))
    assert command("labels", "import", "labels.csv").code == 0
    assert "Judge agreement: 90.0% [76.9%, 96.0%] of 40 labelled runs" in command("gate", "readiness").out


def test_a_setting_is_taken_back_by_leaving_its_value_out(command: Command, scenarios: Path) -> None:
    assert command("gate", "policy", "set", "--tier", "refund=standard").code == 0
    assert command("gate", "policy", "set", "--tier", "refund=").code == 0
    assert json.loads(command("gate", "policy", "show", "--json").out)["policy"]["tier_by_scenario"] == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "needs something to set"),
        (("--target-drop", 3), "--target-drop: must be greater than or equal to 5; it is 3."),
        (("--target-drop-of", "hard=30"), "unknown tier 'hard'"),
        (("--target-drop-of", "critical=x"), "takes points from 5 to 95"),
        (("--tier", "refnud=critical"), "Did you mean 'refund'?"),
        (("--tier-of-tag", "mony=critical"), "unknown tag 'mony' (known: money). Did you mean 'money'?"),
        (("--tier", "refund=strict"), "unknown tier 'strict' (known: critical, standard)"),
        (("--tier", "refund"), "takes NAME=VALUE; not 'refund'."),
        (("--max-runs", 0), "--max-runs: must be greater than or equal to 1"),
        (("--runs", 51), "--runs: must be less than or equal to 50"),
    ],
)
def test_what_cannot_be_held_is_refused_by_its_option_and_nothing_is_held(
    options: tuple[object, ...], said: str, command: Command, scenarios: Path
) -> None:
    ran = command("gate", "policy", "set", *options)
    assert ran.code == 2
    assert said in ran.err
    assert json.loads(command("gate", "policy", "show", "--json").out)["source"] == "file"


def test_a_project_without_a_policy_is_offered_one(command: Command, project: Path) -> None:
    pushed(command, batch_of(STEADY, project=PROJECT))
    shown = command("gate", "policy", "show")
    assert shown.code == 1
    assert "gate policy set --target-drop 50" in shown.out


def test_a_plan_from_history_says_how_often_each_scenario_runs_and_run_follows_it(command: Command, scenarios: Path) -> None:
    main_has(command, STEADY, STEADY)
    plan = json.loads(command("gate", "plan", "--json").out)
    assert {row["scenario_id"]: row["runs"] for row in plan["rows"]} == {"lookup": 12, "refund": 3}
    ran = command("run", "--baseline-branch", "main", "--json")
    assert ran.code == 0, ran.err
    assert "Run plan from the history of main: 15 runs of 2 live scenarios; 2 reach their target." in ran.err
    made = json.loads(ran.out)["runs"]
    assert [sum(run["scenario_id"] == name for run in made) for name in ("lookup", "refund")] == [12, 3]


def test_a_plan_without_history_runs_as_often_as_the_policy_says_and_names_the_scenarios(command: Command, scenarios: Path) -> None:
    ran = command("run", "--baseline-branch", "main", "--json")
    assert ran.code == 0, ran.err
    assert "Not enough history (2): lookup, refund." in ran.err
    assert len(json.loads(ran.out)["runs"]) == 20


def test_a_plan_that_cannot_be_read_is_said_and_every_scenario_runs_as_often_as_the_policy_says(command: Command, scenarios: Path) -> None:
    main_has(command, STEADY)
    Path(".evalplatform/evalplatform.db").write_bytes(b"no database")
    ran = command("run", "--baseline-branch", "main", "--json")
    assert "run plan unavailable: every scenario runs 10 times" in ran.err
    assert len(json.loads(ran.out)["runs"]) == 20


@pytest.mark.parametrize(
    ("options", "said"), [(("--runs", 3), "--runs for a number of runs"), ((), "has no gate policy to plan by")], ids=["runs", "no policy"]
)
def test_a_plan_is_refused_beside_a_number_of_runs_and_without_a_policy(
    options: tuple[object, ...], said: str, command: Command, scenarios: Path
) -> None:
    if not options:
        scenarios.write_text(SCENARIOS.replace("gate:\n  target_drop: 50\n  tier_by_tag: {money: critical}\n", ""))
    ran = command("run", "--baseline-branch", "main", *options)
    assert ran.code == 2
    assert said in ran.err


def test_a_damaged_run_of_the_history_is_said_and_every_scenario_runs_as_often_as_the_policy_says(
    command: Command, scenarios: Path
) -> None:
    main_has(command, STEADY)
    with closing(sqlite3.connect(".evalplatform/evalplatform.db")) as database, database:
        database.execute("UPDATE batch_runs SET outcome = 'nonsense' WHERE run_order = 3")
    ran = command("run", "--baseline-branch", "main", "--json")
    assert "run plan unavailable: every scenario runs 10 times (a stored run is damaged" in ran.err
    assert len(json.loads(ran.out)["runs"]) == 20


def test_a_plan_is_of_the_scenarios_that_are_run(command: Command, scenarios: Path) -> None:
    main_has(command, STEADY, STEADY)
    ran = command("run", "--baseline-branch", "main", "--scenario", "lookup", "--json")
    assert "12 runs of 1 live scenario; 1 reach" in ran.err
    assert len(json.loads(ran.out)["runs"]) == 12


def test_an_interrupted_batch_keeps_the_plan_it_was_begun_with(command: Command, scenarios: Path) -> None:
    main_has(command, STEADY, STEADY)
    begun = json.loads(command("run", "--baseline-branch", "main", "--commit", "c1", "--json").out)
    bundle = Path(begun["bundle"])
    lines = bundle.read_text().splitlines(keepends=True)
    bundle.write_text("".join(lines[:5]))  # as a kill leaves it: some runs, and no end
    main_has(command, {"lookup": Told("P" * 9 + "F"), "refund": Told("P" * 10)})
    done = command("run", "--baseline-branch", "main", "--commit", "c1", "--json")
    assert done.code == 0, done.err
    assert f"going on with {bundle}" in done.err
    resumed = json.loads(done.out)
    assert (resumed["kept_runs"], len(resumed["runs"])) == (4, 15)


@pytest.mark.parametrize(
    "arguments", [("run", "--baseline-branch", ""), ("gate", "plan", "--branch", " "), ("gate", "readiness", "--branch", "")]
)
def test_a_branch_without_a_name_is_refused(arguments: tuple[str, ...], command: Command, scenarios: Path) -> None:
    ran = command(*arguments)
    assert ran.code == 2
    assert "takes the name of a branch" in ran.err


def test_readiness_says_what_the_gate_catches_in_every_form(command: Command, scenarios: Path, tmp_path: Path) -> None:
    main_has(command, STEADY, STEADY)
    page, data = tmp_path / "r.html", tmp_path / "r.json"
    ran = command("gate", "readiness", "--out-html", page, "--out-json", data)
    assert ran.code == 0, ran.err
    assert "This gate catches a 50-point drop 8 times in 10 on 2 of 2 scenarios, for 15 runs per gate." in ran.out
    assert "●" * 20 in ran.out
    assert "What if:" in ran.out
    read = json.loads(data.read_bytes())
    assert (read["caught"], read["with_full_history"], [other["target_drop_points"] for other in read["what_if"]]) == (2, 2, [60, 50, 40])
    assert "What the gate can catch" in page.read_text()


def test_readiness_that_could_not_be_computed_shows_no_figures(command: Command, scenarios: Path) -> None:
    main_has(command, STEADY)
    Path(".evalplatform/evalplatform.db").write_bytes(b"no database")
    ran = command("gate", "readiness")
    assert ran.code == 2
    assert "readiness could not be computed" in ran.err
    assert ran.out == ""


def test_diff_of_the_newest_batch_decides_with_the_history_that_its_last_gate_pinned(command: Command, scenarios: Path) -> None:
    main_has(command, STEADY, STEADY)
    pushed(command, on_main({"lookup": Told("PPPPPFFFFF"), "refund": Told("P" * 10)}, hours=2, branch=None, ci_event="pull_request"))
    gated = command("gate", "--baseline-branch", "main", "--record", "--json")
    alike = command("diff", "--json")
    assert gated.code == alike.code
    decisions = [json.loads(ran.out)["gate"]["decision"]["scenarios"] for ran in (gated, alike)]
    assert decisions[0] == decisions[1]
    assert {entry["scenario"]["baseline"]["graded"] for entry in decisions[1]} == {20}


def test_imported_runs_stand_under_the_held_policy_where_no_scenario_file_has_one(command: Command, project: Path) -> None:
    lines = [
        {
            "scenario": name,
            "trial": trial,
            "reward": int(passes),
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}],
        }
        for name, passes in (("lookup", True), ("refund", True))
        for trial in range(10)
    ]
    Path("before.jsonl").write_text("\n".join(map(json.dumps, lines)))
    Path("after.jsonl").write_text("\n".join(json.dumps(line | {"reward": 0} if line["scenario"] == "refund" else line) for line in lines))
    assert command("import", "before.jsonl", "--out", "none.jsonl").code == 0
    pushed(command, batch_of(STEADY, project=PROJECT))  # so that the scenario is known
    assert command("gate", "policy", "set", "--target-drop", 40, "--tier", "refund=critical").code == 0
    for name in ("before", "after"):
        assert command("import", f"{name}.jsonl", "--out", f"{name}.bundle.jsonl").code == 0
    ran = command("gate", "--baseline", "before.bundle.jsonl", "--candidate", "after.bundle.jsonl")
    assert ran.code == 1
    assert "refund  critical  10/10 → 0/10: drop; gates" in ran.out
    plain = json.loads(Path("none.jsonl").read_text().splitlines()[0])
    assert "target_drop" not in json.dumps(plain)
