"""How runs are compared in one factor: nothing where they agree, else the refusal that shows what a person needs to see of it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from evalplatform.comparisons.question_differences import question_difference
from evalplatform.comparisons.refusals import (
    ArmsDiffer,
    FactorDiffers,
    FactorRefusal,
    OnlySomeJudged,
    QuestionsDiffer,
    QuestionTextsDiffer,
    RunArms,
    RunSays,
)

NOT_SET = "not set"


class Named(NamedTuple):
    """The factor that a difference is about. With `unknown_passes` a run that says nothing differs from none."""

    name: str
    words: str
    unknown_passes: bool = False


Sides = Sequence[tuple[str, Any]]
"""What every run says, by its name; None where it says nothing."""
Difference = Callable[[Named, Sides], FactorRefusal | None]


def value_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare plain values."""
    return _differs(factor, sides) if _are_unequal(_compared(factor, sides)) else None


def plugin_set_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare plugin sets, pairs of id and label, by what they do where all runs say it, and else by their labels."""
    all_have_ids = all(plugin_set_id is not None for _, (plugin_set_id, _) in sides)
    compared = [plugin_set_id if all_have_ids else label for _, (plugin_set_id, label) in sides]
    if not _are_unequal(compared):
        return None
    labels_differ = _are_unequal([label for _, (_, label) in sides])
    return _differs(factor, [(run, label if labels_differ else f"{label} ({plugin_set_id})") for run, (plugin_set_id, label) in sides])


def settings_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare settings by name. One that is null or absent is not set; the settings that differ are shown alone."""
    compared = _compared(factor, sides)
    stated = [settings for settings in compared if settings is not None]
    names = dict.fromkeys(name for settings in stated for name in settings)
    differing = [name for name in names if _are_unequal([settings.get(name) for settings in stated])]
    if not differing and len(stated) in (0, len(compared)):
        return None
    return _differs(factor, [(run, _settings_shown(settings, differing)) for run, settings in sides])


def arms_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare lists of arms, their order too."""
    if not _are_unequal([arms for _, arms in sides]):
        return None
    return ArmsDiffer(sides=tuple(RunArms(run=run, arms=arms) for run, arms in sides))


def texts_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare texts question by question, over the questions that several runs have."""
    found = question_difference([(run, texts) for run, texts in sides if texts is not None])
    if found is None:
        return None
    return QuestionTextsDiffer(factor=factor.name, words=factor.words, runs=found.runs, questions=found.questions, first=found.first)


def order_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare lists of question ids, and find where they part first."""
    lists = [ids for _, ids in sides]
    if not _are_unequal(lists):
        return None
    position, there = next((place, ids) for place, ids in enumerate(zip_longest(*lists)) if _are_unequal(ids))
    says = tuple(RunSays(run=run, says=question) for (run, _), question in zip(sides, there, strict=True))
    return QuestionsDiffer(factor=factor.name, words=factor.words, position=position, sides=says)


def judged_difference(factor: Named, sides: Sides) -> FactorRefusal | None:
    """Compare whether runs were judged."""
    judged, unjudged = (tuple(run for run, is_judged in sides if is_judged is wanted) for wanted in (True, False))
    return OnlySomeJudged(judged=judged, unjudged=unjudged) if judged and unjudged else None


def _compared(factor: Named, sides: Sides) -> list[Any]:
    return [value for _, value in sides if value is not None or not factor.unknown_passes]


def _are_unequal(values: Sequence[object]) -> bool:
    return any(value != values[0] for value in values[1:])


def _differs(factor: Named, sides: Sides) -> FactorDiffers:
    says = tuple(RunSays(run=run, says=None if value is None else _shown(value)) for run, value in sides)
    return FactorDiffers(factor=factor.name, words=factor.words, sides=says)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _settings_shown(settings: Mapping[str, object] | None, names: Sequence[str]) -> str | None:
    if settings is None:
        return None
    shown = names or [name for name, value in settings.items() if value is not None]
    return ", ".join(f"{name} {_shown_setting(settings.get(name))}" for name in shown) or "provider defaults"


def _shown_setting(value: object) -> str:
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_shown_setting(inner)}' for name, inner in value.items())})"
    return NOT_SET if value is None else str(value).lower() if isinstance(value, bool) else _shown(value)
