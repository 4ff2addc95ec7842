"""The application of a small board, asked without a network; and the same served for a real browser."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.boards.conftest import Fair, cluster, cup, plain  # noqa: F401

from pippin.serve.app import make_app

MARK = "b0undary"


@dataclass
class Answer:
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
class Web:
    """A browser, or a program with a token, as the application sees it."""

    fair: Fair
    app: Any
    cookies: dict[str, str] = field(default_factory=dict)
    client: str = "192.0.2.1"
    scheme: str = "http"

    def ask(
        self, method: str, path: str, body: bytes | list[bytes] = b"", headers: dict[str, str] | None = None,
        unfinished: bool = False,
    ) -> Answer:  # fmt: skip
        parts = [body] if isinstance(body, bytes) else list(body)
        place, _, query = path.partition("?")
        given = {"host": "boards.test", **(headers or {})}
        if self.cookies:
            given["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        scope = {"type": "http", "method": method, "path": place, "raw_path": place.encode(), "root_path": "",
                 "query_string": query.encode(), "scheme": self.scheme, "server": ("boards.test", 80),
                 "client": (self.client, 1), "http_version": "1.1",
                 "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()]}  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            if not parts:
                await asyncio.Event().wait()  # the browser stays
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts) or unfinished}

        async def send(message: Any) -> None:
            sent.append(message)

        async def run() -> None:
            try:
                await self.app(scope, receive, send)
            except Exception:
                if not sent:
                    raise

        with ThreadPoolExecutor(1) as pool:  # as a browser's test may have a loop in this thread
            pool.submit(lambda: asyncio.run(run())).result()
        raw = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        cookies = [value for name, value in raw if name == "set-cookie"]
        for cookie in cookies:
            for name, morsel in SimpleCookie(cookie).items():
                self.cookies[name] = morsel.value
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], dict(raw), body, cookies)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def form_token(self, path: str = "/login") -> str:
        return self.get(path).text.split('name="form_token" value="')[1].split('"')[0]

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields).encode(), {**kind, **headers})

    def send(
        self, path: str, fields: dict[str, str], content: bytes | None, name: str = "s.txt", **headers: str
    ) -> Answer:
        parts = [f'--{MARK}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{text}\r\n'.encode()
                 for key, text in fields.items()]  # fmt: skip
        if content is not None:
            head = f'--{MARK}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
            parts += [head.encode(), content, b"\r\n"]
        kind = {"content-type": f"multipart/form-data; boundary={MARK}"}
        return self.ask("POST", path, [*parts, f"--{MARK}--\r\n".encode()], {**kind, **headers})

    def bearer(self, name: str) -> dict[str, str]:
        self.fair.person(name)
        return {"authorization": f"Bearer {self.fair.tokens[name]}"}

    def submit(self, name: str, content: bytes, card: dict[str, str] | None = None, file: str = "s.txt") -> Answer:
        """Send by the REST interface."""
        fields = {"name": "a"} if card is None else card
        return self.send("/api/v1/boards/cup/submissions", fields, content, file, **self.bearer(name))

    def log_in(self, name: str, role: str = "participant") -> Answer:
        self.fair.person(name, role)
        return self.post("/login", {"token": self.fair.tokens[name], "form_token": self.form_token()})

    def other(self) -> Web:
        """Another browser."""
        return Web(self.fair, self.app)

    def good(self, noise: float = 0.5) -> bytes:
        return "".join(f"{one!r}\n" for one in self.fair.scores(noise).tolist()).encode()


@pytest.fixture
def web(cup: Fair) -> Web:  # noqa: F811
    """A browser before the board, on each kind of store."""
    return Web(cup, make_app(cup.site))


@pytest.fixture
def plain_web(plain: Fair) -> Web:  # noqa: F811
    """The same on SQLite, for what commands look at that name no store."""
    return Web(plain, make_app(plain.site))
