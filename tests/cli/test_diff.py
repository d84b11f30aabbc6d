"""`evalplatform diff` on bundles and stored batches: what it prints, writes and answers."""

import json
import re
from pathlib import Path

import pytest

from evalplatform.reports.batch_comparison_v3 import read_batch_comparison_v3
from evalplatform.runs.bundle import new_bundle
from evalplatform.runs.trajectory import MessageStep, trajectory_digest
from tests.cli.conftest import Command
from tests.support.compared_batches import Told, a_regression, batch_of, trajectory_of, write_bundle

PROJECT = "my-project"
"""The id of a starter project."""

PUSHED = re.compile(r"b-\d{8}t\d{6}-[0-9a-f]{8}")


@pytest.fixture
def bundles(tmp_path: Path) -> tuple[Path, Path]:
    """A baseline and a candidate that regressed, as bundles."""
    baseline, candidate = a_regression()
    return write_bundle(tmp_path / "base.jsonl", baseline), write_bundle(tmp_path / "cand.jsonl", candidate)


def pushed(command: Command, path: Path) -> str:
    ran = command("push", path)
    assert ran.code == 0, ran.err
    return PUSHED.findall(ran.out + ran.err)[0]


def test_two_bundles_need_no_project_and_a_regression_exits_1(command: Command, bundles: tuple[Path, Path]) -> None:
    ran = command("diff", *bundles)
    assert ran.code == 1
    assert ran.out.splitlines()[0] == (
        "The gate would fail (regressed): 2 flipped to failing · 1 to passing · 1 could not run"
        " · 1 degraded · 1 path drift · 1 dropped · 1 added · 1 not compared · 12 scenarios. First divergence at step 4 in collapse."
    )
    assert "3 newly failing · 1 newly passing · 1 degraded · 1 path drift · 1 dropped · 1 added · 1 not compared" in ran.out
    assert re.search(r"^collapse +newly failing +passed +failed +-50\.0 +changed +4/4 → 0/4$", ran.out, re.M)
    assert "  - collapse  4/4 → 0/4  (p 0.004, drop)" in ran.out


def test_the_headline_opens_at_the_first_scenario_whose_runs_part(command: Command, tmp_path: Path) -> None:
    baseline = {"a": Told("P"), "b": Told("P"), "c": Told("P")}
    candidate = {"a": Told("F"), "b": Told("F", tools=("find_order",)), "c": Told("P", tools=("x",))}
    paths = (
        write_bundle(tmp_path / "b.jsonl", batch_of(baseline)),
        write_bundle(tmp_path / "c.jsonl", batch_of(candidate, hours=1)),
    )
    assert command("diff", *paths).out.splitlines()[0].endswith("First divergence at step 4 in b.")


def test_a_batch_against_itself_passes(command: Command, bundles: tuple[Path, Path], tmp_path: Path) -> None:
    same = write_bundle(tmp_path / "same.jsonl", batch_of({"a": Told("P")}))
    ran = command("diff", same, same)
    assert ran.code == 0
    assert ran.out.startswith("The gate would pass (clean): 0 flipped · 0 path drift · 1 scenario.\n")
    assert "What one run a side can tell:" in ran.out


def test_what_could_not_be_compared_exits_2_and_is_never_clean(command: Command, tmp_path: Path) -> None:
    stopped = write_bundle(tmp_path / "stopped.jsonl", batch_of({"a": Told("H")}))
    fine = write_bundle(tmp_path / "fine.jsonl", batch_of({"a": Told("P")}))
    ran = command("diff", stopped, fine)
    assert ran.code == 2
    assert ran.out.startswith("The comparison could not be computed: no compared run has a verdict on both sides.\n")
    assert "a — the baseline's run could not run (harness): connection refused" in ran.out


