"""Measure the cost of building a data set on one machine and on a local cluster: time, processor time and bytes.

python benchmarks/building.py [documents] [--queries 200] [--workers 2 4]

Synthetic passages of 60 words and titles of 6, queries of 2 to 4 of their words, 100 candidates each, 45 features.
Every build is a process of its own (`pippin build`, with `--dask local --jobs N`), and so are its workers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

WORDS, VOCABULARY = 60, 200_000


def write(folder: Path, documents: int, queries: int) -> None:
    """A BEIR-shaped folder."""
    draw = np.random.default_rng(1)
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as corpus:
        for i in range(documents):
            words = [f"w{w}" for w in (draw.pareto(1.0, WORDS + 6) * 30).astype(np.int64) % VOCABULARY]
            corpus.write(json.dumps({"_id": f"d{i}", "title": " ".join(words[:6]), "text": " ".join(words[6:])}) + "\n")
    with (folder / "queries.jsonl").open("w") as topics, (folder / "qrels" / "test.tsv").open("w") as qrels:
        qrels.write("query-id\tcorpus-id\tscore\n")
        for i in range(queries):
            words = (30 + draw.pareto(1.0, draw.integers(2, 5)) * 300).astype(np.int64) % VOCABULARY
            topics.write(json.dumps({"_id": f"q{i}", "text": " ".join(f"w{w}" for w in words)}) + "\n")
            qrels.write(f"q{i}\td{draw.integers(documents)}\t1\n")


def run(folder: Path, target: str, *options: str) -> tuple[float, float]:
    """Seconds and processor seconds of a build."""
    command = [sys.executable, "-m", "pippin", "build", "data", "-o", target, "--no-meta", "-q", "--sample", "100"]
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def digest(folder: Path) -> str:
    """The digest of all files of a data set."""
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(file.relative_to(folder).as_posix().encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="?", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--workers", nargs="*", type=int, default=[2, 4])
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        folder = Path(place)
        write(folder / "data", options.documents, options.queries)
        print("| build | seconds | processor seconds | bytes |\n|---|--:|--:|---|")
        took, used = run(folder, "one")
        print(f"| one process | {took:.1f} | {used:.1f} | |", flush=True)
        for workers in options.workers:
            took, used = run(folder, f"on-{workers}", "--dask", "local", "--jobs", str(workers))
            same = "the same" if digest(folder / f"on-{workers}") == digest(folder / "one") else "OTHERS"
            print(f"| {workers} workers | {took:.1f} | {used:.1f} | {same} |", flush=True)


if __name__ == "__main__":
    main()
