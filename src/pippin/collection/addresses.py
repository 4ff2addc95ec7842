"""Which document does a link mean? Ids and urls of a collection, looked up as links write them.

A target is looked for (1) resolved against the page's url, where the page has one, (2) as an id, (3) as a url as it is.
A url that no document has by the letter may still be that of a directory whose index page is there, with or without
the slash at its end: servers lead to the same page (our choice). Of several documents with one url the first is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pippin.collection.collection import Collection, Document, Link
from pippin.collection.urls import canonical, directory, follow, is_index
from pippin.errors import DataError


@dataclass(frozen=True, eq=False)
class Addresses:
    """The ids and canonical urls of all documents, by number."""

    ids: tuple[str, ...]
    urls: tuple[str, ...]  # canonical; empty where a document has none, or none that parses
    unparsed: int  # urls given that do not parse
    _by_id: dict[str, int]
    _by_url: dict[str, int]

    @classmethod
    def of(cls, collection: Collection) -> Addresses:
        """All addresses of a collection, in one pass over it."""
        pairs = [(document.id, document.url) for document in collection]
        return cls.given([i for i, _ in pairs], [u for _, u in pairs])

    @classmethod
    def given(cls, ids: Iterable[str], urls: Iterable[str]) -> Addresses:
        """The addresses of documents with these ids and urls as written.

        >>> book = Addresses.given(["d1", "d2"], ["http://a.gov/", "http://a.gov/mars/index.html"])
        >>> [book.find(book.urls[0], target) for target in ("mars", "d1", "http://b.gov/")]
        [1, 0, -1]
        """
        written = tuple(urls)
        pages = tuple(map(canonical, written))
        return cls.of_pages(ids, pages, sum(bool(w) and not p for w, p in zip(written, pages, strict=True)))

    @classmethod
    def of_pages(cls, ids: Iterable[str], pages: Iterable[str], unparsed: int = 0) -> Addresses:
        """The addresses of documents with these ids and canonical urls."""
        ids, pages = tuple(ids), tuple(pages)
        by_id: dict[str, int] = {}
        for number, name in enumerate(ids):
            if by_id.setdefault(name, number) != number:
                raise DataError(f"two documents have the id {name!r}")
        by_url: dict[str, int] = {}
        for number, page in enumerate(pages):
            if page:
                by_url.setdefault(page, number)
        for number in _directory_pages(pages):  # after all urls: what stands there by the letter goes first
            by_url.setdefault(directory(pages[number]), number)
        return cls(ids, pages, unparsed, by_id, by_url)

    def find(self, page: str, target: str) -> int:
        """The number of the document that a link on page `page` (canonical url, or empty) leads to; −1 if outside."""
        if page:
            number = self._at(follow(page, target))
            if number >= 0:
                return number
        number = self._by_id.get(target, -1)
        if number < 0:
            number = self._by_url.get(target, -1)
        return number if number >= 0 else self._at(canonical(target))

    def _at(self, url: str) -> int:
        if not url:
            return -1
        number = self._by_url.get(url)
        if number is None and "?" not in url:
            number = self._by_url.get(directory(url) if is_index(url) else url + "/")
        return -1 if number is None else number

    def links(
        self, documents: Iterable[Document], first: int = 0, last: int | None = None
    ) -> Iterator[tuple[int, str, Link, int]]:
        """Each link of the documents `first` up to `last`: source, its canonical url, the link, target (−1 outside)."""
        number = first - 1
        for number, document in enumerate(documents, first):
            if number >= len(self.ids) or document.id != self.ids[number]:
                raise DataError("the collection gives other documents when it is read again")
            page = self.urls[number]
            for link in document.links:
                yield number, page, link, self.find(page, link.target)
        if number + 1 != (len(self.ids) if last is None else last):
            raise DataError("the collection gives fewer documents when it is read again")


def _directory_pages(pages: tuple[str, ...]) -> list[int]:
    """Pages that may stand for their directory, those first that have the better claim: shortest url, lowest number."""
    return sorted((n for n, page in enumerate(pages) if page and is_index(page)), key=lambda n: (len(pages[n]), n))
