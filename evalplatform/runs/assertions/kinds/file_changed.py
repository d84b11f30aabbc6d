"""`file_changed: {path: report.md, change: added}`: the run left the file changed."""

from typing import Literal

from evalplatform.kernel.values import Value
from evalplatform.runs.assertions.arguments import SomeText
from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked


class FileChanged(Value):
    """A file by its path in the agent's folder, and how it changed; any change where that is left out."""

    path: SomeText
    change: Literal["added", "modified", "removed"] | None = None


def _check(wanted: FileChanged, facts: RunFacts) -> Finding:
    if facts.file_changes is None:
        return unchecked("the trace holds no file state")
    changed = next((file for file in facts.file_changes.files if file.path == wanted.path), None)
    if changed is None:
        return failed(f"{wanted.path} did not change")
    return PASSED if wanted.change in (None, changed.change) else failed(f"{wanted.path} was {changed.change}")


assertion_kinds.register("file_changed")(AssertionKind(FileChanged, "The run left the file added, modified or removed.", _check))
