"""Judge stored answers by several judges, and say which verdicts are the arms' and which the judges'. It asks no answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.calls.failures import Failures
from evalplatform.comparisons.cross_judge import cross_judge, refuse_nothing_to_compare
from evalplatform.comparisons.cross_judge_records import CrossJudgement, Measure, RunUnderJudges
from evalplatform.judging.kinds.overlap import MODEL as OVERLAP
from evalplatform.kernel.digests import bytes_digest, json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import key_with_digest, slug
from evalplatform.kernel.values import Value
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.cross_judge_points import points_csv
from evalplatform.reports.cross_judge_report import cross_judge_page
from evalplatform.reports.cross_judge_words import label_words
from evalplatform.reports.html import Download
from evalplatform.reports.page import page_html, page_markdown
from evalplatform.reports.visible import with_visible_controls
from evalplatform.stages import arm_answers, question_set
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, refuse_mixed_versions, stored_result, unchanged_result
from evalplatform.stages.cross_judge_files import FileRun, stored_measures
from evalplatform.stages.cross_judge_gradings import Grading, added_failures, all_of, file_grading, stored_grading
from evalplatform.stages.facts import answer_facts, as_facts
from evalplatform.stages.judged_scores import materialize_judged_scores
from evalplatform.stages.partition_lock import partition_held
from evalplatform.stages.pipeline import added_counts
from evalplatform.stages.question_clusters import suite_clusters
from evalplatform.stages.report_findings import Shortfall

GROUP = "comparisons"
"""The group of artifacts that belong to no suite."""
ASSET = "cross_judge"
CODE_VERSION = "2"
JSON_FILE, MARKDOWN_FILE, HTML_FILE, CSV_FILE = "cross_judge.json", "report.md", "report.html", "points.csv"
_LONGEST_NAME_CHARS = 60


class CrossJudgeFacts(Value):
    """Of `cross_judge`: who judged, each arm's label by run, and how much was scored.

    `failed_calls` are judge calls that failed, those of a panel's votes included; `truncated_message` says why the judging was stopped.
    `complete` is false when a rerun would ask something again.
    """

    judges: tuple[str, ...]
    labels: dict[str, dict[str, str]]
    least_coverage_rate: float | None
    failed_calls: Failures
    complete: bool
    truncated_message: str | None = None


@dataclass(frozen=True)
class CrossJudged:
    """What a cross-judging left: its artifact and result, and the calls that it made or replayed. `answer_calls` is 0, or a bug.

    `least_rate` is the share of questions that have to be scored in both arms.
    """

    manifest: ArtifactManifest
    result: CrossJudgement
    unchanged: bool
    counts: CallCounts
    answer_calls: int
    least_rate: float

    @property
    def facts(self) -> CrossJudgeFacts:
        """What the manifest says without its files."""
        return CrossJudgeFacts.model_validate(self.manifest.facts)

    @property
    def shortfalls(self) -> Iterator[tuple[str, str, Shortfall]]:
        """The run, the measure and the shortfall of everything that has a say and scored too little."""
        for one in self.result.runs:
            for measure in one.run.counted:
                rate = one.coverage_rates[measure.name]
                if rate is not None and rate < self.least_rate:
                    unscored = measure.all_unscored_reasons
                    yield one.run.name, measure.name, Shortfall(rate=rate, least_rate=self.least_rate, compared=True, unscored=unscored)


async def cross_judge_cells(context: SuiteContext, cells: Sequence[Cell], judges: Sequence[JudgeCell]) -> CrossJudged:
    """Score the stored answers of a suite's cells by every judge, kept as any judge's scores are, and compare the judges.

    Raises:
        InputError: a cell has no stored answers or other ones by the time that all have judged them, or a judge cannot be asked.
    """
    for answers in [context.upstream(arm_answers.ASSET, cell.key) for cell in cells]:
        arms = [arm.name for arm in answer_facts(answers).arms]
        refuse_nothing_to_compare(arms, context.suite.baseline_arm, source=answers.artifact.path)
    made = [await _judged_alike(context, cell, judges) for cell in cells]
    scores, suite = tuple(result.manifest for of_cell in made for result in of_cell), context.suite
    key = StageKey(
        _artifact([context.suite_id, *(cell.id for cell in cells)], [cell.key for cell in cells], judges),
        inputs={
            **{f"scores/{manifest.artifact.partition}": manifest.data_version for manifest in scores},
            "compared": json_digest([suite.product, suite.baseline_arm, suite.pass_points, suite.cluster_field]),
        },
        code_version=CODE_VERSION,
        lineage=scores,
    )
    gradings = [[stored_grading(context, judge, result) for judge, result in zip(judges, of_cell, strict=True)] for of_cell in made]
    if (known := unchanged_result(context, key)) is not None:
        return _stored_before(context, known, [grading for of_cell in gradings for grading in of_cell])
    runs = [
        _cell_run(context, cell, of_cell[0].manifest, [grading.measure for grading in graded])
        for cell, of_cell, graded in zip(cells, made, gradings, strict=True)
    ]
    return _compared(context, key, judges, runs, gradings)


async def _judged_alike(context: SuiteContext, cell: Cell, judges: Sequence[JudgeCell]) -> list[StageResult]:
    """Return a cell's scores under every judge, all of the same answers; another run may store new ones while a judge is at work."""
    made = await all_of([materialize_judged_scores(context, cell, judge) for judge in judges])
    for result in made[1:]:
        refuse_mixed_versions(result.manifest, context.made_from(made[0].manifest, arm_answers.ASSET))
    return made


