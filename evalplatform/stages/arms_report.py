"""Stage `arms_report` [cell x judge]: arms.v1, Markdown, HTML and CSV from what is stored."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.records import ArmSummary, JudgedScore
from evalplatform.kernel.digests import json_digest
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.questions.records import QuestionSet
from evalplatform.reports.arms_interactions import interaction_rows
from evalplatform.reports.arms_report import build_arms_report
from evalplatform.reports.arms_retrieval import retrieval_sentences
from evalplatform.reports.arms_v1 import arms_v1_payload
from evalplatform.reports.arms_v1_file import arms_v1_bytes
from evalplatform.reports.arms_view import summary_table
from evalplatform.reports.csv import write_scores_csv
from evalplatform.reports.html import Download, write_arms_html
from evalplatform.reports.markdown import arms_markdown
from evalplatform.reports.run_facts import DocumentSourceFacts, JudgeFacts, RunFacts
from evalplatform.stages import arm_answers, arm_summary, corpus, judged_scores, question_set, verdicts
from evalplatform.stages.checks.check import CheckResult
from evalplatform.stages.checks.judge_checks import JudgeEvidence
from evalplatform.stages.checks.stored import answer_evidence, reported_sentences, run_check_results, score_evidence
from evalplatform.stages.context import (
    StageKey,
    StageResult,
    SuiteContext,
    refuse_mixed_versions,
    stored_result,
    unchanged_result,
    versions_of,
)
from evalplatform.stages.facts import ReportFacts, answer_facts, as_facts, score_facts, summary_facts, verdict_facts
from evalplatform.stages.question_clusters import stored_clusters

ASSET = "arms_report"
CODE_VERSION = "12"
MARKDOWN_FILE = "report.md"
HTML_FILE = "report.html"
CSV_FILE = "scores.csv"


def json_file(draw: int, *, draws: int) -> str:
    """Return the name of a draw's arms.v1 file: `arms.json`, or `arms.d0.json` and so on where there are several draws."""
    return "arms.json" if draws == 1 else f"arms.d{draw}.json"


