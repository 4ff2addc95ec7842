"""Submitting to a server from afar: what `pippin submit` does, for Python users too."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import ssl
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from pippin.boards.submission import Card
from pippin.errors import DataError, PippinError

TOKEN = "PIPPIN_TOKEN"  # the environment variable with the token
_PIECE = 1 << 16
_WAIT = 60  # seconds for an answer


class Refused(PippinError):
    """The server said no: its own sentence."""


def read_token(file: str | os.PathLike[str] | None = None) -> str:
    """The token in a file that nobody else can read, or else in the environment."""
    if file is None:
        token = os.environ.get(TOKEN, "").strip()
        if not token:
            raise DataError(f"a token is needed: put it into {TOKEN}, or into a file of mode 600 and name it with "
                            "--token-file")  # fmt: skip
        return token
    path = Path(file)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise DataError(f"others may read this token; chmod 600 {path}", path)
    return path.read_text(encoding="utf-8").strip()


class Client:
    """A server of boards, with a token."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DataError(f"a server is an address such as https://boards.example.org, not {address!r}")
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if token and parts.scheme == "http" and not local:
            raise DataError("a token is not sent to another machine without TLS; use an https:// address")
        self.parts, self.token = parts, token

    def _connection(self) -> http.client.HTTPConnection:
        host, port = str(self.parts.hostname), self.parts.port
        if self.parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=_WAIT, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=_WAIT)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """What the server answers, as JSON; where it refuses, its sentence."""
        connection = self._connection()
        given = {"accept": "application/json", **(headers or {})}
        if self.token:
            given["authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, f"{self.parts.path.rstrip('/')}/api/v1{path}", body, given)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            words = str(error).strip() or type(error).__name__
            raise DataError(f"the server at {self.parts.netloc} does not answer: {words}") from None
        finally:
            connection.close()
        try:
            told = json.loads(content)
        except ValueError:
            raise DataError(f"the server at {self.parts.netloc} answered something else than a board would") from None
        if answer.status >= 400:
            raise Refused(str(told.get("error", f"the server refused it (status {answer.status})")))
        return told

    def post(self, path: str, **fields: Any) -> Any:
        """Send a JSON object."""
        return self.ask("POST", path, json.dumps(fields), {"content-type": "application/json"})

    def submit(self, board: str, file: str | os.PathLike[str], card: Card, kind: str = "auto") -> dict[str, Any]:
        """Send a submission; what the server says of it, its `id` among it."""
        mark = secrets.token_hex(16)
        fields = {**{name: text for name, text in card.record().items() if text}, "kind": kind}
        head = "".join(f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
                       for name, text in fields.items())  # fmt: skip
        called = Path(file).name.encode("ascii", "replace").decode().replace('"', "'")
        head += f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{called}"\r\n\r\n'
        tail = f"\r\n--{mark}--\r\n".encode()
        with Path(file).open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            headers = {"content-type": f"multipart/form-data; boundary={mark}",
                       "content-length": str(len(head.encode()) + size + len(tail))}  # fmt: skip
            sent = _pieces(head.encode(), content, tail)
            told: dict[str, Any] = self.ask("POST", f"/boards/{board}/submissions", sent, headers)
        return told

    def wait(self, submission: str, seconds: float = 300) -> dict[str, Any]:
        """What became of a submission, when it is scored or refused."""
        end = time.monotonic() + seconds
        while True:
            told: dict[str, Any] = self.ask("GET", f"/submissions/{submission}")
            if told["state"] in ("scored", "refused"):
                return told
            if time.monotonic() > end:
                raise DataError(f"submission {submission} is not scored after {seconds:g} seconds; look at its page")
            time.sleep(0.2)

    def receipt(self, submission: str) -> dict[str, Any]:
        """The signed receipt of a submission."""
        told: dict[str, Any] = self.ask("GET", f"/submissions/{submission}/receipt")
        return told


def _pieces(head: bytes, file: IO[bytes], tail: bytes) -> Iterator[bytes]:
    yield head
    while piece := file.read(_PIECE):
        yield piece
    yield tail
