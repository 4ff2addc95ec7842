"""What directions of research count beside comparisons: what tournaments cost, and what nearest documents bring in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pippin.bench.gaps import interval
from pippin.bench.inputs import Input, opened_folds
from pippin.data.dataset import Dataset
from pippin.evaluation.objective import Judge
from pippin.tables import Table

SIZES = (10, 25, 50, 100, 200, 400)  # documents of a query
_BM25 = ("bm25@whole", "bm25(k1=1.2,b=0.75,k3=7)@whole")  # what collections have


def tournament_costs(data: Dataset, sizes: Sequence[int] = SIZES, repeats: int = 5) -> Table:
    """What it costs to rank n documents: all pairs, a merge sort, self-attention, and a score each.

    Models are small (twenty trees, one layer), and the same for all sizes; times are the processor's, the least of some
    repeats, which the number of documents governs and not the model.
    """
    import pippin

    texts = {"a score each": "mart(rounds=20)", "all pairs": "tournament(pairs=20) > mart(rounds=20)",
             "merge sort": "tournament(sort,pairs=20) > mart(rounds=20)"}  # fmt: skip
    if _has_torch():
        texts["attention"] = "attention(rounds=2) > listnet"
    models: dict[str, Any] = {name: pippin.train(data, text) for name, text in texts.items()}
    generator, rows = np.random.default_rng(1), []
    for n in sizes:
        table = np.ascontiguousarray(np.asarray(data.features)[generator.integers(0, len(data), n)])
        offsets, row = np.array([0, n], np.int64), [str(n)]
        for name, model in models.items():
            spent = _least(partial(model.scores, table, offsets), repeats)
            if name in ("all pairs", "merge sort"):
                row.append(f"{model.step_.comparisons_:,}")
            row.append(f"{1000 * spent:.2f}")
        rows.append(row)
    heads = ["documents", "a score each, ms", "all pairs: comparisons", "ms", "merge sort: comparisons", "ms"]
    notes = [f"Milliseconds of the processor to rank one query of {data.name}, the least of {repeats}; n(n − 1)/2 "
             "comparisons against n log₂ n at most."]  # fmt: skip
    return Table([*heads, *(["attention, ms"] if "attention" in models else [])], rows, names=0, notes=notes)


def _has_torch() -> bool:
    from importlib.util import find_spec

    return find_spec("torch") is not None


def _least(work: Callable[[], Any], repeats: int) -> float:
    """The least time of the processor that some work took."""
    spent = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return min(spent)


def nearest_table(plain: Sequence[Input], richer: Sequence[Input], measure: str) -> Table:
    """What nearest documents bring in beside BM25's best, and how well each way ranks them without any training.

    `plain` are the same data sets without them; what `richer` has more is by its name, with a `+`.
    """
    before, rows = {f"{source.data}+": source for source in plain}, []
    for source in richer:
        data = opened_folds(source).data
        judge, reached = Judge(data, measure, "official"), []
        bm25 = next(name for name in _BM25 if name in data.feature_names)
        for name in (bm25, "dense_passage", "dense_fused"):
            values = judge.values(np.ascontiguousarray(np.asarray(data.features)[:, data.feature_names.index(name)]))
            reached.append(_with_interval(values[~np.isnan(values)]))
        (relevant, fewer), (_, more) = (_sampled(Path(one.path)) for one in (before[source.data], source))
        rows.append([source.data, *(f"{count:,}" for count in (relevant, fewer, more)), *reached])
    heads = ["data", "relevant", "of BM25's best", "with the nearest", f"{measure} by BM25", "by nearest passage",
             "fused"]  # fmt: skip
    notes = ["Relevant documents of the whole collection, and how many are there to be ranked; then untrained rankings "
             "of all that are there, with bootstrap intervals of 95 % over queries."]  # fmt: skip
    return Table(heads, rows, names=1, notes=notes)


def _sampled(path: Path) -> tuple[int, int]:
    """Relevant documents of a collection, and how many of them its data set has."""
    from pippin.collection.build import is_built, manifest_of

    tasks = manifest_of(next(parent for parent in path.parents if is_built(parent)))["tasks"]
    sampling = tasks[path.parent.name if len(tasks) > 1 else next(iter(tasks))]["sampling"]
    return sampling["relevant"], sampling["relevant"] - sampling["lost"]


def _with_interval(values: Any) -> str:
    low, high = interval(values)
    return f"{values.mean():.4f} ({low:.4f} … {high:.4f})"
