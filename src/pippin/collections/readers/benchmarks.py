"""Read benchmark collections in their published layouts: NPL, TIME, LISA, BEIR and ir_datasets.

- NPL (`doc-text`, `query-text`, `rlv-ass`): a number on its own line, text, then a line with `/`; qrels are the numbers
  of relevant documents in the same format.
- TIME (`TIME.ALL`, `.QUE`, `.REL`): `*TEXT 017 01/04/63 PAGE 020` and `*FIND 1` begin a document or query, `*STOP` ends
  the file. Qrels refer to documents by their position in the file from 1, not by their numbers. `TIME.REL.ALL`, which
  has all judgements of `TIME.REL` and 71 more, is used if it exists.
- LISA (`LISA0.001` …, `.QUE`, `.REL`): `Document 1`, a title, a blank line, an abstract, a line of stars; queries end
  with `#`, judgements with `-1`.
- BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` in one folder. The qrels are `qrels/test.tsv`, else dev,
  validation, train, or the only file; a message names the file. The queries of all splits are in one file; `build`
  drops unjudged ones.
- ir_datasets: data sets by id, such as `irds:cranfield`, if that package is installed, with all text fields, queries
  and qrels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pippin.collections.collection import Collection, Diagnostics, Document, Query
from pippin.collections.readers.base import READERS, Reader, make_collection, starts_with
from pippin.collections.readers.detect import SPLITS
from pippin.collections.readers.files import BOM, open_file, plain_text, read_head, sample_files
from pippin.collections.readers.layout import CompanionFiles, ReadRequest
from pippin.collections.readers.qrels import build_qrels, read_qrels
from pippin.collections.readers.records import COMPRESSED_SUFFIXES
from pippin.collections.readers.tables import RecordSource, Row, collection_from_files, collection_from_records
from pippin.collections.readers.topics import TOPIC_FORMATS, Topic, TopicFormat, make_query, strip_leading_zeros
from pippin.data.adapters import PREFIX, is_irds_id, read_irds_qrels
from pippin.data.qrels import Qrels
from pippin.dependencies import require
from pippin.errors import DataError, PippinError

NPL_HEAD = re.compile(rb"\s*1[ \t]*\r?\n\s*[^\d\s]")  # a number alone, then words
NPL_TOPICS = re.compile(rb"\s*\d+[ \t]*\r?\n[^/\t#]*[^\d\s][^/\t#]*\n[ \t]*/[ \t]*\r?\n")
DIGITS = re.compile(rb"[\d\s/-]+")
TIME_LOST = (499, 500)  # numbers of documents that were judged (of 425) but are missing in the file (423)
LISA_HEAD = re.compile(rb"Document[ \t]+(\d+)[ \t]*\r?\n")
LISA_JUDGED = re.compile(rb"Query\s+(\d+)\s+\d+\s+Relevant\s+Refs?:([\d\s]+)-1", re.IGNORECASE)

Section = tuple[int, str, bytes]  # line, number, text


def _read(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read().removeprefix(BOM)


def _split_sections(
    path: Path, start: Callable[[bytes, bool], str | None], end: Callable[[bytes], bool]
) -> Iterator[Section]:
    """Split a file into sections between start lines and end lines.

    `start` returns the number of the section that a line starts, given the line and whether a section is open. Text
    outside of sections is an error.
    """
    first_line, name, text = 0, "", b""
    for number, line in enumerate(_read(path).split(b"\n"), 1):
        new_name = start(line, bool(first_line))
        if new_name is None and not end(line):
            if not first_line and line.strip():
                raise DataError(f"unexpected text {plain_text(line)[:40]!r}", path, number)
            text += line + b"\n"
            continue
        if first_line:
            yield first_line, name, text
        first_line, name, text = (number, new_name, b"") if new_name is not None else (0, "", b"")
    if first_line:
        yield first_line, name, text


def _npl_sections(path: Path) -> Iterator[Section]:
    """Split a file of NPL: a number, text, `/`; the last section may lack the end."""

    def start(line: bytes, is_open: bool) -> str | None:
        return strip_leading_zeros(line.strip().decode()) if not is_open and line.strip().isdigit() else None

    return _split_sections(path, start, lambda line: line.strip() == b"/")


def _time_sections(path: Path, word: bytes) -> Iterator[Section]:
    """Split a file of TIME: `*WORD number …` begins a section."""
    mark = re.compile(rb"\s*\*" + word + rb"\s+(\d+)")

    def start(line: bytes, _: bool) -> str | None:
        match = mark.match(line)
        return strip_leading_zeros(match[1].decode()) if match else None

    return _split_sections(path, start, lambda line: line.strip() == b"*STOP")


def _lisa_queries(path: Path) -> Iterator[Section]:
    """Split LISA's queries: a number on its own line, text that ends with `#`."""
    text = _read(path)
    for match in re.finditer(rb"\s*(\d+)\s*\n([^#]*)#", text):
        yield text.count(b"\n", 0, match.start(1)) + 1, strip_leading_zeros(match[1].decode()), match[2]


