"""The formats of SMART and OHSUMED, by hand and on Cranfield and CACM."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collections.readers.samples import MEDLINE, SMART, make_warc_record, write_file

from pippin.collections.collection import Document, Link
from pippin.collections.readers import read_collection
from pippin.collections.readers.smart import records
from pippin.data.qrels import Qrels
from pippin.errors import DataError, UnknownName


def labels(judged: Qrels | None) -> dict[str, dict[str, int]]:
    assert judged is not None
    ends = zip(judged.query_ids, judged.offsets[:-1].tolist(), judged.offsets[1:].tolist(), strict=True)
    documents, grades = list(judged.document_ids), judged.labels.tolist()
    return {query: dict(zip(documents[a:b], grades[a:b], strict=True)) for query, a, b in ends}


def test_a_small_collection(tmp_path: Path) -> None:
    write_file(tmp_path, "fruit.all", SMART)
    write_file(tmp_path, "query.text", ".I 1\n.W\nwhich apples\n.N\n someone\n.I 2\n.W\npears\n.I 0\n")
    write_file(tmp_path, "qrels.text", "01 2  0 0\n02 99  0 0.000\n")
    collection = read_collection(tmp_path)
    assert (collection.fields, collection.combined_fields) == (("title", "abstract"), {"whole": ("title", "abstract")})
    expected = [
        Document("1", {"title": "On apples", "abstract": "An apple is a fruit."}),
        Document("2", {"title": "On pears", "abstract": ""}, links=(Link("1", "On pears"),)),
        Document("3", {"title": "", "abstract": "No title here. ."}),
    ]
    assert list(collection) == expected
    assert list(collection) == expected  # read anew
    assert [(query.id, query.text) for query in collection.queries] == [("1", "which apples"), ("2", "pears")]
    assert labels(collection.qrels) == {"1": {"2": 1}, "2": {"99": 1}}  # what is not there stays countable


def test_the_file_alone_packed_and_streams_chosen(tmp_path: Path) -> None:
    path = write_file(tmp_path, "fruit.gz", make_warc_record(SMART.replace("\n", "\r\n")))
    collection = read_collection(path, fields=["author", "title"], name="orchard")
    assert (collection.name, collection.fields, collection.queries) == ("orchard", ("author", "title"), ())
    assert next(iter(collection)).fields == {"author": "Cox, R.", "title": "On apples"}
    with pytest.raises(UnknownName, match="did you mean author"):
        read_collection(path, fields=["autor"])


def test_pairs_of_ids_are_parsed_and_counts_are_ignored(tmp_path: Path) -> None:
    first = write_file(tmp_path, "one.all", ".I 1\n.T\na\n.X\n2 5 1\n.I 2\n.T\nb\n")
    assert [document.links for document in read_collection(first)] == [(Link("2", "a"),), ()]
    cisi = write_file(tmp_path / "cisi", "cisi.all", ".I 1\n.T\na\n.X\n2 5 1\n2 1 1\n.I 2\n.T\nb\n.X\n1 5 2\n")
    assert [document.links for document in read_collection(cisi)] == [(), ()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 0 13 1\n2 0 7 0\n", {"1": {"13": 1}, "2": {"7": 0}}),  # MED, as TREC has it
        ("     1     28\t0\t0.000000\n     2      7\t0\t0.000000\n", {"1": {"28": 1}, "2": {"7": 1}}),  # CISI
    ],
)
def test_judgements_of_other_collections(tmp_path: Path, text: str, expected: dict[str, dict[str, int]]) -> None:
    write_file(tmp_path, "X.ALL", SMART)
    write_file(tmp_path, "X.QRY", ".I 1\n.W\na\n.I 2\n.W\nb\n.I 3\n.W\nc\n")
    write_file(tmp_path, "X.REL", text)
    write_file(tmp_path, "X.REL.OLD", "something else")
    collection = read_collection(tmp_path)
    assert labels(collection.qrels) == expected
    assert [query.id for query in collection.queries] == ["1", "2", "3"]


def test_cranfield_codes_and_counted_queries(tmp_path: Path) -> None:
    write_file(tmp_path, "cran.all", SMART)
    queries = write_file(tmp_path, "cran.qry", ".I 001\n.W\na\n.I 004\n.W\nb\n")
    write_file(tmp_path, "cranqrel", "1 1 1\n1 2 2 \n1 3 3\n2 1 4\n2  2 -1\n2 3 5\n")
    collection = read_collection(tmp_path)
    assert [query.id for query in collection.queries] == ["1", "2"]
    assert labels(collection.qrels) == {"1": {"1": 4, "2": 3, "3": 2}, "2": {"1": 1, "2": 0, "3": 0}}
    trec = write_file(tmp_path / "other", "own.qrels", "1 0 1 2\n4 0 1 -1\n")
    again = read_collection(tmp_path, queries=queries, qrels=trec)
    assert [query.id for query in again.queries] == ["1", "4"]  # these judgements know the file's own ids
    assert labels(again.qrels) == {"1": {"1": 2}, "4": {"1": -1}}


@pytest.mark.parametrize(
    ("file", "text", "sentence", "line"),
    [
        ("fruit.all", ".I 1\n.T\na\n.I\n.T\nb\n", "expected one document number after .I", 4),
        ("fruit.all", ".I 1\n.T\na\n.I 2 3\n.T\nb\n", "expected one document number after .I", 4),
        ("cranqrel", "1 1 1\n1 2 7\n", "invalid relevance code '7'", 2),
        ("cranqrel", "1 1 1\n\n1 1 2\n", "document 1 of query 1 has two labels, 4 and 3", 3),
        ("cranqrel", "", "the file is empty", None),
        ("queries", ".I 1\n.T\na\n", "the query 1 has no text (it has title)", 1),
    ],
)
def test_bad_files(tmp_path: Path, file: str, text: str, sentence: str, line: int | None) -> None:
    write_file(tmp_path, "fruit.all", SMART)
    path = write_file(tmp_path, file, text)
    with pytest.raises(DataError) as caught:
        list(read_collection(tmp_path))
    assert sentence in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_text_before_the_first_record(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"fruit:1: the file does not begin with \.I"):
        next(records(write_file(tmp_path, "fruit", "junk\n.I 1\n.T\na\n")))


def test_several_files_of_documents_are_an_error(tmp_path: Path) -> None:
    write_file(tmp_path, "a.all", SMART)
    write_file(tmp_path, "b.all", SMART)
    with pytest.raises(DataError, match=r"one file of documents .* found a.all, b.all"):
        read_collection(tmp_path)


def test_medline(tmp_path: Path) -> None:
    write_file(tmp_path, "ohsumed.87", MEDLINE)
    write_file(
        tmp_path, "topics.txt", "<top>\n<num> Number: OHSU1\n<title> a woman\n<desc> Description:\nestrogen\n</top>"
    )
    write_file(tmp_path, "qrels.txt", "OHSU1\t87049087\t2\nOHSU1\t87049088\t0\n")
    collection = read_collection(tmp_path, query_field="description")
    assert (collection.unjudged, collection.fields) == ("unknown", ("title", "abstract"))
    assert [(document.id, dict(document.fields)) for document in collection] == [
        ("87049087", {"title": "Refibrillation managed by EMT-Ds.", "abstract": "Some patients."}),
        ("87049088", {"title": "No abstract.", "abstract": ""}),
    ]
    assert collection.queries[0].text == "estrogen"
    assert labels(collection.qrels) == {"OHSU1": {"87049087": 2, "87049088": 0}}
    assert next(iter(read_collection(tmp_path, fields=["mesh"]))).fields == {"mesh": "Human; Hypothermia."}


def test_medline_without_identifier(tmp_path: Path) -> None:
    path = write_file(tmp_path, "ohsumed.87", MEDLINE.replace(".U\n87049088", ".S\nx"))
    with pytest.raises(DataError, match=r"ohsumed.87:16: the document has no identifier"):
        list(read_collection(path))


def test_cranfield(shared: Path) -> None:
    collection = read_collection(shared / "data" / "cran")
    documents = list(collection)
    assert [document.id for document in documents] == [str(i) for i in range(1, 1400 + 1)]
    assert [query.id for query in collection.queries] == [str(i) for i in range(1, 225 + 1)]
    assert collection.queries[2].text.startswith("what problems of heat conduction in composite slabs")
    qrels = labels(collection.qrels)
    assert list(qrels) == [str(i) for i in range(1, 225 + 1)]
    assert qrels["1"]["184"] == 5 - 2
    grades = [grade for query in qrels.values() for grade in query.values()]
    assert [grades.count(g) for g in (4, 3, 2, 1, 0)] == [128, 387, 734, 363, 225]
    assert [d.id for d in documents if not d.fields["abstract"]] == ["471", "995"]


def test_cacm(shared: Path) -> None:
    collection = read_collection(shared / "data" / "cacm")
    documents = list(collection)
    assert len(documents) == 3204
    assert len(collection.queries) == 64
    assert sum(len(document.links) for document in documents) == 2720
    assert all(int(link.target) < int(document.id) for document in documents for link in document.links)
    assert documents[-1].links == (Link("1396", "An On-Line Program for Non-Numerical Algebra"),)
    assert sum(not document.fields["abstract"] for document in documents) == 3204 - 1587
    qrels = labels(collection.qrels)
    assert (len(qrels), sum(map(len, qrels.values()))) == (64 - 12, 796)
