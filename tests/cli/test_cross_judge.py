"""`cross-judge`: stored answers under several judges, from a suite or from files, against a model server."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalplatform.cli.main import exit_code
from evalplatform.comparisons.cross_judge_records import CrossJudgement
from evalplatform.comparisons.records import ArmSummary
from evalplatform.project.load import load_project
from evalplatform.wiring import OpenedProject
from tests.cli.conftest import Command, Ran
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter import edited
from tests.support.stub_project import GRADER, RUN, more_cells, write_stub_project

QUESTIONS = 8
OWN_FILE = "results/arms/kettle.json"
MORE_JUDGES = """\
  strict: {kind: rubric, model: strict-grader, endpoint: stub, rubric: strict.md}
  lax: {kind: rubric, model: lax-grader, endpoint: stub, rubric: lax.md}
  same-model: {kind: rubric, model: grader, endpoint: stub, rubric: strict.md}
  facts: {kind: overlap, model: overlap, endpoint: here}
  mute: {kind: rubric, model: "stub;do=reply;text=no+numbers", endpoint: stub}
products:"""
Json = dict[str, Any]


@pytest.fixture(scope="module")
def stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def judged(stub: ModelStub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was run once: eight questions, one of them with a ground truth, two arms, one judge."""
    folder = tmp_path_factory.mktemp("judged") / "project"
    folder.mkdir()
    write_stub_project(folder, stub.url, questions=QUESTIONS)
    edited(
        folder / "evalplatform.yaml",
        ("products:", MORE_JUDGES),
        ("endpoints:", "endpoints:\n  here: {provider: offline}"),
        ("draws: 1", "draws: 1\n    pass_points: 50.0"),
    )
    for name in ("strict", "lax"):
        (folder / f"{name}.md").write_text(f"Be {name}.")
    questions = json.loads((folder / "questions.json").read_text())
    questions["questions"][0]["ground_truth_chunk"] = "Part 0 boils the water."
    (folder / "questions.json").write_text(json.dumps(questions))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUB_KEY", "key")
        patch.chdir(folder)
        assert exit_code(RUN) == 0
    return folder


