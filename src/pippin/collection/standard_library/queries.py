"""What does somebody look for in the standard library, and which pages answer?

Three query sets, as LETOR has for ".GOV". *Named page* (NP): the summary sentence of a class or function. *Home page*
(HP): the synopsis of a module. In both the page is the one answer, and the sentence is taken out of it; a sentence that
stands on another page too, or that says little, is nobody's query. *Topic distillation* (TD): topics written and judged
by hand (`topics.toml`): what does the library offer for it? Which sentences are asked is decided by a digest of the
page's name, so it is the same wherever the pages are.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from pippin.collection.collection import Query
from pippin.collection.standard_library.pages import Page
from pippin.errors import DataError

TASKS = ("TD", "HP", "NP")
SIZES = {"HP": 150, "NP": 150}
KINDS = {"HP": ("module",), "NP": ("class", "function")}
LEAST_WORDS = 3  # of a query, those that carry no meaning left out
LEAST_REST = 12  # words that a page keeps, if it lists no members: it must still be about something
SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s|$)|(?=\n\s*\n)|\Z)", re.DOTALL)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|a\.k\.a)\.$")
CODE = re.compile(r"->|>>>|<==>|^[\w.]+\(|=\s|::|\s:\s")  # a sentence that shows code instead of saying something
EMPTY_WORDS = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "have", "if", "in", "into", "is",
     "it", "its", "no", "not", "of", "on", "or", "that", "the", "their", "them", "then", "this", "to", "was", "which",
     "will", "with", "you", "your"]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """A query made from a page: its sentence stands at doc[start:stop]."""

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
    judgements: Mapping[str, int]


def words(text: str) -> list[str]:
    """The words of a text, for comparing sentences.

    >>> words("Return a *copy* of `x`.")
    ['return', 'a', 'copy', 'of', 'x']
    """
    return re.findall(r"[a-z0-9]+", text.lower())


def asks(pages: Mapping[str, Page]) -> list[Ask]:
    """The named page and home page queries, sorted by page."""
    chosen = []
    texts = "\n".join(f" {' '.join(words(page.signature + ' ' + page.doc))} " for page in pages.values())
    parents = {name.rpartition(".")[0] for name in pages}
    for task, size in SIZES.items():
        drawn = sorted((page for page in pages.values() if page.kind in KINDS[task]), key=_draw)
        some = (ask for page in drawn if (ask := _ask(page, task, page.name in parents)) and _stands_once(ask, texts))
        chosen += [ask for ask, _ in zip(some, range(size), strict=False)]
    return sorted(chosen, key=lambda ask: (ask.task, ask.page))


def _draw(page: Page) -> bytes:
    return hashlib.sha256(page.name.encode()).digest()


def _ask(page: Page, task: str, has_members: bool) -> Ask | None:
    """The query that a page's first sentence makes, if it is fit for one."""
    label = len(page.name) if page.doc.startswith(page.name + "\n") else 0  # a line of its own, as in `distutils`
    start, stop = first_sentence(page.doc, label)
    sentence = page.doc[start:stop]
    text = " ".join(_without_name(sentence, page.name).split())
    meaning = [word for word in words(text) if word not in EMPTY_WORDS and len(word) > 1]
    rest = words(page.doc[:start] + page.doc[stop:])
    bare = len(rest) < LEAST_REST and not (task == "HP" and has_members)
    if bare or len(set(meaning)) < LEAST_WORDS or CODE.search(sentence):
        return None
    return Ask(page.name, task, text, start, stop)


def first_sentence(doc: str, after: int = 0) -> tuple[int, int]:
    """Where the first sentence of a text begins and ends: at a full stop, or where its paragraph ends.

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
    """A synopsis without the label that it often begins with: `heapq -- a heap queue`."""
    last = re.escape(name.rpartition(".")[2])
    label = rf"(?:module\s+)?(?:[\w.]*\b)?{last}(?:\.py)?(?:\s+module)?\s*(?:--?|:)\s+"
    return re.sub("^" + label, "", sentence, flags=re.IGNORECASE)


def _stands_once(ask: Ask, texts: str) -> bool:
    """Whether no other page says the same; words are compared, not signs."""
    return texts.count(f" {' '.join(words(ask.text))} ") == 1


def cut(pages: Mapping[str, Page], asked: list[Ask]) -> dict[str, Page]:
    """The pages, the sentences that are asked for taken out."""
    whole = dict(pages)
    for ask in asked:
        doc = whole[ask.page].doc
        whole[ask.page] = replace(whole[ask.page], doc=(doc[: ask.start] + doc[ask.stop :]).strip())
    return whole


@cache
def topics() -> tuple[Topic, ...]:
    """The topics of `topics.toml`."""
    table = tomllib.loads(resources.files(__package__).joinpath("topics.toml").read_text("utf-8"))
    return tuple(_topic(key, entry) for key, entry in table.items())


def _topic(key: str, entry: Mapping[str, object]) -> Topic:
    judged: dict[str, int] = {}
    for grade, field in ((2, "entry"), (1, "useful"), (0, "not")):
        for name in str(entry.get(field, "")).split():
            if name in judged:
                raise DataError(f"topic {key} judges {name} twice", "topics.toml")
            judged[name] = grade
    return Topic(key, str(entry["title"]), str(entry["description"]), judged)


def queries(asked: list[Ask], tasks: tuple[str, ...]) -> Iterator[tuple[Query, Mapping[str, int]]]:
    """The queries of the tasks, each with its judgements."""
    for task in tasks:
        if task == "TD":
            for topic in topics():
                fields = {"title": topic.title, "description": topic.description}
                yield Query(topic.id, topic.title, fields, task), topic.judgements
        for number, ask in enumerate((ask for ask in asked if ask.task == task), start=1):
            yield Query(f"{task}{number}", ask.text, {"title": ask.text}, task), {ask.page: 1}
