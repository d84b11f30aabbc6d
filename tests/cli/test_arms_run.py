"""`arms run`: what every flag does, what is written where, and what is said."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.model_stub import running_stub
from tests.support.starter import edited

FLAGS = ("--product", "kettle", "--questions", "questions.json", "--model", "extractive", "--provider", "offline")
HERE = "  here: {provider: offline}"
QUICK = "retry: {attempts: 1}"


def arms_v1(path: Path) -> dict:  # type: ignore[type-arg]
    return json.loads(path.read_text(encoding="utf-8"))


def with_stub(project: Path, url: str, *replacements: tuple[str, str], prices: str = "") -> None:
    """Add the endpoint `there`, at a model server."""
    there = f'  there: {{provider: openai-compatible, base_url: "{url}", {QUICK}{prices}}}'
    edited(project / "evalplatform.yaml", (HERE, f"{HERE}\n{there}"), *replacements)


def test_a_suite_is_run_as_the_file_says_and_a_second_run_asks_nothing(command: Command, project: Path) -> None:
    first = command("arms", "run", "--suite", "kettle", "--judge")
    assert first.code == 0
    *of_arms, of_interaction = first.out.splitlines()[2:]
    assert [line.split()[0] for line in of_arms] == arms_v1(project / "results/arms/kettle.json")["arms"]
    assert of_interaction.startswith("interaction docs+skill:use-kettle: ")
    assert "wrote results/arms/kettle.json" in first.err
    assert "36 model calls, $0.0000 paid, 0 replayed from the ledger, 4 shared with an identical call" in first.err
    files = {path: path.stat().st_mtime_ns for path in (project / "results/arms").iterdir()}
    second = command("arms", "run", "--suite", "kettle", "--judge")
    assert (second.code, second.out) == (0, first.out)
    assert "nothing changed since the last run: 0 model calls" in second.err
    assert {path: path.stat().st_mtime_ns for path in (project / "results/arms").iterdir()} == files


def test_it_runs_without_any_project_file(command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("questions.json", "docs", "skills"):
        (shutil.copytree if (project / name).is_dir() else shutil.copyfile)(project / name, bare / name)
    monkeypatch.chdir(bare)
    ran = command(
        "arms", "run", *FLAGS, "--arms", "baseline,docs:local:docs,skill:skills/use-kettle", "--judge", "--judge-model", "overlap"
    )
    assert ran.code == 0
    written = arms_v1(bare / "results/arms/kettle.json")
    assert written["arms"] == ["baseline", "docs", "skill:use-kettle"]
    assert (written["library_name"], written["model"], written["provider"]) == ("kettle", "extractive", "offline")
    assert (written["judge_model"], written["judge_provider"]) == ("overlap", "offline")
    assert (bare / "results/arms/kettle.md").read_text().startswith("# ")


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        ((), "--product"),
        (("--product", "p"), "--questions"),
        (("--product", "p", "--questions", "q.json"), "--arms"),
        (("--product", "p", "--questions", "q.json", "--arms", "baseline"), "--model"),
        (("--product", "p", "--questions", "q.json", "--arms", "baseline", "--model", "m"), "--provider"),
        (
            ("--product", "p", "--questions", "q.json", "--arms", "baseline", "--model", "m", "--provider", "offline", "--judge"),
            "--judge-model",
        ),
    ],
)
def test_a_missing_flag_is_named(command: Command, flags: tuple[str, ...], missing: str) -> None:
    ran = command("arms", "run", *flags)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {missing}: is needed")


def test_json_is_all_that_stands_on_standard_output(command: Command, project: Path) -> None:
    ran = command("arms", "run", "--suite", "kettle", "--judge", "--json")
    result = json.loads(ran.out)
    assert result["calls"]["paid"] == 36
    assert result["coverage_rate"] == 1
    assert result["files"] == ["results/arms/kettle.json", "results/arms/kettle.md"]
    assert (result["suite"], result["unchanged"], result["truncated"]) == ("kettle", False, None)
    assert result["cell"].startswith("reader-")
    assert result["judge"].startswith("facts-")
    assert [row["arm"] for row in result["result"]] == arms_v1(project / "results/arms/kettle.json")["arms"]


@pytest.mark.parametrize(
    ("flags", "key", "value"),
    [
        (("--max-tokens", "9"), "max_tokens", 9),
        (("--temperature", "0.5"), "temperature", 0.5),
        (("--seed", "7"), "seed", 7),
    ],
)
def test_sampling_flags_override_the_cells(command: Command, project: Path, flags: tuple[str, ...], key: str, value: float) -> None:
    assert command("arms", "run", "--suite", "kettle", *flags).code == 0
    run_config = arms_v1(project / "results/arms/kettle.json")["run_config"]
    assert run_config[key] == value
    assert run_config["max_tokens"] == (value if key == "max_tokens" else 120)


def test_flags_are_sent_as_they_are_told(command: Command, project: Path) -> None:
    with running_stub() as stub:
        with_stub(project, stub.url)
        flags = ("--provider", "there", "--model", "m", "--temperature", "0.25", "--max-tokens", "33", "--seed", "5", "--draws", "2")
        ran = command("arms", "run", "--suite", "kettle", *flags, "--arms", "baseline", "--harness", "single-shot", "--concurrency", "1")
        assert ran.code == 0, ran.err
        assert stub.most_in_flight == 1
        assert sorted(body["seed"] for body in stub.bodies()) == [5] * 8 + [6] * 8
        assert {(body["model"], body["temperature"], body["max_tokens"]) for body in stub.bodies()} == {("m", 0.25, 33)}
    assert arms_v1(project / "results/arms/kettle.d1.json")["harness"] == "single-shot"


def test_three_draws_give_three_files_and_one_report(command: Command, project: Path) -> None:
    assert command("arms", "run", "--suite", "kettle", "--draws", "3", "--out-json", "out/run.v2.json", "--out-md", "out/run.md").code == 0
    assert sorted(path.name for path in (project / "out").iterdir()) == ["run.md", "run.v2.d0.json", "run.v2.d1.json", "run.v2.d2.json"]


def test_top_k_and_rerank_threshold_reach_the_retrieval(command: Command, project: Path) -> None:
    def chunks(*flags: str) -> list[int]:
        assert command("arms", "run", "--suite", "kettle", *flags).code == 0
        answers = arms_v1(project / "results/arms/kettle.json")["answers"]
        return [len(answer["arms"]["docs"]["context_chunks"]) for answer in answers]

    assert max(chunks()) == 2
    assert max(chunks("--top-k", "1")) == 1
    assert sum(chunks("--rerank-threshold", "1")) == 0


def test_context7_id_is_used_for_docs_arms(command: Command, project: Path) -> None:
    ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline,docs", "--json")
    assert ran.code == 2
    assert "--context7-id" in ran.err or "library id" in ran.err


def test_arms_may_be_listed_repeated_named_and_hold_commas_and_blanks(command: Command, project: Path) -> None:
    (project / "my docs, new").mkdir()
    shutil.copy(project / "docs" / "boiling.md", project / "my docs, new")
    ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline , docs:local:docs,", "--arm", "new=docs:local:my docs, new")
    assert ran.code == 0, ran.err
    assert arms_v1(project / "results/arms/kettle.json")["arms"] == ["baseline", "docs", "new"]


def test_the_baseline_arm_is_a_name_and_deltas_are_taken_from_it(command: Command, project: Path) -> None:
    assert command("arms", "run", "--suite", "kettle", "--judge", "--baseline-arm", "docs").code == 0
    written = arms_v1(project / "results/arms/kettle.json")
    assert written["baseline_arm"] == "docs"
    assert written["summary"]["per_arm"]["docs"]["delta_vs_baseline"] is None
    assert written["summary"]["per_arm"]["baseline"]["delta_vs_baseline"] is not None


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--baseline-arm", "docz"), "--baseline-arm: unknown arm 'docz'"),
        (("--arms", "docs:local:docs"), "--baseline-arm: unknown arm 'baseline'"),
        (("--arms", ""), "--arms: names no arm"),
        (("--arms", " , "), "--arms: names no arm"),
        (("--arms", "baseline,baseline"), "would both be called 'baseline'"),
        (("--arms", "baseline,docs:local:docs,docs:local:skills"), "would both be called 'docs'"),
        (("--arms", "baseline,skil:x"), "Did you mean 'skill'?"),
        (("--arm", "Bad Name=baseline"), "'Bad Name' cannot name an arm"),
        (("--arms", "baseline,docs:local:nowhere"), "nowhere"),
        (("--arms", "baseline,skill:docs"), "SKILL.md"),
        (("--arms", "baseline,profile:nowhere.md"), "nowhere.md"),
        (("--suite", "ketle"), "unknown suite 'ketle' (known: kettle). Did you mean 'kettle'?"),
        (("--cell", "raeder"), "unknown cell 'raeder' (known: reader). Did you mean 'reader'?"),
        (("--cell", "raeder", "--model", "x"), "unknown cell 'raeder'"),
        (("--provider", "ofline"), "--provider: unknown endpoint or provider 'ofline'"),
        (("--provider", "hrre"), "Did you mean 'here'?"),
        (("--judge", "--judge-model", "m", "--judge-provider", "opnai"), "--judge-provider: unknown endpoint or provider 'opnai'"),
        (("--judge", "--judge-model", "m", "--judge-provider", "openai"), "the environment variable OPENAI_API_KEY is not set"),
        (("--judge-model", "m"), "--judge-model: changes nothing without --judge"),
        (("--judge-provider", "here"), "--judge-provider: changes nothing without --judge"),
        (("--judge-temperature", "0"), "--judge-temperature: changes nothing without --judge"),
        (("--grounded-from-topics",), "--grounded-from-topics: changes nothing without --judge"),
        (("--judge", "--judge-temperature", "0"), "the judge kind 'overlap' makes no call"),
        (("--questions", "nowhere.json"), "nowhere.json: cannot be read"),
        (("--questions", "docs"), "a question set ends in one of"),
        (("--questions", ""), "a question set ends in one of"),
        (("--draws", "0"), "'--draws'"),
        (("--draws", "101"), "'--draws'"),
        (("--draws", "two"), "'--draws'"),
        (("--top-k", "0"), "'--top-k'"),
        (("--concurrency", "0"), "'--concurrency'"),
        (("--concurrency", "-1"), "'--concurrency'"),
        (("--max-tokens", "0"), "'--max-tokens'"),
        (("--max-tokens", "9" * 30), "--max-tokens: must be less than or equal to"),
        (("--seed", "9" * 30), "--seed: must be less than or equal to"),
        (("--seed", "1.5"), "'--seed'"),
        (("--temperature", "nan"), "'--temperature'"),
        (("--temperature", "inf"), "--temperature: must be a finite number"),
        (("--temperature", "-1"), "'--temperature'"),
        (("--rerank-threshold", "1.1"), "'--rerank-threshold'"),
        (("--rerank-threshold", "nan"), "'--rerank-threshold'"),
        (("--max-cost-usd", "nan"), "'--max-cost-usd'"),
        (("--max-cost-usd", "-1"), "'--max-cost-usd'"),
        (("--product", "\udcff"), "--product"),
        (("--project", "nowhere"), "cannot be read"),
        (("--out-json", "docs"), "docs: --out-json: cannot be written: it is a folder."),
        (("--out-md", "docs"), "docs: --out-md: cannot be written: it is a folder."),
        (("--out-md", "questions.json/x.md"), "questions.json/x.md: --out-md: cannot be written"),
        (("--out-json", "/proc/nowhere/x.json"), "--out-json: cannot be written"),
        (("--out-json", f"{'x' * 300}.json"), "--out-json: cannot be written: file name too long."),
        (("--out-json", "a\0b.json"), "'--out-json'"),
        (("--out-json", "same", "--out-md", "same"), "same: --out-md: names the file that --out-json names."),
        (("--out-json", "questions.json"), "questions.json: --out-json: is one of the files that are read"),
        (("--out-md", "evalplatform.yaml"), "evalplatform.yaml: --out-md: is one of the files that are read"),
        (("--out-md", "results/../skills/use-kettle/SKILL.md"), "SKILL.md: --out-md: is one of the files that are read"),
        (("--out-md", "docs/boiling.md"), "docs/boiling.md: --out-md: is one of the files that are read"),
        (("--arms", "baseline,profile:profiles/plain-speaker.md", "--out-md", "profiles/plain-speaker.md"), "files that are read"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_call(command: Command, project: Path, flags: tuple[str, ...], said: str) -> None:
    with running_stub() as stub:
        with_stub(project, stub.url, ("endpoint: here, sampling", "endpoint: there, sampling"))
        ran = command("arms", "run", "--suite", "kettle", *flags)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err
        assert stub.requests == 0
    assert not (project / "results" / "arms" / "kettle.json").exists()


def test_a_rerun_replaces_its_own_report_also_inside_the_folder_of_documents(command: Command, project: Path) -> None:
    run = ("arms", "run", "--suite", "kettle", "--arms", "baseline,docs:local:.")
    assert command(*run).code == 0
    assert command(*run, "--max-tokens", "50").code == 0
    assert command(*run, "--out-md", "docs/new.md").code == 0, "a new file takes nobody's place"


def test_a_product_with_separators_stays_inside_the_results_folder(command: Command, project: Path) -> None:
    for product, name in (("../../x", "x"), ("a/b", "a-b"), ("C++ für alle", "C++ für alle"), ("..", "product"), ("日本", "日本")):
        assert command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--product", product).code == 0
        assert arms_v1(project / "results" / "arms" / f"{name}.json")["library_name"] == product


def test_two_products_whose_names_look_alike_have_reports_of_their_own(command: Command, project: Path) -> None:
    for product in ("a b", "a-b"):
        flags = (
            "--product",
            product,
            "--arms",
            "baseline",
            "--questions",
            "questions.json",
            "--model",
            "extractive",
            "--provider",
            "offline",
        )
        assert command("arms", "run", *flags).code == 0
        assert arms_v1(project / f"results/arms/{product}.json")["library_name"] == product


def test_the_judge_is_the_suites_unless_flags_change_it(command: Command, project: Path) -> None:
    with running_stub() as stub:
        rubric = ("facts: {kind: overlap, model: overlap, endpoint: here}", "facts: {kind: rubric, model: grader, endpoint: there}")
        with_stub(project, stub.url, rubric)

        def judged(*flags: str) -> dict:  # type: ignore[type-arg]
            assert command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge", *flags).code == 0
            return arms_v1(project / "results/arms/kettle.json")

        assert judged()["judge_model"] == "grader"
        hot = judged("--judge-temperature", "0.5")
        assert (hot["judge_model"], hot["judge_provider"], hot["judge_temperature"]) == ("grader", "openai-compatible", 0.5)
        assert judged("--judge-model", "other")["judge_model"] == "other"
        assert judged("--grounded-from-topics")["grounded_from_topics"] is True
        offline = judged("--judge-provider", "offline", "--judge-model", "overlap")
        assert (offline["judge_model"], offline["judge_provider"]) == ("overlap", "offline")


def test_a_panel_judges_by_the_roles_that_a_flag_names(command: Command, project: Path) -> None:
    with running_stub() as stub:
        rubric = ("facts: {kind: overlap, model: overlap, endpoint: here}", "facts: {kind: rubric, model: grader, endpoint: there}")
        with_stub(project, stub.url, rubric)
        run = ("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge", "--judge-panel")
        assert command(*run, "technical_expert, doc_reviewer").code == 0
        written = arms_v1(project / "results/arms/kettle.json")
        assert written["judge_model"] == "panel[technical_expert+doc_reviewer]:grader"
        assert [vote["role"] for vote in written["evaluations"][0]["scores"]["baseline"]["panel"]["votes"]] == [
            "technical_expert",
            "doc_reviewer",
        ]
        assert "## Judge panel" in (project / "results/arms/kettle.md").read_text()
        assert stub.requests == 2 * 8
        misspelt = command(*run, "doc_reviewr")
        assert (misspelt.code, "--judge-panel: unknown panel role 'doc_reviewr'" in misspelt.err) == (2, True)
        assert "Did you mean 'doc_reviewer'?" in misspelt.err
        assert stub.requests == 2 * 8


def test_a_panel_needs_a_model_where_the_suites_judge_is_a_program(command: Command, project: Path) -> None:
    ran = command("arms", "run", "--suite", "kettle", "--judge", "--judge-panel", "doc_reviewer")
    assert (ran.code, "--judge-model: is needed with --judge-panel" in ran.err) == (2, True)


def test_a_vote_that_failed_is_named_and_a_rerun_asks_it_alone(command: Command, project: Path) -> None:
    with running_stub(fail_status=500) as stub:
        stub.fail_after = 15
        panel = "facts: {kind: panel, model: grader, endpoint: there, roles: [technical_expert, doc_reviewer]}"
        with_stub(project, stub.url, ("facts: {kind: overlap, model: overlap, endpoint: here}", panel))
        run = ("arms", "run", "--suite", "kettle", "--arms", "baseline", "--judge")
        ran = command(*run)
        assert (ran.code, "error: 1 vote failed (judge_failed: server_error 1), such as:" in ran.err) == (2, True)
        assert "the mean of fewer votes than the panel has" in (project / "results/arms/kettle.md").read_text()
        stub.fail_after = None
        assert command(*run).code == 0
        assert stub.requests == 2 * 8 + 1


def test_the_judges_provider_is_that_of_the_answers_unless_named(command: Command, project: Path) -> None:
    with running_stub() as stub:
        with_stub(project, stub.url)
        flags = ("--provider", "there", "--model", "m", "--arms", "baseline", "--judge", "--judge-model", "grader")
        assert command("arms", "run", "--product", "kettle", "--questions", "questions.json", *flags).code == 0
        assert {body["model"] for body in stub.bodies()} == {"m", "grader"}


def test_a_suites_spend_cap_holds_with_other_flags_too_and_the_flag_goes_before_it(command: Command, project: Path) -> None:
    budget = ("    judges: [facts]\n", "    judges: [facts]\nbudgets: {kettle: {max_cost_usd: 0.0001}}\n")
    with running_stub() as stub:
        prices = ", prices: {input_per_million_usd: 10, output_per_million_usd: 10}"
        with_stub(project, stub.url, ("endpoint: here, sampling", "endpoint: there, sampling"), budget, prices=prices)
        for flags in ((), ("--top-k", "3"), ("--max-tokens", "100")):
            ran = command("arms", "run", "--suite", "kettle", *flags)
            assert ran.code == 2
            assert "the cap of $0.0001" in ran.err
        assert stub.requests == 0
        assert command("arms", "run", "--suite", "kettle", "--max-cost-usd", "5").code == 0


def test_questions_edited_between_runs_are_asked_anew_and_the_others_are_not(command: Command, project: Path) -> None:
    with running_stub() as stub:
        with_stub(project, stub.url, ("endpoint: here, sampling", "endpoint: there, sampling"))
        assert command("arms", "run", "--suite", "kettle", "--arms", "baseline").code == 0
        questions = json.loads((project / "questions.json").read_text())
        questions["questions"][0]["question"] = "And what of tea?"
        (project / "questions.json").write_text(json.dumps(questions))
        ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline")
        assert "1 model call" in ran.err
        assert "7 replayed" in ran.err
        assert stub.requests == 9
    assert arms_v1(project / "results/arms/kettle.json")["answers"][0]["question_text"] == "And what of tea?"


def test_failed_answers_make_the_run_incomplete_and_a_rerun_asks_them_alone(command: Command, project: Path) -> None:
    with running_stub(fail_first=1, fail_status=500) as stub:
        with_stub(project, stub.url, ("endpoint: here, sampling", "endpoint: there, sampling"))
        ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline", "--concurrency", "1")
        assert ran.code == 2
        assert "error: 8 answers failed (generation_failed: server_error 8), such as: generation_failed: server_error: " in ran.err
        assert ran.err.endswith("Once that is mended, a rerun asks only those.\n")
        assert command("arms", "run", "--suite", "kettle", "--arms", "baseline").code == 0
        assert stub.requests == 16


@pytest.mark.parametrize(("flags", "noun", "stage"), [((), "answer", "generation_failed"), (("--judge",), "score", "judge_failed")])
def test_a_refused_key_is_told_with_its_status_on_the_terminal_and_in_the_report(
    command: Command, project: Path, flags: tuple[str, ...], noun: str, stage: str
) -> None:
    with running_stub(fail_first=1, fail_status=401) as stub:
        with_stub(project, stub.url)
        here = ("--judge-provider", "there", "--judge-model", "m") if flags else ("--provider", "there", "--model", "m")
        (project / "questions.json").write_text(json.dumps({"questions": [{"id": "q", "question": "What?"}]}))
        ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline", *flags, *here, "--json")
    assert ran.code == 2
    told = f"1 {noun} failed ({stage}: auth 1), such as: {stage}: auth: "
    line = next(line for line in ran.err.splitlines() if told in line)
    assert "401" in line
    report = (project / "results/arms/kettle.md").read_text().replace("\\", "")
    assert told in report
    assert json.loads(ran.out)[f"failed_{noun}s"]["counts"] == {f"{stage}: auth": 1}


def test_unreadable_judge_replies_fail_the_coverage_and_exit_with_2(command: Command, project: Path) -> None:
    with running_stub() as stub:
        with_stub(project, stub.url)
        flags = ("--judge", "--judge-provider", "there", "--judge-model", "stub;do=reply;text=no+scores+here")
        ran = command("arms", "run", "--suite", "kettle", "--arms", "baseline,docs:local:docs", *flags)
        assert ran.code == 2
        assert "error: 0.0% of the questions were scored in both arms of a comparison; 95% are needed." in ran.err


@pytest.mark.parametrize("folder", ["with blanks", "ünïcode-日本", "plus+sign,comma", "a'quote"])
def test_a_project_may_stand_anywhere(
    command: Command, project: Path, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / folder
    project.rename(moved)
    monkeypatch.chdir(moved / "docs")
    assert command("arms", "run", "--suite", "kettle", "--judge").code == 0
    assert (moved / "results/arms/kettle.json").is_file()
    assert not (moved / "docs/results").exists(), "the report would be a document of the next run"
    assert (moved / ".evalplatform/store").is_dir()


def test_a_project_behind_a_link_is_one_project(command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("arms", "run", "--suite", "kettle").code == 0
    (tmp_path / "link").symlink_to(project, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    assert "0 model calls" in command("arms", "run", "--project", tmp_path / "link", "--suite", "kettle").err
    assert "0 model calls" in command("arms", "run", "--project", tmp_path / "link" / "evalplatform.yaml", "--suite", "kettle").err


def test_a_state_folder_that_cannot_be_made_is_said_to_be_unusable(command: Command, project: Path) -> None:
    (project / ".evalplatform").write_text("in the way")
    ran = command("arms", "run", "--suite", "kettle")
    assert ran.code == 2
    assert ".evalplatform" in ran.err
    assert "unforeseen" not in ran.err


def test_a_suite_with_two_judges_is_judged_by_the_one_that_is_named(command: Command, project: Path) -> None:
    with running_stub() as stub:
        second = "facts: {kind: overlap, model: overlap, endpoint: here}\n  strict: {kind: rubric, model: grader, endpoint: there}"
        with_stub(project, stub.url, ("facts: {kind: overlap, model: overlap, endpoint: here}", second))
        edited(project / "evalplatform.yaml", ("judges: [facts]", "judges: [facts, strict]"))
        unnamed = command("arms", "run", "--judge")
        assert unnamed.code == 2
        assert "--judge-model: says which judge to ask, by its id" in unnamed.err
        assert "(facts, strict)" in unnamed.err
        for judge, kind in (("facts", "offline"), ("strict", "openai-compatible")):
            assert command("arms", "run", "--judge", "--judge-model", judge).code == 0
            assert arms_v1(project / "results/arms/kettle.json")["judge_provider"] == kind
        listed = command("assets", "list", "--asset", "judged_scores").out
    assert "/facts-" in listed
    assert "/strict-" in listed
    assert "/flags-" not in listed


def test_a_single_arm_without_points_is_not_answered_and_says_why(command: Command, project: Path) -> None:
    (project / "bare.json").write_text('{"questions": [{"id": "a", "question": "What is it?"}]}', encoding="utf-8")
    ended = command("arms", "run", "--suite", "kettle", "--judge", "--questions", "bare.json", "--arms", "baseline")
    assert ended.code == 2
    assert "error: 0.0% of the answers were scored; 95% are needed. Without points: nothing_to_grade_against 1." in ended.err


def test_a_misspelt_judge_id_is_answered_with_the_nearest(command: Command, project: Path) -> None:
    ended = command("arms", "run", "--suite", "kettle", "--judge", "--judge-model", "fcts")
    assert ended.code == 2
    assert "--judge-model: unknown judge 'fcts' (known: facts). Did you mean 'facts'?" in ended.err
