"""What a runner says of a run, without the secrets that the run was given.

It is applied once, where a runner's replies and errors leave it, to whole texts: a secret that was cut first would no longer be found. An
agent's own messages and tool arguments are its output, and stay as they are.
"""

import json
from collections.abc import Iterable
from urllib.parse import quote

from evalplatform.kernel.errors import HarnessError
from evalplatform.kernel.text import ELLIPSIS, clip
from evalplatform.ports.agent_runner import AgentReply
from evalplatform.runs.traces.content import whole_text

REASON_LIMIT_CHARS = 600
LEAST_SECRET_CHARS = 4
LEAST_LINE_CHARS = 16
LEAST_CUT_CHARS = 6
BLANK = "[secret]"


class Redactor:
    """Blanks secrets out of reasons and errors.

    Args:
        secrets: their values; those under four characters would blank words, and are left.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        written = {form for secret in secrets for form in _written_forms(secret)}
        self._forms = sorted((form for form in written if len(form) >= LEAST_SECRET_CHARS), key=len, reverse=True)

    def text(self, text: str) -> str:
        """Return a text with every secret blanked, the longest first, also where it is quoted, percent-encoded or on several lines."""
        for form in self._forms:
            text = text.replace(form, BLANK)
        return text

    def reason(self, text: str) -> str:
        """Return a text as a reason of at most 600 characters: blanked, and then clipped."""
        clipped = clip(self.text(whole_text(text)), REASON_LIMIT_CHARS)
        for form in self._forms:
            clipped = _without_cut_form(clipped, form)
        return clipped

    def reply(self, reply: AgentReply) -> AgentReply:
        """Return a reply whose reason and problems hold no secret."""
        problems = tuple(
            problem if problem.detail is None else problem.with_changes(detail=self.text(problem.detail)) for problem in reply.problems
        )
        return reply.with_changes(reason=None if reply.reason is None else self.reason(reply.reason), problems=problems)

    def error(self, error: HarnessError) -> HarnessError:
        """Return an error whose text holds no secret."""
        return HarnessError(error.reason, self.reason(str(error)))


def _written_forms(secret: str) -> Iterable[str]:
    yield from (secret, secret.strip(), " ".join(secret.split()))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1])
    yield from (quote(part.encode("utf-8", "surrogateescape"), safe=safe) for part in (secret, secret.strip()) for safe in ("/", ""))
    yield from (line.strip() for line in secret.splitlines() if len(line.strip()) >= LEAST_LINE_CHARS)


def _without_cut_form(text: str, form: str) -> str:
    """Return a text without the beginning of a secret before an ellipsis: who quoted it has cut it there."""
    pieces = text.split(ELLIPSIS)
    for place, piece in enumerate(pieces[:-1]):
        lengths = range(min(len(form), len(piece)), LEAST_CUT_CHARS - 1, -1)
        longest = next((length for length in lengths if piece.endswith(form[:length])), 0)
        if longest:
            pieces[place] = piece[:-longest] + BLANK
    return ELLIPSIS.join(pieces)
