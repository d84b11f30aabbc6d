"""The web app: one router file a subject, put together here."""

import os
from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from evalplatform import __version__
from evalplatform.kernel.errors import ProjectFileError
from evalplatform.project.load import PROJECT_FILE_NAME, PROJECT_VARIABLE, find_project_file, load_project
from evalplatform.web import downloads, health, listing
from evalplatform.web.errors import add_error_pages
from evalplatform.web.headers import add_security_headers
from evalplatform.wiring import OpenedProject

STATIC_FOLDER = Path(__file__).with_name("static")


def build_app(opened: OpenedProject) -> FastAPI:
    """Return the web app of an opened project, which stays the caller's to close.

    Every route is a plain function, which runs in a thread: calls to the store block.
    """
    # The pages that FastAPI makes of its schema load scripts from elsewhere.
    app = FastAPI(title="evalplatform", version=__version__, docs_url=None, redoc_url=None)
    app.state.opened = opened
    add_security_headers(app)
    add_error_pages(app)
    for router in (health.router, listing.router, downloads.router):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC_FOLDER), name="static")
    return app


def app_of_environment() -> FastAPI:
    """Return the web app of the project that EVALPLATFORM_PROJECT names, or the nearest one above the working directory.

    Raises:
        ProjectFileError: there is none, or it cannot be used.
    """
    path = find_project_file(Path.cwd(), environ=os.environ)
    if path is None:
        raise ProjectFileError(f"no {PROJECT_FILE_NAME} here or above; set {PROJECT_VARIABLE} to the project file or its folder.")
    return build_app(OpenedProject(load_project(path)))