async def cross_judge_files(
    context: SuiteContext, runs: Sequence[FileRun], judges: Sequence[JudgeCell], *, with_stored: bool = True
) -> CrossJudged:
    """Have judges grade the answers of arms.v1 files with the material that the files hold, and compare them with the files' own scores.

    Nothing is asked where the same files were judged by the same judges before; what was finished is in the ledger and not asked again.

    Args:
        context: the group `comparisons` of an opened project.
        runs: the files, as `read_file_runs` gives them.
        judges: who judges.
        with_stored: whether the scores in the files are measures of their own.

    Raises:
        InputError: a judge cannot be asked, or grades by facts that a file does not hold.
    """
    _refuse_judges_of_facts(judges)
    stored = {run.name: stored_measures(run) if with_stored else [] for run in runs}
    key = StageKey(
        _artifact([run.name for run in runs], [[run.answers_digest for run in runs], with_stored], judges),
        inputs={
            **{f"judge/{judge.id}": json_digest([judge.behaviour_digest, judge.settings.sampling.seed]) for judge in judges},
            **{f"answers/{place}": run.answers_digest for place, run in enumerate(runs)},
            "stored": json_digest({name: [measure.model_dump() for measure in measures] for name, measures in stored.items()}),
            "described": json_digest([_described(run) for run in runs]),
        },
        code_version=CODE_VERSION,
    )
    if (known := unchanged_result(context, key)) is not None:
        return _stored_before(context, known)
    async with partition_held(context, key, stage=ASSET) as stored_meanwhile:
        if stored_meanwhile is not None:
            return _stored_before(context, stored_meanwhile)
        gradings = [await all_of([file_grading(context, run, judge) for judge in judges]) for run in runs]
        under_judges = [
            _file_run(run, [*(grading.measure for grading in graded), *stored[run.name]])
            for run, graded in zip(runs, gradings, strict=True)
        ]
        return _compared(context, key, judges, under_judges, gradings)


def stored_cross_judgement(context: SuiteContext, manifest: ArtifactManifest) -> CrossJudgement:
    """Return the result that a stored version holds."""
    return CrossJudgement.model_validate_json(context.catalog.read(manifest, JSON_FILE))


def _refuse_judges_of_facts(judges: Sequence[JudgeCell]) -> None:
    """Raise InputError for a judge that would grade a file's answers by another rule than a suite's, under one name."""
    for judge in judges:
        if judge.settings.kind == OVERLAP:
            raise InputError(
                f"the kind {OVERLAP!r} grades by expected facts, which no arms.v1 file holds; name the suite instead of a file.",
                field=f"judges.{judge.id}.kind",
            )


def _artifact(names: Sequence[str], compared: object, judges: Sequence[JudgeCell]) -> ArtifactId:
    """Return the artifact's name: one partition for each thing that is compared under each choice of judges."""
    name = slug("-".join(names))[:_LONGEST_NAME_CHARS].strip("-._") or "files"
    return ArtifactId(suite=GROUP, asset=ASSET, partition=key_with_digest(name, [compared, [judge.key for judge in judges]]))


