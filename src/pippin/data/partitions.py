"""A data set as a folder of Parquet files cut at queries, for work on one part at a time or on many machines.

Does every query stand in one partition, whole? A folder holds `part-00000.parquet` … and a manifest (see
`pippin.manifest`), which names the features, counts queries and documents, and gives each file's SHA-256.
`write_partitions` streams: a LETOR file larger than memory is read in stretches of whole queries. `check_partitions`
decodes the query column alone and holds no more than the ids. A partition keeps query, document (where all are named),
label and features; comments are left out.
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

from pippin.blocks import Blocks
from pippin.data import columns
from pippin.data.buffers import Buffer
from pippin.data.dataset import Dataset, concatenate
from pippin.data.parquet_claims import extents
from pippin.data.stretches import Places, letor_stretches, letor_width
from pippin.data.tables import first_line
from pippin.errors import DataError
from pippin.extras import need
from pippin.manifest import Format, Manifest

FORMAT = Format("pippin partitions", 2, "folder of partitions", "write it again with `pippin convert --partitions`")
ROWS = 500_000
SCORE = "score"


@dataclass(frozen=True)
class Partition:
    """One file, and how much stands in it; `unlike` counts the documents of queries with different labels."""

    file: str
    queries: int
    documents: int
    unlike: int
    sha256: str


@dataclass(frozen=True)
class Partitions:
    """What the manifest of a folder says."""

    folder: Path
    name: str
    features: tuple[str, ...]
    dtype: str
    labels: tuple[int, int]  # the lowest and the highest
    scored: bool
    parts: tuple[Partition, ...]
    manifest: Manifest | None = None  # of a folder that was opened

    @property
    def queries(self) -> int:
        """The number of queries."""
        return sum(part.queries for part in self.parts)

    def __len__(self) -> int:
        return sum(part.documents for part in self.parts)

    def digest(self) -> str:
        """A fingerprint of the data: SHA-256 over the files' own."""
        return hashlib.sha256("\n".join(part.sha256 for part in self.parts).encode()).hexdigest()

    def _blocks(self, part: Partition) -> Blocks:
        if self.manifest is None:
            raise DataError("these partitions are still being written", self.folder)
        with FORMAT.described(self.folder):
            return self.manifest.open(part.file)

    def open(self, part: Partition, column: str) -> Any:
        """One partition as PyArrow's `ParquetFile`, of which the footer and one column are verified."""
        need("a folder of partitions", "pyarrow")
        import pyarrow
        from pyarrow import parquet

        blocks, path = self._blocks(part), self.folder / part.file
        size = len(blocks.data)
        blocks.check(max(0, size - 8), size)
        blocks.check(max(0, size - 8 - int.from_bytes(blocks.data[-8:-4].tobytes(), "little")), size)
        try:
            source = pyarrow.BufferReader(pyarrow.py_buffer(blocks.data))
            file = parquet.ParquetFile(source, page_checksum_verification=True)
        except (pyarrow.ArrowException, OSError):
            raise DataError("this partition is damaged, or no Parquet file", path) from None
        with FORMAT.described(self.folder):
            for first, last in extents(blocks.data, column):
                blocks.check(first, last)
        return file

    def read(self, part: Partition) -> Dataset:
        """The data set of one partition."""
        buffer = Buffer(self._blocks(part).whole(), os.fspath(self.folder / part.file))
        data = columns.read_judged(buffer, form="parquet", features=self.features, dtype=np.dtype(self.dtype))
        if not isinstance(data, Dataset):  # documents and labels without features
            none = np.empty((len(data.labels), 0), np.float32)
            data = Dataset(none, data.labels, data.offsets, data.query_ids, data.document_ids)
        return replace(data, name=self.name)

    def read_scores(self, part: Partition) -> NDArray[np.float64]:
        """The score of each document of one partition."""
        if not self.scored:
            raise DataError("the partitions of this folder have no scores; `pippin rank` writes them", self.folder)
        with described(self.folder / part.file):
            return np.ascontiguousarray(self.open(part, SCORE).read([SCORE]).column(SCORE).to_numpy(), np.float64)

    def __repr__(self) -> str:
        return (
            f"Partitions({self.name!r}: {len(self.parts)} files, {self.queries:,} queries, {len(self):,} documents, "
            f"{len(self.features)} features, {self.dtype})"
        )


