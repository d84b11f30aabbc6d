"""A label: what a person (or another labeller) said of one answer or run, to measure judges against; and the store that keeps labels."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, Self

from pydantic import AwareDatetime, Field, model_validator

from evalplatform.kernel.values import Value

if TYPE_CHECKING:
    from evalplatform.ports.audit import AuditEntry

ONE_LINE = r"^[^\x00-\x1f]+$"  # names and ids: no control characters, since Postgres refuses NUL in text

SubjectKind = Literal["answer", "run"]
Scale = Literal["points", "verdict"]
Verdict = Literal["passed", "failed"]
MAX_POINTS = 100.0


class Label(Value):
    """One labeller's word on one subject.

    `subject_kind` says what `subject` names: an answer (by `kernel.digests.answer_digest`) or a run (by id). `scale` says how to read
    `value`: points from 0 to 100 are compared by rank correlation and by agreement at the pass mark, kappa only on verdicts. A labeller who
    changes their mind adds a label: the latest counts.
    """

    subject_kind: SubjectKind
    subject: str = Field(pattern=ONE_LINE)
    labeller: str = Field(pattern=ONE_LINE)
    scale: Scale
    value: Annotated[float, Field(strict=True)] | Verdict
    labelled_at: AwareDatetime

    @model_validator(mode="after")
    def _value_is_of_its_scale(self) -> Self:
        if (self.scale == "points") is isinstance(self.value, str):
            raise ValueError(f"{self.value!r} is no value of the scale {self.scale!r}")
        if not isinstance(self.value, str) and not 0 <= self.value <= MAX_POINTS:
            raise ValueError(f"points are from 0 to {MAX_POINTS:g}, not {self.value}")
        return self


class AddedLabels(Value):
    """What adding labels came to: how many are new, and how many were there already."""

    added: int
    already_there: int


class LabelStore(Protocol):
    """The labels of one project, with the record of who imported them. Safe for concurrent writers, across processes too."""

    def add(self, labels: Sequence[Label], *, entry: "AuditEntry") -> AddedLabels:
        """Add all the labels and the audit entry in one transaction, or nothing; the same label twice is one.

        Raises:
            InputError: a labeller has another value for the same subject, scale and time.
            StorageUnavailableError: the store does not answer; adding again is safe.
        """
        ...

    def find(self, subject_kind: SubjectKind, subjects: Iterable[str]) -> list[Label]:
        """Return every label of the subjects, oldest `labelled_at` first."""
        ...

    def labels(self) -> Iterator[Label]:
        """Iterate over all labels, in the order they were added."""
        ...

    def close(self) -> None:
        """Close; calling it twice is fine."""
        ...
