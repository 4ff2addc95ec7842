"""Measure the processor time of each step and extrapolate it to a large collection.

python benchmarks/scale.py [--quick] [--text]

Every step is measured by itself on one thread, in processor time, on synthetic data of the shape of the real thing: 60
words a passage; 136 features and about 120 documents a query. Bytes of a partition are those of MSLR's first 5,000
documents, if PIPPIN_DATA or the folder beside the project has them. The second table multiplies counts by costs, and
does nothing else; docs/notes/scale.md says what is left out. `--text` stops where a data
set with features exists: what `pippin build` does, by one process and on a cluster.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from math import ceil, prod
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from index import BEST, WORDS_A_DOCUMENT, as_collection, queries_from, synthetic

from pippin.collections.collection import Query
from pippin.collections.features import SETS, extract_many, parse_features
from pippin.collections.index.index import Index, build_index
from pippin.collections.index.statistics import Candidates
from pippin.data.letor import write_letor, write_scores
from pippin.data.partitions import open_partitions, read_partitions, write_partitions
from pippin.data.synthetic import make_dataset
from pippin.evaluation.evaluate import evaluate
from pippin.rankers.lambdamart import LambdaMART

FEATURES, LIST = 136, 240  # the synthetic lists are half as long as this in the mean
PAIR = 45  # features of a pair, as OHSUMED has them
MEASURES = ("NDCG@10", "MAP")
CORES, MEMORY = 16, 48e9  # of a machine in the second table; 48 of 64 GB for data
TREES, LEAVES, BINS = 1000, 10, 255
STRETCH = 64
MEMORY_STEP = "memory to train"


def cost(step: str, one: str, times: int = 1, many: str = "") -> Any:
    """A field of `Costs`: what is done, what the figure is for, and how many of them make something larger."""
    return field(default=0.0, metadata={"step": step, "one": one, "times": times, "many": many})


@dataclass(frozen=True)
class Costs:
    """Seconds of one core, or bytes, for one of each."""

    index: float = cost("index build", "word", WORDS_A_DOCUMENT, "document of 60 words")
    index_bytes: float = cost("index on disk", "word", WORDS_A_DOCUMENT, "document of 60 words")
    search: float = cost("BM25, best 1,000", "query × document indexed", 100_000, "query of 100,000 documents")
    feature: float = cost("feature extraction", "pair × feature", PAIR, "pair with 45 features")
    partition: float = cost("LETOR text to partitions", "value", FEATURES, "document of 136 features")
    parquet_bytes: float = cost("Parquet on disk (float32)", "value", FEATURES, "document of 136 features")
    load: float = cost("reading partitions", "value", FEATURES, "document of 136 features")
    bins: float = cost("LambdaMART, before the first tree", "value", FEATURES, "document of 136 features")
    tree: float = cost("LambdaMART, growing", "value × tree", FEATURES, "document of 136 features × tree")
    memory_bytes: float = cost("memory to train, from partitions", "value", FEATURES, "document of 136 features")
    score: float = cost("LambdaMART, scoring", "document × tree", TREES, "document, 1,000 trees")
    evaluate: float = cost("evaluation in memory", "document")
    stream: float = cost("`pippin eval --stream`", "value of LETOR text", FEATURES, "document of 136 features")


def processor(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of some work, and what it gave."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def of_text(documents: int, queries: int, folder: Path) -> dict[str, float]:
    """Index, search and features."""
    texts = list(synthetic(documents))
    built, index = processor(lambda: build_index(as_collection(texts), folder / "index"))
    words = documents * WORDS_A_DOCUMENT
    size = sum(file.stat().st_size for file in (folder / "index").rglob("*") if file.is_file())
    asked = [Query(str(i), text) for i, text in enumerate(queries_from(texts, queries))]
    analysed = [index.analyse(query.text) for query in asked]
    searched, result = processor(lambda: index.search_many(analysed, BEST, field="text"))
    selected = [text.replace("@title", "@text") for text in SETS["ohsumed"].texts if text.endswith("@title")]
    features = parse_features(", ".join(selected))

    def extract_features(source: Index) -> int:
        for first in range(0, len(asked), STRETCH):
            some = zip(asked[first : first + STRETCH], result[first : first + STRETCH], strict=True)
            extract_many([candidates_of(source, query, rows) for query, (rows, _) in some], features)
        return sum(len(rows) for rows, _ in result)

    took, pairs = processor(lambda: extract_features(index))
    return {
        "index": built / words, "index_bytes": size / words, "search": searched / queries / documents,
        "feature": took / pairs / len(features),
    }  # fmt: skip


def candidates_of(source: Index, query: Query, rows: Any) -> Candidates:
    """The counts of a query's candidates."""
    return source.candidates(query, rows, np.zeros(len(rows), np.int32))


