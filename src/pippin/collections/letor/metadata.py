"""Read and write LETOR's meta-information: the counts behind the features as XML (Figures 2 and 3 of the paper).

`collectioninfo.xml` has the counts of the collection, `query-<id>.xml` those of a query and its candidates: everything
that a text feature needs, so that features can be computed without the documents. The reader compares every tag with
the expected structure and accepts any indentation; the writer writes LETOR's bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, unescape

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Query
from pippin.collections.index.index import Index
from pippin.collections.index.statistics import Candidates, FieldStatistics
from pippin.collections.readers.files import natural_sort_key
from pippin.data.buffers import open_buffer
from pippin.errors import DataError
from pippin.storage.files import atomic_write

INFO = "collectioninfo.xml"
_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
_TAG = re.compile(r"<(/?\w+)>([^<]*)")
_UNIONS = {"title and abstract": "whole", "whole document": "whole"}  # LETOR's description → field
_LEAVES = frozenset((
    "id", "name", "docnum", "streamnum", "streamid", "streamdescription", "uniquetermnum", "totaltermnum",
    "streamspecificquerylength", "termnum", "termid", "word", "streamfrequency", "streamtermfrequency", "docid",
    "label", "length", "uniquelength", "termfrequency",
))  # fmt: skip


@dataclass(frozen=True)
class StreamInfo:
    """One stream of the collection."""

    name: str
    description: str
    terms: int  # distinct words
    total: int  # words


@dataclass(frozen=True)
class CollectionInfo:
    """The content of `collectioninfo.xml`."""

    name: str
    documents: int
    streams: tuple[StreamInfo, ...]

    @classmethod
    def of(cls, index: Index) -> CollectionInfo:
        """Return the counts of an index."""
        streams = (
            StreamInfo(name, index.descriptions.get(name) or name, index.vocabulary_size(name), index.total_terms(name))
            for name in index.fields
        )
        return cls(index.name, index.documents, tuple(streams))


@dataclass(frozen=True)
class Meta:
    """A folder of meta-information; iterating reads the queries in the order of their ids."""

    info: CollectionInfo
    files: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[Candidates]:
        return (read_query(file, self.info) for file in self.files)


def read_meta(folder: str | os.PathLike[str], *, streams: Sequence[str] | None = None) -> Meta:
    """Open the meta-information of a folder; `streams` replaces the names that follow from the descriptions."""
    info = read_info(Path(folder) / INFO, streams=streams)
    files = sorted(Path(folder).glob("query-*.xml"), key=lambda file: natural_sort_key(file.stem))
    if not files:
        raise DataError("no query-….xml in this folder", folder)
    return Meta(info, tuple(files))


class _Page:
    """The tags of a file, each with the text after it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = os.fspath(path)
        try:
            self.text = open_buffer(path).data.tobytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"the file is not UTF-8: {error.reason}", path) from None
        self.tokens: list[tuple[str, str]] = _TAG.findall(self.text)

    def expect(self, tags: list[str]) -> list[str]:
        """Return the texts of the leaves; raise unless the tags are these."""
        present = [tag for tag, _ in self.tokens]
        if present != tags:
            first = next((i for i, (a, b) in enumerate(zip(present, tags, strict=False)) if a != b), len(present))
            first = min(first, len(tags))
            expected = f"<{tags[first]}>" if first < len(tags) else "the end of the file"
            actual = f"<{present[first]}>" if first < len(present) else "the end of the file"
            raise DataError(f"expected {expected}, found {actual}", self.file, self.line(first))
        return [text.strip() for tag, text in self.tokens if tag in _LEAVES]

    def count(self, tag: str, size: int) -> int:
        """Return the number in the first leaf of this name, limited by the items of `size` tags that fit the file."""
        for position, (name, text) in enumerate(self.tokens):
            if name == tag:
                number = self.number(text, position)
                if number < 0:
                    raise DataError(f"<{tag}> must not be negative: {number}", self.file, self.line(position))
                return min(number, len(self.tokens) // size + 1)
        raise DataError(f"the file has no <{tag}>", self.file)

    def number(self, text: str, position: int) -> int:
        try:
            return int(text)
        except ValueError:
            message = f"<{self.tokens[position][0]}> must be a whole number, got {text.strip()!r}"
            raise DataError(message, self.file, self.line(position)) from None

    def numbers(self, leaves: list[str], first: int) -> NDArray[np.int64]:
        """Return leaves, beginning with number `first`, as whole numbers."""
        try:
            return np.array(list(map(int, leaves)), np.int64)
        except ValueError:
            positions = self._leaf_positions()[first:]
            return np.array([self.number(text, position) for text, position in zip(leaves, positions, strict=False)])
        except OverflowError:
            raise DataError("a number is too large", self.file) from None

    def _leaf_positions(self) -> list[int]:
        return [position for position, (tag, _) in enumerate(self.tokens) if tag in _LEAVES]

    def leaf_line(self, leaf: int) -> int:
        """Return the line of a leaf."""
        return self.line(self._leaf_positions()[leaf])

    def line(self, position: int) -> int:
        """Return the line of a tag, or the last line."""
        for i, match in enumerate(_TAG.finditer(self.text)):
            if i == position:
                return self.text.count("\n", 0, match.start()) + 1
        return self.text.rstrip().count("\n") + 1


def _leaf(*names: str) -> list[str]:
    """Return the tags of consecutive leaves."""
    return [tag for name in names for tag in (name, f"/{name}")]


def _node(name: str, inside: list[str]) -> list[str]:
    return [name, *inside, f"/{name}"]


def read_info(path: str | os.PathLike[str], *, streams: Sequence[str] | None = None) -> CollectionInfo:
    """Read `collectioninfo.xml`."""
    page = _Page(path)
    stream = _node("stream", _leaf("streamid", "streamdescription", "uniquetermnum", "totaltermnum"))
    count = page.count("streamnum", len(stream))
    leaves = page.expect(_node("collectioninfo", _leaf("name", "docnum", "streamnum") + stream * count))
    if streams is not None and len(streams) != count:
        raise DataError(f"{len(streams)} names for {count} streams", path)
    documents = int(page.numbers(leaves[1:2], 1)[0])
    infos = []
    for i in range(count):
        at = 3 + 4 * i
        number, terms, total = page.numbers([leaves[at], *leaves[at + 2 : at + 4]], at).tolist()
        if number != i + 1:
            raise DataError(f"stream {i + 1} has the id {number}", path, page.leaf_line(at))
        description = unescape(leaves[at + 1])
        infos.append(StreamInfo(streams[i] if streams else _stream_name(description), description, terms, total))
    if documents < 1:
        raise DataError("the collection has no document", path, page.leaf_line(1))
    if len({stream.name for stream in infos}) < count:
        raise DataError("two streams have the same name", path)
    return CollectionInfo(unescape(leaves[0]), documents, tuple(infos))


def _stream_name(description: str) -> str:
    """Return the name of a stream from LETOR's description of it."""
    plain = description.strip().lower()
    return _UNIONS.get(plain, re.sub(r"\W+", "_", plain))


def read_query(path: str | os.PathLike[str], info: CollectionInfo) -> Candidates:
    """Read `query-<id>.xml`: a query's candidates with all counts."""
    page = _Page(path)
    count = len(info.streams)
    frequencies = _node("stream", _leaf("streamid", "streamfrequency", "streamtermfrequency"))
    term = _node("term", _leaf("termid", "word") + frequencies * count)
    words = page.count("termnum", len(term))
    counts = _node("term", _leaf("termid", "termfrequency")) * words
    stream = _node("stream", _leaf("streamid", "length", "uniquelength") + counts)
    document = _node("doc", _leaf("docid", "label") + stream * count)
    documents = page.count("docnum", len(document))
    streaminfo = _node("streaminfo", _node("stream", _leaf("streamid", "streamspecificquerylength")) * count)
    terminfo = _node("terminfo", _leaf("termnum") + term * words)
    docinfo = _node("docinfo", _leaf("docnum") + document * documents)
    leaves = page.expect(_node("query", _leaf("id") + streaminfo + terminfo + docinfo))
    at_terms = 2 + 2 * count
    at_documents = at_terms + words * (2 + 3 * count) + 1
    names, of_terms = _terms(page, leaves[at_terms : at_documents - 1], at_terms, words, count)
    ids, labels, of_documents = _documents(page, leaves[at_documents:], at_documents, documents, words, count)
    streams = {
        stream_info.name: _stream_counts(info, stream_info, of_terms[i], of_documents[i])
        for i, stream_info in enumerate(info.streams)
    }
    query = Query(unescape(leaves[0]), " ".join(names))
    return Candidates(query, names, ids, labels, streams)


def _table(page: _Page, leaves: list[str], first: int, rows: int, text: int) -> NDArray[np.int64]:
    """Return leaves as a table of whole numbers, [rows, width]; the column `text` becomes 0."""
    width = len(leaves) // rows
    numeric = list(leaves)
    numeric[text::width] = ["0"] * rows
    table = page.numbers(numeric, first).reshape(rows, width)
    is_negative = table < 0
    is_negative[:, 1] = False  # labels may be negative
    if is_negative.any():
        leaf = int(np.argmax(is_negative))
        raise DataError(f"a count must not be negative: {leaves[leaf]}", page.file, page.leaf_line(first + leaf))
    return table


def _check_ids(page: _Page, ids: NDArray[np.int64], kind: str) -> None:
    """Raise unless the last axis counts from 1."""
    if (ids != np.arange(1, ids.shape[-1] + 1)).any():
        raise DataError(f"the {kind} ids are not 1 to {ids.shape[-1]} everywhere", page.file)


def _terms(
    page: _Page, leaves: list[str], first: int, words: int, streams: int
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the words, and their counts as [stream, (df, cf), word]."""
    table = _table(page, leaves, first, words, 1) if words else np.zeros((0, 2 + 3 * streams), np.int64)
    _check_ids(page, table[:, 0], "term")
    counts = table[:, 2:].reshape(words, streams, 3)
    _check_ids(page, counts[:, :, 0], "stream")
    names = tuple(unescape(word) for word in leaves[1 :: 2 + 3 * streams])
    if (counts[:, :, 1] > counts[:, :, 2]).any():
        raise DataError("a word has more documents than occurrences", page.file)
    return names, counts[:, :, 1:].transpose(1, 2, 0)


def _documents(
    page: _Page, leaves: list[str], first: int, documents: int, words: int, streams: int
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int64]]:
    """Return ids, labels, and counts as [stream, (length, unique length, tf of each word), document]."""
    width = 2 + streams * (3 + 2 * words)
    table = _table(page, leaves, first, documents, 0) if documents else np.zeros((0, width), np.int64)
    blocks = table[:, 2:].reshape(documents, streams, 3 + 2 * words)
    _check_ids(page, blocks[:, :, 0], "stream")
    _check_ids(page, blocks[:, :, 3::2], "term")
    counts = np.concatenate((blocks[:, :, 1:3], blocks[:, :, 4::2]), axis=2)
    length = counts[:, :, :1]
    # No count exceeds the length; a stream with words has at least one distinct word.
    is_invalid = (counts > length).any(axis=(1, 2)) | ((length > 0) & (counts[:, :, 1:2] == 0)).any(axis=(1, 2))
    if is_invalid.any():
        row = int(np.argmax(is_invalid))
        line = page.leaf_line(first + row * width)
        raise DataError(f"the counts of document {leaves[row * width]} contradict its length", page.file, line)
    ids = tuple(unescape(text) for text in leaves[::width])
    return ids, table[:, 1].astype(np.int32), counts.transpose(1, 2, 0)


def _stream_counts(
    info: CollectionInfo, stream: StreamInfo, of_terms: NDArray[np.int64], of_documents: NDArray[np.int64]
) -> FieldStatistics:
    """Return counts as float64; the average length has six significant digits as in LETOR."""
    df, cf = of_terms.astype(np.float64)
    length, unique, *_ = counts = np.ascontiguousarray(of_documents, np.float64)
    average = float(f"{stream.total / info.documents:.6g}")
    return FieldStatistics(info.documents, stream.total, average, df, cf, counts[2:], length, unique)


def query_file(folder: Path, query: str) -> Path:
    """Return the file of a query; raise if the id cannot be part of a file name."""
    if not query or "/" in query or "\0" in query:
        raise DataError(f"the query id {query!r} cannot be part of a file name", folder)
    return folder / f"query-{query}.xml"


def write_info(info: CollectionInfo, path: str | os.PathLike[str]) -> None:
    """Write `collectioninfo.xml` as LETOR does: CR LF, two blanks per level, and no newline at the end."""
    lines = [_DECLARATION, "<collectioninfo>", f"  <name>{escape(info.name)}</name>"]
    lines += [f"  <docnum>{info.documents}</docnum>", f"  <streamnum>{len(info.streams)}</streamnum>"]
    for i, stream in enumerate(info.streams):
        lines += [
            "  <stream>", f"    <streamid>{i + 1}</streamid>",
            f"    <streamdescription>{escape(stream.description)}</streamdescription>",
            f"    <uniquetermnum>{stream.terms}</uniquetermnum>", f"    <totaltermnum>{stream.total}</totaltermnum>",
            "  </stream>",
        ]  # fmt: skip
    text = "\r\n".join([*lines, "</collectioninfo>"])
    with atomic_write(path, follow=False) as file:
        file.write(text.encode())


def write_query(candidates: Candidates, info: CollectionInfo, path: str | os.PathLike[str]) -> None:
    """Write `query-<id>.xml`: one tag or leaf per line, without indentation."""
    streams = [candidates.fields[stream.name] for stream in info.streams]
    words, count = len(candidates.words), len(streams)
    lines = [_DECLARATION, "<query>", f"<id>{escape(candidates.query.id)}</id>", "<streaminfo>"]
    for i, stream in enumerate(streams):
        length = int(np.count_nonzero(stream.df))
        lines.append(_stream(i, f"<streamspecificquerylength>{length}</streamspecificquerylength>"))
    lines += ["</streaminfo>", "<terminfo>", f"<termnum>{words}</termnum>"]
    for row, word in enumerate(candidates.words):
        lines += ["<term>", f"<termid>{row + 1}</termid>", f"<word>{escape(word)}</word>"]
        for i, stream in enumerate(streams):
            df, cf = int(stream.df[row]), int(stream.cf[row])
            frequencies = f"<streamfrequency>{df}</streamfrequency>\n<streamtermfrequency>{cf}</streamtermfrequency>"
            lines.append(_stream(i, frequencies))
        lines.append("</term>")
    lines += ["</terminfo>", "<docinfo>", f"<docnum>{len(candidates)}</docnum>"]
    template = _document_template(words, count)
    tables = [np.vstack((stream.length[None], stream.unique[None], stream.tf)) for stream in streams]
    rows = np.vstack(tables).T.astype(np.int64).tolist() if tables else [[]] * len(candidates)
    labels = candidates.labels.tolist()
    for document, label, row_counts in zip(candidates.document_ids, labels, rows, strict=True):
        lines.append(template % (escape(document), label, *row_counts))
    lines += ["</docinfo>", "</query>", ""]
    with atomic_write(path, follow=False) as file:
        file.write("\n".join(lines).encode())


def _stream(number: int, inside: str) -> str:
    return f"<stream>\n<streamid>{number + 1}</streamid>\n{inside}\n</stream>"


def _document_template(words: int, streams: int) -> str:
    """Return the template of a document's lines; its values are id, label, and the counts of every stream."""
    terms = "".join(
        f"\n<term>\n<termid>{i + 1}</termid>\n<termfrequency>%d</termfrequency>\n</term>" for i in range(words)
    )
    counts = f"<length>%d</length>\n<uniquelength>%d</uniquelength>{terms}"
    blocks = "\n".join(_stream(i, counts) for i in range(streams))
    return f"<doc>\n<docid>%s</docid>\n<label>%d</label>\n{blocks}\n</doc>"
