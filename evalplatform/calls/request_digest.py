"""The digest of a request: what makes two calls the same call."""

import hashlib

import orjson

from evalplatform.ports.model_client import ModelRequest


def request_digest(request: ModelRequest) -> str:
    """Return `sha256:` and 64 hex digits of everything that decides what is asked.

    It is the digest of the canonical JSON of provider, base URL, model, messages and sampling, with unset values left out, so that a
    field added later changes no digest of a request that does not use it. The seed is that of draw 0; the draw is a field of the ledger
    key, not of the digest. Numbers in a request are finite (`Value` refuses others), so orjson's sorted form is canonical here.
    """
    sampling = {name: value for name, value in request.sampling.model_dump().items() if value is not None and value != {}}
    fields: dict[str, object] = {
        "provider": request.provider,
        "model": request.model,
        "messages": [[message.role, message.content] for message in request.messages],
    }
    if request.base_url is not None:
        fields["base_url"] = request.base_url
    if sampling:
        fields["sampling"] = sampling
    return "sha256:" + hashlib.sha256(_sorted_json(fields)).hexdigest()


def _sorted_json(fields: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate in a prompt: orjson has no bytes for it, json's escaped form does
        import json

        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
