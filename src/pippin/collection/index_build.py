"""How does a collection become an index? In one pass over its documents, with a bound on memory.

Batches of documents are tokenised and counted natively; tokens and lengths go to disk at once. Counts are held until
they fill their share of `memory`, then turned round (by term, documents ascending) and spilled as a run. At the end the
runs of each stream are merged, a range of terms at a time. Outside the bound stand the vocabulary (about 40 bytes and
its letters per distinct word), the ids (about 20 bytes and their letters per document) and the lengths of one stream.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.analysis import Analysis
from pippin.collection.collection import Collection, Document
from pippin.collection.index_files import FORMAT, ArrayWriter, write_manifest
from pippin.collection.index_texts import TextWriter
from pippin.collection.repeated import comes_twice
from pippin.errors import DataError
from pippin.kernels import index as kernel
from pippin.progress import progress

FIRST_DOCUMENTS = 8192  # whose words say which are frequent
BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 8 << 20
LEAST_MEMORY = 16 << 20
RUN_ARRAYS = ("sizes", "documents", "counts")


def write_index(
    collection: Collection, target: Path, analysis: Analysis, memory: int, texts: bool, verbose: bool
) -> None:
    """Build the index of a collection at `target`; one that stands there stays until the new one is complete."""
    if memory < LEAST_MEMORY:
        raise DataError(f"an index is built in at least {LEAST_MEMORY >> 20}M of memory, not {memory:,} bytes")
    with (
        FORMAT.new_folder(target) as folder,
        ArrayWriter(folder) as files,
        ArrayWriter(folder, named=False) as text_files,
        progress(0, f"indexing {collection.name}") if verbose else nullcontext() as bar,
    ):
        build = _Build(collection, analysis, folder, files, memory)
        written = TextWriter(text_files, collection.streams) if texts else None
        for batch in _batches(collection):
            build.add(batch)
            if written is not None:
                written.add(batch)
            if bar is not None:
                bar.step("documents", len(batch))
        manifest = build.finish()
        if written is not None:
            written.close()
        manifest["files"] = files.close()
        write_manifest(folder, manifest, text_files.close())


def _batches(collection: Collection) -> Iterator[list[Document]]:
    """The documents of a collection, a few thousand at a time."""
    batch: list[Document] = []
    characters, most = 0, FIRST_DOCUMENTS
    documents = iter(collection)
    while True:
        try:
            document = next(documents, None)
        except OSError as error:  # not to be taken for a failure of the disk that is written to
            raise DataError(f"the collection {collection.name} cannot be read ({error.strerror or error})") from None
        if document is None:
            break
        batch.append(document)
        characters += sum(map(len, document.streams.values()))
        if len(batch) >= most or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters, most = [], 0, BATCH_DOCUMENTS
    if batch:
        yield batch


@dataclass
class _Build:
    """An index in the making."""

    collection: Collection
    analysis: Analysis
    folder: Path
    files: ArrayWriter
    memory: int
    documents: int = 0
    runs: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)  # stream → the union of which it is the rest

    def __post_init__(self) -> None:
        self.streams = self.collection.streams
        self.all_streams = self.collection.all_streams
        self.declared = frozenset(self.streams)
        if not self.streams or len(set(self.all_streams)) != len(self.all_streams):
            raise DataError(f"the streams of {self.collection.name} need names, each of its own")
        for union, members in self.collection.unions.items():
            if not members:
                raise DataError(f"the stream {union!r} is made of others, but of none")
            for member in members:
                if member not in self.declared:
                    raise DataError(f"the stream {union!r} is made of {member!r}, which is no stream that is read")
        unions = [[self.streams.index(member) for member in members] for members in self.collection.unions.values()]
        self.indexer = kernel.make_indexer(
            len(self.streams), unions, joined=self.analysis.joined, limit=self.analysis.limit
        )
        self.ids = kernel.Numbering()
        self.scratch = Scratch(self.folder / "runs")
        self.totals = dict.fromkeys(self.all_streams, 0)

    def add(self, batch: list[Document]) -> None:
        """Count a batch, write what is known of each document, and spill what has gathered if it is too much."""
        self._add_names(batch)
        prepare = self.analysis.prepare
        texts = []
        for document in batch:
            streams = document.streams
            if not streams.keys() <= self.declared:
                unknown = min(streams.keys() - self.declared)
                raise DataError(f"document {document.id!r} has a stream {unknown!r} that {self.collection.name} lacks")
            for stream in self.streams:
                text = streams.get(stream, "")
                texts.append(text if text.isascii() else prepare(text))
        kernel.count(self.indexer, self.analysis.terms(kernel.read(self.indexer, texts)))
        self._write_documents()
        if not self.documents:
            self._choose_rest()
        self.documents += len(batch)
        # As much again is needed to turn a stream round, and half of the memory is for all else.
        if self.indexer.held >= self.memory // 4:
            self._spill()

    def _choose_rest(self) -> None:
        """The largest member of a union is not written: it is the union less the other members, which are small."""
        for union, members in list(self.collection.unions.items())[:1]:
            largest = max(members, key=self.totals.__getitem__)
            self.rest[largest] = union
            self.indexer.leave_out(self.streams.index(largest))

    def _add_names(self, batch: list[Document]) -> None:
        ids = [document.id for document in batch]
        try:
            repeated = self.ids.add(ids)
            urls = [document.url.encode() for document in batch]
        except UnicodeEncodeError:
            raise DataError("an id or a url is not text: it holds half of a character pair") from None
        if repeated >= 0:
            first = self.ids.find(ids[repeated]) + 1
            raise DataError(comes_twice(ids[repeated], first, self.documents + repeated + 1))
        if "" in ids:
            raise DataError(f"document number {self.documents + ids.index('') + 1:,} has no id")
        self.files.append("urls.bytes", np.frombuffer(b"".join(urls), np.uint8))
        self.scratch.append("urls.lengths", np.array([len(url) for url in urls], np.uint32))

    def _write_documents(self) -> None:
        """Tokens, lengths and uniques of the batch counted last."""
        for s, stream in enumerate(self.all_streams):
            lengths = self.indexer.lengths(s)
            self.scratch.append(f"{s}.lengths", lengths)
            self.scratch.append(f"{s}.uniques", self.indexer.uniques(s))
            if s < len(self.streams):
                self.scratch.append(f"{s}.sizes", self.indexer.sizes(s))
                self.files.append(f"{s}.tokens", self.indexer.tokens(s))
            self.totals[stream] += int(lengths.sum(dtype=np.int64))

    def _spill(self) -> None:
        """Write what is held as one run per stream."""
        for s, stream in enumerate(self.all_streams):
            if stream in self.rest:
                continue
            run = kernel.invert(self.indexer, s)
            for name in RUN_ARRAYS:
                getattr(run, name).tofile(self._run_file(self.runs, s, name))
        self.indexer.forget()
        self.runs += 1

    def _run_file(self, run: int, stream: int, name: str) -> Path:
        return self.folder / "runs" / f"{run}.{stream}.{name}"

    def finish(self) -> dict[str, Any]:
        """Merge the runs, write the names; what the manifest says, but for the files."""
        if not self.documents:
            raise DataError(f"the collection {self.collection.name} has no documents")
        if self.runs:
            self._spill()
        terms = kernel.terms_of(self.indexer)
        streams = self._finish_streams(len(terms.starts))
        self.files.write("urls.lengths", self.scratch.read("urls.lengths"))
        self.scratch.remove()
        self.files.append("terms.bytes", terms.bytes)
        self.files.write("terms.lengths", terms.lengths)
        self.files.write("terms.order", terms.order)
        self.files.write("terms.common", self.indexer.common())
        ids = kernel.names_of(self.ids)
        self.files.append("ids.bytes", ids.bytes)
        self.files.write("ids.lengths", ids.lengths)
        ranks = np.empty_like(ids.order)
        ranks[ids.order] = np.arange(len(ranks), dtype=ranks.dtype)
        self.files.write("ids.ranks", ranks)
        return {
            "name": self.collection.name, "documents": self.documents, "terms": len(terms.starts),
            "documents_cut": self.indexer.cut, "analysis": self.analysis.record(), "streams": streams,
        }  # fmt: skip

    def _finish_streams(self, terms: int) -> dict[str, dict[str, Any]]:
        """Write what is known of documents and the postings; what the manifest says of the streams."""
        records: dict[str, dict[str, Any]] = {}
        occurrences = {}
        for s, stream in enumerate(self.all_streams):
            lengths = self.scratch.read(f"{s}.lengths")
            uniques = self.scratch.read(f"{s}.uniques")
            self.files.write(f"{s}.lengths", lengths)
            self.files.write(f"{s}.uniques", uniques)
            if s < len(self.streams):
                self.files.write(f"{s}.sizes", self.scratch.read(f"{s}.sizes"))
            members = self.collection.unions.get(stream)
            records[stream] = {
                "union": None if members is None else list(members), "rest_of": self.rest.get(stream),
                "description": self.collection.descriptions.get(stream, ""),
                "total": self.totals[stream], "postings": int(uniques.sum(dtype=np.int64)),
            }  # fmt: skip
            if stream not in self.rest:
                occurrences[stream] = self._write_postings(s, lengths, terms)
                records[stream]["terms"] = int(np.count_nonzero(occurrences[stream]))
        for stream, union in self.rest.items():
            others = sum(occurrences[name] for name in self.collection.unions[union] if name != stream)
            records[stream]["terms"] = int(np.count_nonzero(occurrences[union] != others))
        return records

    def _write_postings(self, s: int, lengths: NDArray[np.uint32], terms: int) -> NDArray[np.uint64]:
        """Write the postings of a stream; how often each term occurs."""
        sizes, occurrences = np.zeros(terms + 1, np.int64), np.empty(terms, np.uint64)
        first = 0
        for run in self._merge(s, terms):
            last = first + len(run.sizes)
            postings, sizes[first + 1 : last + 1], occurrences[first:last] = kernel.pack(run, lengths)
            self.files.append(f"{s}.postings", postings)
            first = last
            del run  # before the next range is read, or two would be in memory
        self.files.write(f"{s}.starts", np.cumsum(sizes))
        return occurrences

    def _merge(self, s: int, terms: int) -> Iterable[kernel.Inverted]:
        """The postings of a stream by ranges of terms."""
        if not self.runs:
            return [kernel.invert(self.indexer, s)]
        runs = [_RunFiles(*(self._run_file(run, s, name) for name in RUN_ARRAYS)) for run in range(self.runs)]
        sizes = np.zeros(terms, np.uint32)
        for run in runs:
            found = run.sizes(0, terms)
            sizes[: len(found)] += found
        # A posting takes 8 bytes as read, 8 merged and up to 4 as written.
        return _merge_runs(runs, sizes, self.memory // 2 // 20)


class Scratch:
    """Arrays in a folder of their own that grow while an index is built, and are gone with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def append(self, name: str, array: NDArray[np.uint32]) -> None:
        """Write behind what stands there."""
        with (self.folder / name).open("ab") as file:
            array.tofile(file)

    def read(self, name: str) -> NDArray[np.uint32]:
        """All that was appended."""
        return np.fromfile(self.folder / name, np.uint32)

    def remove(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.folder)


