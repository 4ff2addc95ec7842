"""A folder of plain texts and Markdown, one document a file: `.txt`, `.text`, `.md`, `.markdown`, `.rst`.

The id is the path in the folder, with `%20` for a blank, which ids cannot have. The title is the first heading of
Markdown (`# Title`) or reStructuredText (a line that is underlined); plain texts have none, and a folder of nothing
else has the one stream `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pippin.collection.collection import Collection, Document
from pippin.collection.files import LOOK, files_under, open_stream, plain_text
from pippin.collection.html import clean, decode
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader, collect
from pippin.collection.readers.judged import matched
from pippin.collection.readers.nearest import are_features
from pippin.collection.readers.roles import OTHER, named_role
from pippin.collection.readers.tables import STEMS
from pippin.errors import DataError

PLAIN, MARKED = (".txt", ".text"), (".md", ".markdown", ".rst")
FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)  # what stands before the text
FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$|^(\S.*)\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE)


def text_files(path: Path) -> list[Path]:
    """The texts of a folder, or of the folders in it that are called documents, docs, corpus or collection; files that
    are called queries, topics or qrels are none.
    """
    files = [f for f in files_under(path) if f.suffix.lower() in (*PLAIN, *MARKED)]
    files = files if any(f.stat().st_size for f in files) else []
    files = [f for f in files if named_role(f, path) in (None, OTHER)]
    return [f for f in files if f.relative_to(path).parts[0].lower() in STEMS] or files


def id_of_file(file: Path, folder: Path) -> str:
    """The path in the folder as an id."""
    return "%20".join(file.relative_to(folder).as_posix().split())


def titled(text: str) -> tuple[str, str]:
    """The first heading of a marked text, and all the rest; settings before it are left out but for a title.

    >>> titled("# Apples\\n\\nA pippin."), titled("Pears\\n=====\\nA medlar.")
    (('Apples', 'A pippin.'), ('Pears', 'A medlar.'))
    """
    front = FRONT.match(text)
    if front is not None:
        text = text[front.end() :]
        if said := FRONT_TITLE.search(front[1]):
            return clean(said[1]), clean(text)
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
    collection = collect(wanted, streams, lambda: iter(()))
    asked = {file for files_of in collection.files.values() for file in files_of}
    held = [file for file in files if file not in asked]
    known = [id_of_file(file, wanted.path) for file in held]
    return replace(
        collection,
        read=lambda: _documents(wanted.path, held, streams),
        document_files=tuple(held),
        judgements=matched(collection.judgements, known),
    )


def _recognise(path: Path) -> bool:
    """Whether there are texts beside what is about the folder; features of a data set are none."""
    files = text_files(path) if path.is_dir() else []
    return any(named_role(file, path) is None for file in files[:LOOK]) and not any(map(are_features, files[:1]))


READERS.register(
    "texts", Reader("a folder of `.txt` or `.md` files", _recognise, _open, last=True, endings=(*PLAIN, *MARKED))
)
