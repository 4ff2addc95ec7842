"""A small collection written by hand in every format."""

from __future__ import annotations

import gzip
from pathlib import Path

SMART = """.I 1
.T
On apples
.A
Cox, R.
.W
An apple is
  a fruit.
.X
2\t5\t1
1\t5\t1
3\t4\t1
.I 2
.T
On pears
.X
1\t5\t2
2\t5\t2
.I 3
.W
No title here.
.
"""
MEDLINE = """.I 1
.U
87049087
.S
Am J Emerg Med 8703; 4(6):491-5
.M
Human; Hypothermia.
.T
Refibrillation managed by EMT-Ds.
.P
JOURNAL ARTICLE.
.W
Some patients.
.A
Stults KR; Brown DD.
.I 2
.U
87049088
.T
No abstract.
"""
TREC = """<DOC>
<DOCNO> FT911-3 </DOCNO>
<HEADLINE>Apples &amp; <b>pears</b></HEADLINE>
<TEXT>
<TITLE>inside</TITLE>
<P>Fruit</P><!-- hidden --> is 2 < 3.
</TEXT>
</DOC>

<DOC><DOCNO>FT911-4</DOCNO></DOC>
"""
PAGES = b"""<DOC>
<DOCNO>G00-01</DOCNO>
<DOCOLDNO>IA001</DOCOLDNO>
<DOCHDR>
http://www.fruit.gov:80/a.html 127.0.0.1 19970101 text/html 200
HTTP/1.1 200 OK
Content-Type: text/html; charset=iso-8859-1
</DOCHDR>
<html><title>Apples</title><h1>Sorts</h1>Caf\xe9 <a href="b.html">to B</a></html>
</DOC>
<DOC>
<DOCNO>G00-02</DOCNO>
<DOCHDR>
http://www.fruit.gov/b.html
</DOCHDR>
<base href="/sub/"><a href="c.html">to C</a><a href="http://[x">odd</a>
</DOC>
"""


def write_file(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def make_warc_record(data: str | bytes) -> bytes:
    return gzip.compress(data if isinstance(data, bytes) else data.encode())


def response(url: str, body: bytes, *headers: str, status: str = "200 OK", trec: str = "") -> bytes:
    """Return a WARC record of an HTTP response."""
    kind = "" if any(h.lower().startswith("content-type") for h in headers) else "Content-Type: text/html\r\n"
    http = f"HTTP/1.1 {status}\r\n{kind}{''.join(h + chr(13) + chr(10) for h in headers)}\r\n".encode() + body
    return record("response", http, f"WARC-Target-URI: {url}", *([f"WARC-TREC-ID: {trec}"] if trec else []))


def record(kind: str, content: bytes, *headers: str) -> bytes:
    lines = ["WARC/1.0", f"WARC-Type: {kind}", "WARC-Record-ID: <urn:uuid:0>", *headers]
    lines += ["Content-Type: application/http; msgtype=response", f"Content-Length: {len(content)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n\r\n"
