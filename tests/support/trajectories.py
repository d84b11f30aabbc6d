"""Trajectories written in a line, for tests that are about their structure."""

from evalplatform.runs.trajectory import ChangedFile, FileChangeStep, MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory


def trajectory_of(script: str, *, prose: str = "said") -> Trajectory:
    """Return the trajectory of a script of words.

    `system`, `user` and `agent` are messages; `files` or `files:a.txt,b.txt` is the file-change step; any other word is a tool that is
    called and answered at once: `lookup`, with arguments `lookup{"id":1}`, without an answer `lookup!`, two calls answered after both
    `lookup&refund`. `prose` is what every message and result says.
    """
    steps: list[Step] = []
    for word in script.split():
        if word in ("system", "user", "agent"):
            steps.append(MessageStep.model_validate({"role": "assistant" if word == "agent" else word, "text": prose}))
        elif word == "files" or word.startswith("files:"):
            paths = word.removeprefix("files").removeprefix(":").split(",")
            steps.append(FileChangeStep(files=tuple(ChangedFile(path=path, change="modified", digest=prose) for path in paths if path)))
        else:
            calls = [_call(f"call-{len(steps)}-{place}", part) for place, part in enumerate(word.split("&"))]
            steps += calls
            answered = [call for call, part in zip(calls, word.split("&"), strict=True) if not part.endswith("!")]
            steps += [ToolResultStep(call_id=call.call_id, tool=call.tool, text=prose) for call in answered]
    return Trajectory(steps=tuple(steps))


def _call(call_id: str, part: str) -> ToolCallStep:
    tool, brace, arguments = part.removesuffix("!").partition("{")
    return ToolCallStep(call_id=call_id, tool=tool, arguments_text=brace + arguments or "{}")
