"""Bundles of `<DOC>` … `</DOC>`, plain or packed, as TREC hands out texts and web pages: cut into documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pippin.collection.files import files_under, first_files, head, split_records
from pippin.errors import DataError

START = re.compile(rb"<DOC[\s>]", re.IGNORECASE)
PROLOG = re.compile(  # a declaration, comments, and the start of one element around all documents
    rb"(?:\s|<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<!--.*?-->)*(?:<(?!DOC[\s>])[A-Z]\w*>\s*)?", re.DOTALL | re.IGNORECASE
)
TAIL = re.compile(rb"\s*(?:</\w+>\s*)?")  # its end
END = re.compile(rb"</DOC\s*>", re.IGNORECASE)
SEAM = re.compile(rb"</DOC>\s*<DOC[\s>]", re.IGNORECASE)  # on one line; starts of lines have cut already
NUMBER = re.compile(rb"<DOCNO>\s*(\S+)\s*</DOCNO>|\A[^>]*\bid\s*=\s*[\"']?([^\"'\s>]+)[^>]*>", re.IGNORECASE)
HEADER = b"<DOCHDR>"


@dataclass(frozen=True, slots=True)
class Piece:
    """One document of a bundle: where it stands, its number, and the bytes after that."""

    file: Path
    line: int
    id: str
    data: bytes


def bundles(path: Path, web: bool) -> list[Path]:
    """The bundles of a file or a folder, of web pages (those have a `<DOCHDR>`) or of texts."""
    return [file for file in files_under(path) if file.stat().st_size and _is_bundle(file, web)]


def _is_bundle(path: Path, web: bool) -> bool:
    start = head(path)
    begins = 0 if path.suffix.lower() == ".xml" else _prolog(start)  # records in a root are XML's
    return START.match(start, begins) is not None and (HEADER in start.upper()) == web


def _prolog(start: bytes) -> int:
    """How long what stands before the first document is."""
    found = PROLOG.match(start)
    return found.end() if found else 0


def pieces(files: list[Path]) -> Iterator[Piece]:
    """The documents of all bundles in order."""
    for file in files:
        start = head(file)
        mark = START.match(start, _prolog(start))
        for line, record in split_records(file, b"\n" + (mark[0] if mark else b"<DOC>"), PROLOG):
            ends = list(END.finditer(record))
            if not ends:
                raise DataError("the file is truncated: a <DOC> without its </DOC>", file, line)
            body = record[: ends[-1].start()]
            if not TAIL.fullmatch(record, ends[-1].end()):
                raise DataError("after </DOC> the next <DOC> is expected", file, line + body.count(b"\n"))
            for data in SEAM.split(body):
                number = NUMBER.search(data)
                if number is None:
                    raise DataError("the document has no <DOCNO>", file, line)
                yield Piece(file, line, (number[1] or number[2]).decode("utf-8", "replace"), data[number.end() :])


def recogniser(web: bool) -> Callable[[Path], bool]:
    """Whether a path holds bundles, judged by the first files of a folder."""
    return lambda path: any(_is_bundle(file, web) for file in first_files(path))