def test_every_row_of_the_page_opens_the_diff_of_its_two_runs(command: Command, bundles: tuple[Path, Path], tmp_path: Path) -> None:
    ran = command("diff", *bundles, "--out-html", tmp_path / "out", "--out-md", tmp_path / "out" / "report.md")
    assert ran.code == 1
    page = (tmp_path / "out" / "report.html").read_text()
    links = set(re.findall(r'href="(report-diffs/[^"]+)"', page))
    assert "report-diffs/collapse.html" in links
    assert "report-diffs/offline.html" not in links, "the candidate could not run, so there is nothing to set beside the baseline"
    for link in links:
        diff = (tmp_path / "out" / link).read_text()
        assert '<a href="../report.html">' in diff
    collapse = (tmp_path / "out" / "report-diffs" / "collapse.html").read_text()
    assert "refund → escalate" in collapse
    assert "(truncated)" in collapse
    leaking = (tmp_path / "out" / "report-diffs" / "leaking.html").read_text()
    assert '<li>Only B breaches <b>No SSN in trajectory</b>: <a href="#b-step-3">step 3</a></li>' in leaking
    marked = leaking[leaking.index('id="b-step-3"') : leaking.index('id="b-step-4"')]
    assert '<span class="mark breach">Breaches "No SSN in trajectory"</span>' in marked
    assert leaking.count("Breaches ") == 1
    assert "(report-diffs/collapse.html)" in (tmp_path / "out" / "report.md").read_text()


