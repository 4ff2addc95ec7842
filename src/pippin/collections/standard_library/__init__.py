"""The built-in collection: the Python standard library as web pages, with three query sets.

About 7,400 pages of the running Python (one per module, class and function, and the topics on the language), with links
and twelve sections. The same Python gives the same pages, links and queries in any environment. Another version of
Python has other pages; a build without an extension module (`sqlite3`, `curses`, `ssl` …) or a distribution without a
part of the library (`tkinter`, `distutils`) lacks its pages. Judgements of missing pages are kept: they count as
relevant documents.

A *home page* query (HP) is the synopsis of a module, and its answer that module's page. A *named page* query (NP) is
the first sentence of a class or function, and its answer that page. So that no page contains its query, the sentence is
removed from the page; sentences that occur on another page too, or have few words, are not used. *Topic distillation*
(TD) queries are topics written and judged by hand (`topics.toml`). A digest of the page's name decides which sentences
become queries, so the choice is the same on every machine.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from pippin.collections.collection import ANCHOR, Collection, Document, Link, Query
from pippin.collections.standard_library.pages import Page, Pages, find_links, members_of, read_pages, split_words
from pippin.data.qrels import Qrels
from pippin.errors import DataError, UnknownName

__all__ = ["TASKS", "stdlib"]

TASKS = ("TD", "HP", "NP")
DESCRIPTIONS = {
    "body": "signature, documentation, and the names of the members, split into words",
    "anchor": "the texts of links from other pages",
    "title": "the qualified name, split into words",
    "url": "the section and the dotted path",
    "whole": "body, anchor, title and url",
}
N_QUERIES = {"HP": 150, "NP": 150}
KINDS = {"HP": ("module",), "NP": ("class", "function")}
MIN_QUERY_WORDS = 3  # without function words
MIN_PAGE_WORDS = 12  # that remain on a page without members
SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s|$)|(?=\n\s*\n)|\Z)", re.DOTALL)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|a\.k\.a)\.$")
CODE = re.compile(r"->|>>>|<==>|^[\w.]+\(|=\s|::|\s:\s")  # in a sentence that shows code
FUNCTION_WORDS = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "have", "if", "in", "into", "is",
     "it", "its", "no", "not", "of", "on", "or", "that", "the", "their", "them", "then", "this", "to", "was", "which",
     "will", "with", "you", "your"]
)  # fmt: skip


def stdlib(tasks: Iterable[str] | None = None) -> Collection:
    """Return the standard library as a collection.

    Parameters
    ----------
    tasks : iterable of str, optional
        Query sets: "TD", "HP", "NP"; default: all. With "HP" or "NP", pages lack the sentences that are queries.

    Returns
    -------
    Collection

    Raises
    ------
    UnknownName
        If a task does not exist.

    Examples
    --------
    >>> collection = stdlib(["TD"])
    >>> collection.queries[0].task, collection.fields
    ('TD', ('body', 'anchor', 'title', 'url'))
    """
    selection = TASKS if tasks is None else tuple(dict.fromkeys(tasks))
    for task in selection:
        if task not in TASKS:
            raise UnknownName("task of the standard library", task, TASKS)
    library = _library()
    generated = [query for query in generate_queries(library.pages) if query.task in selection]
    pairs = list(queries(generated, selection))
    pages = Pages(remove_query_sentences(library.pages, generated), library.aliases)
    links = find_links(pages)
    return Collection(
        name="stdlib",
        fields=("body", ANCHOR, "title", "url"),
        iter_documents=lambda: _documents(pages.pages, links),
        queries=tuple(query for query, _ in pairs),
        qrels=Qrels.from_dict({query.id: labels for query, labels in pairs}, "stdlib"),
        combined_fields={"whole": ("body", ANCHOR, "title", "url")},
        descriptions=DESCRIPTIONS,
        topics={name: page.section for name, page in library.pages.items()},
    )


@cache
def _library() -> Pages:
    """Read the pages, once per process."""
    return read_pages()


def _documents(pages: Mapping[str, Page], links: Mapping[str, tuple[Link, ...]]) -> Iterator[Document]:
    members = members_of(pages)
    for name, page in pages.items():
        names = " ".join(split_words(member.rpartition(".")[2]) for member in members.get(name, ()))
        body = "\n\n".join(part for part in (page.signature, page.doc, names) if part)
        fields = {"body": body, "title": page.title, "url": page.url.removeprefix("http://")}
        yield Document(name, fields, page.url, links[name])


@dataclass(frozen=True, slots=True)
class GeneratedQuery:
    """A query made from a page: its sentence is doc[start:stop]."""

    page: str
    task: str
    text: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with its judgements: page → 0, 1 or 2."""

    id: str
    title: str
    description: str
    qrels: Mapping[str, int]


