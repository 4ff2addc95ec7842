"""How fast is evaluating, against the peers? Everything is measured in one run, and printed as a Markdown table.

python benchmarks/evaluation.py [--queries 10000] [--documents 1000] [--ids msmarco|clueweb] [--rows 120000]
                                [--judged 3700000] [--repeats 3] [--only CASE]… [--only-pippin]

Cases: `trec` is the whole command on a TREC run, each program in a process of its own, and its peak memory; `letor`
reads LETOR text, as benchmarks/reading.py does at more length; `arrays` evaluates scores in memory against the same
in vectorised NumPy; `start` is the command on a tiny file against Python that only imports NumPy. Ours is the median of
the repeats, a peer that takes long runs once, and the two alternate. A peer that is not installed says so in its row.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reading import write_letor_file
from synthetic_trec import IDS, write_trec

import pippin
from pippin.data.letor import read_letor

F64 = NDArray[np.float64]
MEASURES = ["NDCG@10", "MAP", "RR", "P@10"]
ASKED = [option for measure in MEASURES for option in ("-m", measure)]
TOLD = {  # the peers' names of them
    "NDCG@10": {"ndcg_cut_10", "nDCG@10"},
    "MAP": {"map", "AP"},
    "RR": {"recip_rank", "RR"},
    "P@10": {"P_10", "P@10"},
}
PYTHON = sys.executable
HERE = Path(__file__).parent
STARTS = 15


@dataclass(frozen=True)
class Row:
    """One line of the table; without a peer's number, `note` says why."""

    case: str
    peer: str
    theirs: float | None
    ours: float
    target: str
    note: str = ""
    unit: str = "s"

    def __str__(self) -> str:
        if self.theirs is None:
            cells = [self.case, self.peer, self.note, f"{self.ours:.3g} {self.unit}", "", self.target]
        else:
            ratio = self.ours / self.theirs if self.target.startswith("≤") else self.theirs / self.ours
            numbers = [f"{self.theirs:.3g} {self.unit}", f"{self.ours:.3g} {self.unit}", f"{ratio:.2f}×"]
            cells = [self.case, self.peer, *numbers, self.target]
        return f"| {' | '.join(cells)} |"


def missing(module: str) -> bool:
    return importlib.util.find_spec(module) is None


def median(work: Callable[[], object], repeats: int) -> float:
    """Seconds, the median of some runs."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


@dataclass(frozen=True)
class Finished:
    """A process that has ended: wall seconds, peak memory in bytes, what it printed."""

    seconds: float
    peak: int
    printed: str


def process(command: Sequence[str | Path]) -> Finished:
    """Run a program to its end. Linux hands a parent's peak on to its child, so this process must stay small."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        child = subprocess.Popen([str(word) for word in command], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{command[0]} ended with status {child.returncode}")
        out.seek(0)
        return Finished(seconds, usage.ru_maxrss * 1024, out.read())


def pippin_eval(*arguments: str | Path) -> list[str | Path]:
    """Our command as it is installed, beside the interpreter."""
    return [Path(PYTHON).with_name("pippin"), "eval", *arguments]


def check_values(printed: str, ours: dict[str, float]) -> None:
    """Raise unless a peer printed our means, to the four digits that all of them print."""
    told = {words[0]: float(words[-1]) for line in printed.splitlines() if (words := line.split())}
    for measure, value in ours.items():
        theirs = next(told[name] for name in TOLD[measure] if name in told)
        if abs(theirs - value) > 1e-4:
            raise SystemExit(f"{measure} is {value} here and {theirs} there")


def trec_peers(qrels: Path, run: Path) -> Iterator[tuple[str, str, list[str | Path] | None]]:
    """(name, target, command or None where it is not installed) of each peer."""
    command: list[str | Path] = [PYTHON, "-m", "ir_measures", qrels, run, "nDCG@10", "AP", "RR", "P@10"]
    yield "ir_measures, its command", "≥ 30×", None if missing("ir_measures") else command
    command = [PYTHON, HERE / "with_pytrec_eval.py", qrels, run]
    yield "pytrec_eval, parse and evaluate", "≥ 12×", None if missing("pytrec_eval") else command
    binary = shutil.which("trec_eval")
    names = ["-m", "ndcg_cut.10", "-m", "map", "-m", "recip_rank", "-m", "P.10"]
    yield "trec_eval", "≥ 15×", [binary, *names, qrels, run] if binary else None


