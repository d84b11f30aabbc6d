"""OpenTelemetry spans out of OTLP's JSON form: plain values in place of its wrapped ones."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError
from evalplatform.kernel.text import clip

Attributes = Mapping[str, object]
_ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")
_SHOWN_KEY_CHARS = 80
_SCOPE_FIELDS = ("scopeSpans", "instrumentationLibrarySpans")  # the second until OTLP 0.15


class SpanEvent(NamedTuple):
    """An event of a span, with its time in nanoseconds."""

    time: int
    name: str
    attributes: Attributes


class Span(NamedTuple):
    """One span. Times are in nanoseconds since 1970, 0 where they are not stated; `error` is None where it did not fail."""

    line: int
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    attributes: Attributes
    events: tuple[SpanEvent, ...]
    error: str | None
    resource: Attributes

    @property
    def all_attributes(self) -> Attributes:
        """Its attributes over those of its resource."""
        return {**self.resource, **self.attributes}


def spans_in(value: object, line: int) -> Iterator[Span]:
    """Iterate over the spans of one export, an object with `resourceSpans`.

    Raises:
        TraceError: it is none, or a span lacks its ids.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("resourceSpans"), list):
        kinds = [name for name in ("resourceLogs", "resourceMetrics") if isinstance(value, Mapping) and name in value]
        held = f" It holds `{kinds[0]}`, which are no spans." if kinds else ""
        raise TraceError(f"must be an export of spans, an object with `resourceSpans`.{held}")
    for resource_position, of_resource in enumerate(value["resourceSpans"]):
        where = f"resourceSpans[{resource_position}]"
        resource = _object(_object(of_resource, where).get("resource") or {}, f"{where}.resource")
        shared = plain_attributes(resource.get("attributes"), f"{where}.resource.attributes")
        for scope_field in _SCOPE_FIELDS:
            for scope_position, of_scope in enumerate(_list(_object(of_resource, where).get(scope_field), f"{where}.{scope_field}")):
                place = f"{where}.{scope_field}[{scope_position}]"
                for position, span in enumerate(_list(_object(of_scope, place).get("spans"), f"{place}.spans")):
                    yield _span(_object(span, f"{place}.spans[{position}]"), shared, line, f"{place}.spans[{position}]")


def plain_attributes(pairs: object, where: str) -> dict[str, object]:
    """Return OTLP's list of keys and wrapped values as a dict of plain values. Raises TraceError where it is none that says one thing."""
    plain: dict[str, object] = {}
    for position, pair in enumerate(_list(pairs, where)):
        pair = _object(pair, f"{where}[{position}]")
        key = pair.get("key")
        if not isinstance(key, str):
            raise TraceError("an attribute needs a key.", field=f"{where}[{position}].key")
        value = _plain(pair.get("value"), f"{where}[{position}].value")
        if key in plain and plain[key] != value:
            raise TraceError(f"names the key {clip(key, _SHOWN_KEY_CHARS)!r} twice, with different values.", field=f"{where}[{position}]")
        plain[key] = value
    return plain


def _span(span: Mapping[str, object], resource: Attributes, line: int, where: str) -> Span:
    trace_id, span_id = span.get("traceId"), span.get("spanId")
    if not isinstance(trace_id, str) or not trace_id or not isinstance(span_id, str) or not span_id:
        raise TraceError("a span needs its traceId and spanId.", field=where)
    status = span.get("status")
    failed = isinstance(status, Mapping) and status.get("code") in _ERROR_CODES
    return Span(
        line=line,
        trace_id=trace_id,
        span_id=span_id,
        parent_id=str(span.get("parentSpanId") or ""),
        name=str(span.get("name") or ""),
        start=_nanoseconds(span.get("startTimeUnixNano"), f"{where}.startTimeUnixNano"),
        end=_nanoseconds(span.get("endTimeUnixNano"), f"{where}.endTimeUnixNano"),
        attributes=plain_attributes(span.get("attributes"), f"{where}.attributes"),
        events=tuple(
            _event(_object(event, f"{where}.events[{position}]"), f"{where}.events[{position}]")
            for position, event in enumerate(_list(span.get("events"), f"{where}.events"))
        ),
        error=str(status.get("message") or "no message") if failed and isinstance(status, Mapping) else None,
        resource=resource,
    )


def _event(event: Mapping[str, object], where: str) -> SpanEvent:
    return SpanEvent(
        time=_nanoseconds(event.get("timeUnixNano"), f"{where}.timeUnixNano"),
        name=str(event.get("name") or ""),
        attributes=plain_attributes(event.get("attributes"), f"{where}.attributes"),
    )


def _plain(value: object, where: str) -> object:
    """Return a wrapped value as a plain one. OTLP writes 64-bit numbers as text, since JSON's readers round them."""
    if value is None:
        return None
    wrapped = _object(value, where)
    if "intValue" in wrapped:
        return _whole_number(wrapped["intValue"], f"{where}.intValue")
    if "arrayValue" in wrapped:
        items = _list(_object(wrapped["arrayValue"], f"{where}.arrayValue").get("values"), f"{where}.arrayValue.values")
        return [_plain(item, f"{where}.arrayValue.values[{position}]") for position, item in enumerate(items)]
    if "kvlistValue" in wrapped:
        return plain_attributes(_object(wrapped["kvlistValue"], where).get("values"), f"{where}.kvlistValue.values")
    return next((wrapped[kind] for kind in ("stringValue", "boolValue", "doubleValue", "bytesValue") if kind in wrapped), None)


def _nanoseconds(value: object, where: str) -> int:
    return 0 if value is None or value == "" else _whole_number(value, where)


def _whole_number(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) < 25:
        try:
            return int(value)
        except ValueError:
            pass
    raise TraceError("must be a whole number.", field=where)


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TraceError("must be an object.", field=where)
    return value


def _list(value: object, where: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise TraceError("must be a list.", field=where)
    return value
