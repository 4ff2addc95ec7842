"""LETOR's meta-information: the counts behind the features as XML, read and written (Figures 2 and 3 of the paper).

`collectioninfo.xml` holds the counts of the collection, `query-<id>.xml` those of a query and its candidates: all that
a text feature needs, so features can be computed again, or new ones, where nobody has the documents. The reader holds
every tag against the one form such a file has, however it is indented; the writer prints LETOR's own bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import escape, unescape

import numpy as np
from numpy.typing import NDArray

from pippin.collection.candidates import Candidates, StreamCounts
from pippin.collection.collection import Query
from pippin.collection.sampling import natural
from pippin.data.buffers import open_buffer
from pippin.errors import DataError
from pippin.files import atomic_write

INFO = "collectioninfo.xml"
_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
_TAG = re.compile(r"<(/?\w+)>([^<]*)")
_UNIONS = {"title and abstract": "whole", "whole document": "whole"}  # LETOR's words for what we call whole
_LEAVES = frozenset((
    "id", "name", "docnum", "streamnum", "streamid", "streamdescription", "uniquetermnum", "totaltermnum",
    "streamspecificquerylength", "termnum", "termid", "word", "streamfrequency", "streamtermfrequency", "docid",
    "label", "length", "uniquelength", "termfrequency",
))  # fmt: skip


class Counted(Protocol):
    """What the meta-information asks of an index."""

    @property
    def name(self) -> str:
        """What the collection is called."""

    @property
    def documents(self) -> int:
        """How many documents there are."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams."""

    @property
    def descriptions(self) -> Mapping[str, str]:
        """What each stream is."""

    def terms(self, stream: str) -> int:
        """Distinct words of the stream."""

    def total(self, stream: str) -> int:
        """Words of the stream."""


@dataclass(frozen=True)
class StreamInfo:
    """One stream of the collection."""

    name: str
    description: str
    terms: int  # distinct words
    total: int  # words


@dataclass(frozen=True)
class CollectionInfo:
    """What `collectioninfo.xml` says."""

    name: str
    documents: int
    streams: tuple[StreamInfo, ...]

    @classmethod
    def of(cls, index: Counted) -> CollectionInfo:
        """The counts of an index."""
        streams = (
            StreamInfo(name, index.descriptions.get(name) or name, index.terms(name), index.total(name))
            for name in index.streams
        )
        return cls(index.name, index.documents, tuple(streams))


@dataclass(frozen=True)
class Meta:
    """A folder of meta-information; iterating reads one query after the other, by their numbers."""

    info: CollectionInfo
    files: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[Candidates]:
        return (read_query(file, self.info) for file in self.files)


def read_meta(folder: str | os.PathLike[str], *, streams: Sequence[str] | None = None) -> Meta:
    """The meta-information of a folder; `streams` names its streams where their descriptions should not."""
    info = read_info(Path(folder) / INFO, streams=streams)
    files = sorted(Path(folder).glob("query-*.xml"), key=lambda file: natural(file.stem))
    if not files:
        raise DataError("this folder has no query-….xml", folder)
    return Meta(info, tuple(files))


