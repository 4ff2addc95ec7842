"""A folder of HTML files, with the urls they came from in `urls.tsv` (`file<TAB>url` per line) if there is one.

With a list, the documents are the files it names, in its order. Without one, they are all `.html` and `.htm` files, and
the path in the folder is the url. The id is the path in the folder, with `%20` for a blank, which ids cannot have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.files import LOOK, files_under, lines, open_stream
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect
from pippin.collection.readers.judged import matched
from pippin.collection.readers.web import Nested, RawPage, page_documents, web_streams
from pippin.errors import DataError

ENDINGS = (".html", ".htm", ".xhtml", ".shtml")
LISTS = re.compile(r"urls\.(tsv|txt)", re.IGNORECASE)


def _recognise(path: Path) -> bool:
    return path.is_dir() and any(file.suffix.lower() in ENDINGS for file in islice(files_under(path), LOOK))


def _listed(path: Path, urls: Path) -> list[tuple[str, str]]:
    pairs = []
    for number, line in lines(urls):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise DataError("two columns separated by a tab are expected: file, url", urls, number)
        if not (path / cells[0]).is_file():
            raise DataError(f"there is no file {cells[0]}", urls, number)
        pairs.append((cells[0], cells[1]))
    return pairs


def _pages(path: Path, pages: list[tuple[str, str]]) -> Iterator[RawPage]:
    for file, url in pages:
        with open_stream(path / file) as stream:
            data = stream.read()
        yield RawPage("%20".join(file.split()), url, data)


def _open(wanted: Wanted) -> Collection:
    if not wanted.path.is_dir():
        raise DataError("a folder of HTML files is expected", wanted.path)
    urls = wanted.one([p for p in sorted(wanted.path.iterdir()) if p.is_file() and LISTS.fullmatch(p.name)], "urls")
    if urls:
        pages = _listed(wanted.path, urls)
    else:
        files = [file for file in files_under(wanted.path) if file.suffix.lower() in ENDINGS]
        names = [file.relative_to(wanted.path).as_posix() for file in files]
        pages = list(zip(names, names, strict=True))
    if not pages:
        raise DataError(f"the folder has no HTML file ({', '.join(ENDINGS)})", wanted.path)
    streams, nested = web_streams(wanted), Nested()
    collection = collect(
        wanted, streams, lambda: page_documents(_pages(wanted.path, pages), streams, wanted.jobs, nested), notes=nested,
        files=[wanted.path / file for file, _ in pages],
    )  # fmt: skip
    return replace(collection, judgements=matched(collection.judgements, ["%20".join(f.split()) for f, _ in pages]))


READERS.register("html", Reader("a folder of `.html` files, urls in `urls.tsv`", _recognise, _open, endings=ENDINGS))
