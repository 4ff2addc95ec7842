"""Which page does an address mean, and what does the address alone say of the page?

Canonical form (choices of ours where the sources are silent): the scheme, user, default port and fragment are dropped,
the host is lower-cased ("www." stays), `//`, `/./` and `/../` are collapsed, %XX of plain characters is decoded, an
empty path becomes `/`. Upper and lower case of the path, the query and its order stay as they are. What has no
scheme is an address of the web if its first part looks like a host's name, else a path (as of files in a folder) on a
host without name.

>>> canonical("HTTP://A.gov:80/x/../mars//rover.html#top")
'a.gov/mars/rover.html'
>>> resolve("http://a.gov/mars/", "../b.html"), resolve("http://a.gov/", "mailto:me@a.gov")
('a.gov/b.html', '')
>>> canonical("a.gov/x.html"), canonical("x/index.html"), resolve("x/index.html", "../y.html")
('a.gov/x.html', '/x/index.html', '/y.html')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_NO_PAGE = re.compile(r"(?:mailto|javascript|ftp|ftps|data|tel|news|about|irc|sms|blob|gopher):", re.IGNORECASE)
# A name with a dot whose last part is of letters and no file's ending; or localhost, or four numbers; perhaps a port.
_HOST = re.compile(
    r"(?:[^/?#:@\s]*\.(?!(?:s?html?|xhtml|php|asp|jsp|cfm|cgi|txt|pdf|xml|json|md|rst)(?:[/?#:]|$))[A-Za-z]{2,}\.?|localhost|\d+(?:\.\d+){3})"
    r"(?::\d*)?(?:[/?#]|$)", re.IGNORECASE,
)  # fmt: skip
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_INDEX = re.compile(r"(?:index|default|home|main|welcome)\.(?:html?|shtml|asp|jsp|cfm|php)", re.IGNORECASE)
_SESSION = re.compile(
    r"(?:^|(?<=&))(?:sid|session_?id|phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken)=[^&]*&?", re.I
)
_PATH_SESSION = re.compile(r";jsessionid=[^/?]*", re.IGNORECASE)
_SPACE = re.compile(r"[\s\x00-\x20]")
_TOKEN = re.compile(r"[^\W_]+")
_USUAL_PORTS = (80, 443)  # whichever: the scheme is dropped too


def canonical(url: str, *, drop_sessions: bool = False) -> str:
    """The address of a page in its one form; empty if it does not parse or is none of a page (mail, script, ftp).

    `drop_sessions` takes parameters away that look like session ids.
    """
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
    if port is not None and port not in _USUAL_PORTS:
        host = f"{host}:{port}"
    path, query = _plain(_SPACE.sub("%20", parts.path)), _SPACE.sub("%20", parts.query)
    if drop_sessions:
        path, query = _PATH_SESSION.sub("", path), _SESSION.sub("", query).rstrip("&")
    return f"{host}{_collapse(path)}" + (f"?{query}" if query else "")


def _with_scheme(url: str) -> str:
    if _SCHEME.match(url) or url.startswith("//"):
        return url
    return "//" + url if _HOST.match(url) else "file:///" + url.lstrip("/")


def _plain(path: str) -> str:
    """Characters that need no escape, unescaped; other escapes in upper case."""
    if "%" not in path:
        return path
    return _PERCENT.sub(lambda m: c if (c := chr(int(m[1], 16))) in _PLAIN else m[0].upper(), path)


def _collapse(path: str) -> str:
    """A path without empty, `.` and `..` segments.

    >>> _collapse("/a//b/./../c/.."), _collapse("")
    ('/a/', '/')
    """
    if "//" not in path and "/." not in path:
        return path or "/"
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    folder = segments[-1] in ("", ".", "..")
    return "/" + "/".join(kept) + ("/" if folder and kept else "")


def resolve(base: str, target: str) -> str:
    """The canonical address that a link written on page `base` leads to; empty if it is none of a page."""
    return follow(canonical(base), target)


def follow(page: str, target: str) -> str:
    """The same for a page whose canonical address is at hand.

    >>> follow("intranet/x", "y")
    'intranet/y'
    """
    target = target.strip()
    if _NO_PAGE.match(target):
        return ""
    # What stands behind “#” is a place in a page: most links of a page are to a few others. Blanks before it count only
    # because something follows.
    bare = target.partition("#")[0]
    return _joined(page, bare if not bare or bare.split() == [bare] else target)


@lru_cache(1 << 16)
def _joined(page: str, target: str) -> str:
    try:
        return canonical(urljoin("file://" + page if page.startswith("/") else "http://" + page, target))
    except ValueError:
        return ""


def tokens(url: str) -> list[str]:
    """The words of an address: lower-cased, split at everything that is neither letter nor digit, without the scheme.

    >>> tokens("http://www.A.gov/mars_2/rover.html?id=3")
    ['www', 'a', 'gov', 'mars', '2', 'rover', 'html', 'id', '3']
    """
    return _TOKEN.findall((canonical(url) or url).lower())


def host(page: str) -> str:
    """The host of a canonical address (with its port, where it is not the usual one)."""
    return page.partition("/")[0]


def directory(page: str) -> str:
    """The directory of a canonical address, with the slash at its end.

    >>> directory("a.gov/mars/rover.html?by=/x"), directory("a.gov/")
    ('a.gov/mars/', 'a.gov/')
    """
    path = page.partition("?")[0]
    return path[: path.rfind("/") + 1]


def is_index(page: str) -> bool:
    """Whether a canonical address stands for its directory: nothing after the last slash, or an index page's name.

    >>> [is_index(page) for page in ("a.gov/", "a.gov/Index.HTM", "a.gov/index.php?id=3", "a.gov/x.html")]
    [True, True, False, False]
    """
    if "?" in page:
        return False
    last = page[page.rfind("/") + 1 :]
    return not last or _INDEX.fullmatch(last) is not None


def ancestors(folder: str) -> Iterator[str]:
    """The directories above a directory on the same host, the nearest first.

    >>> list(ancestors("a.gov/x/y/"))
    ['a.gov/x/', 'a.gov/']
    """
    end = len(folder) - 1
    while (end := folder.rfind("/", 0, end)) >= 0:
        yield folder[: end + 1]


def slashes(page: str) -> int:
    """Slashes of a canonical address, which has no scheme (feature 58).

    >>> slashes(canonical("http://a.gov/")), slashes(canonical("http://a.gov/mars/rover.html"))
    (1, 2)
    """
    return page.count("/")


def length(page: str) -> int:
    """Characters of a canonical address (feature 59).

    >>> length(canonical("http://a.gov/mars/"))
    11
    """
    return len(page)
