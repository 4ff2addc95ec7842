"""TREC's web pages (WT10g, “.GOV”, GOV2): `<DOC>`, `<DOCNO>`, `<DOCHDR>` with url and HTTP header, then the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect
from pippin.collection.readers.bundles import bundles, pieces, recogniser
from pippin.collection.readers.web import Nested, RawPage, page_documents, web_streams
from pippin.errors import DataError

HEADER = re.compile(rb"<DOCHDR>(.*?)</DOCHDR>", re.DOTALL | re.IGNORECASE)
CHARSET = re.compile(rb"^content-type:[^\n]*?charset\s*=\s*[\"']?([\w.:-]+)", re.MULTILINE | re.IGNORECASE)


def _pages(files: list[Path]) -> Iterator[RawPage]:
    for piece in pieces(files):
        header = HEADER.search(piece.data)
        url = header[1].split(maxsplit=1)[:1] if header else []
        if header is None or not url:
            raise DataError("the page has no <DOCHDR> with its url", piece.file, piece.line)
        charset = CHARSET.search(header[1])
        yield RawPage(
            piece.id,
            url[0].decode("utf-8", "replace"),
            piece.data[header.end() :],
            charset[1].decode("ascii", "replace") if charset else None,
        )


def _open(wanted: Wanted) -> Collection:
    files = bundles(wanted.path, web=True)
    if not files:
        raise DataError("no file begins with <DOC> and has a <DOCHDR>", wanted.path)
    streams, nested = web_streams(wanted), Nested()
    return collect(
        wanted, streams, lambda: page_documents(_pages(files), streams, wanted.jobs, nested), notes=nested, files=files
    )


LOOKS = "`<DOC><DOCNO><DOCHDR>` url, header, then HTML; files or folders, `.gz`"
READERS.register("trecweb", Reader(LOOKS, recogniser(web=True), _open))
