"""Read the SMART format (Cranfield, CACM, CISI, MED, ADI) and OHSUMED's MEDLINE format.

SMART records are `.I 1`, then `.T .A .B .W …` and text. The fields are title (`.T`) and abstract (`.W`); on request
also author, source, keywords, categories, note, and the anchor texts of references. Texts are unchanged: Cranfield's
abstracts begin with the title. A field that occurs twice is joined.

Qrels have one of three formats. Cranfield's three columns are query, document, code; codes become grades: 1 → 4, 2 → 3,
3 → 2, 4 → 1, and 5 and −1 (not relevant) → 0. Four columns `query document 0 0` (CACM, CISI) are relevant documents,
label 1. TREC's `query 0 document label` is unchanged.

The ids of Cranfield's queries have gaps, and its qrels number the queries 1, 2, 3 … in the order of the file. Queries
get these numbers if the qrels have queries that the file does not have, or, without qrels, if the file name begins with
“cran”.

`.X` lines are `document type self`. If all types are 4, 5 or 6 (CACM; CISI counts co-citations there), type 5 are
references, each listed at both documents: the one with the higher id cites the other. A pair that is listed once is
used as written. The text of such a link is the title of the citing document.

MEDLINE records are `.I 1`, then `.U .S .M .T .P .W .A`, each with its text on the following lines. The id is `.U`. The
fields are title (`.T`) and abstract (`.W`, which a third of the documents do not have); on request also mesh (`.M`),
author (`.A`), source (`.S`) and type (`.P`). Unjudged documents are unknown, not irrelevant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pippin.collections.collection import ANCHOR, Collection, Diagnostics, Document, Link, Query
from pippin.collections.readers.base import DESCRIPTIONS, READERS, Reader, make_collection, starts_with
from pippin.collections.readers.files import files_under, plain_text, read_head, read_lines, sample_files, split_records
from pippin.collections.readers.layout import CompanionFiles, ReadRequest
from pippin.collections.readers.qrels import build_qrels, parse_label, read_qrels
from pippin.collections.readers.topics import TOPIC_FORMATS, Topic, TopicFormat, read_queries, strip_leading_zeros
from pippin.data.qrels import Qrels
from pippin.errors import DataError

TOPIC = {b"W": "text"}
MARK = b"\n.I"
MEDLINE = re.compile(rb"\.I\s+\S+\s+\.U\s")
FIELD = re.compile(rb"\n\.([A-Z])[ \t]*\r?(?=\n|\Z)")  # begins with a literal, which is searched fast
REFERENCE = re.compile(rb"^(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*\r?$", re.MULTILINE)
FIELDS = {
    b"T": "title", b"W": "abstract", b"A": "author", b"B": "source", b"K": "keywords", b"C": "categories", b"N": "note",
}  # fmt: skip
GRADES = {1: 4, 2: 3, 3: 2, 4: 1, 5: 0, -1: 0}
QUERIES = re.compile(r".*(qry|query|queries|\.que)(\.\w+)?", re.IGNORECASE)
JUDGED = r".*rel|(.*\.)?qrels(\.\w+)?"
TYPES, DIRECT = (b"4", b"5", b"6"), b"5"

Record = tuple[int, str, dict[bytes, bytes]]  # line, id, content by letter


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a file, without the `.I 0` at the end of CACM's queries."""
    for line, record in split_records(path, MARK):
        first, *parts = FIELD.split(record)
        names = first.decode("ascii", "replace").split()
        if len(names) != 1:
            raise DataError("expected one document number after .I", path, line)
        if not parts and names == ["0"]:
            continue
        content: dict[bytes, bytes] = {}
        for letter, text in zip(parts[::2], parts[1::2], strict=True):
            content[letter] = content.get(letter, b"") + text
        yield line, strip_leading_zeros(names[0]), content


def _documents(path: Path, fields: tuple[str, ...]) -> Iterator[Document]:
    letters = [(letter, field) for letter, field in FIELDS.items() if field in fields]
    cited = _references(path)
    for _, name, content in records(path):
        texts = {field: plain_text(content.get(letter, b"")) for letter, field in letters}
        title = plain_text(content.get(b"T", b"")) if name in cited else ""
        yield Document(name, texts, links=tuple(Link(target, title) for target in cited.get(name, ())))


def _references(path: Path) -> dict[str, list[str]]:
    """Return citing document → cited documents from the `.X` lines; empty if these contain other types."""
    pairs: dict[tuple[int, int], None] = {}
    for _, _, content in records(path):
        for cited, kind, citing in REFERENCE.findall(content.get(b"X", b"")):
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
    for line, name, content in records(path):
        yield line, name, {TOPIC.get(k, FIELDS.get(k, k.decode())): plain_text(text) for k, text in content.items()}


