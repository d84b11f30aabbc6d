"""An audit entry: who changed what, from what, to what."""

from pydantic import AwareDatetime, Field, JsonValue

from evalplatform.kernel.values import Value
from evalplatform.runs.records import ONE_LINE


class AuditEntry(Value):
    """One change made through the platform. `old_value` is None where nothing was there before, `new_value` where something was removed."""

    actor: str = Field(pattern=ONE_LINE)
    action: str = Field(pattern=ONE_LINE)
    subject: str = Field(pattern=ONE_LINE)
    old_value: JsonValue = None
    new_value: JsonValue = None
    happened_at: AwareDatetime
