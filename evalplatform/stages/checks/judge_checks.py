"""Checks that are made before a judge is asked: who judges whom, and answers to which prompts."""

from collections.abc import Mapping
from dataclasses import dataclass

from evalplatform.kernel.model_names import same_model
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.policy import SuiteChecks
from evalplatform.reports import words
from evalplatform.stages import judged_scores
from evalplatform.stages.checks.check import EXAMPLES_SHOWN, Check, Finding, not_told

# What a docs arm serves is looked at by `corpus`, and an edit shows there; asking it again could mean calling a service.
DOCUMENT_INPUTS = frozenset({"documents", "retrieval"})


@dataclass(frozen=True)
class JudgeEvidence:
    """Who answered, who is to judge, and the arms with the digests of their prompts: as sent, and as files and code give them now.

    `prompts_now` is a sentence where they cannot be told any more.
    """

    cell: Cell
    judge: JudgeCell
    prompts_sent: Mapping[str, str]
    prompts_now: Mapping[str, str] | str


def prompt_digests(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return those inputs of a data version that name what was said to the model.

    They are each arm's spec by its name, the digests of its skills and profiles by `<arm>/<input>`, and that of the answer prompt.
    """
    found: dict[str, str] = {}
    for name, said in inputs.items():
        if name == "answer_prompt":
            found["answer prompt"] = said  # no arm has a name with a space in it
        elif name.startswith("arm["):
            arm, _, spec = said.partition("=")
            found[arm] = spec
        elif name.startswith("treatment:") and _last_name(name) not in DOCUMENT_INPUTS:
            found[name.removeprefix("treatment:")] = said
    return found


def changed_prompts(sent: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names whose digest is another, or that only one side has; of an arm that is another, its name alone."""
    changed = sorted(name for name in {*sent, *now} if sent.get(name) != now.get(name))
    return [name for name in changed if not any(name.startswith(f"{arm}/") for arm in changed)]


def _last_name(name: str) -> str:
    return name.rpartition("/")[2].rpartition(":")[2]


def _self_judging(evidence: JudgeEvidence, settings: SuiteChecks) -> Finding:
    cell = evidence.cell
    judge = evidence.judge.settings  # the roles of a panel are one model's
    own = same_model(judge.model, cell.model)
    elsewhere = (judge.provider, judge.base_url) != (cell.provider, cell.base_url)
    at = " (by its name: the two are asked at different endpoints)" if elsewhere else ""
    spelled = "" if judge.model == cell.model else f" under the name {judge.model}"
    return Finding(
        passed=not own,
        sentence=f"{cell.model} judges its own answers{spelled}{at}: models favour what they would have written. Name another judge."
        if own
        else f"{judge.model} judges the answers of {cell.model}: two models by their names, compared without vendor, region, variant "
        "and date.",
        value=float(own),
        unit="share of votes by the answering model",
        examples=(f"{cell.id} and {evidence.judge.id}",) if own else (),
    )


def _stale_prompts(evidence: JudgeEvidence, settings: SuiteChecks) -> Finding:
    if isinstance(evidence.prompts_now, str):
        return not_told(f"What would be sent now cannot be told: {evidence.prompts_now}")
    changed = changed_prompts(evidence.prompts_sent, evidence.prompts_now)
    return Finding(
        passed=not changed,
        sentence=f"Stale answers: they were given to other arms or prompts than those of now ({words.listed(changed[:EXAMPLES_SHOWN])} "
        "changed since). Materialize `corpus` and `arm_answers` again to ask with what is there now."
        if changed
        else "The answers were given to the arms and prompts that files and code give now.",
        value=len(changed),
        unit="changed arms and prompts",
        examples=tuple(changed[:EXAMPLES_SHOWN]),
    )


JUDGE_CHECKS: tuple[Check[JudgeEvidence], ...] = (
    Check(
        name="self_judging",
        asset=judged_scores.ASSET,
        severity="warn",
        description="Is the judge another model than the one that answered? Made before the judge is asked.",
        find=_self_judging,
    ),
    Check(
        name="stale_prompts",
        asset=judged_scores.ASSET,
        severity="warn",
        description="Are arms, skills, profiles and the answer prompt still those that were answered? Made before the judge is asked.",
        find=_stale_prompts,
        in_report=False,  # it depends on when it is asked; a report names the digests that were sent
    ),
)