def _read_queries(path: Path, field: str | None, qrels: Qrels | None) -> tuple[Query, ...]:
    """Read queries, and number them if the qrels do (see above)."""
    queries = read_queries(path, field or "text" if starts_with(path, b".i") else field)
    names = {query.id for query in queries}
    is_numbered = path.name.lower().startswith("cran") if qrels is None else not set(qrels.query_ids) <= names
    if not starts_with(path, b".i") or not is_numbered:
        return queries
    return tuple(replace(query, id=str(number)) for number, query in enumerate(queries, 1))


def _read_judgements(path: Path, diagnostics: Diagnostics) -> Qrels:
    """Read qrels in a format of SMART (see above) or TREC."""
    rows = [(number, line.split()) for number, line in read_lines(path)]
    width = {len(cells) for _, cells in rows}
    is_list = width == {4} and all(parse_label(cells[2]) == parse_label(cells[3]) == 0 for _, cells in rows)
    if width != {3} and not is_list:
        return read_qrels(path, diagnostics)
    judgements = [
        (line, strip_leading_zeros(c[0]), strip_leading_zeros(c[1]), 1 if is_list else _grade(c[2], path, line))
        for line, c in rows
    ]
    return build_qrels(judgements, path)


def _grade(code: str, path: Path, line: int) -> int:
    label = parse_label(code)
    if label not in GRADES:
        raise DataError(f"invalid relevance code {code!r}: expected 1 to 5 or -1", path, line)
    return GRADES[label]


def _document_files(path: Path) -> list[Path]:
    """Return the file itself, or the SMART files at the top of a folder that are not queries."""
    files = [file for file in sample_files(path) if path in (file, file.parent)]
    return [file for file in files if (file == path or not QUERIES.fullmatch(file.name)) and _is_smart(file)]


def _is_smart(path: Path) -> bool:
    start = read_head(path)
    return start.startswith(b".I") and not MEDLINE.match(start)


def _open(request: ReadRequest) -> Collection:
    files = _document_files(request.path)
    if len(files) != 1:
        names = ", ".join(p.name for p in files) or "none"
        raise DataError(f"expected one file of documents that begin with .I, found {names}", request.path)
    fields = request.select_fields((*FIELDS.values(), ANCHOR), ("title", "abstract"))
    return make_collection(
        request,
        fields,
        lambda: _documents(files[0], fields),
        files=files,
        companions=CompanionFiles(QUERIES.pattern, JUDGED, _read_queries, _read_judgements),
        descriptions={**{field: f"the {field} of the document" for field in FIELDS.values()}, **DESCRIPTIONS},
    )


TOPIC_FORMATS.register("smart", TopicFormat(re.compile(rb"\.I\s"), _topics))
READERS.register(
    "smart", Reader("`.I 1`, then `.T .A .W` …; one file or a folder", lambda path: bool(_document_files(path)), _open)
)


MEDLINE_FIELDS = {b"T": "title", b"W": "abstract", b"M": "mesh", b"A": "author", b"S": "source", b"P": "type"}


def _is_medline(path: Path) -> bool:
    return path.stat().st_size > 0 and bool(MEDLINE.match(read_head(path)))


def _medline_documents(files: list[Path], fields: tuple[str, ...]) -> Iterator[Document]:
    letters = [(letter, field) for letter, field in MEDLINE_FIELDS.items() if field in fields]
    for file in files:
        for line, _, content in records(file):
            name = plain_text(content.get(b"U", b""))
            if not name:
                raise DataError("the document has no identifier (.U)", file, line)
            yield Document(name, {field: plain_text(content.get(letter, b"")) for letter, field in letters})


def _open_medline(request: ReadRequest) -> Collection:
    files = [file for file in files_under(request.path) if _is_medline(file)]
    if not files:
        raise DataError("no file begins with .I and .U", request.path)
    fields = request.select_fields(tuple(MEDLINE_FIELDS.values()), ("title", "abstract"))
    described = {**{field: f"the {field} of the document" for field in fields}, **DESCRIPTIONS}
    return make_collection(
        request,
        fields,
        lambda: _medline_documents(files, fields),
        descriptions=described,
        unjudged="unknown",
        files=files,
    )


READERS.register(
    "medline",
    Reader(
        "`.I 1`, `.U`, then `.T .W .M` …; files or folders", lambda path: any(map(_is_medline, sample_files(path))),
        _open_medline,
    ),
)  # fmt: skip
