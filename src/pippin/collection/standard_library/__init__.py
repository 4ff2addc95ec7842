"""The embedded collection: the Python standard library, which every machine has, as pages to rank.

About 7,400 pages of the running Python (one per module, class and function, and the topics on the language), with the
links between them, twelve sections, and three query sets. The same Python gives the same pages, links and queries
whatever its environment. What can differ between machines: another version of Python has other pages; a build without
an extension module (`sqlite3`, `curses`, `ssl` …), or a platform without it, has no pages for what only C code
documents; and distributions that ship a part of the library apart (`tkinter`, `distutils`) have those pages only where
that part is installed. Judgements of pages that this Python does not have stay as they are: they count as relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from pippin.collection.collection import ANCHOR, Collection, Document, Link
from pippin.collection.standard_library.links import find_links, members_of
from pippin.collection.standard_library.pages import Page, Pages, gather, split_words
from pippin.collection.standard_library.queries import TASKS, asks, cut, queries
from pippin.data.trec import Judgements
from pippin.errors import UnknownName

__all__ = ["TASKS", "stdlib"]

DESCRIPTIONS = {
    "body": "signature, documentation, and the names of the members, split into words",
    "anchor": "the words with which other pages refer to the page",
    "title": "the qualified name, split into words",
    "url": "the section and the dotted path",
    "whole": "body, anchor, title and url",
}


def stdlib(tasks: Iterable[str] | None = None) -> Collection:
    """The standard library as a collection, with the queries of some tasks ("TD", "HP", "NP"; all where None).

    A page lacks its first sentence where one of these tasks asks for it, and only there: with TD alone all pages are
    whole.
    """
    chosen = TASKS if tasks is None else tuple(dict.fromkeys(tasks))
    for task in chosen:
        if task not in TASKS:
            raise UnknownName("task of the standard library", task, TASKS)
    pages = _library()
    asked = [ask for ask in asks(pages.pages) if ask.task in chosen]
    pairs = list(queries(asked, chosen))
    rest = Pages(cut(pages.pages, asked), pages.aliases)
    links = find_links(rest)
    return Collection(
        name="stdlib",
        streams=("body", ANCHOR, "title", "url"),
        read=lambda: _documents(rest.pages, links),
        queries=tuple(query for query, _ in pairs),
        judgements=Judgements.of({query.id: judged for query, judged in pairs}, "stdlib"),
        unions={"whole": ("body", ANCHOR, "title", "url")},
        descriptions=DESCRIPTIONS,
        topics={name: page.section for name, page in pages.pages.items()},
    )


@cache
def _library() -> Pages:
    """The pages: read once in a process, as the library does not change."""
    return gather()


def _documents(pages: Mapping[str, Page], links: Mapping[str, tuple[Link, ...]]) -> Iterator[Document]:
    members = members_of(pages)
    for name, page in pages.items():
        names = " ".join(split_words(member.rpartition(".")[2]) for member in members.get(name, ()))
        body = "\n\n".join(part for part in (page.signature, page.doc, names) if part)
        streams = {"body": body, "title": page.title, "url": page.url.removeprefix("http://")}
        yield Document(name, streams, page.url, links[name])
