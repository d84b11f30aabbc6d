"""Whether this process serves."""

from fastapi import APIRouter

from evalplatform import __version__
from evalplatform.kernel.values import Value
from evalplatform.web.dependencies import Opened

router = APIRouter()


class Health(Value):
    """The answer of `/healthz`."""

    status: str
    project: str
    version: str


@router.get("/healthz")
def healthz(opened: Opened) -> Health:
    """Say that the process serves. The store is not asked: a store that is down is no reason to restart this process."""
    return Health(status="ok", project=opened.project.settings.project, version=__version__)
