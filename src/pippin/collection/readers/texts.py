"""A folder of plain texts and Markdown, one document a file: `.txt`, `.text`, `.md`, `.markdown`, `.rst`.

The id is the path in the folder, with `%20` for a blank, which ids cannot have. The title is the first heading of
Markdown (`# Title`) or reStructuredText (a line that is underlined); plain texts have none, and a folder of nothing
else has the one stream `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pippin.collection.collection import Collection, Document
from pippin.collection.files import files_under, open_stream, plain_text
from pippin.collection.html import clean, decode
from pippin.collection.readers.base import READERS, Reader, Wanted, collect
from pippin.collection.readers.tables import is_other
from pippin.errors import DataError

PLAIN, MARKED = (".txt", ".text"), (".md", ".markdown", ".rst")
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$|^(\S.*)\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)


def text_files(path: Path) -> list[Path]:
    """The texts of a folder; files that are called queries, topics or qrels are none."""
    return [f for f in files_under(path) if f.suffix.lower() in (*PLAIN, *MARKED) and not is_other(f.name)]


def id_of_file(file: Path, folder: Path) -> str:
    """The path in the folder as an id."""
    return "%20".join(file.relative_to(folder).as_posix().split())


def titled(text: str) -> tuple[str, str]:
    """The first heading of a marked text, and all the rest.

    >>> titled("# Apples\\n\\nA pippin."), titled("Pears\\n=====\\nA medlar.")
    (('Apples', 'A pippin.'), ('Pears', 'A medlar.'))
    """
    heading = HEADING.search(text)
    if heading is None:
        return "", clean(text)
    return clean(heading[1] or heading[2]), clean(text[: heading.start()] + text[heading.end() :])


def _documents(folder: Path, files: list[Path], streams: tuple[str, ...]) -> Iterator[Document]:
    for file in files:
        with open_stream(file) as stream:
            data = stream.read()
        name = id_of_file(file, folder)
        if streams == ("text",):
            yield Document(name, {"text": plain_text(data)})
            continue
        title, body = titled(decode(data)[0]) if file.suffix.lower() in MARKED else ("", plain_text(data))
        said = {"title": title, "body": body}
        yield Document(name, {stream: said[stream] for stream in streams})


def _open(wanted: Wanted) -> Collection:
    if not wanted.path.is_dir():
        raise DataError("a folder of texts is expected", wanted.path)
    files = text_files(wanted.path)
    if not files:
        raise DataError(f"the folder has no text ({', '.join((*PLAIN, *MARKED))})", wanted.path)
    offered = ("title", "body") if any(file.suffix.lower() in MARKED for file in files) else ("text",)
    streams = wanted.choose(offered, offered)
    return collect(wanted, streams, lambda: _documents(wanted.path, files, streams))


def _recognise(path: Path) -> bool:
    return path.is_dir() and bool(text_files(path))


READERS.register("texts", Reader("a folder of `.txt` or `.md` files", _recognise, _open, last=True))
