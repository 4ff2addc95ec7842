"""Fuzz documents, topics and related files in every format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.collections.readers.samples import MEDLINE, PAGES, SMART, TREC, record, response
from tests.collections.six_pages import micro_candidates, write_meta
from tests.fuzz.cases import Case, fuzz
from tests.fuzz.harness import COUNT

from pippin.collections.letor.metadata import CollectionInfo, StreamInfo, read_meta
from pippin.collections.links.relations import write_similarity
from pippin.collections.readers import read_collection
from pippin.collections.readers.topics import read_queries
from pippin.rankers.relational import read_similarity

HTML = b"<html><title>Apples</title><base href='/x/'><body><h1>Sorts</h1>Caf\xe9 &amp; <a href='b.html'>B</a><p>end"
ARCHIVE = b"".join(
    [record("warcinfo", b"software: hand\r\n"), response("http://a.org/", b"<title>A</title>one"),
     response("http://a.org/b", gzip.compress(b"<p>two", mtime=0), "Content-Encoding: gzip"),
     record("request", b"GET /\r\n")]
)  # fmt: skip
JSONL = b'{"_id": "d1", "title": "On apples", "text": "red"}\n{"_id": "d2", "title": "", "text": "pears \\u00e9"}\n'
TOPICS = b"""<top>
<num> Number: 1
<title> apples
<desc> Description:
Which?
</top>
<top>
<num> 2
<title> pears
</top>
"""
BEIR = {
    "corpus.jsonl": JSONL,
    "queries.jsonl": b'{"_id": "q1", "text": "apples"}\n{"_id": "q2", "text": "pears"}\n',
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\n",
}


def documents(place: Path) -> object:
    """Return everything that a reader yields."""
    collection = read_collection(place)
    read = [(d.id, sorted(d.fields.items()), d.url, d.links) for d in collection]
    return read, collection.queries, collection.fields, list(collection.diagnostics)


def files(**content: bytes) -> Callable[[Path], None]:
    def write_files(folder: Path) -> None:
        for name, data in content.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)

    return write_files


def one(name: str, content: str | bytes, read: Callable[[Path], object] = documents) -> Case:
    data = content if isinstance(content, bytes) else content.encode()
    return Case(files(**{name: data}), lambda folder: read(folder / name))


def info() -> CollectionInfo:
    fields = (StreamInfo(name, name, 9, 40) for name in micro_candidates().fields)
    return CollectionInfo("micro", 6, tuple(fields))


def meta(folder: Path) -> object:
    return [(item.query.id, item.document_ids, sorted(item.fields)) for item in read_meta(folder / "Meta")]


CASES = {
    "jsonl": one("d.jsonl", JSONL),
    "jsonl.gz": one("d.jsonl.gz", gzip.compress(JSONL, mtime=0)),
    "tsv": one("d.tsv", "1\tred apples\n2\tgreen pears\n3\tplums\n"),
    "csv": one("d.csv", 'id,title,text\n1,A,"red, apples"\n2,B,pears\n'),
    "trec": one("d.trec", TREC),
    "trecweb": one("00", PAGES),
    "smart": one("cran.all", SMART),
    "medline": one("ohsumed.88", MEDLINE),
    "warc": one("a.warc", ARCHIVE),
    "warc.gz": one("a.warc.gz", gzip.compress(ARCHIVE, mtime=0)),
    "html": Case(files(**{"pages/a.html": HTML, "pages/b.html": HTML[:40]}), lambda f: documents(f / "pages")),
    "beir": Case(files(**BEIR), documents),
    "topics of trec": one("topics", TOPICS, read_queries),
    "topics as tsv": one("topics.tsv", "1\tred apples\n2\tpears\n", read_queries),
    "topics as jsonl": one("topics.jsonl", JSONL, read_queries),
    "similarity": Case(
        lambda f: write_similarity(f / "s.txt", [("q1", np.eye(3)), ("q2", np.eye(2))]),
        lambda f: sorted(read_similarity(f / "s.txt")),
    ),
    "meta": Case(lambda f: write_meta(f / "Meta", info(), [micro_candidates()]), meta),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_collections(name: str) -> None:
    counts = fuzz(CASES[name], COUNT // 80)
    assert sum(counts.values()) == COUNT // 80
