"""Measure the scoring speed of tree models in microseconds per document, against other libraries with the same trees.

python benchmarks/scoring.py [--trees 1000] [--leaves 31 64] [--features 136] [--documents 100000] [--rounds 3]
                             [--only scorer c lightgbm xgboost onnxruntime lleaves tl2cgen ydf]

A MART is trained on synthetic documents, so that trees have the shapes that trees have. Every library gets those trees,
through an export or its own reader, and its scores must be ours: to the bit where it computes in doubles, nearly where
it computes in float32. YDF reads no other library's trees and applies an ensemble of its own of the same size.
One thread, all of them in turn, the best of several rounds, in seconds of the processor (which other work on the
machine disturbs least); what a library compiles before it can score stands beside. A call with one document shows what
a call costs.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.metadata
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pippin
from pippin.data.dataset import Dataset
from pippin.models.scoring import make_scorer
from pippin.rankers.mart import MART

F64 = NDArray[np.float64]
SINGLE = 500  # documents that are scored one by one
Score = Callable[[F64], Any]


@dataclass
class Engine:
    """What applies the trees: how it is got ready, and how close its scores are."""

    name: str
    ready: Callable[[MART, Dataset, Path], Score]
    exact: bool | None  # to the bit, nearly, or None: other trees
    prepared: float = 0.0
    why: str = "not installed"
    score: Score | None = None
    seconds: list[float] = field(default_factory=list)
    single: list[float] = field(default_factory=list)  # seconds for a document in a call of its own


def documents(count: int, features: int, seed: int) -> F64:
    """Features of several kinds: normal, skewed, counted, and often zero."""
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(count, features)).round(4)
    table[:, 1::4] = np.exp(table[:, 1::4]).round(4)
    table[:, 2::4] = np.floor(np.abs(table[:, 2::4]) * 30)
    table[:, 3::4] = np.maximum(table[:, 3::4], 0)
    return table


def training(features: int) -> Dataset:
    table = documents(20_000, features, 1)
    generator = np.random.default_rng(2)
    truth = table @ (generator.normal(size=features) / table.std(axis=0)) + 5 * np.sin(table[:, 0] * table[:, 4])
    labels = np.digitize(truth, np.quantile(truth, [0.5, 0.8, 0.95, 0.99])).astype(np.int32)
    return Dataset(table, labels, np.arange(0, 20_001, 100), tuple(map(str, range(200))), name="synthetic")


def ours(model: MART, data: Dataset, folder: Path) -> Score:
    model.save(folder / "model.json")
    return pippin.load(folder / "model.json").predict


def scorer(model: MART, data: Dataset, folder: Path) -> Score:
    return make_scorer(model.to_model())


def exported_c(model: MART, data: Dataset, folder: Path) -> Score:
    pippin.export(model, "c", folder / "model.h", check=data, name="model")
    (folder / "model.c").write_text(
        '#include "model.h"\n'
        "void score(const double *rows, long count, double *scores) {\n"
        "    (void)model_feature_names;\n"
        "    if (count == 1) *scores = model_score(rows);\n"
        "    else model_score_batch(rows, (size_t)count, scores);\n}\n"
    )
    command = ["cc", "-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "model.c", "-o", "model.so", "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    library = ctypes.CDLL(str(folder / "model.so"))

    def score(table: F64) -> F64:
        scores = np.empty(len(table))
        library.score(
            ctypes.c_void_p(table.ctypes.data), ctypes.c_long(len(table)), ctypes.c_void_p(scores.ctypes.data)
        )
        return scores

    return score


def lightgbm(model: MART, data: Dataset, folder: Path) -> Score:
    booster = importlib.import_module("lightgbm").Booster(model_str=model.boosters_[0])
    return lambda table: booster.predict(table, raw_score=True, num_threads=1) + model.base_


def xgboost(model: MART, data: Dataset, folder: Path) -> Score:
    library = importlib.import_module("xgboost")
    pippin.export(model, "xgboost", folder / "model.json", check=data)
    booster = library.Booster({"nthread": 1}, model_file=str(folder / "model.json"))
    return lambda table: booster.inplace_predict(
        table.astype(np.float32), predict_type="margin", validate_features=False
    )


def onnxruntime(model: MART, data: Dataset, folder: Path) -> Score:
    library = importlib.import_module("onnxruntime")
    pippin.export(model, "onnx", folder / "model.onnx", check=data)
    options = library.SessionOptions()
    options.intra_op_num_threads = 1
    session = library.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda table: session.run(None, {name: table})[0].ravel()


def lleaves(model: MART, data: Dataset, folder: Path) -> Score:
    named = model.boosters_[0].replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    (folder / "model.txt").write_text(named)
    compiled = importlib.import_module("lleaves").Model(model_file=str(folder / "model.txt"))
    compiled.compile()
    return lambda table: compiled.predict(table, n_jobs=1) + model.base_


def tl2cgen(model: MART, data: Dataset, folder: Path) -> Score:
    treelite, library = (importlib.import_module(name) for name in ("treelite", "tl2cgen"))
    (folder / "model.txt").write_text(model.boosters_[0])
    trees = treelite.frontend.load_lightgbm_model(str(folder / "model.txt"))
    library.export_lib(
        trees, toolchain="gcc", libpath=str(folder / "model.so"), params={"parallel_comp": os.cpu_count() or 1}
    )
    predictor = library.Predictor(str(folder / "model.so"), nthread=1)
    return lambda table: predictor.predict(library.DMatrix(table)).ravel() + model.base_


def ydf(model: MART, data: Dataset, folder: Path) -> Score:
    library = importlib.import_module("ydf")
    library.verbose(0)

    def columns(table: F64) -> dict[str, Any]:
        return {f"f{i}": column for i, column in enumerate(table.T.astype(np.float32))}

    trained = library.GradientBoostedTreesLearner(
        label="label", task=library.Task.REGRESSION, num_trees=len(model.curve_) or model.rounds, validation_ratio=0.0,
        growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=2 * model.num_leaves - 1, max_depth=-1, num_threads=1,
        num_candidate_attributes_ratio=0.2, shrinkage=0.05, early_stopping="NONE",
    ).train({**columns(data.features[:5000]), "label": data.labels[:5000].astype(np.float32)})  # fmt: skip
    return lambda table: trained.predict(columns(table), num_threads=1)


PEERS = {
    "scorer": Engine("pippin, no checks", scorer, True), "c": Engine("pippin, exported C", exported_c, True),
    "lightgbm": Engine("LightGBM `predict`", lightgbm, True),
    "xgboost": Engine("XGBoost `inplace_predict`", xgboost, False),
    "onnxruntime": Engine("onnxruntime", onnxruntime, True), "lleaves": Engine("lleaves", lleaves, True),
    "tl2cgen": Engine("tl2cgen", tl2cgen, True), "ydf": Engine("YDF", ydf, None),
}  # fmt: skip


def measure_time(what: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    what()
    return clock() - start


def prepare(engines: list[Engine], model: MART, data: Dataset, folder: Path) -> None:
    """Get every engine ready, and hold its scores to ours."""
    table = documents(1000, data.features.shape[1], 3)
    expected = model.predict(table)
    for number, engine in enumerate(engines):
        part = folder / str(number)
        part.mkdir()
        start = time.process_time() + sum(os.times()[2:4])
        try:
            engine.score = engine.ready(model, data, part)
        except ImportError:
            continue
        except (AttributeError, RuntimeError) as error:  # lleaves does not run with every llvmlite
            engine.why = f"does not run ({error})"
            continue
        engine.prepared = time.process_time() + sum(os.times()[2:4]) - start
        difference = float(np.abs(np.asarray(engine.score(table)) - expected).max())
        limit = {True: 1e-12, False: 1e-2, None: np.inf}[engine.exact]
        if not difference <= limit * float(np.abs(expected).max()):
            raise SystemExit(f"{engine.name} scores otherwise: up to {difference}")


def measure(model: MART, data: Dataset, count: int, rounds: int, peers: list[str]) -> None:
    table = documents(count, data.features.shape[1], 4)
    own = Engine("**pippin**", ours, True)
    engines = [own, *(PEERS[name] for name in peers)]
    with tempfile.TemporaryDirectory() as folder:
        prepare(engines, model, data, Path(folder))
        here = [engine for engine in engines if engine.score is not None]
        for _ in range(rounds):
            for engine in here:
                score = engine.score
                engine.seconds.append(measure_time(lambda score=score: score(table), time.process_time))
        rows = [table[i : i + 1].copy() for i in range(min(len(table), SINGLE))]
        for _ in range(3 * rounds):
            for engine in here:
                score = engine.score
                call = lambda score=score: [score(row) for row in rows]  # noqa: E731
                engine.single.append(measure_time(call, time.process_time) / len(rows))
        print("| | µs a document | ratio | µs for one document | made ready in |\n|---|--:|--:|--:|--:|")
        best = min(own.seconds)
        for engine in engines:
            if engine.score is None:
                print(f"| {engine.name} | {engine.why} | | | |")
                continue
            took = min(engine.seconds)
            one = min(engine.single) * 1e6
            per_document = took / count * 1e6
            print(f"| {engine.name} | {per_document:.2f} | {took / best:.1f}× | {one:.1f} | {engine.prepared:.2f} s |")
        others(Path(folder) / "0" / "model.json", table, rounds)


def others(path: Path, table: F64, rounds: int) -> None:
    """Loading, a single query, and two threads against one, by the clock."""
    loading = min(measure_time(lambda: pippin.load(path), time.process_time) for _ in range(5))
    loaded, query = pippin.load(path), np.ascontiguousarray(table[:100])
    single = min(measure_time(lambda: loaded.predict(query), time.perf_counter) for _ in range(200))
    wall: dict[str, list[float]] = {"1": [], "2": []}
    spent: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(5 * rounds):
        for threads, seconds in wall.items():
            os.environ["PIPPIN_THREADS"] = threads
            before = time.process_time()
            seconds.append(measure_time(lambda: loaded.predict(table), time.perf_counter))
            spent[threads].append(time.process_time() - before)
    os.environ["PIPPIN_THREADS"] = "1"
    print(f"\nloading {loading:.3f} s; a query of 100 documents {single * 1e3:.2f} ms from call to scores;")
    by_clock, by_processor = (min(item["1"]) / min(item["2"]) for item in (wall, spent))
    print(f"two threads {by_clock:.2f}× one by the clock, and {1 / by_processor:.2f}× its seconds of the processor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 64])
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=PEERS, default=list(PEERS))
    options = parser.parse_args()
    os.environ["PIPPIN_THREADS"] = "1"
    data = training(options.features)
    for leaves in options.leaves:
        model = MART(rounds=options.trees, num_leaves=leaves, learning_rate=0.05, feature_fraction=0.2).fit(data)
        print(
            f"\n{options.trees:,} trees × {leaves} leaves, {options.features} features, "
            f"{options.documents:,} documents\n"
        )
        for engine in PEERS.values():
            engine.score, engine.seconds, engine.single = None, [], []
        measure(model, data, options.documents, options.rounds, options.only)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in options.only if name not in ("scorer", "c")]
    print(f"\npippin {pippin.__version__}, {', '.join(versions)}")


if __name__ == "__main__":
    main()
