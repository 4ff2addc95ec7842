"""Measure indexing speed, index size and query speed relative to peers.

python benchmarks/index.py [--documents 100000] [--queries 200] [--memory 128M] [--linear] [--only-pippin]

A synthetic collection (60 words a document, Zipfian, 200,000 different words) and CACM, if PIPPIN_DATA or the folder
beside the project has it. All sides get the same texts without the stop words, tokenise, stem and index; then they
answer queries of four words with the best 10 and 1000 documents: words of any document (of which some stand in nearly
all of them), and such that stand in at most one document of ten. bm25s keeps its index in memory, tantivy and Pippin
write theirs; tantivy's has positions, and stores the ids but no texts. The peak memory is that of a fresh process that
reads the texts from a file. Seconds are given as they pass and, after a slash, of the processor: on a busy machine only
the latter can be compared. Peers that are not installed (requirements.txt) are left out; PISA is the wheel
pyterrier-pisa, which may need a virtual environment of its own, and keeps no positions.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import build_index
from pippin.collections.text.analysis import Analyzer
from pippin.system import parse_size

WORDS_A_DOCUMENT, VOCABULARY, BEST = 60, 200_000, (10, 1000)
K1, B = 2.5, 0.8
ROUNDS = 3


def vocabulary(generator: np.random.Generator) -> list[str]:
    """Different words of three to twelve letters."""
    results: dict[str, None] = {}
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    while len(results) < VOCABULARY:
        sizes = generator.integers(2, 6, 10_000)
        parts = generator.integers(0, len(syllables), (10_000, 6)).tolist()
        results.update(dict.fromkeys("".join(syllables[i] for i in part[:n]) + ("s", "ing", "")[n % 3]
                                   for n, part in zip(sizes.tolist(), parts, strict=True)))  # fmt: skip
    return list(results)[:VOCABULARY]


def synthetic(documents: int) -> Iterator[str]:
    """StringColumn whose words follow Zipf's law."""
    generator = np.random.default_rng(11)
    words = np.array(vocabulary(generator))
    ends = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    for first in range(0, documents, 10_000):
        rows = min(10_000, documents - first)
        sample = np.searchsorted(ends, generator.random((rows, WORDS_A_DOCUMENT)) * ends[-1])
        for row in words[sample]:
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


def queries_from(texts: list[str], count: int, most: float = 1.0) -> list[str]:
    """Four words each, from a document each, of words that at most this share of a sample of documents holds."""
    generator = np.random.default_rng(5)
    sample = [set(texts[i].split()) for i in generator.integers(0, len(texts), 2000).tolist()] if most < 1 else []
    held = Counter(word for words in sample for word in words)
    selected = generator.integers(0, len(texts), count).tolist()
    words = [[word for word in texts[i].split() if held[word] <= most * len(sample)] for i in selected]
    return [" ".join(generator.choice(some, 4, replace=False)) for some in words if len(some) >= 4]


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


Search = Callable[[list[str], int], object]


@dataclass(frozen=True)
class Engine:
    """What was built, in which time, how large, and how to ask it."""

    name: str
    built: Spent
    size: int | None
    search: Search


def of_pippin(texts: list[str], folder: str, memory: int) -> Engine:
    built, index = spent(lambda: build_index(as_collection(texts), f"{folder}/bench.index", memory=memory))

    def search(queries: list[str], best: int) -> object:
        return index.search_many(index.analyse_many(queries), best, field="text", k1=K1, b=B)

    return Engine("pippin", built, index.bytes()[0], search)


def of_bm25s(texts: list[str], backend: str) -> Engine:
    import bm25s
    import Stemmer

    stop = sorted(Analyzer().stop_words)
    stemmer = Stemmer.Stemmer("porter")

    def tokens(some: list[str]) -> object:
        return bm25s.tokenize(some, token_pattern=r"(?u)\b\w+\b", stopwords=stop, stemmer=stemmer, show_progress=False)

    def build() -> object:
        model = bm25s.BM25(k1=K1, b=B, method="robertson", backend=backend)
        model.index(tokens(texts), show_progress=False)
        return model

    built, model = spent(build)

    def search(queries: list[str], best: int) -> object:
        return model.retrieve(tokens(queries), k=min(best, len(texts)), n_threads=0, show_progress=False)

    return Engine(f"bm25s, {backend}", built, None, search)


