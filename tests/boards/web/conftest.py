"""A test client of the web application, without a network."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.boards.conftest import BoardSite, cluster, cup, sqlite_cup  # noqa: F401

from pippin.boards.web.app import create_app

MARK = "b0undary"


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes
    cookies: list[str]

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """A browser, or a program with a token."""

    site: BoardSite
    app: Any
    cookies: dict[str, str] = field(default_factory=dict)
    client: str = "192.0.2.1"
    scheme: str = "http"

    def request(
        self, method: str, path: str, body: bytes | list[bytes] = b"", headers: dict[str, str] | None = None,
        unfinished: bool = False,
    ) -> Response:  # fmt: skip
        parts = [body] if isinstance(body, bytes) else list(body)
        path, _, query = path.partition("?")
        sent_headers = {"host": "boards.test", **(headers or {})}
        if self.cookies:
            sent_headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        raw_headers = [(key.lower().encode(), value.encode()) for key, value in sent_headers.items()]
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
                 "query_string": query.encode(), "scheme": self.scheme, "server": ("boards.test", 80),
                 "client": (self.client, 1), "http_version": "1.1",
                 "headers": raw_headers}  # fmt: skip
        submitted: list[Any] = []

        async def receive() -> Any:
            if not parts:
                await asyncio.Event().wait()  # stay connected
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts) or unfinished}

        async def send(message: Any) -> None:
            submitted.append(message)

        async def run() -> None:
            try:
                await self.app(scope, receive, send)
            except Exception:
                if not submitted:
                    raise

        with ThreadPoolExecutor(1) as pool:  # the browser tests have a loop in this thread
            pool.submit(lambda: asyncio.run(run())).result()
        raw = [(name.decode(), value.decode()) for name, value in submitted[0]["headers"]]
        cookies = [value for name, value in raw if name == "set-cookie"]
        for cookie in cookies:
            for name, morsel in SimpleCookie(cookie).items():
                self.cookies[name] = morsel.value
        body = b"".join(message.get("body", b"") for message in submitted[1:])
        return Response(submitted[0]["status"], dict(raw), body, cookies)

    def get(self, path: str, **headers: str) -> Response:
        return self.request("GET", path, headers=headers)

    def form_token(self, path: str = "/login") -> str:
        return self.get(path).text.split('name="form_token" value="')[1].split('"')[0]

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Response:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, urlencode(fields).encode(), {**kind, **headers})

    def upload(
        self, path: str, fields: dict[str, str], content: bytes | None, name: str = "s.txt", **headers: str
    ) -> Response:
        parts = [f'--{MARK}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{text}\r\n'.encode()
                 for key, text in fields.items()]  # fmt: skip
        if content is not None:
            head = f'--{MARK}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
            parts += [head.encode(), content, b"\r\n"]
        kind = {"content-type": f"multipart/form-data; boundary={MARK}"}
        return self.request("POST", path, [*parts, f"--{MARK}--\r\n".encode()], {**kind, **headers})

    def bearer(self, name: str) -> dict[str, str]:
        self.site.account(name)
        return {"authorization": f"Bearer {self.site.tokens[name]}"}

    def submit(self, name: str, content: bytes, card: dict[str, str] | None = None, file: str = "s.txt") -> Response:
        """Submit over the REST interface."""
        fields = {"name": "a"} if card is None else card
        return self.upload("/api/v1/boards/cup/submissions", fields, content, file, **self.bearer(name))

    def log_in(self, name: str, role: str = "participant") -> Response:
        self.site.account(name, role)
        return self.post("/login", {"token": self.site.tokens[name], "form_token": self.form_token()})

    def new_client(self) -> Client:
        """Return a client with its own cookies."""
        return Client(self.site, self.app)

    def good_scores(self, noise: float = 0.5) -> bytes:
        return "".join(f"{score!r}\n" for score in self.site.scores(noise).tolist()).encode()


@pytest.fixture
def web(cup: BoardSite) -> Client:  # noqa: F811
    """A client of the board, on each kind of database."""
    return Client(cup, create_app(cup.site))


@pytest.fixture
def sqlite_web(sqlite_cup: BoardSite) -> Client:  # noqa: F811
    """A client of the board on SQLite."""
    return Client(sqlite_cup, create_app(sqlite_cup.site))
