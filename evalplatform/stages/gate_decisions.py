"""Stage `gate_decisions` [candidate batch]: whether a batch fails its gate, by which rule, with the certificate that anyone can check."""

from io import BytesIO

from evalplatform.comparisons.batches.records import HeadlineChoice
from evalplatform.gates.certificate import certificate_bytes
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import V3Writer
from evalplatform.reports.html import Download
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.stages import batch_comparisons
from evalplatform.stages.batch_comparisons import chosen_batches, comparison_inputs
from evalplatform.stages.batch_gate import BatchGate, batch_gate, remembered_for
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import GateAnswer, GateDecisionFacts

ASSET = "gate_decisions"
CODE_VERSION = "1"
JSON_FILE = "gate-decision.json"
MARKDOWN_FILE = "gate-decision.md"
HTML_FILE = "gate-decision.html"
CERTIFICATE_FILE = "gate-certificate.json"


def materialize_gate_decision(context: RunsContext, candidate_id: str) -> StageResult:
    """Decide the gate of a batch and store the decision, with its certificate where a gate policy decides.

    The baseline is what the last remembered gate of the batch compared it with, with the history that it pinned; else the batch before it.
    Nothing is remembered by this, and no replay is run again: what the remembered gate came to stands beside.

    Raises:
        UnknownNameError: the store has no such batch.
        InputError: it is a batch of another project, it has expired, or no whole batch was recorded before it.
        StorageError: a store cannot be read or written.
    """
    chosen = chosen_batches(context, candidate_id)
    remembered = remembered_for(context, chosen)
    inputs = {**comparison_inputs(chosen, remembered), **({} if remembered is None else {"standing": remembered.standing})}
    compared = context.catalog.current(context.artifact(batch_comparisons.ASSET, candidate_id))
    key = StageKey(
        context.artifact(ASSET, chosen.candidate.id),
        inputs=inputs,
        code_version=CODE_VERSION,
        lineage=() if compared is None else (compared,),
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    data = BytesIO()
    writer = V3Writer(data)
    gate = batch_gate(context, chosen, remembered, on_row=writer.add)
    writer.finish(gate.gated.comparison, choice=chosen.choice, gate=gate.view)
    report = batch_comparison_report(gate.gated.comparison, choice=chosen.choice, gate=gate.view)
    files = {JSON_FILE: data.getvalue(), MARKDOWN_FILE: batch_comparison_markdown(report).encode()}
    if gate.view is not None:
        files[CERTIFICATE_FILE] = certificate_bytes(gate.view.certificate)
    downloads = [Download(label=label, file_name=name) for label, name in _DOWNLOADS if name in files]
    files[HTML_FILE] = batch_comparison_html(report, downloads=downloads).encode()
    return stored_result(context, key, files=files, facts=as_facts(_facts(chosen, gate, remembered, report.headline.sentence)))


_DOWNLOADS = (("Markdown", MARKDOWN_FILE), ("JSON", JSON_FILE), ("Certificate", CERTIFICATE_FILE))


def _facts(chosen: HeadlineChoice, gate: BatchGate, remembered: RememberedGate | None, sentence: str) -> GateDecisionFacts:
    decision = gate.gated.decision
    certificate = None if gate.view is None else gate.view.certificate
    return GateDecisionFacts(
        baseline=chosen.baseline.id,
        candidate=chosen.candidate.id,
        choice=chosen.choice,
        answer=_answer(gate, remembered),
        sentence=sentence,
        by_policy=decision is not None,
        k=None if decision is None else decision.k,
        threshold=None if decision is None else float(decision.threshold),
        suite_p=None if decision is None else decision.suite_p,
        gating=() if decision is None else tuple(decided.scenario_id for decided in decision.gating),
        scenarios=len(decision.scenarios) if decision is not None else gate.gated.comparison.compared,
        certificate_digest=None if certificate is None else certificate.digest,
        remembered_key=None if remembered is None else remembered.report.key,
        remembered_standing=None if remembered is None else remembered.standing,
    )


def _answer(gate: BatchGate, remembered: RememberedGate | None) -> GateAnswer:
    """Return the answer; never better than what the remembered gate came to, which may have run replays again."""
    standing = None if remembered is None else remembered.standing
    if gate.gated.fails or standing == "flagged":
        return "fails"
    return "passes" if gate.gated.is_answered and standing != "failed_check" else "undecided"