@pytest.fixture
def folder(judged: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that project, which is the working folder."""
    folder = shutil.copytree(judged, tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("STUB_KEY", "key")
    return folder


@pytest.fixture
def asked(stub: ModelStub) -> Callable[[], dict[str, int]]:
    """How many requests each model got since the test began."""
    before = requests_by_model(stub)
    return lambda: dict(requests_by_model(stub) - before)


@pytest.fixture
def requests(stub: ModelStub) -> Callable[[], int]:
    before = stub.requests
    return lambda: stub.requests - before


def requests_by_model(stub: ModelStub) -> Counter[str]:
    counts: Counter[str] = Counter()
    for body, seen in zip(stub.bodies(), list(stub.seen.values()), strict=True):
        counts[body["model"]] += seen.count
    return counts


def cross_judge(command: Command, *arguments: object) -> Ran:
    return command("cross-judge", *arguments)


def result_of(path: Path) -> CrossJudgement:
    return CrossJudgement.model_validate_json(path.read_bytes())


def changed(source: Path, target: str, change: Callable[[Json], None]) -> Path:
    data = json.loads(source.read_text())
    change(data)
    path = source.parent / target
    path.write_text(json.dumps(data))
    return path


def unstamp(data: Json) -> None:
    """Make it a file from before there was a stamp: its judge saw snippets."""
    del data["judge_context"]
    for evaluation in data["evaluations"]:
        for score in evaluation["scores"].values():
            del score["judge_context_source"], score["judge_context_sha256"]


def lift(points: float) -> Callable[[Json], None]:
    """Give every answer of the skill so many points more than the baseline has."""

    def change(data: Json) -> None:
        data["judge_model"] = f"judge-of-{points:+g}"
        for evaluation in data["evaluations"]:
            evaluation["scores"]["baseline"]["aggregate"] = 50.0
            evaluation["scores"]["skill:use-kettle"]["aggregate"] = 50.0 + points

    return change


def test_more_judges_score_a_suites_answers_without_asking_an_answer_and_once(
    command: Command, folder: Path, asked: Callable[[], dict[str, int]], requests: Callable[[], int]
) -> None:
    ran = cross_judge(command, "--suite", "kettle", "--judges", "rubric,strict,lax", "--out-json", "o.json", "--out-md", "o.md")
    assert ran.code == 0
    assert "  skill:use-kettle: " in ran.out
    assert asked() == {"strict-grader": 2 * QUESTIONS, "lax-grader": 2 * QUESTIONS}, "no answer, and nothing of the judge that was there"
    result = result_of(folder / "o.json")
    (run,) = result.runs
    assert [measure.name for measure in run.run.measures] == ["rubric", "strict", "lax"]
    assert all(len(measure.points["baseline"]) == QUESTIONS for measure in run.run.measures), "every question's points are kept"
    assert [pair.measures for pair in run.arms[0].pairs] == [("rubric", "strict"), ("rubric", "lax"), ("strict", "lax")]
    assert run.arms[0].pairs[0].verdicts is not None, "the suite has a pass mark"
    assert (folder / "o.md").read_text().startswith("# kettle under 3 judges\n")
    again = cross_judge(command, "--suite", "kettle", "--judges", "rubric,strict,lax")
    assert (again.code, again.out) == (0, ran.out)
    assert "nothing changed since the last run: 0 model calls" in again.err
    assert requests() == 2 * 2 * QUESTIONS


def test_a_suites_new_scores_are_kept_like_any_judges(command: Command, folder: Path) -> None:
    cross_judge(command, "--suite", "kettle", "--judges", "strict,lax")
    listed = command("assets", "list").out
    assert "kettle/judged_scores/model-" in listed
    for name in ("/strict-", "/lax-", "comparisons/cross_judge/kettle-model-", "report.html", "cross_judge.json", "points.csv"):
        assert name in listed
    moved = command("arms", "run", "--suite", "kettle", "--judge", "--judge-model", "strict")
    assert "0 model calls" in moved.err.splitlines()[-1], "a run under that judge finds its scores"


def test_a_judge_is_given_from_a_file_exactly_what_it_was_given_in_the_run(
    command: Command, folder: Path, requests: Callable[[], int]
) -> None:
    ran = cross_judge(command, OWN_FILE, "--judges", "rubric", "--out-json", "o.json")
    assert ran.code == 0, "two measures have a say"
    assert requests() == 0, "question, material, reference and answer are the same, so the ledger has every reply"
    first, stored = result_of(folder / "o.json").runs[0].run.measures
    assert (first.name, stored.name, stored.is_stored) == ("rubric", f"{GRADER} (stored)", True)
    assert (first.points, first.judge_prompt_digest) == (stored.points, stored.judge_prompt_digest)


def test_a_file_is_judged_by_others_without_asking_an_answer_and_once(
    command: Command, folder: Path, asked: Callable[[], dict[str, int]], requests: Callable[[], int]
) -> None:
    ran = cross_judge(command, OWN_FILE, "--judges", "strict,lax", "--out-html", "o.html")
    assert ran.code == 0
    assert asked() == {"strict-grader": 2 * QUESTIONS, "lax-grader": 2 * QUESTIONS}
    shutil.rmtree(folder / ".evalplatform" / "store" / "artifacts" / "comparisons")
    made, again = requests(), cross_judge(command, OWN_FILE, "--judges", "strict,lax")
    assert again.out == ran.out
    assert "0 model calls, 32 replayed from the ledger" in again.err, "also where the result is gone"
    assert "nothing changed since the last run" in cross_judge(command, OWN_FILE, "--judges", "strict,lax").err
    assert requests() == made
    assert "<title>kettle under 3 judges</title>" in (folder / "o.html").read_text()


def test_stored_scores_can_be_left_out(command: Command, folder: Path) -> None:
    cross_judge(command, OWN_FILE, "--judges", "strict,lax", "--no-stored", "--out-json", "o.json")
    assert [measure.name for measure in result_of(folder / "o.json").runs[0].run.measures] == ["strict", "lax"]


def test_one_model_with_two_prompts_is_one_judge(command: Command, folder: Path) -> None:
    cross_judge(command, OWN_FILE, "--judges", "same-model", "--out-md", "o.md")
    told = (folder / "o.md").read_text()
    assert "Only one judge has a say in kettle" in told
    assert told.startswith("# kettle under 1 judge (2 measures)\n")
    assert f"- **Judges**: same-model and {GRADER} (stored)" in told


@pytest.mark.parametrize(
    ("source", "unstamped"), [(("--suite", "kettle"), False), ((OWN_FILE, "--no-stored"), False), (("old.json",), True)]
)
def test_one_measure_alone_cannot_say_whether_a_verdict_depends_on_the_judge(
    command: Command, folder: Path, source: tuple[str, ...], unstamped: bool
) -> None:
    if unstamped:
        changed(folder / OWN_FILE, "old.json", unstamp)
        source = (str(folder / "results/arms/old.json"),)
    ran = cross_judge(command, *source, "--judges", "strict", "--out-md", "o.md")
    name = {"--suite": "model"}.get(source[0], Path(source[0]).stem)
    sentence = f"nly strict has a say in {name}, so whether a verdict depends on the judge could not be found out."
    assert ran.code == 2
    assert f"error: o{sentence} Name another judge with --judges." in ran.err
    assert f"O{sentence}" in (folder / "o.md").read_text(), "what was found is written all the same"


def test_a_judge_that_tells_no_answer_from_another_is_named(command: Command, folder: Path) -> None:
    flat = changed(folder / OWN_FILE, "flat.json", lift(0.0))
    ran = cross_judge(command, flat, "--judges", "strict", "--out-md", "o.md")
    said = "judge-of-+0 (stored) gave every answer of flat 50.0 points: it tells none apart, and still has a say."
    assert ran.code == 0
    assert f"warning: {said}" in ran.err
    assert said in (folder / "o.md").read_text()


def drop_materials(data: Json) -> None:
    data["judge_materials"] = {}


def drop_digests(data: Json) -> None:
    for answer in data["answers"][:3]:
        del answer["arms"]["skill:use-kettle"]["judge_context_sha256"]


def edit_materials(data: Json) -> None:
    data["judge_materials"] = {digest: text and f"{text} edited" for digest, text in data["judge_materials"].items()}


@pytest.mark.parametrize(("change", "count"), [(drop_materials, 8), (drop_digests, 3), (edit_materials, 8)])
def test_answers_whose_material_cannot_be_shown_again_are_refused_before_a_call(
    command: Command, folder: Path, requests: Callable[[], int], change: Callable[[Json], None], count: int
) -> None:
    path = changed(folder / OWN_FILE, "old.json", change)
    ran = cross_judge(command, path, "--judges", "strict,lax")
    assert (ran.code, ran.out, requests()) == (2, "", 0)
    assert (
        f"error: {path} does not hold what the judge was shown beside {count} answers of the arm skill:use-kettle, "
        "so another judge cannot be shown the same; run answering and judging again."
    ) in ran.err
    assert ("does not have that digest and is skipped" in ran.err) is (change is edit_materials)
    refused = json.loads(cross_judge(command, path, "--judges", "strict,lax", "--json").out)
    assert [reason["questions"] for reason in refused["refusals"]] == [count]


def test_scores_from_before_the_stamp_are_named_and_not_pooled(command: Command, folder: Path) -> None:
    path = changed(folder / OWN_FILE, "old.json", unstamp)
    ran = cross_judge(command, path, "--judges", "strict,lax", "--out-json", "o.json", "--out-md", "o.md")
    assert ran.code == 0
    assert (
        "warning: grader (stored) of old is not pooled with the others. The runs differ in judge material (judge_context): "
        "old says nothing of it; judging it again now says treatment_material.v1."
    ) in ran.err
    (run,) = result_of(folder / "o.json").runs
    assert [measure.counts for measure in run.run.measures] == [True, True, False]
    assert [pair.measures for pair in run.arms[0].pairs] == [("strict", "lax")]
    assert "grader (stored) of old is shown and has no say" in (folder / "o.md").read_text()


def test_scores_of_mixed_material_are_named_and_not_pooled(command: Command, folder: Path) -> None:
    mixed = changed(folder / OWN_FILE, "mixed.json", lambda data: data.update(judge_context="treatment_material.v1+snippet_fallback"))
    ran = cross_judge(command, mixed, "--judges", "strict,lax")
    assert "warning: grader (stored) of mixed is not pooled with the others. " in ran.err
    assert "only snippets" in ran.err


def no_references(data: Json) -> None:
    """Take the references away that the file's judge was given, as files from before they were kept have it."""
    data["grounded_from_topics"] = True
    for row in (*data["answers"], *data["evaluations"]):
        row.pop("ground_truth_chunk", None)


def ungrounded(data: Json) -> None:
    """The same, in a file of another tool: no score says whether it was grounded."""
    no_references(data)
    for row in data["evaluations"]:
        for score in row["scores"].values():
            score.pop("grounded", None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (no_references, "old says 1 question had a reference that the file does not hold"),
        (ungrounded, "old says the judge was given expected topics, which the file does not hold"),
    ],
)
def test_scores_against_references_that_the_file_does_not_hold_are_named_and_not_pooled(
    command: Command, folder: Path, change: Callable[[Json], None], says: str
) -> None:
    path = changed(folder / OWN_FILE, "old.json", change)
    ran = cross_judge(command, path, "--judges", "strict,lax", "--out-json", "o.json")
    assert ran.code == 0
    assert f"references to grade against: {says}; judging it again now says there is none." in ran.err
    (run,) = result_of(folder / "o.json").runs
    assert [measure.counts for measure in run.run.measures] == [True, True, False]


