"""What a file holds before any meaning is read into it: records with their place, and the stamps around them."""

from dataclasses import dataclass, field

from evalplatform.kernel.errors import QuestionSetError


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record as it stands in the file. `position` counts from 0; `line` is the 1-based line where the record starts."""

    file: str
    position: int
    line: int
    fields: dict[str, object]

    def refusal(self, rule: str, *, field: str | None = None, nearest: str | None = None) -> QuestionSetError:
        """Return the error that names this record's file and line."""
        return QuestionSetError(rule, file=self.file, line=self.line, field=field, nearest=nearest)


@dataclass(frozen=True, slots=True)
class RawFile:
    """All records of a file, in order. `stamps` holds the keys beside `questions`; it is empty for formats that have no room for any."""

    records: list[RawRecord]
    stamps: dict[str, object] = field(default_factory=dict)
    is_bare_list: bool = False
