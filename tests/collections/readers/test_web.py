"""Web pages in TREC bundles, WARC archives and folders, and TREC texts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collections.readers.samples import PAGES, TREC, make_warc_record, record, response, write_file

from pippin.collections.collection import Document, Link
from pippin.collections.readers import read_collection, web
from pippin.collections.readers.web import RawPage, _RecordWalk, parse_pages
from pippin.errors import DataError

FIELDS = ("body", "anchor", "title", "url", "extracted_title")


def test_trec_texts(tmp_path: Path) -> None:
    write_file(tmp_path, "ft/ft911", TREC)
    write_file(tmp_path, "ft/ft912.gz", make_warc_record(TREC.replace("FT911", "FT912")))
    write_file(tmp_path, "ft/readme", "nothing of it")
    collection = read_collection(tmp_path)
    assert (collection.fields, dict(collection.combined_fields)) == (("title", "body"), {"whole": ("title", "body")})
    documents = list(collection)
    assert [document.id for document in documents] == ["FT911-3", "FT911-4", "FT912-3", "FT912-4"]
    assert documents[0].fields == {"title": "Apples & pears inside", "body": "Fruit is 2 < 3."}
    assert documents[1].fields == {"title": "", "body": ""}


def test_documents_on_one_line_and_the_end_mark_inside_a_page(tmp_path: Path) -> None:
    text = "<DOC><DOCNO>1</DOCNO><TEXT>a</DOC>b</TEXT></DOC><DOC><DOCNO>2</DOCNO><TEXT>c</TEXT></DOC>\n"
    assert [d.fields["body"] for d in read_collection(write_file(tmp_path, "a", text))] == ["a b", "c"]


def test_trec_pages(tmp_path: Path) -> None:
    write_file(tmp_path, "G00/00.gz", make_warc_record(PAGES))
    write_file(tmp_path, "topics.txt", "<top><num>TD1<title>fruit</top>")
    write_file(tmp_path, "qrels.txt", "TD1 0 G00-01 1\n")
    collection = read_collection(tmp_path, name="gov")
    assert (collection.fields, collection.combined_fields["whole"]) == (FIELDS, FIELDS[:-1])
    first, second = collection
    url = "http://www.fruit.gov:80/a.html"
    body = {"body": "Sorts Café to B", "title": "Apples", "url": "www.fruit.gov:80/a.html"}
    body["extracted_title"] = "Sorts"
    assert first == Document("G00-01", body, url, (Link("b.html", "to B"),))
    assert second.links == (Link("http://www.fruit.gov/sub/c.html", "to C"), Link("http://[x", "odd"))
    assert [query.text for query in collection.queries] == ["fruit"]


def test_headings_where_asked_for(tmp_path: Path) -> None:
    path = write_file(tmp_path, "00", PAGES)
    collection = read_collection(path, fields=["body", "title", "headings"])
    assert collection.combined_fields["whole"] == ("body", "title")
    assert next(iter(collection)).fields["headings"] == "Sorts"


@pytest.mark.parametrize(
    ("data", "sentence", "line"),
    [
        (PAGES[:-8], "the file is truncated: a <DOC> without its </DOC>", 11),
        (PAGES.replace(b"<DOCNO>G00-02</DOCNO>", b""), "the document has no <DOCNO>", 11),
        (PAGES.replace(b"<DOCHDR>\nhttp://www.fruit.gov/b.html\n</DOCHDR>", b""), "the page has no <DOCHDR>", 11),
        (PAGES + b"junk\n", "expected <DOC> after </DOC>", 17),
        (make_warc_record(PAGES * 9)[:-9], "the gzip file is truncated", None),
        (make_warc_record(PAGES * 9)[:-8] + bytes(8), "the gzip file is damaged", None),
    ],
)
def test_bad_bundles(tmp_path: Path, data: bytes, sentence: str, line: int | None) -> None:
    path = write_file(tmp_path, "00", data)
    with pytest.raises(DataError) as caught:
        list(read_collection(path))
    assert sentence in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_long_bundles_are_cut_right_at_the_seams_of_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(tmp_path, "00", PAGES)
    full = list(read_collection(path))
    for size in (1, 2, 7, 64):
        monkeypatch.setattr("pippin.collections.readers.files.CHUNK", size)
        assert list(read_collection(path)) == full


def archive() -> list[bytes]:
    chunked = b"5\r\n<p>on\r\n2;x=y\r\ne \r\n0\r\n\r\n"
    return [
        record("warcinfo", b"software: hand\r\n"),
        response("http://a.org/", "<title>A</title>größe".encode("latin-1"), "Content-Type: text/html; charset=latin1"),
        response(
            "http://a.org/b", gzip.compress(b"<p>packed <a href=/>home</a>"), "Content-Encoding: gzip", trec="cw-1"
        ),
        response("http://a.org/c", chunked, "Transfer-Encoding: chunked"),
        response("http://a.org/d", b"<p>joined", "Transfer-Encoding: chunked", "Content-Encoding: gzip"),
        response("http://a.org/e", zlib.compress(b"<p>deflated"), "Content-Encoding: deflate"),
        response("http://a.org/f", b"no page", "Content-Type: image/png"),
        response("http://a.org/g", b"gone", status="404 Not Found"),
        record("request", b"GET / HTTP/1.1\r\n\r\n", "WARC-Target-URI: http://a.org/"),
    ]


@pytest.mark.parametrize("pack", [b"".join, lambda parts: b"".join(map(gzip.compress, parts))], ids=["plain", "gzip"])
def test_warc(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    path = write_file(tmp_path, "crawl/one.warc.gz", pack(archive()))
    for place in (path, tmp_path):
        collection = read_collection(place)
        assert collection.fields == FIELDS
        documents = list(collection)
        assert [document.id for document in documents] == [
            "http://a.org/", "cw-1", "http://a.org/c", "http://a.org/d", "http://a.org/e",
        ]  # fmt: skip
        bodies = [document.fields["body"] for document in documents]
        assert bodies == ["größe", "packed home", "one", "joined", "deflated"]
        assert documents[1].url == "http://a.org/b"
        assert documents[1].links == (Link("/", "home"),)
        assert documents[0].fields["url"] == "a.org/"


def brotli(data: bytes) -> bytes:
    from fastwarc.stream_io import BrotliWriter

    sink = io.BytesIO()
    writer = BrotliWriter(sink)
    writer.write(data)
    writer.flush()
    writer.close()
    return sink.getvalue()


@pytest.mark.parametrize(
    ("packing", "data", "body"),
    [
        ("deflate", zlib.compress(b"<p>one")[2:-4], "one"),  # as some servers send it
        ("x-gzip", gzip.compress(b"<p>one " * 50, mtime=0)[:-9], "one"),  # what can be read of it
        ("br", b"<p>not so", "not so"),
        ("gizp", b"<p>one", "one"),
        ("identity", b"<p>one", "one"),
    ],
)
def test_packed_pages_with_wrong_headers(tmp_path: Path, packing: str, data: bytes, body: str) -> None:
    path = write_file(tmp_path, "a.warc", response("http://a.org/", data, f"Content-Encoding: {packing}"))
    (document,) = read_collection(path)
    assert document.fields["body"].startswith(body)


def test_brotli(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.warc", response("http://a.org/", brotli(b"<p>one"), "Content-Encoding: br"))
    (document,) = read_collection(path)
    assert document.fields["body"] == "one"


def test_a_warc_cut_anywhere_is_an_error(tmp_path: Path) -> None:
    parts = [response("http://a.org/", b"<p>one"), response("http://a.org/b", b"<p>two")]
    full, first = b"".join(parts), len(parts[0])
    for end in range(1, len(full)):
        path = write_file(tmp_path, "cut.warc", full[:end])
        if end == first:
            continue  # nobody can see that a whole record is missing
        with pytest.raises(DataError, match=r"cut\.warc: .*(truncated|damaged)"):
            list(read_collection(path))


def test_a_packed_warc_cut_anywhere_is_an_error(tmp_path: Path) -> None:
    parts = [gzip.compress(response("http://a.org/", b"<p>one")), gzip.compress(response("http://a.org/b", b"<p>two"))]
    full, first = b"".join(parts), len(parts[0])
    for end in range(3, len(full)):
        path = write_file(tmp_path, "cut.warc.gz", full[:end])
        if end == first:
            continue
        with pytest.raises(DataError, match=r"cut\.warc\.gz: .*(truncated|damaged|empty)"):
            list(read_collection(path))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b"junk and no archive", "damaged"),
        (record("response", b"HTTP/1.1 200 OK\r\n\r\nx"), "has neither WARC-TREC-ID nor WARC-Target-URI"),
    ],
)
def test_bad_archives(tmp_path: Path, data: bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        list(read_collection(write_file(tmp_path, "bad.warc", data)))


def make_response_with_digest(url: str, page: bytes) -> bytes:
    """Return a response with the digest of its block, as crawlers write it."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page
    digest = base64.b32encode(hashlib.sha1(block).digest()).decode()
    return record("response", block, f"WARC-Target-URI: {url}", f"WARC-Block-Digest: sha1:{digest}")


