"""OpenAI chat messages: one conversation a line or a file, one message a line, or the chunks of a streamed reply."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalplatform.kernel.errors import TraceError, nearest_name
from evalplatform.runs.traces.chat_messages import trajectory_of_messages
from evalplatform.runs.traces.json_documents import JsonDocument, json_documents
from evalplatform.runs.traces.record_fields import (
    amount_of,
    checked_scenario,
    grade_of,
    grade_problems,
    name_of,
    scenario_of,
    states_grade,
    time_of,
    trial_of,
    usage_of,
)
from evalplatform.runs.traces.stream_chunks import StreamedReply, is_chunk
from evalplatform.runs.traces.trace import TraceRun, trace_formats


class OpenAiChat:
    """Reads conversations in the form that OpenAI's chat API takes them."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Return False: it is what is read where no other format fits."""
        return False

    def read(self, path: Path) -> Iterator[TraceRun | TraceError]:
        """Iterate over the conversations of a file, as `TraceFormat` says."""
        for position, conversation in enumerate(_conversations(path), start=1):
            if isinstance(conversation, TraceError):
                yield conversation
                continue
            try:
                yield conversation.run(path, position)
            except TraceError as error:
                yield error.placed(file=path, line=error.line or conversation.line)


trace_formats.register("openai_chat")(OpenAiChat())


@dataclass
class _Conversation:
    """A conversation while its lines are read; `lines` says where each message stands."""

    line: int
    record: Mapping[str, object] = field(default_factory=dict)
    messages: list[object] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    is_whole_file: bool = False
    streamed: StreamedReply | None = None

    def add(self, message: object, line: int) -> None:
        self._end_stream()
        self.messages.append(message)
        self.lines.append(line)

    def add_chunk(self, chunk: Mapping[str, object], line: int) -> None:
        if self.streamed is not None and self.streamed.takes(chunk):
            self.streamed.add(chunk)
            return
        self._end_stream()
        self.streamed = StreamedReply(chunk)
        self.lines.append(line)

    def run(self, path: Path, position: int) -> TraceRun:
        self._end_stream()
        parsed = trajectory_of_messages(self.messages, file=path, line=self.line, lines=self.lines)
        named, grade = scenario_of(self.record), grade_of(self.record)
        derived = path.stem if self.is_whole_file else f"{path.stem}-{position}"
        return TraceRun(
            line=self.line,
            scenario_id=checked_scenario(derived, field=None) if named is None else named,
            derived_id=named is None,
            trial=trial_of(self.record),
            trajectory=parsed.trajectory,
            grade=grade,
            problems=(*grade_problems(grade), *parsed.problems),
            created_at=time_of(self.record),
            agent=name_of(self.record.get("agent")),
            model=name_of(self.record.get("model")),
            usage=usage_of(self.record),
            cost_usd=amount_of(self.record.get("cost_usd")),
            seconds=amount_of(self.record.get("seconds")),
        )

    def _end_stream(self) -> None:
        if self.streamed is not None:
            self.messages.append(self.streamed.message)
            self.streamed = None


def _conversations(path: Path) -> Iterator[_Conversation | TraceError]:
    """Iterate over conversations: a list of messages or a record begins one, single messages and chunks go on with it."""
    current: _Conversation | None = None
    for document in json_documents(path):
        if isinstance(document, TraceError):
            yield document
            continue
        try:
            begun = _begun(document)
            if begun is None:
                current = _continued(current, document)
                continue
        except TraceError as error:
            yield error.placed(file=path, line=document.line)
            continue
        for conversation in begun:
            if current is not None:
                yield current
            current = conversation
    if current is not None:
        yield current


def _begun(document: JsonDocument) -> list[_Conversation] | None:
    """Return the conversations that a value holds, None where it is a part of one."""
    value = document.value
    if isinstance(value, list) and value and all(_is_conversation(item) for item in value):
        return [_conversation(document, item, is_whole_file=False) for item in value]
    if _is_conversation(value):
        return [_conversation(document, value, is_whole_file=document.is_whole_file)]
    if isinstance(value, Mapping) and (is_chunk(value) or "role" in value):
        return None
    if isinstance(value, Mapping):
        misspelt = nearest_name("messages", value)
        raise TraceError("there are no messages.", field=misspelt, nearest=None if misspelt is None else "messages")
    raise TraceError("must be a list of messages, or an object with `messages`.")


def _is_conversation(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, Mapping) and "messages" in value)


def _conversation(document: JsonDocument, value: object, *, is_whole_file: bool) -> _Conversation:
    record = value if isinstance(value, Mapping) else {"messages": value}
    messages = record["messages"]
    if not isinstance(messages, list):
        raise TraceError("must be a list of messages.", field="messages")
    return _Conversation(document.line, record, list(messages), [document.line] * len(messages), is_whole_file)


def _continued(current: _Conversation | None, document: JsonDocument) -> _Conversation:
    if current is not None and states_grade(current.record):
        rule = f"a message alone would go on with the record of line {current.line}, which states its verdict already."
        raise TraceError(rule)
    conversation = current or _Conversation(document.line, is_whole_file=True)
    value = document.value
    if isinstance(value, Mapping) and is_chunk(value):
        conversation.add_chunk(value, document.line)
    else:
        conversation.add(value, document.line)
    return conversation
