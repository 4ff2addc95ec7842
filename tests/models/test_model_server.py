"""The HTTP endpoint that scores documents with a model."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow
import pytest
from pyarrow import ipc

import pippin
from pippin.data.dataset import Dataset
from pippin.engines.server import ARROW, ModelServer

NAMES = ("bm25@title", "price", "age")


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(400, 3))
    labels = np.digitize(table[:, 0] + table[:, 1], [0.0, 1.0]).astype(np.int32)
    table[rng.random(table.shape) < 0.1] = np.nan
    return Dataset.from_arrays(table, labels, qid=np.repeat(range(20), 20), feature_names=list(NAMES))


@pytest.fixture(scope="module")
def model(data: Dataset) -> Any:
    return pippin.train(data, "lambdamart", rounds=20)


@pytest.fixture(scope="module")
def address(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of the command's server."""
    path = tmp_path_factory.mktemp("served") / "model.json"
    model.save(path)
    command = [sys.executable, "-m", "pippin", "engine", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[2]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stdout.close()


def to_json(table: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else value for value in row] for row in table.tolist()]


def to_arrow(columns: dict[str, Any]) -> bytes:
    table, sink = pyarrow.table(columns), BytesIO()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_json_and_arrow_have_the_scores_of_the_model(address: str, model: Any, data: Dataset) -> None:
    assert address.startswith("http://127.0.0.1:")
    expected = model.predict(data).tolist()
    rows = to_json(data.features)
    documents = [{name: value for name, value in zip(NAMES, row, strict=True) if value is not None} for row in rows]
    columns = {"id": list(range(400)), **dict(zip(NAMES, data.features.T, strict=True))}
    with httpx.Client(base_url=address) as client:
        assert client.post("/score", json={"features": rows}).json() == {"scores": expected}
        assert client.post("/score", json={"documents": documents}).json() == {"scores": expected}
        assert client.post("/score", json={"features": []}).json() == {"scores": []}
        answer = client.post("/score", content=to_arrow(columns), headers={"content-type": ARROW})
        assert answer.headers["content-type"] == ARROW
        assert ipc.open_stream(answer.content).read_all()["score"].to_pylist() == expected
        about = client.get("/model").json()
    assert about == {"ranker": model.name, "features": list(NAMES), "version": model.feature_version_}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "invalid JSON"),
        (b"[]", "the body is an object"),
        (b'{"rows": []}', "unknown member 'rows'"),
        (b'{"features": [[1, 2]]}', "a document must have 3 features, got 2"),
        (b'{"features": [[1, 2, 3], [1]]}', "all of the same length"),
        (b'{"features": [["a", "b", "c"]]}', "numbers or null"),
        (b'{"features": [["1", "2", "3"]]}', "numbers or null"),
        (b'{"features": [[true, false, true]]}', "numbers or null"),
        (b'{"features": [1, 2, 3]}', "a list of rows"),
        (b'{"features": [[[1], [2], [3]]]}', "numbers or null"),
        (b'{"features": [[1, 2, 1' + b"0" * 400 + b"]]}", "numbers or null"),
        (b'{"documents": [{"price": "1"}]}', "numbers or null"),
        (b'{"documents": [{"colour": 1}]}', "no feature 'colour'"),
        (b'{"documents": [3]}', "an object by feature"),
    ],
)
def test_errors_of_json_are_400_with_a_sentence(address: str, body: bytes, message: str) -> None:
    answer = httpx.post(f"{address}/score", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_other_errors(address: str) -> None:
    arrow = {"content-type": ARROW}
    for content, message in ((b"junk", "cannot be read"), (to_arrow({"price": [1.0]}), "one column 'bm25@title'")):
        answer = httpx.post(f"{address}/score", content=content, headers=arrow)
        assert (answer.status_code, message in answer.json()["error"]) == (400, True)
    assert httpx.get(f"{address}/score").status_code == 405
    assert httpx.get(f"{address}/").status_code == 404
    assert httpx.post(f"{address}/score", content=b"1,2").status_code == 415


def test_a_large_body_is_refused(model: Any) -> None:
    server = ModelServer(model, max_bytes=100)
    transport = httpx.ASGITransport(app=server)  # type: ignore[arg-type]

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.post("/score", json={"features": [[1.0, 2.0, 3.0]] * 50})

    with ThreadPoolExecutor(1) as thread:  # a browser's event loop may run in this one
        answer = thread.submit(asyncio.run, post()).result(timeout=30)
    assert answer.status_code == 413
    assert "send smaller batches" in answer.json()["error"]


def test_a_used_port_is_an_error(address: str, model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    port = address.rpartition(":")[2]
    command = [sys.executable, "-m", "pippin", "engine", "serve", str(tmp_path / "model.json"), "--port", port]
    completed = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "COLUMNS": "200"}
    )
    assert completed.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in completed.stderr
