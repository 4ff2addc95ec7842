"""Web pages: HTML documents for all formats that contain them, folders of HTML files, and WARC archives.

The fields are body, anchor, title, url and extracted_title, and headings on request. The anchor field is collected
later from the links of all pages. Link targets stay as written, unless the page has a `<base>`.

A folder of HTML files may have the urls of its files in `urls.tsv` (`file<TAB>url` per line). With such a list, the
documents are the files of the list in its order; without one, all HTML files, and the path in the folder is the url.
The id is the path in the folder, with `%20` for blanks, which ids cannot contain.

From WARC archives (ClueWeb, Common Crawl) come the responses with status 200 or none whose type is HTML or not given.
The id is `WARC-TREC-ID`, else the url. `_RecordWalk` verifies that each record follows the one before it: the parser
would search for the next record and silently skip damaged ones.
"""

from __future__ import annotations

import io
import re
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import urljoin

from pippin.collections.collection import Collection, Diagnostics, Document, Link
from pippin.collections.links.urls import canonical, host
from pippin.collections.readers.base import EXTRACTED, HEADINGS, READERS, WEB_FIELDS, Reader, make_collection
from pippin.collections.readers.files import CHUNK, MAX_PROBED, files_under, open_file, read_lines
from pippin.collections.readers.layout import ReadRequest
from pippin.collections.readers.qrels import match_file_names
from pippin.collections.readers.tables import without_scheme
from pippin.collections.text.html import DEPTH, decode, flatten, parse_html
from pippin.collections.text.title_extraction import extract_title
from pippin.errors import DataError
from pippin.storage.compression import check_size, max_decompressed_size

PAGES_PER_TASK = 16

Messages = str | Sequence[str] | Callable[[], Sequence[str]]


class RawPage(NamedTuple):
    """A page before parsing; `charset` comes from its HTTP header."""

    id: str
    url: str
    data: bytes
    charset: str | None = None


class NestingCounter:
    """Counts the pages of the latest pass whose elements are nested too deeply."""

    def __init__(self) -> None:
        self.n_pages = 0

    def count(self, pages: Iterable[RawPage]) -> Iterator[RawPage]:
        """Yield the pages while counting."""
        self.n_pages = 0
        for page in pages:
            text = page.data.decode("latin-1")
            self.n_pages += flatten(text) is not text
            yield page

    def messages(self) -> list[str]:
        """Return a message if any page is nested too deeply."""
        count = f"{self.n_pages:,} pages have" if self.n_pages > 1 else "1 page has"
        return [f"{count} elements nested more than {DEPTH} deep; deeper ones are flattened"] if self.n_pages else []


def make_web_collection(
    request: ReadRequest, read_pages: Callable[[], Iterator[RawPage]], files: list[Path], *diagnostics: Messages
) -> Collection:
    """Make a collection of web pages."""
    fields = ("url",) if request.links_only else request.select_fields((*WEB_FIELDS, HEADINGS), WEB_FIELDS)
    nesting = NestingCounter()
    return make_collection(
        request,
        fields,
        lambda: parse_pages(nesting.count(read_pages()), fields, request.jobs),
        diagnostics=Diagnostics(*diagnostics, nesting.messages),
        files=files,
    )