def ids_of(path: Path) -> list[str]:
    return [document.id for document in read_collection(path)]


def test_record_with_wrong_digest(tmp_path: Path) -> None:
    parts = [make_response_with_digest(f"http://a.org/{i}", b"<p>page %d" % i) for i in range(3)]
    assert len(ids_of(write_file(tmp_path, "a.warc", b"".join(parts)))) == 3
    parts[1] = parts[1].replace(b"200 OK", b"210 OK")
    with pytest.raises(DataError, match=rf"the record at byte {len(parts[0])} does not match its WARC-Block-Digest"):
        ids_of(write_file(tmp_path, "a.warc", b"".join(parts)))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b"Content-Length: 6", b"Content-Length: 5", "no record begins at byte"),
        (b"Content-Length: 6", b"Content-Length: 7", "no record begins at byte|truncated"),
        (b"Content-Length: 6", b"Content-Lengtg: 6", "has no valid WARC-Type or Content-Length"),
        (b"WARC-Type: response", b"WARC-Type: respomse", "has no valid WARC-Type or Content-Length"),
        (b"WARC-Type: response", b"WARC-Tzpe: response", "has no valid WARC-Type or Content-Length"),
        (b"WARC/1.0", b"WBRC/1.0", "no record begins at byte|damaged"),
    ],
)
def test_records_that_a_parser_would_pass_over(tmp_path: Path, old: bytes, new: bytes, sentence: str) -> None:
    parts = [response(f"http://a.org/{i}", b"<p>page number %d" % i) for i in range(3)]
    assert old in parts[1]
    for place in range(3):
        damaged = [part.replace(old, new) if i == place else part for i, part in enumerate(parts)]
        with pytest.raises(DataError, match=sentence):
            ids_of(write_file(tmp_path, "a.warc", b"".join(damaged)))


