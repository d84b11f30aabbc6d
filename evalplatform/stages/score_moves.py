"""Stage `score_moves` [cell x judge]: what moved a cell's scores since the scores before them, the judge or the answers. It asks nobody."""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.score_move_summary import ScoredVersion, StoredMoves, summarise_moves
from evalplatform.comparisons.score_moves import Place, ScoreMove, Scores, by_place, score_moves
from evalplatform.judging.judge import judge_model_stamp
from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import ObjectNotFoundError
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.reports.score_moves_report import move_sentences, score_moves_markdown
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result
from evalplatform.stages.facts import ScoreMoveFacts, answer_facts, as_facts, score_facts
from evalplatform.stages.move_table import MOVES
from evalplatform.stages.question_clusters import suite_clusters
from evalplatform.stages.score_predecessor import Predecessor, Scored, find_predecessor, judging_by, scored_version

ASSET = "score_moves"
CODE_VERSION = "3"
SUMMARY_FILE = "score_moves.json"
MOVES_FILE = "score_moves.parquet"
MARKDOWN_FILE = "score_moves.md"


def materialize_score_moves(context: SuiteContext, cell: Cell, judge: JudgeCell) -> StageResult:
    """Compare a cell's scores with the scores before them (`score_predecessor` says which those are): pure computation, no call.

    The first scores ever have none before them; the result then says so.

    Raises:
        InputError: scores were never materialized.
        ObjectNotFoundError: the answers that the scores are of are gone from the store.
    """
    partition = judged_scores.partition(cell.key, judge.key)
    now = scored_version(context, context.upstream(judged_scores.ASSET, partition))
    found = _predecessor(context, cell, judge, now)
    key = StageKey(
        context.artifact(ASSET, partition),
        inputs=_inputs(context, now.scores.data_version, found),
        code_version=CODE_VERSION,
        lineage=_lineage(now, found),
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    moves = [] if found is None else _moves(context, now, found)
    stored = _stored_moves(context, cell, now, found, moves)
    counts = {state: sum(move.state == state for move in moves) for state in ("separable", "not_separable", "unscored")}
    facts = ScoreMoveFacts(
        relation=stored.relation,
        before=None if found is None else found.before.name,
        rows=len(moves),
        **counts,
        judge_moved=sum(bool(move.judge_move_points) for move in moves),
        answers_moved=sum(bool(move.answers_move_points) for move in moves),
        findings=move_sentences(stored),
        complete=score_facts(now.scores).complete,
    )
    files = {
        SUMMARY_FILE: stored.model_dump_json(indent=1).encode(),
        MOVES_FILE: MOVES.write(moves),
        MARKDOWN_FILE: score_moves_markdown(stored, moves, suite=context.suite_id).encode(),
    }
    return stored_result(context, key, files=files, facts=as_facts(facts))


def move_inputs(context: SuiteContext, cell: Cell, judge: JudgeCell, versions: Mapping[str, str]) -> dict[str, str]:
    """Return the named inputs of a cell's score moves, given the data versions of its scores and answers by their assets' names.

    The scores before are looked for in the store.
    """
    scores_version = versions[judged_scores.ASSET]
    found = find_predecessor(
        context, cell, judge, judging=judging_by(judge), scores_version=scores_version, answers_version=versions[arm_answers.ASSET]
    )
    return _inputs(context, scores_version, found)


def stored_moves(context: SuiteContext, manifest: ArtifactManifest) -> StoredMoves:
    """Return the summary of a stored version."""
    return StoredMoves.model_validate_json(context.catalog.read(manifest, SUMMARY_FILE))


def stored_rows(context: SuiteContext, manifest: ArtifactManifest) -> list[ScoreMove]:
    """Return how every score of a stored version moved."""
    return list(MOVES.read(context.catalog.read(manifest, MOVES_FILE)))


def _predecessor(context: SuiteContext, cell: Cell, judge: JudgeCell, now: Scored) -> Predecessor | None:
    versions = {"scores_version": now.scores.data_version, "answers_version": now.answers.data_version}
    return find_predecessor(context, cell, judge, judging=now.judging, **versions)


def _inputs(context: SuiteContext, scores_version: str, found: Predecessor | None) -> dict[str, str]:
    bridges = () if found is None else (found.new_answers_old_judge, found.old_answers_new_judge)
    return {
        judged_scores.ASSET: scores_version,
        "before": "none" if found is None else found.before.name,
        "bridges": " ".join("none" if bridge is None else bridge.name for bridge in bridges),
        "baseline_arm": context.suite.baseline_arm,
        "cluster_field": str(context.suite.cluster_field),
    }


def _lineage(now: Scored, found: Predecessor | None) -> tuple[ArtifactManifest, ...]:
    """Return every version that is read, each once: scores and answers now, those before, and what tells judge and answers apart."""
    scored = [now] if found is None else [now, found.before, found.new_answers_old_judge, found.old_answers_new_judge]
    read = {
        (manifest.artifact, manifest.data_version): manifest
        for each in scored
        if each is not None
        for manifest in (each.scores, each.answers)
    }
    return tuple(read.values())


def _moves(context: SuiteContext, now: Scored, found: Predecessor) -> list[ScoreMove]:
    changed_answers, changed_tasks = _changed(context, now.answers, found.before.answers)
    return score_moves(
        _scores(context, now),
        _scores(context, found.before),
        same_judge=found.same_judging,
        changed_answers=changed_answers,
        changed_tasks=changed_tasks,
        new_answers_old_judge=None if found.new_answers_old_judge is None else _scores(context, found.new_answers_old_judge),
        old_answers_new_judge=None if found.old_answers_new_judge is None else _scores(context, found.old_answers_new_judge),
    )


def _scores(context: SuiteContext, scored: Scored) -> Scores:
    return by_place(judged_scores.stored_points(context, scored.scores))


class _Graded(NamedTuple):
    """What a judge was given: the digest of an answer's text, and beside it the question (None where it is gone) and the material."""

    answer: str
    question: JudgeTask | None
    material: str | None

    def is_beside_the_same(self, other: "_Graded") -> bool:
        """Whether the judge was given the same beside the answer; no where that is not known."""
        return self.question is not None and (self.question, self.material) == (other.question, other.material)


def _changed(context: SuiteContext, now: ArtifactManifest, before: ArtifactManifest) -> tuple[set[Place], set[Place]]:
    """Return the places whose answer has another text, and those where a judge was given something else beside it.

    Versions of answers may differ and hold the same texts.
    """
    if now.data_version == before.data_version:
        return set(), set()
    old, new = _graded(context, before), _graded(context, now)
    both = new.keys() & old.keys()
    changed_answers = {place for place in both if new[place].answer != old[place].answer}
    return changed_answers, {place for place in both if not new[place].is_beside_the_same(old[place])}


def _graded(context: SuiteContext, manifest: ArtifactManifest) -> dict[Place, _Graded]:
    """Return what a judge is given of every answer that has a text."""
    tasks: dict[str, JudgeTask] = {}
    with suppress(ObjectNotFoundError):  # the questions of earlier answers may be gone; how those were judged is then not known
        for question in question_set.asked_questions(context, manifest).questions:
            tasks[question.id] = judged_scores.judge_task("", question, answer=None, draw=0, material="")
    return {
        (answer.question_id, answer.arm, answer.draw): _Graded(
            answer=text_digest(answer.answer), question=tasks.get(answer.question_id), material=answer.material_digest
        )
        for answer in arm_answers.stored_answers(context, manifest)
        if answer.answer is not None
    }


def _stored_moves(context: SuiteContext, cell: Cell, now: Scored, found: Predecessor | None, moves: list[ScoreMove]) -> StoredMoves:
    if found is None:
        return StoredMoves(cell_key=cell.key, now=_described(now))
    clusters = suite_clusters(context, question_set.asked_questions(context, now.answers))
    summary = summarise_moves(
        moves,
        arms=[arm.name for arm in answer_facts(now.answers).arms],
        baseline_arm=context.suite.baseline_arm,
        clusters=None if clusters is None else clusters.labels,
    )
    return StoredMoves(cell_key=cell.key, now=_described(now), before=_described(found.before), relation=found.relation, summary=summary)


def _described(scored: Scored) -> ScoredVersion:
    judge = scored.judge
    return ScoredVersion(
        judge_id=judge.id,
        judge_key=judge.key,
        judge_model=judge_model_stamp(judge.settings.model, judge.roles),
        prompt_digest=judge.prompt_digest,
        scores_version=scored.scores.data_version,
        answers_version=scored.answers.data_version,
        scored_at=scored.scores.created_at,
    )