def parse_pages(pages: Iterable[RawPage], fields: tuple[str, ...], jobs: int) -> Iterator[Document]:
    """Parse pages in their order, in several processes if `jobs` is above 1.

    Parsing holds the interpreter lock, so threads do not help. At most two tasks per process are in progress, to bound
    memory.
    """
    if jobs < 2:
        yield from (parse_page(page, fields) for page in pages)
        return
    tasks: deque[Future[list[Document]]] = deque()
    iterator = iter(pages)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            while batch := list(islice(iterator, PAGES_PER_TASK)):
                tasks.append(pool.submit(_parse_batch, batch, fields))
                if len(tasks) > 2 * jobs:
                    yield from tasks.popleft().result()
            while tasks:
                yield from tasks.popleft().result()
        except BrokenProcessPool:
            raise DataError(
                "a process that parses pages ended; use jobs=1 to find the page, and in a script that uses jobs guard "
                'the entry point with if __name__ == "__main__"'
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _parse_batch(pages: list[RawPage], fields: tuple[str, ...]) -> list[Document]:
    return [parse_page(page, fields) for page in pages]


def parse_page(raw: RawPage, fields: tuple[str, ...]) -> Document:
    """Parse one page."""
    page = parse_html(raw.data, encoding=raw.charset)
    texts = {"body": page.body, "title": page.title, "url": without_scheme(raw.url)}
    if EXTRACTED in fields:
        markup = flatten(decode(raw.data, raw.charset)[0])
        texts[EXTRACTED] = extract_title(markup, host=host(canonical(raw.url))).text
    if HEADINGS in fields:
        texts[HEADINGS] = " ".join(text for _, text in page.headings)
    links = tuple(_resolve(link, raw.url, page.base) for link in page.links) if page.base else page.links
    return Document(raw.id, {field: text for field, text in texts.items() if field in fields}, raw.url, links)


def _resolve(link: Link, url: str, base: str) -> Link:
    with suppress(ValueError):  # invalid addresses stay as written
        return Link(urljoin(urljoin(url, base), link.target), link.text)
    return link


# Folders of HTML files

HTML_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")
URL_LISTS = re.compile(r"urls\.(tsv|txt)", re.IGNORECASE)


def _is_html_folder(path: Path) -> bool:
    return path.is_dir() and any(file.suffix.lower() in HTML_SUFFIXES for file in islice(files_under(path), MAX_PROBED))


def _read_url_list(folder: Path, urls: Path) -> list[tuple[str, str]]:
    pairs = []
    for number, line in read_lines(urls):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise DataError("expected two columns separated by a tab: file, url", urls, number)
        if not (folder / cells[0]).is_file():
            raise DataError(f"no such file: {cells[0]}", urls, number)
        pairs.append((cells[0], cells[1]))
    return pairs


def _read_html_files(folder: Path, pages: list[tuple[str, str]]) -> Iterator[RawPage]:
    for name, url in pages:
        with open_file(folder / name) as file:
            data = file.read()
        yield RawPage("%20".join(name.split()), url, data)


def _open_html_folder(request: ReadRequest) -> Collection:
    folder = request.path
    if not folder.is_dir():
        raise DataError("expected a folder of HTML files", folder)
    lists = [file for file in sorted(folder.iterdir()) if file.is_file() and URL_LISTS.fullmatch(file.name)]
    urls = request.require_one(lists, "urls")
    if urls:
        pages = _read_url_list(folder, urls)
    else:
        files = [file for file in files_under(folder) if file.suffix.lower() in HTML_SUFFIXES]
        names = [file.relative_to(folder).as_posix() for file in files]
        pages = list(zip(names, names, strict=True))
    if not pages:
        raise DataError(f"no HTML files found ({', '.join(HTML_SUFFIXES)})", folder)
    document_files = [folder / name for name, _ in pages]
    collection = make_web_collection(request, lambda: _read_html_files(folder, pages), document_files)
    return replace(
        collection, qrels=match_file_names(collection.qrels, ["%20".join(name.split()) for name, _ in pages])
    )


READERS.register(
    "html",
    Reader("a folder of `.html` files, urls in `urls.tsv`", _is_html_folder, _open_html_folder, suffixes=HTML_SUFFIXES),
)


# WARC archives

WARC_SUFFIXES = (".warc", ".warc.gz")
PAGE_TYPES = (None, "text/html", "application/xhtml+xml")
MAGIC = b"WARC/"
HEADER = re.compile(rb"WARC/.*?\r?\n\r?\n", re.DOTALL)
LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$")
KIND = re.compile(rb"(?im)^warc-type:[ \t]*([a-z]+)[ \t]*\r?$")
KINDS = (b"warcinfo", b"response", b"resource", b"request", b"metadata", b"revisit", b"conversion", b"continuation")
END = b"\r\n\r\n"
LONGEST_HEADER = 1 << 20
ZIPPED = ("gzip", "x-gzip", "deflate")


class _RecordWalk:
    """A file that verifies, while the parser reads it, that each record follows the one before it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._pending = file, b""
        self._skip = 0  # remaining bytes of a record's content
        self.position = 0
        self.record = 0  # offset of the current record
        self.error: BaseException | None = None
        self.damage = ""
        self.records = 0
        self.is_complete = True  # whether the bytes so far end with a record
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        """Read as a file does; keep an error, which the parser would treat as the end of the file."""
        try:
            data = self._file.read(size)
        except (OSError, DataError) as error:
            self.error = error
            return b""
        self._verify(data)
        self.position += len(data)
        self._last = (self._last + data[-len(END) :])[-len(END) :]
        return data

    def tell(self) -> int:
        return self.position

    def _verify(self, data: bytes) -> None:
        """Verify the records in the next bytes; `_pending` keeps an incomplete header."""
        if self._skip > len(data):
            self._skip -= len(data)
            return
        begin = self.position - len(self._pending)
        pending = self._pending + data[self._skip :] if self._skip else self._pending + data
        begin += self._skip
        self._skip = 0
        while not self.damage:
            start = pending.lstrip(b"\r\n")
            begin += len(pending) - len(start)
            pending = start
            self.is_complete = not pending
            if pending and not MAGIC.startswith(pending[: len(MAGIC)]):
                self.damage = f"no record begins at byte {begin:,}, where the one before it ends"
                break
            header = HEADER.match(pending)
            if header is None:
                if len(pending) > LONGEST_HEADER:
                    self.damage = f"the record at byte {begin:,} has headers without an end"
                break
            length, kind = LENGTH.findall(header[0]), KIND.findall(header[0])
            if len(length) != 1 or len(kind) != 1 or kind[0].lower() not in KINDS:
                self.damage = f"the record at byte {begin:,} has no valid WARC-Type or Content-Length"
                break
            self.records += 1
            self.record, size = begin, header.end() + int(length[0])
            if size > len(pending):
                self._skip, pending, self.is_complete = size - len(pending), b"", False
                break
            pending, begin = pending[size:], begin + size
        self._pending = pending

    def check(self, file: Path) -> None:
        """Raise if the archive is damaged so far."""
        if self.error:
            raise self.error
        if self.damage:
            raise DataError(f"the archive is damaged: {self.damage}", file)

    def check_end(self, file: Path) -> None:
        """Raise if the archive does not end with a complete record."""
        while self.read(CHUNK):
            pass
        self.check(file)
        if not self.position:
            raise DataError("the file is empty", file)
        if not self.is_complete or self._last != END:
            raise DataError(f"the archive is truncated in the record at byte {self.record:,}", file)


class _RecordCounts:
    """Counts of the records of the latest pass."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def messages(self) -> list[str]:
        counts, records = self.counts, self.counts["record"]
        parts = [
            (counts["page"], "pages"),
            (counts["status"], "responses with another status than 200"),
            (counts["type"], "responses that are not HTML"),
            (records - counts["page"] - counts["status"] - counts["type"], "other records"),
        ]
        return [f"{records:,} records: " + ", ".join(f"{n:,} {kind}" for n, kind in parts if n)] if records else []


def _read_warc(files: list[Path], counts: Counter[str]) -> Iterator[RawPage]:
    counts.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc 1.1 warns of its own old names when imported
        from fastwarc.warc import ArchiveIterator, WarcRecordType

    for file in files:
        with open_file(file) as opened:
            walk = _RecordWalk(opened)
            archive = ArchiveIterator(
                cast(BinaryIO, walk), record_types=WarcRecordType.response, parse_http=False, fsspec_args=False
            )
            try:
                for record in archive:
                    page = _read_response(record, file, walk, counts)
                    walk.check(file)
                    if page is not None:
                        yield page
            except OSError as error:
                walk.check(file)
                raise DataError(f"a record after byte {walk.record:,} is damaged: {error}", file) from None
            walk.check_end(file)
            counts["record"] += walk.records


def _read_response(record: Any, file: Path, walk: _RecordWalk, counts: Counter[str]) -> RawPage | None:
    """Return the page of a response, or None if it is not a page."""
    location = f"the record at byte {record.stream_pos:,}"
    if "WARC-Block-Digest" in record.headers and not record.verify_block_digest(consume=False):
        walk.check(file)
        raise DataError(f"{location} does not match its WARC-Block-Digest: it is damaged", file)
    record.parse_http()
    length, payload = record.content_length, record.reader.read()
    if len(payload) < length:
        walk.check(file)
        raise DataError(f"the archive is truncated in {location}", file)
    headers = record.http_headers
    if headers is None or headers.status_code not in (None, 200):
        counts["status"] += 1
        return None
    if record.http_content_type not in PAGE_TYPES:
        counts["type"] += 1
        return None
    counts["page"] += 1
    url = record.headers.get("WARC-Target-URI", "").strip("<>")
    name = record.headers.get("WARC-TREC-ID") or url
    if not name:
        raise DataError(f"{location} has neither WARC-TREC-ID nor WARC-Target-URI", file)
    sent_headers = {key.lower(): value.lower() for key, value in headers.items()}
    page = _dechunk(payload) if "chunked" in sent_headers.get("transfer-encoding", "") else payload
    page = _decompress(page, sent_headers.get("content-encoding", "").strip(), file)
    return RawPage("%20".join(name.split()), url, page, record.http_charset)


def _dechunk(data: bytes) -> bytes:
    """Join the chunks of a chunked transfer; return data without chunks as it is, because some crawlers join them."""
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


def _decompress(data: bytes, encoding: str, file: Path) -> bytes:
    """Decompress a response; return it as it is if that fails, because headers in crawls are often wrong."""
    from fastwarc.stream_io import BrotliReader, ZstdReader

    readers = {"br": BrotliReader, "zstd": ZstdReader}
    limit = max_decompressed_size(len(data)) + 1
    try:
        if encoding in readers:
            page = bytes(readers[encoding](io.BytesIO(data)).read(limit))
        elif encoding in ZIPPED:
            bare = encoding == "deflate" and data[:1] != b"\x78"  # some servers leave out the header of zlib
            page = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32).decompress(data, limit)
        else:
            return data
    except (OSError, zlib.error):
        return data
    check_size(len(page), len(data), "a page decompresses to", file)
    return page


def _open_warc(request: ReadRequest) -> Collection:
    files = [file for file in files_under(request.path) if request.path.is_file() or _is_warc(file)]
    if not files:
        raise DataError("the folder has no .warc or .warc.gz file", request.path)
    counts = _RecordCounts()
    return make_web_collection(request, lambda: _read_warc(files, counts.counts), files, counts.messages)


def _is_warc(path: Path) -> bool:
    return path.name.lower().endswith(WARC_SUFFIXES)


READERS.register(
    "warc",
    Reader(
        "`.warc` and `.warc.gz`, files or folders",
        lambda path: any(map(_is_warc, islice(files_under(path), MAX_PROBED))),
        _open_warc,
    ),
)
