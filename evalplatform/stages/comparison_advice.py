"""What to do about a comparison of a suite's cells that was refused: in the suite's own terms, by what is known of the versions it read.

A comparison over files can only say how runs differ; here it is known which cell was left behind when the others were answered again.
"""

from collections.abc import Mapping

from evalplatform.comparisons.refusals import Refusal, SameConfiguration
from evalplatform.reports import words
from evalplatform.reports.refusal_words import refusal_sentence
from evalplatform.stages import arm_answers, corpus, question_set
from evalplatform.stages.compared_runs import RunVersions
from evalplatform.stages.context import WARNINGS_INPUT, SuiteContext


def suite_refusal_sentence(context: SuiteContext, refusal: Refusal) -> str:
    """Return why cells of a suite cannot be compared, with what to do about it in the project file where that is what mends it."""
    if not isinstance(refusal, SameConfiguration):
        return refusal_sentence(refusal)
    return (
        f"{words.listed(list(refusal.runs))} are cells of one configuration ({refusal.model or 'unknown model'}, judged by "
        f"{refusal.judge_model or 'nobody'}): samples of one thing, not rivals. Keep one of them in suites.{context.suite_id}.cells."
    )


def stale_sides(context: SuiteContext, versions: Mapping[str, RunVersions]) -> tuple[str, ...]:
    """Return a sentence for each cell whose answers are not of what the suite has stored and asks now, with what to materialize.

    The questions and the corpus are those that were materialized last; the files themselves are not read.

    Raises:
        StorageError: the store does not answer, or a manifest is damaged.
    """
    now = {
        "an earlier question set": _stored_inputs(context, question_set.ASSET, {"questions": "question_set"}),
        "other arms or documents": _stored_inputs(context, corpus.ASSET, {}),
        "with other settings": arm_answers.asking_inputs(context),
    }
    found = {
        cell_id: [what for what, inputs in now.items() if any(run.answers.inputs.get(name) != digest for name, digest in inputs.items())]
        for cell_id, run in versions.items()
    }
    return tuple(
        f"{cell_id} answered {words.listed(reasons)}: materialize its arm_answers, then its judged_scores and arm_summary."
        for cell_id, reasons in found.items()
        if reasons
    )


def _stored_inputs(context: SuiteContext, asset: str, renamed: Mapping[str, str]) -> dict[str, str]:
    """Return the inputs of a source as it is stored, under the names that answers have for them; none where it was never stored."""
    manifest = context.catalog.find_current(context.artifact(asset))
    inputs = {} if manifest is None else manifest.inputs
    return {renamed.get(name, name): digest for name, digest in inputs.items() if name != WARNINGS_INPUT}
