"""What is there to rank: documents with named streams, urls and links, and the queries and judgements over them.

Documents are read again each time they are asked for, one after the other, so that a collection may be larger than
memory. Nothing here is analysed: a stream is the text as the reader found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pippin.data.trec import Judgements

WHOLE = "whole"  # all that a document says; where it has one stream only, that one
ANCHOR = "anchor"  # the stream that is not written in the document itself: the texts of the links that point to it


def only_stream(name: str, streams: Sequence[str]) -> str:
    """`name`, or the one stream there is where the whole is asked for and nothing is called so."""
    return streams[0] if name == WHOLE and WHOLE not in streams and len(streams) == 1 else name


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another document, by its id or url as written, with the words it is made with."""

    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One document: raw text per stream (a stream without text may be left out), where it lives, what it points to."""

    id: str
    streams: Mapping[str, str]
    url: str = ""
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody looks for. `text` is searched; `fields` keeps all that the topic says (title, description …)."""

    id: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)
    task: str = ""  # which of several query sets it belongs to, as LETOR has TD, HP and NP


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, queries and judgements under one name.

    `unions` are streams made of others, e.g. {"whole": ("body", "anchor", "title", "url")}: their words are those of
    the members one after the other. `topics` gives known documents a category, for topical ranks.

    >>> pages = [Document("d1", {"title": "Apples", "body": "A pippin is an apple"}), Document("d2", {"body": "Pears"})]
    >>> orchard = Collection("orchard", ("title", "body"), lambda: iter(pages), unions={"whole": ("title", "body")})
    >>> orchard
    Collection('orchard': title, body, whole; 0 queries)
    >>> [document.id for document in orchard]
    ['d1', 'd2']
    """

    name: str
    streams: tuple[str, ...]
    read: Callable[[], Iterator[Document]]
    queries: tuple[Query, ...] = ()
    judgements: Judgements | None = None
    unions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)  # stream → what it is, for the meta-information
    topics: Mapping[str, str] = field(default_factory=dict)  # document id → category
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)  # queries, judgements → where they were found
    document_files: tuple[Path, ...] = ()  # where the documents stand
    notes: Sequence[str] = ()  # what the reader took for what, and what it left out, a sentence each
    reader: str = ""  # the name of the format that it was read in
    anchored: bool = True  # False: the anchor stream is still to be gathered from the links of all documents
    judged_as: str = "sparse"  # "sparse": what is not judged is not relevant (Gov); "complete": only judged count

    def __iter__(self) -> Iterator[Document]:
        return self.read()

    @property
    def all_streams(self) -> tuple[str, ...]:
        """The streams as read, then those made of others."""
        return (*self.streams, *self.unions)

    def stream(self, name: str) -> str:
        """The stream that a name means: where there is only one, it is the whole.

        >>> Collection("notes", ("text",), lambda: iter(())).stream("whole")
        'text'
        """
        return only_stream(name, self.all_streams)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The query sets, in the order of their first query."""
        return tuple(dict.fromkeys(query.task for query in self.queries))

    def __repr__(self) -> str:
        return f"Collection({self.name!r}: {', '.join(self.all_streams)}; {len(self.queries):,} queries)"
