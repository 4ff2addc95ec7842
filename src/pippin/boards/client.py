"""Submit to a remote server of boards, as `pippin board submit` does."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pippin.boards.submissions import Card
from pippin.errors import DataError, PippinError

TOKEN = "PIPPIN_TOKEN"  # environment variable
_TIMEOUT = 60  # seconds for a response


class SubmissionRejected(PippinError):
    """The server rejected a request; the message is the server's."""


def read_token(file: str | os.PathLike[str] | None = None) -> str:
    """Read the token from a file that only its owner can read, or else from the environment."""
    if file is None:
        token = os.environ.get(TOKEN, "").strip()
        if not token:
            raise DataError(f"no token: set {TOKEN}, or pass a file of mode 600 with --token-file")  # fmt: skip
        return token
    path = Path(file)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise DataError(f"the token file is readable by others; run chmod 600 {path}", path)
    return path.read_text(encoding="utf-8").strip()


class Client:
    """HTTP client of a server of boards."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DataError(f"invalid server address {address!r}: expected, for example, https://boards.example.org")
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if token and parts.scheme == "http" and not local:
            raise DataError("a token is sent to other machines over TLS only; use an https:// address")
        self.parts, self.token = parts, token

    def request(self, method: str, path: str, **content: Any) -> Any:
        """Return the JSON response; raise SubmissionRejected with the server's message if it rejects the request."""
        import httpx

        headers = {"accept": "application/json", **({"authorization": f"Bearer {self.token}"} if self.token else {})}
        address = f"{self.parts.scheme}://{self.parts.netloc}{self.parts.path.rstrip('/')}/api/v1{path}"
        try:
            response = httpx.request(method, address, headers=headers, timeout=_TIMEOUT, **content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error).strip() or type(error).__name__
            raise DataError(f"cannot connect to {self.parts.netloc}: {reason}") from None
        try:
            record = response.json()
        except ValueError:
            raise DataError(f"unexpected response from {self.parts.netloc}: not JSON") from None
        if response.is_error:
            raise SubmissionRejected(
                str(record.get("error", f"the server rejected the request (status {response.status_code})"))
            )
        return record

    def post(self, path: str, **fields: Any) -> Any:
        """Post a JSON object; return the response."""
        return self.request("POST", path, json=fields)

    def submit(self, board: str, file: str | os.PathLike[str], card: Card, kind: str = "auto") -> dict[str, Any]:
        """Submit a file; return the server's record, with its `id`."""
        fields = {**{name: text for name, text in card.record().items() if text}, "kind": kind}
        with Path(file).open("rb") as content:
            path = f"/boards/{board}/submissions"
            record: dict[str, Any] = self.request("POST", path, data=fields, files={"file": (Path(file).name, content)})
        return record

    def wait(self, submission: str, seconds: float = 300) -> dict[str, Any]:
        """Wait until a submission is scored or rejected; return its record."""
        end = time.monotonic() + seconds
        while True:
            record: dict[str, Any] = self.request("GET", f"/submissions/{submission}")
            if record["state"] in ("scored", "rejected"):
                return record
            if time.monotonic() > end:
                raise DataError(f"submission {submission} is not scored after {seconds:g} seconds; see its page")
            time.sleep(0.2)

    def receipt(self, submission: str) -> dict[str, Any]:
        """Return the signed receipt of a submission."""
        receipt: dict[str, Any] = self.request("GET", f"/submissions/{submission}/receipt")
        return receipt
