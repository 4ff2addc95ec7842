"""Read folders of texts and of mail.

Texts are `.txt`, `.text`, `.md`, `.markdown` and `.rst`, one document per file. The id is the path in the folder, with
`%20` for blanks, which ids cannot contain. The title is the first heading of Markdown (`# Title`) or reStructuredText
(an underlined line); a folder of plain texts only has the single field `text`.

Mail and news are `.eml` files, `.mbox` files, and messages in files without suffix. The title is the subject, the body
is the text of the message, or else of its HTML; attachments are ignored. The id of a message in a
separate file is its path in the folder; of several in a file it is the Message-ID, else file name and number.
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

from pippin.collections.collection import Collection, Document
from pippin.collections.readers.base import READERS, Reader, make_collection
from pippin.collections.readers.detect import OTHER, role_from_name
from pippin.collections.readers.files import MAX_PROBED, files_under, open_file, plain_text, read_head
from pippin.collections.readers.layout import ReadRequest, is_feature_file
from pippin.collections.readers.qrels import match_file_names
from pippin.collections.readers.tables import DOCUMENT_STEMS
from pippin.collections.text.html import clean, decode, parse_html
from pippin.errors import DataError, PippinError

PLAIN_SUFFIXES, MARKUP_SUFFIXES = (".txt", ".text"), (".md", ".markdown", ".rst")
TEXT_SUFFIXES = (*PLAIN_SUFFIXES, *MARKUP_SUFFIXES)
FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$|^(\S.*)\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)


def text_files(path: Path) -> list[Path]:
    """Return the texts of a folder without queries and qrels, or of its subfolders that are named like documents."""
    files = [f for f in files_under(path) if f.suffix.lower() in TEXT_SUFFIXES]
    files = files if any(f.stat().st_size for f in files) else []
    files = [f for f in files if role_from_name(f, path) in (None, OTHER)]
    return [f for f in files if f.relative_to(path).parts[0].lower() in DOCUMENT_STEMS] or files


def file_id(file: Path, folder: Path) -> str:
    """Return the path in the folder as an id."""
    return "%20".join(file.relative_to(folder).as_posix().split())


def split_title(text: str) -> tuple[str, str]:
    """Return the first heading of a text with markup, and the other text; of front matter only a title counts.

    >>> split_title("# Apples\\n\\nA pippin."), split_title("Pears\\n=====\\nA medlar.")
    (('Apples', 'A pippin.'), ('Pears', 'A medlar.'))
    """
    front_matter = FRONT_MATTER.match(text)
    if front_matter is not None:
        text = text[front_matter.end() :]
        if match := FRONT_TITLE.search(front_matter[1]):
            return clean(match[1]), clean(text)
    heading = HEADING.search(text)
    if heading is None:
        return "", clean(text)
    return clean(heading[1] or heading[2]), clean(text[: heading.start()] + text[heading.end() :])


def _documents(folder: Path, files: list[Path], fields: tuple[str, ...]) -> Iterator[Document]:
    for file in files:
        with open_file(file) as opened:
            data = opened.read()
        name = file_id(file, folder)
        if fields == ("text",):
            yield Document(name, {"text": plain_text(data)})
            continue
        has_markup = file.suffix.lower() in MARKUP_SUFFIXES
        title, body = split_title(decode(data)[0]) if has_markup else ("", plain_text(data))
        texts = {"title": title, "body": body}
        yield Document(name, {field: texts[field] for field in fields})


def _open(request: ReadRequest) -> Collection:
    if not request.path.is_dir():
        raise DataError("expected a folder of texts", request.path)
    files = text_files(request.path)
    if not files:
        raise DataError(f"no text files found ({', '.join(TEXT_SUFFIXES)})", request.path)
    has_markup = any(file.suffix.lower() in MARKUP_SUFFIXES for file in files)
    available = ("title", "body") if has_markup else ("text",)
    fields = request.select_fields(available, available)
    collection = make_collection(request, fields, lambda: iter(()))
    topic_files = {file for of_role in collection.files.values() for file in of_role}
    documents = [file for file in files if file not in topic_files]
    return replace(
        collection,
        iter_documents=lambda: _documents(request.path, documents, fields),
        document_files=tuple(documents),
        qrels=match_file_names(collection.qrels, [file_id(file, request.path) for file in documents]),
    )


def _is_text_folder(path: Path) -> bool:
    """Return whether a folder has texts that are neither about the folder nor features of a data set."""
    files = text_files(path) if path.is_dir() else []
    has_documents = any(role_from_name(file, path) is None for file in files[:MAX_PROBED])
    return has_documents and not any(map(is_feature_file, files[:1]))


READERS.register(
    "texts",
    Reader("a folder of `.txt` or `.md` files", _is_text_folder, _open, is_fallback=True, suffixes=TEXT_SUFFIXES),
)


MBOX_SUFFIXES = (".mbox", ".mbx")
MAIL_SUFFIXES = (".eml", *MBOX_SUFFIXES)
FIELDS = ("title", "body")
HEADER = re.compile(
    rb"(from|path|xref|subject|newsgroups|message-id|received|return-path|date|delivered-to)[ \t]*:", re.I
)
START = re.compile(rb"From \S+.*\d{4}\s*$")  # of a message in an mbox file


def _is_mail(file: Path) -> bool:
    """Return whether a file has a suffix of mail, or no suffix and the header of a message."""
    if file.suffix.lower() in MAIL_SUFFIXES:
        return True
    try:
        return bool(not file.suffix and file.stat().st_size and HEADER.match(read_head(file)))
    except PippinError:
        return False


def mail_files(path: Path) -> list[Path]:
    """Return the files of messages at a path."""
    if path.is_file():
        return [path] if _is_mail(path) else []
    return [file for file in files_under(path) if role_from_name(file, path) is None and _is_mail(file)]


def _matches_mail(path: Path) -> bool:
    """Return whether there is a file with a suffix of mail, or most files without a role are messages."""
    if path.is_file():
        return _is_mail(path)
    files = [file for file in islice(files_under(path), MAX_PROBED) if role_from_name(file, path) is None]
    messages = [file for file in files if _is_mail(file)]
    return any(file.suffix for file in messages) or 2 * len(messages) > len(files)


def _messages(file: Path) -> Iterator[bytes]:
    """Yield the messages of a file."""
    with open_file(file) as content:
        if file.suffix.lower() not in MBOX_SUFFIXES:
            yield content.read()
            return
        lines: list[bytes] = []
        for line in content:
            if START.match(line) and (not lines or not lines[-1].strip()):
                yield from [b"".join(lines)] if lines else []
                lines = []
                continue
            lines.append(line)
        yield from [b"".join(lines)] if lines else []


def _body(message: EmailMessage) -> str:
    """Return the text of a message, or of its HTML."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    data = cast(bytes | None, part.get_payload(decode=True)) or b""
    if part.get_content_type() == "text/html":
        return parse_html(data, encoding=part.get_content_charset()).body
    try:
        return clean(data.decode(part.get_content_charset("utf-8")))
    except (LookupError, ValueError):  # unknown encoding, or invalid bytes
        return plain_text(data)


