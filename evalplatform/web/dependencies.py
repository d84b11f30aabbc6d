"""What routes are given."""

from typing import Annotated, cast

from fastapi import Depends, Request

from evalplatform.wiring import OpenedProject


def opened_project(request: Request) -> OpenedProject:
    """Return the project that the app serves."""
    return cast("OpenedProject", request.app.state.opened)


Opened = Annotated[OpenedProject, Depends(opened_project)]
