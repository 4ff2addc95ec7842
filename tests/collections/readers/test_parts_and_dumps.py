"""Collections in parts, in dumps of search engines, as text folders and as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import ipc, parquet
from tests.collections.readers.samples import make_warc_record, write_file

from pippin.collections.collection import Collection, Diagnostics
from pippin.collections.readers import explain, read_collection
from pippin.collections.readers.qrels import read_qrels
from pippin.collections.readers.topics import read_queries
from pippin.errors import DataError

DOCUMENTS = [{"id": "a", "text": "apples"}, {"id": "b", "text": "pears"}]
EXPECTED = [("a", {"text": "apples"}), ("b", {"text": "pears"})]


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def read(collection: Collection) -> list[tuple[str, dict[str, str]]]:
    return [(document.id, dict(document.fields)) for document in collection]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bulk.ndjson", lines({"index": {"_index": "x", "_id": "a"}}, {"text": "apples"},
                              {"create": {"_id": "b"}}, {"text": "pears"})),
        ("dump.jsonl", lines(*({"_index": "x", "_id": d["id"], "_score": 1, "_source": {"text": d["text"]}}
                               for d in DOCUMENTS))),
        ("answer.json", json.dumps({"took": 1, "hits": {"total": 2, "hits": [
            {"_id": d["id"], "_source": {"text": d["text"]}} for d in DOCUMENTS]}}, indent=1)),
        ("array.json", json.dumps(DOCUMENTS)),
        ("terrier.jsonl", lines(*({"docno": d["id"], "text": d["text"]} for d in DOCUMENTS))),
    ],
)  # fmt: skip
def test_dumps_of_search_engines(name: str, text: str, tmp_path: Path) -> None:
    assert read(read_collection(write_file(tmp_path, name, text))) == EXPECTED


def test_a_bulk_request_that_ends_too_early(tmp_path: Path) -> None:
    path = write_file(
        tmp_path, "bulk.jsonl", lines({"index": {"_id": "a"}}, {"text": "apples"}, {"index": {"_id": "b"}})
    )
    with pytest.raises(DataError, match="ends with an action without a document"):
        list(read_collection(path))


def test_pieces_of_a_table_in_their_order(tmp_path: Path) -> None:
    write_file(tmp_path, "part-10.jsonl", lines(DOCUMENTS[1]))
    write_file(tmp_path, "part-9.jsonl.gz", make_warc_record(lines(DOCUMENTS[0])))
    write_file(tmp_path, "queries.jsonl", lines({"id": "q", "text": "apples"}))
    write_file(tmp_path, "qrels.tsv", "q\ta\t1\n")
    collection = read_collection(tmp_path)
    assert read(collection) == EXPECTED
    assert collection.qrels is not None


def test_text_packed_by_zstd(tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl.zst"
    with pyarrow.CompressedOutputStream(str(path), "zstd") as out:
        out.write(lines(*DOCUMENTS).encode())
    assert read(read_collection(path)) == EXPECTED
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"documents\.jsonl\.zst"):
        list(read_collection(path))


def test_hugging_face_layout(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist(DOCUMENTS)
    (tmp_path / "corpus").mkdir()
    with ipc.new_stream(str(tmp_path / "corpus" / "data-00000-of-00001.arrow"), table.schema) as out:
        out.write_table(table)
    write_file(tmp_path, "corpus/state.json", "{}")
    write_file(tmp_path, "corpus/dataset_info.json", "{}")
    write_file(tmp_path, "dataset_dict.json", '{"splits": ["corpus", "queries"]}')
    (tmp_path / "queries").mkdir()
    queries = pyarrow.Table.from_pylist([{"_id": "q", "text": "apples"}])
    parquet.write_table(queries, tmp_path / "queries" / "queries-00000-of-00001.parquet")
    collection = read_collection(tmp_path)
    assert read(collection) == EXPECTED
    assert [query.text for query in collection.queries] == ["apples"]


def test_a_folder_of_texts(tmp_path: Path) -> None:
    write_file(tmp_path, "a.md", "# Apples #\n\nA pippin.\n")
    write_file(tmp_path, "deep/b c.txt", "pears\n\nand  more")
    write_file(tmp_path, "queries.tsv", "q\tapples\n")
    assert read(read_collection(tmp_path)) == [
        ("a.md", {"title": "Apples", "body": "A pippin."}), ("deep/b%20c.txt", {"title": "", "body": "pears and more"}),
    ]  # fmt: skip
    (tmp_path / "a.md").unlink()
    assert read(read_collection(tmp_path)) == [("deep/b%20c.txt", {"text": "pears and more"})]


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    write_file(tmp_path, "inside/a.txt", "apples")
    write_file(tmp_path / "elsewhere", "b.txt", "pears")
    (tmp_path / "inside" / "up").symlink_to("..")
    (tmp_path / "inside" / "more").symlink_to(tmp_path / "elsewhere")
    names = [name for name, _ in read(read_collection(tmp_path / "inside"))]
    assert sorted(name.rpartition("/")[2] for name in names) == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topics.json", json.dumps([{"id": 1, "title": "apples"}, {"id": 2, "title": "pears"}])),
        ("topics.json", json.dumps({"1": "apples", "2": {"text": "pears"}})),
        ("topics.csv", "qid,query\n1,apples\n2,pears\n"),
        ("topics.xml", '<topics><topic number="1"><title>apples</title></topic>'
                       '<topic number="2"><title>pears</title></topic></topics>'),
        ("topics.tsv", "1\tapples\n2\tpears\n"),
    ],
)  # fmt: skip
def test_topics_of_every_form(name: str, text: str, tmp_path: Path) -> None:
    assert [(q.id, q.text) for q in read_queries(write_file(tmp_path, name, text))] == [("1", "apples"), ("2", "pears")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qrels.txt", "1 0 a 2\n1 0 b 0\n"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n"),
        ("qrels.csv", "query_id,doc_id,relevance\n1,a,2\n1,b,0\n"),
        ("qrels.jsonl", lines({"qid": 1, "docno": "a", "label": 2}, {"qid": 1, "docno": "b", "label": 0.0})),
        ("qrels.json", json.dumps({"1": {"a": 2, "b": 0}})),
    ],
)
def test_judgements_of_every_form(name: str, text: str, tmp_path: Path) -> None:
    qrels = read_qrels(write_file(tmp_path, name, text))
    assert (qrels.query_ids, list(qrels.document_ids), qrels.labels.tolist()) == (("1",), ["a", "b"], [2, 0])


def test_a_judgement_without_a_label(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"qrels\.jsonl:1: no label"):
        read_qrels(write_file(tmp_path, "qrels.jsonl", lines({"qid": 1, "docno": "a", "weight": 3})))
    diagnostics = Diagnostics()
    qrels = read_qrels(write_file(tmp_path, "qrels.jsonl", lines({"qid": 1, "docno": "a"})), diagnostics)
    assert qrels.labels.tolist() == [1]
    assert list(diagnostics) == ["judgements have no labels: every document that is listed is relevant, 1"]


def test_folder_contents_are_detected(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", lines({"id": "a", "text": "apples " * 20, "year": 3}))
    write_file(tmp_path, "queries.tsv", "q1\tapples\nq2\tpears\n")
    write_file(tmp_path, "qrels.tsv", "q1\ta\t1\n")
    write_file(tmp_path, "notes.bin", "x")
    explanation = explain(tmp_path)
    for sentence in (
        "format jsonl", "fields text", "queries.tsv: 2", "q1: apples", "qrels.tsv: 1 of 1 queries, labels 1",
        "1 queries have no judgement", "numeric fields: year (number)", "documents: docs.jsonl",
        "other files: notes.bin", "next: pippin build",
    ):  # fmt: skip
        assert sentence in explanation
    write_file(tmp_path, "topics.tsv", "q1\tplums\n")
    assert "  error: " in explain(tmp_path)
    assert "several files may hold the queries" in explain(tmp_path)
