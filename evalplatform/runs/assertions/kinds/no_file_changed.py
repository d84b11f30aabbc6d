"""`no_file_changed: true`: the run left every file as it was."""

from typing import Literal

from evalplatform.kernel.text import plural
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked


def _check(_: bool, facts: RunFacts) -> Finding:
    if facts.file_changes is None:
        return unchecked("the trace holds no file state")
    files = facts.file_changes.files
    if not files:
        return PASSED
    return failed(
        f"{files[0].path} was {files[0].change}" + (f", and {plural(len(files) - 1, 'more file')} changed" if len(files) > 1 else "")
    )


assertion_kinds.register("no_file_changed")(AssertionKind(Literal[True], "The run left every file as it was.", _check))
