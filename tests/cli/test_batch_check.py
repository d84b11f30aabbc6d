"""`evalplatform batch check`: a sentence for everything that is wrong, and an exit code that says whether anything is."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evalplatform.kernel.digests import text_digest
from tests.cli.conftest import Command
from tests.support.arm_rows import Points
from tests.support.batch_files import batch_file, changed_file

BASELINE: list[Points] = [50.0 + number % 7 for number in range(40)]
TREATMENT: list[Points] = [56.0 + number % 5 for number in range(40)]
PROFILE_TEXT = "---\nid: concise\n---\nAnswer in one sentence.\n"


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """A batch of one model over two question sets."""
    folder = tmp_path / "batch"
    batch_file(folder / "small_regular.json", baseline=BASELINE, treatment=TREATMENT)
    batch_file(folder / "small_golden.json", baseline=BASELINE[:20], treatment=TREATMENT[:20])
    return folder


def test_a_batch_that_is_what_it_should_be_passes_with_its_pooled_delta(command: Command, batch: Path, tmp_path: Path) -> None:
    (tmp_path / "concise.md").write_text(PROFILE_TEXT)
    ran = command("batch", "check", batch, "--profile", "concise.md", "--expect-files", "2")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["passed", "small_golden.json"], ["passed", "small_regular.json"]]
    assert "pooled over questions; the mean of the files' means is" in lines[2]
    assert "over 60 pairs of 2 files" in lines[2]
    assert lines[3:] == ["2 files: every check passed."]


def test_every_rule_has_the_default_that_help_names(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = command("batch", "check", "--help").out
    for default in ("baseline", "profile:*", "claude-sonnet-5-5", "anthropic", "regular=40,golden=20"):
        assert f"[default: {default}]" in shown


def spoiled(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: changed_file(folder / "small_regular.json", **changes)


def three_arms(folder: Path) -> None:
    data = json.loads((folder / "small_regular.json").read_text())
    changed_file(folder / "small_regular.json", arms=[*data["arms"], "docs"])


def an_arm_short(folder: Path) -> None:
    data = json.loads((folder / "small_regular.json").read_text())
    del data["answers"][0]["arms"]["profile:concise"]
    changed_file(folder / "small_regular.json", answers=data["answers"])


def leaked_prompt(folder: Path) -> None:
    data = json.loads((folder / "small_regular.json").read_text())
    data["answers"][3]["arms"]["baseline"]["used_system_prompt"] = True
    data["answers"][4]["arms"]["profile:concise"]["used_system_prompt"] = False
    changed_file(folder / "small_regular.json", answers=data["answers"])


def failed_and_blank(folder: Path) -> None:
    data = json.loads((folder / "small_regular.json").read_text())
    treatment = [row["arms"]["profile:concise"] for row in data["answers"]]
    treatment[0] |= {"answer": None, "error": "generation_failed: timeout"}
    treatment[1] |= {"answer": " \n"}
    data["answers"][2]["arms"]["baseline"] |= {"answer": ""}
    changed_file(folder / "small_regular.json", answers=data["answers"])


def unscored(folder: Path) -> None:
    batch_file(folder / "small_regular.json", baseline=BASELINE, treatment=[None, None, None, *TREATMENT[3:]])


@pytest.mark.parametrize(
    ("spoil", "check", "sentence"),
    [
        (
            spoiled(truncated="budget_exhausted"),
            "complete",
            "The run is truncated (budget_exhausted): it stopped before every question was asked.",
        ),
        (
            three_arms,
            "arms",
            "A file of a batch has exactly two arms; this one has 3: baseline, profile:concise and docs.",
        ),
        (
            spoiled(baseline_arm="profile:concise"),
            "baseline_arm",
            "Deltas are measured from profile:concise, not from baseline: from another zero.",
        ),
        (
            spoiled(judge_model="global.anthropic.claude-sonnet-4-6", judge_provider="amazon-bedrock"),
            "judge",
            "The judge is amazon-bedrock/global.anthropic.claude-sonnet-4-6, and the batch's judge is anthropic/claude-sonnet-5-5.",
        ),
        (
            spoiled(evaluations=None, judge_model=None, judge_provider=None, judge_context=None),
            "judge",
            "The run was not judged: it has answers and no points.",
        ),
        (
            spoiled(model="global.anthropic.claude-sonnet-5-5-v1:0", provider="amazon-bedrock"),
            "self_judging",
            (
                "Self-judging: amazon-bedrock/global.anthropic.claude-sonnet-5-5-v1:0 answered and anthropic/claude-sonnet-5-5 judged, "
                "which is one model by its name; models favour what they would write."
            ),
        ),
        (
            spoiled(judge_context="treatment_material.v1+snippet_fallback"),
            "judge_context",
            (
                "Some scores saw the stored material and some only snippets (treatment_material.v1+snippet_fallback); "
                "such a run pools with nothing."
            ),
        ),
        (
            an_arm_short,
            "answers",
            "The file states 40 questions, and profile:concise has 39 answer rows.",
        ),
        (
            failed_and_blank,
            "points",
            (
                "Of 40 judged questions, baseline has points for 1 and profile:concise has points for 2 whose answer failed, is blank "
                "or is missing: these are no points, and are not counted."
            ),
        ),
        (
            failed_and_blank,
            "coverage",
            "Coverage: 37 of 40 questions were scored in both arms (92.5%), below 95%; unscored: no_answer 3.",
        ),
        (
            leaked_prompt,
            "system_prompt",
            (
                "A system prompt did not reach 1 of 40 answers of profile:concise and reached 1 of 40 answers of baseline: "
                "the delta is not the profile's."
            ),
        ),
        (
            unscored,
            "coverage",
            "Coverage: 37 of 40 questions were scored in both arms (92.5%), below 95%; unscored: malformed_reply 3.",
        ),
        (
            lambda folder: (folder / "small_regular.json").write_text('{"arms": ['),
            "schema",
            "The file cannot be read as arms.v1: line 1: is not JSON: EOF while parsing a list.",
        ),
        (
            spoiled(schema_version="arms.v9"),
            "schema",
            "The file cannot be read as arms.v1: schema_version: must be 'arms.v1', not 'arms.v9'.",
        ),
        (
            spoiled(arms=None),
            "schema",
            "The file cannot be read as arms.v1: arms: is needed.",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_is_wrong_with_a_file_is_said_and_the_answer_is_no(
    command: Command, batch: Path, spoil: Callable[[Path], Any], check: str, sentence: str
) -> None:
    spoil(batch)
    ran = command("batch", "check", batch)
    assert ran.code == 1
    assert f"  {check}: {sentence}" in ran.out.splitlines()
    assert "FAILED small_regular.json" in ran.out
    assert "passed small_golden.json" in ran.out
    assert ran.out.splitlines()[-1].startswith("2 files: ")


def test_a_result_that_its_writer_rejected_is_a_finding_and_an_unfinished_write_is_named(command: Command, batch: Path) -> None:
    (batch / "large_regular.json.rejected").write_text("{}")
    (batch / ".large.json.4711.partial").write_text("{")
    ran = command("batch", "check", batch, "--expect-files", "3")
    assert ran.code == 1
    assert "  schema: The writer of this result rejected it as invalid; it was paid for, and the batch lacks" in ran.out
    assert "FAILED batch, files: The batch has 2 files, and --expect-files says 3." in ran.out
    assert "skipped .large.json.4711.partial: a write that did not finish" in ran.out


def test_files_of_another_schema_are_named_and_not_counted(command: Command, batch: Path) -> None:
    (batch / "matrix-rollup.json").write_text('{"schema_version": "matrix_rollup.v1"}')
    (batch / "list.json").write_text("[]")
    (batch / "settings.json").write_text("{}")
    (batch / "notes.md").write_text("notes")
    (batch / ".hidden").write_text("")
    (batch / "older").mkdir()
    for variant in ("small_golden.json.gz", "._small_golden.json", ".small_golden.json.17.partial"):
        (batch / variant).write_text("of a file that is there")
    ran = command("batch", "check", batch, "--expect-files", "2")
    assert ran.code == 0
    assert "skipped matrix-rollup.json: it states the schema matrix_rollup.v1" in ran.out
    assert "skipped list.json: it is no object, so of another schema" in ran.out
    assert "skipped settings.json: it states no schema, and has neither arms nor answers" in ran.out
    assert "skipped notes.md: its name does not end in .json" in ran.out
    assert "skipped .hidden: a hidden file" in ran.out
    assert "skipped older: a folder" in ran.out
    assert "skipped small_golden.json.gz: its name does not end in .json" in ran.out
    assert "skipped ._small_golden.json: a hidden file" in ran.out
    assert "skipped .small_golden.json.17.partial: a write that did not finish" in ran.out


def renamed(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "small_golden.json").rename(folder / name)


def replaced_by_a_folder(folder: Path) -> None:
    (folder / "small_golden.json").unlink()
    (folder / "small_golden.json").mkdir()


@pytest.mark.parametrize(
    ("spoil", "name", "what"),
    [
        (renamed("small_golden.JSON"), "small_golden.JSON", "its name does not end in .json"),
        (renamed("small_golden.d0.json.gz"), "small_golden.d0.json.gz", "its name does not end in .json"),
        (renamed(".small_golden.json"), ".small_golden.json", "a hidden file"),
        (renamed("small_golden.json.tmp"), "small_golden.json.tmp", "a write that did not finish"),
        (replaced_by_a_folder, "small_golden.json", "a folder"),
        (
            lambda folder: (folder / "small_golden.json").write_text("{}"),
            "small_golden.json",
            "it states no schema, and has neither arms nor answers",
        ),
        (lambda folder: (folder / "small_golden.json").write_text("[]"), "small_golden.json", "it is no object, so of another schema"),
        (
            lambda folder: (folder / "small_golden.json").write_text('{"schema_version": "plugin_delta.v1"}'),
            "small_golden.json",
            "it states the schema plugin_delta.v1",
        ),
    ],
    ids=["capitals", "packed", "hidden", "unfinished", "folder", "object", "list", "schema"],
)
def test_what_has_the_name_of_a_run_and_is_none_is_a_finding(
    command: Command, batch: Path, spoil: Callable[[Path], object], name: str, what: str
) -> None:
    spoil(batch)
    ran = command("batch", "check", batch, "--expect-files", "2")
    assert ran.code == 1
    assert f"FAILED {name}" in ran.out.splitlines()
    assert f"  schema: The name ends in golden, as a file of the batch does by --expect-n, and it is no arms.v1 file: {what}." in ran.out
    assert "FAILED batch, files: The batch has 1 file, and --expect-files says 2." in ran.out


@pytest.mark.parametrize("name", ["small_golden.json", "latest"])
def test_a_link_that_leads_nowhere_is_a_finding(command: Command, batch: Path, name: str) -> None:
    (batch / "small_golden.json").unlink()
    (batch / name).symlink_to(batch / name)
    ran = command("batch", "check", batch)
    assert ran.code == 1
    assert "  schema: It is a link that leads nowhere, so what should be there is not." in ran.out.splitlines()


def test_a_link_to_a_run_is_read_as_the_run(command: Command, batch: Path, tmp_path: Path) -> None:
    (batch / "small_golden.json").rename(tmp_path / "elsewhere")
    (batch / "small_golden.json").symlink_to(tmp_path / "elsewhere")
    assert command("batch", "check", batch).code == 0


def test_an_edited_profile_makes_the_artifact_stale(command: Command, batch: Path, tmp_path: Path) -> None:
    (tmp_path / "concise.md").write_text(PROFILE_TEXT.replace("one sentence", "two sentences"))
    ran = command("batch", "check", batch, "--profile", "concise.md")
    assert ran.code == 1
    was, now = text_digest("Answer in one sentence."), text_digest("Answer in two sentences.")
    said = f"  profile: STALE ARTIFACT: profile:concise was sent the prompt {was}, and concise.md now gives {now}. Run it again."
    assert ran.out.splitlines().count(said) == 2


def test_another_front_matter_or_line_at_the_end_leaves_a_profile_as_it_is(command: Command, batch: Path, tmp_path: Path) -> None:
    (tmp_path / "concise.md").write_text(PROFILE_TEXT.replace("id: concise", "id: concise\nname: Terse") + "\n\n")
    assert command("batch", "check", batch, "--profile", "concise.md").code == 0


def test_a_file_from_before_prompts_were_stamped_cannot_be_shown_to_be_current(command: Command, batch: Path, tmp_path: Path) -> None:
    (tmp_path / "concise.md").write_text(PROFILE_TEXT)
    batch_file(batch / "small_regular.json", baseline=BASELINE, treatment=TREATMENT, prompt=None)
    ran = command("batch", "check", batch, "--profile", "concise.md")
    assert ran.code == 1
    assert "  profile: The answers of profile:concise do not say which prompt they were sent" in ran.out


def test_other_arms_are_asked_for_by_a_pattern(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    for name in ("a", "b"):
        batch_file(folder / f"{name}_regular.json", arm=f"skill:{name}", baseline=BASELINE, treatment=TREATMENT, prompt=None)
    ran = command("batch", "check", folder)
    assert ran.code == 1
    assert "  treatment_arm: The treatment arm is skill:a, which does not fit profile:*." in ran.out
    assert command("batch", "check", folder, "--treatment-arm", "skill:*").code == 0


@pytest.mark.parametrize(
    ("expect_n", "sentence"),
    [
        (
            "golden=20,regular=81",
            "--expect-n says regular=81, and the file states 40 questions: the map is mis-specified for this file; that is no short run.",
        ),
        (
            "golden=20,qt=5",
            (
                "The file's name ends in none of the suffixes of --expect-n (golden and qt), and gated by its own count of 40 "
                "it would hold by construction; give it a suffix and a count."
            ),
        ),
    ],
)
def test_a_size_that_nothing_says_or_that_is_said_wrongly_is_reported(command: Command, batch: Path, expect_n: str, sentence: str) -> None:
    ran = command("batch", "check", batch, "--expect-n", expect_n)
    assert ran.code == 1
    assert [line for line in ran.out.splitlines() if line.startswith("  ")] == [f"  question_count: {sentence}"]


def test_files_that_cannot_be_pooled_say_which_and_why(command: Command, batch: Path) -> None:
    changed_file(batch / "small_golden.json", judge_context=None)
    ran = command("batch", "check", batch)
    assert ran.code == 1
    (line,) = (line for line in ran.out.splitlines() if line.startswith("FAILED batch"))
    assert line.startswith("FAILED batch, pooling: The files are not pooled. ")
    assert "judge material (judge_context)" in line
    assert "small_golden.json" in line
    assert "small_regular.json" in line
    assert "pooled over questions" not in ran.out


def test_a_file_and_its_copy_are_told_and_not_pooled(command: Command, batch: Path) -> None:
    (batch / "copy_regular.json").write_bytes((batch / "small_regular.json").read_bytes())
    ran = command("batch", "check", batch)
    assert ran.code == 1
    assert "FAILED batch, pooling: The files are not pooled. copy_regular.json and small_regular.json hold one run" in ran.out


def test_a_delta_that_a_file_states_otherwise_is_shown_beside_the_paired_one(command: Command, batch: Path) -> None:
    batch_file(batch / "small_regular.json", baseline=[99.0, *BASELINE[1:]], treatment=[None, *TREATMENT[1:]])
    ran = command("batch", "check", batch)
    assert ran.code == 0
    (line,) = (line for line in ran.out.splitlines() if "small_regular.json" in line)
    stated = json.loads((batch / "small_regular.json").read_text())["summary"]["per_arm"]["profile:concise"]["delta_vs_baseline"]
    assert line.endswith(f"over 39 of 40 questions; the file states +{stated}")


def test_json_holds_every_check_and_unrounded_numbers(command: Command, batch: Path) -> None:
    changed_file(batch / "small_golden.json", truncated="deferred")
    ran = command("batch", "check", batch, "--json")
    result = json.loads(ran.out)
    assert ran.code == 1
    assert (result["passed"], result["findings"]) == (False, 1)
    golden, regular = result["files"]
    assert (golden["file"], golden["passed"], regular["passed"]) == ("small_golden.json", False, True)
    failed = [check for check in golden["checks"] if check["passed"] is False]
    assert [(check["check"], check["finding"]["reason"]) for check in failed] == [("complete", "deferred")]
    assert failed[0]["sentence"].startswith("The run is truncated (deferred)")
    expected = sum(b - a for a, b in zip(BASELINE, TREATMENT, strict=True) if a is not None and b is not None) / 40
    assert regular["delta"]["mean_points"] == pytest.approx(expected, abs=1e-12)
    assert result["pooled"]["pairs"] == 60
    assert result["rules"]["expected_questions"] == {"regular": 40, "golden": 20}


def test_reports_and_junit_name_every_finding(command: Command, batch: Path, tmp_path: Path) -> None:
    leaked_prompt(batch)
    ran = command("batch", "check", batch, "--out-md", "out/check.md", "--out-html", "out/check.html", "--junit", "out/check.xml")
    assert ran.code == 1
    sentence = "A system prompt did not reach 1 of 40 answers of profile:concise"
    assert sentence in (tmp_path / "out/check.md").read_text()
    assert sentence in (tmp_path / "out/check.html").read_text()
    (suite,) = ElementTree.fromstring((tmp_path / "out/check.xml").read_bytes())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("30", "1", "0")
    (failed,) = (case for case in suite if case.find("failure") is not None)
    assert (failed.get("classname"), (failed.get("name") or "").split(":")[0]) == ("small_regular.json", "system_prompt")
    assert (failed.findtext("failure") or "").startswith(sentence)
    not_made = [case.get("name") for case in suite if case.find("skipped") is not None]
    assert len(not_made) == 3, "two profiles, and the number of files, were not asked for"


def test_terminal_controls_in_a_models_name_reach_neither_terminal_nor_junit(command: Command, batch: Path, tmp_path: Path) -> None:
    changed_file(batch / "small_golden.json", judge_model="\x1b[31mred\x00\ufffe]]>")
    ran = command("batch", "check", batch, "--junit", "check.xml")
    assert ran.code == 1
    assert "\x1b" not in ran.out
    assert "⟨U+001B⟩[31mred⟨U+0000⟩⟨U+FFFE⟩]]>" in ran.out
    (suite,) = ElementTree.fromstring((tmp_path / "check.xml").read_bytes())
    assert int(suite.get("failures", "0")) == 2, "the judge, and that the files differ in it"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere: is no folder."),
        (("empty",), "empty: holds no arms.v1 file."),
        (("other",), "other: holds no arms.v1 file (rollup.json: it states the schema matrix_rollup.v1)."),
        (
            ("batch", "--expect-n", "regular"),
            "--expect-n: takes SUFFIX=COUNT with a count from 1, such as regular=40,golden=20; not 'regular'.",
        ),
        (("batch", "--expect-n", "regular=0"), "not 'regular=0'."),
        (("batch", "--expect-n", "=40"), "not '=40'."),
        (("batch", "--expect-n", "a=1,a=2"), "--expect-n: has the suffix 'a' twice."),
        (("batch", "--expect-n", ","), "--expect-n: needs at least one SUFFIX=COUNT"),
        (("batch", "--expect-files", "0"), "--expect-files: takes a count from 1; not 0."),
        (("batch", "--treatment-arm="), "--treatment-arm: is empty, and no file fits that"),
        (("batch", "--baseline-arm", " "), "--baseline-arm: is empty"),
        (("batch", "--judge-model="), "--judge-model: is empty"),
        (("batch", "--judge-provider="), "--judge-provider: is empty"),
        (("batch", "--profile", "questions.json"), "questions.json: holds JSON; a profile is the text of a system prompt."),
        (("batch", "--profile", "questions.jsonl"), "questions.jsonl: holds JSON; a profile is the text of a system prompt."),
        (("batch", "--out-md", "questions.json/x.md"), "questions.json/x.md: cannot be written"),
        (("batch", "--out-html", "batch/small_golden.json"), "--out-html: is one of the files that are read"),
        (("batch", "--profile", "none.md"), "none.md: does not exist."),
        (("batch", "--out-md", "a", "--junit", "a"), "--junit: names the file that --out-md names."),
    ],
)
def test_what_cannot_be_answered_ends_with_2(command: Command, batch: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    for name in ("empty", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / "rollup.json").write_text('{"schema_version": "matrix_rollup.v1"}')
    (tmp_path / "questions.json").write_text('{"questions": []}')
    (tmp_path / "questions.jsonl").write_text('{"id": "a"}\n\n{"id": "b"}\n')
    assert command("batch", "check", "batch", "--junit", "check.xml").code == 0
    ran = command("batch", "check", "--junit", "check.xml", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    junit = next((place for option, place in pairwise(arguments) if option == "--junit"), "check.xml")
    (suite,) = ElementTree.fromstring((tmp_path / junit).read_bytes())
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1"), "no earlier success stays behind"
    assert said in (suite.findtext("testcase/error") or "")


@pytest.mark.parametrize("option", ["--out-md", "--out-html", "--junit"])
def test_no_report_takes_the_place_of_a_run_or_of_the_profile(command: Command, batch: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "profile.md").write_text("Answer in one sentence.\n")
    (batch / "lost.json.rejected").write_text("{}")
    runs = {path: path.read_bytes() for path in batch.iterdir()}
    for place in (*runs, tmp_path / "profile.md"):
        ran = command("batch", "check", batch, "--profile", "profile.md", option, place)
        assert (ran.code, ran.out) == (2, "")
        assert f"{place}: {option}: is one of the files that are read" in ran.err
    assert {path: path.read_bytes() for path in batch.iterdir()} == runs


def test_a_report_inside_the_folder_is_replaced_by_the_next(command: Command, batch: Path) -> None:
    reports = []
    for _ in range(2):
        assert command("batch", "check", batch, "--out-md", batch / "check.md", "--junit", batch / "check.xml").code == 0
        reports.append((batch / "check.md").read_bytes())
    assert reports[0] == reports[1], "its own reports are not among what it skipped"


def test_a_junit_file_of_an_earlier_success_does_not_outlive_the_batch(command: Command, batch: Path, tmp_path: Path) -> None:
    assert command("batch", "check", batch, "--junit", "check.xml").code == 0
    for path in batch.iterdir():
        path.unlink()
    assert command("batch", "check", batch, "--junit", "check.xml").code == 2
    (suite,) = ElementTree.fromstring((tmp_path / "check.xml").read_bytes())
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert "holds no arms.v1 file" in (suite.findtext("testcase/error") or "")


def test_an_unchanged_result_is_written_to_junit_again(command: Command, batch: Path, tmp_path: Path) -> None:
    junit = tmp_path / "check.xml"
    command("batch", "check", batch, "--junit", junit)
    before = junit.read_bytes()
    os.utime(junit, (0, 0))
    command("batch", "check", batch, "--junit", junit)
    assert junit.read_bytes() == before
    assert junit.stat().st_mtime > 0


def test_a_check_that_is_interrupted_leaves_an_error(
    command: Command, batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("batch", "check", batch, "--junit", "check.xml").code == 0

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evalplatform.stages.batch_check.read_batch_folder", interrupted)
    with suppress(KeyboardInterrupt):
        command("batch", "check", batch, "--junit", "check.xml")
    (suite,) = ElementTree.fromstring((tmp_path / "check.xml").read_bytes())
    assert suite.findtext("testcase/error") == "The check was started and has not ended."


def test_the_id_of_an_endpoint_given_as_the_judges_provider_is_pointed_out(command: Command, batch: Path) -> None:
    ran = command("batch", "check", batch, "--judge-provider", "stub")
    assert ran.code == 1
    assert "--judge-provider takes a provider as files state it, such as anthropic; the id of an endpoint is none." in ran.out


def test_a_run_is_current_until_its_profile_is_edited(command: Command, project: Path) -> None:
    profile = project / "concise.md"
    profile.write_text(PROFILE_TEXT)
    run = ("arms", "run", "--suite", "kettle", "--arms", "baseline,profile:concise.md", "--judge")
    assert command(*run, "--out-json", "batch/reader_golden.json").code == 0
    check = ("batch", "check", "batch", "--profile", "concise.md", "--expect-n", "golden=8")
    judge = ("--judge-provider", "offline", "--judge-model", "overlap")
    assert command(*check, *judge).code == 0
    profile.write_text(PROFILE_TEXT.replace("one", "two"))
    ran = command(*check, *judge)
    assert ran.code == 1
    (line,) = (line for line in ran.out.splitlines() if line.startswith("  "))
    assert line.startswith("  profile: STALE ARTIFACT: profile:concise was sent the prompt sha256:")
    assert command(*run, "--out-json", "batch/reader_golden.json").code == 0
    assert command(*check, *judge).code == 0, "running it again makes it current"