def of_data(queries: int, trees: int, folder: Path) -> dict[str, float]:
    """Partitions, training, scoring and evaluation."""
    data = make_dataset(queries, LIST, FEATURES, labels=5, dtype=np.float32)
    write_letor(data, folder / "data.txt")
    cut, _ = processor(lambda: write_partitions(folder / "data.txt", folder / "parts", 50_000, dtype="float32"))
    loaded, read = processor(lambda: read_partitions(folder / "parts"))
    LambdaMART(rounds=1).fit(make_dataset(20, 20))  # what a process does once is not counted
    first, model = processor(lambda: LambdaMART(rounds=1, early_stopping_rounds=None).fit(read))
    all_trees, model = processor(lambda: LambdaMART(rounds=1 + trees, early_stopping_rounds=None).fit(read))
    scored, scores = processor(lambda: model.predict(read))
    write_scores(scores, folder / "scores.txt")
    judge_seconds = min(processor(lambda: evaluate(read, scores, MEASURES))[0] for _ in range(3))
    write_letor(data.select(slice(0, 2)), folder / "few.txt")
    write_scores(scores[: data.offsets[2]], folder / "few.scores")
    write_partitions(folder / "few.txt", folder / "few", dtype="float32")
    (_, full), (streamed, peak) = (
        streaming(folder, "data.txt", "scores.txt", *method) for method in ((), ("--stream",))
    )
    start, _ = streaming(folder, "few.txt", "few.scores", "--stream")
    held, bare = (training(folder, parts) for parts in ("parts", "few"))
    print(f"{len(data):,} documents in {data.queries:,} queries; peak memory of eval {full / 1e6:,.0f} MB, "
          f"of eval --stream {peak / 1e6:,.0f} MB\n")  # fmt: skip
    rows, values = len(data), data.features.size
    return {
        "partition": cut / values, "load": loaded / values, "parquet_bytes": bytes_of_a_value(folder),
        "bins": first / values, "tree": (all_trees - first) / values / trees, "memory_bytes": (held - bare) / values,
        "score": scored / rows / (1 + trees), "evaluate": judge_seconds / rows, "stream": (streamed - start) / values,
    }  # fmt: skip


CHILD = """
import sys, time
from contextlib import suppress
from pathlib import Path
from pippin.cli.main import main
with suppress(SystemExit):
    main(sys.argv[1:])
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
print(time.process_time(), peak, file=sys.stderr)
"""


def alone(*command: str) -> tuple[float, float]:
    """Processor seconds and peak memory of a command in a process of its own."""
    done = subprocess.run([sys.executable, "-c", CHILD, *command], capture_output=True, text=True, check=True)
    seconds, peak = done.stderr.splitlines()[-1].split()
    return float(seconds), float(peak)


def streaming(folder: Path, data: str, scores: str, *how: str) -> tuple[float, float]:
    """Processor seconds and peak memory of an evaluation."""
    return alone("eval", str(folder / data), str(folder / scores), *how)


def training(folder: Path, parts: str) -> float:
    """Peak memory of LambdaMART from partitions."""
    model = str(folder / "model.json")
    return alone("train", str(folder / parts), "-r", "lambdamart", "-q", "--set", "rounds=3", "-o", model)[1]


def bytes_of_a_value(folder: Path) -> float:
    """What a feature of a document takes in a partition: of real data, or of the synthetic."""
    real = Path(os.environ.get("PIPPIN_DATA", Path(__file__).parent.parent.parent / "shared" / "data")) / "mslr-5k"
    file = real / "msn1.fold1.train.5k.txt"
    parts = (
        write_partitions(file, folder / "real", dtype="float32") if file.exists() else open_partitions(folder / "parts")
    )
    size = sum((parts.folder / part.file).stat().st_size for part in parts.parts)
    return size / len(parts) / len(parts.features)


@dataclass(frozen=True)
class Size:
    """The counts of a collection."""

    name: str
    pages: int  # to index, 0 where features are given
    words: int  # of a page
    queries: int
    pairs: int  # of a query and a document, with features
    features: int
    trained: float  # share of the pairs that train


SIZES = (
    Size("WEB30K", 0, 0, 31_531, 3_771_125, 136, 3 / 5),
    Size("MS MARCO passage", 8_841_823, 60, 502_939, 502_939_000, 45, 1.0),
    Size("ClueWeb22-B", 200_000_000, 1_000, 10_000, 10_000_000, 136, 3 / 5),
)


@dataclass(frozen=True)
class Step:
    """A row of the arithmetic: what is done, how many times, and what one costs: seconds of a core, or bytes."""

    name: str
    counts: tuple[int, ...]
    cost: float
    bytes: bool = False

    @property
    def total(self) -> float:
        """The product."""
        return prod(self.counts) * self.cost

    def row(self) -> tuple[str, str, str]:
        """The step, its product and what comes out."""
        first, all_of_it = (plain, giga) if self.bytes else (small, hours)
        return self.name, f"{' × '.join(f'{n:,}' for n in self.counts)} × {first(self.cost)}", all_of_it(self.total)


