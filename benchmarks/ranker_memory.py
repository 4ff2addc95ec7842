"""Measure the memory that training needs in addition to the data set, one process per ranker.

python benchmarks/ranker_memory.py [--documents N] [--features N] [--only NAME]

Prints how much the peak of resident memory grows during `fit`, as a ratio to the features' bytes in float64. The data
set is made, and everything that a ranker imports is loaded by a fit on a handful of queries, before the measurement
begins. Rounds are few: no ranker keeps more for more rounds than a score per document.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from pippin.data.dataset import Dataset
from pippin.rankers import names, ranker

# What keeps each training short; a ranker that is not named here is trained with `rounds` 3.
SHORT: dict[str, dict[str, Any]] = {
    "best-feature": {},
    "regression": {},
    "coordinate-ascent": {"n_restarts": 2, "max_iter": 1, "line_steps": 4},
}
WARM = 20  # queries of the first, small fit


def synthetic(documents: int, features: int) -> Dataset:
    """Queries of 100 documents with labels 0 to 4 that follow a few features; every tenth has no relevant document."""
    random = np.random.default_rng(1)
    queries = documents // 100
    table = random.random((queries * 100, features))
    truth = table[:, :5].sum(axis=1) + random.normal(0, 0.5, len(table))
    labels = np.digitize(truth, np.quantile(truth, [0.5, 0.8, 0.95, 0.99])).astype(np.int32)
    labels.reshape(-1, 100)[::10] = 0
    return Dataset(table, labels, np.arange(queries + 1) * 100, tuple(map(str, range(queries))), name="synthetic")


def peak() -> int:
    """Bytes of resident memory at the highest so far."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def fit_bytes(name: str, documents: int, features: int) -> int:
    """How far the peak rises during one fit."""
    data = synthetic(documents, features)
    model = ranker(name)(**SHORT.get(name, {"rounds": 3}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rounds are not meant to converge
        model.fit(data.select(np.arange(WARM)))
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from what is resident now
        before = peak()
        model.fit(data)
    return peak() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--only", help="one ranker")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # measure that ranker in this process
    options = parser.parse_args()
    if options.here:
        print(fit_bytes(options.here, options.documents, options.features))
        return
    size = options.documents // 100 * 100 * options.features * 8
    print(f"{options.documents:,} documents × {options.features} features, {size / 1e6:.0f} MB in float64\n")
    print("| ranker | beyond the data set | ratio to the features |\n|---|--:|--:|")
    for name in [options.only] if options.only else names():
        command = [sys.executable, __file__, "--here", name]
        command += ["--documents", str(options.documents), "--features", str(options.features)]
        grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"| {name} | {grown / 1e6:.0f} MB | {grown / size:.2f}× |", flush=True)


if __name__ == "__main__":
    main()
