"""TREC topics in both notations, JSON Lines and tab-separated files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pippin.collections.collection import Query
from pippin.collections.readers.topics import read_queries
from pippin.errors import DataError

OLD = """
<top>
<head> Tipster Topic Description
<num> Number: 051
<dom> Domain: International Economics
<title> Topic:  Airbus
   Subsidies &amp; more

<desc> Description:
Document mentions assistance, if < 5 governments.
<narr> Narrative:
A relevant document.
</top>

<top>
<num> Number: NP7
<title> second
<desc> Description: What is 2?
</top>
"""
WEB = """<webtrack2013>
<topic number="201" type="single">
  <query>raspberry pi</query>
  <description>
  What is it?
  </description>
  <subtopic number="1" type="inf">
  What is it?
  </subtopic>
</topic>
<topic number="202" type="faceted"><query>uss carl vinson</query><description>Find.</description></topic>
</webtrack2013>
"""


def write_topics(folder: Path, text: str | bytes, name: str = "topics.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_old_sgml_without_closing_tags(tmp_path: Path) -> None:
    first, second = read_queries(write_topics(tmp_path, OLD))
    assert (first.id, first.text) == ("51", "Airbus Subsidies & more")
    assert first.fields["description"] == "Document mentions assistance, if < 5 governments."
    assert first.fields["narrative"] == "A relevant document."
    assert first.fields["domain"] == "International Economics"
    assert (second.id, second.text) == ("NP7", "second")


@pytest.mark.parametrize("field", ["description", "desc"])
def test_another_field(tmp_path: Path, field: str) -> None:
    queries = read_queries(write_topics(tmp_path, OLD), field)
    assert [query.text for query in queries] == ["Document mentions assistance, if < 5 governments.", "What is 2?"]


def test_closing_tags_and_gzip(tmp_path: Path) -> None:
    text = "<top><num>3</num><title>Über\r\n uns</title><desc>d</desc></top>".encode("latin-1")
    assert read_queries(write_topics(tmp_path, gzip.compress(text))) == (
        Query("3", "Über uns", {"title": "Über uns", "description": "d"}),
    )


def test_topics_of_the_web_track(tmp_path: Path) -> None:
    queries = read_queries(write_topics(tmp_path, WEB))
    assert [(query.id, query.text) for query in queries] == [("201", "raspberry pi"), ("202", "uss carl vinson")]


def test_json_lines(tmp_path: Path) -> None:
    path = write_topics(tmp_path, '{"_id": "q1", "text": "a  b", "metadata": {}}\n\n{"_id": 2, "text": "c"}\n')
    assert [(query.id, query.text) for query in read_queries(path)] == [("q1", "a b"), ("2", "c")]


def test_tabs_with_and_without_headings(tmp_path: Path) -> None:
    assert [q.text for q in read_queries(write_topics(tmp_path, "1\tred apples\n2\tpears\n"))] == [
        "red apples",
        "pears",
    ]
    path = write_topics(tmp_path, "qid\ttitle\tdescription\n1\tred\tred apples\n")
    assert [q.text for q in read_queries(path)] == ["red"]
    assert [q.text for q in read_queries(path, "description")] == ["red apples"]


@pytest.mark.parametrize(
    ("text", "sentence", "line"),
    [
        ("", "the file is empty", None),
        ("<nothing/>", "the file contains no queries", None),
        ("\n<top>\n<title> a\n</top>", "the topic has no number", 2),
        ("<top><num>1<title>a</top>\n<top><num>01<title>b</top>", "the query 1 has two texts", 2),
        ("<top><num>1<desc>a</top>", "the query 1 has no title or text or query (it has description)", 1),
        ('{"id": 1, "text": "a"}\n{"id": 2', "the line is not JSON", 2),
        ('{"id": 1, "text": "a"}\n[1]', "the line is not a JSON object", 2),
        ('{"text": "a"}', "missing id", 1),
        ('{"id": true, "text": "a"}', "missing id", 1),
        ('{"id": 1, "text": 5}', "the query 1 has no title or text or query", 1),
        ("1\ta\n2 b\n", "expected 2 columns separated by tabs: id, text", 2),
        (b"1\ta\n2\t\x81\n", "byte 3 of the line is neither UTF-8 nor windows-1252", 2),
    ],
)
def test_bad_topics(tmp_path: Path, text: str | bytes, sentence: str, line: int | None) -> None:
    path = write_topics(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_queries(path)
    assert sentence in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_unterminated_elements_are_skipped(tmp_path: Path) -> None:
    """However often it begins: 100,000 times, it was looked through from each of them, which took hours."""
    text = "<query id='1'>apples</query><!-- <query id='2'>pears</query> -->" + "<query id='3'>plums" * 100_000
    assert [(query.id, query.text) for query in read_queries(write_topics(tmp_path, text))] == [("1", "apples")]
    text = "<top><num> 1 <title> apples </top>" + "<!-- never closed" * 100_000
    assert [query.text for query in read_queries(write_topics(tmp_path, text))] == ["apples"]
