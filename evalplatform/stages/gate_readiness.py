"""What the gate of a branch can catch, read from its history, the gate policy and people's labels; as an artifact too."""

from typing import NamedTuple

from evalplatform.gates.policy_standing import PolicyStanding
from evalplatform.gates.readiness import Readiness, gate_readiness
from evalplatform.kernel.digests import bytes_digest
from evalplatform.ports.labels import LabelStore
from evalplatform.reports.html import Download
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.readiness_report import readiness_json, readiness_page
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.gate_history import read_history
from evalplatform.stages.gate_plan import plan_scenarios
from evalplatform.stages.gate_policies import read_policy
from evalplatform.stages.run_judge_agreement import judge_agreement
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import GateReadinessFacts

ASSET = "gate_readiness"
CODE_VERSION = "1"
JSON_FILE = "gate-readiness.json"
MARKDOWN_FILE = "gate-readiness.md"
HTML_FILE = "gate-readiness.html"
PREVIEW_ROWS = 10


class BranchReadiness(NamedTuple):
    """What the gate of a branch can catch, and the policy that it is spoken of under.

    `batches` are those that the history was read from, newest first.
    """

    branch: str
    standing: PolicyStanding
    readiness: Readiness
    batches: tuple[str, ...]


def read_readiness(context: RunsContext, labels: LabelStore, *, branch: str) -> BranchReadiness:
    """Return what the gate of a branch can catch.

    Args:
        context: the agent side of the project.
        labels: where people's labels of runs are.
        branch: whose remembered gates hold the history.

    Raises:
        InputError: the scenario file cannot be used, or the policy's cap is below what every scenario needs.
        StorageError: the history cannot be read.
    """
    standing = read_policy(context)
    tiers = standing.tiers()
    history = read_history(context, branch=branch, candidate=None, scenario_ids=tuple(tiers))
    agreement = judge_agreement((run for batch_id in history.batches for run in context.batches.runs(batch_id)), labels)
    readiness = gate_readiness(plan_scenarios(history, tiers), standing.policy, agreement=agreement)
    return BranchReadiness(branch, standing, readiness, history.batches)


def materialize_gate_readiness(context: RunsContext, labels: LabelStore, *, branch: str) -> StageResult:
    """Store what the gate of a branch can catch. The same history, policy and labels again change nothing.

    Raises:
        InputError: the scenario file cannot be used, or the policy's cap is below what every scenario needs.
        StorageError: a store cannot be read or written.
    """
    found = read_readiness(context, labels, branch=branch)
    data = readiness_json(found.readiness, found.standing, branch)
    # Everything that it depends on stands in the result: histories, tiers, policy, agreement.
    key = StageKey(context.artifact(ASSET), inputs={"result": bytes_digest(data)}, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    page = readiness_page(found.readiness, found.standing, branch)
    downloads = [Download(label="Markdown", file_name=MARKDOWN_FILE), Download(label="JSON", file_name=JSON_FILE)]
    files = {
        JSON_FILE: data,
        MARKDOWN_FILE: page_markdown(page).encode(),
        HTML_FILE: page_html(page, downloads=downloads).encode(),
    }
    return stored_result(context, key, files=files, facts=as_facts(_facts(found, page)))


def _facts(found: BranchReadiness, page: Page) -> GateReadinessFacts:
    readiness = found.readiness
    tables = [section.table.with_changes(rows=section.table.rows[:PREVIEW_ROWS]) for section in page.sections]
    return GateReadinessFacts(
        branch=found.branch,
        sentence=page.subtitle,
        target_drop_points=readiness.target_drop_points,
        scenarios=len(readiness.rows),
        caught=None if readiness.is_day_one else readiness.caught,
        with_enough_history=readiness.with_enough_history,
        with_full_history=readiness.with_full_history,
        runs_per_gate=readiness.plan.total_runs,
        notes=tuple(notice.text for notice in page.notices),
        preview=tables[0] if tables else None,
    )
