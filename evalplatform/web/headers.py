"""Headers that keep what models wrote from doing anything in a reader's browser."""

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response

# Pages of ours: our own style sheet and icon, nothing else.
PAGE_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

# Stored files: shown with the styles they bring, without scripts, requests or forms, and as of no origin, so that not even a page that
# got a script past the policy could reach this app in a reader's name. A report narrows it further to the digest of its one style sheet.
STORED_FILE_POLICY = (
    "sandbox allow-downloads; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

EVERYWHERE = {
    "Content-Security-Policy": PAGE_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def add_security_headers(app: FastAPI) -> None:
    """Give every response of the app the headers that it does not bring itself."""

    @app.middleware("http")
    async def with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        for name, value in EVERYWHERE.items():
            response.headers.setdefault(name, value)
        return response
