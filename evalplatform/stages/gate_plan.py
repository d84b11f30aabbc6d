"""The run plan of a branch's next gate, from its history and the gate policy."""

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from evalplatform.gates.gate_plan import GatePlan, PlanScenario, plan_gate
from evalplatform.gates.history import History
from evalplatform.gates.policy_standing import PolicyStanding
from evalplatform.kernel.digests import json_digest
from evalplatform.reports.gate_plan_words import plan_notes, plan_sentence, plan_table
from evalplatform.reports.gate_policy_words import policy_words
from evalplatform.reports.html import Download
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.view import Fact, Notice, Section, Table
from evalplatform.runs.gate_policy import GatePolicy
from evalplatform.runs.records import GateTier
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.gate_history import read_history
from evalplatform.stages.gate_policies import read_policy
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import RunPlanFacts

ASSET = "run_plan"
CODE_VERSION = "1"
JSON_FILE = "run-plan.json"
MARKDOWN_FILE = "run-plan.md"
HTML_FILE = "run-plan.html"
PREVIEW_ROWS = 10


class BranchPlan(NamedTuple):
    """A plan, and the history that it rests on."""

    branch: str
    history: History
    plan: GatePlan


def branch_plan(context: RunsContext, branch: str, tiers: Mapping[str, GateTier], policy: GatePolicy) -> BranchPlan:
    """Return how often each live scenario runs in the next gate against a branch.

    Args:
        context: the agent side of the project.
        branch: the branch whose history is pooled.
        tiers: the tier of each live scenario, by id.
        policy: what is to be caught, and what may be spent.

    Raises:
        InputError: the cap is below what every scenario needs at least.
        StorageError: the history cannot be read.
    """
    history = read_history(context, branch=branch, candidate=None, scenario_ids=tuple(tiers))
    return BranchPlan(branch, history, plan_gate(plan_scenarios(history, tiers), policy))


def plan_scenarios(history: History, tiers: Mapping[str, GateTier]) -> list[PlanScenario]:
    """Return what is planned: each live scenario with its tier and its history."""
    return [PlanScenario(scenario_id=name, tier=tier, pool=history.pools.get(name)) for name, tier in tiers.items()]


def materialize_run_plan(context: RunsContext, branch: str) -> StageResult:
    """Store the run plan of a branch's next gate by the policy in force. The same history and policy again change nothing.

    Raises:
        InputError: the scenario file cannot be used, or the cap is below what every scenario needs.
        StorageError: a store cannot be read or written.
    """
    standing = read_policy(context)
    found = branch_plan(context, branch, standing.tiers(), standing.policy)
    key = StageKey(context.artifact(ASSET), inputs=plan_inputs(found.history, standing, branch), code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    table = plan_table(found.plan, found.history.pools)
    page = Page(
        kind="Run plan",
        title=f"How often each scenario runs against {branch}",
        subtitle=plan_sentence(found.plan, branch),
        notices=tuple(Notice(level="note", text=note) for note in plan_notes(found.plan)),
        sections=(Section(key="scenarios", title="Scenarios", table=table),) if table.rows else (),
        facts=(Fact(label="Policy", value=policy_words(standing)),),
    )
    result = {
        "branch": branch,
        "policy": standing.policy.model_dump(mode="json"),
        "history_batches": found.history.batches,
        **found.plan.model_dump(mode="json"),
    }
    downloads = [Download(label="Markdown", file_name=MARKDOWN_FILE), Download(label="JSON", file_name=JSON_FILE)]
    files = {
        JSON_FILE: orjson.dumps(result, option=orjson.OPT_INDENT_2),
        MARKDOWN_FILE: page_markdown(page).encode(),
        HTML_FILE: page_html(page, downloads=downloads).encode(),
    }
    return stored_result(context, key, files=files, facts=as_facts(_facts(found, table)))


def plan_inputs(history: History, standing: PolicyStanding, branch: str) -> dict[str, str]:
    """Return what a plan depends on: each scenario's history, tier and policy."""
    return {
        "history": json_digest(history.model_dump(mode="json")),
        "policy": json_digest(standing.policy.model_dump(mode="json")),
        "tiers": json_digest(standing.tiers()),
        "source": standing.source,
        "branch": branch,
    }


def _facts(found: BranchPlan, table: Table) -> RunPlanFacts:
    plan = found.plan
    return RunPlanFacts(
        branch=found.branch,
        sentence=plan_sentence(plan, found.branch),
        total_runs=plan.total_runs,
        max_runs=plan.max_runs,
        scenarios=len(plan.rows),
        covered=plan.caught,
        short=tuple(row.scenario_id for row in plan.short),
        notes=tuple(plan_notes(plan)),
        preview=table.with_changes(rows=table.rows[:PREVIEW_ROWS]) if table.rows else None,
    )
