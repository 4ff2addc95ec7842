"""What stands before every answer: headers, limits of bodies while they stream, who asks, forged forms, guessed tokens.

A form of a page carries a token that is bound to the browser's cookie (HMAC with the site's secret), so that no other
page can send it. Log-in, registration and wrong tokens are counted by address. Whatever goes wrong is one sentence.
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

from pippin.boards import sending
from pippin.boards.accounts import Account, NotAllowed, account_of, session_of
from pippin.boards.site import Site
from pippin.boards.store import StoreDown
from pippin.errors import PippinError, UnknownName
from pippin.serve.patience import Body

SESSION, VISIT = "pippin_session", "pippin_visit"
FORM_BYTES = 64 << 10  # of a form without a file
TRIES, WINDOW = 10, 60.0  # wrong tokens and new accounts of one address, in so many seconds
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
    (NotAllowed, 403), (sending.BoardClosed, 409), (sending.TooMany, 429), (sending.TooLarge, 413),
    (sending.DiskFull, 507), (UnknownName, 404), (StoreDown, 503),
)  # fmt: skip


def status_of(error: PippinError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 422)


class Headered:
    """Puts the headers of safety on every answer; HSTS where it came by TLS."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""

        async def headered(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if scope["scheme"] == "https":
                    headers["strict-transport-security"] = HSTS
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, headered if scope["type"] == "http" else send)


class Limited:
    """Counts the bytes of a body while they arrive, and stops beyond the limit or where they come too slowly,
    whatever the head promised."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse the body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit, body = self._limit(scope), Body(receive)
        promised = Headers(scope=scope).get("content-length", "0")

        async def limited() -> Message:
            if promised.isdigit() and int(promised) > limit:
                raise HTTPException(413, _too_large(limit))
            message = await body.next()
            if body.counted > limit:
                raise HTTPException(413, _too_large(limit))
            return message

        await self.app(scope, limited, send)

    def _limit(self, scope: Scope) -> int:
        found = _UPLOAD.fullmatch(scope["path"])
        if found is None or scope["method"] != "POST":
            return FORM_BYTES
        try:
            return self.site.board(found[1] or found[2]).limits.bytes + FORM_BYTES
        except PippinError:
            return FORM_BYTES


def _too_large(limit: int) -> str:
    from pippin.limits import in_words

    return f"this is too large: at most {in_words(limit)} are taken here"


class Tries:
    """How often an address has tried: a lock against guessing."""

    def __init__(self, most: int = TRIES, window: float = WINDOW) -> None:
        self.most, self.window = most, window
        self._times: defaultdict[str, deque[float]] = defaultdict(deque)

    def check(self, request: Request) -> None:
        """Raise where this address has tried too often."""
        times = self._times[_address(request)]
        while times and times[0] < time.monotonic() - self.window:
            times.popleft()
        if len(times) >= self.most:
            raise HTTPException(429, "too many tries from your address; wait a minute")

    def count(self, request: Request) -> None:
        """Count a try; addresses that are silent are forgotten."""
        self._times[_address(request)].append(time.monotonic())
        if len(self._times) > 10_000:
            old = time.monotonic() - self.window
            for address in [a for a, times in self._times.items() if not times or times[-1] < old]:
                del self._times[address]


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


class Guard:
    """Who asks, and whether a form is the site's own."""

    def __init__(self, site: Site) -> None:
        self.site, self.tries = site, Tries()
        self._secret: bytes | None = None

    @property
    def secret(self) -> bytes:
        """The site's secret, made once and kept in its store."""
        if self._secret is None:
            found = self.site.store.setting("secret")
            if found is None:
                found = secrets.token_hex(32)
                self.site.store.set("secret", found)
            self._secret = bytes.fromhex(found)
        return self._secret

    def visitor(self, request: Request) -> Account | None:
        """Whose browser this is; None: a guest's."""
        secret = request.cookies.get(SESSION)
        return session_of(self.site.store, secret) if secret else None

    def bearer(self, request: Request) -> Account:
        """Whose program this is, by its token; wrong ones are counted."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise HTTPException(401, "this needs a token: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"})
        self.tries.check(request)
        try:
            return account_of(self.site.store, token)
        except NotAllowed as error:
            self.tries.count(request)
            raise HTTPException(401, str(error), {"www-authenticate": "Bearer"}) from None

    def form_token(self, request: Request) -> tuple[str, str]:
        """The token for a form, and the cookie's value that it is bound to, new where there was none."""
        bound = request.cookies.get(SESSION) or request.cookies.get(VISIT) or secrets.token_urlsafe(24)
        return hmac.new(self.secret, bound.encode(), hashlib.sha256).hexdigest(), bound

    def check_form(self, request: Request, form: Mapping[str, Any]) -> None:
        """Raise unless the form was made by this site for this browser."""
        origin = request.headers.get("origin")
        if origin not in (None, "null") and origin != f"{request.url.scheme}://{request.url.netloc}":
            raise HTTPException(403, "this form was sent from another site")
        bound = request.cookies.get(SESSION) or request.cookies.get(VISIT) or ""
        wanted = hmac.new(self.secret, bound.encode(), hashlib.sha256).hexdigest()
        if not bound or not hmac.compare_digest(wanted, str(form.get("form_token", ""))):
            raise HTTPException(403, "this form is too old, or your browser keeps no cookies; load it again")


def set_cookie(request: Request, response: Response, name: str, value: str, days: float | None = None) -> None:
    """A cookie that scripts cannot read, and that other sites' forms do not carry."""
    response.set_cookie(
        name, value, max_age=None if days is None else int(days * 86_400), httponly=True, samesite="lax", path="/",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def own_path(text: str) -> str:
    """Where to go next: a path of this site, or its first page; never another site.

    >>> own_path("/boards/cup"), own_path("//evil.org"), own_path("https://evil.org"), own_path("/a/../b")
    ('/boards/cup', '/', '/', '/')
    """
    return text if _PATH.fullmatch(text) else "/"
