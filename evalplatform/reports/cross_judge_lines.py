"""A cross-judging as lines of text: labels, what each judge says, agreement."""

from collections.abc import Iterator

from evalplatform.comparisons.cross_judge_records import AlphaOrReason, CrossJudgedRun, CrossJudgement
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.cross_judge_words import (
    coefficient,
    coefficient_interval,
    constant_words,
    delta_words,
    label_words,
    left_out_words,
    share_words,
)
from evalplatform.reports.visible import one_line


def cross_judge_lines(result: CrossJudgement) -> Iterator[str]:
    """Yield each run: every arm's label with the numbers behind it, then how far the judges agree."""
    for one in result.runs:
        questions, judges = plural(len(one.run.question_texts), "question"), plural(len(one.run.counted), "measure")
        yield one_line(f"{one.run.name}: {questions}, {judges}")
        for arm in one.arms:
            yield f"  {one_line(arm.arm)}: {label_words(arm.label)}"
            for delta in arm.deltas:
                yield f"    {one_line(delta_words(delta))}"
        yield from _agreement_lines(one)


def odd_measure_lines(result: CrossJudgement) -> Iterator[str]:
    """Yield a line for each measure that has no say, with the reason, and for each with a say that tells no answer from another."""
    for one in result.runs:
        yield from map(one_line, constant_words(one.run))
        for measure in one.run.measures:
            if not measure.counts:
                yield one_line(f"{measure.name} of {one.run.name} is not pooled with the others. {left_out_words(measure)}")


def _agreement_lines(one: CrossJudgedRun) -> Iterator[str]:
    for arm in one.arms:
        for pair in arm.pairs:
            who = words.listed(list(pair.measures))
            found = f"{share_words(pair.directions)} same direction, kappa {coefficient(pair.directions.kappa)}"
            yield f"  {one_line(who)} on {one_line(arm.arm)}: {found}, rank correlation {coefficient(pair.rank_correlation)}"
        yield f"  Krippendorff's alpha of directions, {one_line(arm.arm)}: {_alpha(arm.direction_alpha)}"
    yield f"  Krippendorff's alpha of points, all answers: {_alpha(one.points_alpha)}"


def _alpha(found: AlphaOrReason) -> str:
    if found.alpha is None:
        return found.reason or words.MISSING
    return f"{coefficient(found.alpha)} {coefficient_interval(found.alpha)}"
