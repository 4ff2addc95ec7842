"""Tasks done with peers: each function reads its input and returns the work to be timed, without importing Pippin."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shared_work import GRID, GRID_TREES, mean_ndcg

Work = Callable[[], Any]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def dicts_pytrec_eval(folder: Path) -> Work:
    import pytrec_eval

    qrels, run = (json.loads((folder / f"{name}.json").read_text()) for name in ("qrels", "run"))

    def work() -> dict[str, float]:
        evaluation = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "map", "recip_rank", "P_10"}).evaluate(run)
        names = {"NDCG@10": "ndcg_cut_10", "MAP": "map", "RR": "recip_rank", "P@10": "P_10"}
        return {name: sum(q[theirs] for q in evaluation.values()) / len(evaluation) for name, theirs in names.items()}

    return work


def dicts_ir_measures(folder: Path) -> Work:
    import ir_measures
    from ir_measures import AP, RR, P, nDCG

    qrels, run = (json.loads((folder / f"{name}.json").read_text()) for name in ("qrels", "run"))
    names = {"NDCG@10": nDCG @ 10, "MAP": AP, "RR": RR, "P@10": P @ 10}

    def work() -> dict[str, float]:
        result = ir_measures.calc_aggregate(list(names.values()), qrels, run)
        return {name: result[measure] for name, measure in names.items()}

    return work


def dicts_ranx(folder: Path) -> Work:
    import ranx

    qrels, run = (json.loads((folder / f"{name}.json").read_text()) for name in ("qrels", "run"))
    names = {"NDCG@10": "ndcg@10", "MAP": "map", "RR": "mrr", "P@10": "precision@10"}

    def work() -> dict[str, float]:
        evaluation = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names.values()))
        return {name: float(evaluation[theirs]) for name, theirs in names.items()}

    return work


def letor_sklearn(folder: Path) -> Work:
    from sklearn.datasets import load_svmlight_file

    return lambda: np.asarray(load_svmlight_file(folder / "bench.letor", query_id=True)[0].sum(axis=0)).ravel()[::20]


def letor_xgboost(folder: Path) -> Work:
    import warnings

    import xgboost

    warnings.simplefilter("ignore")  # it would rather not read text any more
    return lambda: xgboost.DMatrix(f"{folder / 'bench.letor'}?format=libsvm", silent=True).num_row() * 0.0


def arrays_numpy(folder: Path) -> Work:
    """The four measures by their definitions, without a loop over queries."""
    arrays = np.load(folder / "columns.npz")
    labels, scores, qid = arrays["labels"], arrays["scores"], arrays["qid"]

    def work() -> dict[str, float]:
        starts = np.flatnonzero(np.concatenate(([True], qid[1:] != qid[:-1])))
        sizes = np.diff(np.append(starts, len(qid)))
        rank = np.arange(1, len(scores) + 1) - np.repeat(starts, sizes)
        top = rank <= 10
        discount = np.where(top, 1 / np.log2(1 + rank), 0)
        ranked, ideal = labels[np.lexsort((-scores, qid))], labels[np.lexsort((-labels, qid))]
        dcg, best = (np.add.reduceat((np.exp2(item) - 1) * discount, starts) for item in (ranked, ideal))
        relevant = ranked >= 1
        count = np.cumsum(relevant)
        hits: NDArray[np.int64] = count - np.repeat(count[starts] - relevant[starts], sizes)
        result = np.add.reduceat(relevant, starts, dtype=np.int64)
        precisions = np.add.reduceat(np.where(relevant, hits / rank, 0), starts)
        first = np.minimum.reduceat(np.where(relevant, rank, np.inf), starts)
        values = {
            "NDCG@10": np.divide(dcg, best, out=np.zeros(len(starts)), where=best > 0),
            "MAP": precisions / np.maximum(result, 1), "RR": 1 / first,
            "P@10": np.add.reduceat(relevant & top, starts, dtype=np.int64) / 10,
        }  # fmt: skip
        return {name: float(each.mean()) for name, each in values.items()}

    return work


def tau_scipy(folder: Path) -> Work:
    from scipy.stats import kendalltau

    arrays = np.load(folder / "rankings.npz")
    return lambda: float(kendalltau(arrays["x"], arrays["y"]).statistic)


def pagerank_sknetwork(folder: Path) -> Work:
    from scipy.sparse import csr_matrix
    from sknetwork.ranking import PageRank

    arrays = np.load(folder / "graph.npz")
    pages = int(arrays["pages"])
    matrix = csr_matrix((np.ones(len(arrays["sources"])), (arrays["sources"], arrays["targets"])), (pages, pages))
    return lambda: PageRank(solver="piteration", n_iter=100, tol=1e-10).fit_predict(matrix)


def pagerank_igraph(folder: Path) -> Work:
    import igraph

    arrays = np.load(folder / "graph.npz")
    edges = np.column_stack((arrays["sources"], arrays["targets"]))
    graph = igraph.Graph(n=int(arrays["pages"]), edges=edges, directed=True)
    return lambda: np.array(graph.pagerank(damping=0.85))


def _trees(folder: Path) -> tuple[float, NDArray[np.float64]]:
    return float((folder / "trees.base").read_text()), np.load(folder / "documents.npy")


def scored_lightgbm(folder: Path) -> Work:
    import lightgbm

    base, table = _trees(folder)
    booster = lightgbm.Booster(model_file=str(folder / "trees.txt"))
    return lambda: booster.predict(table, raw_score=True, num_threads=1) + base


def scored_xgboost(folder: Path) -> Work:
    import xgboost

    table = _trees(folder)[1]
    booster = xgboost.Booster({"nthread": 1}, model_file=str(folder / "trees.xgboost.json"))
    return lambda: booster.inplace_predict(table.astype(np.float32), predict_type="margin", validate_features=False)


def scored_onnxruntime(folder: Path) -> Work:
    import onnxruntime

    table = _trees(folder)[1]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "trees.onnx"), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: np.ravel(session.run(None, {name: table})[0])


def scored_lleaves(folder: Path) -> Work:
    import lleaves

    base, table = _trees(folder)
    model = lleaves.Model(model_file=str(folder / "trees.txt"))
    model.compile()
    return lambda: model.predict(table, n_jobs=1) + base


def scored_tl2cgen(folder: Path) -> Work:
    import tl2cgen
    import treelite

    base, table = _trees(folder)
    trees = treelite.frontend.load_lightgbm_model(str(folder / "trees.txt"))
    tl2cgen.export_lib(trees, toolchain="gcc", libpath=str(folder / "trees.so"), params={"parallel_comp": CORES})
    predictor = tl2cgen.Predictor(str(folder / "trees.so"), nthread=1)
    return lambda: predictor.predict(tl2cgen.DMatrix(table)).ravel() + base


def scored_ydf(folder: Path, leaves: int = 31) -> Work:
    """YDF reads no other library's trees: an ensemble of its own of the same size."""
    import ydf

    ydf.verbose(0)
    table = _trees(folder)[1]
    learner = ydf.GradientBoostedTreesLearner(
        label="label", task=ydf.Task.REGRESSION, num_trees=1000, validation_ratio=0.0, max_depth=-1,
        max_num_nodes=2 * leaves - 1, growing_strategy="BEST_FIRST_GLOBAL", num_candidate_attributes_ratio=0.2,
        shrinkage=0.05, early_stopping="NONE", num_threads=1,
    )  # fmt: skip
    model = learner.train({**_columns(table[:5000]), "label": np.arange(5000, dtype=np.float32) % 5})
    return lambda: model.predict(_columns(table), num_threads=1)


