"""How fast is ranking text read? Ratios to the peers' own readers, taken in one run.

python benchmarks/reading.py [--queries 10000] [--documents 1000] [--letor FILE] [--repeats 3] [--only-pippin]

TREC: a run and its judgements, parsed and evaluated (NDCG@10, MAP, RR, P@10), against pytrec_eval with the dicts its
users build, and against the trec_eval binary if one is on the path. LETOR: a file of MSLR's shape against
scikit-learn's load_svmlight_file and XGBoost's text reader.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pippin import evaluate
from pippin.data.letor import read_letor
from pippin.data.trec_text import read_run

MEASURES = ["NDCG@10", "MAP", "RR", "P@10"]
PEAK = "import resource, pippin; pippin.evaluate({qrels!r}, {run!r}, {measures!r}, tool='trec_eval9')"


def write_trec(folder: Path, queries: int, documents: int) -> tuple[Path, Path]:
    generator = np.random.default_rng(7)
    run, qrels = folder / "bench.run", folder / "bench.qrels"
    with run.open("w") as runs, qrels.open("w") as judged:
        for query in range(queries):
            ids = generator.choice(8_000_000, documents, replace=False) + 1_000_000
            scores = np.sort(generator.normal(12, 3, documents))[::-1]
            rows = enumerate(zip(ids.tolist(), scores.tolist(), strict=True), 1)
            runs.write("".join(f"{query} Q0 D{d} {rank} {score:.6f} bench\n" for rank, (d, score) in rows))
            labels = generator.integers(0, 4, 50).tolist()
            pool = generator.permutation(ids)[:50].tolist()
            judged.write("".join(f"{query} 0 D{d} {label}\n" for d, label in zip(pool, labels, strict=True)))
    return run, qrels


def write_letor_file(path: Path, rows: int, features: int = 136) -> None:
    generator = np.random.default_rng(7)
    values = generator.gamma(0.5, 20, (2000, features))
    values[:, ::2] = np.floor(values[:, ::2])
    texts = [" ".join(f"{f + 1}:{v:.6g}" for f, v in enumerate(row)) for row in values.tolist()]
    labels = generator.integers(0, 5, rows).tolist()
    with path.open("w") as file:
        for row in range(rows):
            file.write(f"{labels[row]} qid:{row // 120} {texts[row % len(texts)]}\n")


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def with_pytrec_eval(qrels: Path, run: Path) -> None:
    pytrec_eval = importlib.import_module("pytrec_eval")
    with qrels.open() as judged, run.open() as retrieved:
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(judged), {"ndcg_cut.10", "map", "recip_rank", "P.10"}
        )
        evaluator.evaluate(pytrec_eval.parse_run(retrieved))


def report(name: str, taken: float, ours: float) -> None:
    print(f"  {name:44} {taken:8.3f} s   {taken / ours:6.1f} times ours")


def peak_megabytes(run: Path, qrels: Path) -> float:
    """Peak memory of a process of its own that evaluates the run, with the pages of the file it maps."""
    code = PEAK.format(qrels=str(qrels), run=str(run), measures=MEASURES)
    code += "; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def trec(folder: Path, asked: argparse.Namespace) -> None:
    run, qrels = write_trec(folder, asked.queries, asked.documents)
    size = run.stat().st_size / 2**20
    print(f"run of {asked.queries:,} × {asked.documents:,}, {size:.0f} MB: parse and evaluate {', '.join(MEASURES)}")
    read = seconds(lambda: read_run(run), asked.repeats)
    print(f"  read_run alone {read:.3f} s, {size / read:.0f} MB/s")
    ours = seconds(lambda: evaluate(qrels, run, MEASURES, tool="trec_eval9"), asked.repeats)
    report("pippin.evaluate", ours, ours)
    peak = peak_megabytes(run, qrels)
    print(f"  peak memory {peak:.0f} MB, {peak / size:.2f} times the file")
    if asked.only_pippin:
        return
    report("pytrec_eval, parse and evaluate", seconds(lambda: with_pytrec_eval(qrels, run), 1), ours)
    if binary := shutil.which("trec_eval"):
        measures = ["-m", "ndcg_cut.10", "-m", "map", "-m", "recip_rank", "-m", "P.10"]
        command = [binary, *measures, str(qrels), str(run)]
        report("trec_eval", seconds(lambda: subprocess.run(command, capture_output=True, check=True), 1), ours)


def letor(folder: Path, asked: argparse.Namespace) -> None:
    path = Path(asked.letor) if asked.letor else folder / "bench.txt"
    if not asked.letor:
        write_letor_file(path, asked.rows)
    size = path.stat().st_size / 2**20
    print(f"LETOR text, {size:.0f} MB")
    ours = seconds(lambda: read_letor(path), asked.repeats)
    report("pippin read_letor, float64", ours, ours)
    report("pippin read_letor, float32", seconds(lambda: read_letor(path, dtype=np.float32), asked.repeats), ours)
    if asked.only_pippin:
        return
    xgboost = importlib.import_module("xgboost")
    report(
        "XGBoost DMatrix", seconds(lambda: xgboost.DMatrix(f"{path}?format=libsvm", silent=True), asked.repeats), ours
    )
    datasets = importlib.import_module("sklearn.datasets")
    report(
        "scikit-learn load_svmlight_file", seconds(lambda: datasets.load_svmlight_file(path, query_id=True), 1), ours
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--letor", help="a LETOR file to read instead of one made here")
    parser.add_argument("--rows", type=int, default=120_000, help="rows of the LETOR file made here")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only-pippin", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trec(Path(folder), asked)
        letor(Path(folder), asked)
    print(f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
