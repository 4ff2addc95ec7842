"""WARC archives of web crawls (ClueWeb, Common Crawl, one's own), plain or packed: the pages among the responses.

The id is `WARC-TREC-ID` where there is one, else the url (with `%20` for a blank). Taken are responses of status 200
or without status, whose type is HTML or not given. An archive is walked from record to record by their lengths, and
where a record is not followed by the next, is not what its digest says, or ends too early, that is an error with its
place in the unpacked archive: a parser would look for the next record, and nobody would know how many were passed over.
"""

from __future__ import annotations

import io
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from pippin.collection.collection import Collection
from pippin.collection.files import CHUNK, LOOK, files_under, open_stream
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect
from pippin.collection.readers.web import Nested, RawPage, page_documents, web_streams
from pippin.errors import DataError
from pippin.limits import allowed, check_size

ENDINGS = (".warc", ".warc.gz")
TYPES = (None, "text/html", "application/xhtml+xml")
MAGIC = b"WARC/"
HEADER = re.compile(rb"WARC/.*?\r?\n\r?\n", re.DOTALL)
LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$")
KIND = re.compile(rb"(?im)^warc-type:[ \t]*([a-z]+)[ \t]*\r?$")
KINDS = (b"warcinfo", b"response", b"resource", b"request", b"metadata", b"revisit", b"conversion", b"continuation")
END = b"\r\n\r\n"
LONGEST_HEADER = 1 << 20
ZIPPED = ("gzip", "x-gzip", "deflate")


class _Walk:
    """A stream that walks along the records while a parser reads it, and notes where one does not follow another."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._held = stream, b""
        self._skip = 0  # bytes of a record's content that are still to come
        self.position = 0
        self.record = 0  # where the record begins that is passed now
        self.error: BaseException | None = None
        self.damage = ""
        self.records = 0
        self.whole = True  # whether the bytes so far end where a record does
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        """As a file reads; an error is kept, as the parser makes a plain end of it."""
        try:
            data = self._stream.read(size)
        except (OSError, DataError) as error:
            self.error = error
            return b""
        self._pass(data)
        self.position += len(data)
        self._last = (self._last + data[-len(END) :])[-len(END) :]
        return data

    def tell(self) -> int:
        return self.position

    def _pass(self, data: bytes) -> None:
        """Walk over the bytes that came; what is left of them begins a record, or blanks before one."""
        if self._skip > len(data):
            self._skip -= len(data)
            return
        begin = self.position - len(self._held)
        held = self._held + data[self._skip :] if self._skip else self._held + data
        begin += self._skip
        self._skip = 0
        while not self.damage:
            start = held.lstrip(b"\r\n")
            begin += len(held) - len(start)
            held = start
            self.whole = not held
            if held and not MAGIC.startswith(held[: len(MAGIC)]):
                self.damage = f"no record begins at byte {begin:,}, where the one before it ends"
                break
            header = HEADER.match(held)
            if header is None:
                if len(held) > LONGEST_HEADER:
                    self.damage = f"the record at byte {begin:,} has no end of its headers"
                break
            length, kind = LENGTH.findall(header[0]), KIND.findall(header[0])
            if len(length) != 1 or len(kind) != 1 or kind[0].lower() not in KINDS:
                self.damage = f"the record at byte {begin:,} does not say what it is and how long"
                break
            self.records += 1
            self.record, size = begin, header.end() + int(length[0])
            if size > len(held):
                self._skip, held, self.whole = size - len(held), b"", False
                break
            held, begin = held[size:], begin + size
        self._held = held

    def check(self, file: Path) -> None:
        """Raise where the archive is damaged as far as it was read."""
        if self.error:
            raise self.error
        if self.damage:
            raise DataError(f"the archive is damaged: {self.damage}", file)

    def check_end(self, file: Path) -> None:
        """Raise where the archive does not end with a record."""
        while self.read(CHUNK):  # what the parser left
            pass
        self.check(file)
        if not self.position:
            raise DataError("the file is empty", file)
        if not self.whole or self._last != END:
            raise DataError(f"the archive is truncated in the record at byte {self.record:,}", file)


class _Told(Sequence[str]):
    """What became of the records that were read last, as a sentence for the collection's notes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.nested = Nested()

    def _sentences(self) -> list[str]:
        counts, records = self.counts, self.counts["record"]
        parts = [(counts["page"], "pages"), (counts["status"], "responses with another status than 200"),
                 (counts["type"], "responses that are no HTML"),
                 (records - counts["page"] - counts["status"] - counts["type"], "no responses")]  # fmt: skip
        told = [f"{records:,} records: " + ", ".join(f"{n:,} {what}" for n, what in parts if n)] if records else []
        return [*told, *self.nested]

    def __len__(self) -> int:
        return len(self._sentences())

    def __getitem__(self, item: Any) -> Any:
        return self._sentences()[item]