def test_the_walk_does_not_depend_on_how_much_is_read_at_once(tmp_path: Path) -> None:
    full = b"".join(archive())
    for size in (1, 3, 50, 1 << 20):
        walk = _RecordWalk(io.BytesIO(full))
        while walk.read(size):
            pass
        assert (walk.records, walk.is_complete, walk.damage) == (9, True, "")
        cut = _RecordWalk(io.BytesIO(full.replace(b"WARC/1.0", b"WARD/1.0", 5).replace(b"WARD", b"WARC", 4)))
        while cut.read(size):
            pass
        assert cut.damage == f"no record begins at byte {len(b''.join(archive()[:4])):,}, where the one before it ends"


def test_record_counts_are_reported(tmp_path: Path) -> None:
    collection = read_collection(write_file(tmp_path, "a.warc", b"".join(archive())))
    assert not list(collection.diagnostics)
    for _ in range(2):
        assert len(list(collection)) == 5
        assert list(collection.diagnostics) == [
            "9 records: 5 pages, 1 responses with another status than 200, 1 responses that are not HTML, "
            "2 other records"
        ]


def test_a_page_that_unpacks_to_too_much(tmp_path: Path) -> None:
    page = gzip.compress(bytes(300 << 20))
    path = write_file(tmp_path, "a.warc", response("http://a.org/", page, "Content-Encoding: gzip"))
    with pytest.raises(DataError, match=r"a page decompresses to 256 MiB"):
        ids_of(path)


def test_a_folder_of_pages(tmp_path: Path) -> None:
    write_file(tmp_path, "b.html", "<title>B</title><a href='sub/a b.htm'>A</a>")
    write_file(tmp_path, "sub/a b.htm", "text")
    write_file(tmp_path, "note.txt", "no page")
    collection = read_collection(tmp_path)
    assert [(document.id, document.url) for document in collection] == [
        ("b.html", "b.html"),
        ("sub/a%20b.htm", "sub/a b.htm"),
    ]
    urls = write_file(tmp_path, "urls.tsv", "note.txt\thttp://x.org/note\nb.html\thttp://x.org/b\n")
    documents = list(read_collection(tmp_path))
    assert [document.url for document in documents] == ["http://x.org/note", "http://x.org/b"]
    assert documents[1].fields == {"body": "A", "title": "B", "url": "x.org/b", "extracted_title": "B"}
    urls.write_text("b.html\thttp://x.org/b\nc.html\thttp://x.org/c\n")
    with pytest.raises(DataError, match=r"urls.tsv:2: no such file: c.html"):
        read_collection(tmp_path)
    urls.write_text("b.html http://x.org/b\n")
    with pytest.raises(DataError, match=r"urls.tsv:1: expected two columns"):
        read_collection(tmp_path)


def end_process(pages: list[RawPage], fields: tuple[str, ...]) -> list[Document]:
    os._exit(1)


def test_a_process_that_ends_is_a_data_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [RawPage(f"p{i}", f"http://a.org/{i}", b"<p>text") for i in range(200)]
    monkeypatch.setattr(web, "_parse_batch", end_process)
    with pytest.raises(DataError, match="a process that parses pages ended"):
        list(parse_pages(pages, ("body",), 2))


def test_an_error_in_the_input_ends_the_processes() -> None:
    def pages() -> Iterator[RawPage]:
        yield from (RawPage(f"p{i}", f"http://a.org/{i}", b"<p>text") for i in range(40))
        raise DataError("damaged")

    with pytest.raises(DataError, match="damaged"):
        list(parse_pages(pages(), ("body",), 2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_pages_that_nest_absurdly_are_counted_and_quickly_read(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "deep.html").write_text("<title>Deep</title>" + "<ul><li>down " * 3000)
    (tmp_path / "plain.html").write_text("<title>Plain</title><p>level " * 2000)
    collection = read_collection(tmp_path, jobs=jobs)
    deep, plain = list(collection)
    assert (deep.fields["body"].split(), plain.fields["title"]) == (["down"] * 3000, "Plain")
    assert list(collection.diagnostics) == ["1 page has elements nested more than 512 deep; deeper ones are flattened"]
    list(collection)
    assert len(collection.diagnostics) == 1  # counted anew