def materialize_arms_report(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> StageResult:
    """Write the reports of one cell under one judge, or of its answers alone where there is no judge."""
    read = _read_manifests(context, cell, judge)
    key = StageKey(
        context.artifact(ASSET, arm_summary.partition(cell, judge)),
        inputs=report_inputs(context, cell, judge, versions_of(read.lineage)),
        code_version=CODE_VERSION,
        lineage=read.lineage,
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    run = _stored_run(context, read)
    report = build_arms_report(
        run.facts,
        questions=run.questions,
        answers=run.answers,
        scores=run.scores,
        timings=run.timings,
        summary=run.summary,
        verdicts=None if read.verdicts is None else verdict_facts(read.verdicts).verdicts,
    )
    files = {
        **{json_file(draw, draws=run.summary.draws): _arms_v1(context, run, draw) for draw in range(run.summary.draws)},
        MARKDOWN_FILE: arms_markdown(report).encode(),
        CSV_FILE: _csv(run),
    }
    page = io.StringIO()
    write_arms_html(
        report, page, downloads=[Download(label=_DOWNLOAD_LABELS.get(name, "arms.v1 (JSON)"), file_name=name) for name in files]
    )
    files[HTML_FILE] = page.getvalue().encode()
    facts = ReportFacts(
        coverage_rate=run.summary.coverage_rate,
        complete=summary_facts(read.summary).complete,
        result=tuple(summary_table(report)),
        findings=tuple(found.sentence for found in report.findings),
        interactions=interaction_rows(run.summary) if run.facts.judge is not None else (),
        retrieval=retrieval_sentences(run.summary),
        checks=run.checks,
        answer_calls=run.facts.judging_answer_calls,
        calls_of_answers=run.facts.answer_calls,
        calls_of_scores=run.facts.judge_calls,
    )
    return stored_result(context, key, files=files, facts=as_facts(facts))


def report_inputs(context: SuiteContext, cell: Cell, judge: JudgeCell | None, versions: Mapping[str, str]) -> dict[str, str]:
    """Return the named inputs of a report, given the data versions of what it reads: the questions are those that the answers answer."""
    suite = context.suite
    of_judge = () if judge is None else (judged_scores.ASSET, *((verdicts.ASSET,) if verdicts.wanted_by(suite) else ()))
    read = (question_set.ASSET, arm_answers.ASSET, *of_judge, arm_summary.ASSET)
    return {
        **{asset: versions[asset] for asset in read},
        "product": suite.product,
        "checks": json_digest(suite.checks.model_dump()),
    }


_NOT_IN_REPORTS = "a report is of what was sent, whatever has been edited since."
_DOWNLOAD_LABELS = {MARKDOWN_FILE: "Markdown", CSV_FILE: "Scores (CSV)"}


@dataclass(frozen=True)
class _ReadManifests:
    questions: ArtifactManifest
    corpus: ArtifactManifest
    answers: ArtifactManifest
    scores: ArtifactManifest | None
    verdicts: ArtifactManifest | None
    summary: ArtifactManifest

    @property
    def lineage(self) -> tuple[ArtifactManifest, ...]:
        read = (self.questions, self.answers, self.scores, self.verdicts, self.summary)
        return tuple(manifest for manifest in read if manifest is not None)


@dataclass(frozen=True)
class _StoredRun:
    facts: RunFacts
    questions: QuestionSet
    answers: list[ArmAnswer]
    scores: list[JudgedScore]
    timings: list[CallTiming]
    texts: Mapping[str, str]
    summary: ArmSummary
    checks: tuple[CheckResult, ...]


def _read_manifests(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> _ReadManifests:
    partition = arm_summary.partition(cell, judge)
    answers = context.upstream(arm_answers.ASSET, cell.key)
    scores = None if judge is None else context.upstream(judged_scores.ASSET, partition)
    summary = context.upstream(arm_summary.ASSET, partition)
    refuse_mixed_versions(summary, answers, *(() if scores is None else (scores,)))
    passes = None
    if judge is not None and scores is not None and verdicts.wanted_by(context.suite):
        passes = context.upstream(verdicts.ASSET, verdicts.partition(context, cell, judge))
        refuse_mixed_versions(passes, scores)
    return _ReadManifests(
        questions=context.made_from(answers, question_set.ASSET),
        corpus=context.made_from(answers, corpus.ASSET),
        answers=answers,
        scores=scores,
        verdicts=passes,
        summary=summary,
    )


def _stored_run(context: SuiteContext, read: _ReadManifests) -> _StoredRun:
    questions = question_set.asked_questions(context, read.answers)
    answers = arm_answers.stored_answers(context, read.answers)
    scores = [] if read.scores is None else judged_scores.stored_scores(context, read.scores)
    cell, judge = answer_facts(read.answers).cell, _stored_judge(read)
    checks = run_check_results(
        context.suite.checks,
        answers=answer_evidence(context, read.answers, answers),
        judge=None if judge is None else JudgeEvidence(cell=cell, judge=judge, prompts_sent={}, prompts_now=_NOT_IN_REPORTS),
        scores=None if read.scores is None else score_evidence(context, read.scores, scores, [score.judgement for score in scores]),
    )
    return _StoredRun(
        facts=_facts(context, read, questions, checks),
        questions=questions,
        answers=answers,
        scores=scores,
        timings=arm_answers.stored_timings(context, read.answers),
        texts=arm_answers.stored_texts(context, read.answers),
        summary=arm_summary.stored_summary(context, read.summary),
        checks=checks,
    )


def _stored_judge(read: _ReadManifests) -> JudgeCell | None:
    return None if read.scores is None else score_facts(read.scores).judge


def _facts(context: SuiteContext, read: _ReadManifests, questions: QuestionSet, checks: Sequence[CheckResult]) -> RunFacts:
    """Return what is said of the run: as it was when it answered and judged, since the project file may have been edited since."""
    answered, judge = answer_facts(read.answers), _stored_judge(read)
    cell, retrieval = answered.cell, answered.retrieval
    arms = {arm.name: arm.spec for arm in answered.arms}
    described = orjson.loads(context.catalog.read(read.corpus, corpus.FILE))
    return RunFacts(
        project=context.project.settings.project,
        suite=context.suite_id,
        library_name=context.suite.product,
        generated_at=context.clock.now(),
        cell_key=cell.key,
        model=cell.model,
        provider=cell.provider,
        base_url=cell.base_url,
        answering_digest=cell.answering_digest,
        harness=cell.harness,
        plugins=cell.plugins,
        sampling=cell.sampling,
        draws=arm_answers.stored_draws(read.answers),
        arms=tuple(arms),
        arm_specs=arms,
        baseline_arm=context.suite.baseline_arm,
        question_set_source=questions.source,
        question_set_digest=questions.digest,
        top_k=None if retrieval is None else retrieval.top_k,
        rerank_threshold=None if retrieval is None else retrieval.rerank_threshold,
        reranker=None if retrieval is None else retrieval.reranker,
        price_table=answered.price_table,
        document_sources=tuple(
            DocumentSourceFacts(arm=arm, name=name, digest=digest)
            for arm, description in described.items()
            for name, digest in description["digests"].items()
        ),
        input_digests=dict(read.answers.inputs),
        judge=None if judge is None else _judge_facts(judge),
        answer_calls=answered.calls,
        judge_calls=CallCounts() if read.scores is None else score_facts(read.scores).calls,
        answers_stored_at=read.answers.created_at,
        judging_answer_calls=None if read.scores is None else score_facts(read.scores).answer_calls,
        truncated_reason=_truncated_reason(read),
        least_coverage_rate=context.suite.checks.coverage.least_scored_rate,
        warnings=(*_warnings(read.corpus), *reported_sentences(checks)),
    )


def _warnings(corpus_read: ArtifactManifest) -> tuple[str, ...]:
    """Return what was found in the arms' files; a corpus stored by an earlier version does not say."""
    found = corpus_read.facts.get("warnings")
    return tuple(str(warning) for warning in found) if isinstance(found, list) else ()


def _judge_facts(judge: JudgeCell) -> JudgeFacts:
    settings = judge.settings
    return JudgeFacts(
        key=judge.key,
        kind=settings.kind,
        provider=settings.provider,
        model=settings.model,
        sampling=settings.sampling,
        prompt_digest=judge.prompt_digest,
        behaviour_digest=judge.behaviour_digest,
        metrics=judge.metrics,
        grounded_from_topics=settings.grounded_from_topics,
        roles=judge.roles,
    )


def _truncated_reason(read: _ReadManifests) -> str | None:
    of_answers = answer_facts(read.answers).truncated_reason
    return of_answers or (None if read.scores is None else score_facts(read.scores).truncated_reason)


def _arms_v1(context: SuiteContext, run: _StoredRun, draw: int) -> bytes:
    payload = arms_v1_payload(
        run.facts,
        run.questions,
        answers=run.answers,
        scores=run.scores,
        timings=run.timings,
        materials=run.texts,
        draw=draw,
        correction=context.suite.correction,
        clusters=stored_clusters(run.questions, run.summary),
    )
    return arms_v1_bytes(payload)


def _csv(run: _StoredRun) -> bytes:
    out = io.StringIO(newline="")
    write_scores_csv(
        out,
        questions=run.questions,
        arms=run.facts.arms,
        draws=run.summary.draws,
        answers=run.answers,
        scores=run.scores,
        timings=run.timings,
    )
    return out.getvalue().encode()
