"""Replicates: runs of one configuration are samples of one thing, so they are averaged or refused, never ranked against each other."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os.path import commonprefix

from evalplatform.comparisons.comparability import DECLARED, FACTORS
from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun, CostFigures
from evalplatform.comparisons.model_comparison_records import PooledReplicates
from evalplatform.stats.mean import plain_mean, plain_sum

_REPLICATE_TAIL = re.compile(r"[-_. ]*(?:run)?[-_. ]*\d*$", re.IGNORECASE)


_OF_CONFIGURATION = tuple(factor for factor in FACTORS if factor.name in DECLARED["model_comparison"] - DECLARED["pooled_replicates"])
"""Who answered and how: what rivals may differ in and replicates may not. All else rivals share, or they are not compared."""


def is_one_configuration(one: ComparedRun, other: ComparedRun) -> bool:
    """Return whether two runs that may stand beside each other are samples of one thing.

    They are where they have the same arms, in any order, and differ in no factor of who answered and how. A factor that one of them does
    not state tells them apart only if the comparability key says so. The seed may differ, since another seed asks for another sample of the
    same thing; whether one was set may not.
    """
    if set(one.identity.arms) != set(other.identity.arms) or (one.identity.seed is None) != (other.identity.seed is None):
        return False
    return not any(factor.refusals([one, other]) for factor in _OF_CONFIGURATION)


def replicate_groups(runs: Iterable[ComparedRun]) -> list[list[ComparedRun]]:
    """Return the runs grouped by configuration, groups and members in the order given.

    A run that is of one configuration with two others, since it does not state what tells them apart, joins them in one group.
    """
    groups: list[list[ComparedRun]] = []
    for run in runs:
        mine = [group for group in groups if any(is_one_configuration(run, member) for member in group)]
        if not mine:
            groups.append([run])
            continue
        mine[0].extend([*(member for group in mine[1:] for member in group), run])
        groups = [group for group in groups if not any(group is joined for joined in mine[1:])]
    return groups


def pooled_runs(runs: Sequence[ComparedRun], *, treatment_arm: str | None) -> tuple[list[ComparedRun], list[PooledReplicates]]:
    """Return one run for each configuration, and what was pooled.

    A pooled run's points are the mean of its replicates' over the questions that every one of them scored in the baseline and the scored
    arm; its other questions are gone. Its costs and tokens are the replicates' sums, its times their means.
    """
    rows: list[ComparedRun] = []
    pooled: list[PooledReplicates] = []
    groups = replicate_groups(runs)
    labels = _group_labels([[run.name for run in group] for group in groups])
    for group, label in zip(groups, labels, strict=True):
        if len(group) == 1:
            rows.append(group[0])
            continue
        row = _pooled(group, label, treatment_arm)
        rows.append(row)
        asked = {question for run in group for question in run.compared_questions}
        kept = len(row.compared_questions)
        pooled.append(
            PooledReplicates(label=label, runs=tuple(run.name for run in group), kept_questions=kept, dropped_questions=len(asked) - kept)
        )
    return rows, pooled


def replicate_label(names: Sequence[str]) -> str:
    """Return the common beginning of the names without a last number or `run`, and how many there are, such as `opus[n=3]`.

    Without a common beginning it is the first name.
    """
    return f"{_REPLICATE_TAIL.sub('', commonprefix(list(names))) or names[0]}[n={len(names)}]"


def _group_labels(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return a label for each group of names, no two equal: where a short one stands for two, both name their first and last run."""
    short = [names[0] if len(names) == 1 else replicate_label(names) for names in groups]
    times = Counter(short)
    labels = [
        label if times[label] == 1 or len(names) == 1 else f"{names[0]}..{names[-1]}[n={len(names)}]"
        for label, names in zip(short, groups, strict=True)
    ]
    taken = {names[0] for names in groups if len(names) == 1}
    for place, names in enumerate(groups):
        if len(names) > 1:
            while labels[place] in taken:
                labels[place] += "'"
            taken.add(labels[place])
    return labels


def _pooled(group: Sequence[ComparedRun], label: str, treatment_arm: str | None) -> ComparedRun:
    first = group[0]
    scored = [arm for arm in (treatment_arm,) if arm is not None and any(arm in run.scored_treatment_arms for run in group)]
    compared = (first.identity.baseline_arm, *scored)
    in_all = set(first.arms[compared[0]].points).intersection(*(run.arms[arm].points for run in group for arm in compared))
    kept = tuple(question for question in first.identity.question_ids if question in in_all)
    return replace(
        first,
        name=label,
        source=", ".join(run.source for run in group),
        identity=first.identity.model_copy(
            update={"question_ids": kept, "evaluation_ids": kept if first.identity.is_judged else None, "total_questions": len(kept)},
        ),
        arms={arm: _pooled_arm([run.arms[arm] for run in group], kept if arm in compared else ()) for arm in first.identity.arms},
        difficulty={question: value for run in reversed(group) for question, value in run.difficulty.items()},
    )


def _pooled_arm(arms: Sequence[ComparedArm], questions: Sequence[str]) -> ComparedArm:
    return ComparedArm(
        points={question: plain_mean([arm.points[question] for arm in arms]) for question in questions},
        answers=sum(arm.answers for arm in arms),
        failed=sum(arm.failed for arm in arms),
        cost=_pooled_cost([arm.cost for arm in arms]),
    )


def _pooled_cost(costs: Sequence[CostFigures]) -> CostFigures:
    """Return the sums and mean times; None where a run does not say, except that what is not priced leaves the total marked as partial."""
    prices = [cost.total_cost_usd for cost in costs if cost.total_cost_usd is not None]
    return CostFigures(
        answers=_total([cost.answers for cost in costs]),
        priced_answers=sum(cost.priced_answers or 0 for cost in costs),
        total_cost_usd=plain_sum(prices) if prices else None,
        prompt_tokens=_total([cost.prompt_tokens for cost in costs]),
        completion_tokens=_total([cost.completion_tokens for cost in costs]),
        total_tokens=_total([cost.total_tokens for cost in costs]),
        mean_latency_seconds=_mean([cost.mean_latency_seconds for cost in costs]),
        mean_time_to_first_token_seconds=_mean([cost.mean_time_to_first_token_seconds for cost in costs]),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _mean(durations: Sequence[float | None]) -> float | None:
    known = [duration for duration in durations if duration is not None]
    return plain_mean(known) if len(known) == len(durations) else None
