"""Three collections from before there was a format for collections: NPL, TIME and LISA, as they are handed out.

NPL (`doc-text`, `query-text`, `rlv-ass`): a number on a line of its own, text, then a line of `/`; judgements are the
numbers of relevant documents in the same shape. TIME (`TIME.ALL`, `.QUE`, `.REL`): `*TEXT 017 01/04/63 PAGE 020` and
`*FIND 1` begin a document or query, `*STOP` ends the file; documents are judged by their place in the file, from 1 on,
not by the number they carry, and `TIME.REL.ALL`, which has every judgement of `TIME.REL` and 71 more, is taken where it
is there. LISA (`LISA0.001` …, `.QUE`, `.REL`): `Document 1`, a title, a blank line, an abstract, a line of stars;
queries end with `#`, judgements with `-1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pippin.collection.collection import Collection, Document
from pippin.collection.files import BOM, first_files, head, open_stream, plain_text
from pippin.collection.readers.asked import Beside, Wanted
from pippin.collection.readers.base import READERS, Reader, collect, starts_with
from pippin.collection.readers.judged import Told, gather, read_judged
from pippin.collection.topics import SHAPES, Shape, Topic, plain_number
from pippin.data.trec import Judgements
from pippin.errors import DataError

NPL_HEAD = re.compile(rb"\s*1[ \t]*\r?\n\s*[^\d\s]")  # a number alone, then words
NPL_TOPICS = re.compile(rb"\s*\d+[ \t]*\r?\n[^/\t#]*[^\d\s][^/\t#]*\n[ \t]*/[ \t]*\r?\n")
DIGITS = re.compile(rb"[\d\s/-]+")
TIME_LOST = (499, 500)  # were counted when it was judged (425 texts), but are not in the file as handed out (423)
LISA_HEAD = re.compile(rb"Document[ \t]+(\d+)[ \t]*\r?\n")
LISA_JUDGED = re.compile(rb"Query\s+(\d+)\s+\d+\s+Relevant\s+Refs?:([\d\s]+)-1", re.IGNORECASE)

Piece = tuple[int, str, bytes]  # line, number, text


def _read(path: Path) -> bytes:
    with open_stream(path) as file:
        return file.read().removeprefix(BOM)


def _pieces(path: Path, start: Callable[[bytes, bool], str | None], end: Callable[[bytes], bool]) -> Iterator[Piece]:
    """What stands between lines that start a piece (`start` gives its number) and those that end one.

    `start` is told whether a piece is open; text outside of a piece is an error.
    """
    begun, name, text = 0, "", b""
    for number, line in enumerate(_read(path).split(b"\n"), 1):
        fresh = start(line, bool(begun))
        if fresh is None and not end(line):
            if not begun and line.strip():
                raise DataError(f"nothing that is known begins here ({plain_text(line)[:40]!r})", path, number)
            text += line + b"\n"
            continue
        if begun:
            yield begun, name, text
        begun, name, text = (number, fresh, b"") if fresh is not None else (0, "", b"")
    if begun:
        yield begun, name, text


def _slashed(path: Path) -> Iterator[Piece]:
    """NPL's shape: a number, text, `/`. The last piece may lack its end."""

    def start(line: bytes, begun: bool) -> str | None:
        return plain_number(line.strip().decode()) if not begun and line.strip().isdigit() else None

    return _pieces(path, start, lambda line: line.strip() == b"/")


def _starred(path: Path, word: bytes) -> Iterator[Piece]:
    """TIME's shape: `*WORD number …` begins a piece."""
    mark = re.compile(rb"\s*\*" + word + rb"\s+(\d+)")

    def start(line: bytes, _: bool) -> str | None:
        match = mark.match(line)
        return plain_number(match[1].decode()) if match else None

    return _pieces(path, start, lambda line: line.strip() == b"*STOP")


def _hashed(path: Path) -> Iterator[Piece]:
    """LISA's queries: a number on a line of its own, text that ends with `#`."""
    text = _read(path)
    for match in re.finditer(rb"\s*(\d+)\s*\n([^#]*)#", text):
        yield text.count(b"\n", 0, match.start(1)) + 1, plain_number(match[1].decode()), match[2]


def _topics(pieces: Callable[[Path], Iterator[Piece]]) -> Callable[[Path], Iterator[Topic]]:
    """Pieces as topics with one field."""

    def read(path: Path) -> Iterator[Topic]:
        for line, name, text in pieces(path):
            yield line, name, {"text": plain_text(text)}

    return read


def _judged(
    pieces: Callable[[Path], Iterator[Piece]], pattern: re.Pattern[bytes]
) -> Callable[[Path, Told], Judgements]:
    """Lists of relevant documents in a collection's own shape where the file begins so; else columns."""

    def read(path: Path, told: Told) -> Judgements:
        if not pattern.match(head(path)):
            return read_judged(path, told)
        rows = [
            (line, name, plain_number(document.decode()), 1)
            for line, name, text in pieces(path)
            for document in dict.fromkeys(text.split())
        ]
        return gather(rows, path)

    return read


