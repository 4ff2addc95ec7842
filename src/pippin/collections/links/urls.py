"""Canonical URLs, and lookup of documents by URL.

Canonical form (choices of ours where the sources are silent): the scheme, user, default port and fragment are dropped,
the host is lower-cased ("www." stays), `//`, `/./` and `/../` are collapsed, %XX of plain characters is decoded, an
empty path becomes `/`. Case of the path, the query and its order stay as they are. An address without scheme is a URL
if its first part looks like a host name, else a path (as of files in a folder) on a host without name.

>>> canonical("HTTP://A.gov:80/x/../mars//rover.html#top")
'a.gov/mars/rover.html'
>>> resolve("http://a.gov/mars/", "../b.html"), resolve("http://a.gov/", "mailto:me@a.gov")
('a.gov/b.html', '')
>>> canonical("a.gov/x.html"), canonical("x/index.html"), resolve("x/index.html", "../y.html")
('a.gov/x.html', '/x/index.html', '/y.html')

`DocumentUrls` finds the documents that links point to. A target is looked up (1) resolved against the page's url, if
the page has one, (2) as an id, (3) as a url as written. If no document has that url, the index page of the directory
matches, with or without a slash at the end, because servers return the same page (our choice). Of several documents
with one url the first matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from pippin.collections.collection import Collection, Document, Link
from pippin.errors import DataError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_NO_PAGE = re.compile(r"(?:mailto|javascript|ftp|ftps|data|tel|news|about|irc|sms|blob|gopher):", re.IGNORECASE)
# A name with a dot whose last part has letters and differs from file suffixes; or localhost, or four numbers; a port.
_HOST = re.compile(
    r"(?:[^/?#:@\s]*\.(?!(?:s?html?|xhtml|php|asp|jsp|cfm|cgi|txt|pdf|xml|json|md|rst)(?:[/?#:]|$))[A-Za-z]{2,}\.?|localhost|\d+(?:\.\d+){3})"
    r"(?::\d*)?(?:[/?#]|$)", re.IGNORECASE,
)  # fmt: skip
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_INDEX = re.compile(r"(?:index|default|home|main|welcome)\.(?:html?|shtml|asp|jsp|cfm|php)", re.IGNORECASE)
_SPACE = re.compile(r"[\s\x00-\x20]")
_TOKEN = re.compile(r"[^\W_]+")
_DEFAULT_PORTS = (80, 443)  # of any scheme, because the scheme is dropped too


def canonical(url: str) -> str:
    """Return the canonical form of a URL; empty for invalid URLs and other schemes (mail, script, ftp)."""
    url = url.strip()
    if not url or _NO_PAGE.match(url):
        return ""
    try:
        parts = urlsplit(_with_scheme(url))
        port = parts.port
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".")
    if not host and parts.scheme != "file":
        return ""
    if port is not None and port not in _DEFAULT_PORTS:
        host = f"{host}:{port}"
    path, query = _unescape(_SPACE.sub("%20", parts.path)), _SPACE.sub("%20", parts.query)
    return f"{host}{_collapse(path)}" + (f"?{query}" if query else "")


def _with_scheme(url: str) -> str:
    if _SCHEME.match(url) or url.startswith("//"):
        return url
    return "//" + url if _HOST.match(url) else "file:///" + url.lstrip("/")


def _unescape(path: str) -> str:
    """Decode escapes of characters that need none; write other escapes in upper case."""
    if "%" not in path:
        return path
    return _PERCENT.sub(lambda m: c if (c := chr(int(m[1], 16))) in _PLAIN else m[0].upper(), path)


def _collapse(path: str) -> str:
    """Remove empty, `.` and `..` segments from a path.

    >>> _collapse("/a//b/./../c/.."), _collapse("")
    ('/a/', '/')
    """
    if "//" not in path and "/." not in path:
        return path or "/"
    collapsed: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del collapsed[-1:]
        elif segment not in ("", "."):
            collapsed.append(segment)
    folder = segments[-1] in ("", ".", "..")
    return "/" + "/".join(collapsed) + ("/" if folder and collapsed else "")


def resolve(base: str, target: str) -> str:
    """Return the canonical URL of a link on page `base`; empty if it leads to no page."""
    return follow(canonical(base), target)


def follow(page: str, target: str) -> str:
    """Return the canonical URL of a link on a page with a canonical URL.

    >>> follow("intranet/x", "y")
    'intranet/y'
    """
    target = target.strip()
    if _NO_PAGE.match(target):
        return ""
    # Without fragments, many links of a page are equal, which the cache uses. Blanks before “#” count only because
    # something follows.
    without_fragment = target.partition("#")[0]
    is_simple = not without_fragment or without_fragment.split() == [without_fragment]
    return _join(page, without_fragment if is_simple else target)


@lru_cache(1 << 16)
def _join(page: str, target: str) -> str:
    try:
        return canonical(urljoin("file://" + page if page.startswith("/") else "http://" + page, target))
    except ValueError:
        return ""


def tokens(url: str) -> list[str]:
    """Return the words of a URL: lower-cased, split at everything that is neither letter nor digit, without scheme.

    >>> tokens("http://www.A.gov/mars_2/rover.html?id=3")
    ['www', 'a', 'gov', 'mars', '2', 'rover', 'html', 'id', '3']
    """
    return _TOKEN.findall((canonical(url) or url).lower())


def host(page: str) -> str:
    """Return the host of a canonical URL (with its port unless it is a default port)."""
    return page.partition("/")[0]


def directory(page: str) -> str:
    """Return the directory of a canonical URL, with the slash at its end.

    >>> directory("a.gov/mars/rover.html?by=/x"), directory("a.gov/")
    ('a.gov/mars/', 'a.gov/')
    """
    path = page.partition("?")[0]
    return path[: path.rfind("/") + 1]


def is_index(page: str) -> bool:
    """Return whether a canonical URL is the page of its directory: it ends in a slash or the name of an index page.

    >>> [is_index(page) for page in ("a.gov/", "a.gov/Index.HTM", "a.gov/index.php?id=3", "a.gov/x.html")]
    [True, True, False, False]
    """
    if "?" in page:
        return False
    name = page[page.rfind("/") + 1 :]
    return not name or _INDEX.fullmatch(name) is not None


def directory_pages(pages: Sequence[str]) -> list[int]:
    """Return the pages that may be those of their directories: the shortest URL, then the lowest number first."""
    return sorted((n for n, page in enumerate(pages) if page and is_index(page)), key=lambda n: (len(pages[n]), n))


def ancestors(folder: str) -> Iterator[str]:
    """Yield the directories above a directory on the same host, the nearest first.

    >>> list(ancestors("a.gov/x/y/"))
    ['a.gov/x/', 'a.gov/']
    """
    end = len(folder) - 1
    while (end := folder.rfind("/", 0, end)) >= 0:
        yield folder[: end + 1]


def slashes(page: str) -> int:
    """Return the number of slashes of a canonical URL without scheme (feature 58).

    >>> slashes(canonical("http://a.gov/")), slashes(canonical("http://a.gov/mars/rover.html"))
    (1, 2)
    """
    return page.count("/")


def length(page: str) -> int:
    """Return the number of characters of a canonical URL (feature 59).

    >>> length(canonical("http://a.gov/mars/"))
    11
    """
    return len(page)


@dataclass(frozen=True, eq=False)
class DocumentUrls:
    """The ids and canonical urls of all documents, by number."""

    ids: tuple[str, ...]
    urls: tuple[str, ...]  # canonical; empty for a document without a URL that parses
    unparsed: int  # number of urls that do not parse
    _by_id: dict[str, int]
    _by_url: dict[str, int]

    @classmethod
    def of(cls, collection: Collection) -> DocumentUrls:
        """Read the ids and URLs of a collection, in one pass."""
        pairs = [(document.id, document.url) for document in collection]
        return cls.from_urls([i for i, _ in pairs], [u for _, u in pairs])

    @classmethod
    def from_urls(cls, ids: Iterable[str], urls: Iterable[str]) -> DocumentUrls:
        """Return the lookup of documents with these ids and URLs as written.

        >>> documents = DocumentUrls.from_urls(["d1", "d2"], ["http://a.gov/", "http://a.gov/mars/index.html"])
        >>> [documents.find(documents.urls[0], target) for target in ("mars", "d1", "http://b.gov/")]
        [1, 0, -1]
        """
        raw = tuple(urls)
        pages = tuple(map(canonical, raw))
        return cls.of_pages(ids, pages, sum(bool(url) and not page for url, page in zip(raw, pages, strict=True)))

    @classmethod
    def of_pages(cls, ids: Iterable[str], pages: Iterable[str], unparsed: int = 0) -> DocumentUrls:
        """Return the lookup of documents with these ids and canonical URLs."""
        ids, pages = tuple(ids), tuple(pages)
        by_id: dict[str, int] = {}
        for number, name in enumerate(ids):
            if by_id.setdefault(name, number) != number:
                raise DataError(f"two documents have the id {name!r}")
        by_url: dict[str, int] = {}
        for number, page in enumerate(pages):
            if page:
                by_url.setdefault(page, number)
        for number in directory_pages(pages):  # after all urls, because an exact match takes precedence
            by_url.setdefault(directory(pages[number]), number)
        return cls(ids, pages, unparsed, by_id, by_url)

    def find(self, page: str, target: str) -> int:
        """Return the document that a link on page `page` (canonical URL, or empty) leads to; −1 if outside."""
        if page:
            number = self._find_url(follow(page, target))
            if number >= 0:
                return number
        number = self._by_id.get(target, -1)
        if number < 0:
            number = self._by_url.get(target, -1)
        return number if number >= 0 else self._find_url(canonical(target))

    def _find_url(self, url: str) -> int:
        if not url:
            return -1
        number = self._by_url.get(url)
        if number is None and "?" not in url:
            number = self._by_url.get(directory(url) if is_index(url) else url + "/")
        return -1 if number is None else number

    def links(self, documents: Iterable[Document]) -> Iterator[tuple[int, str, Link, int]]:
        """Yield each link of all documents: source, its canonical URL, the link, target (−1 outside)."""
        number = -1
        for number, document in enumerate(documents):
            if number >= len(self.ids) or document.id != self.ids[number]:
                raise DataError("the documents of the collection changed between two passes")
            page = self.urls[number]
            for link in document.links:
                yield number, page, link, self.find(page, link.target)
        if number + 1 != len(self.ids):
            raise DataError("the documents of the collection changed between two passes")
