"""The registry of collection formats, format detection and `read_collection`.

A `Reader` tells by file names and first bytes whether a path has its format, and makes a `Collection` whose documents
are read again in every pass. Everything that formats share is in `layout` (queries, qrels) and `make_collection`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Literal

from pippin.collections.collection import ANCHOR, WHOLE, Collection, Diagnostics, Document
from pippin.collections.document_stream import keep_first
from pippin.collections.readers.archives import (
    MAX_DEPTH,
    MAX_LISTED,
    ExtractedArchive,
    archive_stem,
    archives_in,
    is_archive,
)
from pippin.collections.readers.detect import OTHER, role_from_name
from pippin.collections.readers.files import files_under, format_examples, is_visible, read_head
from pippin.collections.readers.json_records import QRELS, QUERIES
from pippin.collections.readers.layout import (
    DEFAULT_COMPANIONS,
    CompanionFiles,
    ReadRequest,
    Topics,
    describe_unknown_format,
    find_topics,
)
from pippin.data.adapters import PREFIX, is_irds_id
from pippin.errors import DataError, PippinError
from pippin.registry import Registry

PEEK = 1000  # documents whose ids are compared with the judged ones
HEADINGS, EXTRACTED = "headings", "extracted_title"
WEB_FIELDS = ("body", ANCHOR, "title", "url", EXTRACTED)
DESCRIPTIONS = {
    "title": "the title of the document",
    "abstract": "the abstract of the document",
    "body": "the text of the document without its title",
    HEADINGS: "the headings of the document",
    EXTRACTED: "the title that stands on the page, by its looks",
    ANCHOR: "the texts of the links that point to the document",
    "url": "the address of the document without its scheme",
}


@dataclass(frozen=True)
class Reader:
    """A collection format.

    Parameters
    ----------
    description : str
        What the files look like, for help and messages.
    matches : callable
        Returns whether a path has this format.
    open : callable
        Makes a `Collection` from a `ReadRequest`.
    is_fallback : bool, default False
        Whether to use this format only if no other matches.
    suffixes : tuple of str
        File name suffixes, where they distinguish this format from others in one folder.
    has_document_names : callable
        Returns whether a folder has files of this format that are named documents, docs, corpus or collection.
    """

    description: str
    matches: Callable[[Path], bool]
    open: Callable[[ReadRequest], Collection]
    is_fallback: bool = False
    suffixes: tuple[str, ...] = ()
    has_document_names: Callable[[Path], bool] = lambda path: False


READERS: Registry[Reader] = Registry("collection format", "pippin.readers", Reader)


def register(name: str, reader: Reader) -> Reader:
    """Register a collection format under a name."""
    return READERS.register(name, reader)


def read_collection(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    queries: str | os.PathLike[str] | None = None,
    qrels: str | os.PathLike[str] | None = None,
    name: str | None = None,
    fields: Sequence[str] | None = None,
    query_field: str | None = None,
    documents_only: bool = False,
    jobs: int = 1,
    links_only: bool = False,
    repeated: Literal["refuse", "first"] = "refuse",
    open_archives: bool = True,
) -> Collection:
    """Read a collection of documents, with its queries and judgements.

    Parameters
    ----------
    path : str or path
        A file, a folder, or an id of ir_datasets such as ``irds:cranfield``.
    format : str, optional
        A name from `READERS`. By default the format is detected from the files.
    queries, qrels : str or path, optional
        Files of queries and judgements. By default they are looked for beside the documents.
    name : str, optional
        The name of the collection; default: the name of the file or folder.
    fields : sequence of str, optional
        The document fields to read, in this order. By default all text fields.
    query_field : str, optional
        The topic field that becomes the query text, such as "description".
    documents_only : bool, default False
        Skip queries and judgements.
    jobs : int, default 1
        Number of processes that parse web pages. With more than one, scripts need an ``if __name__ == "__main__":``
        guard, as with every use of `multiprocessing`.
    links_only : bool, default False
        Read only urls and links of web pages.
    repeated : {"refuse", "first"}, default "refuse"
        What to do with documents that have the id of an earlier one: raise an error during indexing, or drop them.
    open_archives : bool, default True
        Extract archives (`.zip`, `.tar`, `.tar.gz` …) with documents, queries or qrels to a temporary folder.

    Returns
    -------
    Collection

    Raises
    ------
    DataError
        If the path does not exist, no format or several formats match, or a file is malformed.
    UnknownName
        If `format` or one of `fields` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "fruit.tsv"
    >>> _ = path.write_text("1\\tred apples\\n2\\tgreen pears\\n")
    >>> collection = read_collection(path)
    >>> collection, [document.id for document in collection]
    (Collection('fruit': text; 0 queries), ['1', '2'])
    """
    location = Path(path)
    if not is_irds_id(os.fspath(path)) and not location.exists():
        raise DataError("no such file or folder", location)
    if location.is_file() and not location.stat().st_size:
        raise DataError("the file is empty", location)
    archive = extract_archives(location, format) if open_archives else None
    request = ReadRequest(
        location if archive is None else archive.path,
        None if queries is None else Path(queries),
        None if qrels is None else Path(qrels),
        name or "",
        None if fields is None else tuple(fields),
        query_field,
        documents_only,
        jobs,
        links_only,
    )
    if archive is None:
        return _read(request, format, repeated)
    with archive.original_paths_in_errors():
        return archive.keep_while_used(_read(request, format, repeated))


def _read(request: ReadRequest, format: str | None, repeated: Literal["refuse", "first"]) -> Collection:
    path = _descend(request.path, format)
    request = replace(request, path=path, name=request.name or _default_name(request.path))
    format = format or detect_format(request)
    collection = replace(READERS[format].open(request), reader=format)
    if ignored := archives_in(path) if path.is_dir() else []:
        message = f"archives ignored, because there are documents beside them: {format_examples(ignored)}"
        collection = replace(collection, diagnostics=Diagnostics(collection.diagnostics, message))
    return keep_first(collection) if repeated == "first" else collection


def extract_archives(path: Path, format: str | None = None) -> ExtractedArchive | None:
    """Extract the archives with documents, queries or qrels at a path; None if there are none."""
    select = partial(_select_archives, format=format)
    has_content = bool(select(path)) if path.is_dir() else path.is_file() and is_archive(path)
    return ExtractedArchive(path, select) if has_content else None


def _select_archives(folder: Path, format: str | None) -> list[Path]:
    """Return all archives of a folder without other documents, else unextracted ones named queries or qrels."""
    archives = archives_in(folder)
    topics = [
        file for file in archives if role_from_name(file.with_name(archive_stem(file)), folder) in (QUERIES, QRELS)
    ]
    unextracted = [
        file for file in topics if not any(path != file for path in file.parent.glob(f"{escape(archive_stem(file))}*"))
    ]
    return archives if archives and not _has_documents(folder, archives, format) else unextracted


def _has_documents(folder: Path, archives: list[Path], format: str | None) -> bool:
    """Return whether a folder has documents outside of archives; small texts may only describe the archives."""
    formats = matching_formats(folder) if format is None else [format] * READERS[format].matches(folder)
    if not formats or not all(READERS[name].is_fallback for name in formats):
        return bool(formats)
    files = sorted(set(islice(files_under(folder), MAX_LISTED)).difference(archives))
    text_size = sum(file.stat().st_size for file in files if role_from_name(file, folder) != OTHER)
    return text_size >= sum(file.stat().st_size for file in archives)


def _descend(path: Path, format: str | None) -> Path:
    """Follow sole subfolders until a folder matches a format."""
    for _ in range(MAX_DEPTH):
        content = [entry for entry in path.iterdir() if is_visible(entry.name)] if path.is_dir() else []
        folders = [entry for entry in content if entry.is_dir()]
        if len(folders) != 1 or any(role_from_name(file, path) != OTHER for file in content if file.is_file()):
            return path
        if matching_formats(path) if format is None else READERS[format].matches(path):
            return path
        path = folders[0]
    return path


def detect_format(request: ReadRequest) -> str:
    """Return the only format that matches; raise `DataError` if none or several do."""
    path = request.path
    claims = _claiming_formats(path)
    formats = matching_formats(path, claims)
    if path.is_dir() and not request.documents_only and len(candidates := _candidates(path, formats, claims)) > 1:
        formats = _formats_with_judged_documents(request, candidates) or formats
    if len(formats) == 1:
        return formats[0]
    if formats:
        raise DataError(f"the format may be {' or '.join(formats)}: name one with --input-format", path)
    raise DataError(describe_unknown_format(path), path)


def _claiming_formats(path: Path) -> list[str]:
    return [name for name, reader in READERS.loaded_items.items() if reader.matches(path)]


def matching_formats(path: Path, claims: list[str] | None = None) -> list[str]:
    """Return the formats that match a path best; `claims` are the built-in formats that match, if already known."""
    formats = _claiming_formats(path) if claims is None else claims
    if all(READERS[name].is_fallback for name in formats):  # load plugins only if no built-in format matches well
        formats = [name for name in READERS if READERS[name].matches(path)]
    formats = [name for name in formats if not READERS[name].is_fallback] or formats
    if len(formats) > 1 and path.is_dir():
        formats = [name for name in formats if READERS[name].has_document_names(path)] or formats
    return _dominant_format(path, formats) if len(formats) > 1 and path.is_dir() else formats


def _dominant_format(path: Path, formats: list[str]) -> list[str]:
    """Return the format of at least 90% of the files, or all formats if there is none."""
    counts = Counter(file.suffix.lower() for file in files_under(path))
    n_files = {name: sum(counts[suffix] for suffix in READERS[name].suffixes) for name in formats}
    largest = max(n_files, key=n_files.__getitem__)
    return [largest] if all(n_files.values()) and 10 * n_files[largest] >= 9 * sum(n_files.values()) else formats


def _candidates(path: Path, formats: list[str], claims: list[str]) -> list[str]:
    """Return the formats that a folder may have, including fallbacks that at least 90% of the files match."""
    if not formats or READERS[formats[0]].has_document_names(path):
        return formats
    regular = [name for name in claims if not READERS[name].is_fallback]
    fallbacks = [name for name in claims if READERS[name].is_fallback]
    dominant = [name for name in fallbacks if regular and _dominant_format(path, [name, *regular]) == [name]]
    return [*regular, *dominant] or formats


def _formats_with_judged_documents(request: ReadRequest, formats: list[str]) -> list[str]:
    """Return the formats that yield most judged documents among their first; none if no format yields any."""
    n_judged: dict[str, int] = {}
    for name in formats:
        try:
            collection = READERS[name].open(request)
            judged_ids = set() if collection.qrels is None else set(collection.qrels.document_ids)
            n_judged[name] = len(judged_ids.intersection(document.id for document in islice(collection, PEEK)))
        except PippinError:
            n_judged[name] = 0
    return [name for name in formats if n_judged[name] == max(n_judged.values()) > 0]


def _default_name(path: Path) -> str:
    """Return the name of a folder, of a file up to its first dot, or the id of ir_datasets."""
    if is_irds_id(str(path)):
        return str(path).removeprefix(PREFIX)
    name = path.resolve().name
    return name if path.is_dir() else name.lstrip(".").partition(".")[0] or name


def starts_with(path: Path, *starts: bytes) -> bool:
    """Return whether a file begins with one of these lower-case bytes, in any case."""
    return path.is_file() and read_head(path)[: max(map(len, starts))].lower().startswith(starts)


def make_collection(
    request: ReadRequest,
    fields: tuple[str, ...],
    iter_documents: Callable[[], Iterator[Document]],
    *,
    companions: CompanionFiles = DEFAULT_COMPANIONS,
    descriptions: Mapping[str, str] = DESCRIPTIONS,
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
    diagnostics: Sequence[str] = (),
    files: Sequence[Path] = (),
    topics: Topics | None = None,
    numeric_fields: Mapping[str, str] | None = None,
) -> Collection:
    """Make the collection that a reader returns.

    Parameters
    ----------
    request : ReadRequest
        What the caller asked for.
    fields : tuple of str
        The document fields, as `request.select_fields` returns them.
    iter_documents : callable
        Returns a new iterator over all documents.
    companions : CompanionFiles
        File names and parsers of queries and qrels, where the format has its own.
    descriptions : mapping of str to str
        What each field is.
    unjudged : {"nonrelevant", "unknown"}
        How to treat documents without a label.
    diagnostics : sequence of str
        Messages about the documents.
    files : sequence of Path
        The files of the documents.
    topics : Topics, optional
        Queries and qrels, if they are already known; by default they are searched for.
    numeric_fields : mapping of str to str, optional
        The kind of each numeric field: "number" or "date".

    Returns
    -------
    Collection
    """
    if topics is None:
        topics = Topics((), None) if request.documents_only else find_topics(request, companions, files)
    members = tuple(field for field in fields if field not in (HEADINGS, EXTRACTED))  # these repeat parts of the body
    combined_fields = {WHOLE: members} if members and len(fields) > 1 and WHOLE not in fields else {}
    descriptions = {name: text for name, text in descriptions.items() if name in fields}
    return Collection(
        request.name,
        fields,
        iter_documents,
        topics.queries,
        topics.qrels,
        combined_fields,
        descriptions,
        files=topics.files,
        document_files=tuple(files),
        diagnostics=Diagnostics(diagnostics, topics.diagnostics),
        unjudged=unjudged,
        numeric_fields=numeric_fields or {},
    )
