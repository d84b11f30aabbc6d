"""What OpenTelemetry attributes mean for an agent's run: current names first, then the ones they replaced.

Current: the GenAI semantic conventions (https://github.com/open-telemetry/semantic-conventions-genai). Older: those up to 1.36, whose
messages are span events; the indexed attributes of OpenLLMetry (`gen_ai.prompt.0.role`, before that `llm.prompts.0.role`); and the
flattened ones of OpenInference (`llm.input_messages.0.message.role`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from evalplatform.runs.traces.otel_spans import Span

SpanPart = Literal["model", "tool", "agent", "other"]

OPERATION = "gen_ai.operation.name"
_PART_OF_OPERATION: dict[str, SpanPart] = {
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
    "create_agent": "other",
    "embeddings": "other",
}
_PART_OF_OLDER_KIND: dict[str, SpanPart] = {
    "llm": "model",
    "tool": "tool",
    "agent": "agent",
    "workflow": "agent",
    "chat": "model",
    "completion": "model",
}
_OLDER_KINDS = ("openinference.span.kind", "traceloop.span.kind", "llm.request.type")

INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INDEXED_INPUT = ("gen_ai.prompt", "llm.prompts", "llm.input_messages")
INDEXED_OUTPUT = ("gen_ai.completion", "llm.completions", "llm.output_messages")

TOOL_NAME = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
TOOL_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id")
TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments", "input.value", "traceloop.entity.input")
TOOL_RESULT = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")

INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens", "llm.token_count.prompt")
OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.token_count.completion",
)
MODEL = ("gen_ai.request.model", "gen_ai.response.model", "llm.request.model", "llm.model_name")
AGENT = ("gen_ai.agent.name", "service.name")

SCENARIO = ("evalplatform.scenario_id", "test.case.name")
TRIAL = ("evalplatform.trial",)
VERDICT = ("evalplatform.verdict", "test.case.result.status")
REWARD = ("evalplatform.reward",)
EVALUATION_EVENT = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"


def part_of(span: Span) -> SpanPart:
    """Return what part of a run a span is."""
    operation = span.attributes.get(OPERATION)
    if isinstance(operation, str) and operation in _PART_OF_OPERATION:
        return _PART_OF_OPERATION[operation]
    for name in _OLDER_KINDS:
        kind = span.attributes.get(name)
        if isinstance(kind, str) and kind.lower() in _PART_OF_OLDER_KIND:
            return _PART_OF_OLDER_KIND[kind.lower()]
    has_messages = any(name.startswith((*INDEXED_INPUT, *INDEXED_OUTPUT, INPUT_MESSAGES)) for name in span.attributes)
    return "model" if has_messages else "other"


def first_of(attributes: Mapping[str, object], names: Iterable[str]) -> object:
    """Return the first of the named attributes that is there, or None."""
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def first_over(spans: Sequence[Span], wanted: Iterable[str]) -> object:
    """Return the first value of an attribute over the spans in the order they began, the names in the order of preference."""
    values = (span.all_attributes.get(name) for name in wanted for span in spans)
    return next((value for value in values if value is not None), None)


def parsed(value: object) -> object:
    """Return an attribute that holds JSON as text as what it says; one that is no JSON, and one that is no text, as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def text_of(value: object) -> str:
    """Return a value as text: itself, the text parts of a list of parts, or its JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, Mapping) and part.get("type") == "text" for part in value):
        return "\n".join(str(part.get("content", part.get("text", ""))) for part in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)