def trec(folder: Path, asked: argparse.Namespace) -> Iterator[Row]:
    """The whole command on a TREC run, before, between and after its peers; and its memory."""
    qrels, run = write_trec(folder, asked.queries, asked.documents, asked.ids)
    command = pippin_eval(qrels, run, *ASKED, "--tool", "trec_eval9")
    means = json.loads(process([*command, "--format", "json"]).printed)["mean"]
    runs, seconds = [process(command)], {}
    peers = [] if asked.only_pippin else list(trec_peers(qrels, run))
    for peer, _, theirs in peers:
        if theirs is not None:
            finished = process(theirs)
            check_values(finished.printed, means)
            seconds[peer] = finished.seconds
            runs.append(process(command))
    while len(runs) < asked.repeats:
        runs.append(process(command))
    ours = statistics.median(r.seconds for r in runs)
    size = run.stat().st_size
    case = f"TREC run of {asked.queries:,} × {asked.documents:,} ({size / 1e6:,.0f} MB), whole command"
    for peer, target, _ in peers or [("", "", None)]:
        yield Row(case, peer, seconds.get(peer), ours, target, "not installed" if peer else "")
    peak = max(r.peak for r in runs)
    yield Row("its peak memory", "size of the run file", size / 1e6, peak / 1e6, "≤ 2×", unit="MB")


def letor(folder: Path, asked: argparse.Namespace) -> Iterator[Row]:
    """LETOR text of MSLR's shape."""
    path = folder / "bench.letor"
    write_letor_file(path, asked.rows)
    ours = median(lambda: read_letor(path), asked.repeats)
    case = f"LETOR text of {asked.rows:,} documents ({path.stat().st_size / 1e6:,.0f} MB)"

    def sklearn() -> object:
        from sklearn.datasets import load_svmlight_file

        return load_svmlight_file(path, query_id=True)

    def xgboost() -> object:
        from xgboost import DMatrix

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it would rather not read text any more
            return DMatrix(f"{path}?format=libsvm", silent=True)

    peers = [
        ("sklearn", "scikit-learn load_svmlight_file", "≥ 40×", sklearn, 1),
        ("xgboost", "XGBoost DMatrix", "≥ 4×", xgboost, asked.repeats),
    ]
    if asked.only_pippin:
        yield Row(case, "", None, ours, "")
    for module, name, target, read, repeats in () if asked.only_pippin else peers:
        if missing(module):
            yield Row(case, name, None, ours, target, "not installed")
        else:
            importlib.import_module(module)  # reading is timed, not importing
            yield Row(case, name, median(read, repeats), ours, target)