def scored_ydf_larger(folder: Path) -> Work:
    return scored_ydf(folder, 64)


def _bm25s_tokens(texts: list[str]) -> Any:
    import bm25s
    import Stemmer

    return bm25s.tokenize(
        texts, token_pattern=r"(?u)\b\w+\b", stopwords=[], stemmer=Stemmer.Stemmer("porter"), show_progress=False
    )


def _bm25s(texts: list[str]) -> Any:
    import bm25s

    model = bm25s.BM25(k1=2.5, b=0.8, method="robertson", backend="numba")
    model.index(_bm25s_tokens(texts), show_progress=False)
    return model


def indexed_bm25s(folder: Path) -> Work:
    texts = (folder / "texts.txt").read_text().splitlines()

    def work() -> float:
        _bm25s(texts)
        return 0.0

    return work


def searched_bm25s(folder: Path, best: int = 10) -> Work:
    model = _bm25s((folder / "texts.txt").read_text().splitlines())
    queries = (folder / "queries.txt").read_text().splitlines()
    return lambda: model.retrieve(_bm25s_tokens(queries), k=best, n_threads=0, show_progress=False).scores[:, :1]


def searched_thousand_bm25s(folder: Path) -> Work:
    return searched_bm25s(folder, 1000)


def _tantivy(folder: Path) -> Any:
    import tantivy

    place = folder / "tantivy"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", tokenizer_name="en_stem", index_option="position")
    index = tantivy.Index(schema.build(), str(place))
    writer = index.writer(256 << 20, 1)
    for i, text in enumerate((folder / "texts.txt").read_text().splitlines()):
        writer.add_document(tantivy.Document(id=f"d{i}", text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def indexed_tantivy(folder: Path) -> Work:
    def work() -> float:
        _tantivy(folder)
        return 0.0

    return work


def searched_tantivy(folder: Path, best: int = 10) -> Work:
    index = _tantivy(folder)
    searcher, queries = index.searcher(), (folder / "queries.txt").read_text().splitlines()
    return lambda: [searcher.search(index.parse_query(q, ["text"]), best, count=False).hits[0][0] for q in queries]


def searched_thousand_tantivy(folder: Path) -> Work:
    return searched_tantivy(folder, 1000)


Part = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]
LIGHTGBM = {"objective": "lambdarank", "learning_rate": 0.1, "verbosity": -1, "num_threads": CORES,
            "min_data_in_bin": 1}  # fmt: skip


def _part(folder: Path, n: int) -> Part:
    arrays = np.load(folder / f"part{n}.npz")
    return arrays["features"], arrays["labels"], arrays["offsets"]


def _evaluate_model(predict: Callable[[NDArray[np.float64]], Any], held: Part) -> Work:
    """NDCG@10 of a model on what was held back."""
    return lambda: mean_ndcg(np.asarray(predict(held[0]), np.float64).ravel(), *held[1:])


def lambdamart_lightgbm(folder: Path, trees: int = 30, leaves: int = 63, **more: Any) -> Work:
    import lightgbm

    (features, labels, offsets), valid_set = _part(folder, 0), _part(folder, 1)
    parameters = {**LIGHTGBM, "metric": "None", "num_leaves": leaves, "min_data_in_leaf": 20, **more}

    def work() -> Work:
        table = lightgbm.Dataset(features, labels, group=np.diff(offsets), params=parameters)
        return _evaluate_model(lightgbm.train(parameters, table, trees).predict, valid_set)

    return work


def lambdamart_lightgbm_quantised(folder: Path) -> Work:
    return lambdamart_lightgbm(folder, use_quantized_grad=True)


def lambdamart_lightgbm_large(folder: Path) -> Work:
    return lambdamart_lightgbm(folder, 100, 255)


def lambdamart_lightgbm_large_quantised(folder: Path) -> Work:
    return lambdamart_lightgbm(folder, 100, 255, use_quantized_grad=True)


def lambdamart_xgboost(folder: Path) -> Work:
    import xgboost

    (features, labels, offsets), valid_set = _part(folder, 0), _part(folder, 1)
    parameters = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 63,
                  "max_depth": 0, "eta": 0.1, "nthread": CORES}  # fmt: skip

    def work() -> Work:
        table = xgboost.QuantileDMatrix(features, labels, group=np.diff(offsets))
        return _evaluate_model(xgboost.train(parameters, table, 30).inplace_predict, valid_set)

    return work


