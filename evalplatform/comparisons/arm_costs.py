"""What each arm's answers cost: money, tokens, time."""

from collections.abc import Iterable, Sequence

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.records import ArmCost
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.stats.mean import plain_mean, plain_sum


def arm_costs(arms: Sequence[str], *, answers: Iterable[ArmAnswer], timings: Iterable[CallTiming]) -> dict[str, ArmCost]:
    """Return the cost of every arm over all draws. Failed answers contribute nothing.

    Sums are over what is known, so a total with fewer `priced_answers` than `answers` is partial; a sum of unknowns is None. Money is in
    US dollars, time in seconds per answer.

    Raises:
        UnknownNameError: an answer of an arm that is not in the experiment.
    """
    made: dict[str, list[ArmAnswer]] = {arm: [] for arm in arms}
    for answer in answers:
        if answer.arm not in made:
            raise UnknownNameError("arm", answer.arm, arms, field="answers")
        if answer.state != "failed":
            made[answer.arm].append(answer)
    clock = {(timing.arm, timing.question_id, timing.draw): timing for timing in timings}
    return {arm: _arm_cost(arm, rows, [clock.get((arm, row.question_id, row.draw)) for row in rows]) for arm, rows in made.items()}


def _arm_cost(arm: str, answers: Sequence[ArmAnswer], timings: Sequence[CallTiming | None]) -> ArmCost:
    usages = [answer.usage for answer in answers]
    costs = [answer.cost_usd for answer in answers if answer.cost_usd is not None]
    return ArmCost(
        arm=arm,
        answers=len(answers),
        total_cost_usd=plain_sum(costs) if costs else None,
        priced_answers=len(costs),
        calls=sum(answer.calls for answer in answers),
        prompt_tokens=_known_total(usage.prompt_tokens for usage in usages),
        completion_tokens=_known_total(usage.completion_tokens for usage in usages),
        total_tokens=_known_total(usage.total_tokens for usage in usages),
        cache_read_tokens=_known_total(usage.cache_read_tokens for usage in usages),
        mean_latency_seconds=_known_mean(timing.latency_seconds for timing in timings if timing is not None),
        mean_time_to_first_token_seconds=_known_mean(timing.time_to_first_token_seconds for timing in timings if timing is not None),
    )


def _known_total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _known_mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return plain_mean(known) if known else None
