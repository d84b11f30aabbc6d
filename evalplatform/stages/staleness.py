"""Which partitions of a suite are fresh, and why the others are not: by the same inputs that the stages make their versions from.

The question file and the arms' files are read as they are now; no model is asked. What is stale makes what is made from it stale, down to
the reports. Cells and judges are keys, not inputs: an edited one is a partition of its own, which is missing, and the old one stays as it
was. What compares cells reads them by their ids: there, a cell that is edited, added or removed is another input. Only the cells and judges
of the project file are looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.values import Value
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.questions.records import QuestionSet
from evalplatform.stages import arm_answers, arm_summary, corpus, question_set
from evalplatform.stages.comparison_runs import comparison_inputs, summary_input
from evalplatform.stages.comparison_stages import Comparison, suite_comparisons
from evalplatform.stages.context import StageKey, SuiteContext
from evalplatform.stages.corpus import OpenTreatments, open_treatments
from evalplatform.stages.score_stages import suite_stages

CODE_VERSION = "code_version"

State = Literal["fresh", "stale", "missing", "incomplete"]


class PartitionState(Value):
    """The state of one partition of an asset.

    `missing`: never made. `stale`: made from other inputs than there are now. `incomplete`: made from what there is now, but a call failed
    or was not made, here or in what it was made from, and a rerun would ask it. `fresh`: materializing again changes nothing.

    Attributes:
        asset: the asset's name.
        partition: the artifact's partition: `all`, a cell key, `CELL/JUDGE` (with the policy's key after it for verdicts), or a judge key.
        cell: the id of the cell, or None; of a plugin delta, that of the cell with plugins.
        judge: the id of the judge, or None.
        state: as above.
        because: of what is stale, the names of the inputs that changed, sorted; assets that it reads among them where those are stale. Of
            what is incomplete, the assets that it waits for; none where calls of its own are missing.
        compared: of a comparison of cells, the ids of those that it reads.
    """

    asset: str
    partition: str
    cell: str | None = None
    judge: str | None = None
    state: State
    because: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()

    @property
    def is_fresh(self) -> bool:
        """Whether there is nothing to do."""
        return self.state == "fresh"


async def suite_states(context: SuiteContext) -> list[PartitionState]:
    """Return the state of every partition of a suite, in the order of the data.

    Raises:
        InputError: the questions or the arms' files cannot be used.
        RetrievalError: a document source does not answer.
        StorageError: the store does not answer, or a manifest is damaged.
    """
    questions = question_set.current_questions(context)
    async with open_treatments(context) as opened:
        return states_of(context, questions, opened)


def states_of(context: SuiteContext, questions: QuestionSet, opened: OpenTreatments) -> list[PartitionState]:
    """Return the state of every partition of a suite, given its questions and arms as they are now."""
    sources = {
        question_set: question_set.question_inputs(questions),
        corpus: corpus.treatment_inputs(opened),
    }
    found = [
        _compared(context, StageKey(context.artifact(stage.ASSET), inputs=inputs, code_version=stage.CODE_VERSION)).state
        for stage, inputs in sources.items()
    ]
    judges = context.project.judges_of(context.suite_id)
    summaries: dict[tuple[str, str], _Compared] = {}
    for cell in context.project.cells_of(context.suite_id):
        key = StageKey(
            context.artifact(arm_answers.ASSET, cell.key),
            inputs=arm_answers.answer_inputs(context, cell, questions, opened),
            code_version=arm_answers.CODE_VERSION,
        )
        answers = _compared(context, key, cell=cell)
        found.append(answers.state)
        for judge in judges:
            scored = _score_states(context, cell, judge, answers)
            summaries[cell.id, judge.id] = scored[arm_summary.ASSET]
            found += [compared.state for compared in scored.values()]
    return [*found, *(_comparison_state(context, comparison, summaries) for comparison in suite_comparisons(context))]


@dataclass(frozen=True)
class _Compared:
    """A partition compared with what it would be made from now; `version` is what its readers are to be made from."""

    state: PartitionState
    version: str
    manifest: ArtifactManifest | None


def _score_states(context: SuiteContext, cell: Cell, judge: JudgeCell, answers: _Compared) -> dict[str, _Compared]:
    """Return the states of the chain of score stages for one cell and judge, by asset."""
    versions = {arm_answers.ASSET: answers.version, question_set.ASSET: _asked_questions_version(answers)}
    incomplete = {arm_answers.ASSET} if answers.state.state == "incomplete" else set()
    found = {}
    for stage in suite_stages(context.suite):
        key = StageKey(
            context.artifact(stage.asset, stage.partition(context, cell, judge)),
            inputs=stage.inputs(context, cell, judge, versions),
            code_version=stage.code_version,
        )
        waits_for = tuple(read.ASSET for read in stage.reads if read.ASSET in incomplete)
        compared = _compared(context, key, cell=cell, judge=judge, waits_for=waits_for)
        if compared.state.state == "incomplete":
            incomplete.add(stage.asset)
        versions[stage.asset] = compared.version
        found[stage.asset] = compared
    return found


def _comparison_state(context: SuiteContext, comparison: Comparison, summaries: Mapping[tuple[str, str], _Compared]) -> PartitionState:
    """Return the state of one comparison of cells, by what their summaries are to be."""
    judge = comparison.judge
    read = {cell.id: summaries[cell.id, judge.id] for cell in comparison.compared}
    key = StageKey(
        context.artifact(comparison.stage.asset, comparison.partition),
        inputs=comparison_inputs(context, comparison.compared, {cell_id: summary.version for cell_id, summary in read.items()}),
        code_version=comparison.stage.code_version,
    )
    waits_for = tuple(summary_input(cell_id) for cell_id, summary in read.items() if summary.state.state == "incomplete")
    state = _compared(context, key, cell=comparison.cell, judge=judge, waits_for=waits_for).state
    return state.with_changes(compared=tuple(read))


def _asked_questions_version(answers: _Compared) -> str:
    """Return the version of the questions that the stored answers were given to; any other text where they are stale or missing anyway."""
    lineage = () if answers.manifest is None else answers.manifest.lineage
    return next((read.data_version for read in lineage if read.artifact.asset == question_set.ASSET), "")


def _compared(
    context: SuiteContext, key: StageKey, *, cell: Cell | None = None, judge: JudgeCell | None = None, waits_for: tuple[str, ...] = ()
) -> _Compared:
    manifest = context.catalog.find_current(key.artifact)
    changed = () if manifest is None else changed_inputs(manifest, key)
    state: State = "fresh"
    because: tuple[str, ...] = ()
    if manifest is None:
        state = "missing"
    elif changed:
        state, because = "stale", changed
    elif waits_for or not _is_complete(manifest):
        state, because = "incomplete", tuple(sorted(waits_for))
    return _Compared(
        state=PartitionState(
            asset=key.artifact.asset,
            partition=key.artifact.partition,
            cell=None if cell is None else cell.id,
            judge=None if judge is None else judge.id,
            state=state,
            because=because,
        ),
        version=key.data_version if manifest is None or changed else manifest.data_version,
        manifest=manifest,
    )


def changed_inputs(manifest: ArtifactManifest, key: StageKey) -> tuple[str, ...]:
    """Return the names of the inputs that a stored version does not share with the one that would be made now, sorted."""
    names = {name for name in {*manifest.inputs, *key.inputs} if manifest.inputs.get(name) != key.inputs.get(name)}
    if manifest.code_version != key.code_version:
        names.add(CODE_VERSION)
    return tuple(sorted(names))


def _is_complete(manifest: ArtifactManifest) -> bool:
    return manifest.facts.get("complete") is not False
