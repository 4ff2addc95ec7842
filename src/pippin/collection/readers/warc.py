"""WARC archives of web crawls (ClueWeb, Common Crawl, one's own), plain or packed: the pages among the responses.

The id is `WARC-TREC-ID` where there is one, else the url (with `%20` for a blank). Taken are responses of status 200
or without status, whose type is HTML or not given. Records that end too early are an error with their position in the
unpacked archive.
"""

from __future__ import annotations

import io
import warnings
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from pippin.collection.collection import Collection
from pippin.collection.files import LOOK, files_under, open_stream
from pippin.collection.readers.base import READERS, Reader, Wanted, collect
from pippin.collection.readers.web import RawPage, page_documents, web_streams
from pippin.errors import DataError

ENDINGS = (".warc", ".warc.gz")
TYPES = (None, "text/html", "application/xhtml+xml")
MAGIC, END = b"WARC/", b"\r\n\r\n"
ZIPPED = ("gzip", "x-gzip", "deflate")


class _Ending:
    """A stream that remembers its first and last bytes, which tell whether an archive is whole, and its errors."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.first, self.last = stream, b"", b""
        self.position = 0
        self.error: BaseException | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            data = self.stream.read(size)
        except (EOFError, OSError, zlib.error) as error:  # kept, as the parser makes a plain end of it
            self.error = error
            return b""
        self.first = self.first or data[: len(MAGIC)]
        self.last = (self.last + data[-len(END) :])[-len(END) :]
        self.position += len(data)
        return data

    def tell(self) -> int:
        return self.position


def _pages(files: list[Path]) -> Iterator[RawPage]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc 1.1 warns of its own old names when imported
        from fastwarc.warc import ArchiveIterator, WarcRecordType

    for file in files:
        with open_stream(file) as stream:
            ending = _Ending(stream)
            archive = ArchiveIterator(
                cast(BinaryIO, ending), record_types=WarcRecordType.response, parse_http=True, fsspec_args=False
            )
            place = 0
            try:
                for record in archive:
                    place = record.stream_pos
                    page = _page(record, file, ending)
                    if page is not None:
                        yield page
            except OSError as error:
                raise ending.error or DataError(f"a record after byte {place:,} is damaged: {error}", file) from None
            if ending.error:
                raise ending.error
            if not ending.first:
                raise DataError("the file is empty", file)
            if ending.last != END:
                raise DataError(f"the archive is truncated in a record after byte {place:,}", file)


def _page(record: Any, file: Path, ending: _Ending) -> RawPage | None:
    """The page of a response, or None if it is none."""
    length, payload = record.content_length, record.reader.read()
    if len(payload) < length:
        raise ending.error or DataError(f"the archive is truncated in the record at byte {record.stream_pos:,}", file)
    headers = record.http_headers
    if headers is None or headers.status_code not in (None, 200) or record.http_content_type not in TYPES:
        return None
    url = record.headers.get("WARC-Target-URI", "").strip("<>")
    name = record.headers.get("WARC-TREC-ID") or url
    if not name:
        raise DataError(f"the record at byte {record.stream_pos:,} has neither WARC-TREC-ID nor WARC-Target-URI", file)
    sent = {key.lower(): value.lower() for key, value in headers.items()}
    page = _dechunk(payload) if "chunked" in sent.get("transfer-encoding", "") else payload
    page = _unpack(page, sent.get("content-encoding", "").strip())
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


def _unpack(data: bytes, packing: str) -> bytes:
    """The page of a packed response; one that is not packed so after all stays: headers in crawls are often wrong."""
    from fastwarc.stream_io import BrotliReader, ZstdReader

    readers = {"br": BrotliReader, "zstd": ZstdReader}
    try:
        if packing in readers:
            return bytes(readers[packing](io.BytesIO(data)).read())
        if packing in ZIPPED:
            bare = packing == "deflate" and data[:1] != b"\x78"  # some servers leave out the header of zlib
            return zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32).decompress(data)
    except (OSError, zlib.error):
        return data
    return data


def _open(wanted: Wanted) -> Collection:
    files = [file for file in files_under(wanted.path) if wanted.path.is_file() or _named(file)]
    if not files:
        raise DataError("the folder has no .warc or .warc.gz file", wanted.path)
    streams = web_streams(wanted)
    return collect(wanted, streams, lambda: page_documents(_pages(files), streams, wanted.jobs))


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