def _message_id(message: EmailMessage) -> str:
    """Return the Message-ID as written, because the parser raises errors for invalid ones."""
    raw = next((str(value) for name, value in message.raw_items() if name.lower() == "message-id"), "")
    text = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "%20".join(text.strip().strip("<>").split())


def _mail_documents(files: list[Path], folder: Path, fields: tuple[str, ...]) -> Iterator[Document]:
    for file in files:
        for number, data in enumerate(_messages(file), 1):
            message = message_from_bytes(data, policy=policy.default)
            name = file_id(file, folder)
            if file.suffix.lower() in MBOX_SUFFIXES:
                name = _message_id(message) or f"{name}/{number}"
            texts = {"title": clean(str(message["subject"] or "")), "body": _body(message)}
            yield Document(name, {field: texts[field] for field in fields})


def _open_mail(request: ReadRequest) -> Collection:
    files = mail_files(request.path)
    if not files:
        raise DataError(f"no mail found ({', '.join(MAIL_SUFFIXES)})", request.path)
    fields = request.select_fields(FIELDS, FIELDS)
    collection = make_collection(request, fields, lambda: _mail_documents(files, request.folder, fields), files=files)
    ids = [file_id(file, request.folder) for file in files if file.suffix.lower() not in MBOX_SUFFIXES]
    return replace(collection, qrels=match_file_names(collection.qrels, ids))


READERS.register(
    "mail",
    Reader(
        "`.eml`, `.mbox`, or messages without suffix",
        _matches_mail,
        _open_mail,
        is_fallback=True,
        suffixes=MAIL_SUFFIXES,
    ),
)
