"""Which stored scores a cell's scores are compared with, to say what moved them.

The scores before are the newest of these that are finished, by when they were stored:

1. earlier scores by the same judge id: of this partition, or of the keys that the judge had before it was edited;
2. where there are none, scores by another judge that were stored before these were, whether or not the suite still has that judge: what
   is compared must not change with the project file.

Scores are finished when a rerun would ask nothing, neither answers nor judge. Unfinished ones are passed over: they lack rows that the next
attempt has, and would hide what was there before.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.score_move_summary import Relation
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, judged_scores
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import answer_facts, score_facts


class Judging(NamedTuple):
    """In which way scores are given, whatever answers they are of. The seed is no part of a judge's key; another may give other points."""

    judge_key: str
    seed: int | None
    code_version: str


def judging_by(judge: JudgeCell) -> Judging:
    """Return the way in which a judge gives scores now."""
    return Judging(judge_key=judge.key, seed=judge.settings.sampling.seed, code_version=judged_scores.CODE_VERSION)


@dataclass(frozen=True)
class Scored:
    """A stored version of scores, and the answers that it is of."""

    scores: ArtifactManifest
    answers: ArtifactManifest

    @property
    def judge(self) -> JudgeCell:
        """Who judged."""
        return score_facts(self.scores).judge

    @property
    def judging(self) -> Judging:
        """In which way these were given."""
        return judging_by(self.judge)._replace(code_version=self.scores.code_version)

    @property
    def name(self) -> str:
        """Judge key and data version: `strict-3fa2c1@0123456789abcdef`."""
        return f"{self.judge.key}@{self.scores.data_version}"


@dataclass(frozen=True)
class Predecessor:
    """The scores before, what their judge is to the judge now, and the stored scores that tell judge and answers apart.

    `same_judging` says whether both were given in one way. The same judge may have another seed now.
    """

    before: Scored
    relation: Relation
    same_judging: bool
    new_answers_old_judge: Scored | None = None
    old_answers_new_judge: Scored | None = None


def scored_version(context: SuiteContext, scores: ArtifactManifest) -> Scored:
    """Return stored scores with their answers; ObjectNotFoundError where those are gone from the store."""
    return Scored(scores=scores, answers=context.made_from(scores, arm_answers.ASSET))


def find_predecessor(
    context: SuiteContext, cell: Cell, judge: JudgeCell, *, judging: Judging, scores_version: str, answers_version: str
) -> Predecessor | None:
    """Return the scores before those of `scores_version`, or None where these are the first.

    Args:
        context: the suite.
        cell: who answered.
        judge: who judges now.
        judging: in which way the scores now are given.
        scores_version: the scores now; they need not be stored yet.
        answers_version: the answers that they are of.
    """
    own = context.artifact(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
    others = _by_other_judges(context, cell, judge)
    earlier = [version for version in context.catalog.versions(own) if version.data_version != scores_version]
    for current in others:
        if score_facts(current).judge.id == judge.id:
            earlier += context.catalog.versions(current.artifact)
    if (before := _newest_finished(context, earlier)) is not None:
        return _with_bridges(context, judge, judging, before, earlier, answers_version)
    now = context.catalog.version(own, scores_version)
    elsewhere = [version for current in others for version in context.catalog.versions(current.artifact)]
    before = _newest_finished(context, (version for version in elsewhere if now is None or version.created_at < now.created_at))
    return None if before is None else _with_bridges(context, judge, judging, before, elsewhere, answers_version)


def _by_other_judges(context: SuiteContext, cell: Cell, judge: JudgeCell) -> list[ArtifactManifest]:
    """Return the current scores of the cell by every other judge key, those of edited and removed judges included."""
    artifacts = context.catalog.list(suite=context.suite_id, asset=judged_scores.ASSET, first_key=cell.key)
    own = judged_scores.partition(cell.key, judge.key)
    found = (context.catalog.find_current(artifact) for artifact in artifacts if artifact.partition != own)
    return [manifest for manifest in found if manifest is not None]


def _newest_finished(context: SuiteContext, versions: Iterable[ArtifactManifest]) -> Scored | None:
    ordered = sorted(versions, key=lambda manifest: (manifest.created_at, manifest.data_version), reverse=True)
    return next((scored for scored in _with_answers(context, ordered) if answer_facts(scored.answers).complete), None)


def _with_answers(context: SuiteContext, versions: Iterable[ArtifactManifest]) -> Iterator[Scored]:
    """Yield the finished ones of the scores whose answers are still in the store."""
    for manifest in versions:
        made_from = next((upstream for upstream in manifest.lineage if upstream.artifact.asset == arm_answers.ASSET), None)
        answers = None if made_from is None else context.catalog.version(made_from.artifact, made_from.data_version)
        if answers is not None and score_facts(manifest).complete:
            yield Scored(scores=manifest, answers=answers)


def _with_bridges(
    context: SuiteContext, judge: JudgeCell, judging: Judging, before: Scored, versions: Iterable[ArtifactManifest], answers_version: str
) -> Predecessor:
    """Return the predecessor with the scores that tell judge and answers apart, where both changed and such scores are stored."""
    key = before.judge.key
    relation: Relation = "same_judge" if key == judge.key else "edited_judge" if before.judge.id == judge.id else "other_judge"
    before_answers = before.answers.data_version
    same_judging = before.judging == judging
    if same_judging or before_answers == answers_version:
        return Predecessor(before=before, relation=relation, same_judging=same_judging)
    by_judging_and_answers = {
        (scored.judging, scored.answers.data_version): scored
        for scored in _with_answers(context, sorted(versions, key=lambda manifest: (manifest.created_at, manifest.data_version)))
    }
    return Predecessor(
        before=before,
        relation=relation,
        same_judging=False,
        new_answers_old_judge=by_judging_and_answers.get((before.judging, answers_version)),
        old_answers_new_judge=by_judging_and_answers.get((judging, before_answers)),
    )
