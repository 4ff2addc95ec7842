"""Read, write and convert ranking data in any format.

    format     contents
    letor      a data set as LETOR text
    qrels      judgements as TREC text
    run        a run as TREC text
    scores     scores, one per line
    parquet    any of these as a table
    csv        any of these as a table (tab-separated if the name ends in .tsv)
    arrow      any of these as a table, Arrow IPC
    store      a data set, judgements or a run as a memory-mapped folder
    partitions a data set as a folder of Parquet files (read only)
    irds       judgements of ir_datasets (read only)
    json       judgements or a run: dicts of dicts, lists, `_rank_eval`, MTEB's predictions (read only)

The format of an input follows from the prefix `irds:`, from being a folder, from the extension of a table or JSON, or
else from the first line of text: `qid:` in it is LETOR, four columns are qrels, six a run, one column scores. The
format of an output follows from its name; a plain text (no extension, `.txt`) gets the format that fits the data.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import DTypeLike

from pippin.data import adapters
from pippin.data.buffers import FORMATS_BY_SUFFIX, TABLE_FORMATS, Buffer, Readable, open_buffer, suffix_of, table_format
from pippin.data.dataset import Dataset, rows_of_queries
from pippin.data.letor import read_letor, read_scores, write_letor, write_scores
from pippin.data.qrels import (
    Qrels,
    RankingData,
    Run,
    Scores,
    has_subtopics,
    parse_qrels,
    parse_run,
    parse_subtopics,
    write_qrels,
    write_run,
)
from pippin.errors import DataError, UnknownName

if TYPE_CHECKING:
    from pippin.data.folds import Folds
    from pippin.data.partitions import Partitions

Want = Literal["any", "judgements", "scores"]

OUTPUT_FORMATS = ("letor", "qrels", "run", "scores", *TABLE_FORMATS, "store")
INPUT_FORMATS = (*OUTPUT_FORMATS, "partitions", "irds", "json")
TITLES = {Dataset: "a data set", Qrels: "judgements", Run: "a run", np.ndarray: "a list of scores"}
_TEXT_TITLES = {"letor": "LETOR text", "qrels": "judgements", "run": "a run", "scores": "scores"}
_FORMATS_BY_WIDTH = {1: "scores", 4: "qrels", 6: "run"}
_PLAIN_SUFFIXES = ("", ".txt", ".text", ".dat")  # text files that may hold anything
_DETECT_BYTES = 1 << 16  # bytes of a line that show its format


def detect_text_format(source: Readable) -> str:
    """Return `letor`, `qrels`, `run` or `scores` by the first line of data."""
    buffer = open_buffer(source)
    start, size, number = 0, len(buffer.data), 0
    if buffer.data[:3].tobytes() == b"\xef\xbb\xbf":
        start = 3
    while start < size:
        line, newline, _ = buffer.data[start : start + _DETECT_BYTES].tobytes().partition(b"\n")
        number += 1
        columns = line.split()
        if columns and not columns[0].startswith(b"#"):
            return _format_of_line(columns, buffer, number)
        start += len(line)
        while not newline and start < size:  # a long blank or comment line
            line, newline, _ = buffer.data[start : start + _DETECT_BYTES].tobytes().partition(b"\n")
            start += len(line)
        start += 1
    raise DataError("the file contains no data", buffer.name)


def _format_of_line(columns: list[bytes], buffer: Buffer, line: int) -> str:
    if any(column.startswith(b"qid:") for column in columns[:2]):
        return "letor"
    format = _FORMATS_BY_WIDTH.get(len(columns))
    # Text that begins like a number is left to the parser of scores, which explains what is wrong with it.
    is_number = columns[0][:1] in b"+-.0123456789" or columns[0].lower() in (b"nan", b"inf", b"infinity")
    if format is not None and (format != "scores" or is_number):
        return format
    expected = "expected LETOR text (label qid:…), qrels (4 columns), a run (6) or scores (1)"
    try:
        is_text = b" ".join(columns).decode().isprintable()
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise DataError(f"this is not a text file; {expected}", buffer.name)
    content = repr(columns[0].decode()) if format == "scores" else f"{len(columns)} columns"
    raise DataError(f"found {content}; {expected}", buffer.name, line)


def format_of_path(path: str | os.PathLike[str]) -> str | None:
    """Return the format by name or folder; None if only the first line of text can tell.

    >>> format_of_path("irds:cranfield"), format_of_path("d.tsv.gz"), format_of_path("d.run")
    ('irds', 'csv', None)
    """
    text = os.fspath(path)
    if adapters.is_irds_id(text):
        return "irds"
    if text != "-" and os.path.isdir(text):  # noqa: PTH112 - Path raises for names with null bytes
        from pippin.data import partitions, store

        return "store" if store.is_store(text) else "partitions" if partitions.is_partitions(text) else "folder"
    return "json" if text.lower().endswith(".json") else table_format(text)


def output_format(path: str | os.PathLike[str], data: RankingData) -> str:
    """Return the format that the name of an output means; for plain text, the one that fits the data.

    >>> scores = np.zeros(1)
    >>> output_format("a.parquet", scores), output_format("a.pippin", scores), output_format("a.txt", scores)
    ('parquet', 'store', 'scores')
    """
    from pippin.data import store

    if os.fspath(path) != "-" and store.names_store(path):
        return "store"
    suffix = suffix_of(path)
    if FORMATS_BY_SUFFIX.get(suffix) in OUTPUT_FORMATS:
        return FORMATS_BY_SUFFIX[suffix]
    if suffix in _PLAIN_SUFFIXES:
        return {Dataset: "letor", Qrels: "qrels", Run: "run", np.ndarray: "scores"}[type(data)]
    raise DataError(f"unknown file extension {suffix}; choose the format with --to: {', '.join(OUTPUT_FORMATS)}", path)


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    missing_value: Literal["zero", "null"] = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
    check: bool = True,
    drop_empty: bool = False,
) -> RankingData | Folds:
    """Read a file or folder of ranking data.

    `read_dataset`, `read_qrels`, `read_run` and `read_folds` read the same formats and return one type.

    Parameters
    ----------
    path : path
        LETOR text, qrels, a run or scores (plain or compressed, or `-` for standard input), Parquet, CSV, Arrow, JSON,
        a store, partitions, a folder with Fold1 … or with train, vali and test files, or `irds:ID` of ir_datasets.
    format : str, optional
        The format, if neither the name nor the first line shows it; `pippin.data.read` lists the formats.
    missing_value : {"zero", "null"}, default "zero"
        The value of features that a line of LETOR text omits: 0 or NaN.
    dtype : dtype, optional
        float32 or float64 for the features; by default as in the file, and float64 for text.
    merge_queries : bool, default False
        Join the rows of a query that are not contiguous.
    check : bool, default True
        Compare the folds of a published data set with its known counts.
    drop_empty : bool, default False
        Leave out queries without a relevant document.

    Returns
    -------
    Dataset, Qrels, Run, ndarray or Folds
        Scores without documents are a float64 array. A table with both labels and scores is read as labels.

    Raises
    ------
    DataError
        If the file cannot be read; the message has the file and the line.

    Examples
    --------
    >>> import pippin, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "test.txt"
    >>> _ = file.write_text("2 qid:1 1:0.5 2:0.25 #docid = d1\\n0 qid:1 1:0.1 2:0.75 #docid = d2\\n")
    >>> pippin.read(file)
    Dataset('test.txt': 1 queries, 2 documents, 2 features, float64)
    """
    if format is None and format_of_path(path) == "folder":
        from pippin.data import fold_files

        folds = fold_files.read_folds(
            path, check=check, missing_value=missing_value, merge_queries=merge_queries, dtype=dtype or np.float64
        )
        return folds.drop_empty() if drop_empty else folds
    data = read_data(path, format, missing_value=missing_value, dtype=dtype, merge_queries=merge_queries)
    return drop_empty_queries(data) if drop_empty else data


def read_dataset(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    missing_value: Literal["zero", "null"] = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
) -> Dataset:
    """Read a data set: features and labels by query.

    Parameters
    ----------
    path : path
        LETOR text, Parquet, CSV, Arrow, a store or partitions.
    format, missing_value, dtype, merge_queries
        As in `pippin.read`.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    DataError
        If the file holds anything but a data set.

    Examples
    --------
    >>> import pippin, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = file.write_text("qid,label,bm25\\n1,0,0.5\\n1,2,1.5\\n")
    >>> pippin.read_dataset(file).feature_names
    ('bm25',)
    """
    data = read_data(
        path, format, want="judgements", missing_value=missing_value, dtype=dtype, merge_queries=merge_queries
    )
    if not isinstance(data, Dataset):
        raise DataError(f"expected a data set, but this is {title_of(data)}", path)
    return data


def read_qrels(path: str | os.PathLike[str], format: str | None = None, *, merge_queries: bool = False) -> Qrels:
    """Read judgements.

    Parameters
    ----------
    path : path
        Qrels, or any file with labels and document ids: LETOR text, a table, JSON, a store or `irds:ID`.
    format, merge_queries
        As in `pippin.read`.

    Returns
    -------
    Qrels
        The judgements; of a data set those of its documents.

    Raises
    ------
    DataError
        If the file has no labels or no document ids.

    Examples
    --------
    >>> import pippin, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "test.qrels"
    >>> _ = file.write_text("1 0 d1 2\\n1 0 d2 0\\n")
    >>> pippin.read_qrels(file)
    Qrels('test.qrels': 1 queries, 2 judged documents)
    """
    data = read_data(path, format, want="judgements", merge_queries=merge_queries)
    return cast(Qrels, select_part(data, "qrels", labels=True))


def read_run(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    merge_queries: bool = False,
    allow_infinite: bool = False,
) -> Run:
    """Read a run.

    Parameters
    ----------
    path : path
        A TREC run, a table with query, document and score, JSON, or a store.
    format, merge_queries
        As in `pippin.read`.
    allow_infinite : bool, default False
        Accept infinite scores.

    Returns
    -------
    Run
        The documents and scores by query, in file order.

    Raises
    ------
    DataError
        If the file holds anything but a run.

    Examples
    --------
    >>> import pippin, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "bm25.run"
    >>> _ = file.write_text("1 Q0 d1 1 2.5 bm25\\n1 Q0 d2 2 1.5 bm25\\n")
    >>> pippin.read_run(file)
    Run('bm25.run': 1 queries, 2 documents)
    """
    data = read_data(path, format, want="scores", merge_queries=merge_queries, allow_infinite=allow_infinite)
    if not isinstance(data, Run):
        raise DataError(f"expected a run, but this is {title_of(data)}", path)
    return data


def title_of(data: RankingData) -> str:
    """Return what the data is, with its article."""
    return next(title for kind, title in TITLES.items() if isinstance(data, kind))


def read_data(
    source: Readable,
    format: str | None = None,
    *,
    want: Want = "any",
    missing_value: str = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    rows: int | None = None,
    strict: bool = True,
    hint: str = "",
) -> RankingData:
    """Read anything but folds.

    `want` decides where a file holds both labels and scores. With `strict`, text of the other kind is an error, which
    ends with `hint`. `rows` is the number of scores to expect.
    """
    path = source.name if isinstance(source, Buffer) else os.fspath(source)
    format = format or (None if isinstance(source, Buffer) else format_of_path(path))
    if format is None:
        source = open_buffer(source)  # once, because standard input can be read only once
        format = detect_text_format(source)
        refused = {"any": (), "judgements": ("run", "scores"), "scores": ("letor", "qrels")}[want]
        if strict and format in refused:
            expected = "judgements or LETOR text" if want == "judgements" else "scores or a run"
            raise DataError(f"expected {expected}, but this is {_TEXT_TITLES[format]}{hint}", source.name)
    data = _parse(source, format, path, want, missing_value, dtype, merge_queries, allow_infinite, rows)
    if isinstance(data, Dataset) and dtype is not None and data.features.dtype != np.dtype(dtype):
        data = replace(data, features=data.features.astype(dtype), lines=None)
    return data


def _parse(  # noqa: PLR0911 - one branch per format
    source: Readable,
    format: str,
    path: str,
    want: Want,
    missing_value: str,
    dtype: DTypeLike | None,
    merge_queries: bool,
    allow_infinite: bool,
    rows: int | None,
) -> RankingData:
    """Call the reader of a format."""
    match format:
        case "letor":
            return read_letor(
                source, missing_value=missing_value, merge_queries=merge_queries, dtype=dtype or np.float64
            )
        case "qrels" if want == "judgements" and has_subtopics(buffer := open_buffer(source)):
            return parse_subtopics(buffer)
        case "qrels":
            return parse_qrels(source, merge_queries=merge_queries)
        case "run":
            return parse_run(source, merge_queries=merge_queries, allow_infinite=allow_infinite)
        case "scores":
            return read_scores(source, rows, allow_infinite=allow_infinite)
        case "irds":
            return adapters.read_irds_run(path) if want == "scores" else adapters.read_irds_qrels(path)
        case "json":
            has_labels = want == "judgements" or (want == "any" and adapters.detect_value(path) == "relevance")
            nested, name = adapters.read_json(path, "relevance" if has_labels else "score"), Path(path).name
            return Qrels.from_dict(nested, name) if has_labels else Run.from_dict(nested, name)
        case "parquet" | "csv" | "arrow":
            from pippin.data import frames

            return frames.read_frame(
                source, format, want=want, merge_queries=merge_queries, dtype=dtype, allow_infinite=allow_infinite
            )
        case "store":
            from pippin.data import store

            return store.read_store(path)
        case "partitions":
            from pippin.data import partitions

            return partitions.read_partition_scores(path) if want == "scores" else partitions.read_partitions(path)
        case "folder":
            from pippin.data import fold_files

            # A built data set has the folds of its last version, QueryLevelNorm, in a subfolder.
            folders = [Path(path), *sorted((inner for inner in Path(path).iterdir() if inner.is_dir()), reverse=True)]
            files = next((files for folder in folders if (files := fold_files.list_fold_files(folder))), [])
            if not files:
                raise DataError("this folder is neither a store nor partitions; name a file", path)
            alternatives = f" ({' or '.join(file.name for file in files[1:])})" if files[1:] else ""
            raise DataError(f"this folder holds folds; name a file, such as {files[0]}{alternatives}", path)
    raise UnknownName("format", format, INPUT_FORMATS)


def write(data: RankingData, path: str | os.PathLike[str], format: str | None = None) -> str:
    """Write data in a format, by default the one that the name means; return the format."""
    from pippin.data import frames, store

    format = format or output_format(path, data)
    match format, data:
        case (("parquet" | "csv" | "arrow"), _):
            frames.write_frame(data, path, format)
        case "store", Dataset() | Qrels() | Run():
            if os.fspath(path) == "-":
                raise DataError("a store is a folder and cannot be written to standard output")
            store.write_store(data, path)
        case "letor", Dataset():
            if len(data) and data.labels.min() < 0:
                raise DataError(f"LETOR text cannot hold the label {data.labels.min()}; labels start at 0", path)
            write_letor(data, path)
        case "qrels", Qrels():
            write_qrels(data, path)
        case "run", Run():
            write_run(data, path)
        case "scores", np.ndarray():
            write_scores(data, path)
        case _:
            needs = {
                "letor": "LETOR text, which needs features",
                "qrels": "judgements, which need labels of documents",
                "run": "a run, which needs a score for each document",
                "scores": "scores, which are in the order of a data set",
                "store": "a store, which holds a data set, judgements or a run",
            }
            if format not in needs:
                raise UnknownName("format", format, OUTPUT_FORMATS)
            raise DataError(f"{title_of(data)} cannot be written as {needs[format]}", path)
    return format


def select_part(data: RankingData, format: str, *, labels: bool = False, feature: str | None = None) -> RankingData:
    """Return the judgements of a data set, or one feature as a run or scores, if the format or caller needs that."""
    if not isinstance(data, Dataset):
        if labels and not isinstance(data, Qrels):
            raise DataError(f"expected judgements, but this is {title_of(data)}")
        if feature is not None:
            raise DataError(f"feature {feature!r} needs a data set, but this is {title_of(data)}")
        return data
    if labels or format == "qrels":
        if feature is not None:
            raise DataError("choose one: the judgements, or a feature as scores")
        if data.document_ids is None:
            raise DataError(f"{data.name} has no document ids, which judgements need")
        return Qrels(data.query_ids, data.offsets, data.document_ids, data.labels, data.name)
    if feature is None and format not in {"run", "scores"}:
        return data
    scores = _feature_scores(data, feature)
    if format == "scores" or (format != "run" and data.document_ids is None):
        return scores
    if data.document_ids is None:
        raise DataError(f"{data.name} has no document ids, which a run needs")
    return Run(data.query_ids, data.offsets, data.document_ids, scores, data.name, feature or "run")


def drop_empty_queries(data: RankingData) -> RankingData:
    """Return a data set or judgements without the queries that have no relevant document (a label above 0).

    >>> data = Dataset.from_arrays([[0.1], [0.2], [0.3]], [0, 0, 1], [1, 1, 2])
    >>> drop_empty_queries(data).query_ids
    ('2',)
    """
    if not isinstance(data, Dataset | Qrels):
        raise DataError(f"expected labels to drop empty queries by, but this is {title_of(data)}")
    n_relevant = np.add.reduceat(data.labels > 0, data.offsets[:-1], dtype=np.int64) if data.query_ids else np.zeros(0)
    queries = np.flatnonzero(n_relevant)
    if not len(queries):
        raise DataError(f"{data.name} has no relevant document: all queries are empty")
    if isinstance(data, Dataset):
        return data.select(queries)
    rows = rows_of_queries(data.offsets, queries)
    offsets = np.concatenate(([0], np.cumsum(np.diff(data.offsets)[queries]))).astype(np.int64)
    ids = tuple(data.query_ids[i] for i in queries.tolist())
    return replace(data, query_ids=ids, offsets=offsets, document_ids=data.document_ids.take(rows),
                   labels=data.labels[rows], file=None)  # fmt: skip


def _feature_scores(data: Dataset, feature: str | None) -> Scores:
    """Return the named feature, or the only one, as scores."""
    if feature is None:
        if data.features.shape[1] != 1:
            raise DataError(f"{data.name} has {data.features.shape[1]} features; name the one to use as score")
        position = 0
    elif feature not in data.feature_names:
        raise UnknownName("feature", feature, data.feature_names)
    else:
        position = data.feature_names.index(feature)
    scores = np.array(data.features[:, position], np.float64)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise DataError(f"document {row + 1} has no value of feature {data.feature_names[position]}")
    return scores


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    missing_value: Literal["zero", "null"] = "zero",
    dtype: DTypeLike | None = None,
    merge_queries: bool = False,
    labels: bool = False,
    feature: str | None = None,
    partitions: int | None = None,
    drop_empty: bool = False,
) -> tuple[RankingData | Partitions, str]:
    """Convert ranking data from one format to another. Nothing is written unless everything was read.

    Parameters
    ----------
    source : path
        A file, a store, ``irds:ID`` of ir_datasets, or "-" for standard input.
    target : path
        The file or store to write, or "-" for standard output.
    source_format : str, optional
        Format of `source`; by default detected from the extension or the first line.
    target_format : str, optional
        Format of `target`; by default that of its extension, or the one that fits the data.
    missing_value : {"zero", "null"}, default "zero"
        Value of features that a LETOR line omits.
    dtype : dtype, optional
        Precision of features; by default as in `source`.
    merge_queries : bool, default False
        Join the rows of a query that are not contiguous.
    labels : bool, default False
        Write only the labels of a data set, by document.
    feature : str, optional
        Write one feature of a data set, as a run or as scores.
    partitions : int, optional
        Write `target` as a folder of Parquet files of at most so many documents, cut between queries; `source` is a
        LETOR file of any size, or a data set in another format.
    drop_empty : bool, default False
        Leave out queries without a relevant document.

    Returns
    -------
    data : Dataset, Qrels, Run, ndarray or Partitions
        What was written.
    format : str
        Its format.

    Raises
    ------
    DataError
        If the data cannot be written in that format.

    Examples
    --------
    >>> import pippin, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "test.txt").write_text("2 qid:1 1:0.5 #docid = d1\\n0 qid:1 1:0.1 #docid = d2\\n")
    >>> pippin.convert(folder / "test.txt", folder / "labels.qrels", labels=True)
    (Qrels('test.txt': 1 queries, 2 judged documents), 'qrels')
    """
    if partitions is not None:
        from pippin.data.partitions import write_partitions

        if target_format or merge_queries or labels or feature or drop_empty:
            raise DataError("partitions hold complete data sets; leave out format, labels, feature, merge_queries and "
                            "drop_empty")  # fmt: skip
        data_set: Dataset | str | os.PathLike[str] = source
        if (source_format or format_of_path(source)) not in (None, "letor"):
            data_set = read_dataset(source, source_format, dtype=dtype)
        return write_partitions(data_set, target, partitions, missing_value=missing_value, dtype=dtype), "partitions"
    suffix_format = FORMATS_BY_SUFFIX.get(suffix_of(target))
    format = target_format or (suffix_format if suffix_format not in TABLE_FORMATS else None) or ""
    data = read_data(
        source, source_format, want="scores" if format in {"run", "scores"} and not feature else "any", strict=False,
        missing_value=missing_value, dtype=dtype, merge_queries=merge_queries,
    )  # fmt: skip
    data = drop_empty_queries(data) if drop_empty else data
    data = select_part(data, format, labels=labels, feature=feature)
    return data, write(data, target, target_format)
