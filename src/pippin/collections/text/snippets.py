"""Snippets of search results, and previews of queries and documents beside a built data set.

`words.jsonl` of a built data set has a line for every query, and one for every sampled document with its title and the
beginning of its text, so that reports can show texts. The previews are collected while the documents are indexed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection as Ids
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pippin.collections.collection import ANCHOR, Document, Query
from pippin.collections.text.analysis import Analyzer
from pippin.errors import DataError

if TYPE_CHECKING:
    from pippin.collections.index.index import Index

TITLES = ("title", "extracted_title")
NOT_TEXT = (*TITLES, "url", ANCHOR)
MAX_CHARACTERS = 160  # of a title or snippet
WORDS_BEFORE = 4  # words before the first match in a snippet
MAX_WORDS = 20_000  # words of a text that are searched
MAX_MATCHES = 2_000
MAX_WORD_LENGTH = 60
_TOKEN = re.compile(r"\S+")
_NO_ANALYSIS = Analyzer(stop="none", stem="none")


@dataclass(frozen=True)
class Snippet:
    """The parts of a document that a list of results shows; empty if it has none."""

    title: str
    url: str
    snippet: str


def show(index: Index, number: int, words: Sequence[str], *, field: str) -> Snippet:
    """Return title, URL and best snippet of a document; analysed words if the index stores no texts."""
    url = index.urls.at(number)
    texts = index.texts(number)
    if texts is None:
        _, tokens = index.tokens(field, [number])
        text = " ".join(index.vocabulary.take(tokens[:MAX_WORDS].astype(np.int64)))
        return Snippet("", url, snippet(text, words, _NO_ANALYSIS)[0])
    title = next((" ".join(texts[name].split()) for name in TITLES if texts.get(name, "").strip()), "")
    return Snippet(truncate(title, MAX_CHARACTERS), url, _best_snippet(index, texts, words, field))


def _best_snippet(index: Index, texts: Mapping[str, str], words: Sequence[str], field: str) -> str:
    """Return the best snippet of the searched fields that are not shown otherwise, else of any other field."""
    members = index.manifest["streams"][index.resolve_field(field)]["union"] or [field]
    for names in (members, texts):
        fields = [texts[name] for name in names if name not in NOT_TEXT and name in texts]
        snippets = [(text, hits) for text, hits in (snippet(of, words, index.analysis) for of in fields) if text]
        if snippets:
            return max(snippets, key=lambda pair: pair[1])[0]
    return ""


def snippet(text: str, words: Sequence[str], analysis: Analyzer) -> tuple[str, tuple[int, int]]:
    """Return the passage with most of the analysed words, and its numbers of distinct and of all matches.

    >>> snippet("Red apples. " * 20 + "A pear hangs with the apples there.", ["appl", "pear"], Analyzer())[1]
    (2, 14)
    """
    query = set(words)
    tokens = [match.group() for match in islice(_TOKEN.finditer(text), MAX_WORDS)]
    matches_of = {token: query.intersection(analysis.analyse(token)) for token in set(tokens)}
    matches = [i for i, token in enumerate(tokens) if matches_of[token]][:MAX_MATCHES]
    passages = [_passage(tokens, max(0, i - WORDS_BEFORE)) for i in matches] or [_passage(tokens, 0)]
    hits = [[word for token in tokens[first:last] for word in matches_of[token]] for first, last in passages]
    scores = [(len(set(of_passage)), len(of_passage)) for of_passage in hits]
    best = max(range(len(scores)), key=scores.__getitem__)
    first, last = passages[best]
    shortened = " ".join(truncate(token, MAX_WORD_LENGTH) for token in tokens[first:last])
    return ("… " if first else "") + shortened + (" …" if last < len(tokens) else ""), scores[best]


def _passage(tokens: Sequence[str], first: int) -> tuple[int, int]:
    """Return the range of tokens from `first` that fit into a snippet, at least one."""
    last, remaining = first, MAX_CHARACTERS
    while last < len(tokens) and (last == first or remaining >= len(tokens[last])):
        remaining -= min(len(tokens[last]), MAX_WORD_LENGTH) + 1
        last += 1
    return first, last


def truncate(text: str, length: int) -> str:
    """Return a text of at most `length` characters.

    >>> truncate("a long title", 6), truncate("short", 6)
    ('a lon…', 'short')
    """
    return text if len(text) <= length else text[: length - 1] + "…"


PREVIEWS = "words.jsonl"
NOTES = "notes.jsonl"  # previews of all documents, during a build
MAX_FILE_SIZE = 1 << 30


def write_notes(documents: Iterable[Document], file: Path) -> Iterator[Document]:
    """Yield the documents, and write the preview of each to a file."""
    with file.open("w", encoding="utf-8") as out:
        for document in documents:
            out.write(json.dumps([document.id, *preview(document)]) + "\n")
            yield document


def preview(document: Document) -> tuple[str, str]:
    """Return the title of a document and the beginning of its text.

    >>> preview(Document("d", {"title": "Pippin", "body": "An  apple\\nand a workbench."}))
    ('Pippin', 'An apple and a workbench.')
    """
    titles = ("title", "headline", "name")
    title = next((name for name in titles if document.fields.get(name)), "")
    texts = [text for name, text in document.fields.items() if name not in (*titles, ANCHOR, "url") and text]
    return _beginning(document.fields.get(title, ""), 90), _beginning(texts[0] if texts else "", 170)


def _beginning(text: str, length: int) -> str:
    """Return the first words of a text, in one line."""
    line = " ".join(text[: length * 4].encode("utf-8", "replace").decode().split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def write_previews(notes: Path, file: Path, queries: Iterable[Query], documents: Ids[str]) -> None:
    """Write the previews of these queries and documents; `notes` has those of all documents."""
    with file.open("w", encoding="utf-8") as out, notes.open(encoding="utf-8") as lines:
        for query in queries:
            out.write(json.dumps({"query": query.id, "text": _beginning(query.text, 300)}, ensure_ascii=False) + "\n")
        for line in lines:
            name, title, text = json.loads(line)
            if name in documents:
                record = {"document": name, "title": title, "snippet": text}
                out.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_previews(file: Path) -> tuple[dict[str, str], dict[str, tuple[str, str]]] | None:
    """Read the texts of queries, and titles and snippets of documents; None if the file is missing."""
    if not file.is_file() or file.stat().st_size > MAX_FILE_SIZE:
        return None
    queries: dict[str, str] = {}
    documents: dict[str, tuple[str, str]] = {}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                if "query" in record:
                    queries[str(record["query"])] = str(record["text"])
                else:
                    documents[str(record["document"])] = str(record["title"]), str(record["snippet"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise DataError("the file is damaged: expected a query or a document", file, number) from None
    return queries, documents
