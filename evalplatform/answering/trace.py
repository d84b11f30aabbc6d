"""From a stored answer back to the exact request that it answers."""

from collections.abc import Mapping

from evalplatform.answering.prompts import answer_messages
from evalplatform.answering.records import ArmAnswer
from evalplatform.calls.request_digest import request_digest
from evalplatform.kernel.errors import DigestMismatchError, InputError
from evalplatform.ports.model_client import ModelRequest, Sampling


def rebuilt_request(
    answer: ArmAnswer, *, question: str, texts: Mapping[str, str], provider: str, model: str, base_url: str | None, sampling: Sampling
) -> ModelRequest:
    """Return the request behind an answer: who was asked, how, and every message.

    Args:
        answer: a stored row.
        question: the text of the question it belongs to.
        texts: the texts kept beside the answers, by digest.
        provider: the cell's provider.
        model: the cell's model.
        base_url: the cell's base URL.
        sampling: the cell's sampling; its seed is that of draw 0.

    Raises:
        InputError: the row was never prepared, so that nothing was to be sent, or a text it names is not among `texts`.
        DigestMismatchError: what comes out is not what the row says was sent: another question, cell or version of the prompt.
    """
    if answer.request_digest is None:
        raise InputError(f"the answer of {answer.arm!r} to {answer.question_id!r} has no request: {answer.reason}.")
    request = ModelRequest(
        provider=provider,
        base_url=base_url,
        model=model,
        messages=answer_messages(
            question,
            context=_text(texts, answer.context_digest) or "",
            system_prompt=_text(texts, answer.system_prompt_digest),
        ),
        sampling=sampling,
    )
    if request_digest(request) != answer.request_digest:
        raise DigestMismatchError(
            f"the request rebuilt for {answer.arm!r} and {answer.question_id!r} is not the one that was sent ({answer.request_digest})."
        )
    return request


def _text(texts: Mapping[str, str], digest: str | None) -> str | None:
    if digest is None:
        return None
    if digest not in texts:
        raise InputError(f"the text {digest} is not kept beside the answers.")
    return texts[digest]
