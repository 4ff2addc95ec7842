"""NPL, TIME and LISA: small samples, errors, and the real files if available."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.collections.collection import Collection
from pippin.collections.readers import read_collection
from pippin.errors import DataError

NPL = {
    "doc-text": "1\ncompact memories  have\nflexible capacities\n   /\n2\nan electronic brain with 3\n4 tubes\n   /\n",
    "query-text": "1\nDIGITAL MEMORIES\n/\n02\nTUBES\n/\n",
    "rlv-ass": "1\n  1   2\n   /\n2\n 2",
}
TIME = {
    "TIME.ALL": "*TEXT 017 01/04/63 PAGE 020\n\nTHE ALLIES\n\n AFTER NASSAU\n\n*TEXT 020 01/04/63\n\nRUSSIA\n\n*STOP\n",
    "TIME.QUE": "*FIND      1\n\n NASSAU .\n\n*FIND      2\n\n RUSSIA .\n\n*STOP\n",
    "TIME.REL": "1  1 2\n\n2  2\n\n",
    "TIME.STP": "A\n\nABOUT\n",
}
LISA = {
    "LISA0.001": "Document    1\nTHE INDIAN\nCOUNCIL.\n\nEXAMINES\nTHE SCENE.\n" + "*" * 44 + "\n",
    "LISA1.001": "Document 1001\nLIBRARIANS.\n     \nREPORT.\n" + "*" * 44 + "\n",
    "LISA.QUE": "1\nI AM INTERESTED IN\nCOUNCILS. #\n2\nLIBRARIANS. #\n",
    "LISA.REL": "Query 1\n1 Relevant Refs:\n1 -1\n\nQuery 2\n2 Relevant Refs:\n1 1001 -1\n",
}


def read(folder: Path, files: dict[str, str]) -> Collection:
    for name, text in files.items():
        (folder / name).write_text(text)
    return read_collection(folder)


def relevant_documents(collection: Collection) -> dict[str, list[str]]:
    assert collection.qrels is not None
    cuts, ids = collection.qrels.offsets.tolist(), list(collection.qrels.document_ids)
    return {q: ids[a:b] for q, a, b in zip(collection.qrels.query_ids, cuts, cuts[1:], strict=False)}


def test_npl(tmp_path: Path) -> None:
    collection = read(tmp_path, NPL)
    texts = [(document.id, document.fields["text"]) for document in collection]
    assert texts == [("1", "compact memories have flexible capacities"), ("2", "an electronic brain with 3 4 tubes")]
    assert [(query.id, query.text) for query in collection.queries] == [("1", "DIGITAL MEMORIES"), ("2", "TUBES")]
    assert relevant_documents(collection) == {"1": ["1", "2"], "2": ["2"]}


def test_time_documents_are_judged_by_their_place(tmp_path: Path) -> None:
    collection = read(tmp_path, TIME)
    assert [(d.id, d.fields["text"]) for d in collection] == [("1", "THE ALLIES AFTER NASSAU"), ("2", "RUSSIA")]
    assert [(query.id, query.text) for query in collection.queries] == [("1", "NASSAU ."), ("2", "RUSSIA .")]
    assert relevant_documents(collection) == {"1": ["1", "2"], "2": ["2"]}


def test_places_of_time_count_the_two_texts_that_are_lost(tmp_path: Path) -> None:
    texts = "*TEXT 017 01/04/63\n\nONE\n\n*TEXT 498 11/22/63\n\nTWO\n\n*TEXT 501 11/22/63\n\nTHREE\n\n*STOP\n"
    assert [document.id for document in read(tmp_path, {**TIME, "TIME.ALL": texts})] == ["1", "2", "5"]


def test_more_complete_judgements_of_time_are_used(tmp_path: Path) -> None:
    collection = read(tmp_path, {**TIME, "TIME.REL.ALL": "1  1 2\n\n2  1 2\n"})
    assert relevant_documents(collection) == {"1": ["1", "2"], "2": ["1", "2"]}
    assert collection.files["qrels"][0].name == "TIME.REL.ALL"


def test_lisa_in_several_files(tmp_path: Path) -> None:
    collection = read(tmp_path, LISA)
    assert [(d.id, dict(d.fields)) for d in collection] == [
        ("1", {"title": "THE INDIAN COUNCIL.", "abstract": "EXAMINES THE SCENE."}),
        ("1001", {"title": "LIBRARIANS.", "abstract": "REPORT."}),
    ]
    assert [query.text for query in collection.queries] == ["I AM INTERESTED IN COUNCILS.", "LIBRARIANS."]
    assert relevant_documents(collection) == {"1": ["1"], "2": ["1", "1001"]}
    assert {what: file.name for what, (file,) in collection.files.items()} == {
        "queries": "LISA.QUE", "qrels": "LISA.REL",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "name", "text", "sentence"),
    [
        (NPL, "doc-text", "1\nmany words   here\n   /\nstray\n", r"doc-text:4: unexpected text 'stray'"),
        (TIME, "TIME.REL", "1 1\n2 x\n", r"TIME.REL:2: expected the numbers of a query"),
        (LISA, "LISA0.001", "Document 1\nTITLE ONLY\n" + "*" * 44, r"LISA0.001:1: expected a blank line"),
    ],
)
def test_inconsistent_lines_are_reported(
    files: dict[str, str], name: str, text: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=sentence):
        list(read(tmp_path, {**files, name: text}))


@pytest.mark.parametrize(
    ("name", "documents", "queries", "relevant"),
    [("npl", 11429, 93, 2083), ("time", 423, 83, 324), ("lisa", 5999, 35, 362)],
)
def test_the_real_files(shared: Path, name: str, documents: int, queries: int, relevant: int) -> None:
    collection = read_collection(shared / "data" / "text" / name)
    assert sum(1 for _ in collection) == documents
    assert len(collection.queries) == queries
    assert sum(map(len, relevant_documents(collection).values())) == relevant
