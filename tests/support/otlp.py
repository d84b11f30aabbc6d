"""OpenTelemetry exports for tests, in the JSON form of OTLP."""

from collections.abc import Mapping

SECOND = 1_000_000_000
BEGIN = 1_790_000_000 * SECOND
Json = dict[str, object]


def wrapped(value: object) -> Json:
    """A value as OTLP writes it: 64-bit numbers as text."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [wrapped(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    return {"stringValue": value}


def attributes(values: Mapping[str, object]) -> list[Json]:
    """Attributes as OTLP writes them."""
    return [{"key": name, "value": wrapped(value)} for name, value in values.items()]


def event(name: str, second: float = 0, **values: object) -> Json:
    """A span event; `__` in a name stands for a dot."""
    named = {key.replace("__", "."): value for key, value in values.items()}
    return {"name": name, "timeUnixNano": str(BEGIN + int(second * SECOND)), "attributes": attributes(named)}


def span(
    span_id: str,
    values: Mapping[str, object],
    *,
    second: float = 0,
    seconds: float = 1,
    parent: str = "",
    trace: str = "t1",
    error: str | None = None,
    events: tuple[Json, ...] = (),
) -> Json:
    """A span that begins `second` seconds into the test's time."""
    begin = BEGIN + int(second * SECOND)
    made: Json = {
        "traceId": trace,
        "spanId": span_id,
        "parentSpanId": parent,
        "name": str(values.get("gen_ai.operation.name", "work")),
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + int(seconds * SECOND)),
        "attributes": attributes(values),
        "events": list(events),
    }
    return made if error is None else {**made, "status": {"code": 2, "message": error}}


def export(*spans: Json, **resource: object) -> Json:
    """One export of spans; `__` in a resource attribute's name stands for a dot."""
    named = {key.replace("__", "."): value for key, value in resource.items()}
    return {"resourceSpans": [{"resource": {"attributes": attributes(named)}, "scopeSpans": [{"spans": list(spans)}]}]}
