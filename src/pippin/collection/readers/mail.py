"""Mail and news: `.eml` files, `.mbox` files, and messages without an ending, as newsgroups and mailers keep them.

The title is the subject, the body the text of the message, of its HTML where there is no other; attachments are not
read. A message in a file of its own has its path in the folder as id, one of several in a file its Message-ID, else the
file's name and its number there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import islice
from pathlib import Path
from typing import cast

from pippin.collection.collection import Collection, Document
from pippin.collection.files import LOOK, files_under, head, open_stream, plain_text
from pippin.collection.html import clean, parse_html
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect
from pippin.collection.readers.judged import matched
from pippin.collection.readers.roles import named_role
from pippin.collection.readers.texts import id_of_file
from pippin.errors import DataError, PippinError

ONE, MANY = (".eml",), (".mbox", ".mbx")
STREAMS = ("title", "body")
HEADER = re.compile(
    rb"(from|path|xref|subject|newsgroups|message-id|received|return-path|date|delivered-to)[ \t]*:", re.I
)
START = re.compile(rb"From \S+.*\d{4}\s*$")  # of a message in a file of several


def _holds_mail(file: Path) -> bool:
    """Whether a file is called mail, or has no ending and begins with the header of a message."""
    if file.suffix.lower() in (*ONE, *MANY):
        return True
    try:
        return bool(not file.suffix and file.stat().st_size and HEADER.match(head(file)))
    except PippinError:
        return False


def mail_files(path: Path) -> list[Path]:
    """The files of messages at a path."""
    if path.is_file():
        return [path] if _holds_mail(path) else []
    return [file for file in files_under(path) if named_role(file, path) is None and _holds_mail(file)]


def _recognise(path: Path) -> bool:
    """Whether there is a file that is called mail, or most files without a role look like it."""
    if path.is_file():
        return _holds_mail(path)
    files = [file for file in islice(files_under(path), LOOK) if named_role(file, path) is None]
    held = [file for file in files if _holds_mail(file)]
    return any(file.suffix for file in held) or 2 * len(held) > len(files)


def _messages(file: Path) -> Iterator[bytes]:
    """The messages of a file, one after the other."""
    with open_stream(file) as stream:
        if file.suffix.lower() not in MANY:
            yield stream.read()
            return
        held: list[bytes] = []
        for line in stream:
            if START.match(line) and (not held or not held[-1].strip()):
                yield from [b"".join(held)] if held else []
                held = []
                continue
            held.append(line)
        yield from [b"".join(held)] if held else []


def _body(message: EmailMessage) -> str:
    """The text of a message, or of its HTML."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    data = cast(bytes | None, part.get_payload(decode=True)) or b""
    if part.get_content_type() == "text/html":
        return parse_html(data, encoding=part.get_content_charset()).body
    try:
        return clean(data.decode(part.get_content_charset("utf-8")))
    except (LookupError, ValueError):  # not even a name of an encoding, or bytes that are not of it
        return plain_text(data)


def _message_id(message: EmailMessage) -> str:
    """The Message-ID as it is written: the parser fails on what is none."""
    said = next((str(value) for name, value in message.raw_items() if name.lower() == "message-id"), "")
    plain = said.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "%20".join(plain.strip().strip("<>").split())


def _documents(files: list[Path], folder: Path, streams: tuple[str, ...]) -> Iterator[Document]:
    for file in files:
        for number, data in enumerate(_messages(file), 1):
            message = message_from_bytes(data, policy=policy.default)
            name = id_of_file(file, folder)
            if file.suffix.lower() in MANY:
                name = _message_id(message) or f"{name}/{number}"
            said = {"title": clean(str(message["subject"] or "")), "body": _body(message)}
            yield Document(name, {stream: said[stream] for stream in streams})


def _open(wanted: Wanted) -> Collection:
    files = mail_files(wanted.path)
    if not files:
        raise DataError(f"there is no mail ({', '.join((*ONE, *MANY))})", wanted.path)
    streams = wanted.choose(STREAMS, STREAMS)
    collection = collect(wanted, streams, lambda: _documents(files, wanted.folder, streams), files=files)
    known = [id_of_file(file, wanted.folder) for file in files if file.suffix.lower() not in MANY]
    return replace(collection, judgements=matched(collection.judgements, known))


READERS.register(
    "mail",
    Reader("`.eml`, `.mbox`, or messages without an ending", _recognise, _open, last=True, endings=(*ONE, *MANY)),
)
