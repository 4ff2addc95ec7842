"""Read TREC's texts and web pages: files of `<DOC>` … `</DOC>`, compressed or not.

Texts (news, patents …) are `<DOC>`, `<DOCNO>`, a headline, `<TEXT>`. The fields are title (`<TITLE>`, `<HEADLINE>`,
`<HEAD>`, `<HL>`, `<TTL>`, `<TI>`, `<DOCTITLE>`) and body (`<TEXT>` and the leading paragraphs `<LP>` and `<LEADPARA>`;
without any of them everything but titles and metadata). Markup is removed, entities are decoded, and a title inside the
text is part of the title only.

Web pages (WT10g, “.GOV”, GOV2) are `<DOC>`, `<DOCNO>`, `<DOCHDR>` with url and HTTP header, then the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from html import unescape
from pathlib import Path

from pippin.collections.collection import Collection, Document
from pippin.collections.readers.base import READERS, Reader, make_collection
from pippin.collections.readers.files import files_under, read_head, sample_files, split_records
from pippin.collections.readers.layout import ReadRequest
from pippin.collections.readers.web import RawPage, make_web_collection
from pippin.collections.text.html import clean, decode
from pippin.errors import DataError

START = re.compile(rb"<DOC[\s>]", re.IGNORECASE)
PROLOG = re.compile(  # a declaration, comments, and the start of one element around all documents
    rb"(?:\s|<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<!--.*?-->)*(?:<(?!DOC[\s>])[A-Z]\w*>\s*)?", re.DOTALL | re.IGNORECASE
)
TAIL = re.compile(rb"\s*(?:</\w+>\s*)?")  # the end of that element
END = re.compile(rb"</DOC\s*>", re.IGNORECASE)
SEAM = re.compile(rb"</DOC>\s*<DOC[\s>]", re.IGNORECASE)  # within a line; the file is split at lines before
NUMBER = re.compile(rb"<DOCNO>\s*(\S+)\s*</DOCNO>|\A[^>]*\bid\s*=\s*[\"']?([^\"'\s>]+)[^>]*>", re.IGNORECASE)
HEADER_START = b"<DOCHDR>"


@dataclass(frozen=True, slots=True)
class Section:
    """One document: its file and line, its id, and the bytes after the id."""

    file: Path
    line: int
    id: str
    data: bytes


def bundles(path: Path, web: bool) -> list[Path]:
    """Return the files at a path with web pages (which have a `<DOCHDR>`) or texts."""
    return [file for file in files_under(path) if file.stat().st_size and _is_bundle(file, web)]


def _is_bundle(path: Path, web: bool) -> bool:
    start = read_head(path)
    offset = 0 if path.suffix.lower() == ".xml" else _prolog_length(start)  # the format xml has records in a root
    return START.match(start, offset) is not None and (HEADER_START in start.upper()) == web


def _prolog_length(start: bytes) -> int:
    match = PROLOG.match(start)
    return match.end() if match else 0


def sections(files: list[Path]) -> Iterator[Section]:
    """Yield the documents of all files in order."""
    for file in files:
        start = read_head(file)
        mark = START.match(start, _prolog_length(start))
        for line, record in split_records(file, b"\n" + (mark[0] if mark else b"<DOC>"), PROLOG):
            ends = list(END.finditer(record))
            if not ends:
                raise DataError("the file is truncated: a <DOC> without its </DOC>", file, line)
            body = record[: ends[-1].start()]
            if not TAIL.fullmatch(record, ends[-1].end()):
                raise DataError("expected <DOC> after </DOC>", file, line + body.count(b"\n"))
            for data in SEAM.split(body):
                number = NUMBER.search(data)
                if number is None:
                    raise DataError("the document has no <DOCNO>", file, line)
                yield Section(file, line, (number[1] or number[2]).decode("utf-8", "replace"), data[number.end() :])


def _matches(path: Path, web: bool) -> bool:
    return any(_is_bundle(file, web) for file in sample_files(path))


TITLE = re.compile(
    r"<((?:TITLE|HEADLINE|HEAD|HL|TTL|TI|DOCTITLE)(?:-\w+)?)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE
)
BODY = re.compile(r"<(TEXT|LP|LEADPARA)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
METADATA = re.compile(
    r"<(DOCID|DATE|FILEID|DOCTYPE|BYLINE|PUB|PAGE|SECTION|PARENT|HT)\b[^>]*>.*?</\1>", re.DOTALL | re.IGNORECASE
)
MARKUP = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>", re.DOTALL)


def _documents(files: list[Path], fields: tuple[str, ...]) -> Iterator[Document]:
    for section in sections(files):
        text = decode(section.data)[0]
        titles = [content for _, content in TITLE.findall(text)]
        text = TITLE.sub(" ", text) if titles else text
        bodies = [content for _, content in BODY.findall(text)] or [METADATA.sub(" ", text)]
        texts = {"title": _plain(titles), "body": _plain(bodies)}
        yield Document(section.id, {field: texts[field] for field in fields})


def _plain(contents: list[str]) -> str:
    return clean(unescape(MARKUP.sub(" ", " ".join(contents))))


def _open_trec(request: ReadRequest) -> Collection:
    files = bundles(request.path, web=False)
    if not files:
        raise DataError("no file begins with <DOC> and has no <DOCHDR>", request.path)
    fields = request.select_fields(("title", "body"), ("title", "body"))
    return make_collection(request, fields, lambda: _documents(files, fields), files=files)


READERS.register(
    "trec", Reader("`<DOC><DOCNO>` … `<TEXT>`; files or folders, `.gz`", partial(_matches, web=False), _open_trec)
)


HEADER = re.compile(rb"<DOCHDR>(.*?)</DOCHDR>", re.DOTALL | re.IGNORECASE)
CHARSET = re.compile(rb"^content-type:[^\n]*?charset\s*=\s*[\"']?([\w.:-]+)", re.MULTILINE | re.IGNORECASE)


def _pages(files: list[Path]) -> Iterator[RawPage]:
    for section in sections(files):
        header = HEADER.search(section.data)
        url = header[1].split(maxsplit=1)[:1] if header else []
        if header is None or not url:
            raise DataError("the page has no <DOCHDR> with its url", section.file, section.line)
        match = CHARSET.search(header[1])
        charset = match[1].decode("ascii", "replace") if match else None
        yield RawPage(section.id, url[0].decode("utf-8", "replace"), section.data[header.end() :], charset)


def _open_trecweb(request: ReadRequest) -> Collection:
    files = bundles(request.path, web=True)
    if not files:
        raise DataError("no file begins with <DOC> and has a <DOCHDR>", request.path)
    return make_web_collection(request, lambda: _pages(files), files)


DESCRIPTION = "`<DOC><DOCNO><DOCHDR>` url, header, then HTML; files or folders, `.gz`"
READERS.register("trecweb", Reader(DESCRIPTION, partial(_matches, web=True), _open_trecweb))
