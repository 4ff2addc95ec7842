"""Engine fixtures: libraries from `make test-engines`, a running Solr and data that are hard to score."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import numpy as np
import pytest
from tests.engines.plugin_index import PluginIndex
from tests.engines.rankers import LINEAR, NETWORKS, PARAMETERS, TREES
from tests.engines.solr_client import SolrClient

import pippin
from pippin.data.dataset import Dataset

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARIES = ROOT / "build" / "engines"  # one folder of JAR files for each engine, made by `make test-engines`
SECONDS_TO_START = 120


@functools.cache
def java(version: int = 11) -> str:
    """Return the path of a Java of at least this version, or skip the test."""
    installed = [shutil.which("java"), *sorted(map(str, Path("/usr/lib/jvm").glob("*/bin/java")))]
    for program in filter(None, installed):
        text = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
        hits = re.search(r'version "(\d+)', text)
        if hits is not None and int(hits[1]) >= version:
            return program
    pytest.skip(f"no Java {version} or newer on this machine")


def class_path(engine: str) -> str:
    """Return the Java class path of an engine, or skip the test."""
    if not (LIBRARIES / engine).is_dir():
        pytest.skip(f"build/engines/{engine} does not exist; `make test-engines` fetches it with Maven")
    return f"{LIBRARIES / engine}/*"


def _first_line_with(text: str, process: subprocess.Popen[str]) -> str:
    """Return the first line of a process's output that contains a text, or fail after `SECONDS_TO_START`."""
    lines: Queue[str | None] = Queue()

    def copy() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=copy, daemon=True).start()
    try:
        while (line := lines.get(timeout=SECONDS_TO_START)) is not None:
            if text in line:
                return line
    except Empty:
        pass
    process.kill()
    raise AssertionError(f"Solr printed no line with {text!r}")


def _connect(address: str) -> Iterator[SolrClient]:
    """Yield a client, and close it."""
    client = SolrClient(address)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture(scope="session")
def solr(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SolrClient]:
    """Yield a client of the Solr at PIPPIN_TEST_SOLR (the address of a core), or of an embedded Solr 8.11.4."""
    address = os.environ.get("PIPPIN_TEST_SOLR")
    if address:
        yield from _connect(address)
        return
    libraries = class_path("solr")
    home = tmp_path_factory.mktemp("solr")
    configuration = home / "models" / "conf"
    configuration.mkdir(parents=True)
    (home / "solr.xml").write_text("<solr/>\n")
    (home / "models" / "core.properties").write_text("name=models\n")
    for name in ("solrconfig.xml", "schema.xml"):
        shutil.copy(HERE / "solr" / name, configuration)
    command = [
        java(),
        "-Xmx1g",
        "-Dsolr.jetty.host=127.0.0.1",
        "-cp",
        libraries,
        str(HERE / "solr" / "SolrServer.java"),
    ]
    with (home / "errors.log").open("w") as log:
        process = subprocess.Popen(
            [*command, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=home
        )
    try:
        line = _first_line_with("listening on ", process)
        yield from _connect(f"{line.split()[-1]}/models")
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()


@pytest.fixture(scope="session", params=["opensearch", "elasticsearch"])
def plugin_index(request: pytest.FixtureRequest) -> Iterator[PluginIndex]:
    """Yield an index of the engine with its plugin at PIPPIN_TEST_OPENSEARCH or PIPPIN_TEST_ELASTICSEARCH."""
    variable = f"PIPPIN_TEST_{request.param.upper()}"
    if variable not in os.environ:
        pytest.skip(f"{variable} names no engine")
    index = PluginIndex(f"{os.environ[variable].rstrip('/')}/pippin_test", request.param)
    try:
        yield index
    finally:
        index.delete()


def make_dataset(missing: bool, seed: int = 7) -> Dataset:
    """Return 40 queries of 5 to 30 documents with values that float32 rounds, ties, and NaN where `missing`."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 31, 40)
    n = int(sizes.sum())
    features = np.column_stack([
        rng.normal(size=n),
        rng.integers(0, 4, n).astype(np.float64),  # many equal values, so that thresholds meet values
        rng.random(n) * 1e-4,
        np.exp(rng.normal(size=n) * 4),
        rng.integers(0, 3, n) / 3,  # thirds, which no float represents exactly
        1 + rng.integers(0, 40, n) * 2.0**-26,  # below the resolution of float32
    ])  # fmt: skip
    relevance = features[:, 0] + features[:, 1] / 2 + features[:, 4] + rng.normal(size=n) / 2
    labels = np.digitize(relevance, [0.5, 1.5, 2.5]).astype(np.int32)
    if missing:
        features[rng.random(features.shape) < 0.1] = np.nan
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Dataset.from_arrays(features, labels, qid=np.repeat(np.arange(len(sizes)), np.diff(offsets)))


@pytest.fixture(scope="session", params=[False, True], ids=["complete", "missing"])
def hard_data(request: pytest.FixtureRequest) -> Dataset:
    """Return a data set without and with missing values."""
    return make_dataset(bool(request.param))


@pytest.fixture(scope="session")
def complete() -> Dataset:
    """Return the data without missing values."""
    return make_dataset(missing=False)


@pytest.fixture(scope="session")
def models(complete: Dataset) -> dict[str, Any]:
    """Return one trained model for each ranker, by name."""
    return {
        ranker: pippin.train(complete, ranker, **PARAMETERS.get(ranker, {})) for ranker in (*TREES, *LINEAR, *NETWORKS)
    }