def test_judges_are_given_the_references_that_the_file_holds_also_those_made_of_topics(
    command: Command, folder: Path, stub: ModelStub
) -> None:
    topics = ["The base part has to stand level on its three feet", "The lid has to be shut until the steam is gone"]
    questions = json.loads((folder / "questions.json").read_text())
    for question in questions["questions"][1:]:
        question["expected_topics"] = topics
    (folder / "questions.json").write_text(json.dumps(questions))
    edited(folder / "evalplatform.yaml", ("rubric: {kind: rubric", "rubric: {grounded_from_topics: true, kind: rubric"))
    assert command(*RUN).code == 0
    ran = cross_judge(command, OWN_FILE, "--judges", "strict", "--out-json", "o.json")
    assert ran.code == 0
    assert "not pooled" not in ran.err
    with_topics = [body for body in stub.bodies() if body["model"] == "strict-grader" and topics[0] in json.dumps(body)]
    assert len(with_topics) == 2 * (QUESTIONS - 1)


def test_files_of_the_same_answers_are_one_run_and_a_verdict_may_depend_on_the_judge(command: Command, folder: Path) -> None:
    up, down = (changed(folder / OWN_FILE, f"{name}.json", lift(points)) for name, points in (("up", 20.0), ("down", -20.0)))
    arguments = (up, down, "--judges", "strict", "--out-json", "o.json")
    ran = cross_judge(command, *arguments)
    assert (ran.code, ran.out.splitlines()[1]) == (0, "  skill:use-kettle: JUDGE-DEPENDENT")
    assert cross_judge(command, *arguments, "--strict").code == 1
    (run,) = result_of(folder / "o.json").runs
    assert [measure.name for measure in run.run.measures] == ["strict", "judge-of-+20 (stored)", "judge-of--20 (stored)"]
    alone = cross_judge(command, up, "--judges", "strict", "--strict")
    assert alone.code == 0, "strict is of judge-dependent verdicts alone"


