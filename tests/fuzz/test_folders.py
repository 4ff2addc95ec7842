"""Fuzz folders written by Pippin: damage never changes the content that is read."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from tests.benchmarks.small import bench, write_folds
from tests.collections.six_pages import micro_web
from tests.fuzz.cases import Case, fuzz
from tests.fuzz.harness import COUNT

from pippin.benchmarks.store import Results
from pippin.collections.build import build_dataset, read_manifest
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.index.index import build_index, open_index
from pippin.collections.letor.sampling import BuildOptions
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.text.analysis import Analyzer
from pippin.data import buffers
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.folds import make_folds
from pippin.data.inputs import coerce_judgements
from pippin.data.partitions import read_partitions, write_partitions
from pippin.data.qrels import Qrels, Run
from pippin.data.store import open_fold_store, read_store, write_fold_store, write_store
from pippin.data.synthetic import make_dataset
from pippin.rankers import models

DATA = make_dataset(10, documents=6, features=5)
WORDS = ("apple", "pear", "plum", "quince", "cherry", "medlar", "damson")


def pages() -> list[Document]:
    texts = [" ".join(WORDS[(i * step) % len(WORDS)] for step in (1, 2, 3)) for i in range(20)]
    return [
        Document(f"d{i}", {"title": text.split()[0], "body": text}, f"http://a.org/{i}") for i, text in enumerate(texts)
    ]


def orchard() -> Collection:
    queries = tuple(Query(str(i), f"{WORDS[i]} {WORDS[i + 1]}") for i in range(4))
    qrels = {query.id: {f"d{(i * 5) % 20}": 1, f"d{i + 1}": 0} for i, query in enumerate(queries)}
    read = pages()
    return Collection("orchard", ("title", "body"), lambda: iter(read), queries, Qrels.from_dict(qrels),
                      combined_fields={"whole": ("title", "body")})  # fmt: skip


def search(folder: Path) -> object:
    """Return the results of every query method of an index."""
    index = open_index(folder / "index")
    result: list[Any] = [repr(index), index.digest, list(index.ids), list(index.urls), list(index.vocabulary)]
    for field in index.fields:
        tops = index.search_many([["appl", "pear"], ["plum"], ["nothing"]], 5, field=field)
        result += [part.tobytes() for pair in tops for part in pair]
        result += [part.tobytes() for part in index.postings(field, "pear")]
        result += [part.tobytes() for part in index.tokens(field, [0, 7, 19])]
        result += [
            index.bm25(["quinc"], field=field).tobytes(),
            index.total_terms(field),
            index.vocabulary_size(field),
        ]
    result += [index.texts(number) for number in (0, 7, 19)]
    candidates = index.candidates(Query("q", "apple pear"), [3, 1, 12], [0, 1, 0])
    for counts in candidates.fields.values():
        result += [getattr(counts, name).tobytes() for name in ("df", "cf", "tf", "length", "unique")]
        places = counts.positions() if counts.positions else None
        result += [getattr(places, name).tobytes() for name in ("offsets", "position", "word")]
    return result


def web(folder: Path) -> object:
    first = LinkIndex.open(folder / "web")
    arrays: list[Any] = [first.hosts, first.pagerank, first.hostrank, first.topical, first.slashes, first.url_lengths]
    arrays += [first.graph.out_targets, first.graph.in_sources, first.graph.outside_counts, first.sitemap.parent]
    arrays.append(first.topics.pages)
    texts = [list(first.ids), list(first.urls), list(first.host_names), list(first.graph.outside_urls)]
    return [repr(first), first.parameters, first.convergence, texts, [array.tobytes() for array in arrays]]


def folds(folder: Path) -> object:
    opened = open_fold_store(folder / "folds")
    parts = {(fold.name, part): digest(fold[part]) for fold in opened for part in fold.parts}
    return opened.name, parts, digest(opened.data)


def data_set(folder: Path) -> object:
    buffers._read_manifest.cache_clear()
    full = folder / "out"
    manifest = read_manifest(full)
    texts = [coerce_judgements(file) for file in sorted((full / "Feature-min").glob("Fold1/*.txt"))]
    names = [text.feature_names for text in texts if isinstance(text, Dataset)]
    return manifest, [digest(text) for text in texts], names, digest(read_store(full / "binary.pippin"))


@cache
def prepare(what: str) -> Path:
    """Build slow fixtures once."""
    place = Path(mkdtemp())
    if what == "results":
        outcome = bench(
            write_folds(place / "text", folds=3),
            place / "results",
            tools=("official", "letor4"),
            measures=("MAP", "P@3"),
        )
        shutil.rmtree(outcome.results.path / "folds")  # a case of its own
    else:
        recipe = BuildOptions(features="tf@body bm25@title", sample=8, folds=3, analysis=Analyzer(), meta=False)
        build_dataset(orchard(), place / "out", recipe)
    return place


def results(folder: Path) -> object:
    """Everything that a leaderboard and a report read."""
    opened = Results.open(folder / "results")
    tables = (
        opened.means(),
        opened.values(),
        opened.costs(),
        opened.failures(),
        opened.importances(),
        opened.datasets(),
    )
    cells = [(cell.scores().to_pydict(), models.load(cell.model).get_params()) for cell in opened.cells]
    return [table.to_pydict() for table in tables], opened.audits(), opened.plan(), opened.versions, cells


CASES = {
    "store": Case(
        lambda f: write_store(DATA, f / "s"),
        lambda f: (digest(read_store(f / "s")), read_store(f / "s").name), own=True,
    ),
    "store of judgements": Case(
        lambda f: write_store(Qrels.from_dict({"q": {"a": 1, "b": 0}, "r": {"c": 2}}), f / "s"),
        lambda f: (digest(read_store(f / "s")), read_store(f / "s").name), own=True,
    ),
    "store of a run": Case(
        lambda f: write_store(Run.from_dict({"q": {"a": 1.5, "b": 0}}, "mine"), f / "s"),
        lambda f: (digest(read_store(f / "s")), getattr(read_store(f / "s"), "tag", "")), own=True,
    ),
    "partitions": Case(
        lambda f: write_partitions(DATA, f / "p", 20),
        lambda f: (digest(read_partitions(f / "p")), read_partitions(f / "p").name), own=True,
    ),
    "index": Case(lambda f: build_index(orchard(), f / "index"), search, own=True),
    "web": Case(lambda f: micro_web().save(f / "web"), web, own=True),
    "folds": Case(lambda f: write_fold_store(make_folds(DATA, 3), f / "folds", "x"), folds, own=True),
    "built data set": Case(
        lambda f: shutil.copytree(prepare("data") / "out", f / "out"), data_set, own=True,
    ),
    "results": Case(lambda f: shutil.copytree(prepare("results") / "results", f / "results"), results, own=True),
}  # fmt: skip
# The part of all mutations that a case gets; those that take long get less.
QUERY_TEXT_PRIORITY = 30
SHARE = {"results": 400, "built data set": 100}


@pytest.mark.parametrize("name", CASES)
def test_folders(name: str) -> None:
    counts = fuzz(CASES[name], COUNT // SHARE.get(name, QUERY_TEXT_PRIORITY))
    assert counts["refused"], "nothing was damaged"
