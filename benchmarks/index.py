"""How fast does a collection become an index, and how fast does the index answer? Ratios to bm25s, taken in one run.

python benchmarks/index.py [--documents 100000] [--queries 200] [--memory 512M] [--linear] [--only-pippin]

A synthetic collection (60 words a document, Zipfian, 200,000 different words) and CACM, if PIPPIN_DATA or the folder
beside the project has it. Both sides get the same list of texts, tokenise, leave out the same stop words, stem by
Porter, and index; then they answer queries of four words with the best 1000 documents. bm25s keeps its index in
memory; ours is written to disk and mapped. The peak memory is that of a fresh process that reads the texts from a file.
Seconds are given as they pass and, after a slash, of the processor: on a busy machine only the latter can be compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pippin.collection.analysis import Analysis
from pippin.collection.collection import Collection, Document
from pippin.collection.index import Index, build_index
from pippin.machine import parse_size

WORDS_A_DOCUMENT, VOCABULARY, BEST = 60, 200_000, 1000
K1, B = 2.5, 0.8


def vocabulary(generator: np.random.Generator) -> list[str]:
    """Different words of three to twelve letters."""
    found: dict[str, None] = {}
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    while len(found) < VOCABULARY:
        sizes = generator.integers(2, 6, 10_000)
        parts = generator.integers(0, len(syllables), (10_000, 6)).tolist()
        found.update(dict.fromkeys("".join(syllables[i] for i in part[:n]) + ("s", "ing", "")[n % 3]
                                   for n, part in zip(sizes.tolist(), parts, strict=True)))  # fmt: skip
    return list(found)[:VOCABULARY]


def synthetic(documents: int) -> Iterator[str]:
    """Texts whose words follow Zipf's law."""
    generator = np.random.default_rng(11)
    words = np.array(vocabulary(generator))
    ends = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    for first in range(0, documents, 10_000):
        rows = min(10_000, documents - first)
        drawn = np.searchsorted(ends, generator.random((rows, WORDS_A_DOCUMENT)) * ends[-1])
        for row in words[drawn]:
            yield " ".join(row.tolist())


def cacm() -> tuple[list[str], list[str]] | None:
    """Titles with abstracts, and queries, of CACM."""
    folder = Path(os.environ.get("PIPPIN_DATA", Path(__file__).parent.parent.parent / "shared" / "data")) / "cacm"
    if not folder.is_dir():
        return None
    return smart_texts(folder / "cacm.all"), smart_texts(folder / "query.text")


def smart_texts(path: Path) -> list[str]:
    """Title and abstract of each entry of a file in SMART's format."""
    texts: list[str] = []
    field = ""
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith(".") and line[1:2].isalpha() and (len(line) == 2 or line[2] == " "):
            field = line[1]
            if field == "I":
                texts.append("")
        elif field in "TW":
            texts[-1] += line + "\n"
    return texts


def queries_from(texts: list[str], count: int) -> list[str]:
    """Four words each, from a document each."""
    generator = np.random.default_rng(5)
    chosen = generator.integers(0, len(texts), count).tolist()
    return [" ".join(generator.choice(texts[i].split(), 4, replace=False)) for i in chosen]


