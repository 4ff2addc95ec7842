"""Write the inputs of all contestants into one folder."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import data_folder
from synthetic_trec import write_trec

Prepare = Callable[[Path, int], None]


def once(make: Prepare) -> Prepare:
    """Make an input of a size once; a folder holds one size of each."""

    @wraps(make)
    def prepare(folder: Path, size: int) -> None:
        stamp = folder / f".{make.__name__}"
        if not stamp.exists() or stamp.read_text() != str(size):
            make(folder, size)
            stamp.write_text(str(size))

    return prepare


def nothing(folder: Path, size: int) -> None:
    """No input."""


@once
def trec(folder: Path, size: int) -> None:
    """A run of `size` queries × 1,000 documents and its judgements: bench.qrels, bench.run."""
    write_trec(folder, size, 1000, "msmarco")


@once
def compress_run(folder: Path, size: int) -> None:
    """The same run packed by gzip and by zstd."""
    trec(folder, size)
    with (folder / "bench.run").open("rb") as plain, gzip.open(folder / "bench.run.gz", "wb", 6) as out:
        shutil.copyfileobj(plain, out, 1 << 20)
    from pyarrow import CompressedOutputStream

    with (folder / "bench.run").open("rb") as plain, CompressedOutputStream(folder / "bench.run.zst", "zstd") as out:
        shutil.copyfileobj(plain, out, 1 << 20)


@once
def tiny(folder: Path, size: int) -> None:
    """Two documents of one query."""
    (folder / "tiny.qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (folder / "tiny.run").write_text("1 Q0 b 1 2.0 tiny\n1 Q0 a 2 1.0 tiny\n")


@once
def letor(folder: Path, size: int) -> None:
    """LETOR text of `size` documents of MSLR's shape: bench.letor."""
    generator = np.random.default_rng(7)
    values = generator.gamma(0.5, 20, (2000, 136))
    values[:, ::2] = np.floor(values[:, ::2])
    texts = [" ".join(f"{f + 1}:{v:.6g}" for f, v in enumerate(row)) for row in values.tolist()]
    labels = generator.integers(0, 5, size).tolist()
    with (folder / "bench.letor").open("w") as file:
        for row in range(size):
            file.write(f"{labels[row]} qid:{row // 120} {texts[row % len(texts)]}\n")