class _Page:
    """The tags of a file, each with the text behind it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = os.fspath(path)
        try:
            self.text = open_buffer(path).data.tobytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"this is not UTF-8: {error.reason}", path) from None
        self.tokens: list[tuple[str, str]] = _TAG.findall(self.text)

    def expect(self, tags: list[str]) -> list[str]:
        """The texts of the leaves, if the tags are these."""
        present = [tag for tag, _ in self.tokens]
        if present != tags:
            place = next((i for i, (a, b) in enumerate(zip(present, tags, strict=False)) if a != b), len(present))
            place = min(place, len(tags))
            wanted = f"<{tags[place]}> is expected" if place < len(tags) else "the file should end"
            there = f"and <{present[place]}> stands" if place < len(present) else "and the file ends"
            raise DataError(f"{wanted} {there} here", self.file, self.line(place))
        return [text.strip() for tag, text in self.tokens if tag in _LEAVES]

    def count(self, tag: str, size: int) -> int:
        """The number in the first leaf of this name, never much more than things of `size` tags that fit the file."""
        for place, (present, text) in enumerate(self.tokens):
            if present == tag:
                number = self.number(text, place)
                if number < 0:
                    raise DataError(f"<{tag}> is not negative, as {number} is", self.file, self.line(place))
                return min(number, len(self.tokens) // size + 1)
        raise DataError(f"the file has no <{tag}>", self.file)

    def number(self, text: str, place: int) -> int:
        try:
            return int(text)
        except ValueError:
            tag = self.tokens[place][0]
            raise DataError(f"<{tag}> is a whole number, not {text.strip()!r}", self.file, self.line(place)) from None

    def numbers(self, leaves: list[str], first: int) -> NDArray[np.int64]:
        """Leaves from the `first` on as whole numbers."""
        try:
            return np.array(list(map(int, leaves)), np.int64)
        except ValueError:
            places = [place for place, (tag, _) in enumerate(self.tokens) if tag in _LEAVES][first:]
            return np.array([self.number(text, place) for text, place in zip(leaves, places, strict=False)])
        except OverflowError:
            raise DataError("a number is too large", self.file) from None

    def leaf_line(self, leaf: int) -> int:
        """The line of a leaf."""
        return self.line([place for place, (tag, _) in enumerate(self.tokens) if tag in _LEAVES][leaf])

    def line(self, place: int) -> int:
        """The line of a tag, or the last one."""
        for i, match in enumerate(_TAG.finditer(self.text)):
            if i == place:
                return self.text.count("\n", 0, match.start()) + 1
        return self.text.rstrip().count("\n") + 1


def _leaf(*names: str) -> list[str]:
    """Tags of leaves that follow each other."""
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
        raise DataError("a collection has at least one document", path, page.leaf_line(1))
    if len({stream.name for stream in infos}) < count:
        raise DataError("two streams have one name", path)
    return CollectionInfo(unescape(leaves[0]), documents, tuple(infos))


def _stream_name(description: str) -> str:
    """A stream's name from LETOR's description of it."""
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
        kept.name: _stream_counts(info, kept, of_terms[i], of_documents[i]) for i, kept in enumerate(info.streams)
    }
    query = Query(unescape(leaves[0]), " ".join(names))
    return Candidates(query, names, ids, labels, streams)


def _table(page: _Page, leaves: list[str], first: int, rows: int, text: int) -> NDArray[np.int64]:
    """Leaves as a table of whole numbers, [rows, width]; the column of texts is 0."""
    width = len(leaves) // rows
    plain = list(leaves)
    plain[text::width] = ["0"] * rows
    table = page.numbers(plain, first).reshape(rows, width)
    negative = table < 0
    negative[:, 1] = False  # a label may be
    if negative.any():
        place = int(np.argmax(negative))
        raise DataError(f"a count is not negative, as {leaves[place]} is", page.file, page.leaf_line(first + place))
    return table


def _check_ids(page: _Page, ids: NDArray[np.int64], what: str) -> None:
    """Raise unless the last axis counts from 1."""
    if (ids != np.arange(1, ids.shape[-1] + 1)).any():
        raise DataError(f"the {what} ids do not count from 1 to {ids.shape[-1]} everywhere", page.file)


def _terms(
    page: _Page, leaves: list[str], first: int, words: int, streams: int
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The words, and [stream, (df, cf), word]."""
    table = _table(page, leaves, first, words, 1) if words else np.zeros((0, 2 + 3 * streams), np.int64)
    _check_ids(page, table[:, 0], "term")
    counts = table[:, 2:].reshape(words, streams, 3)
    _check_ids(page, counts[:, :, 0], "stream")
    names = tuple(unescape(word) for word in leaves[1 :: 2 + 3 * streams])
    if (counts[:, :, 1] > counts[:, :, 2]).any():
        raise DataError("a word is in more documents than it has occurrences", page.file)
    return names, counts[:, :, 1:].transpose(1, 2, 0)


def _documents(
    page: _Page, leaves: list[str], first: int, documents: int, words: int, streams: int
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int64]]:
    """Document ids, labels, and [stream, (length, unique length, tf of each word), document]."""
    width = 2 + streams * (3 + 2 * words)
    table = _table(page, leaves, first, documents, 0) if documents else np.zeros((0, width), np.int64)
    blocks = table[:, 2:].reshape(documents, streams, 3 + 2 * words)
    _check_ids(page, blocks[:, :, 0], "stream")
    _check_ids(page, blocks[:, :, 3::2], "term")
    counts = np.concatenate((blocks[:, :, 1:3], blocks[:, :, 4::2]), axis=2)
    length = counts[:, :, :1]
    # No word, and no number of distinct words, exceeds the length; a stream with words has at least one distinct.
    wrong = (counts > length).any(axis=(1, 2)) | ((length > 0) & (counts[:, :, 1:2] == 0)).any(axis=(1, 2))
    if wrong.any():
        row = int(np.argmax(wrong))
        place = page.leaf_line(first + row * width)
        raise DataError(f"the counts of document {leaves[row * width]} contradict its length", page.file, place)
    ids = tuple(unescape(text) for text in leaves[::width])
    return ids, table[:, 1].astype(np.int32), counts.transpose(1, 2, 0)


