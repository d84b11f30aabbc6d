"""Stage `verdicts` [cell x judge]: which answers pass at the suite's threshold, computed again from stored scores. It asks nobody.

Each policy keeps its verdicts in a partition of its own, so that those of an earlier threshold stay beside the new ones.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.verdicts import ArmVerdicts, QuestionVerdict, arm_verdicts, question_verdicts
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.schema import SuiteSettings
from evalplatform.reports.verdicts import verdicts_markdown
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result, versions_of
from evalplatform.stages.facts import VerdictFacts, answer_facts, as_facts, score_facts
from evalplatform.stages.tables import Table

if TYPE_CHECKING:
    import pyarrow

ASSET = "verdicts"
CODE_VERSION = "1"
VERDICTS_FILE = "verdicts.parquet"
MARKDOWN_FILE = "verdicts.md"


def wanted_by(suite: SuiteSettings) -> bool:
    """Say whether the suite has a threshold; without one there is nothing to make."""
    return suite.pass_points is not None


def partition(context: SuiteContext, cell: Cell, judge: JudgeCell) -> str:
    """Return the artifact partition of a cell's verdicts under a judge, by the suite's policy."""
    return f"{judged_scores.partition(cell.key, judge.key)}/{context.suite.policy.key}"


def materialize_verdicts(context: SuiteContext, cell: Cell, judge: JudgeCell) -> StageResult:
    """Give every scored answer of a cell its verdict, and every arm its pass rate: pure computation, no call.

    Raises:
        InputError: the suite has no `pass_points`, or scores were never materialized.
    """
    pass_points = context.suite.pass_points
    if pass_points is None:
        raise InputError("is not set, so there is no threshold to pass.", field=f"suites.{context.suite_id}.pass_points")
    scores = context.upstream(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key))
    key = StageKey(
        context.artifact(ASSET, partition(context, cell, judge)),
        inputs=verdict_inputs(context, cell, judge, versions_of((scores,))),
        code_version=CODE_VERSION,
        lineage=(scores,),
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    rows, verdicts = _computed(context, scores, pass_points)
    policy = context.suite.policy
    facts = VerdictFacts(
        policy_key=policy.key,
        policy_digest=policy.digest,
        pass_points=pass_points,
        rows=len(rows),
        unscored=sum(arm.unscored for arm in verdicts.arms),
        verdicts=verdicts,
        complete=score_facts(scores).complete,
    )
    page = verdicts_markdown(
        verdicts,
        title=f"Verdicts of {context.suite_id}",
        facts=(("Cell", cell.key), ("Judge", judge.key), ("Policy", f"{policy.key} ({policy.digest})"), ("Model calls", "0")),
    )
    return stored_result(context, key, files={VERDICTS_FILE: VERDICTS.write(rows), MARKDOWN_FILE: page.encode()}, facts=as_facts(facts))


def verdict_inputs(context: SuiteContext, cell: Cell, judge: JudgeCell | None, versions: Mapping[str, str]) -> dict[str, str]:
    """Return the named inputs of a cell's verdicts under a judge, given the data version of the scores by their asset's name."""
    suite = context.suite
    return {
        judged_scores.ASSET: versions[judged_scores.ASSET],
        "policy": suite.policy.digest,
        "baseline_arm": suite.baseline_arm,
        "statistics": json_digest([suite.correction, suite.cluster_field]),
    }


def stored_verdicts(context: SuiteContext, manifest: ArtifactManifest) -> list[QuestionVerdict]:
    """Return the verdicts of a stored version, in the order question, arm."""
    return list(VERDICTS.read(context.catalog.read(manifest, VERDICTS_FILE)))


def _computed(context: SuiteContext, scores: ArtifactManifest, pass_points: float) -> tuple[list[QuestionVerdict], ArmVerdicts]:
    answers = context.made_from(scores, arm_answers.ASSET)
    arms = [arm.name for arm in answer_facts(answers).arms]
    draws = arm_answers.stored_draws(answers)
    rows = question_verdicts(
        list(judged_scores.stored_points(context, scores)),
        arms=arms,
        question_ids=[question.id for question in question_set.asked_questions(context, answers).questions],
        draws=draws,
        pass_points=pass_points,
    )
    suite = context.suite
    verdicts = arm_verdicts(
        rows,
        arms=arms,
        baseline_arm=suite.baseline_arm,
        pass_points=pass_points,
        draws=draws,
        correction=suite.correction,
        clustered=suite.cluster_field is not None,
    )
    return rows, verdicts


@cache
def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    fields: list[pa.Field[Any]] = [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("arm", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("points", pa.float64()),
        pa.field("reason", pa.string()),
    ]
    return pa.schema(fields)


VERDICTS: Table[QuestionVerdict] = Table(_schema, QuestionVerdict.model_dump, QuestionVerdict.model_validate)
