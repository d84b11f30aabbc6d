"""Traces of OpenTelemetry with GenAI attributes, as OTLP's JSON: one export a file or a line. A trace is a run.

Spans of a trace may lie anywhere in a file, so they are put down in a temporary file on the way, and only their places stay in memory.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from evalplatform.kernel.errors import TraceError
from evalplatform.kernel.usage import Usage, known_sum
from evalplatform.runs.traces import otel_names as names
from evalplatform.runs.traces.chat_messages import trajectory_of_messages
from evalplatform.runs.traces.json_documents import json_documents
from evalplatform.runs.traces.otel_conversation import conversation_of, model_spans
from evalplatform.runs.traces.otel_grade import grade_found
from evalplatform.runs.traces.otel_spans import Span, SpanEvent, spans_in
from evalplatform.runs.traces.record_fields import checked_scenario, checked_trial, count_of, name_of
from evalplatform.runs.traces.trace import TraceRun, trace_formats

_Places = dict[str, list[tuple[int, int, int]]]
"""Of each trace, its spans: when they began, their number in the file, and where in the temporary file they lie."""


class OtelGenAi:
    """Reads exports of spans."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Return whether a file begins as an export of OTLP."""
        return b'"resourceSpans"' in head or b'"resourceLogs"' in head or b'"resourceMetrics"' in head

    def read(self, path: Path) -> Iterator[TraceRun | TraceError]:
        """Iterate over the traces of a file in the order they began, as `TraceFormat` says."""
        with TemporaryFile() as spool:
            places: _Places = defaultdict(list)
            yield from _spooled(path, spool, places)
            in_order = sorted(places.items(), key=lambda item: (min(item[1])[0], item[0]))
            for position, (trace_id, of_trace) in enumerate(in_order, start=1):
                spans = _once_each(_read_span(spool, offset) for _, _, offset in sorted(of_trace))
                try:
                    yield _run(trace_id, spans, derived_id=f"{path.stem}-{position}")
                except TraceError as error:
                    yield error.placed(file=path, line=spans[0].line, field=_in_trace(trace_id, error.field))


trace_formats.register("otel_genai")(OtelGenAi())


def _spooled(path: Path, spool: BinaryIO, places: _Places) -> Iterator[TraceError]:
    """Put the spans of a file down, and note where; iterate over what cannot be read."""
    number = 0
    for document in json_documents(path):
        if isinstance(document, TraceError):
            yield document
            continue
        exports = document.value if isinstance(document.value, list) else [document.value]
        try:
            for span in (span for export in exports for span in spans_in(export, document.line)):
                places[span.trace_id].append((span.start, number, spool.tell()))
                spool.write(json.dumps(span).encode() + b"\n")
                number += 1
        except TraceError as error:
            yield error.placed(file=path, line=document.line)


def _read_span(spool: BinaryIO, offset: int) -> Span:
    spool.seek(offset)
    span = Span(*json.loads(spool.readline()))
    return span._replace(events=tuple(SpanEvent(*event) for event in span.events))


def _once_each(spans: Iterable[Span]) -> list[Span]:
    """Return spans without those that an exporter sent again: alike in everything but the line."""
    kept: dict[str, list[Span]] = defaultdict(list)
    ordered: list[Span] = []
    for span in spans:
        alike = kept[span.span_id]
        if span._replace(line=0) not in alike:
            alike.append(span._replace(line=0))
            ordered.append(span)
    return ordered


def _run(trace_id: str, spans: Sequence[Span], *, derived_id: str) -> TraceRun:
    conversation = conversation_of(spans)
    if not conversation.messages:
        raise TraceError("holds no message and no tool call; was content captured?")
    parsed = trajectory_of_messages(conversation.messages)
    found = grade_found(spans, parsed.trajectory)
    scenario, trial = names.first_over(spans, names.SCENARIO), names.first_over(spans, names.TRIAL)
    models = {name for span in model_spans(spans) if (name := name_of(names.first_of(span.attributes, names.MODEL)))}
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    is_timed = 0 < start <= end
    return TraceRun(
        line=spans[0].line,
        trace_id=trace_id,
        scenario_id=checked_scenario(derived_id, field=None) if scenario is None else checked_scenario(scenario, field=names.SCENARIO[0]),
        derived_id=scenario is None,
        trial=None if trial is None else checked_trial(trial, field=names.TRIAL[0]),
        trajectory=parsed.trajectory,
        grade=found.grade,
        problems=(*found.problems, *conversation.problems, *parsed.problems),
        created_at=_time(end) if end else None,
        agent=name_of(names.first_over(spans, names.AGENT)),
        model=models.pop() if len(models) == 1 else None,
        usage=_usage(spans),
        seconds=(end - start) / 1e9 if is_timed else None,
    )


def _usage(spans: Sequence[Span]) -> Usage:
    """Return the tokens of all model calls, those of nested agents too; None where no span states them."""
    calls = model_spans(spans)
    prompt = known_sum(count_of(names.first_of(span.attributes, names.INPUT_TOKENS)) for span in calls)
    completion = known_sum(count_of(names.first_of(span.attributes, names.OUTPUT_TOKENS)) for span in calls)
    return Usage(prompt_tokens=None if prompt is None else int(prompt), completion_tokens=None if completion is None else int(completion))


def _time(nanoseconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, tz=UTC)
    except (ValueError, OverflowError, OSError):
        raise TraceError("must be nanoseconds since 1970.", field="endTimeUnixNano") from None


def _in_trace(trace_id: str, field: str | None) -> str:
    return f"trace {trace_id[:32]}" if field is None else f"trace {trace_id[:32]}: {field}"
