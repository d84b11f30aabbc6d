"""A suite materialized through Dagster, partition by partition: what is recorded, and what a second time changes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus  # what the UI asks; there is no public way to
from dagster._core.loader import LoadingContextForTest

from evalplatform.stages import arm_answers, arm_summary, arms_report, corpus, judged_scores, question_set
from tests.support.starter_project import SCORED, SOURCES, StarterProject, data_version_of, key_of, materializations, value_of

ASSETS = ("question_set", "corpus", "arm_answers", "judged_scores", "arm_summary", "arms_report")
STAGES = (question_set, corpus, arm_answers, judged_scores, arm_summary, arms_report)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> StarterProject:
    return StarterProject.written_to(tmp_path_factory.mktemp("starter"))


@pytest.fixture(scope="module")
def made(starter: StarterProject) -> dict[str, dg.AssetMaterialization]:
    return starter.materialize_all()


@pytest.fixture(scope="module")
def made_again(starter: StarterProject, made: dict[str, dg.AssetMaterialization]) -> dict[str, dg.AssetMaterialization]:
    return starter.materialize_all()


def test_every_asset_is_materialized_in_its_partition(starter: StarterProject, made: dict[str, dg.AssetMaterialization]) -> None:
    assert set(made) == set(ASSETS)
    partitions = {name: made[name].partition for name in ASSETS}
    assert partitions == {
        **dict.fromkeys(("question_set", "corpus")),
        "arm_answers": starter.cell_key,
        **dict.fromkeys(("judged_scores", "arm_summary", "arms_report"), starter.score_key),
    }


def test_a_materialization_carries_the_stored_data_version_and_the_code_version(
    starter: StarterProject, made: dict[str, dg.AssetMaterialization]
) -> None:
    with starter.opened() as opened:
        stored = {artifact.asset: opened.catalog.current(artifact) for artifact in opened.catalog.list()}
    assert {name: data_version_of(made[name]) for name in ASSETS} == {name: getattr(stored[name], "data_version", None) for name in ASSETS}
    code_versions = {name: (made[name].tags or {})["dagster/code_version"] for name in ASSETS}
    assert code_versions == {stage.ASSET: stage.CODE_VERSION for stage in STAGES}


def test_answers_say_what_they_cost_and_how_they_ended(made: dict[str, dg.AssetMaterialization]) -> None:
    answers = made["arm_answers"]
    shown = {name: value_of(answers, name) for name in ("dagster/partition_row_count", "failures", "complete", "paid_usd")}
    assert shown == {"dagster/partition_row_count": 40, "failures": 0, "complete": True, "paid_usd": 0.0}
    # Five arms are asked eight questions each; where the documents hold nothing for one, docs asks what baseline asks, and shares its call.
    assert value_of(answers, "calls_paid") + value_of(answers, "calls_shared") == 40
    assert value_of(answers, "states") == {"answered": 40}
    assert value_of(answers, "cell") == "reader: model extractive, provider offline, endpoint here, harness arms-runner"
    assert value_of(made["arms_report"], "judge").startswith("facts: kind overlap, model overlap, provider offline, endpoint here, prompt")
    assert value_of(answers, "input_digests")["answer_prompt"].startswith("sha256:")


def test_scores_ask_no_answer(made: dict[str, dg.AssetMaterialization]) -> None:
    scores = made["judged_scores"]
    shown = {name: value_of(scores, name) for name in ("dagster/partition_row_count", "failures", "answer_calls", "calls_paid")}
    assert shown == {"dagster/partition_row_count": 40, "failures": 0, "answer_calls": 0, "calls_paid": 0}


def test_the_report_shows_its_result_table_in_place(made: dict[str, dg.AssetMaterialization]) -> None:
    report = made["arms_report"]
    assert isinstance(report.metadata["result"], dg.MarkdownMetadataValue)
    lines = value_of(report, "result").splitlines()
    assert lines[0] == "| Arm | Points [95% CI] | Delta [95% CI] | Verdict | p adj. | Scored |"
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| baseline",
        "| docs",
        "| skill:use-kettle",
        "| docs+skill:use-kettle",
        "| profile:plain-speaker",
    ]
    assert "docs scores higher than baseline" in value_of(report, "findings")


@pytest.mark.parametrize("name", ["arm_answers", "judged_scores"])
def test_a_table_shows_its_first_rows_short_enough_to_be_read_in_place(name: str, made: dict[str, dg.AssetMaterialization]) -> None:
    preview = value_of(made[name], "preview")
    assert preview.splitlines()[2].startswith("| install | baseline |")
    assert len(preview.splitlines()) == 2 + 5
    assert len(preview) <= 1000


@pytest.mark.parametrize("name", ASSETS)
def test_every_artifact_says_how_to_get_it_and_where_it_lies(
    name: str, starter: StarterProject, made: dict[str, dg.AssetMaterialization]
) -> None:
    partition = {"question_set": "all", "corpus": "all", "arm_answers": starter.cell_key}.get(
        name, str(starter.score_key).replace("|", "/")
    )
    assert value_of(made[name], "download") == f"evalplatform assets download --suite kettle --asset {name} --partition {partition}"
    lying = sorted(path.name for path in Path(value_of(made[name], "stored_at")).iterdir())
    listed = re.findall(r"\[(.+?)\]\((.+?)\)", value_of(made[name], "files"))
    assert [file for file, _ in listed] == lying
    address = f"http://127.0.0.1:8787/download/kettle/{name}/{partition}/@{data_version_of(made[name])}"
    assert [link for _, link in listed] == [f"{address}/{file}" for file in lying]


def test_a_report_links_to_its_page_and_to_all_its_files_in_one(starter: StarterProject, made: dict[str, dg.AssetMaterialization]) -> None:
    partition, version = str(starter.score_key).replace("|", "/"), data_version_of(made["arms_report"])
    download = "http://127.0.0.1:8787/download/kettle"
    assert value_of(made["arms_report"], "report_page") == f"{download}/arms_report/{partition}/@{version}/report.html"
    assert value_of(made["arms_report"], "reports_zip") == f"{download}/{partition}/@{version}/reports.zip"
    assert [name for name in ASSETS if "report_page" in made[name].metadata] == ["arms_report"]


def test_a_second_materialization_asks_nothing_and_changes_nothing(
    made: dict[str, dg.AssetMaterialization], made_again: dict[str, dg.AssetMaterialization]
) -> None:
    assert {name: data_version_of(made_again[name]) for name in ASSETS} == {name: data_version_of(made[name]) for name in ASSETS}
    assert {name: value_of(made_again[name], "unchanged") for name in ASSETS} == dict.fromkeys(ASSETS, True)
    calls = {
        name: [value_of(made_again[name], f"calls_{how}") for how in ("paid", "replayed")] for name in ("arm_answers", "judged_scores")
    }
    assert calls == {"arm_answers": [0, 0], "judged_scores": [0, 0]}


def _edit_question(folder: Path) -> None:
    path = folder / "questions.json"
    path.write_text(path.read_text().replace("How do I install Kettle on a laptop?", "How is Kettle installed on a laptop?"))


def _edit_skill(folder: Path) -> None:
    path = folder / "skills/use-kettle/SKILL.md"
    path.write_text(path.read_text() + "\nAlways name the setting.\n")


def _edit_document(folder: Path) -> None:
    path = folder / "docs/boiling.md"
    path.write_text(path.read_text() + "\nWater boils at 100 degrees.\n")


def _format_questions(folder: Path) -> None:
    path = folder / "questions.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))


EDITS = [
    (_edit_question, {"question_set", "arm_answers", "judged_scores", "arm_summary", "arms_report"}),
    (_edit_skill, {"corpus", "arm_answers", "judged_scores", "arm_summary", "arms_report"}),
    (_edit_document, {"corpus", "arm_answers", "judged_scores", "arm_summary", "arms_report"}),
    (_format_questions, set()),
]


@pytest.mark.parametrize(("edit", "changed"), EDITS, ids=[edit.__name__.lstrip("_") for edit, _ in EDITS])
def test_an_edit_gives_new_versions_to_what_depends_on_it_and_to_nothing_else(
    edit: Callable[[Path], None], changed: set[str], tmp_path: Path
) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    before = starter.materialize_all()
    edit(starter.folder)
    after = starter.materialize_all()
    assert {name for name in ASSETS if data_version_of(before[name]) != data_version_of(after[name])} == changed


def test_only_the_arms_that_read_an_edited_skill_are_asked_again(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.materialize_all()
    _edit_skill(starter.folder)
    answers = starter.materialize_all()["arm_answers"]
    with starter.opened() as opened:
        suite = opened.suite_context("kettle")
        rows = arm_answers.stored_answers(suite, suite.upstream(arm_answers.ASSET, starter.cell_key))
    asked_again = {row.request_digest for row in rows if "skill" in row.arm}
    assert value_of(answers, "calls_paid") == len(asked_again)
    assert value_of(answers, "calls_replayed") == sum(row.request_digest not in asked_again for row in rows)


def test_another_statistic_makes_a_new_summary_and_asks_nothing(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    before = starter.materialize_all()
    starter.edit({"suites.kettle.correction": "bh"})
    after = starter.materialize_all()
    assert {name for name in ASSETS if data_version_of(before[name]) != data_version_of(after[name])} == {"arm_summary", "arms_report"}
    assert value_of(after["arm_answers"], "calls_paid") == 0


def test_answers_from_unrecorded_documents_are_refused(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.materialize(SOURCES)
    _edit_document(starter.folder)
    with pytest.raises(dg.Failure, match="changed since `corpus` was materialized; materialize `corpus` again"):
        starter.materialize(["arm_answers"], starter.cell_key)


def test_questions_edited_after_the_answers_do_not_change_what_is_graded(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    questions = starter.folder / "questions.json"
    questions.write_text(questions.read_text().replace('"id": "install"', '"id": "installing"').replace("90 seconds", "an hour"))
    starter.materialize(["question_set"])
    edited = materializations(starter.materialize(SCORED, starter.score_key))
    unedited = StarterProject.written_to(tmp_path / "unedited").materialize_all()
    assert value_of(edited["arms_report"], "result") == value_of(unedited["arms_report"], "result")


def test_a_summary_of_new_answers_and_old_scores_is_refused(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.materialize_all()
    _edit_question(starter.folder)
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    with pytest.raises(dg.Failure, match="was made from an earlier arm_answers; materialize judged_scores again first"):
        starter.materialize(["arm_summary"], starter.score_key)
    with pytest.raises(dg.Failure, match="was made from an earlier arm_answers; materialize arm_summary again first"):
        starter.materialize(["arms_report"], starter.score_key)
    starter.materialize(SCORED, starter.score_key)


def test_an_answer_that_looks_like_markup_stays_text_in_the_preview(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    questions = {"schema_version": "questions.v2", "questions": [{"id": "a|b ![x](http://example.org/x)", "question": "How?"}]}
    (starter.folder / "questions.json").write_text(json.dumps(questions))
    answers = starter.materialize_all()["arm_answers"]
    assert value_of(answers, "preview").splitlines()[2].startswith(r"| a\|b ![x\](http://example.org/x) | baseline |")


def test_dagster_marks_stale_what_an_edit_reaches_one_asset_at_a_time(tmp_path: Path) -> None:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.materialize_all()
    assert _stale(starter) == set()
    _edit_document(starter.folder)
    starter.materialize(["corpus"])
    assert _stale(starter) == {"arm_answers"}
    starter.materialize(["arm_answers"], starter.cell_key)
    assert _stale(starter) == {"judged_scores", "arm_summary", "arms_report"}


def _stale(starter: StarterProject) -> set[str]:
    graph = starter.definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(starter.instance, graph, loading_context=LoadingContextForTest(starter.instance))
    keys = {**dict.fromkeys(SOURCES), "arm_answers": starter.cell_key, **dict.fromkeys(SCORED, starter.score_key)}
    return {name for name, key in keys.items() if resolver.get_status(key_of(name), key) != StaleStatus.FRESH}