@once
def columns(folder: Path, size: int) -> None:
    """Query, label and score of `size` documents, in the proportions of MSLR-WEB30K: columns.npz."""
    generator = np.random.default_rng(7)
    queries = max(1, size * 31 // 3700)
    sizes = 1 + generator.multinomial(size - queries, generator.dirichlet(np.full(queries, 4.0)))
    labels = generator.choice(5, size, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(np.int32)
    scores = labels * 0.3 + generator.normal(size=size)
    np.savez(folder / "columns.npz", qid=np.repeat(np.arange(queries), sizes), labels=labels, scores=scores)


@once
def dicts(folder: Path, size: int) -> None:
    """Dicts of `size` queries × 1,000 documents, as JSON, which is no part of the time: qrels.json, run.json."""
    trec(folder, size)
    nested: dict[str, dict[str, float]] = {}
    for name, column, to in (("qrels", 3, int), ("run", 4, float)):
        nested = {}
        for line in (folder / f"bench.{name}").read_text().splitlines():
            words = line.split()
            nested.setdefault(words[0], {})[words[2]] = to(words[column])
        (folder / f"{name}.json").write_text(json.dumps(nested))


@once
def rankings(folder: Path, size: int) -> None:
    """Two rankings of `size` items, with ties: rankings.npz."""
    generator = np.random.default_rng(1)
    x = generator.random(size)
    np.savez(folder / "rankings.npz", x=np.round(x, 3), y=np.round(x + generator.random(size) / 2, 3))


@once
def graph(folder: Path, size: int) -> None:
    """A power-law graph of `size` pages and about twenty links each: graph.npz."""
    from links import power_law

    sources, targets = power_law(size, size * 20, 1)
    other = sources != targets  # libraries differ in what a page gives itself
    pairs = np.unique(sources[other].astype(np.int64) * size + targets[other])
    np.savez(folder / "graph.npz", pages=size, sources=pairs // size, targets=pairs % size)


@once
def texts(folder: Path, size: int) -> None:
    """`size` synthetic texts of 60 words, and 200 queries of four words of which none is in most texts."""
    from index import queries_from, synthetic

    items = list(synthetic(size))
    (folder / "texts.txt").write_text("\n".join(items))
    (folder / "queries.txt").write_text("\n".join(queries_from(items, 200, 0.1)))


def _forest(folder: Path, size: int, leaves: int) -> None:
    """An ensemble of 1,000 trees in every library's form, and `size` documents of 136 features."""
    from scoring import documents, training

    import pippin
    from pippin.rankers.mart import MART

    data = training(136)
    model = MART(rounds=1000, num_leaves=leaves, learning_rate=0.05, feature_fraction=0.2).fit(data)
    model.save(folder / "trees.json")
    (folder / "trees.txt").write_text(
        model.boosters_[0].replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    )
    (folder / "trees.base").write_text(repr(float(model.base_)))
    pippin.export(model, "xgboost", folder / "trees.xgboost.json", check=data)
    pippin.export(model, "onnx", folder / "trees.onnx", check=data)
    np.save(folder / "documents.npy", documents(size, 136, 4))


def trees(folder: Path, size: int) -> None:
    """Trees of 31 leaves, and `size` documents."""
    _forest(folder, size, 31)


def larger_trees(folder: Path, size: int) -> None:
    """Trees of 64 leaves, and `size` documents."""
    _forest(folder, size, 64)


def _learnable(folder: Path, size: int, features: int, cuts: Sequence[float]) -> None:
    """`size` documents with labels, in queries of about 120, cut by queries into part0.npz, part1.npz …"""
    from lambdamart import synthetic

    data = synthetic(size, features)
    edges = [0, *(int(data.queries * cut) for cut in cuts), data.queries]
    for n, (begin, end) in enumerate(pairwise(edges)):
        rows = slice(data.offsets[begin], data.offsets[end])
        offsets = data.offsets[begin : end + 1] - data.offsets[begin]
        np.savez(folder / f"part{n}.npz", features=data.features[rows], labels=data.labels[rows], offsets=offsets)


def training_set(folder: Path, size: int) -> None:
    """`size` documents of 136 features to learn from, and a tenth of that to judge by."""
    _learnable(folder, size * 11 // 10, 136, [10 / 11])


def five_parts(folder: Path, size: int) -> None:
    """`size` documents of 46 features in five parts, of which folds are made."""
    _learnable(folder, size, 46, [0.2, 0.4, 0.6, 0.8])


@once
def mq2008(folder: Path, size: int) -> None:
    """The first fold of MQ2008, as it is: train.txt and vali.txt."""
    parts = [(data_folder("MQ2008") / f"S{n}.txt").read_bytes() for n in range(1, 5)]
    (folder / "train.txt").write_bytes(b"".join(parts[:3]))
    (folder / "vali.txt").write_bytes(parts[3])


@once
def results(folder: Path, size: int) -> None:
    """What `pippin bench` keeps of five data sets of `size` queries and sixteen rankers: results/."""
    from lambdamart import synthetic

    from pippin.data.letor import write_letor
    from pippin.rankers import names

    full = synthetic(5 * size * 120, 10)
    sets = []
    for n in range(5):
        write_letor(full.select(np.arange(n * size, (n + 1) * size)), folder / f"set{n}.txt")
        sets.append(folder / f"set{n}.txt")
    rankers = ",".join(name for name in names() if name != "auto")
    shutil.rmtree(folder / "results", ignore_errors=True)
    bench = ["bench", *sets, "-r", rankers, "--folds", "3", "--quick", "-q", "-o", folder / "results"]
    subprocess.run([Path(sys.executable).with_name("pippin"), *bench], check=True, stdout=subprocess.DEVNULL)