def as_collection(texts: list[str]) -> Collection:
    return Collection("bench", ("text",), lambda: (Document(f"d{i}", {"text": text}) for i, text in enumerate(texts)))


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock and of the processor."""

    clock: float
    processor: float

    def over(self, other: Spent) -> str:
        return f"{self.clock / other.clock:.1f} / {self.processor / other.processor:.1f} times ours"

    def each(self, items: int, unit: str) -> str:
        scale = {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit] / items
        return f"{self.clock * scale:8.3f} / {self.processor * scale:8.3f} {unit}"


def spent(work: Callable[[], object], repeats: int = 1) -> tuple[Spent, Any]:
    """The best of a few runs, and what the last of them gave."""
    clocks, processors, result = [], [], None
    for _ in range(repeats):
        clock, processor = time.perf_counter(), time.process_time()
        result = work()
        clocks.append(time.perf_counter() - clock)
        processors.append(time.process_time() - processor)
    return Spent(min(clocks), min(processors)), result


def of_pippin(texts: list[str], queries: list[str], folder: str, memory: int) -> tuple[Spent, Spent, Index]:
    built, index = spent(lambda: build_index(as_collection(texts), f"{folder}/bench.index", memory=memory))

    def search() -> object:
        return index.tops([index.analyse(query) for query in queries], BEST, stream="text", k1=K1, b=B)

    return built, spent(search, 3)[0], index


def of_bm25s(texts: list[str], queries: list[str], backend: str) -> tuple[Spent, Spent]:
    import bm25s
    import Stemmer

    stop = sorted(Analysis().stop_words)
    stemmer = Stemmer.Stemmer("porter")

    def tokens(some: list[str]) -> object:
        return bm25s.tokenize(some, token_pattern=r"(?u)\b\w+\b", stopwords=stop, stemmer=stemmer, show_progress=False)

    def build() -> object:
        model = bm25s.BM25(k1=K1, b=B, method="robertson", backend=backend)
        model.index(tokens(texts), show_progress=False)
        return model

    built, model = spent(build)

    def search(n_threads: int) -> object:
        best = min(BEST, len(texts))
        return model.retrieve(tokens(queries), k=best, n_threads=n_threads, show_progress=False)

    runs = [spent(lambda: search(0), 3)[0], spent(lambda: search(2), 3)[0]]  # of which the better one counts
    return built, min(runs, key=lambda run: run.clock)


def backends() -> tuple[str, ...]:
    """How bm25s can work here: numba is no dependency of it."""
    return ("numpy", "numba") if importlib.util.find_spec("numba") else ("numpy",)


CHILD = """
import json, sys, time
from pathlib import Path
from pippin.collection.collection import Collection, Document
from pippin.collection.index import build_index
texts, folder, memory, most = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def read():
    with open(texts) as lines:
        for i, line in zip(range(most), lines):
            yield Document(f"d{i}", {"text": line})
# Not ru_maxrss, which a process inherits from the one that started it.
peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
before = peak()
clock, processor = time.perf_counter(), time.process_time()
build_index(Collection("bench", ("text",), read), folder, memory=memory)
print(json.dumps([time.perf_counter() - clock, time.process_time() - processor, before, peak()]))
"""


def alone(file: Path, documents: int, folder: str, memory: int) -> None:
    """Time and memory of a build in a process of its own."""
    command = [sys.executable, "-c", CHILD, str(file), f"{folder}/alone.index", str(memory), str(documents)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    clock, processor, before, peak = json.loads(done.stdout)
    took = Spent(clock, processor)
    print(f"alone: {documents:>9,} documents in {took.each(1, 's')}, {took.each(documents, 'µs')} each; peak memory "
          f"{peak / 1e6:,.0f} MB, of which {before / 1e6:,.0f} before the build (limit {memory / 1e6:,.0f} MB)",
          flush=True)  # fmt: skip


def compare(name: str, texts: list[str], queries: list[str], folder: str, memory: int, peers: bool) -> None:
    characters = sum(map(len, texts))
    built, answered, index = of_pippin(texts, queries, folder, memory)
    size = sum(record["bytes"] for record in index.manifest["files"].values())
    print(f"{name}: {len(texts):,} documents, {characters / 1e6:,.1f} MB of text, {index.manifest['terms']:,} terms, "
          f"{size / 1e6:,.1f} MB of index")  # fmt: skip
    print(f"  index     pippin {built.each(1, 's')}")
    print(f"  top-{BEST}  pippin {answered.each(len(queries), 'ms')} a query", flush=True)
    for backend in backends() if peers else ():
        peer_built, peer_answered = of_bm25s(texts, queries, backend)
        print(f"  index     bm25s  {peer_built.each(1, 's')} ({backend}): {peer_built.over(built)}")
        print(f"  top-{BEST}  bm25s  {peer_answered.each(len(queries), 'ms')} a query ({backend}): "
              f"{peer_answered.over(answered)}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--linear", action="store_true", help="also build for a tenth and a hundredth of the documents")
    parser.add_argument("--only-pippin", action="store_true")
    options = parser.parse_args()
    memory = parse_size(options.memory)
    with tempfile.TemporaryDirectory() as folder:
        real = cacm()
        if real is not None:
            compare("CACM", *real, folder, memory, not options.only_pippin)
        file = Path(folder) / "texts.txt"
        with file.open("w") as out:
            out.writelines(text + "\n" for text in synthetic(options.documents))
        for part in (100, 10, 1) if options.linear else (1,):
            alone(file, options.documents // part, folder, memory)
        texts = file.read_text().splitlines()
        compare("synthetic", texts, queries_from(texts, options.queries), folder, memory, not options.only_pippin)


if __name__ == "__main__":
    main()