def _pages(files: list[Path], told: _Told) -> Iterator[RawPage]:
    told.counts.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc 1.1 warns of its own old names when imported
        from fastwarc.warc import ArchiveIterator, WarcRecordType

    for file in files:
        with open_stream(file) as stream:
            walk = _Walk(stream)
            archive = ArchiveIterator(
                cast(BinaryIO, walk), record_types=WarcRecordType.response, parse_http=False, fsspec_args=False
            )
            try:
                for record in archive:
                    page = _page(record, file, walk, told.counts)
                    walk.check(file)
                    if page is not None:
                        yield page
            except OSError as error:
                walk.check(file)
                raise DataError(f"a record after byte {walk.record:,} is damaged: {error}", file) from None
            walk.check_end(file)
            told.counts["record"] += walk.records


def _page(record: Any, file: Path, walk: _Walk, counts: Counter[str]) -> RawPage | None:
    """The page of a response, or None if it is none."""
    place = f"the record at byte {record.stream_pos:,}"
    if "WARC-Block-Digest" in record.headers and not record.verify_block_digest(consume=False):
        walk.check(file)
        raise DataError(f"{place} is not what its WARC-Block-Digest says: it is damaged", file)
    record.parse_http()
    length, payload = record.content_length, record.reader.read()
    if len(payload) < length:
        walk.check(file)
        raise DataError(f"the archive is truncated in {place}", file)
    headers = record.http_headers
    if headers is None or headers.status_code not in (None, 200):
        counts["status"] += 1
        return None
    if record.http_content_type not in TYPES:
        counts["type"] += 1
        return None
    counts["page"] += 1
    url = record.headers.get("WARC-Target-URI", "").strip("<>")
    name = record.headers.get("WARC-TREC-ID") or url
    if not name:
        raise DataError(f"{place} has neither WARC-TREC-ID nor WARC-Target-URI", file)
    sent = {key.lower(): value.lower() for key, value in headers.items()}
    page = _dechunk(payload) if "chunked" in sent.get("transfer-encoding", "") else payload
    page = _unpack(page, sent.get("content-encoding", "").strip(), file)
    return RawPage("%20".join(name.split()), url, page, record.http_charset)


def _dechunk(data: bytes) -> bytes:
    """The content of a chunked transfer; data that is none, as crawlers that join chunks keep the header, stay."""
    chunks: list[bytes] = []
    position = 0
    while True:
        size, _, _ = data[position : position + 32].partition(b"\r\n")
        try:
            length = int(size.partition(b";")[0], 16)
        except ValueError:
            return b"".join(chunks) if chunks else data
        position += len(size) + 2
        if length <= 0:
            return b"".join(chunks)
        chunks.append(data[position : position + length])
        position += length + 2


def _unpack(data: bytes, packing: str, file: Path) -> bytes:
    """The page of a packed response; one that is not packed so after all stays: headers in crawls are often wrong."""
    from fastwarc.stream_io import BrotliReader, ZstdReader

    readers = {"br": BrotliReader, "zstd": ZstdReader}
    most = allowed(len(data)) + 1
    try:
        if packing in readers:
            page = bytes(readers[packing](io.BytesIO(data)).read(most))
        elif packing in ZIPPED:
            bare = packing == "deflate" and data[:1] != b"\x78"  # some servers leave out the header of zlib
            page = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32).decompress(data, most)
        else:
            return data
    except (OSError, zlib.error):
        return data
    check_size(len(page), len(data), "a page unpacks to", file)
    return page


def _open(wanted: Wanted) -> Collection:
    files = [file for file in files_under(wanted.path) if wanted.path.is_file() or _named(file)]
    if not files:
        raise DataError("the folder has no .warc or .warc.gz file", wanted.path)
    streams, told = web_streams(wanted), _Told()
    return collect(
        wanted,
        streams,
        lambda: page_documents(_pages(files, told), streams, wanted.jobs, told.nested),
        notes=told,
        files=files,
    )


def _named(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


READERS.register(
    "warc",
    Reader(
        "`.warc` and `.warc.gz`, files or folders",
        lambda path: any(map(_named, islice(files_under(path), LOOK))),
        _open,
    ),
)
