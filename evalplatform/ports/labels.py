"""A label: what a person (or another labeller) said of one answer, run or pair, to measure judges against."""

from pydantic import AwareDatetime, Field

from evalplatform.kernel.values import Value

ONE_LINE = r"^[^\x00-\x1f]+$"  # names and ids: no control characters, since Postgres refuses NUL in text


class Label(Value):
    """One labeller's word on one subject.

    `subject_kind` says what `subject` names: an answer (by digest), a run or a pair (by id). `scale` says how to read `value`: points are
    compared by rank correlation and by agreement at the pass mark, kappa only on verdicts. A labeller who changes their mind adds a label.
    """

    subject_kind: str = Field(pattern=ONE_LINE)
    subject: str = Field(pattern=ONE_LINE)
    labeller: str = Field(pattern=ONE_LINE)
    scale: str = Field(pattern=ONE_LINE)
    value: float | str
    labelled_at: AwareDatetime
