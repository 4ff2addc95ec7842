"""Diagnostics of readers: chosen files, inconsistencies and hints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.collections.readers.samples import write_file
from tests.collections.readers.shapes import DOCS, QRELS, TOPICS, lines

from pippin.cli.main import main
from pippin.collections.readers import explain, read_collection
from pippin.errors import DataError


def test_query_and_text_files_are_identified_by_the_judged_ids(tmp_path: Path) -> None:
    for n in range(20):
        write_file(tmp_path, f"Meine Texte/Blatt {n}.txt", f"apples {n}")
    write_file(tmp_path, "Meine Anfragen.tsv", "q1\tapples\n")
    write_file(tmp_path, "Qrels \u2013 fertig (2).txt", "q1\tBlatt 7.txt\t1\n")
    collection = read_collection(tmp_path)
    assert (collection.reader, [query.text for query in collection.queries]) == ("texts", ["apples"])
    assert collection.qrels is not None
    assert list(collection.qrels.document_ids) == ["Meine%20Texte/Blatt%207.txt"]


def test_pieces_of_records_beyond_the_first_hundred_are_read(tmp_path: Path) -> None:
    for n in range(130):
        write_file(tmp_path, f"papers/{n}.json", json.dumps({"id": n, "text": "apples"}))
    assert len(list(read_collection(tmp_path, documents_only=True))) == 130


def test_pieces_that_disagree_are_an_error(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", DOCS)
    write_file(tmp_path, "queries.tsv", TOPICS)
    write_file(tmp_path, "test.one.qrels", "1 0 a 3\n2 0 a 1\n")
    write_file(tmp_path, "test.two.qrels", "1 0 a 2\n2 0 a 3\n")
    sentence = (
        r"several files may hold the qrels \(test.one.qrels, test.two.qrels\) and disagree "
        r"\(document a of query 1: 3 and 2\); name one with --qrels"
    )
    with pytest.raises(DataError, match=sentence):
        read_collection(tmp_path)


def test_finest_scale_and_titles_are_used(tmp_path: Path) -> None:
    """NFCorpus as its owners hand it out."""
    for split, first in (("test", "1"), ("train", "7")):
        write_file(
            tmp_path, f"{split}.docs", "a\tred apples\n" if split == "train" else "a\tred apples\nb\tgreen pears\n"
        )
        write_file(tmp_path, f"{split}.titles.queries", f"{first}\tapples\n")
        write_file(tmp_path, f"{split}.all.queries", f"{first}\tapples and whatever is said about them\n")
        write_file(tmp_path, f"{split}.vid-desc.queries", "4\ta film\n")
        write_file(tmp_path, f"{split}.2-1-0.qrel", f"{first}\t0\ta\t2\n{first}\t0\tb\t0\n")
        write_file(tmp_path, f"{split}.3-2-1.qrel", f"{first}\t0\ta\t3\n{first}\t0\tb\t1\n")
    write_file(tmp_path, "raw/nfdump.txt", "1\thttp://a\tapples\tall about apples\n")
    collection = read_collection(tmp_path)
    qrels = collection.qrels
    assert qrels is not None
    assert (qrels.query_ids, qrels.labels.tolist()) == (("1",), [3, 1])
    assert [query.text for query in collection.queries] == ["apples"]
    assert [document.id for document in collection] == ["a", "b"]
    assert list(collection.diagnostics) == [
        "qrels are those of test.3-2-1.qrel; test.2-1-0.qrel, train.2-1-0.qrel, train.3-2-1.qrel "
        "may hold some too (--qrels names another)",
        "queries are those of test.titles.queries; test.all.queries, test.vid-desc.queries, train.all.queries … "
        "may hold some too (--queries names another)",
    ]
    write_file(tmp_path, "train.docs", "a\tother apples\n")
    assert [document.id for document in read_collection(tmp_path)] == ["a", "b", "a"]


def test_queries_are_matched_by_their_numbers(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", DOCS)
    write_file(tmp_path, "queries.tsv", "C041\tapples\nC042\tpears\n")
    write_file(tmp_path, "qrels.txt", "41 0 a 1\n42 0 b 1\n")
    collection = read_collection(tmp_path)
    assert collection.qrels is not None
    assert collection.qrels.query_ids == ("C041", "C042")
    assert list(collection.diagnostics) == ["queries are matched by their numbers: judgements of 41 are of C041"]


def test_documents_that_are_judged_before_queries_are_not_queries_of_their_numbers(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", lines(*({"id": f"D{n}", "text": "apples"} for n in range(1, 4))))
    write_file(tmp_path, "queries.tsv", "Q1\tapples\nQ2\tpears\nQ3\tplums\n")
    write_file(tmp_path, "qrels.txt", "D3 0 Q1 1\nD1 0 Q2 1\n")
    collection = read_collection(tmp_path)
    assert collection.qrels is not None
    assert collection.qrels.by_query() == {"Q1": {"D3": 1}, "Q2": {"D1": 1}}
    assert list(collection.diagnostics) == ["judgements name the document before the query"]


def test_judgements_of_other_queries_are_not_turned_round(tmp_path: Path) -> None:
    """Where all ids are numbers, some of the judged documents have those of queries."""
    write_file(tmp_path, "docs.jsonl", lines(*({"id": n, "text": "apples"} for n in range(1, 99))))
    write_file(tmp_path, "queries.tsv", "1\tapples\n2\tpears\n")
    write_file(tmp_path, "qrels.txt", "51 0 1 1\n51 0 7 1\n52 0 2 1\n52 0 9 1\n")
    with pytest.raises(DataError, match=r"none of the judged queries \(51, 52\) is among the queries \(1, 2\)"):
        read_collection(tmp_path)


def test_id_field_is_chosen_by_matching_judgements(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", lines(*({"views": n + 3, "place": n, "text": "apples"} for n in range(1, 5))))
    write_file(tmp_path, "queries.tsv", TOPICS)
    write_file(tmp_path, "qrels.txt", "1 0 1 1\n1 0 2 1\n1 0 4 1\n2 0 1 1\n")
    assert [document.id for document in read_collection(tmp_path)] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        (("A", "z"), "; some ids differ only by case"),  # one of two is too few to go by
        (("x/a.txt", "x/y.txt"), "; some ids differ only by folders and suffixes"),
        (("x", "y"), ""),
    ],
)
def test_judgements_of_other_documents_are_reported_with_ids_of_both_sides(
    ids: tuple[str, str], hint: str, tmp_path: Path
) -> None:
    write_file(tmp_path, "docs.jsonl", lines(*({"id": name, "text": "apples"} for name in ids)))
    write_file(tmp_path, "queries.tsv", TOPICS)
    write_file(tmp_path, "qrels.txt", QRELS)
    explanation = explain(tmp_path)
    assert f"no judged document is in the collection: judged a, b, documents {', '.join(ids)}{hint}" in explanation


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("corpus.zip", "corpus.zip: the archive is damaged: "),
        ("corpus.tar.gz", "corpus.tar.gz: the archive is damaged: "),
        ("corpus.7z", "7z x corpus.7z -ocorpus"),
        ("dump.sql", "write each table as CSV with headings"),
        ("docs.xlsx", "pandas.read_excel('docs.xlsx').to_csv('documents.csv', index=False)"),
        ("mine.sqlite", "pandas.read_sql('SELECT * FROM TABLE', sqlite3.connect('mine.sqlite'))"),
        ("train.txt", "use it with pippin bench"),
        ("docs.cbor", "docs.cbor is a binary file; write the documents as JSON lines"),
        ("docs.rtf", "found .rtf, .tsv files. Convert them to JSON lines: python -c"),
    ],
)
def test_unread_files_are_reported_with_a_hint(file: str, line: str, tmp_path: Path) -> None:
    write_file(
        tmp_path,
        file,
        "2 qid:1 1:0.5 2:0.25 #docid = a\n" if file == "train.txt" else b"x" if file == "docs.rtf" else b"\0\1",
    )
    write_file(tmp_path, "queries.tsv", TOPICS)
    with pytest.raises(DataError) as caught:
        read_collection(tmp_path)
    assert line in str(caught.value)


def test_tables_without_documents_are_reported(tmp_path: Path) -> None:
    write_file(tmp_path, "queries.tsv", TOPICS)
    with pytest.raises(DataError, match=r"queries\.tsv has no documents"):
        read_collection(tmp_path)


def test_links_to_nothing_are_passed_over(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", DOCS)
    (tmp_path / "old.jsonl").symlink_to(tmp_path / "nowhere")
    write_file(tmp_path, "__MACOSX/._docs.jsonl", b"\0\5\x16\7")
    assert len(list(read_collection(tmp_path))) == 2


def test_refused_input_leaves_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_file(tmp_path, "in/docs.jsonl", lines({"id": "x", "text": "apples"}, {"id": "y", "text": "pears"}))
    write_file(tmp_path, "in/queries.tsv", TOPICS)
    write_file(tmp_path, "in/qrels.txt", QRELS)
    assert main(["build", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "-q"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert main(["build", "--explain", str(tmp_path / "in")]) == 2
    assert "error: qrels.txt: no judged document is in the collection" in capsys.readouterr().out


def test_too_few_queries_are_reported_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "in/docs.jsonl", DOCS)
    write_file(tmp_path, "in/queries.tsv", TOPICS)
    write_file(tmp_path, "in/qrels.txt", QRELS)
    for folds, diagnostics in (("2", "folds need at least 3 parts"), ("40", "cannot be cut into 40 folds")):
        assert main(["build", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "-q", "--folds", folds]) == 2
        assert diagnostics in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["in"]
