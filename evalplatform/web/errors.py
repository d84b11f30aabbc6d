"""What a request that cannot be answered is told: a page, or JSON for a program, with the sentence of the error."""

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from evalplatform.kernel.errors import (
    DigestMismatchError,
    EvalplatformError,
    InputError,
    ObjectNotFoundError,
    StorageError,
    StorageUnavailableError,
    UnknownNameError,
)
from evalplatform.web.pages import page
from evalplatform.wiring import OpenedProject

RETRY_AFTER_SECONDS = 10

_log = logging.getLogger(__name__)


class AddressError(InputError):
    """An address that nothing stored answers to; `nearest` holds the closest known name."""


# The first that fits decides.
_STATUS: tuple[tuple[type[EvalplatformError], HTTPStatus], ...] = (
    (AddressError, HTTPStatus.NOT_FOUND),
    (UnknownNameError, HTTPStatus.NOT_FOUND),
    (InputError, HTTPStatus.BAD_REQUEST),
    (StorageUnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (DigestMismatchError, HTTPStatus.BAD_GATEWAY),
    (ObjectNotFoundError, HTTPStatus.BAD_GATEWAY),
    (StorageError, HTTPStatus.BAD_GATEWAY),
)


def add_error_pages(app: FastAPI) -> None:
    """Answer every error of the app in words; what nobody foresaw is logged, and its text goes to nobody."""

    @app.exception_handler(EvalplatformError)
    async def known(request: Request, error: EvalplatformError) -> Response:
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            _log.error("%s: %s", request.url.path, error)
        nearest = error.nearest if isinstance(error, InputError) else None
        return _answer(request, status, visitors_sentence(error, store_url=_store_url(app, error)), nearest=nearest)

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        sentence = f"Nothing is at {request.url.path}." if status == HTTPStatus.NOT_FOUND else f"{error.detail}."
        return _answer(request, status, sentence)

    @app.exception_handler(RequestValidationError)
    async def of_query(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return _answer(request, HTTPStatus.BAD_REQUEST, f"{first['loc'][-1]}: {first['msg']}.")

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, _: Exception) -> Response:
        return _answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, "Something unforeseen went wrong; the server's log says where.")


def visitors_sentence(error: EvalplatformError, *, store_url: str) -> str:
    """Return the sentence of an error for a visitor, who is not told where the store is; the server's log says it."""
    if isinstance(error, StorageUnavailableError):
        return "The store does not answer; the server's log says why. Try again in a moment."
    return str(error).replace(store_url, "the store") if store_url else str(error)


def _store_url(app: FastAPI, error: EvalplatformError) -> str:
    opened: OpenedProject = app.state.opened
    return opened.store.url if isinstance(error, StorageError) else ""  # what else fails may be the opening of the store


def _answer(request: Request, status: HTTPStatus, sentence: str, *, nearest: str | None = None) -> Response:
    headers = {"Cache-Control": "no-store"}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    if _wants_page(request):
        return page(request, "error.html.j2", status=status, headers=headers, title=status.phrase, sentence=sentence)
    return JSONResponse({"error": sentence, "nearest": nearest}, status_code=status, headers=headers)


def _wants_page(request: Request) -> bool:
    """Say whether a browser asks: its Accept names HTML, a program's says JSON or anything."""
    return "text/html" in request.headers.get("accept", "")