def test_names_of_scenarios_make_safe_file_names_that_stay_apart(command: Command, tmp_path: Path) -> None:
    names = ["../up", "A b", "a-b", "a b", "a  b", "ä", "con/x", "x" * 200]
    told = {name: Told("P") for name in names}
    baseline = write_bundle(tmp_path / "b.jsonl", batch_of(told))
    candidate = write_bundle(tmp_path / "c.jsonl", batch_of({name: Told("F") for name in names}, hours=1))
    assert command("diff", baseline, candidate, "--out-html", tmp_path / "out" / "page.html").code == 1
    files = sorted(path.name for path in (tmp_path / "out" / "page-diffs").iterdir())
    assert len({name.lower() for name in files}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", name) for name in files)
    assert "a-b.html" in files
    titles = {re.findall("<h1>(.*)</h1>", path.read_text())[0] for path in (tmp_path / "out" / "page-diffs").iterdir()}
    assert {"a b", "a ⟨U+0020⟩b"} < titles
    page = (tmp_path / "out" / "page.html").read_text()
    assert set(re.findall(r'href="page-diffs/([^"]+)"', page)) == set(files)


def test_the_json_on_standard_output_and_in_the_file_are_the_same_and_read_back(
    command: Command, bundles: tuple[Path, Path], tmp_path: Path
) -> None:
    ran = command("diff", *bundles, "--json", "--out-json", tmp_path / "diff.json")
    assert ran.code == 1
    assert (tmp_path / "diff.json").read_text() == ran.out
    read = read_batch_comparison_v3(ran.out.encode())
    assert read.comparison.verdict == "regressed"
    assert len(read.rows) == 15
    assert read.choice == "named"


def test_one_scenario_is_opened_where_its_runs_part(command: Command, bundles: tuple[Path, Path], tmp_path: Path) -> None:
    ran = command("diff", *bundles, "--scenario", "collapse", "--out-html", tmp_path / "one.html")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == "collapse: newly failing; passed → failed; runs passed 4/4 → 0/4"
    assert "First divergence at step 4: refund → escalate." in lines
    assert "escalate" in (tmp_path / "one.html").read_text()
    steady = command("diff", *bundles, "--scenario", "steady", "--json")
    assert steady.code == 0
    assert json.loads(steady.out)["trajectory_diff"]["differing_steps"] == 0
    gone = command("diff", *bundles, "--scenario", "gone", "--out-html", tmp_path / "gone.html")
    assert gone.code == 2
    assert "no two trajectories to compare" in gone.out
    assert "gone.html was not written: there are no two trajectories to set side by side" in gone.err
    assert not (tmp_path / "gone.html").exists()


def test_one_scenario_says_its_new_and_resolved_violations_and_what_is_not_known(command: Command, tmp_path: Path) -> None:
    before = {"leaks": Told("P"), "mended": Told("P", violations=[("No card", 2)]), "unscanned": Told("P", violations=None)}
    after = {"leaks": Told("P", violations=[("No SSN", 3)]), "mended": Told("P"), "unscanned": Told("P")}
    sides = (write_bundle(tmp_path / "b.jsonl", batch_of(before)), write_bundle(tmp_path / "c.jsonl", batch_of(after, hours=1)))
    for scenario, said in (
        ("leaks", 'New violation: B breaches "No SSN" at step 3.'),
        ("mended", 'Resolved violation: A breaches "No card" at step 2.'),
        ("unscanned", "Whether there is a new violation is not known: a run was not scanned for violations."),
    ):
        lines = command("diff", *sides, "--scenario", scenario).out.splitlines()
        assert [line for line in lines if "iolation" in line] == [said]
        assert "No differing step" in lines
        assert not any("wording" in line for line in lines), "the two runs are the same to the letter"


def test_one_scenario_whose_texts_alone_differ_says_what_is_compared(command: Command, tmp_path: Path) -> None:
    batch = batch_of({"a": Told("P")})
    (run,) = batch.runs
    said = trajectory_of("a", run.tools)
    other = said.model_copy(update={"steps": (*said.steps[:-1], MessageStep(role="assistant", text="All done!"))})
    paths = []
    for name, trajectory in (("b", said), ("c", other)):
        paths.append(tmp_path / f"{name}.jsonl")
        with new_bundle(paths[-1], batch.header) as writer:
            writer.add(run.model_copy(update={"trajectory_digest": trajectory_digest(trajectory)}), trajectory)
            writer.finish()
    ran = command("diff", *paths, "--scenario", "a", "--out-html", tmp_path / "one.html")
    sentence = (
        "The texts of the two runs are not the same. Roles, tool names and the shape of arguments are compared; wording and values are not."
    )
    assert ran.code == 0
    assert sentence in ran.out.splitlines()
    assert f'<p class="intro">{sentence}</p>' in (tmp_path / "one.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("base.jsonl",), "diff: takes two batches, the baseline and the candidate, or none."),
        (("base.jsonl", "nowhere.jsonl"), "nowhere.jsonl: cannot be read: No such file or directory."),
        (("base.jsonl", "cand.jsonl", "--scenario", "colapse"), "unknown scenario 'colapse'"),
        (("base.jsonl", "cand.jsonl", "--out-json", "base.jsonl"), "is one of the files that are read"),
        (("base.jsonl", "cand.jsonl", "--scenario", "half", "--out-md", "x.md"), "--out-md: is a file of the whole comparison"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(
    command: Command, bundles: tuple[Path, Path], arguments: tuple[str, ...], message: str
) -> None:
    ran = command("diff", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_a_comparison_that_is_refused_leaves_no_folder_behind(command: Command, bundles: tuple[Path, Path], tmp_path: Path) -> None:
    ran = command("diff", bundles[0], "nowhere.jsonl", "--out-html", tmp_path / "new" / "out", "--out-json", tmp_path / "new" / "a.json")
    assert ran.code == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b", "a\0.jsonl", "a/\0"])
@pytest.mark.parametrize("with_output", [False, True])
def test_what_no_file_can_be_named_is_an_unknown_batch(command: Command, project: Path, name: str, with_output: bool) -> None:
    write_bundle(project / "fine.jsonl", batch_of({"a": Told("P")}))
    for sides in ((name, "fine.jsonl"), ("fine.jsonl", name)):
        ran = command("diff", *sides, *(["--out-json", "out.json"] if with_output else []))
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("error: unknown batch '")
        assert len(ran.err.splitlines()) == 1
        assert len(ran.err) < 300


def test_an_unfinished_bundle_and_two_projects_are_refused_by_name(command: Command, bundles: tuple[Path, Path], tmp_path: Path) -> None:
    with new_bundle(tmp_path / "open.jsonl", batch_of({"a": Told("P")}).header):
        pass
    assert "open.jsonl: is not finished" in command("diff", bundles[0], tmp_path / "open.jsonl").err
    other = write_bundle(tmp_path / "other.jsonl", batch_of({"a": Told("P")}, project="warehouse"))
    ran = command("diff", bundles[0], other)
    assert ran.code == 2
    assert "'shop'" in ran.err
    assert "'warehouse'" in ran.err


def test_without_batches_the_newest_is_compared_with_the_one_before_it(command: Command, project: Path, tmp_path: Path) -> None:
    told = {"a": Told("P"), "b": Told("P")}
    first = pushed(command, write_bundle(tmp_path / "1.jsonl", batch_of(told, project=PROJECT)))
    nothing = command("diff")
    assert nothing.code == 2
    assert "it takes two batches that have not expired" in nothing.err
    worse = {"a": Told("F", tools=("find_order",)), "b": Told("P")}
    second = pushed(command, write_bundle(tmp_path / "2.jsonl", batch_of(worse, hours=1, project=PROJECT)))
    ran = command("diff")
    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [
        f"Candidate {second} against baseline {first} (the previous batch)",
        "The gate would fail (regressed): 1 flipped to failing · 0 path drift · 2 scenarios. First divergence at step 4 in a.",
    ]
    assert f"Baseline (the previous batch): {first}" in ran.out
    assert command("diff", first, second).code == 1
    assert command("diff", second, tmp_path / "2.jsonl").code == 0
    assert command("diff", first[:-3], second[-8:]).code == 1
    many = command("diff", "b-2026", second)
    assert many.code == 2
    assert f"'b-2026' can be any of these batches: {second}, {first}." in many.err
    unknown = command("diff", first, f"{second[:-1]}x")
    assert unknown.code == 2
    assert "unknown batch" in unknown.err
    page = command("diff", first, second, "--out-html", tmp_path / "out")
    assert page.code == 1
    assert "refund missing in B" in (tmp_path / "out" / "report-diffs" / "a.html").read_text()


def test_a_row_whose_trajectory_is_no_longer_kept_has_no_page_and_no_link(command: Command, project: Path, tmp_path: Path) -> None:
    told = {"a": Told("P"), "b": Told("P", tools=("x",))}
    first = pushed(command, write_bundle(tmp_path / "1.jsonl", batch_of(told, project=PROJECT)))
    lost = batch_of({"a": Told("F", tools=("lost",)), "b": Told("F", tools=("kept",))}, hours=1, project=PROJECT)
    second = pushed(command, write_bundle(tmp_path / "2.jsonl", lost))
    digest = str(lost.runs[0].trajectory_digest).removeprefix("sha256:")
    (blob,) = project.rglob(digest)
    blob.unlink()
    ran = command("diff", first, second, "--out-html", tmp_path / "out")
    assert ran.code == 1
    assert "1 row without a diff page: a trajectory is no longer kept" in ran.err
    assert re.findall(r'href="(report-diffs/[^"]+)"', (tmp_path / "out" / "report.html").read_text()) == ["report-diffs/b.html"]
    assert [path.name for path in (tmp_path / "out" / "report-diffs").iterdir()] == ["b.html"]


def test_a_bundle_that_was_edited_is_refused_as_push_refuses_it(command: Command, project: Path, tmp_path: Path) -> None:
    whole = write_bundle(tmp_path / "1.jsonl", batch_of({"a": Told("P", tools=("refund",))}, project=PROJECT))
    edited = tmp_path / "2.jsonl"
    edited.write_text(
        whole.read_text().replace('"kind":"tool_call","text":null,"tool":"refund"', '"kind":"tool_call","text":null,"tool":"look"')
    )
    assert edited.read_text() != whole.read_text()
    for arguments in (("diff", whole, edited), ("push", edited)):
        ran = command(*arguments)
        assert ran.code == 2
        assert "2.jsonl:2: names the trajectory sha256:" in ran.err
