"""Whether a file is made as a gate certificate is: these fields and no others, each of its type and within its limits.

It is looked at before anything is derived: so no number of a file that someone else wrote can be so large that deriving never ends.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

Json = Any
"""A value as json.loads gives it; every use of one checks what it is."""

Check = Callable[[Json], bool]

MOST_RUNS = 50
"""Of a scenario in a batch."""
_FRACTION = re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?")


def shape_problems(stated: Mapping[str, Json]) -> Iterator[str]:
    """Yield each field of a certificate that is missing, unknown, or of another type than it should be."""
    yield from _of(stated, _CERTIFICATE, "")
    for field, fields in _PARTS.items():
        if isinstance(stated.get(field), dict):
            yield from _of(stated[field], fields, f"{field}.")
    scenarios = stated.get("scenarios")
    for place, entry in enumerate(scenarios if isinstance(scenarios, list) else ()):
        name = f"scenarios.{place}"
        if not isinstance(entry, dict):
            yield f"{name} is no scenario"
            continue
        yield from _of(entry, _SCENARIO, f"{name}.")
        if isinstance(entry.get("pool"), dict):
            yield from _of(entry["pool"], _POOL, f"{name}.pool.")


def _of(stated: Mapping[str, Json], fields: Mapping[str, Check], where: str) -> Iterator[str]:
    for name in stated:
        if name not in fields:
            yield f"{where}{name} is no field of a certificate"
    for name, fits in fields.items():
        if name not in stated:
            yield f"{where}{name} is missing"
        elif not fits(stated[name]):
            yield f"{where}{name} is not what it should be: {str(stated[name])[:80]!r}"


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def _is_text_or_none(value: Json) -> bool:
    return value is None or _is_text(value)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_number(value: Json) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_count(value: Json) -> bool:
    return type(value) is int and 0 <= value <= MOST_RUNS


def _is_fraction(value: Json) -> bool:
    """Whether it is text of a fraction in lowest terms, from 0 to 1."""
    if not isinstance(value, str) or not _FRACTION.fullmatch(value) or value.endswith("/0"):
        return False
    fraction = Fraction(value)
    return str(fraction) == value and fraction <= 1


def _is_fraction_or_none(value: Json) -> bool:
    return value is None or _is_fraction(value)


def _is_rate(value: Json) -> bool:
    return isinstance(value, float) and 0 <= value <= 1


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_object_or_none(value: Json) -> bool:
    return value is None or isinstance(value, dict)


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_texts_or_none(value: Json) -> bool:
    return value is None or _is_texts(value)


def _one_of(*names: str) -> Check:
    return lambda value: isinstance(value, str) and value in names


_COUNTS: tuple[str, ...] = ("baseline_passed", "baseline_graded", "candidate_passed", "candidate_graded")
_BATCH: Mapping[str, Check] = {"id": _is_text, "content_digest": _is_text, "commit": _is_text_or_none, "recorded_at": _is_text}
_POOL: Mapping[str, Check] = {"marks": _is_text, "stop": _one_of("limit", "identity", "change", "end"), "batches": _is_texts}
_SCENARIO: Mapping[str, Check] = {
    "scenario_id": lambda value: isinstance(value, str),
    "baseline_tier": _is_text,
    "candidate_tier": _is_text,
    "tier": _is_text,
    "rule": _is_text,
    **dict.fromkeys(_COUNTS, _is_count),
    "pool": _is_object_or_none,
    "baseline_outcome": _is_text_or_none,
    "candidate_outcome": _is_text_or_none,
    "legs_differ": _is_flag,
    "p": _is_fraction_or_none,
    "smallest_p": _is_fraction_or_none,
    "reading": _is_text,
    "unverified_reason": _is_text_or_none,
    "unstable_critical": _is_flag,
    "gates": _is_flag,
}
_PARTS: Mapping[str, Mapping[str, Check]] = {
    "baseline": _BATCH,
    "candidate": _BATCH,
    "strictness": {"require_replay_determinism": _is_flag},
    "totals": dict.fromkeys(_COUNTS, _is_number),
    "suite": {
        "scenarios": _is_number,
        "p": _is_rate,
        "exact_p": _is_fraction_or_none,
        "relative_error": _is_rate,
        "drop": _is_flag,
    },
    "determinism": {"verified": _is_number, "differing": _is_texts},
    "bound": {"at_most": _is_fraction, "covers": _is_text, "does_not_cover": _is_texts},
}
_CERTIFICATE: Mapping[str, Check] = {
    "format": _is_text,
    "version": lambda value: type(value) is int,
    "tenant": _is_text,
    "project": _is_text,
    "baseline": _is_object,
    "candidate": _is_object,
    "choice": _is_text,
    "branch": _is_text_or_none,
    "history": _is_texts_or_none,
    "strictness": _is_object,
    "single_level": _is_fraction,
    "listed_level": _is_fraction,
    "suite_level": _is_fraction,
    "k": lambda value: _is_number(value) and value >= 1,
    "threshold": _is_fraction,
    "scenarios": _is_list,
    "totals": _is_object,
    "suite": _is_object,
    "is_seed": _is_flag,
    "history_error": lambda value: value is None or isinstance(value, str),
    "determinism": _is_object_or_none,
    "bound": _is_object,
    "gating": _is_list,
    "fails": _is_flag,
    "digest": _is_text,
}
