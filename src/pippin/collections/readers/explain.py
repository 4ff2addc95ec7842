"""Describe how Pippin understands a file or folder, before anything is built."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pippin.collections.collection import Collection
from pippin.collections.document_stream import describe_duplicate
from pippin.collections.readers.base import PEEK, READERS, extract_archives, matching_formats, read_collection
from pippin.collections.readers.columns import normalize_name
from pippin.collections.readers.files import MAX_PROBED, files_under, truncate
from pippin.collections.readers.layout import align_document_ids, describe_unknown_documents
from pippin.collections.readers.topics import ID_FIELDS
from pippin.data.adapters import is_irds_id
from pippin.errors import DataError

STOPS = "\n  error: "  # before the error that would stop a build
FLAGS = {"format": "--input-format", "queries": "--queries", "qrels": "--qrels", "fields": "--fields"}
MAX_NAMES = 4  # file names to list


def explain(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> str:
    """Describe a path: its format, a document, the queries, the judgements, and the files that are not used.

    Parameters
    ----------
    path : str or path
        A file or folder, or an id of ir_datasets.
    format : str, optional
        A name from `READERS`; by default the format is detected.
    **options
        Other options of `read_collection`.

    Returns
    -------
    str
        A few lines of text. The last line is the next command to type, or the error that stops a build.

    Raises
    ------
    DataError
        If the path does not exist.
    """
    location = Path(path)
    if not is_irds_id(os.fspath(path)) and not location.exists():
        raise DataError("no such file or folder", location)
    lines = [f"{path}: no format matches"]
    try:
        archive = extract_archives(location, format)
        with nullcontext() if archive is None else archive.original_paths_in_errors():
            _explain(lines, path, location if archive is None else archive.path, {"format": format, **options})
    except DataError as error:
        return "\n".join(lines) + STOPS + str(error)
    if archive is not None:
        lines[-1:-1] = [f"  note: {message}" for message in archive.diagnostics]
        lines = [archive.restore_paths(line) for line in lines]
    return "\n".join(lines)


def _explain(lines: list[str], path: str | os.PathLike[str], location: Path, options: dict[str, Any]) -> None:
    """Append line after line, as far as reading succeeds; `location` is the extracted copy of `path`."""
    format = options["format"]
    lines[:] = [f"{path}: {_describe_formats([format] if format else matching_formats(location))}"]
    collection = read_collection(location, open_archives=False, **options)
    lines[:] = [f"{path}: {_describe_formats([collection.reader])}"]
    lines += _describe_documents(collection, location)
    lines += _describe_topics(collection)
    lines += [f"  note: {message}" for message in collection.diagnostics]
    lines += _describe_other_files(location, collection)
    lines += _check_ids(collection)
    lines.append(_next_command(path, collection, options))


def _describe_formats(formats: list[str]) -> str:
    if not formats:
        return "no format matches"
    descriptions = "; or ".join(f"{name}: {READERS[name].description}" for name in formats)
    return f"format {descriptions}" if len(formats) == 1 else f"format may be {descriptions}"


def _check_ids(collection: Collection) -> list[str]:
    """Raise if one of the first documents has a duplicate id, or if these are all documents and none is judged."""
    qrels = collection.qrels
    ids: dict[str, int] = {}
    for number, document in enumerate(islice(collection, PEEK + 1), 1):
        if (first := ids.setdefault(document.id, number)) < number:
            raise DataError(describe_duplicate(document.id, first, number))
    if qrels is None or len(ids) > PEEK or set(ids) & set(qrels.document_ids):
        return []
    if (alignment := align_document_ids(qrels, list(ids))) is not None:
        return [f"  note: {alignment[1]}"]
    raise DataError(describe_unknown_documents(list(qrels.document_ids), list(ids)), qrels.file or qrels.name)


def _next_command(path: str | os.PathLike[str], collection: Collection, options: dict[str, Any]) -> str:
    """Return the command to type next, with the options of this call."""
    words = [os.fspath(path)]
    for name, flag in FLAGS.items():
        if value := options.get(name):
            words += [flag, ",".join(value) if isinstance(value, list | tuple) else os.fspath(value)]
    arguments = shlex.join(words)
    if collection.queries and collection.qrels is not None:
        return f"next: pippin build {arguments} -o {shlex.quote(collection.name)}-letor"
    return f"next: pippin index {arguments} -o {shlex.quote(collection.name)}-index, to search it"


def _describe_documents(collection: Collection, path: Path) -> Iterator[str]:
    first = next(iter(collection), None)
    if first is None:
        raise DataError("no document found", collection.name)
    combined = "; ".join(f"{name} = {' + '.join(members)}" for name, members in collection.combined_fields.items())
    if files := collection.document_files:
        yield f"  documents: {_list_files([f.relative_to(path) if path.is_dir() else f for f in files])}"
    indent = "    " if files else "  documents: "
    yield f"{indent}fields {', '.join(collection.fields)}{f' ({combined})' if combined else ''}"
    for field in collection.fields:
        text = first.fields.get(field, "")
        yield f"    {first.id}, {field}: {truncate(text) if text else '(empty)'}"
    if first.links:
        count = len(first.links)
        yield f"    {first.id} links to {count:,} document{'s' * (count > 1)}, {first.links[0].target} first"


def _describe_topics(collection: Collection) -> Iterator[str]:
    queries, qrels = collection.queries, collection.qrels
    if queries:
        yield f"  queries: {_list_topic_files(collection, 'queries') or collection.name}: {len(queries):,}"
        yield f"    {truncate(queries[0].id)}: {truncate(queries[0].text)}"
        if fields := [name for name in queries[0].fields if normalize_name(name) not in ID_FIELDS]:
            yield f"    fields {', '.join(fields)}"
    else:
        yield "  queries: none found; name them with --queries FILE"
    if qrels is None:
        yield "  judgements: none found; name them with --qrels FILE"
        return
    labels = ", ".join(map(str, np.unique(qrels.labels).tolist()))
    source, n_judged = _list_topic_files(collection, "qrels") or qrels.name, len(qrels.query_ids)
    yield f"  judgements: {source}: {len(qrels.labels):,} of {n_judged:,} queries, labels {labels}"
    if missing := len({query.id for query in queries} - set(qrels.query_ids)):
        yield f"    {missing:,} queries have no judgement and are left out unless --unjudged keep"


def _list_topic_files(collection: Collection, role: str) -> str:
    return _list_files([Path(file.name) for file in collection.files.get(role, ())])


def _describe_other_files(path: Path, collection: Collection) -> Iterator[str]:
    if path.is_dir():
        used = {file.resolve() for files in (*collection.files.values(), collection.document_files) for file in files}
        unused = [file for file in islice(files_under(path), MAX_PROBED) if file.resolve() not in used]
        yield f"  other files: {_list_files([file.relative_to(path) for file in unused]) or 'none'}"


def _list_files(files: Sequence[Path]) -> str:
    """Return the names of some files.

    >>> _list_files([Path("a.txt")]), _list_files([Path(f"{i}.txt") for i in range(20)])
    ('a.txt', '20 files: 0.txt, 1.txt, 2.txt, 3.txt, …')
    """
    names = ", ".join(str(file) for file in files[:MAX_NAMES])
    return f"{len(files):,} files: {names}, …" if len(files) > MAX_NAMES else names
