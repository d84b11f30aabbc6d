"""The probe of a pinned judge: one small real call that shows whether its model takes the pinned parameters at all."""

from evalplatform.calls.ask import Asker
from evalplatform.judging.judge import JudgeSettings
from evalplatform.kernel.errors import CallError, FatalCallError, InputError, RunStoppedError
from evalplatform.ports.model_client import Message, ModelRequest

PROBE_TEXT = "Reply with the word: ready"
PROBE_MAX_TOKENS = 16  # treatment-arms spec, section 6


def probe_request(settings: JudgeSettings) -> ModelRequest | None:
    """Return the probe of a judge whose temperature or seed is pinned, or None for one that leaves both to its provider."""
    if not _pinned(settings):
        return None
    return ModelRequest(
        provider=settings.provider,
        base_url=settings.base_url,
        model=settings.model,
        messages=(Message(role="user", content=PROBE_TEXT),),
        sampling=settings.sampling.with_changes(max_tokens=PROBE_MAX_TOKENS),
    )


async def probe_pinned_judge(settings: JudgeSettings, *, asker: Asker) -> None:
    """Ask the probe of a pinned judge; a judge that is not pinned is asked nothing, and neither is one whose probe the ledger holds.

    A failure that asking again could help, or a run that has to stop, says nothing about the parameters: the judging meets it and keeps
    its rows.

    Raises:
        InputError: the endpoint refuses the call as it stands; the pinned parameters are named.
        FatalCallError: it refuses for another reason: a wrong key, an unknown model, an empty account.
    """
    request = probe_request(settings)
    if request is None:
        return
    try:
        await asker.ask(request, purpose="probe")
    except FatalCallError as error:
        if error.reason != "bad_request":
            raise
        pinned = " and ".join(_pinned(settings))
        raise InputError(
            f"the judge cannot be asked with a pinned {pinned}: {error} Leave {pinned} out, or judge by a model that takes it.",
            field=f"sampling.{_pinned(settings)[0]}",
        ) from error
    except (CallError, RunStoppedError):
        return


def _pinned(settings: JudgeSettings) -> list[str]:
    return [name for name in ("temperature", "seed") if getattr(settings.sampling, name) is not None]
