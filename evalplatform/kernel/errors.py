"""Everything evalplatform raises on purpose, as one tree.

    EvalplatformError                  a stop we raise on purpose (exit code 2)
    ├── InputError                     something a user wrote cannot be used
    │   ├── UnknownNameError           a name that no registry, file or list holds
    │   ├── ProjectFileError           evalplatform.yaml
    │   ├── QuestionSetError           a question set
    │   ├── ArmSpecError               an arm spec or a list of arms
    │   ├── PluginError                a plugin or a list of plugins
    │   ├── TreatmentFileError         a skill, a profile, a documents folder
    │   ├── LabelFileError             a file of human labels
    │   ├── ScenarioFileError          scenarios.yaml
    │   ├── TraceError                 a recorded trace that is to be imported or replayed
    │   ├── BundleError                a bundle: the file that a batch is recorded in
    │   │   └── BundleInUseError       another process is recording into it
    │   └── MissingSecretError         a key that the environment does not hold
    ├── CallError                      a model call that ended without a reply
    │   ├── RetryableCallError         rate limit, overload, timeout, connection: asked again
    │   ├── FatalCallError             auth, bad request, unknown model: asking again cannot help
    │   └── UnusableReplyError         the server answered with something that is not a reply
    ├── HarnessError                   a scenario's agent could not be run at all
    ├── RetrievalError                 a document source that could not answer
    ├── EntitlementError               something that the deployment does not grant the tenant
    ├── CheckFailedError               a check that blocks failed; what was made before it is kept
    ├── MonitoringError                a schedule, an endpoint or a night is refused, by a fixed code
    │   └── EndpointRefusedError       an address that a monitored agent may not have
    ├── CredentialUnreadableError      a stored secret that no key of the deployment opens
    ├── NotDeliveredError              a message that its receiver did not take
    ├── NoGradedRunsError              pass rates were to be compared, and a side has no graded run
    ├── InterruptedRecordingError      Ctrl-C while a bundle was recorded that the same command would not go on with
    ├── RunStoppedError                the run ends here; what is finished is kept, a rerun goes on
    │   ├── BudgetExhaustedError       the spend cap
    │   ├── CircuitOpenError           the same failure again and again
    │   └── DeferredError              the server asks for a longer wait than the cap
    └── StorageError                   the object store or the ledger
        ├── ObjectNotFoundError
        ├── ObjectExistsError
        ├── DigestMismatchError        stored bytes are not the bytes that were written
        └── StorageUnavailableError    it does not answer

Refusals to compare and shortfalls are values, not exceptions: a caller goes on with them.
"""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Literal, Self

from evalplatform.kernel.text import clip

MAX_KNOWN_SHOWN = 10
MAX_NAME_CHARS = 200
"""A name that is unknown is shown, and compared with the known ones, up to here: more is a paste gone wrong."""


class EvalplatformError(Exception):
    """A stop raised on purpose. Its text is one to three sentences a user can act on."""


class InputError(EvalplatformError):
    """Something a user wrote cannot be used.

    Attributes:
        rule: what was expected, as a sentence.
        file: the file it stands in, as the user named it, or None.
        line: the 1-based line, or None.
        field: the dotted field, flag or column, or None.
        nearest: the nearest valid name, or None.
    """

    def __init__(
        self, rule: str, *, file: object = None, line: int | None = None, field: str | None = None, nearest: str | None = None
    ) -> None:
        self.rule = rule
        self.file = None if file is None else str(file)
        self.line = line
        self.field = field
        self.nearest = nearest
        super().__init__(self._sentence())

    def placed(self, *, file: object = None, line: int | None = None, field: str | None = None) -> Self:
        """Return this error as one that stands at a place in a file, which only a caller further out knows; what is None stays as it is."""
        self.file = self.file if file is None else str(file)
        self.line = self.line if line is None else line
        self.field = self.field if field is None else field
        self.args = (self._sentence(),)
        return self

    def _sentence(self) -> str:
        place = "" if self.file is None else self.file
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        if self.field is not None:
            place = f"{place}: {self.field}" if place else self.field
        text = f"{place}: {self.rule}" if place else self.rule
        return f"{text} Did you mean {self.nearest!r}?" if self.nearest else text


class UnknownNameError(InputError):
    """A name that nothing answers to; `nearest` holds the closest known one. Of many known names the text shows the nearest few."""

    def __init__(self, what: str, name: str, known: Iterable[str], *, file: object = None, field: str | None = None) -> None:
        names = sorted(known)
        shown = clip(name, MAX_NAME_CHARS)
        super().__init__(
            f"unknown {what} {shown!r} (known: {_known_words(shown, names)}).", file=file, field=field, nearest=nearest_name(shown, names)
        )
        self.what = what
        self.name = name


class ProjectFileError(InputError):
    """evalplatform.yaml cannot be used as it stands."""


class QuestionSetError(InputError):
    """A question set cannot be used as it stands."""


class ArmSpecError(InputError):
    """An arm spec, or a list of arms, cannot be used as it stands."""


class PluginError(InputError):
    """A plugin, a list of plugins, or the harness that is to run them cannot be used as it stands."""


