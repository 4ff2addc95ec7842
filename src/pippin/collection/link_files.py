"""LETOR's files about pages and their links: `linkgraph.txt`, `sitemap.txt` and `docmap.txt`, read and written.

The forms are those of LETOR 4.0 as far as they are known (LETOR 3.0's own were not found): blanks between fields, pages
by number from 0, a first line that begins with `#`.
  linkgraph.txt   page, number of in-links, the pages they come from
  sitemap.txt     page, depth (slashes of the url after the domain), length of the url, children, parent (−1 none)
  docmap.txt      page, document id
`links.schema.json` beside them says so to machines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.collection.graph import Graph, Numbers
from pippin.collection.sitemap import Sitemap
from pippin.collection.web import Web
from pippin.data.buffers import open_buffer
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.files import atomic_write

LINK_GRAPH, SITE_MAP, DOCUMENT_MAP, SCHEMA = "linkgraph.txt", "sitemap.txt", "docmap.txt", "links.schema.json"
_FIELDS = {
    LINK_GRAPH: ("page", "in-links", "source …"),
    SITE_MAP: ("page", "depth", "url-length", "children", "parent"),
    DOCUMENT_MAP: ("page", "document"),
}
_MEANING = {
    "page": "number of the page, from 0",
    "in-links": "how many pages point to it",
    "source …": "the pages that point to it, ascending; as many as in-links says",
    "depth": "slashes of its url after the domain",
    "url-length": "characters of its url without the scheme",
    "children": "pages right below it",
    "parent": "the page right above it, -1 for none",
    "document": "id of the document",
}


@dataclass(frozen=True, eq=False)
class SitemapFile:
    """What a sitemap file says."""

    sitemap: Sitemap
    depth: Numbers  # slashes after the domain, which is not the depth in the tree
    url_lengths: Numbers


def write_link_files(web: Web, folder: str | os.PathLike[str]) -> None:
    """Write the three files and their schema into a folder, which is made if it is not there."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_linkgraph(web.graph, place / LINK_GRAPH)
    write_sitemap(web.sitemap, np.maximum(web.slashes - 1, 0), web.url_lengths, place / SITE_MAP)
    write_docmap(web.ids, place / DOCUMENT_MAP)
    form = {
        name: {"separator": " ", "comment": "#", "fields": [{"name": f, "meaning": _MEANING[f]} for f in fields]}
        for name, fields in _FIELDS.items()
    }
    with atomic_write(place / SCHEMA, follow=False) as file:
        file.write((json.dumps(form, indent=1, ensure_ascii=False) + "\n").encode())


def _write(path: str | os.PathLike[str], name: str, lines: Iterable[str]) -> None:
    with atomic_write(path, follow=False) as file:
        file.write(f"# {' '.join(_FIELDS[name])}\n".encode())
        for line in lines:
            file.write(f"{line}\n".encode())


def write_linkgraph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write the links, a line per page."""
    _write(path, LINK_GRAPH, (
        " ".join(map(str, (page, len(sources), *sources)))
        for page, sources in enumerate(graph.sources(page).tolist() for page in range(graph.pages))
    ))  # fmt: skip


def write_sitemap(sitemap: Sitemap, depth: Numbers, url_lengths: Numbers, path: str | os.PathLike[str]) -> None:
    """Write the sitemap, a line per page."""
    columns = np.column_stack((np.arange(sitemap.pages), depth, url_lengths, sitemap.child_counts, sitemap.parent))
    _write(path, SITE_MAP, (" ".join(map(str, row)) for row in columns.tolist()))


def write_docmap(ids: Iterable[str], path: str | os.PathLike[str]) -> None:
    """Write which page is which document."""
    _write(path, DOCUMENT_MAP, (f"{page} {name}" for page, name in enumerate(ids)))


def read_linkgraph(path: str | os.PathLike[str]) -> Graph:
    """The links that a file says; links of a page to itself and repeats are counted and left out."""
    sources: list[NDArray[np.int64]] = []
    for line, page, fields in _rows(path):
        numbers = _numbers(fields, path, line)
        if not len(numbers) or numbers[0] != len(numbers) - 1:
            said = int(numbers[0]) if len(numbers) else 0
            raise DataError(f"page {page} has {max(len(numbers) - 1, 0)} in-links where it says {said}", path, line)
        sources.append(numbers[1:])
    pages = len(sources)
    counts = np.array([len(some) for some in sources], np.int64)
    start = np.concatenate(sources) if sources else np.zeros(0, np.int64)
    for page, some in enumerate(sources):
        if len(some) and not 0 <= some.min() <= some.max() < pages:
            raise DataError(f"page {page} has an in-link from a page outside 0 … {pages - 1}", path)
    return Graph.of(pages, start, np.repeat(np.arange(pages), counts))


def read_sitemap(path: str | os.PathLike[str]) -> SitemapFile:
    """The sitemap that a file says; a cycle, or children that are not those of the parents, is a DataError."""
    table: list[NDArray[np.int64]] = []
    for line, page, fields in _rows(path):
        numbers = _numbers(fields, path, line)
        if len(numbers) != 4:
            raise DataError(f"page {page} has {len(numbers) + 1} fields, not {len(_FIELDS[SITE_MAP])}", path, line)
        table.append(numbers)
    values = np.array(table, np.int64).reshape(-1, 4)
    try:
        sitemap = Sitemap.of_parents(values[:, 3])
    except DataError as error:
        raise DataError(error.message, path) from None
    wrong = np.flatnonzero(sitemap.child_counts != values[:, 2])
    if len(wrong):
        page = int(wrong[0])
        there = int(sitemap.child_counts[page])
        raise DataError(f"page {page} says {values[page, 2]} children, but is the parent of {there}", path)
    return SitemapFile(sitemap, values[:, 0].astype(np.int32), values[:, 1].astype(np.int32))


def read_docmap(path: str | os.PathLike[str]) -> Texts:
    """The document id of each page."""
    names = [(line, page, " ".join(fields)) for line, page, fields in _rows(path)]
    for line, page, name in names:
        if not name:
            raise DataError(f"page {page} has no document id", path, line)
    return Texts.of(name for _, _, name in names)


def _rows(path: str | os.PathLike[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Line number, page and the other fields of each line; pages must come as 0, 1, 2 …"""
    expected = 0
    text = open_buffer(path).data.tobytes().decode("utf-8", "replace")
    for line, content in enumerate(text.split("\n"), 1):
        fields = content.split()
        if not fields or fields[0].startswith("#"):
            continue
        if fields[0] != str(expected):
            raise DataError(f"page {expected} is expected here, not {fields[0]!r}", path, line)
        yield line, expected, fields[1:]
        expected += 1


def _numbers(fields: list[str], path: str | os.PathLike[str], line: int) -> NDArray[np.int64]:
    try:
        return np.array(fields, np.int64) if fields else np.zeros(0, np.int64)
    except (ValueError, OverflowError):
        raise DataError("a field is no whole number", path, line) from None
