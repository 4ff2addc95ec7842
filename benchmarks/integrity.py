"""Measure the cost of checksums: the hash against a peer's, and commands with and without verification.

    python benchmarks/integrity.py

Every figure is a ratio of two things measured in the same run, in the processor's seconds, turn by turn, of which the
best of several counts: the checksum of blocks against the library xxhash and against a plain copy in memory; opening
and using a store, partitions, an index, a Parquet and an Arrow file with and without the comparison of checksums.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import build_index, open_index
from pippin.data import arrow_files, frames
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements
from pippin.data.partitions import read_partitions, write_partitions
from pippin.data.store import read_store, write_store
from pippin.evaluation.evaluate import evaluate
from pippin.kernels.checksum import block_checksums
from pippin.rankers import ranker
from pippin.storage.manifest import Blocks

ROUNDS = 11


def best(*work: Callable[[], Any]) -> list[float]:
    """Seconds of the processor for each, turn by turn, the best of several rounds."""
    times = [float("inf")] * len(work)
    for _ in range(ROUNDS):
        for i, item in enumerate(work):
            start = time.process_time()
            item()
            times[i] = min(times[i], time.process_time() - start)
    return times


def believe(*_: object) -> bool:
    return True


@contextmanager
def skip_verification() -> Iterator[None]:
    """Believe every file."""
    with (
        mock.patch.object(Blocks, "_check_blocks", believe),
        mock.patch.object(arrow_files, "verify", believe),
    ):
        yield


def believing(work: Callable[[], Any]) -> Callable[[], Any]:
    def without() -> Any:
        with skip_verification():
            return work()

    return without


def hashes() -> None:
    data = np.random.default_rng(1).integers(0, 256, 1 << 28, np.uint8)
    work: dict[str, Callable[[], Any]] = {"blocks": lambda: block_checksums(data), "copy": data.copy}
    try:
        import xxhash

        work["xxhash"] = lambda: xxhash.xxh3_64_intdigest(data)
    except ImportError:
        print("the library xxhash is not installed: no peer")
    os.environ["PIPPIN_THREADS"] = "1"
    times = dict(zip(work, best(*work.values()), strict=True))
    del os.environ["PIPPIN_THREADS"]
    speeds = {name: data.nbytes / seconds / 1e9 for name, seconds in times.items()}
    print("one thread, GB/s: " + ", ".join(f"{name} {speed:.1f}" for name, speed in speeds.items()))


def pages(count: int) -> Collection:
    random = np.random.default_rng(2)
    words = np.array([f"word{i}" for i in range(20_000)])
    sample = words[np.minimum(random.zipf(1.3, (count, 120)) - 1, len(words) - 1)]
    documents = [Document(f"d{i}", {"text": " ".join(row)}) for i, row in enumerate(sample)]
    return Collection("drawn", ("text",), lambda: iter(documents))


def commands(place: Path) -> dict[str, Callable[[], Any]]:
    """What people do with what Pippin wrote."""
    rows, width = 400_000, 46
    random = np.random.default_rng(3)
    query = np.repeat(np.arange(rows // 100), 100)
    table = random.normal(size=(rows, width)).astype(np.float32)
    data = Dataset.from_arrays(table, random.integers(0, 3, rows), query)
    scores = random.normal(size=rows)
    write_store(data, place / "store")
    write_partitions(data, place / "parts", 100_000)
    for form in ("parquet", "arrow"):
        frames.write_frame(data, place / f"d.{form}")
    build_index(pages(20_000), place / "index")
    model = ranker("regression")().fit(data.select(slice(0, 200)))
    queries = [[f"word{random.integers(0, 3000)}" for _ in range(3)] for _ in range(500)]

    def rank_store() -> Any:
        return model.predict(read_store(place / "store"))

    return {
        "eval of a store": lambda: evaluate(read_store(place / "store"), scores, ["NDCG@10", "MAP"]),
        "rank of a store": rank_store,
        "training on a store": lambda: ranker("regression")().fit(read_store(place / "store")),
        "reading partitions": lambda: read_partitions(place / "parts"),
        "reading Parquet": lambda: coerce_judgements(place / "d.parquet"),
        "reading Arrow": lambda: coerce_judgements(place / "d.arrow"),
        "500 searches": lambda: open_index(place / "index").search_many(queries, 10, field="text"),
        "opening an index for one search": lambda: open_index(place / "index").search_terms(
            queries[0], 10, field="text"
        ),
    }


def main() -> None:
    hashes()
    with tempfile.TemporaryDirectory() as folder:
        for name, work in commands(Path(folder)).items():
            verified, plain = best(work, believing(work))
            print(f"{name}: {verified / plain:.3f} of the time without ({1e3 * verified:.1f} and {1e3 * plain:.1f} ms)")


if __name__ == "__main__":
    main()
