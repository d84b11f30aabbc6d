"""The bundle: the file that a batch is recorded in, one durable line a run."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.kernel.errors import BundleError, BundleInUseError, StorageUnavailableError
from evalplatform.runs.bundle import BundleSummary, new_bundle, read_bundle, read_header, recorded_runs
from evalplatform.runs.bundle_file import locked, nothing_recorded
from evalplatform.runs.bundle_reopened import claimed_bundle, reopened_bundle
from evalplatform.runs.records import BatchHeader, PlannedScenario, Run
from evalplatform.runs.trajectory import MessageStep, Trajectory
from tests.support.small_disk import small_disk

BEGUN = datetime(2026, 11, 30, 8, tzinfo=UTC)
HEADER = BatchHeader(
    project="shop",
    commit="abc123",
    agent="http://localhost:8000/agent",
    judge="structural",
    recorded_at=BEGUN,
    scenarios={"refund": PlannedScenario(planned_runs=2), "cancel": PlannedScenario(planned_runs=2)},
)
SAID = Trajectory(steps=(MessageStep(role="user", text="hello"), MessageStep(role="assistant", text="bye ✓")))


def run(scenario_id: str, order: int, *, outcome: str = "passed") -> Run:
    return Run.model_validate({"scenario_id": scenario_id, "order": order, "created_at": BEGUN, "outcome": outcome})


def test_runs_are_read_back_by_scenario_and_order_whatever_order_they_ended_in(tmp_path: Path) -> None:
    with new_bundle(tmp_path / "b.jsonl", HEADER) as bundle:
        for scenario_id, order in (("refund", 1), ("cancel", 0), ("refund", 0)):
            bundle.add(run(scenario_id, order), SAID)
        bundle.finish()
    summary = read_bundle(tmp_path / "b.jsonl")
    assert [(each.scenario_id, each.order) for each in summary.runs] == [("cancel", 0), ("refund", 0), ("refund", 1)]
    assert summary.is_finished
    assert summary.header == read_header(tmp_path / "b.jsonl") == HEADER
    assert [each.trajectory for each in recorded_runs(tmp_path / "b.jsonl")] == [SAID] * 3


def test_a_bundle_that_was_killed_in_the_middle_of_a_line_loses_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with new_bundle(path, HEADER) as bundle:
        bundle.add(run("refund", 0), SAID)
    whole = path.read_bytes()
    with new_bundle(tmp_path / "other.jsonl", HEADER) as bundle:
        bundle.add(run("refund", 0), SAID)
        bundle.add(run("refund", 1), SAID)
    longer = (tmp_path / "other.jsonl").read_bytes()
    for cut in range(len(whole), len(longer)):
        path.write_bytes(longer[:cut])
        assert [each.order for each in read_bundle(path).runs] == [0]
    with reopened_bundle(path) as bundle:
        bundle.add(run("refund", 1), SAID)
    assert path.read_bytes() == longer


def test_a_truncated_bundle_lists_what_was_not_made_and_can_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with new_bundle(path, HEADER) as bundle:
        bundle.add(run("refund", 0), SAID)
        bundle.finish(truncated_reason="the spend cap", not_made=[run("refund", 1, outcome="ungraded")])
    first = read_bundle(path)
    assert (first.truncated_reason, [each.outcome for each in first.runs]) == ("the spend cap", ["passed", "ungraded"])
    assert first.batch.truncated
    assert [each.trajectory for each in recorded_runs(path)] == [SAID, None]
    with reopened_bundle(path) as bundle:
        bundle.add(run("refund", 1), SAID)
        bundle.finish()
    assert read_bundle(path).truncated_reason is None
    assert [each.outcome for each in read_bundle(path).runs] == ["passed", "passed"]


def test_runs_that_could_not_run_are_taken_out_of_a_bundle_that_is_gone_on_with_and_those_that_cost_something_stay(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    paid = run("cancel", 1, outcome="harness_error").with_changes(cost_usd=0.5)
    with new_bundle(path, HEADER) as bundle:
        bundle.add(run("refund", 0), SAID)
        bundle.add(run("refund", 1, outcome="harness_error"), None)
        bundle.add(paid, None)
        bundle.add(run("cancel", 0), SAID)
        bundle.finish()
    assert read_bundle(path).could_not_run == 1
    with reopened_bundle(path) as bundle:
        assert [(each.scenario_id, each.order) for each in read_bundle(path).runs] == [("cancel", 0), ("cancel", 1), ("refund", 0)]
        bundle.add(run("refund", 1), SAID)
        bundle.finish()
    assert [each.outcome for each in read_bundle(path).runs] == ["passed", "harness_error", "passed", "passed"]
    with pytest.raises(BundleError, match="is finished"):
        reopened_bundle(path)
    assert [file.name for file in tmp_path.iterdir()] == ["b.jsonl"]


def test_a_claimed_bundle_stays_as_it_is_until_it_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with new_bundle(path, HEADER) as bundle:
        bundle.add(run("refund", 0, outcome="harness_error"), None)
        bundle.finish(truncated_reason="an outage")
    before = path.read_bytes()
    claimed = claimed_bundle(path)
    with pytest.raises(BundleInUseError, match="by another process"):
        claimed_bundle(path)
    claimed.close()
    assert path.read_bytes() == before


def test_whoever_opened_the_file_before_it_was_replaced_cannot_record_into_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    new_bundle(path, HEADER).close()
    old = path.open("r+b", buffering=0)
    with reopened_bundle(path), pytest.raises(BundleInUseError):
        locked(old, path)
    assert old.closed


def test_a_full_disk_leaves_the_bundle_that_was_to_be_gone_on_with_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    large = Trajectory(steps=(MessageStep(role="user", text="x" * 40_000),))
    with small_disk(folder, kibibytes=64):
        with new_bundle(folder / "b.jsonl", HEADER) as bundle:
            bundle.add(run("refund", 0), large)
        before = (folder / "b.jsonl").read_bytes()
        with pytest.raises(StorageUnavailableError, match="No space left"):
            reopened_bundle(folder / "b.jsonl")
        assert (folder / "b.jsonl").read_bytes() == before
        assert [file.name for file in folder.glob("*")] == ["b.jsonl"]


def test_a_link_to_a_bundle_goes_on_leading_to_it(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    new_bundle(tmp_path / "kept" / "b.jsonl", HEADER).close()
    (tmp_path / "latest").symlink_to("kept/b.jsonl")
    with reopened_bundle(tmp_path / "latest") as bundle:
        bundle.add(run("refund", 0), SAID)
    assert (tmp_path / "latest").is_symlink()
    assert len(read_bundle(tmp_path / "kept" / "b.jsonl").runs) == 1


def test_a_file_that_a_kill_left_within_the_first_line_is_begun_anew_and_no_other_is(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    new_bundle(path, HEADER).close()
    whole = path.read_bytes()
    for cut in (0, 1, 9, 20, len(whole) - 1):
        path.write_bytes(whole[:cut])
        new_bundle(path, HEADER).close()
        assert path.read_bytes() == whole
    for text in ("notes without an end", '{"messages": []}', whole.decode()):
        path.write_text(text)
        with pytest.raises(BundleError, match="cannot be begun: File exists"):
            new_bundle(path, HEADER)
        assert path.read_text() == text


def test_a_finished_bundle_takes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with new_bundle(path, HEADER) as bundle:
        bundle.finish()
    with pytest.raises(BundleError, match="is finished"):
        reopened_bundle(path)
    with pytest.raises(BundleError, match="cannot be begun: File exists"):
        new_bundle(path, HEADER)


def test_a_bundle_that_is_truncated_though_every_run_was_made_keeps_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with new_bundle(path, HEADER) as bundle:
        bundle.add(run("refund", 0), SAID)
        bundle.finish(truncated_reason="the checkout was changed")
    with pytest.raises(BundleError, match="is finished"):
        reopened_bundle(path)
    assert read_bundle(path).truncated_reason == "the checkout was changed"


def test_two_processes_never_record_into_one_bundle(tmp_path: Path) -> None:
    with new_bundle(tmp_path / "b.jsonl", HEADER), pytest.raises(BundleError, match="by another process"):
        reopened_bundle(tmp_path / "b.jsonl")
    reopened_bundle(tmp_path / "b.jsonl").close()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"run": {}}', "2: run.scenario_id: is no line of a bundle"),
        ("nothing", "2: is no line of a bundle: Invalid JSON"),
        ('{"run": {"scenario_id": "a", "order": 50, "created_at": "2026-11-30T08:00:00Z", "outcome": "passed"}}', "run.order"),
    ],
)
def test_a_line_that_is_none_is_refused_by_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "b.jsonl"
    new_bundle(path, HEADER).close()
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(BundleError, match=message):
        read_bundle(path)


def test_the_same_run_twice_and_lines_after_the_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with new_bundle(path, HEADER) as bundle:
        bundle.add(run("refund", 0), SAID)
        bundle.add(run("refund", 0), None)
    with pytest.raises(BundleError, match=r"b\.jsonl:3: holds run 0 of 'refund' twice"):
        read_bundle(path)
    path.unlink()
    with new_bundle(path, HEADER) as bundle:
        bundle.finish()
        bundle.add(run("refund", 0), SAID)
    with pytest.raises(BundleError, match="after its end line"):
        read_bundle(path)


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    for name, text in (("empty.jsonl", ""), ("other.jsonl", '{"messages": []}\n')):
        (tmp_path / name).write_text(text)
        with pytest.raises(BundleError, match="is no bundle"):
            read_header(tmp_path / name)
    with pytest.raises(BundleError, match="cannot be read"):
        read_bundle(tmp_path / "missing.jsonl")


def test_a_pipe_is_refused_without_waiting_for_what_comes_out_of_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    try:
        os.write(held, b"a line, so that whoever reads it fails and does not wait\n")
        for read in (read_header, read_bundle):
            with pytest.raises(BundleError, match="pipe: is no regular file"):
                read(pipe)
        assert not nothing_recorded(pipe)
    finally:
        os.close(held)


def test_the_content_is_the_same_whenever_and_in_whatever_order_it_was_recorded(tmp_path: Path) -> None:
    runs = (run("cancel", 0), run("refund", 0))
    later = HEADER.with_changes(recorded_at=datetime(2027, 1, 1, tzinfo=UTC))
    content = digest_of(HEADER, *runs)
    assert content == digest_of(later, *runs) == digest_of(HEADER, *reversed(runs))
    assert content != digest_of(HEADER.with_changes(commit="other"), *runs)
    assert content != digest_of(HEADER, runs[0])
    assert content != digest_of(HEADER, run("cancel", 0, outcome="failed"), runs[1])


def digest_of(header: BatchHeader, *runs: Run) -> str:
    return BundleSummary(header, runs, is_finished=True, truncated_reason=None).batch.content_digest


def test_a_full_disk_leaves_every_run_that_was_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder, kibibytes=64):
        bundle = new_bundle(folder / "b.jsonl", HEADER)
        written = 0
        large = Trajectory(steps=(MessageStep(role="user", text="x" * 10_000),))
        with pytest.raises(StorageUnavailableError, match="No space left"):
            for order in range(50):
                bundle.add(run("refund", order), large)
                written += 1
        bundle.close()
        assert [each.order for each in read_bundle(folder / "b.jsonl").runs] == list(range(written))
        assert all(json.loads(line) for line in (folder / "b.jsonl").read_text().splitlines())
