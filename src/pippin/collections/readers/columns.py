"""Names of the id, query and label columns, in any spelling.

`Doc_ID`, `docId` and `doc-id` are spellings of doc_id. Usual names come first, then names that end in a certain word
(`cord_uid`, `esci_label`).
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
MONGODB_TYPES = ("$oid", "$numberLong", "$numberInt", "$uuid")  # keys of objects that are ids


@lru_cache(4096)
def normalize_name(name: str) -> str:
    """Return a name in snake case.

    >>> [normalize_name(name) for name in ("Doc_ID", "docId", "query-id", "_id", "Search Term")]
    ['doc_id', 'doc_id', 'query_id', 'id', 'search_term']
    """
    separated = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", separated.lower()).strip("_")


def find_field(record: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the field of a record that has the first of these names, in the record's spelling; None without any.

    >>> find_field({"Title": "A", "Doc_ID": 1}, ("id", "doc_id"))
    'Doc_ID'
    """
    spellings: dict[str, str] = {}
    for name in record:
        spellings.setdefault(normalize_name(name), name)
    return next((spellings[name] for name in names if name in spellings), None)


def find_field_by_suffix(record: Iterable[str], words: Iterable[str]) -> str | None:
    """Return the first field whose name ends in one of these words.

    >>> find_field_by_suffix({"title": "A", "esci_label": "E"}, ("label",))
    'esci_label'
    """
    words = tuple(words)
    return next((name for name in record if normalize_name(name).rpartition("_")[2] in words), None)


def text_id(value: Any) -> str | None:
    """Return a text or whole number as an id, with `%20` for blanks, because qrels and runs cannot contain blanks.

    >>> text_id(" a b "), text_id(7), text_id(7.0), text_id("  "), text_id(7.5), text_id(True), text_id({"$oid": "5f"})
    ('a%20b', '7', '7', None, None, None, '5f')
    """
    if isinstance(value, dict) and len(value) == 1 and (kind := next(iter(value))) in MONGODB_TYPES:
        value = value[kind]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return "%20".join(str(value).split()) or None


def find_id(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the id of a record, a text or whole number in a field of these names; None without any.

    >>> find_id({"_id": 3}, ID_FIELDS), find_id({"id": "", "docno": "d"}, ID_FIELDS), find_id({"title": "A"}, ID_FIELDS)
    ('3', 'd', None)
    """
    values: dict[str, Any] = {}
    for name, value in record.items():
        values.setdefault(normalize_name(name), value)
    ids = (text_id(values[name]) for name in names if name in values)
    return next((name for name in ids if name is not None), None)


def describe_missing_id(names: Iterable[str]) -> str:
    """Return the message about a record without id."""
    return f"missing id: expected a text or whole number in a field {', '.join(names)}"
