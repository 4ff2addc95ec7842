"""Which address is answered by what: the ASGI application of a folder of boards."""

from __future__ import annotations

import logging
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from pippin.boards.site import Site
from pippin.errors import PippinError
from pippin.serve.api import BASE, Api
from pippin.serve.forms import Forms
from pippin.serve.guard import Guard, Headered, Limited, status_of
from pippin.serve.pages import Pages

_LOGGER = logging.getLogger("pippin.serve")
_INSIDE = "something went wrong here; tell the organiser, and try again"


def make_app(site: Site) -> ASGIApp:
    """The application; nothing of the hidden part is opened, now or later."""
    guard = Guard(site)
    pages = Pages(site, guard)
    faults = Faults(pages)
    app = Starlette(
        routes=[*pages.routes(), *Forms(site, guard, pages).routes(), *Api(site, guard).routes()],
        middleware=[Middleware(Limited, site=site)],
        exception_handlers={HTTPException: faults.http, PippinError: faults.own, Exception: faults.inside},
    )
    return Headered(app)  # around all, so that an answer to a mistake of ours has the headers, too


class Faults:
    """Errors as one sentence: a page for browsers, JSON for programs."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    def _told(self, request: Request, status: int, sentence: str, headers: Any = None) -> Response:
        if request.url.path.startswith(BASE):
            return JSONResponse({"error": sentence}, status, headers)
        return self.pages.fault(request, status, sentence)

    def http(self, request: Request, error: Exception) -> Response:
        """What a handler refused."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        plain = {404: "there is nothing at this address", 405: "this address is not asked this way"}
        said = error.detail if isinstance(error, HTTPException) else _INSIDE
        words = plain.get(status, said) if said in ("Not Found", "Method Not Allowed") else said
        return self._told(request, status, words, getattr(error, "headers", None))

    def own(self, request: Request, error: Exception) -> Response:
        """An error of Pippin's: its sentence is for people."""
        status = status_of(error) if isinstance(error, PippinError) else 500
        return self._told(request, status, str(error))

    def inside(self, request: Request, error: Exception) -> Response:
        """A mistake of ours: told to the log by its kind and place, to others not at all."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        _LOGGER.error("%s %s: %s%s", request.method, request.url.path, type(error).__name__, place)
        if request.url.path.startswith(BASE):
            return JSONResponse({"error": _INSIDE}, 500)
        return Response(_INSIDE, 500, media_type="text/plain; charset=utf-8")
