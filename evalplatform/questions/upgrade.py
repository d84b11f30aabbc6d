"""Older and looser spellings of a record to the one spelling of questions.v2, with a sentence for each kind that is not silent."""

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache

from pydantic import JsonValue

from evalplatform.kernel.text import plural
from evalplatform.questions.cleaning import UncleanValueError, cleaned, is_blank, is_nan, is_nan_text
from evalplatform.questions.keys import TYPED_KEYS
from evalplatform.questions.raw import RawRecord

POSITIONAL_ID_DIGITS = 4
_WATCHED_KEYS = (*TYPED_KEYS, "id")
_TYPO_SIMILARITY = 0.85


@dataclass(slots=True)
class Upgrades:
    """What was changed while reading, counted by kind: each kind gives one sentence, in the order of first sight."""

    _seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    def note(self, sentence: str, *, line: int) -> None:
        """Count one more change. `sentence` may hold `{n}`, which becomes `1 question`, `2 questions`."""
        count, first_line = self._seen.get(sentence, (0, line))
        self._seen[sentence] = (count + 1, first_line)

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each kind of change, with how many questions and the first line."""
        return tuple(
            f"{sentence.replace('{n}', plural(count, 'question'))} (first on line {line})."
            for sentence, (count, line) in self._seen.items()
        )


def upgraded(record: RawRecord, upgrades: Upgrades, *, forbids_text: bool) -> dict[str, JsonValue]:
    """Return the record's fields under their questions.v2 names, free of NaN.

    Silent: `text` to `question` in a file that is not stamped questions.v2; a null where it means "not given". With a sentence:
    `question_text` to `question`, `question_id` to `id`, `text` in a stamped questions.v2 file, a list as `metadata` to
    `{"items": [...]}`, the text `nan` read as missing, a key that looks like a typo of one we use.

    Raises:
        QuestionSetError: `text` beside another `question`, or a value that no record can hold.
    """
    fields = _without_missing(record, upgrades)
    _rename_question(fields, record, upgrades, forbids_text=forbids_text)
    if "id" not in fields and "question_id" in fields:
        fields["id"] = fields.pop("question_id")
        upgrades.note("{n}: 'question_id' was read as 'id'", line=record.line)
    if isinstance(fields.get("metadata"), list):
        fields["metadata"] = {"items": fields["metadata"]}
        upgrades.note("{n}: a list as 'metadata' was read as {\"items\": [...]}", line=record.line)
    for key in fields:
        if meant := _likely_meant(key):
            upgrades.note(f"{{n}}: {key!r} is kept but not used; did you mean {meant!r}?", line=record.line)
    return fields


def assigned_ids(records: list[RawRecord], fields: list[dict[str, JsonValue]], upgrades: Upgrades) -> list[str]:
    """Return one id a record: its own as text, else `q0000` by 0-based position, prefixed by `_` until no record of the file uses it.

    A positional id depends on the file's order alone, so the same file always gives the same ids.

    Raises:
        QuestionSetError: an id that is neither text nor an integer, or one used twice (1 and "1" are the same id, and so are "a" and "a ").
    """
    own = [_own_id(record, values) for record, values in zip(records, fields, strict=True)]
    places: dict[str, RawRecord] = {}
    for record, own_id in zip(records, own, strict=True):
        if own_id is None:
            continue
        bare = own_id.strip()
        if bare in places:
            first = places[bare]
            raise record.refusal(
                f"{own_id!r} is used twice{_spaced_note(own_id, own[first.position])}: first on line {first.line} "
                f"(question {first.position + 1}), again on line {record.line} (question {record.position + 1}).",
                field="id",
            )
        places[bare] = record
    ids: list[str] = []
    for record, own_id in zip(records, own, strict=True):
        if own_id is None:
            own_id = f"q{record.position:0{POSITIONAL_ID_DIGITS}d}"
            while own_id in places:
                own_id = f"_{own_id}"
            places[own_id] = record
            upgrades.note("{n}: no 'id', so numbered by position as q0000 and up; a new order would give new ids", line=record.line)
        ids.append(own_id)
    return ids


def _spaced_note(own_id: str, first_id: str | None) -> str:
    return "" if own_id == first_id else f", as {first_id!r}, with other white space around it"


@lru_cache(maxsize=1024)
def _likely_meant(key: str) -> str | None:
    if key in _WATCHED_KEYS:
        return None
    near = get_close_matches(key, _WATCHED_KEYS, n=1, cutoff=_TYPO_SIMILARITY)
    return near[0] if near else None


def _own_id(record: RawRecord, fields: dict[str, JsonValue]) -> str | None:
    value = fields.get("id")
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise record.refusal(f"must be a string or an integer, not {value!r}.", field="id")
    text = str(value)
    if is_blank(text):
        raise record.refusal("is only white space.", field="id")
    return text


def _without_missing(record: RawRecord, upgrades: Upgrades) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for key, value in record.fields.items():
        if is_nan(value) or (value is None and key != "expected_skill"):
            continue
        if is_nan_text(value):
            upgrades.note(f"{{n}}: the text 'nan' in {key!r} was read as missing", line=record.line)
            continue
        try:
            cleaned(key)
            fields[key] = cleaned(value)
        except UncleanValueError as error:
            raise record.refusal(error.why, field=_shown(f"{key}{error.path}")) from None
    return fields


def _rename_question(fields: dict[str, JsonValue], record: RawRecord, upgrades: Upgrades, *, forbids_text: bool) -> None:
    if "text" in fields:
        if "question" in fields and fields["question"] != fields["text"]:
            raise record.refusal("says something else than 'question'; a record carries its question once.", field="text")
        fields["question"] = fields.pop("text")
        if forbids_text:
            upgrades.note("{n}: 'text', which questions.v2 forbids, was read as 'question'", line=record.line)
    if "question" not in fields and "question_text" in fields:
        fields["question"] = fields.pop("question_text")
        upgrades.note("{n}: 'question_text' was read as 'question'", line=record.line)


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