def _listed(path: Path) -> Iterator[Piece]:
    """TIME's judgements: a query and its relevant documents on a line."""
    for number, line in enumerate(_read(path).split(b"\n"), 1):
        cells = line.split()
        if cells and not all(cell.isdigit() for cell in cells):
            raise DataError("a query and the numbers of its relevant documents are expected", path, number)
        if cells:
            yield number, plain_number(cells[0].decode()), b" ".join(cells[1:])


def _counted(path: Path) -> Iterator[Piece]:
    """LISA's judgements: `Query 1`, `2 Relevant Refs:`, numbers, `-1`."""
    text = _read(path)
    for match in LISA_JUDGED.finditer(text):
        yield text.count(b"\n", 0, match.start()) + 1, plain_number(match[1].decode()), match[2]


def _npl_documents(path: Path) -> Iterator[Document]:
    for _, name, text in _slashed(path):
        yield Document(name, {"text": plain_text(text)})


def _time_documents(path: Path) -> Iterator[Document]:
    place = before = 0
    for _, number, text in _starred(path, b"TEXT"):
        place += 1 + sum(before < lost < int(number) for lost in TIME_LOST)
        before = int(number)
        yield Document(str(place), {"text": plain_text(text)})


def _lisa_documents(files: list[Path], streams: tuple[str, ...]) -> Iterator[Document]:
    for file in files:
        for line, name, text in _lisa_pieces(file):
            title, blank, abstract = re.sub(rb"[ \t\r]+(?=\n)", b"", text).strip(b"\n").partition(b"\n\n")
            if not blank:
                raise DataError("a blank line is expected between title and abstract", file, line)
            said = {"title": plain_text(title), "abstract": plain_text(abstract)}
            yield Document(name, {stream: said[stream] for stream in streams})


def _lisa_pieces(path: Path) -> Iterator[Piece]:
    def start(line: bytes, begun: bool) -> str | None:
        match = LISA_HEAD.fullmatch(line + b"\n")
        return plain_number(match[1].decode()) if match and not begun else None

    return _pieces(path, start, lambda line: len(line.strip()) > 10 and not line.strip().strip(b"*"))


def _one(wanted: Wanted, is_documents: Callable[[Path], bool]) -> Path:
    files = [file for file in first_files(wanted.path) if is_documents(file)]
    if len(files) != 1:
        raise DataError(
            f"one file of documents is expected ({', '.join(f.name for f in files) or 'none'})", wanted.path
        )
    return files[0]


def _is_npl(path: Path) -> bool:
    return "doc" in path.name.lower() and bool(NPL_HEAD.match(head(path))) and b"\n   /" in head(path)


def _is_time(path: Path) -> bool:
    return starts_with(path, b"*text ")


def _is_lisa(path: Path) -> bool:
    return bool(LISA_HEAD.match(head(path)))


def _open_npl(wanted: Wanted) -> Collection:
    file = _one(wanted, _is_npl)
    beside = Beside(r".*quer(y|ies).*", r"(rlv|.*rel|.*qrels).*", read_judgements=_judged(_slashed, DIGITS))
    return collect(
        wanted, wanted.choose(("text",), ("text",)), lambda: _npl_documents(file), beside=beside, files=[file]
    )


def _open_time(wanted: Wanted) -> Collection:
    file = _one(wanted, _is_time)
    fuller = any(other.name.lower().endswith(".rel.all") for other in file.parent.iterdir())
    judgements = r".*\.rel\.all" if fuller else r".*\.rel|.*qrels.*"
    listed = _judged(_listed, re.compile(rb"\d+\s+\d+\s"))
    beside = Beside(r".*\.que|.*quer(y|ies).*", judgements, read_judgements=listed)
    return collect(
        wanted, wanted.choose(("text",), ("text",)), lambda: _time_documents(file), beside=beside, files=[file]
    )


def _open_lisa(wanted: Wanted) -> Collection:
    files = [file for file in first_files(wanted.path) if _is_lisa(file)]
    if not files:
        raise DataError("no file begins with `Document 1`", wanted.path)
    streams = wanted.choose(("title", "abstract"), ("title", "abstract"))
    beside = Beside(r".*\.que|.*quer(y|ies).*", r".*\.rel|.*qrels.*", read_judgements=_judged(_counted, LISA_JUDGED))
    return collect(wanted, streams, lambda: _lisa_documents(files, streams), beside=beside, files=files)


def _any(is_documents: Callable[[Path], bool]) -> Callable[[Path], bool]:
    """Whether one of the first files at the top of a folder, or the file itself, is of documents."""
    return lambda path: any(is_documents(file) for file in first_files(path) if path in (file, file.parent))


READERS.register("npl", Reader("`1`, text, `/` …, as NPL's `doc-text`", _any(_is_npl), _open_npl))
READERS.register("time", Reader("`*TEXT 017 …`, as TIME's `TIME.ALL`", _any(_is_time), _open_time))
READERS.register("lisa", Reader("`Document 1`, title, abstract, `*****`, as LISA's files", _any(_is_lisa), _open_lisa))
SHAPES.register("npl", Shape(NPL_TOPICS, _topics(_slashed)))
SHAPES.register("time", Shape(re.compile(rb"\*FIND\s"), _topics(lambda path: _starred(path, b"FIND"))))
SHAPES.register("lisa", Shape(re.compile(rb"\d+[ \t]*\r?\n[^#\t]*[^\d\s][^#\t]*#"), _topics(_hashed)))
