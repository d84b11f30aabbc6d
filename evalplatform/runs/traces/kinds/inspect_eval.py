"""Logs of Inspect evaluations (`.eval`, and its JSON logs), read through Inspect's own library, which is an optional extra."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from evalplatform.kernel.errors import TraceError
from evalplatform.kernel.usage import Usage, known_sum
from evalplatform.runs.records import AssertionResult
from evalplatform.runs.traces.chat_messages import ParsedConversation, trajectory_of_messages
from evalplatform.runs.traces.content import whole_text
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.traces.record_fields import amount_of, checked_scenario, checked_time, name_of
from evalplatform.runs.traces.trace import TraceGrade, TraceRun, trace_formats

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage
    from inspect_ai.scorer import Score

EXTRA = "evalplatform[inspect]"
_ZIP_BEGINNING = b"PK\x03\x04"
_NOT_READ = {"store", "events", "timelines"}
_REWARD_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class InspectEval:
    """Reads the samples of a log: an epoch is a trial, the scorers' values are the verdict."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Return whether a file is an Inspect log."""
        if path.suffix == ".eval":
            return head.startswith(_ZIP_BEGINNING) or not head
        return path.suffix == ".json" and b'"eval":' in head and b'"run_id":' in head and b'"status":' in head

    def read(self, path: Path) -> Iterator[TraceRun | TraceError]:
        """Iterate over the samples of a log, as `TraceFormat` says."""
        try:
            from inspect_ai.log import read_eval_log, read_eval_log_samples
        except ImportError:
            raise TraceError(f"is read with the package inspect_ai, which is not installed: pip install '{EXTRA}'.", file=path) from None
        try:
            header = read_eval_log(str(path), header_only=True)
            samples = read_eval_log_samples(str(path), all_samples_required=False, resolve_attachments=True, exclude_fields=_NOT_READ)
            for sample in samples:
                yield _run_or_error(sample, header, path)
        except (BadZipFile, OSError, ValueError, KeyError, IndexError, EOFError, RuntimeError) as error:
            raise TraceError(f"cannot be read as an Inspect log: {type(error).__name__}: {str(error)[:200]}", file=path) from error


trace_formats.register("inspect_eval")(InspectEval())


def _run_or_error(sample: "EvalSample", header: "EvalLog", path: Path) -> TraceRun | TraceError:
    try:
        return _run(sample, header)
    except TraceError as error:
        where = f"sample {sample.id!r}, epoch {sample.epoch}"
        return error.placed(file=path, field=where if error.field is None else f"{where}: {error.field}")


def _run(sample: "EvalSample", header: "EvalLog") -> TraceRun:
    acted = any(message.role == "assistant" for message in sample.messages)
    parsed = trajectory_of_messages([_chat_message(message) for message in sample.messages]) if sample.messages else None
    grade = _grade(sample, acted=acted)
    problems = [*(parsed.problems if parsed else ()), *_problems(sample, header)]
    finished_at = sample.completed_at or sample.started_at
    return TraceRun(
        line=None,
        scenario_id=checked_scenario(sample.id, field="id"),
        trial=sample.epoch,
        trajectory=parsed.trajectory if isinstance(parsed, ParsedConversation) and grade.outcome != "harness_error" else None,
        grade=grade,
        problems=tuple(problems),
        created_at=None if finished_at is None else checked_time(finished_at, field="completed_at"),
        agent=name_of(header.eval.solver) or name_of(header.eval.task),
        model=name_of(header.eval.model),
        usage=_usage(sample),
        cost_usd=amount_of(known_sum(usage.total_cost for usage in sample.model_usage.values())),
        seconds=amount_of(sample.total_time),
    )


def _problems(sample: "EvalSample", header: "EvalLog") -> Iterator[TraceProblem]:
    """Iterate over what Inspect says of a sample's calls and of its own end."""
    for message in sample.messages:
        for call in (message.tool_calls or []) if message.role == "assistant" else []:
            if call.parse_error:
                yield TraceProblem(kind="arguments_not_json", detail=call.function)
    if header.status != "success":
        yield TraceProblem(kind="unfinished_log", detail=header.status)


def _grade(sample: "EvalSample", *, acted: bool) -> TraceGrade:
    if sample.error is not None:
        told = f"the sample ended in an error: {sample.error.message}"
        return TraceGrade(outcome="agent_error" if acted else "harness_error", reason=told)
    if not acted:
        return TraceGrade(outcome="ungraded", reason="the agent wrote no message")
    grade = _scored(sample.scores or {})
    if sample.limit is not None and grade.outcome != "passed":
        told = f"stopped at its {sample.limit.type} limit of {sample.limit.limit:g}"
        if sample.limit.type == "operator":
            return TraceGrade(outcome="ungraded", reason="stopped by its operator")
        return grade.with_changes(outcome="budget_stop", reason=told)
    return grade


def _scored(scores: Mapping[str, "Score"]) -> TraceGrade:
    """Return the verdict of the scorers: passed where every value that says so is 1, with their mean as points."""
    rewards = {name: _reward(score.value) for name, score in scores.items()}
    results = tuple(
        AssertionResult(
            assertion=f"scorer {name}",
            state="unchecked" if reward is None else "passed" if reward == 1 else "failed",
            detail=whole_text(f"its value is {str(scores[name].value)[:100]}"),
        )
        for name, reward in rewards.items()
    )
    known = [reward for reward in rewards.values() if reward is not None]
    if not known:
        return TraceGrade(outcome="ungraded", reason="no scorer gave a value between 0 and 1", assertions=results)
    told = ", ".join(f"{name} {score.value}" for name, score in scores.items())
    passed = all(reward == 1 for reward in known)
    return TraceGrade(
        outcome="passed" if passed else "failed", reason=f"scored {told}", score_points=100 * sum(known) / len(known), assertions=results
    )


def _reward(value: object) -> float | None:
    """Return a scorer's value between 0 and 1, None for one that is not; C, P, I and N are 1, 0.5, 0 and 0, as Inspect has it."""
    if isinstance(value, str):
        return _REWARD_WORDS.get(value, _REWARD_WORDS.get(value.lower()) if len(value) > 1 else None)
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return float(value)
    return None


def _usage(sample: "EvalSample") -> Usage:
    """Return the sample's tokens; a prompt's are those that were read anew, from a cache, and into one."""
    used = list(sample.model_usage.values())
    if not used:
        return Usage()
    read = sum(usage.input_tokens_cache_read or 0 for usage in used)
    return Usage(
        prompt_tokens=sum(usage.input_tokens + (usage.input_tokens_cache_write or 0) for usage in used) + read,
        completion_tokens=sum(usage.output_tokens for usage in used),
        cache_read_tokens=read,
    )


def _chat_message(message: "ChatMessage") -> dict[str, object]:
    """Return one of Inspect's messages as OpenAI has it; a model's reasoning is left out."""
    chat: dict[str, object] = {"role": message.role, "content": _content(message)}
    if message.role == "assistant" and message.tool_calls:
        chat["tool_calls"] = [
            {"id": call.id, "function": {"name": call.function, "arguments": json.dumps(call.arguments, ensure_ascii=False)}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        chat["tool_call_id"] = message.tool_call_id
        if message.error is not None and not message.text:
            chat["content"] = message.error.message
    return chat


def _content(message: "ChatMessage") -> str | list[dict[str, object]]:
    if isinstance(message.content, str):
        return message.content
    return [
        {"type": "text", "text": part.text} if part.type == "text" else {"type": part.type}
        for part in message.content
        if part.type != "reasoning"
    ]
