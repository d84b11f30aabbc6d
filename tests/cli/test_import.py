"""`import`: traces in, a bundle out; all of it or nothing; the same batch each time."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from evalplatform.runs.bundle import read_bundle, recorded_runs
from evalplatform.runs.records import Run
from evalplatform.runs.traces.survey import MAX_NAMED
from evalplatform.runs.trajectory import trajectory_digest
from tests.cli.conftest import Command
from tests.support.chat import call, calls, result, said, user, write_lines
from tests.support.otlp import export, span

OUT = ("--out", "batch.jsonl", "--project-id", "shop")
SCENARIOS = """\
version: 1
policies:
  card_number:
    pattern: "4[0-9]{15}"
scenarios:
  - id: greet
    messages: [hi]
    assertions:
      - final_text_contains: hello
    policies: [card_number]
  - id: other
    messages: [hi]
"""


def record(scenario: str, trial: int, reward: float | None = 1.0, *more: object, reply: str = "hello") -> dict[str, object]:
    """A conversation as a line of a trace has it."""
    return {"scenario": scenario, "trial": trial, "reward": reward, "messages": [user("hi"), *more, said(reply)]}


def runs_of(path: str | Path) -> tuple[Run, ...]:
    """The runs of a bundle."""
    return read_bundle(Path(path)).runs


def test_a_trace_becomes_a_finished_bundle_with_its_verdicts_and_trajectories(command: Command, tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", record("a", 0), record("a", 1, 0.0), record("b", 0, 0.25), record("b", 1, None))
    ran = command("import", trace, *OUT, "--commit", "c0ffee", "--agent", "clerk", "--model", "m1")
    assert ran.code == 0, ran.err
    assert "4 runs of 2 scenarios: 2 failed, 1 passed, 1 ungraded" in ran.out
    summary = read_bundle(Path("batch.jsonl"))
    assert summary.is_finished
    header = summary.header
    assert (header.project, header.origin, header.agent, header.model, header.judge) == ("shop", "import", "clerk", "m1", "recorded")
    assert (header.commit, header.branch, header.scenarios["a"].planned_runs) == ("c0ffee", None, 2)
    assert [(run.scenario_id, run.order, run.outcome, run.score_points, run.reason) for run in summary.runs] == [
        ("a", 0, "passed", 100.0, None),
        ("a", 1, "failed", 0.0, "reward 0."),
        ("b", 0, "failed", 25.0, "reward 0.25."),
        ("b", 1, "ungraded", None, "the trace brings no verdict."),
    ]
    for run, trajectory in recorded_runs(Path("batch.jsonl")):
        assert trajectory is not None
        assert run.trajectory_digest == trajectory_digest(trajectory)
        assert run.violations is None


def test_the_same_import_again_is_the_same_batch_in_the_same_file(command: Command, project: Path) -> None:
    trace = write_lines(project / "t.jsonl", record("a", 0), record("a", 1))
    first = json.loads(command("import", trace, "--json").out)
    second = json.loads(command("import", trace, "--json").out)
    assert first["batch"] == second["batch"]
    assert (first["already_there"], second["already_there"]) == (False, True)
    assert first["bundle"] == second["bundle"]
    assert [path.name for path in (project / ".evalplatform" / "bundles").iterdir()] == [Path(first["bundle"]).name]


def test_a_stated_time_makes_a_copy_of_the_file_the_same_batch(command: Command, tmp_path: Path) -> None:
    digests = []
    for number, changed in enumerate((1_000_000_000, 1_700_000_000)):
        trace = write_lines(tmp_path / "t.jsonl", record("a", 0))
        os.utime(trace, (changed, changed))
        place = ("--out", f"{number}.jsonl", "--project-id", "shop", "--recorded-at", "2026-03-01T10:00:00Z", "--json")
        digests.append(json.loads(command("import", trace, *place).out)["batch"]["content_digest"])
    assert digests[0] == digests[1]


def test_a_batch_is_recorded_at_the_latest_time_of_its_trace(command: Command, tmp_path: Path) -> None:
    times = ("2026-03-01T10:00:00Z", "2026-03-01T09:00:00Z")
    trace = write_lines(tmp_path / "t.jsonl", *({**record("a", number), "created_at": time} for number, time in enumerate(times)))
    assert command("import", trace, *OUT).code == 0
    summary = read_bundle(Path("batch.jsonl"))
    assert summary.header.recorded_at.isoformat() == "2026-03-01T10:00:00+00:00"
    assert [f"{run.created_at:%H}" for run in summary.runs] == ["10", "09"]


def test_chosen_trials_are_numbered_from_0_and_the_others_are_counted(command: Command, tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", *(record("a", trial, trial / 4) for trial in (3, 0, 2, 1)))
    ran = command("import", trace, *OUT, "--trial", 3, "--trial", 2)
    assert "2 runs of other trials left out" in ran.out
    assert [(run.order, run.score_points) for run in runs_of("batch.jsonl")] == [(0, 50.0), (1, 75.0)]


def test_runs_of_several_files_that_state_no_trial_are_counted_on(command: Command, tmp_path: Path) -> None:
    files = [write_lines(tmp_path / name, {"scenario": "a", "messages": [user(name)]}) for name in ("one.jsonl", "two.jsonl")]
    assert command("import", *files, *OUT).code == 0
    assert [run.order for run in runs_of("batch.jsonl")] == [0, 1]


def test_a_trial_that_no_run_has_is_refused_with_those_there_are(command: Command, tmp_path: Path) -> None:
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("a", 0), record("a", 1)), *OUT, "--trial", 7)
    assert (ran.code, ran.err) == (2, "error: --trial: no run is of trial 7; there are trials 0, 1.\n")


def test_problems_are_counted_listed_and_kept_with_the_run(command: Command, tmp_path: Path) -> None:
    bad = calls(call("a", "look", "{"))
    trace = write_lines(tmp_path / "t.jsonl", record("a", 0, 1.0, bad, result("a")), record("b", 0, 0.0, bad))
    ran = command("import", trace, *OUT)
    assert ran.code == 0
    assert "imported with problems, in 2 runs:" in ran.out
    assert "  2 x the arguments of a call are no JSON (arguments_not_json)" in ran.out
    assert "    t.jsonl:2: b, run 0: step 2: a call has no result (look)" in ran.out
    problem = "imported with problems: step 2: the arguments of a call are no JSON (look)"
    assert [run.reason for run in runs_of("batch.jsonl")] == [
        f"{problem}.",
        f"reward 0. {problem}; step 2: a call has no result (look).",
    ]


def test_one_bad_line_keeps_everything_out_and_every_bad_line_is_named(command: Command, tmp_path: Path) -> None:
    lines = [record("a", 0), {"messages": [result("x")]}, record("a", 0), *([7] * MAX_NAMED)]
    ran = command("import", write_lines(tmp_path / "t.jsonl", *lines), *OUT)
    assert ran.code == 2
    assert f"{2 + MAX_NAMED} problems, so nothing was imported:" in ran.err
    assert "t.jsonl:2: messages[0].tool_call_id: answers no open call: 'x'." in ran.err
    assert "t.jsonl:3: run 0 of scenario 'a' is there already: t.jsonl:1." in ran.err
    assert "  and 2 more." in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_more_than_50_runs_of_a_scenario_are_refused_by_line(command: Command, tmp_path: Path) -> None:
    ran = command("import", write_lines(tmp_path / "t.jsonl", *(record("a", trial) for trial in range(51))), *OUT)
    assert ran.code == 2
    assert "t.jsonl:51: scenario 'a' has more than 50 runs." in ran.err


def test_a_file_that_is_there_is_not_overwritten(command: Command, tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text("mine")
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("a", 0)), *OUT)
    assert ran.code == 2
    assert "is there already, and is not overwritten" in ran.err
    assert (tmp_path / "batch.jsonl").read_text() == "mine"


def test_a_file_that_is_named_twice_is_refused(command: Command, tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", {"messages": [user("hi")]})
    ran = command("import", trace, "t.jsonl", *OUT)
    assert (ran.code, ran.err) == (2, "error: t.jsonl: is named twice; its runs are imported once.\n")


def test_without_a_project_the_file_and_the_project_must_be_named(command: Command, tmp_path: Path) -> None:
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("a", 0)))
    assert ran.code == 2
    assert "Without one, name --out and --project-id." in ran.err


def test_a_project_file_says_which_project_it_is(command: Command, project: Path) -> None:
    ran = command("import", write_lines(project / "t.jsonl", record("a", 0)), "--project-id", "other")
    assert ran.code == 2
    assert "is the project file's to say" in ran.err


@pytest.mark.parametrize(
    "flags", [("--agent", "a\nb"), ("--ci-event", "pul_request"), ("--commit", " "), ("--recorded-at", "soon"), ("--format", "otel_gena")]
)
def test_a_flag_that_means_nothing_is_refused_by_name(command: Command, tmp_path: Path, flags: tuple[str, str]) -> None:
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("a", 0)), *OUT, *flags)
    assert ran.code == 2
    assert flags[0] in ran.err or "Did you mean 'otel_genai'?" in ran.err


def test_a_scenario_file_grades_in_place_of_the_trace_and_scans(command: Command, tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text(SCENARIOS)
    rude = record("greet", 1, 1.0, reply="Your card is 4000111122223333")
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("greet", 0, 0.0), rude), *OUT, "--scenarios", "scenarios.yaml")
    assert ran.code == 0, ran.err
    assert "1 scenario of the scenario file without a run" in ran.out
    summary = read_bundle(Path("batch.jsonl"))
    assert summary.header.judge.startswith("structural")
    assert summary.header.scenario_set_digest is not None
    assert list(summary.header.scenarios) == ["greet"]
    assert (summary.header.set_scenarios, summary.batch.is_partial) == (2, True)
    assert [(run.outcome, run.score_points) for run in summary.runs] == [("passed", 100.0), ("failed", 0.0)]
    assert [[(found.policy, found.step) for found in run.violations or ()] for run in summary.runs] == [[], [("card_number", 2)]]
    assert summary.batch.coverage.is_whole


def test_a_limit_that_a_trace_says_nothing_of_is_named_in_the_reason(command: Command, tmp_path: Path) -> None:
    limited = "version: 1\nscenarios:\n  - {id: greet, message: hi, limits: {max_cost_usd: 0.1}, assertions: [{tool_not_called: x}]}\n"
    (tmp_path / "scenarios.yaml").write_text(limited)
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("greet", 0)), *OUT, "--scenarios", "scenarios.yaml")
    assert ran.code == 0, ran.err
    (run,) = runs_of("batch.jsonl")
    assert (run.outcome, run.reason) == ("passed", "max_cost_usd was not checked: it is not known what the run took.")


def test_a_run_of_a_scenario_that_the_file_has_not_is_refused_with_the_nearest(command: Command, tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text(SCENARIOS)
    ran = command("import", write_lines(tmp_path / "t.jsonl", record("greed", 0)), *OUT, "--scenarios", "scenarios.yaml")
    assert ran.code == 2
    assert "t.jsonl:1: scenario 'greed' is not in the scenario file. Did you mean 'greet'?" in ran.err


def test_runs_that_state_no_trial_take_the_numbers_that_are_free_and_are_named(command: Command, tmp_path: Path) -> None:
    unstated = {name: value for name, value in record("a", 0, 0.5).items() if name != "trial"}
    trace = write_lines(tmp_path / "t.jsonl", unstated, record("a", 1), unstated, record("a", 0, 0.0), {**unstated, "scenario": "b"})
    ran = command("import", trace, *OUT)
    assert ran.code == 0, ran.err
    assert "2 x no trial is stated" in ran.out
    assert "t.jsonl:3: a, run 3: no trial is stated" in ran.out
    assert [(run.scenario_id, run.order, run.score_points) for run in runs_of("batch.jsonl")] == [
        ("a", 0, 0.0),
        ("a", 1, 100.0),
        ("a", 2, 50.0),
        ("a", 3, 50.0),
        ("b", 0, 50.0),
    ]


def test_the_trials_of_runs_that_state_none_can_be_chosen(command: Command, tmp_path: Path) -> None:
    unstated = [{"scenario": "a", "reward": reward, "messages": [user("hi"), said("x")]} for reward in (0, 0.5, 1)]
    ran = command("import", write_lines(tmp_path / "t.jsonl", *unstated), *OUT, "--trial", 1)
    assert "2 runs of other trials left out" in ran.out
    assert [run.score_points for run in runs_of("batch.jsonl")] == [50.0]


def test_files_of_one_name_have_scenarios_of_their_own(command: Command, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        write_lines(tmp_path / folder / "run.jsonl", [user("hi"), said(folder)], [user("hi"), said(folder)])
    write_lines(tmp_path / "alone.jsonl", [user("hi"), said("x")])
    assert command("import", "x/run.jsonl", "y/run.jsonl", "alone.jsonl", *OUT).code == 0
    ids = ["alone-1", "x/run.jsonl-1", "x/run.jsonl-2", "y/run.jsonl-1", "y/run.jsonl-2"]
    assert [run.scenario_id for run in runs_of("batch.jsonl")] == ids


def test_an_id_made_of_a_file_s_name_is_never_that_of_another_run(command: Command, tmp_path: Path) -> None:
    (tmp_path / "run-1.json").write_text(json.dumps([user("hi"), said("x")]))
    ran = command("import", write_lines(tmp_path / "run.jsonl", [user("hi"), said("x")]), "run-1.json", *OUT)
    assert (ran.code, "scenario 'run-1', which is made of a file's name, is that of another run too" in ran.err) == (2, True)


def test_a_trace_that_was_cut_in_two_files_is_refused(command: Command, tmp_path: Path) -> None:
    sent = {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi"}
    replied = sent | {"gen_ai.completion.0.content": "hello"}
    files = [write_lines(tmp_path / f"{number}.jsonl", export(span(number, replied))) for number in "ab"]
    ran = command("import", *files, *OUT)
    assert ran.code == 2
    assert f"b.jsonl:1: trace t1 is in {files[0]} as well, and a trace is one run" in ran.err


@pytest.mark.parametrize("graded", [True, False])
def test_a_run_in_which_the_agent_never_acted_is_not_graded(command: Command, tmp_path: Path, graded: bool) -> None:
    (tmp_path / "scenarios.yaml").write_text(
        "version: 1\nscenarios:\n  - {id: a, message: hi, assertions: [{tool_not_called: x}]}\n  - {id: b, message: hi}\n"
    )
    only_asked = {"scenario": "a", "reward": 1, "messages": [user("hi")]}
    ran = command("import", write_lines(tmp_path / "t.jsonl", only_asked), *OUT, *(["--scenarios", "scenarios.yaml"] if graded else []))
    assert ran.code == 0, ran.err
    [run] = runs_of("batch.jsonl")
    assert (run.outcome, run.score_points) == ("ungraded", None)
    assert run.reason == "The trace holds no message and no call of the agent."
    assert run.has_steps


def test_a_run_that_could_not_run_has_no_score_whatever_it_would_pass(command: Command, tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text("version: 1\nscenarios:\n  - {id: a, message: hi, assertions: [{tool_not_called: x}]}\n")
    asked = {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi"}
    broke = export(span("r", {"test.case.name": "a"}, error="no route"), span("c", asked, parent="r"))
    assert command("import", write_lines(tmp_path / "t.jsonl", broke), *OUT, "--scenarios", "scenarios.yaml").code == 0
    [run] = runs_of("batch.jsonl")
    assert (run.outcome, run.score_points) == ("harness_error", None)


def test_a_call_that_is_a_part_of_a_message_is_seen_by_the_assertions(command: Command, tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text("version: 1\nscenarios:\n  - {id: a, message: hi, assertions: [{tool_not_called: refund}]}\n")
    called = said([{"type": "tool_use", "id": "1", "name": "refund", "input": {}}])
    answered = user([{"type": "tool_result", "tool_use_id": "1", "content": "ok"}])
    trace = write_lines(tmp_path / "t.jsonl", {"scenario": "a", "messages": [user("hi"), called, answered]})
    assert command("import", trace, *OUT, "--scenarios", "scenarios.yaml").code == 0
    assert [run.outcome for run in runs_of("batch.jsonl")] == ["failed"]


@pytest.mark.parametrize(
    ("flags", "event", "branch"),
    [
        ((), None, None),
        (("--ci-event", "push"), "push", "main"),
        (("--ci-event", "push", "--branch", "next"), "push", "next"),
        (("--ci-event", "pull_request"), "pull_request", None),
    ],
)
def test_a_batch_that_is_imported_in_ci_says_of_which_build_it_is(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], event: str | None, branch: str | None
) -> None:
    build = {"EVENT_NAME": "push", "REF": "refs/heads/main", "REF_TYPE": "branch", "REF_NAME": "main"}
    for name, value in build.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    assert command("import", write_lines(tmp_path / "t.jsonl", record("a", 0)), *OUT, *flags).code == 0
    header = read_bundle(Path("batch.jsonl")).header
    assert (header.ci_event, header.branch) == (event, branch)


def test_what_a_killed_import_left_is_removed_by_the_next_one_unless_it_is_still_being_written(command: Command, tmp_path: Path) -> None:
    dead, young, alive = (tmp_path / f".import-{name}.jsonl.tmp" for name in ("dead", "young", "alive"))
    for path in (dead, young, alive):
        path.write_bytes(b"half a li")
    os.utime(dead, (1_000, 1_000))
    with alive.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        os.utime(alive, (1_000, 1_000))
        assert command("import", write_lines(tmp_path / "t.jsonl", record("a", 0)), *OUT).code == 0
    assert [path.exists() for path in (dead, young, alive)] == [False, True, True]


def test_a_trace_of_the_future_is_refused_unless_the_time_is_named(command: Command, tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", record("a", 0) | {"created_at": "2199-01-01T00:00:00Z"})
    refused = command("import", trace, *OUT)
    assert refused.code == 2
    assert "t.jsonl: states a time in the future, 2199-01-01 00:00 UTC; --recorded-at says when it was recorded" in refused.err
    assert command("import", trace, *OUT, "--recorded-at", "2026-11-01T00:00:00Z").code == 0
