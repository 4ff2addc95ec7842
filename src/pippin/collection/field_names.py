"""Under which name does a record keep its id, its query, its label? Names are compared in any spelling.

`Doc_ID`, `docId`, `doc-id` and `_id` are how people write doc_id and id; the usual names come first, then whatever
ends in a word that says so (`cord_uid`, `esci_label`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

ID_FIELDS = ("id", "docno", "doc_id", "docid", "document_id", "pid")
MORE_ID_FIELDS = (
    "corpus_id", "product_id", "product_uid", "item_id", "passage_id", "article_id", "paper_id", "page_id", "post_id",
    "para_id", "object_id", "cord_uid", "pmid", "accn", "asin", "sku", "uid", "uuid", "uri", "identifier",
)  # fmt: skip
QUERY_ID_FIELDS = ("query_id", "qid", "queryid", "topic_id", "topicid", "question_id", "search_id")
QUERY_TEXT_FIELDS = ("query", "search_term", "search_query", "query_text", "keyword", "keywords")
LABEL_FIELDS = ("label", "relevance", "rel", "grade", "score", "judgement", "judgment", "rating", "relevancy", "gain")
TYPED = ("$oid", "$numberLong", "$numberInt", "$uuid")  # how MongoDB writes ids


@lru_cache(4096)
def folded(name: str) -> str:
    """A name in one spelling.

    >>> folded("Doc_ID"), folded("docId"), folded("query-id"), folded("_id"), folded("Search Term")
    ('doc_id', 'doc_id', 'query_id', 'id', 'search_term')
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", apart.lower()).strip("_")


def find_field(record: Iterable[str], names: Iterable[str]) -> str | None:
    """The first of these names that a record has, as the record writes it; None where it has none.

    >>> find_field({"Title": "A", "Doc_ID": 1}, ("id", "doc_id"))
    'Doc_ID'
    """
    there: dict[str, str] = {}
    for name in record:
        there.setdefault(folded(name), name)
    return next((there[name] for name in names if name in there), None)


def ending_field(record: Iterable[str], words: Iterable[str], not_of: Iterable[str] = ()) -> str | None:
    """The first field whose name ends in one of these words, but for those that end in others.

    >>> ending_field({"title": "A", "esci_label": "E"}, ("label",))
    'esci_label'
    """
    words, not_of = tuple(words), tuple(not_of)
    ends = (name for name in record if folded(name).rpartition("_")[2] in words)
    return next((name for name in ends if folded(name) not in not_of), None)


def text_id(value: Any) -> str | None:
    """A text or whole number as an id, with `%20` for blanks, which files of judgements and runs cannot hold.

    >>> text_id(" a b "), text_id(7), text_id(7.0), text_id("  "), text_id(7.5), text_id(True), text_id({"$oid": "5f"})
    ('a%20b', '7', '7', None, None, None, '5f')
    """
    if isinstance(value, dict) and len(value) == 1 and (kind := next(iter(value))) in TYPED:
        value = value[kind]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return "%20".join(str(value).split()) or None


def id_of(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The id of a record, a text or a whole number under one of the names, or None.

    >>> id_of({"_id": 3}, ID_FIELDS), id_of({"id": "", "docno": "d"}, ID_FIELDS), id_of({"title": "A"}, ID_FIELDS)
    ('3', 'd', None)
    """
    there: dict[str, Any] = {}
    for name, value in record.items():
        there.setdefault(folded(name), value)
    return next((found for name in names if name in there and (found := text_id(there[name])) is not None), None)


def no_id(names: Iterable[str]) -> str:
    """The sentence about a record without id."""
    return f"there is no id (a text or whole number called {', '.join(names)})"
