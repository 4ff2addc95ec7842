"""Compare the speed of RankSVM with liblinear-ranksvm and dlib, and its growth with the number of documents.

python benchmarks/ranksvm.py [FOLDS]      FOLDS: a folder with Fold1/train.txt, as LETOR 4's MQ2008 has it

liblinear-ranksvm's figures are quoted: user seconds of its process with reading the file, tolerance 0.001, on two cores
of an Intel Xeon. Ours here: reading the file and fitting, CPU seconds of all threads, same C and tolerance.
dlib (pip install dlib-bin) is measured in the same run where it is installed, training alone.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor, write_letor
from pippin.kernels.losses import Pairs
from pippin.rankers.ranksvm import RankSVM

LIBLINEAR = {1e-5: 0.09, 1e-4: 0.10, 1e-3: 0.10, 1e-2: 0.13, 1e-1: 0.17, 1.0: 0.16, 10.0: 0.19, 100.0: 0.16}  # MQ2008
LIBLINEAR_LARGE = 0.5  # 42,000 documents


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least of a few runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def synthetic(documents: int, per_query: int, features: int = 46) -> Dataset:
    """Labels 0, 1, 2 from a noisy linear truth."""
    random = np.random.default_rng(1)
    table = random.random((documents, features)).round(6)
    truth = table @ random.normal(size=features) + random.normal(size=documents)
    labels = np.searchsorted(np.quantile(truth, [0.7, 0.9]), truth).astype(np.int32)
    offsets = np.append(np.arange(0, documents, per_query), documents).astype(np.int64)
    return Dataset(table, labels, offsets, tuple(map(str, range(len(offsets) - 1))))


def dlib_seconds(data: Dataset, C: float) -> float | None:
    try:
        import dlib
    except ImportError:
        return None
    samples = dlib.ranking_pairs()
    for first, last in zip(data.offsets, data.offsets[1:], strict=False):
        labels = data.labels[first:last]
        for level in range(1, int(labels.max(initial=0)) + 1):
            pair = dlib.ranking_pair()
            for row in np.flatnonzero(labels == level):
                pair.relevant.append(dlib.vector(data.features[first + row]))
            for row in np.flatnonzero(labels < level):
                pair.nonrelevant.append(dlib.vector(data.features[first + row]))
            if len(pair.relevant) and len(pair.nonrelevant):
                samples.append(pair)
    trainer = dlib.svm_rank_trainer()
    trainer.c = C
    return cpu_seconds(lambda: trainer.train(samples))


def against_peers(name: str, path: Path, quoted: dict[float, float]) -> None:
    data = read_letor(path)
    print(f"{name}: {len(data):,} documents; CPU seconds")
    print("       C   liblinear   ours, with reading   ratio   ours, fit alone   steps")
    for C, theirs in quoted.items():
        ours = cpu_seconds(lambda C=C: RankSVM(C=C).fit(read_letor(path)))  # type: ignore[misc]
        model = RankSVM(C=C)
        alone = cpu_seconds(lambda model=model: model.fit(data))  # type: ignore[misc]
        print(f"{C:8g} {theirs:11.2f} {ours:20.3f} {theirs / ours:7.1f} {alone:17.3f} {model.n_iter_:7}")
    for C in (10.0, 1000.0):
        seconds = dlib_seconds(data, C)
        print(f"  dlib, C = {C:g}: " + ("not installed" if seconds is None else f"{seconds:.3f} s"))
    for C in (1e-4, 1e-2, 1.0):
        model = RankSVM(C=C, loss="hinge")
        print(f"  ours, hinge, C = {C:g}: {cpu_seconds(lambda m=model: m.fit(data), 1):.3f} s")  # type: ignore[misc]


def growth() -> None:
    print("one query of n documents: loss and gradient, and a whole fit with 10 features")
    print("        n   loss, s   ns per n log2 n   fit, s   ns per n log2 n   steps")
    for n in (1_000, 10_000, 100_000, 1_000_000):
        data = synthetic(n, n, 10)
        pairs = Pairs(data.labels, data.offsets, np.ones(1))
        scores = data.features[:, 0] * 4
        loss = cpu_seconds(lambda p=pairs, s=scores: p.loss(s, squared=True))  # type: ignore[misc]
        model = RankSVM(C=1.0, pair_weighting="query")
        fit = cpu_seconds(lambda m=model, d=data: m.fit(d), 1)  # type: ignore[misc]
        unit = 1e9 / (n * math.log2(n))
        print(f"{n:9,} {loss:9.4f} {loss * unit:17.2f} {fit:8.3f} {fit * unit:17.2f} {model.n_iter_:7}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folds", nargs="?", type=Path)
    folds = parser.parse_args().folds
    if folds is not None:
        against_peers("MQ2008 fold 1", folds / "Fold1" / "train.txt", LIBLINEAR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.txt"
        write_letor(synthetic(42_000, 40), path)
        against_peers("synthetic", path, dict.fromkeys((1e-4, 1e-2, 1.0), LIBLINEAR_LARGE))
    growth()


if __name__ == "__main__":
    main()