def test_two_files_of_one_judge_have_names_of_their_own(command: Command, folder: Path) -> None:
    shutil.copyfile(folder / OWN_FILE, folder / "copy.json")
    cross_judge(command, OWN_FILE, "copy.json", "--judges", "strict", "--out-json", "o.json")
    names = [measure.name for measure in result_of(folder / "o.json").runs[0].run.measures]
    assert names == ["strict", "grader (stored in kettle)", "grader (stored in copy)"]


def test_files_of_other_answers_are_runs_of_their_own(command: Command, folder: Path) -> None:
    def reword(data: Json) -> None:
        data["answers"][0]["arms"]["baseline"]["answer"] += " So it is."

    other = changed(folder / OWN_FILE, "other.json", reword)
    ran = cross_judge(command, OWN_FILE, other, "--judges", "strict,lax", "--out-md", "o.md", "--out-json", "o.json")
    assert ran.code == 0
    assert [one.run.name for one in result_of(folder / "o.json").runs] == ["kettle", "other"]
    assert "| Run | Arm | Measure |" in (folder / "o.md").read_text()


def test_files_of_the_same_answers_that_differ_otherwise_are_refused(command: Command, folder: Path, requests: Callable[[], int]) -> None:
    other = changed(folder / OWN_FILE, "other.json", lambda data: data.update(model="another"))
    ran = cross_judge(command, OWN_FILE, other, "--judges", "strict")
    assert (ran.code, requests()) == (2, 0)
    assert "error: The runs differ in model: kettle says answerer; other says another." in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((OWN_FILE, "--judges", "strct"), "--judges: unknown judge 'strct'"),
        ((OWN_FILE, "--judges", "strct"), "Did you mean 'strict'?"),
        ((OWN_FILE, "--judges", "strict,strict"), "--judges: names 'strict' twice."),
        ((OWN_FILE, "--judges", " , "), "--judges: names no judge."),
        ((OWN_FILE,), "Missing option '--judges'"),
        (("--judges", "strict"), "--suite: name either arms.v1 files or a suite"),
        ((OWN_FILE, "--suite", "kettle", "--judges", "strict"), "--suite: name either arms.v1 files or a suite"),
        ((OWN_FILE, "--cell", "model", "--judges", "strict"), "--cell: belongs to --suite"),
        (("--suite", "kettle", "--no-stored", "--judges", "strict"), "--no-stored: belongs to files"),
        (("--suite", "kettel", "--judges", "strict"), "Did you mean 'kettle'?"),
        (("--suite", "kettle", "--cell", "modell", "--judges", "strict"), "Did you mean 'model'?"),
        ((OWN_FILE, OWN_FILE, "--judges", "strict"), "is named twice."),
        (("none.json", "--judges", "strict"), "none.json: cannot be read"),
        ((OWN_FILE, "--judges", "facts"), "judges.facts.kind: the kind 'overlap' grades by expected facts, which no arms.v1 file holds"),
        ((OWN_FILE, "--judges", "strict", "--out-md", "o", "--out-html", "o"), "o: --out-html: names the file that --out-md names."),
        ((OWN_FILE, "--judges", "strict", "--out-json", f"./docs/../{OWN_FILE}"), "--out-json: is one of the files that are read"),
        ((OWN_FILE, "--judges", "strict", "--out-md", "strict.md"), "strict.md: --out-md: is one of the files that are read"),
        (("--suite", "kettle", "--judges", "strict", "--out-md", "questions.json"), "--out-md: is one of the files that are read"),
    ],
)
def test_what_cannot_be_asked_is_said_with_the_nearest_name(
    command: Command, folder: Path, requests: Callable[[], int], arguments: tuple[str, ...], said: str
) -> None:
    ran = cross_judge(command, *arguments)
    assert (ran.code, ran.out, requests()) == (2, "", 0)
    assert said in ran.err


