"""From a page of HTML to a document, for all formats that hold pages.

Streams are body, anchor, title, url and the extracted title, headings where asked for. The anchor stays empty here: it
is gathered from the links of all pages. Links stand as written, unless the page names another base.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urljoin

from pippin.collection.collection import Document, Link
from pippin.collection.extracted_title import extract_title
from pippin.collection.html import DEPTH, decode, flattened, parse_html
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import EXTRACTED, HEADINGS, WEB_STREAMS
from pippin.collection.readers.fields import without_scheme
from pippin.collection.urls import canonical, host


def web_streams(wanted: Wanted) -> tuple[str, ...]:
    """The streams of web pages that were asked for; where only links matter, those that cost nothing."""
    if wanted.links_only:
        return ("url",)
    return wanted.choose((*WEB_STREAMS, HEADINGS), WEB_STREAMS)


class RawPage(NamedTuple):
    """A page as it was found: its id, its address, its bytes, and the encoding that came with it."""

    id: str
    url: str
    data: bytes
    charset: str | None = None


class Nested(Sequence[str]):
    """How many of the pages that were read last nest absurdly, as a sentence for the collection's notes."""

    def __init__(self) -> None:
        self.pages = 0

    def counted(self, pages: Iterable[RawPage]) -> Iterator[RawPage]:
        """The pages, looked at as they go by."""
        self.pages = 0
        for page in pages:
            text = page.data.decode("latin-1")
            self.pages += flattened(text) is not text
            yield page

    def _sentences(self) -> list[str]:
        some = f"{self.pages:,} pages nest" if self.pages > 1 else "1 page nests"
        return [f"{some} elements more than {DEPTH} deep, which were opened no further"] if self.pages else []

    def __len__(self) -> int:
        return len(self._sentences())

    def __getitem__(self, item: Any) -> Any:
        return self._sentences()[item]


def page_documents(pages: Iterable[RawPage], streams: tuple[str, ...], jobs: int, nested: Nested) -> Iterator[Document]:
    """The documents that pages are, in their order; parsed by several processes if `jobs` says so.

    Parsing is Python's work, which threads cannot share. No more than a few pages per process are under way.
    """
    pages = nested.counted(pages)
    if jobs < 2:
        for page in pages:
            yield page_document(*page[:3], streams, page.charset)
        return
    from pippin.collection.readers.parsers import Parsers

    with Parsers(jobs, streams) as parsers:
        yield from parsers.parse(pages)


def page_document(name: str, url: str, data: bytes, streams: tuple[str, ...], charset: str | None = None) -> Document:
    """The document that a page is."""
    page = parse_html(data, encoding=charset)
    said = {"body": page.body, "title": page.title, "url": without_scheme(url)}
    if EXTRACTED in streams:
        said[EXTRACTED] = extract_title(flattened(decode(data, charset)[0]), host=host(canonical(url))).text
    if HEADINGS in streams:
        said[HEADINGS] = " ".join(text for _, text in page.headings)
    links = tuple(_resolve(link, url, page.base) for link in page.links) if page.base else page.links
    return Document(name, {stream: text for stream, text in said.items() if stream in streams}, url, links)


def _resolve(link: Link, url: str, base: str) -> Link:
    with suppress(ValueError):  # brackets that are no address: the link stays as written
        return Link(urljoin(urljoin(url, base), link.target), link.text)
    return link
