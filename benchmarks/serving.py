"""Measure the latency of `pippin engine serve` over HTTP, beside FastAPI with LightGBM's `predict` and the same trees.

python benchmarks/serving.py [--trees 1000] [--features 136] [--documents 1 10 100] [--requests 500] [--peers PYTHON]

One client sends one request after the other over one connection. FastAPI runs in the Python of --peers (default: this
one; needs fastapi, uvicorn and lightgbm), with a handler that takes the rows as JSON; without these packages the table
has no rows for it. Both servers have one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow
from pyarrow import ipc

import pippin

ARROW = "application/vnd.apache.arrow.stream"
FASTAPI = """
import sys
import lightgbm, numpy, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

class Body(BaseModel):
    features: list[list[float | None]]

app, booster = FastAPI(), lightgbm.Booster(model_file=sys.argv[1])

@app.post("/score")
async def score(body: Body) -> dict[str, list[float]]:
    table = numpy.array(body.features, numpy.float64)
    return {"scores": booster.predict(table, raw_score=True, num_threads=1).tolist()}

@app.get("/model")
async def model() -> dict[str, str]:
    return {}

uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def start(command: list[str], address: str) -> subprocess.Popen[bytes]:
    """Start a server and wait until it answers."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            httpx.get(f"{address}/model")
            return process
        except httpx.TransportError:
            time.sleep(0.1)
    process.kill()
    raise RuntimeError("the server does not answer")


def to_arrow(table: np.ndarray[Any, Any]) -> bytes:
    names = [str(i) for i in range(1, table.shape[1] + 1)]
    columns, sink = pyarrow.table(list(table.T), names), BytesIO()
    with ipc.new_stream(sink, columns.schema) as writer:
        writer.write_table(columns)
    return sink.getvalue()


def measure(address: str, bodies: list[bytes], kind: str, requests: int) -> tuple[float, float]:
    """Return the median and the 99th percentile of the response times in milliseconds, after a warm-up."""
    times = []
    with httpx.Client(base_url=address, headers={"content-type": kind}) as client:
        for i in range(requests + 50):
            started = time.perf_counter()
            client.post("/score", content=bodies[i % len(bodies)]).raise_for_status()
            times.append((time.perf_counter() - started) * 1000)
    p50, p99 = np.percentile(times[50:], [50, 99])
    return float(p50), float(p99)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--documents", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--peers", default=sys.executable)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    table = rng.normal(size=(5000, options.features)).round(4)
    labels = np.digitize(table[:, 0] + np.sin(3 * table[:, 1]), [0.0, 1.0]).astype(np.int32)
    data = pippin.Dataset.from_arrays(table, labels, qid=np.repeat(range(50), 100))
    model = pippin.train(data, "mart", rounds=options.trees)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        pippin.export(model, "lightgbm", Path(folder) / "model.txt", check=data)
        (Path(folder) / "peer.py").write_text(FASTAPI)
        ours, theirs = "http://127.0.0.1:18801", "http://127.0.0.1:18802"
        command = [sys.executable, "-m", "pippin", "engine", "serve", f"{folder}/model.json", "--port", "18801"]
        has_peer = (
            subprocess.run([options.peers, "-c", "import fastapi, lightgbm, uvicorn"], check=False).returncode == 0
        )
        servers = [start(command, ours)]
        if has_peer:
            servers.append(start([options.peers, f"{folder}/peer.py", f"{folder}/model.txt", "18802"], theirs))
        try:
            expected = model.predict(table[:2])
            for url in (ours, theirs)[: len(servers)]:
                scores = httpx.post(f"{url}/score", json={"features": table[:2].tolist()}).json()["scores"]
                np.testing.assert_allclose(scores, expected, rtol=1e-9)
            print("| documents | server | p50 (ms) | p99 (ms) |\n|--:|---|--:|--:|")
            for count in options.documents:
                parts = [table[i * count % 4900 :][:count] for i in range(100)]
                jsons = [json.dumps({"features": part.tolist()}).encode() for part in parts]
                contenders = [
                    ("pippin, Arrow", ours, [to_arrow(part) for part in parts], ARROW),
                    ("pippin, JSON", ours, jsons, "application/json"),
                    ("FastAPI + LightGBM, JSON", theirs, jsons, "application/json"),
                ]
                for name, url, bodies, kind in contenders[: 3 if has_peer else 2]:
                    p50, p99 = measure(url, bodies, kind, options.requests)
                    print(f"| {count} | {name} | {p50:.2f} | {p99:.2f} |")
        finally:
            for server in servers:
                server.terminate()
                server.wait(timeout=20)


if __name__ == "__main__":
    main()
