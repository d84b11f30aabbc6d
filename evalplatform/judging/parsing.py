"""A judge's reply to numbers, or to the reason why it has none. Nothing is clamped, guessed or filled in.

Source: treatment-arms spec, section 6.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field, JsonValue

from evalplatform.kernel.values import Value

WRONG_FIGURE_CAP_POINTS = 40.0
"""The most that `correctness` can be once the judge has called a figure of the answer wrong."""

_FENCE = "```"
_FENCE_LABEL = re.compile(r"[\w+-]*")
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_VERDICT = r"\s*(?:[a-z]+ly\s+)?(wrong|incorrect|correct|right)\b"
_VERDICT_IN_TEXT = re.compile(rf"(?::|\s[-–—]|\(){_VERDICT}", re.IGNORECASE)
_VERDICT_ALONE = re.compile(rf"(?:^|:|\s[-–—]|\(){_VERDICT}", re.IGNORECASE)
_WRONG = frozenset({"wrong", "incorrect"})


class Unreadable(Value):
    """Why a reply gives no points. `detail` says what was found, for the person who looks at the raw reply."""

    reason: Literal["malformed_reply", "out_of_range"]
    detail: str


class RubricReply(Value):
    """The numbers of a readable reply, after the wrong-figure cap.

    `unread_claims` holds the 0-based indexes of numeric claims whose verdict could not be read; `claims_are_list` is False where the judge
    gave `numeric_claims` in a form that cannot be read at all.
    """

    dimensions: dict[str, float]
    caps: dict[str, JsonValue] = Field(default_factory=dict)
    unread_claims: tuple[int, ...] = ()
    claims_are_list: bool = True


class NotJsonError(ValueError):
    """A reply holds no JSON that can be read."""


def reply_json(reply: str) -> object:
    """Return the JSON value of a reply: the whole text, else its first fenced block, else what stands from the first `{` to the last `}`.

    The whole text comes first because a JSON string may itself hold a fence. Two objects, or a trailing comma, are not repaired.

    Raises:
        NotJsonError: saying why the last of the three could not be read.
    """
    if not reply.strip():
        raise NotJsonError("the reply is empty")
    fenced = _first_fenced_block(reply)
    opening, closing = reply.find("{"), reply.rfind("}")
    candidates = [reply.strip()]
    if fenced is not None:
        candidates.append(fenced)
    if 0 <= opening < closing:
        candidates.append(reply[opening : closing + 1])
    if len(candidates) == 1 and opening < 0:
        try:
            return json.loads(candidates[0])
        except (ValueError, RecursionError):
            raise NotJsonError("the reply holds no JSON object") from None
    why = ""
    for candidate in candidates:
        try:
            return json.loads(candidate)
        except RecursionError:
            why = "nested too deeply"
        except ValueError as error:
            why = str(error)
    raise NotJsonError(why)


def _first_fenced_block(reply: str) -> str | None:
    opening = reply.find(_FENCE)
    closing = reply.find(_FENCE, opening + len(_FENCE))
    if opening < 0 or closing < 0:
        return None
    inside = reply[opening + len(_FENCE) : closing]
    label = _FENCE_LABEL.match(inside)
    return inside[label.end() :] if label else inside


def read_rubric_reply(reply: str, *, dimensions: Iterable[str]) -> RubricReply | Unreadable:
    """Return the points of every dimension, or why the reply gives none.

    A number, or text that spells one, from 0 to 100 is read as it is. Bool, null, NaN, other text ("8/10", "85%") and a missing dimension
    or `aggregate` are malformed; a number outside 0 to 100 is out of range and never clamped; a reply with both faults is malformed.
    The value of `aggregate` is not used: the program computes it.
    """
    try:
        fields = reply_json(reply)
    except NotJsonError as error:
        return Unreadable(reason="malformed_reply", detail=str(error))
    if not isinstance(fields, dict):
        return Unreadable(reason="malformed_reply", detail="the reply is JSON but no object")
    if "aggregate" not in fields:
        return Unreadable(reason="malformed_reply", detail="the reply has no 'aggregate'")
    numbers = {name: points_number(fields.get(name)) for name in dimensions}
    unread = [name for name, number in numbers.items() if number is None]
    if unread:
        return Unreadable(reason="malformed_reply", detail=f"no number in: {', '.join(unread)}")
    points = {name: number for name, number in numbers.items() if number is not None}
    outside = [f"{name} = {number:g}" for name, number in points.items() if not 0 <= number <= 100]
    if outside:
        return Unreadable(reason="out_of_range", detail=f"not within 0 to 100: {', '.join(outside)}")
    return _with_cap(points, fields.get("numeric_claims"))


def points_number(value: object) -> float | None:
    """Return the number a judge gave, whatever its range, or None where it gave none.

    Bool, null, NaN, an infinity and text that spells no number are none. An integer too large for a float comes back as a very large float,
    so that it counts as out of range.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return max(-1e308, min(1e308, value)) + 0.0
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        value = float(value)
    if isinstance(value, float) and math.isfinite(value):
        return value + 0.0  # -0.0 becomes 0.0
    return None


def claim_is_wrong(claim: object) -> bool | None:
    """Return what a judge said of one figure: True for wrong or incorrect, False for correct or right, None where it cannot be read.

    A text's verdict stands after `:`, after a space and a dash, or after `(`, with at most one adverb in -ly before it; only the first
    readable one counts. An object's verdict is its `verdict`, which may also start with it. "not wrong" is not read as either.
    """
    if isinstance(claim, dict):
        verdict = claim.get("verdict")
        found = _VERDICT_ALONE.search(verdict) if isinstance(verdict, str) else None
    else:
        found = _VERDICT_IN_TEXT.search(claim) if isinstance(claim, str) else None
    return None if found is None else found.group(1).lower() in _WRONG


def _with_cap(points: dict[str, float], claims: object) -> RubricReply:
    if claims is None:
        return RubricReply(dimensions=points)
    if not isinstance(claims, list):
        return RubricReply(dimensions=points, claims_are_list=False)
    verdicts = [claim_is_wrong(claim) for claim in claims]
    unread = tuple(index for index, verdict in enumerate(verdicts) if verdict is None)
    judged = points.get("correctness")
    if True not in verdicts or judged is None or judged <= WRONG_FIGURE_CAP_POINTS:
        return RubricReply(dimensions=points, unread_claims=unread)
    return RubricReply(
        dimensions={**points, "correctness": WRONG_FIGURE_CAP_POINTS},
        caps={"correctness": {"judged": judged, "rule": "wrong_figure"}},
        unread_claims=unread,
    )