def judged_arrays(documents: int) -> tuple[pippin.Dataset, F64]:
    """Labels and scores in the proportions of MSLR-WEB30K, without features."""
    generator = np.random.default_rng(7)
    queries = max(1, documents * 31 // 3700)
    sizes = 1 + generator.multinomial(documents - queries, generator.dirichlet(np.full(queries, 4.0)))
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    labels = generator.choice(5, documents, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(np.int32)
    scores = labels * 0.3 + generator.normal(size=documents)
    ids = tuple(str(q) for q in range(queries))
    return pippin.Dataset(np.empty((documents, 0)), labels, offsets, ids), scores


def numpy_twin(data: pippin.Dataset, scores: F64) -> dict[str, F64]:
    """The four measures by their definitions, a value per query, without a loop over queries."""
    starts, sizes = data.offsets[:-1], np.diff(data.offsets)
    query = np.repeat(np.arange(data.queries), sizes)
    rank = np.arange(1, len(scores) + 1) - np.repeat(starts, sizes)
    top = rank <= 10
    discount = np.where(top, 1 / np.log2(1 + rank), 0)
    ranked = data.labels[np.lexsort((-scores, query))]
    ideal = data.labels[np.lexsort((-data.labels, query))]
    dcg = np.add.reduceat((np.exp2(ranked) - 1) * discount, starts)
    best = np.add.reduceat((np.exp2(ideal) - 1) * discount, starts)
    relevant = ranked >= 1
    count = np.cumsum(relevant)
    hits: NDArray[np.int64] = count - np.repeat(count[starts] - relevant[starts], sizes)
    found = np.add.reduceat(relevant, starts, dtype=np.int64)
    precisions = np.add.reduceat(np.where(relevant, hits / rank, 0), starts)
    first = np.minimum.reduceat(np.where(relevant, rank, np.inf), starts)
    return {
        "NDCG@10": np.divide(dcg, best, out=np.zeros(data.queries), where=best > 0),
        "MAP": precisions / np.maximum(found, 1),
        "RR": 1 / first,
        "P@10": np.add.reduceat(relevant & top, starts, dtype=np.int64) / 10,
    }


def arrays(_: Path, asked: argparse.Namespace) -> Iterator[Row]:
    """Scores in memory against the vectorised twin, whose values must be ours."""
    data, scores = judged_arrays(asked.judged)
    evaluation = pippin.evaluate(data, scores, MEASURES)
    twin = numpy_twin(data, scores)
    for column in evaluation.columns:
        np.testing.assert_allclose(twin[column.asked], column.values, rtol=0, atol=1e-9)
    pairs = [
        (median(lambda: pippin.evaluate(data, scores, MEASURES), 1), median(lambda: numpy_twin(data, scores), 1))
        for _ in range(asked.repeats)
    ]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    case = f"arrays: {len(data):,} documents in {data.queries:,} queries"
    yield Row(case, "vectorised NumPy (lexsort, reduceat)", theirs, ours, "≥ 10×")


def start(folder: Path, _: argparse.Namespace) -> Iterator[Row]:
    """The command on a tiny file; runs alternate, so that a noisy machine is noisy for both."""
    qrels, run = folder / "tiny.qrels", folder / "tiny.run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 b 1 2.0 tiny\n1 Q0 a 2 1.0 tiny\n")
    command = pippin_eval(qrels, run, *ASKED, "--tool", "trec_eval9")
    bare = [PYTHON, "-c", "import numpy"]
    pairs = [(process(command).seconds, process(bare).seconds) for _ in range(STARTS)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    yield Row("pippin eval on a tiny file", 'python -c "import numpy"', theirs, ours, "≤ 2.5×")


# The cases with arrays come last: what they hold would count as memory of the processes started after them.
CASES = {"trec": trec, "start": start, "letor": letor, "arrays": arrays}


def versions() -> str:
    names = ["numpy", "ir_measures", "pytrec_eval-terrier", "scikit-learn", "xgboost-cpu", "xgboost"]
    told = [f"pippin {pippin.__version__}", f"Python {platform.python_version()}"]
    for name in names:
        try:
            told.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{', '.join(told)}; {len(os.sched_getaffinity(0))} cores."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000, help="queries of the TREC run")
    parser.add_argument("--documents", type=int, default=1_000, help="documents of each of its queries")
    parser.add_argument("--ids", choices=IDS, default="msmarco", help="what its document ids look like")
    parser.add_argument("--rows", type=int, default=120_000, help="documents of the LETOR text")
    parser.add_argument("--judged", type=int, default=3_700_000, help="documents of the arrays")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", action="append", choices=CASES, help="a case to run (default: all)")
    parser.add_argument("--only-pippin", action="store_true", help="leave out the peers of trec and letor")
    asked = parser.parse_args()
    print("| case | peer | peer's | pippin's | ratio | to reach |", "|---|---|--:|--:|--:|--:|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            for row in case(Path(folder), asked) if not asked.only or name in asked.only else ():
                print(row, flush=True)
    print(f"\n{versions()}")


if __name__ == "__main__":
    main()
