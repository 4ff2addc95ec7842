"""Tasks done with Pippin: each function reads its input and returns the work to be timed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shared_work import GRID, GRID_TREES, mean_ndcg

import pippin

Work = Callable[[], Any]
MEASURES = ["NDCG@10", "MAP", "RR", "P@10"]


def dicts(folder: Path) -> Work:
    qrels, run = (json.loads((folder / f"{name}.json").read_text()) for name in ("qrels", "run"))
    return lambda: pippin.evaluate(qrels, run, MEASURES, tool="trec_eval9").mean


def letor(folder: Path) -> Work:
    from pippin.data.letor import read_letor

    return lambda: read_letor(folder / "bench.letor").features.sum(axis=0)[::20]


def arrays(folder: Path) -> Work:
    known = np.load(folder / "columns.npz")
    labels, scores, qid = known["labels"], known["scores"], known["qid"]
    return lambda: pippin.evaluate(labels, scores, MEASURES, qid=qid).mean


def frame(folder: Path) -> Work:
    import polars

    known = np.load(folder / "columns.npz")
    table = polars.DataFrame({"query": known["qid"], "label": known["labels"]})
    scores = polars.Series("score", known["scores"])
    return lambda: pippin.evaluate(table, scores, MEASURES).mean


def _with_ids(folder: Path) -> tuple[Any, Any]:
    """The columns as a data set whose documents have ids, which some tools settle ties by."""
    from pippin.data.dataset import Dataset
    from pippin.kernels.strings import StringColumn

    known = np.load(folder / "columns.npz")
    starts = np.flatnonzero(np.concatenate(([True], known["qid"][1:] != known["qid"][:-1])))
    offsets = np.append(starts, len(known["qid"])).astype(np.int64)
    ids = StringColumn.of(f"d{i}" for i in range(len(known["qid"])))
    queries = tuple(map(str, range(len(starts))))
    return Dataset(np.empty((len(ids), 0)), known["labels"], offsets, queries, ids), known["scores"]


def classic_tools(folder: Path) -> Work:
    data, scores = _with_ids(folder)
    return lambda: pippin.evaluate(data, scores, MEASURES, "classic").mean["trec_eval9"]


def one_tool(folder: Path) -> Work:
    data, scores = _with_ids(folder)
    return lambda: pippin.evaluate(data, scores, MEASURES, "trec_eval9").mean


def tau(folder: Path) -> Work:
    known = np.load(folder / "rankings.npz")
    return lambda: pippin.correlation.tau_b(known["x"], known["y"])


def tau_ap(folder: Path) -> Work:
    known = np.load(folder / "rankings.npz")
    return lambda: pippin.correlation.tau_ap_b(known["x"], known["y"])


def pagerank(folder: Path) -> Work:
    from pippin.collections.links.graph import Graph
    from pippin.collections.links.link_analysis import pagerank as ranks

    known = np.load(folder / "graph.npz")
    graph = Graph.of(int(known["pages"]), known["sources"].astype(np.int32), known["targets"].astype(np.int32))
    return lambda: ranks(graph, tolerance=1e-10).values


def score_trees(folder: Path) -> Work:
    model, table = pippin.load(folder / "trees.json"), np.load(folder / "documents.npy")
    return lambda: model.predict(table)


def _index(folder: Path) -> Any:
    from index import as_collection

    from pippin.collections.index.index import build_index

    texts = (folder / "texts.txt").read_text().splitlines()
    shutil.rmtree(folder / "bench.index", ignore_errors=True)
    return build_index(as_collection(texts), folder / "bench.index")


def index_texts(folder: Path) -> Work:
    def work() -> float:
        _index(folder)
        return 0.0

    return work


def search_index(folder: Path, best: int = 10) -> Work:
    from index import K1, B

    index, queries = _index(folder), (folder / "queries.txt").read_text().splitlines()
    return lambda: [
        scores[:1]
        for _, scores in index.search_many([index.analyse(q) for q in queries], best, field="text", k1=K1, b=B)
    ]


def searched_thousand(folder: Path) -> Work:
    return search_index(folder, 1000)


def _part(folder: Path, n: int) -> Any:
    from pippin.data.dataset import Dataset

    known = np.load(folder / f"part{n}.npz")
    ids = tuple(f"{n}.{query}" for query in range(len(known["offsets"]) - 1))
    return Dataset(known["features"], known["labels"], known["offsets"], ids)


ALIKE = {"learning_rate": 0.1, "min_data_in_leaf": 20, "n_bags": 1, "bagging_fraction": 1.0, "feature_fraction": 1.0}


def lambdamart(folder: Path, trees: int = 30, leaves: int = 63) -> Work:
    from pippin.rankers.lambdamart import LambdaMART

    data, valid_set = _part(folder, 0), _part(folder, 1)

    def work() -> Work:
        model = LambdaMART(rounds=trees, num_leaves=leaves, **ALIKE).fit(data)
        return lambda: mean_ndcg(model.predict(valid_set.features), valid_set.labels, valid_set.offsets)

    return work


def lambdamart_large(folder: Path) -> Work:
    return lambdamart(folder, 100, 255)


def grid(folder: Path) -> Work:
    """Every point of a grid on every fold, with NDCG@10 on the validation part after each tree."""
    from pippin.data.dataset import concatenate
    from pippin.rankers.lambdamart import LambdaMART
    from pippin.rankers.training import select

    parts = [_part(folder, n) for n in range(5)]
    folds = [(concatenate([parts[(n + i) % 5] for i in range(3)]), parts[(n + 3) % 5]) for n in range(5)]
    ranker = LambdaMART(rounds=GRID_TREES, early_stopping_rounds=GRID_TREES, **ALIKE)

    def work() -> float:
        selected = [select(ranker, train, valid, grid=GRID, measure="NDCG@10") for train, valid in folds]
        return float(np.mean([max(each.value for each in item.candidates) for item in selected]))

    return work


def link_features(folder: Path) -> Work:
    """All link features of a thousand candidates in a web of pages, each time as of a new query."""
    from links import LINK_FEATURES, SyntheticIndex, candidates_of, synthetic_web

    from pippin.collections.features import parse_features
    from pippin.collections.links.graph import Graph

    known = np.load(folder / "graph.npz")
    graph = Graph.of(int(known["pages"]), known["sources"].astype(np.int32), known["targets"].astype(np.int32))
    web, index = synthetic_web(graph), SyntheticIndex(graph.pages)
    features = parse_features(" ".join(LINK_FEATURES))

    def work() -> list[float]:
        candidates = candidates_of(index, web, 1000, ("common", "middling", "rare"))
        return [float(np.sum(each.values(candidates))) for each in features]

    return work
