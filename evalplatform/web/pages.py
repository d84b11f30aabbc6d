"""Rendering of pages. Every value goes through Jinja's escaping."""

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from evalplatform import __version__
from evalplatform.reports.html import visible_text


def page(
    request: Request, template: str, *, status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None, **values: object
) -> Response:
    """Return a template of `evalplatform/web/templates` with its values as a page."""
    project = request.app.state.opened.project.settings.project
    text = _environment().get_template(template).render(values, project=project, version=__version__)
    # A listing is of the moment, and nothing between here and the reader is to keep it.
    return Response(text, status, media_type="text/html", headers={"Cache-Control": "no-store", **(headers or {})})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evalplatform.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = visible_text
    return environment