def _topics(sections: Callable[[Path], Iterator[Section]]) -> Callable[[Path], Iterator[Topic]]:
    """Return a reader of sections as topics with one field."""

    def read(path: Path) -> Iterator[Topic]:
        for line, name, text in sections(path):
            yield line, name, {"text": plain_text(text)}

    return read


def _qrels_reader(
    sections: Callable[[Path], Iterator[Section]], pattern: re.Pattern[bytes]
) -> Callable[[Path, Diagnostics], Qrels]:
    """Return a reader of qrels: sections of relevant documents if the file begins with the pattern, else columns."""

    def read(path: Path, diagnostics: Diagnostics) -> Qrels:
        if not pattern.match(read_head(path)):
            return read_qrels(path, diagnostics)
        rows = [
            (line, name, strip_leading_zeros(document.decode()), 1)
            for line, name, text in sections(path)
            for document in dict.fromkeys(text.split())
        ]
        return build_qrels(rows, path)

    return read


def _time_judgements(path: Path) -> Iterator[Section]:
    """Split TIME's judgements: a query and its relevant documents per line."""
    for number, line in enumerate(_read(path).split(b"\n"), 1):
        cells = line.split()
        if cells and not all(cell.isdigit() for cell in cells):
            raise DataError("expected the numbers of a query and its relevant documents", path, number)
        if cells:
            yield number, strip_leading_zeros(cells[0].decode()), b" ".join(cells[1:])


def _lisa_judgements(path: Path) -> Iterator[Section]:
    """Split LISA's judgements: `Query 1`, `2 Relevant Refs:`, numbers, `-1`."""
    text = _read(path)
    for match in LISA_JUDGED.finditer(text):
        yield text.count(b"\n", 0, match.start()) + 1, strip_leading_zeros(match[1].decode()), match[2]


def _npl_documents(path: Path) -> Iterator[Document]:
    for _, name, text in _npl_sections(path):
        yield Document(name, {"text": plain_text(text)})


def _time_documents(path: Path) -> Iterator[Document]:
    position = previous = 0
    for _, number, text in _time_sections(path, b"TEXT"):
        position += 1 + sum(previous < lost < int(number) for lost in TIME_LOST)
        previous = int(number)
        yield Document(str(position), {"text": plain_text(text)})


def _lisa_documents(files: list[Path], fields: tuple[str, ...]) -> Iterator[Document]:
    for file in files:
        for line, name, text in _lisa_sections(file):
            title, blank, abstract = re.sub(rb"[ \t\r]+(?=\n)", b"", text).strip(b"\n").partition(b"\n\n")
            if not blank:
                raise DataError("expected a blank line between title and abstract", file, line)
            texts = {"title": plain_text(title), "abstract": plain_text(abstract)}
            yield Document(name, {field: texts[field] for field in fields})


def _lisa_sections(path: Path) -> Iterator[Section]:
    def start(line: bytes, is_open: bool) -> str | None:
        match = LISA_HEAD.fullmatch(line + b"\n")
        return strip_leading_zeros(match[1].decode()) if match and not is_open else None

    return _split_sections(path, start, lambda line: len(line.strip()) > 10 and not line.strip().strip(b"*"))


def _single_file(request: ReadRequest, is_documents: Callable[[Path], bool]) -> Path:
    files = [file for file in sample_files(request.path) if is_documents(file)]
    if len(files) != 1:
        names = ", ".join(f.name for f in files) or "none"
        raise DataError(f"expected one file of documents, found {names}", request.path)
    return files[0]


def _text_collection(
    request: ReadRequest, file: Path, read: Callable[[Path], Iterator[Document]], companions: CompanionFiles
) -> Collection:
    fields = request.select_fields(("text",), ("text",))
    return make_collection(request, fields, lambda: read(file), companions=companions, files=[file])


def _is_npl(path: Path) -> bool:
    return "doc" in path.name.lower() and bool(NPL_HEAD.match(read_head(path))) and b"\n   /" in read_head(path)


def _is_time(path: Path) -> bool:
    return starts_with(path, b"*text ")


def _is_lisa(path: Path) -> bool:
    return bool(LISA_HEAD.match(read_head(path)))


def _open_npl(request: ReadRequest) -> Collection:
    read_qrels = _qrels_reader(_npl_sections, DIGITS)
    companions = CompanionFiles(r".*quer(y|ies).*", r"(rlv|.*rel|.*qrels).*", read_qrels=read_qrels)
    return _text_collection(request, _single_file(request, _is_npl), _npl_documents, companions)


def _open_time(request: ReadRequest) -> Collection:
    file = _single_file(request, _is_time)
    has_all = any(path.name.lower().endswith(".rel.all") for path in file.parent.iterdir())
    qrels = r".*\.rel\.all" if has_all else r".*\.rel|.*qrels.*"
    read_qrels = _qrels_reader(_time_judgements, re.compile(rb"\d+\s+\d+\s"))
    companions = CompanionFiles(r".*\.que|.*quer(y|ies).*", qrels, read_qrels=read_qrels)
    return _text_collection(request, file, _time_documents, companions)


