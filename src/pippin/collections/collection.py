"""Collections: documents with named fields, urls and links, and the queries and judgements over them.

`Collection.iter_documents` reads the documents again each time, one after the other, so that a collection may be larger
than memory. The text of a field is as the reader returned it, before analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Literal, overload

from pippin.data.qrels import Qrels

WHOLE = "whole"  # the combination of all fields; in a collection with one field, that field
ANCHOR = "anchor"  # the texts of the links that point to a document, collected from other documents


def resolve_field(name: str, fields: Sequence[str]) -> str:
    """Return `name`, or the only field where `name` is "whole" and no field has that name."""
    return fields[0] if name == WHOLE and WHOLE not in fields and len(fields) == 1 else name


class Diagnostics(Sequence[str]):
    """Messages about how files were read.

    A part is a message, a sequence of messages, or a function that returns messages. Functions are called each time the
    messages are listed, because counts of what was left out change while documents are read.
    """

    def __init__(self, *parts: str | Sequence[str] | Callable[[], Sequence[str]]) -> None:
        self._parts = list(parts)

    def add(self, part: str | Sequence[str] | Callable[[], Sequence[str]]) -> None:
        """Append a message, a sequence of messages, or a function that returns messages."""
        self._parts.append(part)

    def _messages(self) -> list[str]:
        messages: list[str] = []
        for part in self._parts:
            content = part() if callable(part) else part
            messages += [content] if isinstance(content, str) else content
        return messages

    def __len__(self) -> int:
        return len(self._messages())

    @overload
    def __getitem__(self, item: int) -> str: ...

    @overload
    def __getitem__(self, item: slice) -> list[str]: ...

    def __getitem__(self, item: int | slice) -> str | list[str]:
        return self._messages()[item]


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another document.

    Parameters
    ----------
    target : str
        The id or url of the other document, as written.
    text : str
        The anchor text.
    """

    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a collection.

    Parameters
    ----------
    id : str
        The identifier that judgements and runs use.
    fields : mapping of str to str
        Raw text per field; a field without text may be missing.
    url : str
        The address of the document, if it has one.
    links : tuple of Link
        References to other documents.
    numbers : mapping of str to float
        Values of numeric fields; a date is its days since 1970-01-01. A field without value may be missing.
    """

    id: str
    fields: Mapping[str, str]
    url: str = ""
    links: tuple[Link, ...] = ()
    numbers: Mapping[str, float] = dataclass_field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a collection.

    Parameters
    ----------
    id : str
        The identifier that judgements and runs use.
    text : str
        The text to search for.
    fields : mapping of str to str
        All fields of the topic (title, description …).
    task : str
        The query set it belongs to, where there are several: LETOR has TD, HP and NP.
    """

    id: str
    text: str
    fields: Mapping[str, str] = dataclass_field(default_factory=dict)
    task: str = ""


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, queries and judgements under one name.

    Parameters
    ----------
    name : str
        The name in messages and data cards.
    fields : tuple of str
        The document fields, in order.
    iter_documents : callable
        Returns a new iterator over all documents.
    queries : tuple of Query
        The queries.
    qrels : Qrels, optional
        The judgements.
    combined_fields : mapping of str to tuple of str
        Fields that concatenate others, such as ``{"whole": ("title", "body")}``.
    descriptions : mapping of str to str
        What each field is, for LETOR's meta-information.
    topics : mapping of str to str
        Category by document id, for topical link analysis.
    files : mapping of str to tuple of Path
        The files that "queries" and "qrels" were read from.
    document_files : tuple of Path
        The files of the documents.
    diagnostics : sequence of str
        How the reader understood the files and what it left out. Some messages exist only after documents were read.
    reader : str
        The name of the format.
    unjudged : {"nonrelevant", "unknown"}
        How to treat documents without a label: as not relevant (LETOR's .GOV) or as unknown (OHSUMED).
    numeric_fields : mapping of str to str
        The kind of each numeric field: "number" or "date".

    Examples
    --------
    >>> pages = [Document("d1", {"title": "Apples", "body": "A pippin is an apple"}), Document("d2", {"body": "Pears"})]
    >>> whole = {"whole": ("title", "body")}
    >>> orchard = Collection("orchard", ("title", "body"), lambda: iter(pages), combined_fields=whole)
    >>> orchard
    Collection('orchard': title, body, whole; 0 queries)
    >>> [document.id for document in orchard]
    ['d1', 'd2']
    """

    name: str
    fields: tuple[str, ...]
    iter_documents: Callable[[], Iterator[Document]]
    queries: tuple[Query, ...] = ()
    qrels: Qrels | None = None
    combined_fields: Mapping[str, tuple[str, ...]] = dataclass_field(default_factory=dict)
    descriptions: Mapping[str, str] = dataclass_field(default_factory=dict)
    topics: Mapping[str, str] = dataclass_field(default_factory=dict)
    files: Mapping[str, tuple[Path, ...]] = dataclass_field(default_factory=dict)
    document_files: tuple[Path, ...] = ()
    diagnostics: Sequence[str] = ()
    reader: str = ""
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant"
    numeric_fields: Mapping[str, str] = dataclass_field(default_factory=dict)

    def __iter__(self) -> Iterator[Document]:
        return self.iter_documents()

    @property
    def all_fields(self) -> tuple[str, ...]:
        """The document fields, then the combined ones."""
        return (*self.fields, *self.combined_fields)

    def resolve_field(self, name: str) -> str:
        """Return the field that `name` means: with only one field, "whole" is that field.

        Parameters
        ----------
        name : str
            Name of a field, or "whole".

        Examples
        --------
        >>> Collection("notes", ("text",), lambda: iter(())).resolve_field("whole")
        'text'
        """
        return resolve_field(name, self.all_fields)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The query sets, in the order of their first query."""
        return tuple(dict.fromkeys(query.task for query in self.queries))

    def __repr__(self) -> str:
        return f"Collection({self.name!r}: {', '.join(self.all_fields)}; {len(self.queries):,} queries)"