def _stream_counts(
    info: CollectionInfo, stream: StreamInfo, of_terms: NDArray[np.int64], of_documents: NDArray[np.int64]
) -> StreamCounts:
    """Counts as float64. LETOR's average length has six significant digits."""
    df, cf = of_terms.astype(np.float64)
    length, unique, *_ = counts = np.ascontiguousarray(of_documents, np.float64)
    average = float(f"{stream.total / info.documents:.6g}")
    return StreamCounts(info.documents, stream.total, average, df, cf, counts[2:], length, unique)


def write_meta(folder: str | os.PathLike[str], info: CollectionInfo, queries: Iterable[Candidates]) -> list[Path]:
    """Write `collectioninfo.xml` and a `query-<id>.xml` per query; the files written."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = [target / INFO]
    write_info(info, written[0])
    for candidates in queries:
        written.append(query_file(target, candidates.query.id))
        write_query(candidates, info, written[-1])
    return written


def query_file(folder: Path, query: str) -> Path:
    """The file of a query; an id that would lead elsewhere is refused."""
    if not query or "/" in query or "\0" in query:
        raise DataError(f"the query id {query!r} cannot be part of a file's name", folder)
    return folder / f"query-{query}.xml"


def write_info(info: CollectionInfo, path: str | os.PathLike[str], *, scars: bool = False) -> None:
    """Write `collectioninfo.xml`, as LETOR did with CR LF, two blanks a level, and no newline at the end.

    `scars` puts the traces of hand-editing where the published file has them (after all streams but the last).
    """
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
    if scars:
        last = text.rindex("  <stream>\r\n")
        head = text[:last].replace("</totaltermnum>\r\n", "</totaltermnum>\r \r\n")
        tail = text[last:].replace("  <stream>\r\n", "  <stream> \n", 1)
        text = head.replace("</stream>\r\n", "</stream> \r\n") + tail
    with atomic_write(path, follow=False) as file:
        file.write(text.encode())


def write_query(candidates: Candidates, info: CollectionInfo, path: str | os.PathLike[str]) -> None:
    """Write `query-<id>.xml`: one tag or leaf a line, nothing indented."""
    streams = [candidates.streams[stream.name] for stream in info.streams]
    words, count = len(candidates.words), len(streams)
    lines = [_DECLARATION, "<query>", f"<id>{escape(candidates.query.id)}</id>", "<streaminfo>"]
    for i, stream in enumerate(streams):
        known = int(np.count_nonzero(stream.df))
        lines.append(_stream(i, f"<streamspecificquerylength>{known}</streamspecificquerylength>"))
    lines += ["</streaminfo>", "<terminfo>", f"<termnum>{words}</termnum>"]
    for row, word in enumerate(candidates.words):
        lines += ["<term>", f"<termid>{row + 1}</termid>", f"<word>{escape(word)}</word>"]
        for i, stream in enumerate(streams):
            df, cf = int(stream.df[row]), int(stream.cf[row])
            frequencies = f"<streamfrequency>{df}</streamfrequency>\n<streamtermfrequency>{cf}</streamtermfrequency>"
            lines.append(_stream(i, frequencies))
        lines.append("</term>")
    lines += ["</terminfo>", "<docinfo>", f"<docnum>{len(candidates)}</docnum>"]
    form = _document_form(words, count)
    tables = [np.vstack((stream.length[None], stream.unique[None], stream.tf)) for stream in streams]
    rows = np.vstack(tables).T.astype(np.int64).tolist() if tables else [[]] * len(candidates)
    labels = candidates.labels.tolist()
    for document, label, row_counts in zip(candidates.document_ids, labels, rows, strict=True):
        lines.append(form % (escape(document), label, *row_counts))
    lines += ["</docinfo>", "</query>", ""]
    with atomic_write(path, follow=False) as file:
        file.write("\n".join(lines).encode())


def _stream(number: int, inside: str) -> str:
    return f"<stream>\n<streamid>{number + 1}</streamid>\n{inside}\n</stream>"


def _document_form(words: int, streams: int) -> str:
    """A document's lines, to be filled with its id, its label, and the counts of every stream."""
    terms = "".join(
        f"\n<term>\n<termid>{i + 1}</termid>\n<termfrequency>%d</termfrequency>\n</term>" for i in range(words)
    )
    counts = f"<length>%d</length>\n<uniquelength>%d</uniquelength>{terms}"
    blocks = "\n".join(_stream(i, counts) for i in range(streams))
    return f"<doc>\n<docid>%s</docid>\n<label>%d</label>\n{blocks}\n</doc>"