def test_a_cell_is_chosen_by_id_or_key_and_needs_answers(command: Command, folder: Path) -> None:
    assert cross_judge(command, "--suite", "kettle", "--cell", "model", "--judges", "rubric,strict").code == 0
    shutil.rmtree(folder / ".evalplatform" / "store" / "current" / "kettle" / "arm_answers")
    ran = cross_judge(command, "--suite", "kettle", "--judges", "rubric")
    assert ran.code == 2
    assert "materialize arm_answers first" in ran.err


def leave_baseline_alone(data: Json) -> None:
    data["arms"] = ["baseline"]
    for row in data["answers"]:
        row["arms"] = {"baseline": row["arms"]["baseline"]}
    for row in data["evaluations"]:
        row["scores"] = {"baseline": row["scores"]["baseline"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (leave_baseline_alone, "arms: holds the baseline arm 'baseline' alone; there is nothing to compare it with."),
        (lambda data: data.update(baseline_arm="base"), "baseline_arm: unknown baseline arm 'base'"),
        (lambda data: data["answers"][2].update(question_text=" "), "answers.2.question_text: is empty"),
    ],
)
def test_a_file_with_nothing_to_compare_is_refused_before_a_call(
    command: Command, folder: Path, requests: Callable[[], int], change: Callable[[Json], None], said: str
) -> None:
    ran = cross_judge(command, changed(folder / OWN_FILE, "odd.json", change), "--judges", "strict")
    assert (ran.code, requests()) == (2, 0)
    assert said in ran.err


@pytest.mark.parametrize("source", [(OWN_FILE,), ("--suite", "kettle")])
def test_too_little_scored_by_one_judge_is_no_answer(command: Command, folder: Path, source: tuple[str, ...]) -> None:
    ran = cross_judge(command, *source, "--judges", "rubric,mute")
    assert ran.code == 2
    assert "under mute: 0.0% of the questions were scored in both arms of a comparison; 95% are needed. " in ran.err
    assert "malformed_reply 16" in ran.err


