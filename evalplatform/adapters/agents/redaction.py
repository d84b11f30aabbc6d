"""What a runner says of a run, without the secrets that the run was given.

It is applied once, where a runner's replies and errors leave it, to whole texts: a secret that was cut first would no longer be found.
Reasons and errors lose every value that was passed on. The steps are what the agent did, and stay as they are but for keys: values that are
secrets by what they are sent as, or by the name of their variable. A step that lost one says so, as a problem of the run.
"""

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from evalplatform.kernel.errors import HarnessError
from evalplatform.kernel.text import ELLIPSIS, clip
from evalplatform.ports.agent_runner import AgentReply
from evalplatform.runs.traces.content import whole_text
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.trajectory import FileChangeStep, Step

REASON_LIMIT_CHARS = 600
LEAST_SECRET_CHARS = 4
LEAST_KEY_CHARS = 8
LEAST_LINE_CHARS = 16
LEAST_CUT_CHARS = 6
BLANK = "[secret]"
SECRET_NAME = re.compile(r"(PASSWORD|PASSWD|SECRET|TOKEN|KEY|CREDENTIALS?|AUTH\w*)(_|$)", re.IGNORECASE)
STEP_TEXTS = ("text", "arguments_text", "tool", "call_id")


class Redactor:
    """Blanks secrets out of reasons and errors, and keys out of steps.

    Args:
        secrets: the values that were passed on; those under four characters would blank words, and are left.
        keys: those of them that no step may hold; those under eight characters are left.
    """

    def __init__(self, secrets: Iterable[str], *, keys: Iterable[str] = ()) -> None:
        self._forms = _longest_first(secrets, least_chars=LEAST_SECRET_CHARS)
        self._key_forms = _longest_first(keys, least_chars=LEAST_KEY_CHARS)

    def text(self, text: str) -> str:
        """Return a text with every secret blanked, the longest first, also where it is quoted, percent-encoded or on several lines."""
        return _blanked(text, self._forms)

    def reason(self, text: str) -> str:
        """Return a text as a reason of at most 600 characters: blanked, and then clipped."""
        clipped = clip(self.text(whole_text(text)), REASON_LIMIT_CHARS)
        for form in self._forms:
            clipped = _without_cut_form(clipped, form)
        return clipped

    def reply(self, reply: AgentReply) -> AgentReply:
        """Return a reply whose reason and problems hold no secret, and whose steps hold no key."""
        problems = [
            problem if problem.detail is None else problem.with_changes(detail=self.text(problem.detail)) for problem in reply.problems
        ]
        steps = [self._step(step) for step in reply.trajectory.steps]
        lost = [number for number, (new, old) in enumerate(zip(steps, reply.trajectory.steps, strict=True), start=1) if new != old]
        return reply.with_changes(
            reason=None if reply.reason is None else self.reason(reply.reason),
            problems=(*problems, *(TraceProblem(kind="secret_blanked", step=number) for number in lost)),
            trajectory=reply.trajectory.with_changes(steps=tuple(steps)) if lost else reply.trajectory,
        )

    def _step(self, step: Step) -> Step:
        if isinstance(step, FileChangeStep):
            files = tuple(file.with_changes(path=_blanked(file.path, self._key_forms)) for file in step.files)
            return step if files == step.files else step.with_changes(files=files)
        texts = {name: value for name in STEP_TEXTS if isinstance(value := getattr(step, name, None), str)}
        blanked = {name: _blanked(text, self._key_forms) for name, text in texts.items()}
        return step if blanked == texts else step.with_changes(**blanked)

    def error(self, error: HarnessError) -> HarnessError:
        """Return an error whose text holds no secret."""
        return HarnessError(error.reason, self.reason(str(error)))


def secret_values(named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of those variables or headers that are secrets by their names, such as `SHOP_API_KEY` or `Authorization`."""
    return tuple(value for name, value in named.items() if SECRET_NAME.search(name.replace("-", "_")))


def _longest_first(secrets: Iterable[str], *, least_chars: int) -> list[str]:
    written = {form for secret in secrets for form in _written_forms(secret)}
    return sorted((form for form in written if len(form) >= least_chars), key=len, reverse=True)


def _blanked(text: str, forms: Iterable[str]) -> str:
    for form in forms:
        text = text.replace(form, BLANK)
    return text


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