def _open_lisa(request: ReadRequest) -> Collection:
    files = [file for file in sample_files(request.path) if _is_lisa(file)]
    if not files:
        raise DataError("no file begins with `Document 1`", request.path)
    fields = request.select_fields(("title", "abstract"), ("title", "abstract"))
    read_qrels = _qrels_reader(_lisa_judgements, LISA_JUDGED)
    companions = CompanionFiles(r".*\.que|.*quer(y|ies).*", r".*\.rel|.*qrels.*", read_qrels=read_qrels)
    return make_collection(request, fields, lambda: _lisa_documents(files, fields), companions=companions, files=files)


def _any(is_documents: Callable[[Path], bool]) -> Callable[[Path], bool]:
    """Return a function that tests the file itself, or the first files at the top of a folder."""
    return lambda path: any(is_documents(file) for file in sample_files(path) if path in (file, file.parent))


READERS.register("npl", Reader("`1`, text, `/` …, as NPL's `doc-text`", _any(_is_npl), _open_npl))
READERS.register("time", Reader("`*TEXT 017 …`, as TIME's `TIME.ALL`", _any(_is_time), _open_time))
READERS.register("lisa", Reader("`Document 1`, title, abstract, `*****`, as LISA's files", _any(_is_lisa), _open_lisa))
TOPIC_FORMATS.register("npl", TopicFormat(NPL_TOPICS, _topics(_npl_sections)))
TOPIC_FORMATS.register(
    "time", TopicFormat(re.compile(rb"\*FIND\s"), _topics(lambda path: _time_sections(path, b"FIND")))
)
TOPIC_FORMATS.register(
    "lisa", TopicFormat(re.compile(rb"\d+[ \t]*\r?\n[^#\t]*[^\d\s][^#\t]*#"), _topics(_lisa_queries))
)


CORPUS, QUERIES, QRELS_FOLDER = "corpus.jsonl", "queries.jsonl", "qrels"


def _file(folder: Path, name: str) -> Path | None:
    return next((path for end in ("", *COMPRESSED_SUFFIXES) if (path := folder / f"{name}{end}").is_file()), None)


def _judgements(folder: Path) -> Path | None:
    files = {file.stem: file for file in sorted((folder / QRELS_FOLDER).glob("*.tsv"))}
    if len(files) > 1 and not files.keys() & set(SPLITS):
        names = ", ".join(file.name for file in files.values())
        raise DataError(f"several files may hold the qrels ({names}); name one with --qrels", folder / QRELS_FOLDER)
    return next((files[split] for split in (*SPLITS, *files) if split in files), None)


def _open_beir(request: ReadRequest) -> Collection:
    folder = request.folder
    corpus = _file(folder, CORPUS)
    if corpus is None:
        raise DataError(f"the folder has no {CORPUS}", folder)
    if not request.documents_only:
        qrels = request.qrels or _judgements(folder)
        request = replace(request, queries=request.queries or _file(folder, QUERIES), qrels=qrels)
    return collection_from_files(request, [corpus], "jsonl")


READERS.register(
    "beir",
    Reader(
        "a folder with `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`",
        lambda path: path.is_dir() and _file(path, CORPUS) is not None,
        _open_beir,
    ),
)


def _load(name: str) -> Any:
    require(f"reading {name}", "ir_datasets")
    import ir_datasets

    try:
        return ir_datasets.load(name.removeprefix(PREFIX))
    except KeyError:
        raise DataError("ir_datasets has no data set with this id", name) from None


def _rows(data: Any, entity: str, name: str) -> Iterator[Row]:
    """Yield the numbered rows of one entity; raise errors of downloads and parsers as `DataError`."""
    try:
        for number, row in enumerate(getattr(data, f"{entity}_iter")(), 1):
            yield number, row._asdict()
    except PippinError:
        raise
    except Exception as error:
        raise DataError(f"ir_datasets could not read it ({type(error).__name__}: {error})", name) from error


def _queries(data: Any, name: str, field: str | None) -> tuple[Query, ...]:
    queries = []
    for _, row in _rows(data, "queries", name):
        fields = {key: text for key, text in row.items() if isinstance(text, str) and key != "query_id"}
        queries.append(make_query(str(row["query_id"]), fields, field, name))
    return tuple(queries)


def _open_ir_datasets(request: ReadRequest) -> Collection:
    name = str(request.path)
    name = PREFIX + name.removeprefix(PREFIX)
    data = _load(name)
    if not data.has_docs():
        raise DataError("this data set of ir_datasets has no documents", name)

    def error(message: str, row: int | None) -> DataError:
        return DataError(message if row is None else f"document {row}: {message}", name)

    table = RecordSource(lambda: _rows(data, "docs", name), error)
    collection = collection_from_records(request, table)
    if request.documents_only:
        return collection
    if request.queries is None and data.has_queries():
        collection = replace(collection, queries=_queries(data, name, request.query_field))
    if request.qrels is None and data.has_qrels():
        collection = replace(collection, qrels=read_irds_qrels(name))
    return collection


READERS.register(
    "irds", Reader("`irds:` and an id of ir_datasets", lambda path: is_irds_id(str(path)), _open_ir_datasets)
)