def is_partitions(path: str | os.PathLike[str]) -> bool:
    """Whether a folder of partitions stands at this path."""
    return FORMAT.is_at(path)


@contextmanager
def described(path: Path) -> Iterator[None]:
    """What PyArrow finds wrong with a partition, as a sentence."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"this partition does not hold what the manifest says ({first_line(error)})", path) from None


class Writer:
    """Writes queries one after the other into files of at most `rows` documents, or of one query that has more."""

    def __init__(self, folder: Path, rows: int) -> None:
        if rows < 1:
            raise DataError(f"a partition has at least one document, not {rows}")
        need("a folder of partitions", "pyarrow")
        self.folder, self.rows = folder, rows
        self.parts: list[Partition] = []
        self.lowest, self.highest = 2**31, -(2**31)
        self._open: Any = None
        self._counts = [0, 0, 0]  # queries, documents, documents of queries with different labels

    def add(self, data: Dataset, scores: NDArray[np.float64] | None = None) -> None:
        """Write these queries after those that came before."""
        self.lowest = min(self.lowest, int(data.labels.min()))
        self.highest = max(self.highest, int(data.labels.max()))
        first = 0
        while first < data.queries:
            begin = data.offsets[first]
            room = self.rows - self._counts[1]
            last = int(np.searchsorted(data.offsets, begin + room, side="right")) - 1
            if last <= first and self._counts[1]:
                self._close()
                continue
            last = max(last, first + 1)
            rows = slice(int(begin), int(data.offsets[last]))
            self._append(data.select(slice(first, last)), None if scores is None else scores[rows])
            first = last

    def _append(self, data: Dataset, scores: NDArray[np.float64] | None) -> None:
        from pyarrow import array

        table = columns.to_arrow(replace(data, comments=None))
        if scores is not None:
            table = table.append_column(SCORE, array(scores))
        if self._open is None:
            file = self.folder / f"part-{len(self.parts):05}.parquet"
            self._open = (file, _writer(file, table.schema))
        self._open[1].write_table(table)
        for i, count in enumerate((data.queries, len(data), _unlike(data))):
            self._counts[i] += count

    def _close(self) -> None:
        if self._open is not None:
            file, writer = self._open
            writer.close()
            queries, documents, unlike = self._counts
            self.parts.append(Partition(file.name, queries, documents, unlike, _sha256(file)))
            self._open, self._counts = None, [0, 0, 0]

    def closed(self) -> tuple[Partition, ...]:
        """Close the last file; all that were written."""
        self._close()
        return tuple(self.parts)

    def end(self, name: str, features: tuple[str, ...], dtype: str) -> None:
        """Close the last file and write the manifest."""
        labels = (self.lowest, self.highest)
        write_manifest(Partitions(self.folder, name, features, dtype, labels, False, self.closed()))


def _writer(file: Path, schema: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=["query"], write_page_checksum=True)


def _unlike(data: Dataset) -> int:
    """Documents of queries whose labels differ: those that a ranker can learn an order from."""
    sizes = np.diff(data.offsets)
    filled = sizes > 0
    starts = data.offsets[:-1][filled]
    differ = np.minimum.reduceat(data.labels, starts) < np.maximum.reduceat(data.labels, starts)
    return int(sizes[filled][differ].sum())


def write_manifest(whole: Partitions) -> None:
    """Write what a folder says of itself."""
    FORMAT.write(whole.folder, {
        "name": whole.name,
        "counts": {"partitions": len(whole.parts), "queries": whole.queries, "documents": len(whole)},
        "labels": list(whole.labels), "dtype": whole.dtype, "scored": whole.scored, "digest": whole.digest(),
        "features": list(whole.features), "partitions": [asdict(part) for part in whole.parts],
    })  # fmt: skip


def new_folder(path: str | os.PathLike[str]) -> AbstractContextManager[Path]:
    """A folder to write partitions to, which takes its place at the end; only other partitions are replaced."""
    return FORMAT.new_folder(path)


def write_partitions(
    source: Dataset | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    rows: int = ROWS,
    *,
    absent: str = "zero",
    dtype: DTypeLike | None = None,
) -> Partitions:
    """Write a data set, or a LETOR file of any size, as partitions of at most `rows` documents, cut at queries."""
    with new_folder(folder) as fresh:
        writer = Writer(fresh, rows)
        named: bool | None = None
        for data in _stretches(source, absent, dtype):
            if named and data.document_ids is None:
                raise DataError(f"query {data.query_ids[0]} or one after it has a document without a name", data.name)
            named = data.document_ids is not None if named is None else named
            writer.add(data if named else replace(data, document_ids=None))
        writer.end(data.name, data.feature_names, data.features.dtype.name)
    return open_partitions(folder)


def _stretches(source: Dataset | str | os.PathLike[str], absent: str, dtype: DTypeLike | None) -> Iterable[Dataset]:
    if isinstance(source, Dataset):
        return [source if dtype is None else replace(source, features=source.features.astype(dtype), lines=None)]
    # Twice, because a sparse file may show its last feature only at its end.
    width = letor_width(source)
    return letor_stretches(source, Places(), absent=absent, dtype=dtype or np.float64, features=width)


def open_partitions(folder: str | os.PathLike[str]) -> Partitions:
    """What stands in a folder of partitions, by its manifest alone."""
    manifest = FORMAT.read(folder)
    with FORMAT.described(folder):
        parts = tuple(Partition(**part) for part in manifest["partitions"])
        lowest, highest = manifest["labels"]
        features = tuple(map(str, manifest["features"]))
        np.dtype(manifest["dtype"])
        return Partitions(
            Path(folder), manifest["name"], features, manifest["dtype"], (lowest, highest), manifest["scored"], parts,
            manifest,
        )  # fmt: skip


def check_partitions(folder: str | os.PathLike[str]) -> Partitions:
    """Raise unless every query stands together in one partition and all have the same columns."""
    whole = open_partitions(folder)
    place: dict[str, str] = {}
    schema: Any = None
    for part in whole.parts:
        path = whole.folder / part.file
        file = whole.open(part, "query")
        schema = file.schema_arrow if schema is None else schema
        if not file.schema_arrow.equals(schema):
            raise DataError(f"the columns differ from those of {whole.parts[0].file}", path)
        if file.metadata.num_rows != part.documents:
            raise DataError(f"{file.metadata.num_rows} documents, and the manifest says {part.documents}", path)
        with described(path):
            for query in _queries(file, path):
                before = place.setdefault(query, part.file)
                if before != part.file:
                    raise DataError(f"query {query} stands here and in {before}: the cut goes through it", path)
    missing = [name for name in whole.features if schema is not None and name not in schema.names]
    if missing:
        raise DataError(f"the feature {missing[0]} has no column", whole.folder)
    return whole


def _queries(file: Any, path: Path) -> Iterator[str]:
    """The queries of one partition, each once; raise where the rows of one do not stand together."""
    last, seen = None, set()
    for batch in file.iter_batches(columns=["query"]):
        encoded = batch.column(0).dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        ids = encoded.dictionary.to_pylist()
        for code in codes[np.flatnonzero(np.diff(codes, prepend=-1))]:
            query = ids[code]
            if query == last:
                continue
            if query in seen:
                raise DataError(f"the rows of query {query} do not stand together", path)
            seen.add(query)
            last = query
            yield query


def _sha256(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_partitions(folder: str | os.PathLike[str]) -> Dataset:
    """All partitions as one data set in memory."""
    whole = check_partitions(folder)
    return replace(concatenate(whole.read(part) for part in whole.parts), name=whole.name)


def read_partition_scores(folder: str | os.PathLike[str]) -> NDArray[np.float64]:
    """The scores of all partitions in memory."""
    whole = check_partitions(folder)
    return np.concatenate([whole.read_scores(part) for part in whole.parts])
