"""TREC's texts (news, patents …): `<DOC>`, `<DOCNO>`, a headline under one of several names, `<TEXT>`.

Streams are title (`<TITLE>`, `<HEADLINE>`, `<HEAD>`, `<HL>`, `<TTL>`, `<TI>`, `<DOCTITLE>`) and body (`<TEXT>` and the
leading paragraphs `<LP>` and `<LEADPARA>`; where there is none of them, all but titles and what is about the document).
Mark-up inside is left out, entities are decoded, and a title inside the text counts as title only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from pippin.collection.collection import Collection, Document
from pippin.collection.html import clean, decode
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect
from pippin.collection.readers.bundles import bundles, pieces, recogniser
from pippin.errors import DataError

TITLE = re.compile(
    r"<((?:TITLE|HEADLINE|HEAD|HL|TTL|TI|DOCTITLE)(?:-\w+)?)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE
)
BODY = re.compile(r"<(TEXT|LP|LEADPARA)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
ABOUT = re.compile(
    r"<(DOCID|DATE|FILEID|DOCTYPE|BYLINE|PUB|PAGE|SECTION|PARENT|HT)\b[^>]*>.*?</\1>", re.DOTALL | re.IGNORECASE
)
MARKUP = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.DOTALL)


def _documents(files: list[Path], streams: tuple[str, ...]) -> Iterator[Document]:
    for piece in pieces(files):
        text = decode(piece.data)[0]
        titles = [content for _, content in TITLE.findall(text)]
        rest = TITLE.sub(" ", text) if titles else text
        bodies = [content for _, content in BODY.findall(rest)] or [ABOUT.sub(" ", rest)]
        said = {"title": _plain(titles), "body": _plain(bodies)}
        yield Document(piece.id, {stream: said[stream] for stream in streams})


def _plain(contents: list[str]) -> str:
    return clean(unescape(MARKUP.sub(" ", " ".join(contents))))


def _open(wanted: Wanted) -> Collection:
    files = bundles(wanted.path, web=False)
    if not files:
        raise DataError("no file begins with <DOC> and has no <DOCHDR>", wanted.path)
    streams = wanted.choose(("title", "body"), ("title", "body"))
    return collect(wanted, streams, lambda: _documents(files, streams), files=files)


READERS.register("trec", Reader("`<DOC><DOCNO>` … `<TEXT>`; files or folders, `.gz`", recogniser(web=False), _open))