def arithmetic(size: Size, c: Costs) -> list[Step]:
    """Counts times costs, step by step."""
    all_pairs, trained = (size.pairs, size.features), (round(size.trained * size.pairs), size.features)
    steps = [
        *(from_text(size, c) if size.pages else [Step("text to partitions", all_pairs, c.partition)]),
        Step("partitions on disk", all_pairs, c.parquet_bytes, bytes=True),
        Step(MEMORY_STEP, trained, c.memory_bytes, bytes=True),
        Step("read them to train", trained, c.load),
        Step("before the first tree", trained, c.bins),
        Step("grow trees", (*trained, TREES), c.tree),
        Step("score the rest", (size.pairs - trained[0], TREES), c.score),
        Step("evaluate", (size.pairs,), c.evaluate),
    ]
    return [step for step in steps if step.total]


def from_text(size: Size, c: Costs) -> list[Step]:
    """What comes before a data set with features."""
    return [
        Step("index", (size.pages, size.words), c.index),
        Step("index on disk", (size.pages, size.words), c.index_bytes, bytes=True),
        Step("candidates", (size.queries, size.pages), c.search),
        Step("features", (size.pairs, size.features), c.feature),
    ]


def on_cluster(size: Size, c: Costs) -> list[Step]:
    """The same by `pippin build --dask`: what one process does, and what workers share."""
    return [
        Step("one process: index", (size.pages, size.words), c.index),
        Step("shared: candidates", (size.queries, size.pages), c.search),
        Step("shared: features", (size.pairs, size.features), c.feature),
    ]


def tell(size: Size, c: Costs) -> None:
    """Print the arithmetic of one collection, and the machines that its training needs."""
    print(f"\n| {size.name} | counts × cost | one core |\n|---|---|--:|")
    steps = arithmetic(size, c)
    for step in steps:
        print(f"| {' | '.join(step.row())} |")
    memory = next(step.total for step in steps if step.name == MEMORY_STEP)
    total = sum(step.total for step in steps if not step.bytes)
    machines = max(1, ceil(memory / MEMORY))
    print(f"| all of it on one core | | {hours(total)} |")
    print(f"| machines that hold the training | {giga(memory)} / {giga(MEMORY)} | {machines} |")
    print(f"| all of it on their {CORES} cores each, if nothing were lost | {hours(total)} / {machines * CORES} | "
          f"{hours(total / machines / CORES)} |")  # fmt: skip


def hours(seconds: float) -> str:
    """Seconds as they are best read."""
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def small(seconds: float) -> str:
    """A short time."""
    scales = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
    unit, scale = next((pair for pair in scales if seconds * pair[1] >= 1), scales[-1])
    return f"{seconds * scale:.3g} {unit}"


def plain(count: float) -> str:
    """Bytes of something small."""
    return f"{count:,.0f} B" if count >= 100 else f"{count:.3g} B"


def giga(count: float) -> str:
    """Bytes of something large."""
    return f"{count / 1e9:,.2g} GB" if count < 1e10 else f"{count / 1e9:,.0f} GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, to see that it runs")
    parser.add_argument("--text", action="store_true", help="only what a build does")
    options = parser.parse_args()
    quick = options.quick
    os.environ["PIPPIN_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text = of_text(10_000 if quick else 100_000, 20 if quick else 200, folder)
        data = {} if options.text else of_data(100 if quick else 1_000, 10 if quick else 50, folder)
        c = Costs(**text, **data)
    print("| step | for one | cost | for | cost |\n|---|---|--:|---|--:|")
    for each in fields(c):
        value, about = getattr(c, each.name), each.metadata
        if not value:
            continue
        shown = plain if "bytes" in each.name else small
        many = shown(value * about["times"]) if about["many"] else ""
        print(f"| {about['step']} | {about['one']} | {shown(value)} | {about['many']} | {many} |")
    for size in SIZES:
        if size.pages:
            print(f"\n| {size.name}, built on a cluster | counts × cost | one core |\n|---|---|--:|")
            for step in on_cluster(size, c):
                print(f"| {' | '.join(step.row())} |")
    if options.text:
        return
    for size in SIZES:
        tell(size, c)
    exchanged = 136 * BINS * 16 * (LEAVES - 1)
    print(f"\nhistograms a worker sends for a tree of 136 features: 136 × {BINS} × 16 B × {LEAVES - 1} splits = "
          f"{exchanged / 1e6:.1f} MB; {TREES} trees {exchanged * TREES / 1e9:.1f} GB")  # fmt: skip


if __name__ == "__main__":
    main()