class TreatmentFileError(InputError):
    """A skill, a profile or a documents folder cannot be used as it stands."""


class LabelFileError(InputError):
    """A file of human labels cannot be used as it stands; nothing of it was imported."""


class ScenarioFileError(InputError):
    """scenarios.yaml cannot be used as it stands; nothing was run."""


class TraceError(InputError):
    """A recorded trace cannot be used as it stands; nothing of it was imported."""


class BundleError(InputError):
    """A bundle, the file that a batch is recorded in, cannot be used as it stands."""


class BundleInUseError(BundleError):
    """Another process is recording into the bundle."""


class MissingSecretError(InputError):
    """A key is named in the project file but the environment does not hold it."""


class CallError(EvalplatformError):
    """A model call ended without a reply.

    Attributes:
        reason: a short stable word, such as `rate_limited` or `timeout`; it goes into failed rows and breaker counts.
        status: the HTTP status, where there was one.
    """

    def __init__(self, reason: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status


class RetryableCallError(CallError):
    """Asking again may help. `retry_after_seconds` is what the server asked for, or None."""

    def __init__(self, reason: str, message: str, *, status: int | None = None, retry_after_seconds: float | None = None) -> None:
        super().__init__(reason, message, status=status)
        self.retry_after_seconds = retry_after_seconds


class FatalCallError(CallError):
    """Asking again cannot help: wrong key, unknown model, unsupported parameter."""


class UnusableReplyError(CallError):
    """The server answered with something that is not a reply. It is recorded as a failed row, not asked again by itself."""


class HarnessError(EvalplatformError):
    """A scenario's agent could not be run at all, so the run has no verdict. `reason` is a short stable word, such as `unreachable`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class RetrievalError(EvalplatformError):
    """A document source could not answer. `reason` is `retrieval_failed` or `rerank_failed`."""

    def __init__(self, message: str, *, reason: Literal["retrieval_failed", "rerank_failed"] = "retrieval_failed") -> None:
        super().__init__(message)
        self.reason = reason


class EntitlementError(EvalplatformError):
    """Something that the deployment does not grant the tenant. `entitlement` names it, such as `monitoring.managed`."""

    def __init__(self, entitlement: str, message: str) -> None:
        super().__init__(message)
        self.entitlement = entitlement


class CheckFailedError(EvalplatformError):
    """A check that the project file makes blocking failed: nothing after it is made for its partition."""


class MonitoringError(EvalplatformError):
    """Something asked of monitoring is refused. `code` is one of a fixed list, such as `cadence_too_short`; `field` is what it is about."""

    def __init__(self, code: str, message: str, *, field: str) -> None:
        super().__init__(f"{field}: {message} ({code})")
        self.code = code
        self.field = field
        self.rule = message


class EndpointRefusedError(MonitoringError):
    """An address that a monitored agent may not have, or that it does not answer at as an agent does; the code says which."""


class CredentialUnreadableError(EvalplatformError):
    """A stored secret cannot be read: no key of the deployment opens it, or it is not what was stored."""


class NotDeliveredError(EvalplatformError):
    """A message was not taken by its receiver; the text is the receiver's or the connection's words."""


class NoGradedRunsError(EvalplatformError):
    """A pass rate of no graded run: there is none, and it is neither 0 nor 1."""


class InterruptedRecordingError(EvalplatformError):
    """Ctrl-C stopped the recording of a bundle; the message says what goes on with it, where the same command would not."""


class RunStoppedError(EvalplatformError):
    """The run ends here. Finished calls are kept; a rerun asks only what is missing. `reason` is a short stable word."""

    reason: str = "stopped"


class BudgetExhaustedError(RunStoppedError):
    """The next call could pass the spend cap."""

    reason = "budget_exhausted"


class CircuitOpenError(RunStoppedError):
    """The same failure came again and again, so nothing more is spent on it."""

    reason = "circuit_open"


class DeferredError(RunStoppedError):
    """The server asks for a longer wait than the cap; the run can be resumed later."""

    reason = "deferred"


class StorageError(EvalplatformError):
    """The object store or the ledger could not do what was asked."""


class ObjectNotFoundError(StorageError):
    """No object has that key."""


class ObjectExistsError(StorageError):
    """An object already has that key, and the write was to be the first."""


class DigestMismatchError(StorageError):
    """Stored bytes are not the bytes that were written; they are never used."""


class StorageUnavailableError(StorageError):
    """The object store or the database does not answer."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, ignoring case, or None when none is close (difflib ratio below 0.6)."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def _known_words(name: str, known: Sequence[str]) -> str:
    """Return the known names as text: all in their order where they are few, else the nearest ones and how many more there are."""
    if len(known) <= MAX_KNOWN_SHOWN:
        return ", ".join(known) or "none"
    folded = name.casefold()
    nearest = sorted(known, key=lambda candidate: SequenceMatcher(None, candidate.casefold(), folded).ratio(), reverse=True)
    return f"{', '.join(nearest[:MAX_KNOWN_SHOWN])} and {len(known) - MAX_KNOWN_SHOWN:,} more"
