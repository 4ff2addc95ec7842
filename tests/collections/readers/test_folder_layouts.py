"""Common folder layouts are detected with their queries and judgements."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from tests.collections.readers.samples import write_file
from tests.collections.readers.shapes import COLLECTIONS, DOCS, JUDGED, LISTED, QRELS, lines

from pippin.cli.main import main
from pippin.collections.collection import Diagnostics
from pippin.collections.index.index import build_index
from pippin.collections.readers import explain, read_collection
from pippin.collections.readers.layout import align_document_ids
from pippin.collections.readers.qrels import read_qrels
from pippin.collections.readers.topics import read_queries
from pippin.data.qrels import Qrels
from pippin.errors import DataError


def plain(name: str) -> str:
    """Return the letter that identifies a document in every layout."""
    return name.removeprefix("corpus/").removesuffix(".txt").removesuffix(".eml").rstrip("12")


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_folder_is_read_as_it_is(name: str, tmp_path: Path) -> None:
    for file, content in COLLECTIONS[name].items():
        if isinstance(content, pyarrow.Table):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            parquet.write_table(content, tmp_path / file)
        else:
            write_file(tmp_path, file, content)
    collection = read_collection(tmp_path)
    contents = {plain(document.id): document.fields for document in collection}
    assert {name: "apples" in " ".join(fields.values()) for name, fields in contents.items()} == {
        "a": True,
        "b": False,
    }
    assert [(query.id, query.text) for query in collection.queries] == [("1", "apples"), ("2", "pears")]
    qrels = collection.qrels
    assert qrels is not None
    names = list(map(plain, qrels.document_ids))
    results = dict(zip(zip(qrels.query_ids, names, strict=True), qrels.labels.tolist(), strict=True))
    assert results == (dict.fromkeys(JUDGED, 1) if name == "judged in lists" else JUDGED)
    assert "next: pippin build" in explain(tmp_path)


@pytest.mark.parametrize(
    "table",
    [
        "doc_id,1,2,3,4\na,2,,,\nb,,1,,\n",
        "query_id,a,b,c,d\n1,2,,,\n2,,1,,\n",
        "qid\ta\tb\tc\td\n1\t2\t\t\t\n2\t\t1\t\t\n",
    ],
)
def test_judgements_may_have_a_column_for_each_query_or_document(table: str, tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    qrels = read_qrels(write_file(tmp_path, "qrels.csv" if "," in table else "qrels.tsv", table), diagnostics)
    pairs = zip(qrels.query_ids, qrels.document_ids, qrels.labels.tolist(), strict=True)
    assert {(query, document): label for query, document, label in pairs} == JUDGED
    assert diagnostics[0].partition(" ")[2].startswith("has a column for each ")


def test_a_file_that_begins_like_mail_makes_no_mail_of_texts(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        write_file(tmp_path, name, "apples")
    write_file(tmp_path, "todo", "Date: tomorrow\npears\n")
    assert [document.id for document in read_collection(tmp_path)] == ["a.txt", "b.txt"]


def test_mail_in_one_file_is_known_by_its_message_ids(tmp_path: Path) -> None:
    messages = [f"From x@y.z Mon Jan  1 00:00:00 2024\nMessage-ID: <{n}@x>\nSubject: {n}\n\n>From me\n\n" for n in "ab"]
    path = write_file(tmp_path, "list.mbox", "".join(messages) + "From x@y.z Mon Jan  1 00:00:00 2024\n\nno id\n")
    assert [(d.id, d.fields["title"]) for d in read_collection(path)] == [
        ("a@x", "a"), ("b@x", "b"), ("list.mbox/3", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["<>", "<a@", "<a@[1.2.3", "caf\udce9"])
@pytest.mark.parametrize("charset", ["punycode", "undefined", "utf\0", "nonsense"])
def test_mail_with_headers_that_no_parser_takes_is_read(name: str, charset: str, tmp_path: Path) -> None:
    header = f"Message-ID: {name}\nSubject: apples\nContent-Type: text/plain; charset={charset}\n\nred =zz apples\n"
    path = tmp_path / "list.mbox"
    path.write_bytes(f"From x@y.z Mon Jan  1 00:00:00 2024\n{header}".encode("utf-8", "surrogateescape"))
    (message,) = read_collection(path)
    assert message.id == {"<>": "list.mbox/1", "caf\udce9": "caf\ufffd"}.get(name, name.strip("<>"))
    assert dict(message.fields) == {"title": "apples", "body": "red =zz apples"}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("passage_{}", "doc_{}"), ("paper{}.2", "paper{}.1"), ("A{}", "{}")],
)
def test_ids_of_other_things_are_not_matched(theirs: str, ours: str) -> None:
    qrels = Qrels.from_dict({"q": {theirs.format(n): 1 for n in range(1, 6)}})
    results = align_document_ids(qrels, [ours.format(n) for n in range(1, 9)])
    assert (results is None) == (theirs != "A{}")


@pytest.mark.parametrize(
    ("theirs", "ours", "what"),
    [
        ("00{}", "{}", "leading zeros"),
        ("{}", "00{}", "leading zeros"),
        ("{}", "{}.0", "“.0” behind numbers"),
        ("<D{}@x>", "D{}@x", "angle brackets"),
    ],
)
def test_differently_written_document_ids_are_matched_and_reported(
    theirs: str, ours: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(
        tmp_path,
        "in/docs.jsonl",
        lines(*({"id": ours.format(n), "text": f"apples {'pears ' * n}"} for n in range(1, 9))),
    )
    write_file(tmp_path, "in/queries.tsv", "".join(f"q{n}\tapples pears\n" for n in range(1, 6)))
    write_file(tmp_path, "in/qrels.txt", "".join(f"q{n} 0 {theirs.format(n)} 1\n" for n in range(1, 6)))
    note = f"documents are matched without {what}: judgements of {theirs.format(1)} are of {ours.format(1)}"
    assert note in explain(tmp_path / "in")
    assert main(["build", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "-q"]) == 0
    output = capsys.readouterr().out
    assert note in output
    assert "including 5 of 5 relevant ones" in output


def test_joined_tables_list_each_document_once(tmp_path: Path) -> None:
    rows = [("1", "apples", "a", 2), ("1", "apples", "b", 0), ("2", "pears", "a", 0), ("2", "pears", "b", 1)]
    texts = {"a": "there are some red apples", "b": "there are some green pears"}
    table_of = "".join(f"{q}\t{text}\t{d}\t{texts[d]}\t{label}\n" for q, text, d, label in rows)
    path = write_file(tmp_path, "rows.tsv", "query_id\tquery\tdoc_id\tpassage\tlabel\n" + table_of)
    for place in (path, tmp_path):
        collection = read_collection(place)
        assert [(d.id, dict(d.fields)) for d in collection] == [
            (name, {"passage": text}) for name, text in texts.items()
        ]
        assert [query.text for query in collection.queries] == ["apples", "pears"]
        assert collection.qrels is not None
        assert collection.qrels.labels.tolist() == [2, 0, 0, 1]


def test_html_fields_are_converted_to_text_and_reported(tmp_path: Path) -> None:
    body = "&lt;p&gt;some red &lt;code&gt;apples&lt;/code&gt; &amp;amp; 1&lt;/p&gt;"
    rows = f"<row Id='a' Body='{body}' /><row Id='b' Body='' />"
    collection = read_collection(write_file(tmp_path, "Posts.xml", f"<posts>{rows}</posts>"))
    assert [document.fields.get("Body", "") for document in collection] == ["some red apples & 1", ""]
    assert list(collection.diagnostics) == ["Body: HTML; only the text is indexed"]
    quoting = write_file(tmp_path, "docs.jsonl", lines({"id": 1, "text": "how does <p> differ from </p>?"}))
    assert [document.fields["text"] for document in read_collection(quoting)] == ["how does <p> differ from </p>?"]


def test_yaml_is_reported_with_a_line_that_helps(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", DOCS)
    write_file(tmp_path, "queries.yaml", "- id: 1\n  query: apples\n")
    with pytest.raises(DataError, match=r"queries\.yaml: YAML is not supported; convert it to JSON: python -c"):
        read_collection(tmp_path)


def test_selected_file_is_reported(tmp_path: Path) -> None:
    for file, content in COLLECTIONS["ms marco with all its splits"].items():
        write_file(tmp_path, file, content)
    first, second = read_collection(tmp_path).diagnostics
    assert first == (
        "qrels are those of qrels.dev.tsv; qrels.dev.small.tsv, qrels.train.tsv may hold some too "
        "(--qrels names another)"
    )
    assert second.startswith("queries are those of queries.dev.tsv; queries.dev.small.tsv, queries.train.tsv")


def test_blanks_in_ids_are_written_in_one_way(tmp_path: Path) -> None:
    write_file(tmp_path, "docs.jsonl", lines({"id": "a b", "text": "apples"}))
    write_file(tmp_path, "queries.tsv", "q 1\tapples\n")
    write_file(tmp_path, "qrels.tsv", "q 1\ta b\t1\n")
    collection = read_collection(tmp_path)
    assert [document.id for document in collection] == ["a%20b"]
    assert collection.qrels is not None
    assert (collection.queries[0].id, *collection.qrels.document_ids) == ("q%201", "a%20b")


@pytest.mark.parametrize(
    ("labels", "expected", "note"),
    [
        (("0", "-1", "2.0"), [0, -1, 2], ""),
        (("0", "0.5", "1"), [0, 1, 2], "labels are fractions, taken as grades: 0.5 = 1, 1 = 2"),
        (("1", "2.33", "3"), [0, 1, 2], "labels are fractions, taken as grades: 1 = 0, 2.33 = 1, 3 = 2"),
        (
            ("Highly-relevant", "non-relevant", "relevant"),
            [2, 0, 1],
            "labels are words: non relevant = 0, relevant = 1, highly relevant = 2",
        ),
        (("Irrelevant", "exact", "Partial"), [0, 2, 1], "labels are words: irrelevant = 0, partial = 1, exact = 2"),
    ],
)
def test_labels_become_grades(labels: tuple[str, ...], expected: list[int], note: str, tmp_path: Path) -> None:
    rows = "".join(f"1,d{number},{label}\n" for number, label in enumerate(labels))
    diagnostics = Diagnostics()
    qrels = read_qrels(write_file(tmp_path, "qrels.csv", "query_id,doc_id,label\n" + rows), diagnostics)
    assert qrels.labels.tolist() == expected
    assert list(diagnostics) == ([note] if note else [])


@pytest.mark.parametrize("row", ["1 0 a nan", "q Q0 a x"])
def test_a_first_judgement_without_a_label_is_no_heading(row: str, tmp_path: Path) -> None:
    path = write_file(tmp_path, "qrels.txt", f"{row}\n{row.split(maxsplit=1)[0]} 0 b 1\n")
    with pytest.raises(DataError, match=rf"qrels.txt:1: invalid label '{row.rsplit(maxsplit=1)[-1]}'"):
        read_qrels(path)
    write_file(tmp_path, "qrels.txt", "who iteration what how\n1 0 b 1\n")
    assert read_qrels(path).labels.tolist() == [1]


def test_judgements_that_stand_twice(tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    assert read_qrels(write_file(tmp_path, "qrels.txt", QRELS + QRELS), diagnostics).labels.tolist() == [2, 1]
    assert list(diagnostics) == ["2 judgements in qrels.txt are duplicates with the same label; each counts once"]
    with pytest.raises(DataError, match=r"qrels.txt:3: document a of query 1 has two labels, 2 and 0"):
        read_qrels(write_file(tmp_path, "qrels.txt", QRELS + "1 0 a 0\n"))


def test_documents_that_come_twice(tmp_path: Path) -> None:
    path = write_file(
        tmp_path, "docs.jsonl", lines({"id": "a", "text": "x"}, {"id": "b", "text": "y"}, {"id": "a", "text": "z"})
    )
    with pytest.raises(DataError, match=r"'a': documents 1 and 3 have it \(--repeated first keeps"):
        build_index(read_collection(path), tmp_path / "index")
    collection = read_collection(path, repeated="first")
    assert [document.fields["text"] for document in collection] == ["x", "y"]
    assert list(collection.diagnostics) == ["dropped: 1 document has the id of an earlier document, such as a"]


def test_settings_before_a_text_are_no_title(tmp_path: Path) -> None:
    write_file(tmp_path, "a.md", "---\ndate: 2020\n---\n# Apples\n\nred\n")
    write_file(tmp_path, "b.md", '---\ntitle: "Pears"\n---\ngreen\n')
    assert [dict(document.fields) for document in read_collection(tmp_path)] == [
        {"title": "Apples", "body": "red"}, {"title": "Pears", "body": "green"},
    ]  # fmt: skip


def test_files_are_judged_by_their_names(tmp_path: Path) -> None:
    for name in ("a.txt", "deep/b.txt", "one/c.txt", "two/c.txt"):
        write_file(tmp_path, name, "apples")
    write_file(tmp_path, "qrels.tsv", "q\ta.txt\t1\nq\tb\t1\nq\tc.txt\t1\n")
    qrels = read_collection(tmp_path).qrels
    assert qrels is not None
    assert list(qrels.document_ids) == ["a.txt", "deep/b.txt", "c.txt"]


def test_xml_that_ends_too_early(tmp_path: Path) -> None:
    path = write_file(tmp_path, "cut.xml", "<add><doc><id>a</id><t>apples</t></doc><doc><id>b</id>")
    with pytest.raises(DataError, match=r"cut.xml: the XML cannot be read after record 1"):
        list(read_collection(path))


@pytest.mark.parametrize("text", ["what is an apple\nwhat is a pear\n", "apples\n"])
def test_queries_without_ids_are_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected 2 columns separated by tabs: id, text"):
        read_queries(write_file(tmp_path, "queries.txt", text))


def test_a_stray_file_beside_many_pages_does_not_make_the_folder_another(tmp_path: Path) -> None:
    for n in range(9):
        write_file(tmp_path, f"{n}.html", f"<title>Page {n}</title><p>apples")
    write_file(tmp_path, "_static/glossary.json", json.dumps({"apple": {"title": "apple", "body": "a fruit"}}))
    assert len(list(read_collection(tmp_path, documents_only=True))) == 9
    (tmp_path / "8.html").unlink()
    with pytest.raises(DataError, match="the format may be json or html: name one with --input-format"):
        read_collection(tmp_path, documents_only=True)


@pytest.mark.parametrize("name", LISTED)
def test_listed_documents_are_relevant(name: str, tmp_path: Path) -> None:
    for file, content in LISTED[name].items():
        write_file(tmp_path, file, content)
    collection = read_collection(tmp_path)
    assert ["apples" in " ".join(document.fields.values()) for document in collection] == [True, False]
    assert [query.id for query in collection.queries] == ["1", "2"]
    assert ["apples" in query.text for query in collection.queries] == [True, False]
    qrels = collection.qrels
    assert qrels is not None
    assert (qrels.query_ids, list(qrels.document_ids), qrels.labels.tolist()) == (("1", "2"), ["a", "b"], [1, 1])
