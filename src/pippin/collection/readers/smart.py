"""SMART's format, in which Cranfield, CACM, CISI, MED and ADI are handed down: `.I 1`, then `.T .A .B .W …` and text.

Streams are title (`.T`) and abstract (`.W`); author, source, keywords, categories and note, and the
anchor of links, where asked for. The text is
as it stands: Cranfield's abstracts begin with the title once more. A field that comes twice is joined.

Judgements come in three shapes. Cranfield's three columns, query, document, code, where code 1 is the most relevant and
4 the least, become grades: 1 → 4, 2 → 3, 3 → 2, 4 → 1, and 5 and −1 (not relevant) → 0. Four columns
`query document 0 0` (CACM, CISI) name relevant documents: label 1. TREC's `query 0 document label` stay as they are.

The ids of Cranfield's queries have gaps and its judgements count 1, 2, 3 … in the order of the file: queries are
counted so where the judgements name queries that the file has not, or where there are none and the file's name begins
with “cran”.

`.X` lines are `document type self`. Where all types are 4, 5 or 6 (CACM; CISI counts co-citations there) type 5 are
references, and each pair stands at both ends: the later document, of the higher id, cites the earlier one. A pair that
stands at one end only is taken as written. The text of such a link is the title of the citing document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pippin.collection.collection import ANCHOR, Collection, Document, Link, Query
from pippin.collection.files import first_files, head, lines, plain_text, split_records
from pippin.collection.readers.asked import Beside, Wanted
from pippin.collection.readers.base import DESCRIPTIONS, READERS, Reader, collect, starts_with
from pippin.collection.readers.judged import Told, gather, label_of, read_judged
from pippin.collection.topics import SHAPES, Shape, Topic, plain_number, read_queries
from pippin.data.trec import Judgements
from pippin.errors import DataError

TOPIC = {b"W": "text"}
MARK = b"\n.I"
MEDLINE = re.compile(rb"\.I\s+\S+\s+\.U\s")
FIELD = re.compile(rb"\n\.([A-Z])[ \t]*\r?(?=\n|\Z)")  # begins with what can be searched for fast
REFERENCE = re.compile(rb"^(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*\r?$", re.MULTILINE)
STREAMS = {
    b"T": "title", b"W": "abstract", b"A": "author", b"B": "source", b"K": "keywords", b"C": "categories", b"N": "note",
}  # fmt: skip
GRADES = {1: 4, 2: 3, 3: 2, 4: 1, 5: 0, -1: 0}
QUERIES = re.compile(r".*(qry|query|queries|\.que)(\.\w+)?", re.IGNORECASE)
JUDGED = r".*rel|(.*\.)?qrels(\.\w+)?"
TYPES, DIRECT = (b"4", b"5", b"6"), b"5"

Record = tuple[int, str, dict[bytes, bytes]]  # line, id, what stands under each letter


def records(path: Path) -> Iterator[Record]:
    """The records of a file; a last `.I 0` without fields ends CACM's queries and is none."""
    for line, record in split_records(path, MARK):
        first, *parts = FIELD.split(record)
        names = first.decode("ascii", "replace").split()
        if len(names) != 1:
            raise DataError("one document number is expected after .I", path, line)
        if not parts and names == ["0"]:
            continue
        said: dict[bytes, bytes] = {}
        for letter, text in zip(parts[::2], parts[1::2], strict=True):
            said[letter] = said[letter] + text if letter in said else text
        yield line, plain_number(names[0]), said


def _documents(path: Path, streams: tuple[str, ...]) -> Iterator[Document]:
    letters = [(letter, stream) for letter, stream in STREAMS.items() if stream in streams]
    cited = _references(path)
    for _, name, said in records(path):
        texts = {stream: plain_text(said.get(letter, b"")) for letter, stream in letters}
        title = plain_text(said.get(b"T", b"")) if name in cited else ""
        yield Document(name, texts, links=tuple(Link(target, title) for target in cited.get(name, ())))


def _references(path: Path) -> dict[str, list[str]]:
    """Citing document to cited ones, from a file's `.X` lines; empty where these are no references."""
    pairs: dict[tuple[int, int], None] = {}
    for _, _, said in records(path):
        for cited, kind, citing in REFERENCE.findall(said.get(b"X", b"")):
            if kind not in TYPES:
                return {}
            if kind == DIRECT and int(cited) != int(citing):
                pairs[int(citing), int(cited)] = None
    references: dict[str, list[str]] = {}
    for citing, cited in pairs:
        if cited < citing or (cited, citing) not in pairs:
            references.setdefault(str(citing), []).append(str(cited))
    return references


def _topics(path: Path) -> Iterator[Topic]:
    for line, name, said in records(path):
        yield line, name, {TOPIC.get(k, STREAMS.get(k, k.decode())): plain_text(text) for k, text in said.items()}


def _read_queries(path: Path, field: str | None, judged: Judgements | None) -> tuple[Query, ...]:
    """The queries of a file; those of a SMART file may have to be counted to have ids as the judgements have them."""
    queries = read_queries(path, field or "text" if starts_with(path, b".i") else field)
    names = {query.id for query in queries}
    counted = path.name.lower().startswith("cran") if judged is None else not set(judged.query_ids) <= names
    if not starts_with(path, b".i") or not counted:
        return queries
    return tuple(replace(query, id=str(number)) for number, query in enumerate(queries, 1))


def _read_judgements(path: Path, told: Told) -> Judgements:
    """Judgements in one of SMART's shapes (see above) or in TREC's."""
    rows = [(number, line.split()) for number, line in lines(path)]
    width = {len(cells) for _, cells in rows}
    if width == {3}:
        return gather([(n, plain_number(c[0]), plain_number(c[1]), _grade(c[2], path, n)) for n, c in rows], path)
    if width == {4} and all(label_of(c[2]) == label_of(c[3]) == 0 for _, c in rows):
        return gather([(n, plain_number(c[0]), plain_number(c[1]), 1) for n, c in rows], path)
    return read_judged(path, told)


def _grade(code: str, path: Path, line: int) -> int:
    label = label_of(code)
    if label not in GRADES:
        raise DataError(f"the code {code!r} is none of Cranfield's (1 to 5, -1)", path, line)
    return GRADES[label]


def _parts(path: Path) -> list[Path]:
    """The files of documents: the file itself, or those at the top of a folder that look so and are not queries."""
    files = [file for file in first_files(path) if path in (file, file.parent)]
    return [file for file in files if (file == path or not QUERIES.fullmatch(file.name)) and _is_smart(file)]


def _is_smart(path: Path) -> bool:
    start = head(path)
    return start.startswith(b".I") and not MEDLINE.match(start)


def _open(wanted: Wanted) -> Collection:
    files = _parts(wanted.path)
    if len(files) != 1:
        names = ", ".join(p.name for p in files) or "none"
        raise DataError(f"one file of documents that begin with .I is expected ({names}); name it", wanted.path)
    streams = wanted.choose((*STREAMS.values(), ANCHOR), ("title", "abstract"))
    return collect(
        wanted,
        streams,
        lambda: _documents(files[0], streams),
        files=files,
        beside=Beside(QUERIES.pattern, JUDGED, _read_queries, _read_judgements),
        descriptions={**{stream: f"the {stream} of the document" for stream in STREAMS.values()}, **DESCRIPTIONS},
    )


SHAPES.register("smart", Shape(re.compile(rb"\.I\s"), _topics))
READERS.register("smart", Reader("`.I 1`, then `.T .A .W` …; one file or a folder", lambda p: bool(_parts(p)), _open))