def lambdamart_catboost(folder: Path) -> Work:
    import catboost

    (features, labels, offsets), valid_set = _part(folder, 0), _part(folder, 1)
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    parameters = {"loss_function": "LambdaMart:metric=NDCG", "iterations": 30, "learning_rate": 0.1, "max_leaves": 63,
                  "grow_policy": "Lossguide", "depth": 16, "min_data_in_leaf": 20, "thread_count": CORES,
                  "verbose": False, "allow_writing_files": False}  # fmt: skip

    def work() -> Work:
        table = catboost.Pool(features, labels, group_id=query)
        return _evaluate_model(catboost.CatBoost(parameters).fit(table).predict, valid_set)

    return work


def _columns(table: NDArray[np.float64]) -> dict[str, Any]:
    """A table as YDF takes it."""
    return {f"f{i}": column for i, column in enumerate(table.T.astype(np.float32))}


def lambdamart_ydf(folder: Path) -> Work:
    import ydf

    ydf.verbose(0)
    (features, labels, offsets), valid_set = _part(folder, 0), _part(folder, 1)
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)).astype(np.bytes_)

    def work() -> Work:
        learner = ydf.GradientBoostedTreesLearner(
            label="label", task=ydf.Task.RANKING, ranking_group="query", loss="LAMBDA_MART_NDCG", num_trees=30,
            shrinkage=0.1, growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=125, max_depth=-1, min_examples=20,
            validation_ratio=0.0, early_stopping="NONE", num_threads=CORES, discretize_numerical_columns=True,
        )  # fmt: skip
        model = learner.train({**_columns(features), "label": labels.astype(np.float32), "query": query})
        return _evaluate_model(
            lambda table: model.predict({**_columns(table), "query": np.full(len(table), b"0")}), valid_set
        )

    return work


def grid_lightgbm(folder: Path) -> Work:
    """Every point of the grid on every fold, as a user of LightGBM writes it: a data set for each training."""
    import lightgbm

    parts = [_part(folder, n) for n in range(5)]

    def fold(n: int) -> float:
        selected = [parts[(n + i) % 5] for i in range(3)]
        features, labels = (np.concatenate([part[i] for part in selected]) for i in (0, 1))
        group = np.concatenate([np.diff(part[2]) for part in selected])
        held = parts[(n + 3) % 5]
        values = []
        for leaves, least in product(*GRID.values()):
            parameters = {
                **LIGHTGBM,
                "metric": "ndcg",
                "eval_at": [10],
                "num_leaves": leaves,
                "min_data_in_leaf": least,
            }
            table = lightgbm.Dataset(features, labels, group=group, params=parameters)
            valid = table.create_valid(held[0], held[1], group=np.diff(held[2]))
            stop = lightgbm.early_stopping(GRID_TREES, verbose=False)
            trained = lightgbm.train(parameters, table, GRID_TREES, valid_sets=[valid], callbacks=[stop])
            values.append(trained.best_score["valid_0"]["ndcg@10"])
        return float(max(values))

    return lambda: float(np.mean([fold(n) for n in range(5)]))
