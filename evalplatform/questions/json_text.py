"""JSON and JSON Lines to raw records, with the line each record starts on.

Python's decoder gives no positions. Decoding one member at a time does, and reads the text once.
"""

import json
import re
from collections.abc import Iterator

from evalplatform.kernel.errors import QuestionSetError, nearest_name
from evalplatform.questions.raw import RawFile, RawRecord

_SPACE = re.compile(r"[ \t\n\r]*")


class _RepeatedKeyError(Exception):
    """A key stands twice in one object, so one of its values would be lost."""


def json_records(text: str, *, file: str) -> RawFile:
    """Return the records of a JSON text: an object with a `questions` list, or a bare list.

    Raises:
        QuestionSetError: not JSON, no `questions` list, a record that is not an object, a key given twice in one object.
    """
    cursor = _Cursor(text, file=file)
    opening = cursor.peek()
    if opening == "[":
        raw = RawFile(records=list(_records(cursor)), is_bare_list=True)
    elif opening == "{":
        raw = _object_file(cursor)
    else:
        raise QuestionSetError("must be a JSON object with a 'questions' list, or a list of questions.", file=file, line=cursor.line)
    if cursor.peek():
        raise QuestionSetError(
            "has more text after the end of the JSON value; one record a line is JSON Lines, in a file that ends in .jsonl.",
            file=file,
            line=cursor.line,
        )
    return raw


def json_lines_records(text: str, *, file: str) -> RawFile:
    """Return the records of a JSON Lines text: one object a line, blank lines skipped.

    Raises:
        QuestionSetError: a line that is not one JSON object.
    """
    records: list[RawRecord] = []
    for line, row in enumerate(text.split("\n"), start=1):  # not splitlines: U+2028 may stand inside a JSON string
        if not row.strip():
            continue
        cursor = _Cursor(row, file=file, first_line=line)
        records.append(_record(cursor, position=len(records)))
        if cursor.peek():
            raise QuestionSetError("has more text after its JSON object; JSON Lines holds one object a line.", file=file, line=line)
    return RawFile(records=records)


def decoded_json(text: str) -> object:
    """Return the value of a small JSON text; NaN stays a float NaN.

    Raises:
        ValueError: it is not JSON, with the reason and place.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except _RepeatedKeyError as error:
        raise ValueError(f"the key {error} stands twice in one object") from None


def _object_file(cursor: "_Cursor") -> RawFile:
    stamps: dict[str, object] = {}
    records: list[RawRecord] | None = None
    for line in cursor.members("{", "}"):
        key = cursor.value()
        if not isinstance(key, str):
            raise QuestionSetError("a key must be text in double quotes.", file=cursor.file, line=line)
        if key in stamps or (key == "questions" and records is not None):
            raise QuestionSetError("stands twice in one object; one of the two would be lost.", file=cursor.file, line=line, field=key)
        cursor.expect(":")
        if key == "questions":
            if cursor.peek() != "[":
                raise QuestionSetError("must be a list of questions.", file=cursor.file, line=line, field=key)
            records = list(_records(cursor))
        else:
            stamps[key] = cursor.value()
    if records is None:
        raise _no_questions_list(stamps, file=cursor.file)
    return RawFile(records=records, stamps=stamps)


def _no_questions_list(stamps: dict[str, object], *, file: str) -> QuestionSetError:
    if "question" in stamps or "id" in stamps:  # the first record of a JSON Lines file, under the wrong ending
        return QuestionSetError("is one question, not a set; one record a line is JSON Lines, in a file that ends in .jsonl.", file=file)
    keys = ", ".join(map(repr, stamps)) or "none"
    nearest = "questions" if nearest_name("questions", stamps) else None
    return QuestionSetError(f"has no 'questions' list (its keys: {keys}).", file=file, nearest=nearest)


def _records(cursor: "_Cursor") -> Iterator[RawRecord]:
    for position, _ in enumerate(cursor.members("[", "]")):
        yield _record(cursor, position=position)


def _record(cursor: "_Cursor", *, position: int) -> RawRecord:
    cursor.peek()
    line = cursor.line
    fields = cursor.value()
    if not isinstance(fields, dict):
        raise QuestionSetError(f"question {position + 1} must be an object with 'id' and 'question'.", file=cursor.file, line=line)
    return RawRecord(file=cursor.file, position=position, line=line, fields=fields)


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(repr(next(key for key, _ in pairs if key in seen or seen.add(key))))  # type: ignore[func-returns-value]
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_object_of)


class _Cursor:
    """A place in a JSON text that moves forward value by value and knows its line."""

    def __init__(self, text: str, *, file: str, first_line: int = 1) -> None:
        self.file = file
        self.line = first_line
        self._text = text
        self._at = 0

    def peek(self) -> str:
        """Move over white space and return the next character, or an empty text at the end."""
        space = _SPACE.match(self._text, self._at)
        self._move(space.end() if space else self._at)
        return self._text[self._at : self._at + 1]

    def expect(self, character: str) -> None:
        """Move over `character`."""
        if self.peek() != character:
            raise self._refusal(f"expected {character!r}")
        self._at += 1

    def value(self) -> object:
        """Move over one JSON value and return it."""
        self.peek()
        try:
            value, end = _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            self._move(error.pos)
            raise self._refusal(error.msg) from None
        except RecursionError:
            raise self._refusal("it is nested too deeply") from None
        except _RepeatedKeyError as error:
            raise self._refusal(f"the key {error} stands twice in one object") from None
        except ValueError:  # Python converts no integer of more than 4,300 digits
            raise self._refusal("an integer has too many digits") from None
        self._move(end)
        return value

    def members(self, opening: str, closing: str) -> Iterator[int]:
        """Yield the line of each member between the brackets; the caller moves over the member."""
        self.expect(opening)
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            self.peek()
            yield self.line
            if self.peek() == closing:
                self._at += 1
                return
            self.expect(",")

    def _move(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def _refusal(self, why: str) -> QuestionSetError:
        column = self._at - self._text.rfind("\n", 0, self._at)
        return QuestionSetError(f"is not JSON at column {column}: {why}.", file=self.file, line=self.line)
