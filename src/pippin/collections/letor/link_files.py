"""Write LETOR's files about pages and their links: `linkgraph.txt`, `sitemap.txt` and `docmap.txt`.

The formats are those of LETOR 4.0 as far as they are known (LETOR 3.0's own were not found): fields separated by
blanks, pages by number from 0, a first line that begins with `#`.
  linkgraph.txt   page, number of in-links, the pages they come from
  sitemap.txt     page, depth (slashes of the url after the domain), length of the url, children, parent (−1 none)
  docmap.txt      page, document id
`links.schema.json` describes them for programs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from pippin.collections.links.link_index import LinkIndex
from pippin.storage.files import atomic_write

LINK_GRAPH, SITE_MAP, DOCUMENT_MAP, SCHEMA = "linkgraph.txt", "sitemap.txt", "docmap.txt", "links.schema.json"
_FIELDS = {
    LINK_GRAPH: ("page", "in-links", "source …"),
    SITE_MAP: ("page", "depth", "url-length", "children", "parent"),
    DOCUMENT_MAP: ("page", "document"),
}
_MEANING = {
    "page": "number of the page, from 0",
    "in-links": "how many pages point to it",
    "source …": "the pages that point to it, ascending",
    "depth": "slashes of its url after the domain",
    "url-length": "characters of its url without the scheme",
    "children": "pages right below it",
    "parent": "the page right above it, -1 for none",
    "document": "id of the document",
}


def write_link_files(links: LinkIndex, folder: str | os.PathLike[str]) -> None:
    """Write the three files and their schema into a folder, which is created if it does not exist."""
    path, sitemap = Path(folder), links.sitemap
    path.mkdir(parents=True, exist_ok=True)
    sources = (links.graph.sources(page).tolist() for page in range(links.graph.pages))
    _write(path, LINK_GRAPH, ((page, len(of_page), *of_page) for page, of_page in enumerate(sources)))
    depth = np.maximum(links.slashes - 1, 0)
    columns = (np.arange(sitemap.pages), depth, links.url_lengths, sitemap.child_counts, sitemap.parent)
    _write(path, SITE_MAP, np.column_stack(columns).tolist())
    _write(path, DOCUMENT_MAP, enumerate(links.ids))
    schema = {
        name: {"separator": " ", "comment": "#", "fields": [{"name": f, "meaning": _MEANING[f]} for f in fields]}
        for name, fields in _FIELDS.items()
    }
    with atomic_write(path / SCHEMA, follow=False) as file:
        file.write((json.dumps(schema, indent=1, ensure_ascii=False) + "\n").encode())


def _write(folder: Path, name: str, rows: Iterable[Iterable[object]]) -> None:
    with atomic_write(folder / name, follow=False) as file:
        file.write(f"# {' '.join(_FIELDS[name])}\n".encode())
        file.writelines(" ".join(map(str, row)).encode() + b"\n" for row in rows)
