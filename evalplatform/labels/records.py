"""What reading a file of labels leaves."""

from pydantic import AwareDatetime

from evalplatform.kernel.values import Value
from evalplatform.ports.labels import Label, Scale


class LabelDefaults(Value):
    """What rows do not say themselves: who labelled, on which scale a plain `value` is, and when it is now.

    A row without `labelled_at` is of `now`; a row of a later time is refused, since the latest label counts.
    """

    labeller: str | None = None
    scale: Scale | None = None
    now: AwareDatetime


class ReadLabel(Value):
    """A label and the 1-based line it stands on; `is_dated` is false where the file does not say when, so the time is that of reading."""

    label: Label
    line: int
    is_dated: bool


class LabelFile(Value):
    """A file of labels as read: every label once, in the file's order.

    `unjudged_rows` counts the rows with no judgement, which say nothing. `repeated` counts judgements that say again what an earlier row
    of the file said. `passed_over` names the columns that were not read.
    """

    file: str
    digest: str
    rows: int
    unjudged_rows: int
    repeated: int
    labels: tuple[ReadLabel, ...]
    passed_over: tuple[str, ...]
