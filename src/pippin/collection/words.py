"""What do queries and documents say? Enough of it to show a list of results, kept beside a data set.

A data set holds numbers; who looks at a list of results wants words. `words.jsonl` has a line for every query and one
for every document that is to be ranked: its title, and how its text begins. It is noted while the documents are read
for the index, so that nothing is read twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection as Ids
from collections.abc import Iterable, Iterator
from pathlib import Path

from pippin.collection.collection import Document, Query
from pippin.errors import DataError

WORDS = "words.jsonl"
NOTES = "notes.jsonl"  # of all documents, while a build goes on
_TITLE, _SNIPPET = 90, 170  # characters
_TITLES = ("title", "headline", "name")
_LARGEST = 1 << 30


def noted(documents: Iterable[Document], file: Path) -> Iterator[Document]:
    """The same documents, with the beginnings of each written down on the way."""
    with file.open("w", encoding="utf-8") as out:
        for document in documents:
            out.write(json.dumps([document.id, *beginnings(document)]) + "\n")
            yield document


def beginnings(document: Document) -> tuple[str, str]:
    """Title and snippet of a document.

    >>> beginnings(Document("d", {"title": "Pippin", "body": "An  apple\\nand a workbench."}))
    ('Pippin', 'An apple and a workbench.')
    """
    title = next((name for name in _TITLES if document.streams.get(name)), "")
    texts = [text for name, text in document.streams.items() if name not in (*_TITLES, "anchor", "url") and text]
    return _cut(document.streams.get(title, ""), _TITLE), _cut(texts[0] if texts else "", _SNIPPET)


def _cut(text: str, most: int) -> str:
    """The first words of a text, in one line."""
    words = " ".join(text[: most * 4].encode("utf-8", "replace").decode().split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def write_words(notes: Path, file: Path, queries: Iterable[Query], documents: Ids[str]) -> None:
    """Keep the words of these queries and documents."""
    with file.open("w", encoding="utf-8") as out, notes.open(encoding="utf-8") as lines:
        for query in queries:
            out.write(json.dumps({"query": query.id, "text": _cut(query.text, 300)}, ensure_ascii=False) + "\n")
        for line in lines:
            name, title, snippet = json.loads(line)
            if name in documents:
                record = {"document": name, "title": title, "snippet": snippet}
                out.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_words(file: Path) -> tuple[dict[str, str], dict[str, tuple[str, str]]] | None:
    """Query → text, and document → title and snippet; None where there are none."""
    if not file.is_file() or file.stat().st_size > _LARGEST:
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
                raise DataError("damaged: this line does not say what a query or a document is", file, number) from None
    return queries, documents
