"""A data set as a folder of Parquet files cut between queries, for processing in parts or on many machines.

A folder holds `part-00000.parquet` … and a manifest (see `pippin.storage.manifest`) with the feature names, the counts
of queries and documents, and the SHA-256 of each file. `write_partitions` streams: a LETOR file larger than memory is
read in chunks of whole queries. `check_partitions` verifies that every query is in one partition; it decodes only the
query column. A partition keeps query, document (if all have ids), label and features, but no comments.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data import frames
from pippin.data.arrow_files import column_ranges
from pippin.data.arrow_table import first_line
from pippin.data.buffers import Buffer
from pippin.data.dataset import Dataset, concatenate
from pippin.data.qrels import Qrels
from pippin.data.streaming import LineOffsets, iter_letor_chunks, letor_width
from pippin.errors import DataError
from pippin.storage.blocks import VerifiedFile
from pippin.storage.manifest import FolderFormat, Manifest

FORMAT = FolderFormat(
    "pippin partitions", 2, "folder of partitions", "write it again with `pippin convert --partitions`"
)
ROWS = 500_000
SCORE = "score"


@dataclass(frozen=True)
class Partition:
    """One file and its counts; `unlike` counts the documents of queries with different labels."""

    file: str
    queries: int
    documents: int
    unlike: int
    sha256: str


@dataclass(frozen=True)
class Partitions:
    """The manifest of a folder of partitions."""

    folder: Path
    name: str
    features: tuple[str, ...]
    dtype: str
    labels: tuple[int, int]  # lowest and highest
    scored: bool
    parts: tuple[Partition, ...]
    manifest: Manifest | None = None  # None while the folder is written

    @property
    def queries(self) -> int:
        """The number of queries."""
        return sum(part.queries for part in self.parts)

    def __len__(self) -> int:
        return sum(part.documents for part in self.parts)

    def digest(self) -> str:
        """Return the SHA-256 of the files' SHA-256."""
        return hashlib.sha256("\n".join(part.sha256 for part in self.parts).encode()).hexdigest()

    def _file(self, part: Partition) -> VerifiedFile:
        if self.manifest is None:
            raise DataError("these partitions are not complete yet", self.folder)
        with FORMAT.wrap_errors(self.folder):
            return self.manifest.open(part.file)

    def open(self, part: Partition, column: str) -> Any:
        """Open a partition as PyArrow's `ParquetFile`; the footer and one column are verified."""
        import pyarrow
        from pyarrow import parquet

        file, path = self._file(part), self.folder / part.file
        size = len(file.data)
        file.check(max(0, size - 8), size)
        file.check(max(0, size - 8 - int.from_bytes(file.data[-8:-4].tobytes(), "little")), size)
        try:
            source = pyarrow.BufferReader(pyarrow.py_buffer(file.data))
            reader = parquet.ParquetFile(source, page_checksum_verification=True)
        except (pyarrow.ArrowException, OSError):
            raise DataError("this partition is damaged, or not a Parquet file", path) from None
        with FORMAT.wrap_errors(self.folder):
            for start, stop in column_ranges(file.data, column):
                file.check(start, stop)
        return reader

    def read(self, part: Partition) -> Dataset:
        """Read a partition as a data set."""
        buffer = Buffer(self._file(part).read_verified(), os.fspath(self.folder / part.file))
        data = frames.read_frame(
            buffer, "parquet", want="judgements", features=self.features, dtype=np.dtype(self.dtype)
        )
        if isinstance(data, Qrels):  # labels without features
            features = np.empty((len(data.labels), 0), np.float32)
            data = Dataset(features, data.labels, data.offsets, data.query_ids, data.document_ids)
        return replace(data, name=self.name)

    def read_scores(self, part: Partition) -> NDArray[np.float64]:
        """Read the scores of a partition's documents."""
        if not self.scored:
            raise DataError("these partitions have no scores; write them with `pippin rank`", self.folder)
        with wrap_arrow_errors(self.folder / part.file):
            return np.ascontiguousarray(self.open(part, SCORE).read([SCORE]).column(SCORE).to_numpy(), np.float64)

    def __repr__(self) -> str:
        return (
            f"Partitions({self.name!r}: {len(self.parts)} files, {self.queries:,} queries, {len(self):,} documents, "
            f"{len(self.features)} features, {self.dtype})"
        )


