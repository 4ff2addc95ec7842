"""Compare the training speed of LambdaMART with LightGBM's built-in lambdarank.

python benchmarks/lambdamart.py [--size DOCUMENTS] [--features N] [--trees N] [--leaves N] [--letor TRAIN VALI]
python benchmarks/lambdamart.py --curves [--held DOCUMENTS] [--seed N] …

Both grow the same number of trees with the same leaves and bins from the same table; times take in binning. With a
fold of MQ2008, RankLib's seconds at its own defaults (1000 trees at most, 10 leaves, patience 100) stand beside.
`--curves` shows what is learned instead: NDCG@10 on other queries after more and more trees, with and without what
LightGBM does to λ, whatever the defaults; `--seed` learns from other queries of the same data.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import lightgbm
import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.evaluation.objective import Objective
from pippin.kernels import threads
from pippin.rankers.lambdamart import LambdaMART
from pippin.rankers.lambdas import Lambdas

ALIKE: dict[str, Any] = {"learning_rate": 0.1, "min_data_in_leaf": 20, "bagging_fraction": 1.0, "feature_fraction": 1.0}
RANKLIB = 3.74  # user seconds of RankLib 2.10.2 for MQ2008 fold 1, one core, in a calm hour


def synthetic(documents: int, features: int) -> Dataset:
    """Queries of about 120 documents whose five labels follow a few features, some of them together."""
    generator = np.random.default_rng(7)
    sizes = np.clip(generator.lognormal(4.7, 0.4, max(2, documents // 110)).astype(np.int64), 2, 468)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    queries = max(1, int(np.searchsorted(offsets, documents, side="right")) - 1)
    offsets = offsets[: queries + 1]
    table = generator.random((int(offsets[-1]), features), np.float32)
    truth = table[:, :8].sum(axis=1) + 2 * table[:, 8] * table[:, 9] + generator.normal(0, 0.5, len(table))
    labels = np.digitize(truth, np.quantile(truth, [0.519, 0.84, 0.97, 0.99])).astype(np.int32)
    return Dataset(table.astype(np.float64), labels, offsets, tuple(map(str, range(queries))), name="synthetic")


def seconds(what: Callable[[], object]) -> tuple[float, float, object]:
    """Wall and processor seconds, and what came out."""
    wall, processor = time.perf_counter(), time.process_time()
    result = what()
    return time.perf_counter() - wall, time.process_time() - processor, result


def built_in(data: Dataset, trees: int, leaves: int) -> lightgbm.Booster:
    parameters = {
        "objective": "lambdarank", "metric": "None", "num_leaves": leaves, "learning_rate": 0.1, "verbosity": -1,
        "num_threads": threads(), "force_col_wise": True, "min_data_in_leaf": 20, "min_data_in_bin": 1,
    }  # fmt: skip
    table = lightgbm.Dataset(data.features, data.labels, group=np.diff(data.offsets), params=parameters)
    return lightgbm.train(parameters, table, trees)


def ours(data: Dataset, trees: int, leaves: int) -> LambdaMART:
    return LambdaMART(rounds=trees, num_leaves=leaves, **ALIKE).fit(data)


def against_built_in(data: Dataset, held: Dataset, trees: int, leaves: int) -> None:
    print(f"{data}: {trees} trees of {leaves} leaves, {threads()} threads; NDCG@10 on {held.queries:,} other queries")
    judge = Objective(held, "NDCG@10", "official")
    rows = {}
    for name, train in (("LightGBM lambdarank", built_in), ("pippin LambdaMART", ours)):
        wall, processor, model = seconds(lambda train=train: train(data, trees, leaves))
        value = judge.mean(np.asarray(model.predict(held.features)))  # type: ignore[attr-defined]
        rows[name] = (wall, processor)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"  {name:20} {wall:8.2f} s, {processor:8.2f} s processor, NDCG@10 {value:.4f}, peak so far {peak:.0f} MiB"
        )
    (peer, peer_processor), (own, own_processor) = rows.values()
    print(
        f"  ratio: {peer / own:.2f} times as fast by the clock, {peer_processor / own_processor:.2f} by processor time"
    )
    scores = np.random.default_rng(1).normal(size=len(data))
    for measure in ("NDCG@10", "NDCG@30", "AP", "ERR@10"):
        lambdas = Lambdas(data, measure)
        wall, processor, _ = seconds(lambda lambdas=lambdas: lambdas(scores))
        print(f"  one pass of λ for {measure:8} {wall:6.3f} s, {processor:6.3f} s processor")


AFTER = (10, 30, 100, 300, 1000)  # trees, where curves are looked at
VARIANTS: tuple[dict[str, Any], ...] = ({"damp": False}, {"damp": True}, {"damp": True, "beyond": "keep"})


def show_curves(data: Dataset, held: Dataset, trees: int, leaves: int) -> None:
    print(f"{data}: NDCG@10 on {held.queries:,} other queries, trees of {leaves} leaves")
    items = [count for count in AFTER if count <= trees]
    for given in VARIANTS:
        model = LambdaMART(rounds=trees, early_stopping_rounds=None, **ALIKE, num_leaves=leaves, **given).fit(
            data, eval_set=held
        )
        _show_curve(f"pippin {given}", {count: model.curve_[count - 1] for count in items})
    judge, peer = Objective(held, "NDCG@10", "official"), built_in(data, trees, leaves)
    results = {n: judge.mean(np.asarray(peer.predict(held.features, num_iteration=n))) for n in items}
    _show_curve("LightGBM lambdarank", results)


def _show_curve(name: str, found: Mapping[int, float]) -> None:
    print(f"  {name:42}", *(f"{count} trees {value:.4f} " for count, value in found.items()), flush=True)


def beside_ranklib(train: Dataset, valid: Dataset) -> None:
    model = LambdaMART(
        rounds=1000,
        num_leaves=10,
        learning_rate=0.1,
        min_data_in_leaf=1,
        n_bags=1,
        bagging_fraction=1.0,
        feature_fraction=1.0,
        early_stopping_rounds=100,
    )
    wall, processor, _ = seconds(lambda: model.fit(train, eval_set=valid))
    print(f"{train.name}: {len(model.curve_)} trees of 10 leaves in {wall:.2f} s, {processor:.2f} s processor")
    print(f"  RankLib {RANKLIB} s of user time for MQ2008 fold 1: {RANKLIB / processor:.1f} times as fast")
    full = LambdaMART(
        rounds=1000,
        num_leaves=10,
        min_data_in_leaf=1,
        n_bags=1,
        bagging_fraction=1.0,
        feature_fraction=1.0,
        early_stopping_rounds=None,
    )
    wall, processor, _ = seconds(lambda: full.fit(train, eval_set=valid))
    print(f"  all 1000 trees: {wall:.2f} s, {processor:.2f} s processor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_200_000, help="documents")
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=255)
    parser.add_argument("--letor", nargs=2, metavar=("TRAIN", "VALI"), help="a fold to train on beside RankLib's time")
    parser.add_argument("--held", type=int, help="documents to judge by (default: a tenth)")
    parser.add_argument("--seed", type=int, default=0, help="of the queries that are learned from (default: the first)")
    parser.add_argument("--curves", action="store_true", help="what is learned, tree by tree, in the place of times")
    options = parser.parse_args()
    if options.letor:
        beside_ranklib(*(read_letor(path) for path in options.letor))
    else:
        data = synthetic(options.size + (options.held or options.size // 10), options.features)
        if options.seed:
            data = data.select(np.random.default_rng(options.seed).permutation(data.queries))
        cut = int(np.searchsorted(data.offsets, options.size))
        train, test = data.select(np.arange(cut)), data.select(np.arange(cut, data.queries))
        del data  # 136 features of a million documents are a gigabyte
        (show_curves if options.curves else against_built_in)(train, test, options.trees, options.leaves)


if __name__ == "__main__":
    main()