def words(text: str) -> list[str]:
    """Return the words of a text, for comparing sentences.

    >>> words("Return a *copy* of `x`.")
    ['return', 'a', 'copy', 'of', 'x']
    """
    return re.findall(r"[a-z0-9]+", text.lower())


def generate_queries(pages: Mapping[str, Page]) -> list[GeneratedQuery]:
    """Return the named page and home page queries, sorted by task and page."""
    generated: list[GeneratedQuery] = []
    texts = "\n".join(f" {' '.join(words(page.signature + ' ' + page.doc))} " for page in pages.values())
    parents = {name.rpartition(".")[0] for name in pages}
    for task, size in N_QUERIES.items():
        of_kind = [page for page in pages.values() if page.kind in KINDS[task]]
        shuffled = sorted(of_kind, key=lambda page: hashlib.sha256(page.name.encode()).digest())
        unique = (
            query
            for page in shuffled
            if (query := _make_query(page, task, page.name in parents)) and _is_unique(query, texts)
        )
        generated += [query for query, _ in zip(unique, range(size), strict=False)]
    return sorted(generated, key=lambda query: (query.task, query.page))


def _make_query(page: Page, task: str, has_members: bool) -> GeneratedQuery | None:
    """Return the query from a page's first sentence; None if the sentence or the rest of the page is too short."""
    label = len(page.name) if page.doc.startswith(page.name + "\n") else 0  # on a separate line, as in `distutils`
    start, stop = first_sentence(page.doc, label)
    sentence = page.doc[start:stop]
    text = " ".join(_without_name(sentence, page.name).split())
    content_words = {word for word in words(text) if word not in FUNCTION_WORDS and len(word) > 1}
    remaining = words(page.doc[:start] + page.doc[stop:])
    is_empty = len(remaining) < MIN_PAGE_WORDS and not (task == "HP" and has_members)
    if is_empty or len(content_words) < MIN_QUERY_WORDS or CODE.search(sentence):
        return None
    return GeneratedQuery(page.name, task, text, start, stop)


def first_sentence(doc: str, after: int = 0) -> tuple[int, int]:
    """Return the start and end of the first sentence of a text: at a full stop, or at the end of its paragraph.

    >>> text = "Read a file, e.g. this one. Then close it."
    >>> text[slice(*first_sentence(text))]
    'Read a file, e.g. this one.'
    """
    start = stop = 0
    for match in SENTENCE.finditer(doc, after):
        start, stop = (start if stop else match.start()), match.end()
        if not ABBREVIATION.search(doc[:stop]):
            break
    return start, stop


def _without_name(sentence: str, name: str) -> str:
    """Remove the label at the beginning of a synopsis: `heapq -- a heap queue`."""
    last = re.escape(name.rpartition(".")[2])
    label = rf"(?:module\s+)?(?:[\w.]*\b)?{last}(?:\.py)?(?:\s+module)?\s*(?:--?|:)\s+"
    return re.sub("^" + label, "", sentence, flags=re.IGNORECASE)


def _is_unique(query: GeneratedQuery, texts: str) -> bool:
    """Return whether no other page contains the words of the query."""
    return texts.count(f" {' '.join(words(query.text))} ") == 1


def remove_query_sentences(pages: Mapping[str, Page], generated: list[GeneratedQuery]) -> dict[str, Page]:
    """Return the pages without the sentences that are queries."""
    remaining = dict(pages)
    for query in generated:
        doc = remaining[query.page].doc
        remaining[query.page] = replace(remaining[query.page], doc=(doc[: query.start] + doc[query.stop :]).strip())
    return remaining


@cache
def topics() -> tuple[Topic, ...]:
    """Read the topics of `topics.toml`."""
    table = tomllib.loads(resources.files(__package__).joinpath("topics.toml").read_text("utf-8"))
    return tuple(_topic(key, entry) for key, entry in table.items())


def _topic(key: str, entry: Mapping[str, object]) -> Topic:
    labels: dict[str, int] = {}
    for grade, field in ((2, "entry"), (1, "useful"), (0, "not")):
        for name in str(entry.get(field, "")).split():
            if name in labels:
                raise DataError(f"topic {key} has two judgements of {name}", "topics.toml")
            labels[name] = grade
    return Topic(key, str(entry["title"]), str(entry["description"]), labels)


def queries(generated: list[GeneratedQuery], tasks: tuple[str, ...]) -> Iterator[tuple[Query, Mapping[str, int]]]:
    """Yield the queries of the tasks, each with its judgements."""
    for task in tasks:
        if task == "TD":
            for topic in topics():
                fields = {"title": topic.title, "description": topic.description}
                yield Query(topic.id, topic.title, fields, task), topic.qrels
        of_task = (query for query in generated if query.task == task)
        for number, query in enumerate(of_task, start=1):
            yield Query(f"{task}{number}", query.text, {"title": query.text}, task), {query.page: 1}