def _cell_run(context: SuiteContext, cell: Cell, scores: ArtifactManifest, measures: Sequence[Measure]) -> RunUnderJudges:
    answers = context.made_from(scores, arm_answers.ASSET)
    questions = question_set.asked_questions(context, answers)
    answered = answer_facts(answers)
    return RunUnderJudges(
        name=cell.id,
        source=answers.artifact.path,
        library_name=context.suite.product,
        model=answered.cell.model,
        provider=answered.cell.provider,
        harness=answered.cell.harness,
        plugin_set=answered.cell.plugin_set,
        arms=tuple(arm.name for arm in answered.arms),
        baseline_arm=context.suite.baseline_arm,
        question_texts={question.id: with_visible_controls(question.question) for question in questions.questions},
        measures=tuple(measures),
        pass_points=context.suite.pass_points,
        clusters=suite_clusters(context, questions),
    )


def _file_run(run: FileRun, measures: Sequence[Measure]) -> RunUnderJudges:
    return RunUnderJudges.model_validate({**_described(run), "measures": tuple(measures)})


def _described(run: FileRun) -> dict[str, object]:
    """Return what a report says of a file's run, beside the measures."""
    file = run.first
    return {
        "name": run.name,
        "source": ", ".join(file.source for file in run.files),
        "library_name": file.library_name,
        "model": file.model,
        "provider": file.provider,
        "harness": file.harness,
        "plugin_set": file.plugin_set,
        "arms": list(file.arms),
        "baseline_arm": file.baseline_arm,
        "question_texts": {question.id: with_visible_controls(question.question) for question in file.questions},
    }


def _compared(
    context: SuiteContext,
    key: StageKey,
    judges: Sequence[JudgeCell],
    runs: Sequence[RunUnderJudges],
    gradings: Sequence[Sequence[Grading]],
) -> CrossJudged:
    """Compare the judges, and store result, reports and what scores nothing else keeps."""
    result = CrossJudgement(judges=tuple(judge.id for judge in judges), runs=tuple(cross_judge(run) for run in runs))
    everyone = [grading for of_run in gradings for grading in of_run]
    rates = [one.least_coverage_rate for one in result.runs if one.least_coverage_rate is not None]
    facts = CrossJudgeFacts(
        judges=result.judges,
        labels={one.run.name: {arm.arm: label_words(arm.label) for arm in one.arms} for one in result.runs},
        least_coverage_rate=min(rates) if rates else None,
        failed_calls=added_failures(everyone),
        complete=all(grading.complete for grading in everyone),
        truncated_message=next((grading.truncated_message for grading in everyone if grading.truncated_message), None),
    )
    files = _files(result) | {
        f"scores.{place}.{grading.measure.judge_key}.parquet": grading.scores
        for place, of_run in enumerate(gradings)
        for grading in of_run
        if grading.scores is not None
    }
    version = None if facts.complete else key.incomplete_version(bytes_digest(files[JSON_FILE]))
    stored = stored_result(context, key, files=files, facts=as_facts(facts), data_version=version)
    return _with_calls(context, stored, result, everyone)


def _stored_before(context: SuiteContext, known: StageResult, gradings: Sequence[Grading] = ()) -> CrossJudged:
    return _with_calls(context, known, stored_cross_judgement(context, known.manifest), gradings)


def _with_calls(context: SuiteContext, stored: StageResult, result: CrossJudgement, gradings: Sequence[Grading]) -> CrossJudged:
    return CrossJudged(
        manifest=stored.manifest,
        result=result,
        unchanged=stored.unchanged,
        counts=added_counts([], *(grading.counts for grading in gradings)),
        answer_calls=sum(grading.answer_calls for grading in gradings),
        least_rate=context.suite.checks.coverage.least_scored_rate,
    )


def _files(result: CrossJudgement) -> dict[str, bytes]:
    page = cross_judge_page(result)
    downloads = [Download(label=label, file_name=name) for label, name in (("Result (JSON)", JSON_FILE), ("Points (CSV)", CSV_FILE))]
    return {
        JSON_FILE: result.model_dump_json(indent=2).encode(),
        MARKDOWN_FILE: page_markdown(page).encode(),
        HTML_FILE: page_html(page, downloads=downloads).encode(),
        CSV_FILE: points_csv(result).encode(),
    }
