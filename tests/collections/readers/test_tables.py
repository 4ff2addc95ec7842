"""Records with named fields: JSON Lines, CSV, TSV, Parquet, BEIR, ir_datasets, and format detection."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from tests.collections.readers.samples import MEDLINE, PAGES, SMART, TREC, make_warc_record, write_file

from pippin.collections import readers
from pippin.collections.collection import Document, Link
from pippin.collections.readers import READERS, read_collection
from pippin.errors import DataError, MissingDependency, UnknownName

ROWS: list[dict[str, Any]] = [
    {"id": "d1", "title": "Apples", "text": "A pippin", "year": 1887},
    {"id": 2, "title": None, "text": "Pears"},
]
EXPECTED = [
    Document("d1", {"title": "Apples", "text": "A pippin"}, numbers={"year": 1887.0}),
    Document("2", {"text": "Pears"}),
]


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_json_lines(tmp_path: Path) -> None:
    path = write_file(tmp_path, "fruit.jsonl.gz", make_warc_record("\ufeff" + jsonl(ROWS)))
    collection = read_collection(path)
    assert (collection.name, collection.fields) == ("fruit", ("title", "text"))
    assert dict(collection.combined_fields) == {"whole": ("title", "text")}
    assert list(collection) == EXPECTED
    assert list(collection) == EXPECTED


def test_a_folder_with_queries_and_judgements(tmp_path: Path) -> None:
    write_file(tmp_path, "documents.jsonl", jsonl(ROWS))
    write_file(tmp_path, "queries.tsv", "q1\tapples\nq2\tpears\n")
    write_file(tmp_path, "qrels.txt", "q2 0 2 1\nq1 0 d1 2\nq2 0 unknown 1\n")
    collection = read_collection(tmp_path)
    assert collection.name == tmp_path.name
    assert [query.id for query in collection.queries] == ["q1", "q2"]
    assert collection.qrels is not None
    assert sorted(collection.qrels.document_ids) == ["2", "d1", "unknown"]


def test_streams_are_chosen_and_ordered(tmp_path: Path) -> None:
    path = write_file(tmp_path, "fruit.jsonl", jsonl(ROWS))
    collection = read_collection(path, fields=["text", "title"])
    assert (collection.fields, next(iter(collection)).fields) == (
        ("text", "title"),
        {"text": "A pippin", "title": "Apples"},
    )
    assert not read_collection(path, fields=["text"]).combined_fields
    with pytest.raises(UnknownName, match="did you mean title"):
        read_collection(path, fields=["titel"])


def test_urls_and_links(tmp_path: Path) -> None:
    links: list[Any] = ["x", ["y", "to Y"], {"url": "z", "text": "to Z"}, {"target": "w"}]
    path = write_file(
        tmp_path, "web.jsonl", jsonl([{"docno": "1", "url": "https://a.org/b", "body": "t", "links": links}])
    )
    collection = read_collection(path)
    assert collection.fields == ("url", "body", "anchor")
    assert list(collection) == [
        Document(
            "1",
            {"url": "a.org/b", "body": "t"},
            "https://a.org/b",
            (Link("x"), Link("y", "to Y"), Link("z", "to Z"), Link("w")),
        )
    ]


GOOD = '{"id": 1, "text": "a", "url": "u"}\n\n'


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"id": 2, "text": "b"', "the line is not JSON"),
        ("[" * 100_000, "the line is not JSON"),
        ("[2]", "the line is not a JSON object"),
        ('{"text": "b"}', "missing id"),
        ('{"id": "  ", "text": "b"}', "missing id"),
        ('{"id": 1.5, "text": "b"}', "missing id"),
        ('{"id": 2, "text": 7}', "the field 'text' is not text but int"),
        ('{"id": 2, "text": ["b", 3]}', "the field 'text' is not text but list"),
        ('{"id": 2, "url": 7}', "the field 'url' is not text but int"),
        ('{"id": 2, "links": 7}', "the links are not a list but int"),
        ('{"id": 2, "links": [["a", "b", "c"]]}', "a link is a url, a pair"),
        ('{"id": 2, "links": [{"to": "b"}]}', "a link is a url, a pair"),
        (b'{"id": 2, "text": "\x81"}', "byte 20 of the line is neither UTF-8 nor windows-1252"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str | bytes, sentence: str) -> None:
    path = write_file(tmp_path, "bad.jsonl", GOOD.encode() + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(DataError) as caught:
        list(read_collection(path))
    assert sentence in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(path), 3)


def test_a_stream_that_turns_up_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pippin.collections.readers.tables.SAMPLE_SIZE", 1)
    path = write_file(tmp_path, "late.jsonl", '{"id": 1, "text": "a"}\n{"id": 2, "late": "b"}\n')
    with pytest.raises(DataError, match=r"late.jsonl:2: the field 'late' has text here for the first time"):
        list(read_collection(path))
    assert len(list(read_collection(path, fields=["text"]))) == 2


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_files(tmp_path: Path, text: str) -> None:
    for name in ("a.jsonl", "a.csv", "a.tsv", "a.txt", "a.warc", "a.parquet"):
        with pytest.raises(DataError, match=r"the file is empty|no documents|cannot be read|damaged"):
            list(read_collection(write_file(tmp_path, name, text)))


def test_a_truncated_gzip(tmp_path: Path) -> None:
    path = write_file(tmp_path, "cut.jsonl.gz", make_warc_record(jsonl(ROWS * 1000))[:-20])
    with pytest.raises(DataError, match=r"cut.jsonl.gz: the gzip file is truncated after [\d,]+ unpacked bytes"):
        list(read_collection(path))


def test_csv(tmp_path: Path) -> None:
    long = "x" * 200_000
    text = f'id,title,text,links\nd1,"Apples, ""red""\nand green",A pippin,b c\n\n2,,{long},\n'
    first, second = read_collection(write_file(tmp_path, "fruit.csv", text))
    assert first.fields == {"title": 'Apples, "red"\nand green', "text": "A pippin"}
    assert first.links == (Link("b"), Link("c"))
    assert second.fields["text"] == long


@pytest.mark.parametrize(
    ("text", "sentence", "line"),
    [
        (b"id,text\n1,a\n2\n", "expected 2 columns (id, text), found 1", 3),
        (b'id,text\n1,"a\nb"\n2,"c', "the row cannot be read", 4),
        (b"name,text\n1,a\n", "missing id", 2),
    ],
)
def test_bad_csv(tmp_path: Path, text: bytes, sentence: str, line: int | None) -> None:
    path = write_file(tmp_path, "bad.csv", text)
    with pytest.raises(DataError) as caught:
        list(read_collection(path))
    assert sentence in caught.value.message
    assert line is None or caught.value.line == line


def test_tsv(tmp_path: Path) -> None:
    path = write_file(tmp_path, "fruit.tsv", 'docno\ttitle\ttext\nd1\t"Apples"\tA pippin\n')
    assert list(read_collection(path)) == [Document("d1", {"title": '"Apples"', "text": "A pippin"})]
    path = write_file(tmp_path, "passages.tsv", "0\tA pippin\n1\tPears\n")
    assert [document.fields["text"] for document in read_collection(path)] == ["A pippin", "Pears"]
    path = write_file(tmp_path, "bad.tsv", "0\tA pippin\n1\tPears\tmore\n")
    with pytest.raises(DataError, match=r"bad.tsv:2: expected 2 columns \(id, text\), found 3"):
        list(read_collection(path))


def test_parquet(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    rows = [{**row, "id": str(row["id"]), "links": [{"url": "u", "text": "t"}]} for row in ROWS]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "fruit.parquet")
    documents = list(read_collection(tmp_path / "fruit.parquet"))
    assert documents == [Document(d.id, d.fields, "", (Link("u", "t"),), d.numbers) for d in EXPECTED]
    parquet.write_table(pyarrow.table({"id": ["a", None], "text": ["t", "t"]}), tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=r"bad.parquet:2: missing id"):
        list(read_collection(tmp_path / "bad.parquet"))
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "fruit.parquet").read_bytes()[:-9])
    with pytest.raises(DataError, match=r"cut.parquet: the Parquet file cannot be read after row 0"):
        read_collection(tmp_path / "cut.parquet")


def test_beir(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"_id": "d1", "title": "A", "text": "b", "metadata": {"x": 1}},
        {"_id": "d2", "title": "", "text": "c"},
    ]
    write_file(tmp_path, "corpus.jsonl", jsonl(rows))
    write_file(tmp_path, "queries.jsonl", jsonl([{"_id": f"q{i}", "text": f"t{i}", "metadata": {}} for i in range(3)]))
    train = write_file(tmp_path, "qrels/train.tsv", "query-id\tcorpus-id\tscore\nq0\td1\t1\n")
    write_file(tmp_path, "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\n")
    collection = read_collection(tmp_path)
    assert collection.fields == ("title", "text")
    assert [document.id for document in collection] == ["d1", "d2"]
    assert [query.id for query in collection.queries] == ["q0", "q1", "q2"]
    assert list(collection.diagnostics) == ["not indexed: metadata (dict)"]
    assert collection.qrels is not None
    assert collection.qrels.labels.tolist() == [1, 2]
    other = read_collection(tmp_path, qrels=train).qrels
    assert other is not None
    assert other.query_ids == ("q0",)
    bad = write_file(tmp_path, "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tx\n")
    with pytest.raises(DataError, match=r"test.tsv:2: invalid label 'x'") as caught:
        read_collection(tmp_path)
    assert caught.value.file == str(bad)
    bad.unlink()
    assert read_collection(tmp_path).files["qrels"][0].name == "train.tsv"
    write_file(tmp_path, "qrels/dev.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert read_collection(tmp_path).files["qrels"][0].name == "dev.tsv"
    for split in ("train", "dev"):
        (tmp_path / "qrels" / f"{split}.tsv").rename(tmp_path / "qrels" / f"{split}-2.tsv")
    with pytest.raises(
        DataError, match=r"several files may hold the qrels \(dev-2.tsv, train-2.tsv\); name one with --qrels"
    ):
        read_collection(tmp_path)


def test_lists_of_texts_are_joined_and_what_is_not_indexed_is_reported(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": 1, "title": "A", "abstract": ["s1", "s2"], "year": 1999, "tags": []}]
    collection = read_collection(write_file(tmp_path, "papers.jsonl", jsonl(rows)))
    assert collection.fields == ("title", "abstract")
    assert [document.fields["abstract"] for document in collection] == ["s1 s2"]
    assert list(collection.diagnostics) == ["numeric fields: year (number)"]


def test_documents_alone_need_no_answer_about_queries(tmp_path: Path) -> None:
    write_file(tmp_path, "documents.jsonl", jsonl([{"id": 1, "text": "a"}]))
    write_file(tmp_path, "queries.tsv", "1\ta\n")
    write_file(tmp_path, "topics.tsv", "1\tb\n")
    with pytest.raises(DataError, match=r"several files may hold the queries .* name one with --queries"):
        read_collection(tmp_path)
    collection = read_collection(tmp_path, documents_only=True)
    assert (len(list(collection)), collection.queries) == (1, ())


def test_judgements_of_other_queries_are_an_error(tmp_path: Path) -> None:
    write_file(tmp_path, "documents.jsonl", jsonl(ROWS))
    write_file(tmp_path, "queries.tsv", "q1\tapples\n")
    write_file(tmp_path, "qrels.txt", "7 0 d1 2\n")
    with pytest.raises(DataError, match=r"none of the judged queries \(7\) is among the queries \(q1\)"):
        read_collection(tmp_path)


def test_two_files_of_queries_are_an_error(tmp_path: Path) -> None:
    documents = write_file(tmp_path, "documents.jsonl", jsonl(ROWS))
    queries = write_file(tmp_path, "queries.tsv", "q1\tapples\n")
    write_file(tmp_path, "topics.txt", "q1\tpears\n")
    several = r"hold the queries \(queries.tsv, topics.txt\) and disagree \(query q1 has two texts\); name one"
    with pytest.raises(DataError, match=several):
        read_collection(documents)
    assert len(read_collection(documents, queries=queries).queries) == 1


class Doc(NamedTuple):
    doc_id: str
    title: str
    text: str
    size: int


class Topic(NamedTuple):
    query_id: str
    title: str
    description: str


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


class Stand:
    """What ir_datasets gives for one id."""

    def has_docs(self) -> bool:
        return True

    has_queries = has_qrels = has_docs

    def docs_iter(self) -> Iterator[Doc]:
        yield Doc("d1", "Apples", "A pippin", 5)

    def queries_iter(self) -> Iterator[Topic]:
        yield Topic("1", "apples", "red apples")

    def qrels_iter(self) -> Iterator[Qrel]:
        yield Qrel("1", "d1", -1)


def test_ir_datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(name: str) -> Stand:
        return {"fruit/small": Stand()}[name]

    package = ModuleType("ir_datasets")
    package.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ir_datasets", package)
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path, "queries.tsv", "7\tof something else\n")
    collection = read_collection("irds:fruit/small", query_field="description")
    assert (collection.name, collection.fields) == ("fruit/small", ("title", "text"))
    assert list(collection) == [Document("d1", {"title": "Apples", "text": "A pippin"}, numbers={"size": 5.0})]
    assert [(query.id, query.text) for query in collection.queries] == [("1", "red apples")]
    assert collection.qrels is not None
    assert collection.qrels.labels.tolist() == [-1]
    with pytest.raises(DataError, match="irds:pears: ir_datasets has no data set with this id"):
        read_collection("irds:pears")


def test_without_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingDependency, match=r"reading irds:cranfield needs ir_datasets: pip install"):
        read_collection("irds:cranfield")


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a", SMART, "smart"),
        ("a", MEDLINE, "medline"),
        ("a", TREC, "trec"),
        ("a", PAGES, "trecweb"),
        ("a.warc", "", "warc"),
        ("a.html", "", "html"),
        ("documents.jsonl", "", "jsonl"),
        ("documents.csv", "", "csv"),
        ("documents.tsv", "", "tsv"),
        ("documents.parquet", "", "parquet"),
        ("corpus.jsonl", "", "beir"),
    ],
)
def test_a_folder_looks_like_one_format(tmp_path: Path, name: str, data: str | bytes, format: str) -> None:
    write_file(tmp_path, name, data)
    assert [reader for reader in READERS if READERS[reader].matches(tmp_path)] == [format]


def test_the_table_of_formats_is_complete() -> None:
    table = (readers.__doc__ or "").splitlines()
    names = [line.split("|")[1].strip() for line in table if line.startswith("| ")]
    assert sorted(names) == sorted([*READERS, "format"])


def test_invalid_collections(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read_collection(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"no document format matches; found \.txt files\. Convert"):
        read_collection(write_file(tmp_path, "a.txt", "some text"))
    with pytest.raises(UnknownName, match="no collection format is called 'jsonlines'; did you mean jsonl"):
        read_collection(tmp_path, format="jsonlines")
    write_file(tmp_path, "b.html", "")
    write_file(tmp_path, "table.csv", "id,text\n1,a\n")
    with pytest.raises(DataError, match="the format may be csv or html: name one with --input-format"):
        read_collection(tmp_path)
    assert len(list(read_collection(tmp_path, format="csv"))) == 1


@pytest.mark.parametrize("format", [name for name in READERS if name not in ("jsonl", "csv", "tsv", "parquet")])
def test_the_wrong_format_is_a_clear_error(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    write_file(tmp_path, "a.nothing", "some text")
    with pytest.raises((DataError, MissingDependency)):
        list(read_collection(tmp_path, format=format))