def of_tantivy(texts: list[str], folder: str) -> Engine:
    import tantivy

    place = Path(folder) / "tantivy"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", tokenizer_name="en_stem", index_option="position")

    def build() -> Any:
        index = tantivy.Index(schema.build(), str(place))
        writer = index.writer(256 << 20, 1)
        for i, text in enumerate(texts):
            writer.add_document(tantivy.Document(id=f"d{i}", text=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return index

    built, index = spent(build)
    searcher = index.searcher()

    def search(queries: list[str], best: int) -> object:
        words = [" ".join(re.findall(r"\w+", query.lower())) for query in queries]  # its syntax has signs and operators
        return [searcher.search(index.parse_query(query, ["text"]), best, count=False).hits for query in words]

    return Engine("tantivy", built, sum(file.stat().st_size for file in place.iterdir()), search)


def of_pisa(texts: list[str], folder: str) -> Engine:
    """PISA by PyTerrier: block-max WAND for one k1 and b, worked out before; a data frame is what it answers with."""
    import pandas as pd
    from pyterrier_pisa import PisaIndex

    place = Path(folder) / "pisa"
    shutil.rmtree(place, ignore_errors=True)
    frames: dict[int, Any] = {}

    def build() -> Any:
        index = PisaIndex(str(place), text_field="text", stemmer="porter2", stops="none", threads=1)
        index.index({"docno": f"d{i}", "text": text} for i, text in enumerate(texts))
        search_in(index, [texts[0]], 1)  # packs the postings and works out their bounds
        return index

    def search_in(index: Any, queries: list[str], best: int) -> object:
        frame = pd.DataFrame({"qid": [str(i) for i in range(len(queries))], "query": queries})
        if best not in frames:
            frames[best] = index.bm25(k1=K1, b=B, num_results=best)
        return frames[best](frame)

    built, index = spent(build)
    parts = ("fwd.terms", "fwd.termlex", "fwd.documents", "fwd.doclex")  # others are what it was made from
    packed = [file for file in place.iterdir() if file.name in parts or "simdbp" in file.name or "bmw" in file.name]
    return Engine("PISA", built, sum(file.stat().st_size for file in packed), partial(search_in, index))


def engines(texts: list[str], folder: str, memory: int, peers: bool) -> Iterator[Engine]:
    """Pippin first, then the peers that are installed."""
    yield of_pippin(texts, folder, memory)
    if peers and importlib.util.find_spec("tantivy"):
        yield of_tantivy(texts, folder)
    if peers and importlib.util.find_spec("pyterrier_pisa"):
        try:
            yield of_pisa(texts, folder)
        except ImportError as error:
            print(f"  PISA cannot be loaded: {error}")
    if peers and importlib.util.find_spec("bm25s"):
        yield of_bm25s(texts, "numpy")
        if importlib.util.find_spec("numba"):
            yield of_bm25s(texts, "numba")


CHILD = """
import json, sys, time
from pathlib import Path
from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import build_index
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


def compare(name: str, texts: list[str], asked: dict[str, list[str]], folder: str, memory: int, peers: bool) -> None:
    stop = Analyzer().stop_words
    items = [" ".join(word for word in text.split() if word.lower() not in stop) for text in texts]
    print(f"{name}: {len(texts):,} documents, {sum(map(len, texts)) / 1e6:,.1f} MB of text")
    results = list(engines(items, folder, memory, peers))
    ours = results[0]
    for engine in results:
        ratio = "" if engine is ours else f": {engine.built.over(ours.built)}"
        print(f"  index     {engine.name:<13} {engine.built.each(1, 's')}{ratio}")
    for engine in results:
        if engine.size is not None and ours.size is not None:
            ratio = "" if engine is ours else f": ours is {ours.size / engine.size:.2f} of it"
            print(f"  size      {engine.name:<13} {engine.size / 1e6:,.2f} MB{ratio}")
    for what, queries in asked.items():
        for best in BEST:
            for engine in results:  # compiles what is compiled at first use
                engine.search(queries[:2], best)
            rounds = [[spent(partial(engine.search, queries, best))[0] for engine in results] for _ in range(ROUNDS)]
            took = [
                Spent(min(run.clock for run in runs), min(item.processor for item in runs))
                for runs in zip(*rounds, strict=True)
            ]
            for engine, entry in zip(results, took, strict=True):
                ratio = "" if engine is ours else f": {entry.over(took[0])}"
                print(
                    f"  best {best:<5} {engine.name:<13} {entry.each(len(queries), 'ms')} a query ({what}){ratio}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--memory", default="128M")
    parser.add_argument("--linear", action="store_true", help="also build for a tenth and a hundredth of the documents")
    parser.add_argument("--only-pippin", action="store_true")
    options = parser.parse_args()
    memory = parse_size(options.memory)
    with tempfile.TemporaryDirectory() as folder:
        real = cacm()
        if real is not None:
            compare("CACM", real[0], {"its queries": real[1]}, folder, memory, not options.only_pippin)
        file = Path(folder) / "texts.txt"
        with file.open("w") as out:
            out.writelines(text + "\n" for text in synthetic(options.documents))
        for part in (100, 10, 1) if options.linear else (1,):
            alone(file, options.documents // part, folder, memory)
        texts = file.read_text().splitlines()
        queries = {"any words": queries_from(texts, options.queries),
                 "words of at most a tenth of the documents": queries_from(texts, options.queries, 0.1)}  # fmt: skip
        compare("synthetic", texts, queries, folder, memory, not options.only_pippin)


if __name__ == "__main__":
    main()