@dataclass(frozen=True)
class _RunFiles:
    """One run of a stream on disk, read from front to back."""

    sizes_file: Path
    documents_file: Path
    counts_file: Path

    def sizes(self, first: int, last: int) -> NDArray[np.uint32]:
        """Postings of the terms of a range; a run knows only terms that had been met when it was written."""
        here = self.sizes_file.stat().st_size // 4
        return _read(self.sizes_file, min(first, here), min(last, here))

    def postings(self, sizes: NDArray[np.uint32], start: int) -> kernel.Inverted:
        """The postings of a range of terms that begin at `start`."""
        stop = start + int(sizes.sum(dtype=np.int64))
        return kernel.Inverted(sizes, _read(self.documents_file, start, stop), _read(self.counts_file, start, stop))


def _read(file: Path, start: int, stop: int) -> NDArray[np.uint32]:
    return np.fromfile(file, np.uint32, stop - start, offset=4 * start)


def _merge_runs(runs: Sequence[_RunFiles], sizes: NDArray[np.uint32], most: int) -> Iterator[kernel.Inverted]:
    """Ranges of terms with about `most` postings, each the runs' postings one after the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    starts = [0] * len(runs)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + most, "right")))
        yield _merge_range(runs, starts, sizes[first:last], ends[first:last] - before, first)
        first = last


def _merge_range(
    runs: Sequence[_RunFiles], starts: list[int], sizes: NDArray[np.uint32], ends: NDArray[np.int64], first: int
) -> kernel.Inverted:
    """The postings of the terms from `first` on; moves the `starts`, where the runs are to be read on."""
    documents, counts = np.empty(int(ends[-1]), np.uint32), np.empty(int(ends[-1]), np.uint32)
    cursor = ends - sizes
    for r, run in enumerate(runs):
        part = run.postings(run.sizes(first, first + len(sizes)), starts[r])
        starts[r] += len(part.documents)
        kernel.place(part, cursor, documents, counts)
    return kernel.Inverted(sizes, documents, counts)