@pytest.mark.parametrize("source", [(OWN_FILE,), ("--suite", "kettle")])
def test_a_spend_cap_stops_and_the_next_run_asks_only_what_is_missing(
    command: Command, folder: Path, stub: ModelStub, tmp_path: Path, requests: Callable[[], int], source: tuple[str, ...]
) -> None:
    (folder / "strict.md").write_text(f"Be as strict as {tmp_path}.")
    first = cross_judge(command, *source, "--judges", "rubric,strict", "--max-cost-usd", "0.6")
    assert first.code == 2
    assert "error: the judging is truncated. " in first.err
    assert 0 < requests() < 2 * QUESTIONS
    assert cross_judge(command, *source, "--judges", "rubric,strict").code == 0
    assert requests() == 2 * QUESTIONS


def test_json_holds_labels_calls_and_every_questions_points(command: Command, folder: Path) -> None:
    printed = json.loads(cross_judge(command, OWN_FILE, "--judges", "strict,lax", "--json").out)
    assert printed["schema_version"] == "cross_judge.v1"
    assert set(printed["labels"]["kettle"]) == {"skill:use-kettle"}
    assert (printed["answer_calls"], printed["calls"]["failed"], printed["unchanged"]) == (0, 0, False)
    assert len(printed["runs"][0]["run"]["measures"][0]["points"]["baseline"]) == QUESTIONS
    again = json.loads(cross_judge(command, OWN_FILE, "--judges", "strict,lax", "--json").out)
    assert (again["unchanged"], again["runs"]) == (True, printed["runs"])


def test_an_edited_pass_mark_is_compared_again_without_a_call(command: Command, folder: Path, requests: Callable[[], int]) -> None:
    cross_judge(command, "--suite", "kettle", "--judges", "rubric,strict", "--out-json", "before.json")
    made = requests()
    edited(folder / "evalplatform.yaml", ("pass_points: 50.0", "pass_points: 10.0"))
    cross_judge(command, "--suite", "kettle", "--judges", "rubric,strict", "--out-json", "after.json")
    assert requests() == made
    assert result_of(folder / "after.json").runs[0].run.pass_points == 10.0


def test_every_cell_is_a_run_of_its_own_over_all_its_draws(
    command: Command, tmp_path: Path, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_stub_project(tmp_path / "cells", stub.url, questions=12, draws=2)
    questions = json.loads((folder / "questions.json").read_text())
    for place, question in enumerate(questions["questions"]):
        question["category"] = f"chapter {place // 2}"
    (folder / "questions.json").write_text(json.dumps(questions))
    more_cells(folder, cells=2)
    edited(
        folder / "evalplatform.yaml",
        ("products:", "  other: {kind: rubric, model: other-grader, endpoint: stub}\nproducts:"),
        ("draws: 2", "draws: 2\n    cluster_field: category"),
    )
    monkeypatch.chdir(folder)
    monkeypatch.setenv("STUB_KEY", "key")
    for cell in ("model-0", "model-1"):
        assert command(*RUN, "--cell", cell).code == 0
    assert cross_judge(command, "--suite", "kettle", "--judges", "rubric,other", "--out-json", "o.json", "--out-md", "o.md").code == 0
    first, second = result_of(folder / "o.json").runs
    assert (first.run.name, second.run.name) == ("model-0", "model-1")
    delta = first.arms[0].deltas[0]
    assert (delta.pairs, delta.sign.wins + delta.sign.losses + delta.sign.ties) == (12, 6), "six chapters of two questions"
    effect = summary_of(folder, "model-0").deltas["skill:use-kettle"].effect
    found = (delta.estimate.mean, delta.estimate.ci_lo, delta.estimate.ci_hi)
    assert found == (effect.delta_mean, effect.ci_lo, effect.ci_hi), "the judge's own report has the same delta"
    assert "Questions are clustered by category" in (folder / "o.md").read_text()


def summary_of(folder: Path, cell: str) -> ArmSummary:
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        (stored,) = [artifact for artifact in opened.catalog.list(asset="arm_summary") if artifact.partition.startswith(cell)]
        return ArmSummary.model_validate_json(opened.catalog.read(opened.catalog.current(stored), "summary.json"))
