"""Response headers, body limits, sessions, CSRF protection and rate limits.

Forms contain a token bound to the browser's cookie (an HMAC with the site's secret), so that no other site can submit
them. Log-ins, registrations and wrong tokens are limited per client address.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pippin.boards import queue
from pippin.boards.accounts import Account, Forbidden, find_account, find_session
from pippin.boards.database import DatabaseUnavailable
from pippin.boards.site import Site
from pippin.boards.web.timeouts import TimedBody
from pippin.errors import PippinError, UnknownName
from pippin.system import format_bytes

SESSION, CSRF_COOKIE = "pippin_session", "pippin_visit"
FORM_BYTES = 64 << 10  # size limit of a form without a file
MAX_ATTEMPTS, ATTEMPT_WINDOW = 10, 60.0  # failed attempts per client address, and seconds
_UPLOAD = re.compile(r"/boards/([a-z0-9-]+)/submit|/api/v1/boards/([a-z0-9-]+)/submissions")
_PATH = re.compile(r"/(?:[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*)?")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
HSTS = "max-age=31536000"
STATUS: tuple[tuple[type[PippinError], int], ...] = (
    (Forbidden, 403), (queue.ClosedBoard, 409), (queue.TooMany, 429), (queue.TooLarge, 413),
    (queue.DiskFull, 507), (UnknownName, 404), (DatabaseUnavailable, 503),
)  # fmt: skip


def http_status(error: PippinError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 422)


class SecurityHeadersMiddleware:
    """Adds security headers to every response, and HSTS to responses over TLS."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if scope["scheme"] == "https":
                    headers["strict-transport-security"] = HSTS
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class BodyLimitMiddleware:
    """Rejects request bodies that are too large or too slow, while they arrive."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or reject its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit, body = self._limit(scope), TimedBody(receive)
        content_length = Headers(scope=scope).get("content-length", "0")

        too_large = HTTPException(413, f"request too large: at most {format_bytes(limit)}")

        async def receive_limited() -> Message:
            if content_length.isdigit() and int(content_length) > limit:
                raise too_large
            message = await body.next()
            if body.size > limit:
                raise too_large
            return message

        await self.app(scope, receive_limited, send)

    def _limit(self, scope: Scope) -> int:
        match = _UPLOAD.fullmatch(scope["path"])
        if match is None or scope["method"] != "POST":
            return FORM_BYTES
        try:
            return self.site.board(match[1] or match[2]).limits.bytes + FORM_BYTES
        except PippinError:
            return FORM_BYTES


class RateLimiter:
    """Limits failed attempts per client address."""

    def __init__(self, max_attempts: int = MAX_ATTEMPTS, window: float = ATTEMPT_WINDOW) -> None:
        self.max_attempts, self.window = max_attempts, window
        self._times: defaultdict[str, deque[float]] = defaultdict(deque)

    def check(self, request: Request) -> None:
        """Raise an error if the client has made too many attempts."""
        times = self._times[_address(request)]
        while times and times[0] < time.monotonic() - self.window:
            times.popleft()
        if len(times) >= self.max_attempts:
            raise HTTPException(429, "too many attempts from your address; wait a minute")

    def count(self, request: Request) -> None:
        """Count an attempt; forget idle addresses."""
        self._times[_address(request)].append(time.monotonic())
        if len(self._times) > 10_000:
            start = time.monotonic() - self.window
            for address in [a for a, times in self._times.items() if not times or times[-1] < start]:
                del self._times[address]


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


class Guard:
    """Identifies clients and protects forms."""

    def __init__(self, site: Site) -> None:
        self.site, self.rate_limiter = site, RateLimiter()
        self._secret: bytes | None = None

    @property
    def secret(self) -> bytes:
        """The site's secret, created once and stored in its database."""
        if self._secret is None:
            secret = self.site.store.setting("secret")
            if secret is None:
                secret = secrets.token_hex(32)
                self.site.store.set("secret", secret)
            self._secret = bytes.fromhex(secret)
        return self._secret

    def visitor(self, request: Request) -> Account | None:
        """Return the account that is logged in, or None."""
        secret = request.cookies.get(SESSION)
        return find_session(self.site.store, secret) if secret else None

    def bearer(self, request: Request) -> Account:
        """Return the account of the bearer token; count wrong tokens."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise HTTPException(401, "a token is required: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"})
        self.rate_limiter.check(request)
        try:
            return find_account(self.site.store, token)
        except Forbidden as error:
            self.rate_limiter.count(request)
            raise HTTPException(401, str(error), {"www-authenticate": "Bearer"}) from None

    def form_token(self, request: Request) -> tuple[str, str]:
        """Return the token for a form and the cookie value that it is bound to, a new one if there is no cookie."""
        cookie = request.cookies.get(SESSION) or request.cookies.get(CSRF_COOKIE) or secrets.token_urlsafe(24)
        return self._form_token(cookie), cookie

    def _form_token(self, cookie: str) -> str:
        return hmac.new(self.secret, cookie.encode(), hashlib.sha256).hexdigest()

    def check_form(self, request: Request, form: Mapping[str, Any]) -> None:
        """Raise an error unless this site created the form for this browser."""
        origin = request.headers.get("origin")
        if origin not in (None, "null") and origin != f"{request.url.scheme}://{request.url.netloc}":
            raise HTTPException(403, "the form was sent from another site")
        cookie = request.cookies.get(SESSION) or request.cookies.get(CSRF_COOKIE) or ""
        if not cookie or not hmac.compare_digest(self._form_token(cookie), str(form.get("form_token", ""))):
            raise HTTPException(403, "the form has expired, or your browser blocks cookies; reload the page")


def set_cookie(request: Request, response: Response, name: str, value: str, days: float | None = None) -> None:
    """Set a cookie that scripts cannot read and that other sites' forms do not send."""
    response.set_cookie(
        name, value, max_age=None if days is None else int(days * 86_400), httponly=True, samesite="lax", path="/",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def local_path(text: str) -> str:
    """Return the path if it is one of this site, otherwise the first page.

    >>> local_path("/boards/cup"), local_path("//evil.org"), local_path("https://evil.org"), local_path("/a/../b")
    ('/boards/cup', '/', '/', '/')
    """
    return text if _PATH.fullmatch(text) else "/"