def is_partitions(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder of partitions."""
    return FORMAT.is_at(path)


@contextmanager
def wrap_arrow_errors(path: Path) -> Iterator[None]:
    """Convert PyArrow's errors to DataError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"this partition differs from the manifest ({first_line(error)})", path) from None


class PartitionWriter:
    """Writes queries into files of at most `rows` documents, or of one longer query."""

    def __init__(self, folder: Path, rows: int) -> None:
        if rows < 1:
            raise DataError(f"documents per partition must be at least 1, got {rows}")
        self.folder, self.rows = folder, rows
        self.parts: list[Partition] = []
        self.lowest, self.highest = 2**31, -(2**31)
        self._open: tuple[Path, Any] | None = None
        self._counts = [0, 0, 0]  # queries, documents, documents of queries with different labels

    def add(self, data: Dataset, scores: NDArray[np.float64] | None = None) -> None:
        """Append queries."""
        self.lowest = min(self.lowest, int(data.labels.min()))
        self.highest = max(self.highest, int(data.labels.max()))
        query = 0
        while query < data.queries:
            start = data.offsets[query]
            free = self.rows - self._counts[1]
            stop = int(np.searchsorted(data.offsets, start + free, side="right")) - 1
            if stop <= query and self._counts[1]:
                self._close()
                continue
            stop = max(stop, query + 1)
            rows = slice(int(start), int(data.offsets[stop]))
            self._append(data.select(slice(query, stop)), None if scores is None else scores[rows])
            query = stop

    def _append(self, data: Dataset, scores: NDArray[np.float64] | None) -> None:
        from pyarrow import array, parquet

        table = frames.to_arrow(replace(data, comments=None))
        if scores is not None:
            table = table.append_column(SCORE, array(scores))
        if self._open is None:
            file = self.folder / f"part-{len(self.parts):05}.parquet"
            writer = parquet.ParquetWriter(
                file, table.schema, compression="zstd", use_dictionary=["query"], write_page_checksum=True
            )
            self._open = (file, writer)
        self._open[1].write_table(table)
        for i, count in enumerate((data.queries, len(data), _count_unlike(data))):
            self._counts[i] += count

    def _close(self) -> None:
        if self._open is not None:
            file, writer = self._open
            writer.close()
            queries, documents, unlike = self._counts
            self.parts.append(Partition(file.name, queries, documents, unlike, _sha256(file)))
            self._open, self._counts = None, [0, 0, 0]

    def close(self) -> tuple[Partition, ...]:
        """Close the last file and return all partitions."""
        self._close()
        return tuple(self.parts)


def _count_unlike(data: Dataset) -> int:
    """Count the documents of queries with different labels, from which a ranker can learn an order."""
    sizes = np.diff(data.offsets)
    is_filled = sizes > 0
    starts = data.offsets[:-1][is_filled]
    is_unlike = np.minimum.reduceat(data.labels, starts) < np.maximum.reduceat(data.labels, starts)
    return int(sizes[is_filled][is_unlike].sum())


def write_manifest(partitions: Partitions) -> None:
    """Write the manifest of a folder whose files are complete."""
    counts = {"partitions": len(partitions.parts), "queries": partitions.queries, "documents": len(partitions)}
    FORMAT.write(partitions.folder, {
        "name": partitions.name, "counts": counts, "labels": list(partitions.labels), "dtype": partitions.dtype,
        "scored": partitions.scored, "digest": partitions.digest(), "features": list(partitions.features),
        "partitions": [asdict(part) for part in partitions.parts],
    })  # fmt: skip


def new_folder(path: str | os.PathLike[str]) -> AbstractContextManager[Path]:
    """Return a folder that replaces `path` when it is complete; only other partitions are replaced."""
    return FORMAT.new_folder(path)


def write_partitions(
    source: Dataset | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    rows: int = ROWS,
    *,
    missing_value: str = "zero",
    dtype: DTypeLike | None = None,
) -> Partitions:
    """Write a data set, or a LETOR file of any size, as partitions of at most `rows` documents."""
    with new_folder(folder) as new:
        writer = PartitionWriter(new, rows)
        has_ids: bool | None = None
        for data in _iter_chunks(source, missing_value, dtype):
            if has_ids and data.document_ids is None:
                raise DataError(f"a document of query {data.query_ids[0]} or a later one has no id", data.name)
            has_ids = data.document_ids is not None if has_ids is None else has_ids
            writer.add(data if has_ids else replace(data, document_ids=None))
        parts, labels = writer.close(), (writer.lowest, writer.highest)
        write_manifest(Partitions(new, data.name, data.feature_names, data.features.dtype.name, labels, False, parts))
    return open_partitions(folder)


def _iter_chunks(
    source: Dataset | str | os.PathLike[str], missing_value: str, dtype: DTypeLike | None
) -> Iterable[Dataset]:
    if isinstance(source, Dataset):
        return [source if dtype is None else replace(source, features=source.features.astype(dtype), lines=None)]
    # A first pass, because sparse text may have its last feature in any line.
    width = letor_width(source)
    return iter_letor_chunks(
        source, LineOffsets(), missing_value=missing_value, dtype=dtype or np.float64, features=width
    )


def open_partitions(folder: str | os.PathLike[str]) -> Partitions:
    """Read the manifest of a folder of partitions."""
    manifest = FORMAT.read(folder)
    with FORMAT.wrap_errors(folder):
        parts = tuple(Partition(**part) for part in manifest["partitions"])
        lowest, highest = manifest["labels"]
        features = tuple(map(str, manifest["features"]))
        np.dtype(manifest["dtype"])
        return Partitions(
            Path(folder), manifest["name"], features, manifest["dtype"], (lowest, highest), manifest["scored"], parts,
            manifest,
        )  # fmt: skip


def check_partitions(folder: str | os.PathLike[str]) -> Partitions:
    """Raise DataError unless every query is in one partition, contiguous, and all have the same columns."""
    partitions = open_partitions(folder)
    file_of_query: dict[str, str] = {}
    schema: Any = None
    for part in partitions.parts:
        path = partitions.folder / part.file
        file = partitions.open(part, "query")
        schema = file.schema_arrow if schema is None else schema
        if not file.schema_arrow.equals(schema):
            raise DataError(f"the columns differ from those of {partitions.parts[0].file}", path)
        if file.metadata.num_rows != part.documents:
            raise DataError(f"{file.metadata.num_rows} documents, but the manifest states {part.documents}", path)
        with wrap_arrow_errors(path):
            for query in _iter_queries(file, path):
                first = file_of_query.setdefault(query, part.file)
                if first != part.file:
                    raise DataError(f"query {query} is also in {first}; a query must be in one partition", path)
    missing = [name for name in partitions.features if schema is not None and name not in schema.names]
    if missing:
        raise DataError(f"the feature {missing[0]} has no column", partitions.folder)
    return partitions


def _iter_queries(file: Any, path: Path) -> Iterator[str]:
    """Yield the queries of a partition once each; raise if the rows of one are not contiguous."""
    last, previous_ids = None, set()
    for batch in file.iter_batches(columns=["query"]):
        encoded = batch.column(0).dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        ids = encoded.dictionary.to_pylist()
        for code in codes[np.flatnonzero(np.diff(codes, prepend=-1))]:
            query = ids[code]
            if query == last:
                continue
            if query in previous_ids:
                raise DataError(f"the rows of query {query} are not contiguous", path)
            previous_ids.add(query)
            last = query
            yield query


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_partitions(folder: str | os.PathLike[str]) -> Dataset:
    """Read all partitions into one data set."""
    partitions = check_partitions(folder)
    return replace(concatenate(partitions.read(part) for part in partitions.parts), name=partitions.name)


def read_partition_scores(folder: str | os.PathLike[str]) -> NDArray[np.float64]:
    """Read the scores of all partitions."""
    partitions = check_partitions(folder)
    return np.concatenate([partitions.read_scores(part) for part in partitions.parts])
