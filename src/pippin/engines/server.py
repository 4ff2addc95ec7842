"""Serve a model over HTTP: an ASGI application with one address that scores batches of documents.

`POST /score` takes JSON, or an Arrow stream whose columns are the features, and answers in the same format.
`GET /model` describes the model.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.dependencies import require
from pippin.errors import DataError, PippinError
from pippin.rankers.models import as_ranker

ARROW, JSON = "application/vnd.apache.arrow.stream", "application/json"
MAX_BYTES = 64 << 20
SECONDS_TO_SEND = 30.0
_ROWS_IN_LOOP = 256  # more documents are scored in a thread, so that other requests do not wait

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class _HttpError(Exception):
    """An error with its status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ModelServer:
    """An ASGI application that scores documents with a model.

    Parameters
    ----------
    model : Ranker or path
        The model. Features are those of its training data, in the same version: a model that was trained on features
        that are normalised within each query needs such features.
    max_bytes : int, default 64 MiB
        Largest body of a request.

    Examples
    --------
    >>> import pippin
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1], feature_names=["price"])
    >>> server = ModelServer(pippin.train(data, "best-feature"))
    >>> server.score_json({"documents": [{"price": 2.5}, {"price": 1.0}]})
    {'scores': [2.5, 1.0]}
    """

    def __init__(self, model: Any, *, max_bytes: int = MAX_BYTES) -> None:
        self.model, self.max_bytes = as_ranker(model), max_bytes
        if not hasattr(self.model, "to_model"):
            raise DataError(f"{self.model.name} scores all documents of a query together and cannot be served")
        self.features = tuple(map(str, self.model.feature_names_))
        self._columns = {name: i for i, name in enumerate(self.features)}

    def describe(self) -> dict[str, Any]:
        """Return the name of the ranker, its features, and the version of the features."""
        return {
            "ranker": self.model.name, "features": list(self.features),
            "version": self.model.feature_version_,
        }  # fmt: skip

    def score_json(self, body: Any) -> dict[str, list[float]]:
        """Return the scores of documents.

        Parameters
        ----------
        body : dict
            Either `features`, a list of rows in the order of the model's features, or `documents`, a list of objects by
            feature. Null and absent features are missing values.

        Returns
        -------
        dict
            The `scores`, in the order of the documents.

        Raises
        ------
        DataError
            If the body has another form, or a feature that the model does not have.
        """
        if not isinstance(body, dict) or len(body) != 1 or not isinstance(next(iter(body.values())), list):
            raise DataError("the body is an object with features (a list of rows) or documents (a list of objects)")
        (kind, rows), = body.items()  # fmt: skip
        if kind == "documents":
            rows = [self._row(document) for document in rows]
        elif kind != "features":
            raise DataError(f"unknown member {kind!r}; expected features or documents")
        return {"scores": self._score(_parse_rows(rows)).tolist()}

    def _row(self, document: Any) -> list[Any]:
        if not isinstance(document, dict):
            raise DataError("a document is an object by feature")
        if unknown := document.keys() - self._columns.keys():
            raise DataError(f"the model has no feature {min(unknown)!r}")
        return [document.get(name) for name in self.features]

    def score_arrow(self, content: bytes) -> bytes:
        """Return an Arrow stream with the column `score` for an Arrow stream with a column for each feature.

        Parameters
        ----------
        content : bytes
            The stream. Columns that are no features of the model, such as ids, are ignored.

        Returns
        -------
        bytes
            The stream of the scores.

        Raises
        ------
        DataError
            If the stream is damaged or lacks a feature.
        """
        import pyarrow
        from pyarrow import ipc

        try:
            with ipc.open_stream(content) as stream:
                table = stream.read_all()
            names, double = table.column_names, pyarrow.float64()
            places, counts = {name: i for i, name in enumerate(names)}, Counter(names)
            if wrong := next((name for name in self.features if counts[name] != 1), None):
                raise DataError(f"the stream needs one column {wrong!r}, got {counts[wrong]}")
            columns = [table.column(places[name]) for name in self.features]
            columns = [column if column.type == double else column.cast(double) for column in columns]
            columns = [column.to_numpy() for column in columns]
        except pyarrow.ArrowException as error:
            raise DataError(f"the Arrow stream cannot be read: {error}") from None
        scores = pyarrow.table({"score": self._score(np.column_stack(columns))})
        sink = pyarrow.BufferOutputStream()
        with ipc.new_stream(sink, scores.schema) as writer:
            writer.write_table(scores)
        return bytes(sink.getvalue())

    def _score(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        if not len(table):
            return np.empty(0)
        if table.shape[1] != len(self.features):
            raise DataError(f"a document must have {len(self.features)} features, got {table.shape[1]}")
        scores: NDArray[np.float64] = self.model.predict(np.ascontiguousarray(table))
        return scores

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await _run_lifespan(receive, send)
            return
        try:
            content, kind = await self._answer(scope, receive)
            status = 200
        except _HttpError as error:
            status, content, kind = error.status, json.dumps({"error": str(error)}).encode(), JSON
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[bytes, str]:
        method, path = scope["method"], scope["path"]
        if path not in ("/model", "/score"):
            raise _HttpError(404, "not found; the addresses are /model and /score")
        if method != ("GET" if path == "/model" else "POST"):
            raise _HttpError(405, "method not allowed")
        if path == "/model":
            return json.dumps(self.describe()).encode(), JSON
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if kind not in (ARROW, JSON):
            raise _HttpError(415, f"unsupported media type; send {JSON} or {ARROW}")
        try:
            content = await asyncio.wait_for(self._read(receive), SECONDS_TO_SEND)
        except TimeoutError:
            raise _HttpError(408, "request timed out; retry on a faster connection") from None
        respond = self._respond_arrow if kind == ARROW else self._respond_json
        try:
            if len(content) <= _ROWS_IN_LOOP * 8 * len(self.features):
                return respond(content), kind
            return await asyncio.to_thread(respond, content), kind
        except PippinError as error:
            raise _HttpError(400, str(error)) from None

    async def _read(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _HttpError(400, "the connection was closed")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.max_bytes:
                raise _HttpError(413, f"the body is larger than {self.max_bytes:,} bytes; send smaller batches")
            if not message.get("more_body"):
                return b"".join(parts)

    def _respond_json(self, content: bytes) -> bytes:
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            raise DataError("the body is invalid JSON") from None
        return json.dumps(self.score_json(body)).encode()

    def _respond_arrow(self, content: bytes) -> bytes:
        return self.score_arrow(content)


def _parse_rows(rows: Sequence[Any]) -> NDArray[np.float64]:
    """Return rows of numbers as a table; null is NaN."""
    message = "features must be a list of rows of numbers or null, all of the same length"
    types = (int, float, type(None))
    if not all(isinstance(row, list) and all(type(value) in types for value in row) for row in rows):
        raise DataError(message)
    try:
        return np.array(rows, np.float64).reshape(len(rows), -1 if rows else 0)
    except (OverflowError, ValueError):
        raise DataError(message) from None


async def _run_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def serve_model(
    model: Any, *, host: str = "127.0.0.1", port: int = 8000, max_bytes: int = MAX_BYTES,
    on_start: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve a model until interrupted.

    Parameters
    ----------
    model : Ranker or path
        The model.
    host : str, default "127.0.0.1"
        Address to listen on. There is no authentication: put a proxy in front of any other address.
    port : int, default 8000
        The port; 0 is any free port.
    max_bytes : int, default 64 MiB
        Largest body of a request.
    on_start : callable, optional
        Called with the address when the server listens.

    Examples
    --------
    >>> serve_model("model.json", port=8000)  # doctest: +SKIP
    """
    require("serving a model", "uvicorn")
    import socket

    import uvicorn

    server = ModelServer(model, max_bytes=max_bytes)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is given; answers would wait for 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise PippinError(f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}") from None
        listener.listen(128)
        if on_start is not None:
            on_start(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
        config = uvicorn.Config(server, access_log=False, log_level="warning", lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])
