"""The ASGI application of a folder of boards."""

from __future__ import annotations

import logging
import traceback
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from pippin.boards.site import Site
from pippin.boards.web.api import BASE, Api
from pippin.boards.web.forms import Forms
from pippin.boards.web.pages import Pages
from pippin.boards.web.security import BodyLimitMiddleware, Guard, SecurityHeadersMiddleware, http_status
from pippin.errors import PippinError

_LOGGER = logging.getLogger("pippin.boards.web")
_INTERNAL_ERROR = "internal server error; try again, and contact the organiser if this is repeated"


def create_app(site: Site) -> ASGIApp:
    """Return the application, which never opens the hidden labels."""
    guard = Guard(site)
    pages = Pages(site, guard)
    handlers = ErrorHandlers(pages)
    app = Starlette(
        routes=[*pages.routes(), *Forms(site, guard, pages).routes(), *Api(site, guard).routes()],
        middleware=[Middleware(BodyLimitMiddleware, site=site)],
        exception_handlers={
            HTTPException: handlers.handle_http_error,
            PippinError: handlers.handle_expected_error,
            Exception: handlers.handle_internal_error,
        },
    )
    return SecurityHeadersMiddleware(app)  # outermost, so that internal errors have the headers, too


class ErrorHandlers:
    """Report errors as one sentence: a page for browsers, JSON for programs."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    def _respond(self, request: Request, status: int, sentence: str, headers: Any = None) -> Response:
        if request.url.path.startswith(BASE):
            return JSONResponse({"error": sentence}, status, headers)
        return self.pages.error(request, status, sentence)

    def handle_http_error(self, request: Request, error: Exception) -> Response:
        """Report an error that a handler or the router raised."""
        http = cast(HTTPException, error)
        sentence = {"Not Found": "not found", "Method Not Allowed": "method not allowed"}.get(http.detail, http.detail)
        return self._respond(request, http.status_code, sentence, http.headers)

    def handle_expected_error(self, request: Request, error: Exception) -> Response:
        """Report a PippinError with its message."""
        return self._respond(request, http_status(cast(PippinError, error)), str(error))

    def handle_internal_error(self, request: Request, error: Exception) -> Response:
        """Log the kind and place of an internal error; tell the client nothing about it."""
        trace = traceback.extract_tb(error.__traceback__)[-1]
        _LOGGER.error("%s %s: %s at %s:%s", request.method, request.url.path, type(error).__name__, trace.filename,
                      trace.lineno)  # fmt: skip
        if request.url.path.startswith(BASE):
            return JSONResponse({"error": _INTERNAL_ERROR}, 500)
        return Response(_INTERNAL_ERROR, 500, media_type="text/plain; charset=utf-8")
