"""Build an index in one pass over a collection, within a memory limit.

Batches of documents are tokenised and counted natively; tokens and lengths go to disk at once. Counts are collected
until they fill their share of `memory`, then inverted (by term, documents ascending) and spilled as a run. At the end
the runs of each field are merged, one range of terms at a time. Not limited are the vocabulary (about 40 bytes and its
letters per distinct word), the ids (about 20 bytes and their letters per document) and the lengths of one field.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection, Document
from pippin.collections.document_stream import describe_duplicate
from pippin.collections.index.storage import FORMAT, ArrayWriter, TextWriter, write_manifest
from pippin.collections.text.analysis import Analyzer
from pippin.display.terminal import progress
from pippin.errors import DataError
from pippin.kernels import index as kernel

FIRST_DOCUMENTS = 8192  # documents that decide which words are frequent
BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 8 << 20
MIN_MEMORY = 16 << 20
RUN_ARRAYS = ("sizes", "documents", "counts")


def write_index(
    collection: Collection, target: Path, analysis: Analyzer, memory: int, texts: bool, verbose: bool
) -> None:
    """Build the index of a collection at `target`; an existing one stays until the new one is complete."""
    if memory < MIN_MEMORY:
        raise DataError(f"indexing needs at least {MIN_MEMORY >> 20}M of memory, got {memory:,} bytes")
    with (
        FORMAT.new_folder(target) as folder,
        ArrayWriter(folder) as files,
        ArrayWriter(folder, hashed=False) as text_files,
        progress(0, f"indexing {collection.name}") if verbose else nullcontext() as bar,
    ):
        build = _Build(collection, analysis, folder, files, memory)
        text_writer = TextWriter(text_files, collection.fields) if texts else None
        for batch in _batches(collection):
            build.add(batch)
            if text_writer is not None:
                text_writer.add(batch)
            if bar is not None:
                bar.step("documents", len(batch))
        manifest = build.finish()
        if text_writer is not None:
            text_writer.close()
        manifest["files"] = files.close()
        write_manifest(folder, manifest, text_files.close())


def _batches(collection: Collection) -> Iterator[list[Document]]:
    """Yield the documents of a collection, a few thousand at a time."""
    batch: list[Document] = []
    characters, max_documents = 0, FIRST_DOCUMENTS
    documents = iter(collection)
    while True:
        try:
            document = next(documents, None)
        except OSError as error:  # must not look like an error of the disk that is written to
            raise DataError(f"the collection {collection.name} cannot be read ({error.strerror or error})") from None
        if document is None:
            break
        batch.append(document)
        characters += sum(map(len, document.fields.values()))
        if len(batch) >= max_documents or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters, max_documents = [], 0, BATCH_DOCUMENTS
    if batch:
        yield batch


@dataclass
class _Build:
    """An index that is being built."""

    collection: Collection
    analysis: Analyzer
    folder: Path
    files: ArrayWriter
    memory: int
    documents: int = 0
    runs: int = 0
    totals: dict[str, int] = dataclass_field(default_factory=dict)
    derived: dict[str, str] = dataclass_field(default_factory=dict)  # field without postings → its combined field

    def __post_init__(self) -> None:
        self.fields = self.collection.fields
        self.all_fields = self.collection.all_fields
        self.declared = frozenset(self.fields)
        if not self.fields or len(set(self.all_fields)) != len(self.all_fields):
            raise DataError(f"the field names of {self.collection.name} are missing or not unique")
        for name, members in self.collection.combined_fields.items():
            if not members:
                raise DataError(f"the combined field {name!r} has no members")
            for member in members:
                if member not in self.declared:
                    raise DataError(f"the combined field {name!r} has the member {member!r}, which is not a field")
        combined_fields = [
            [self.fields.index(member) for member in members] for members in self.collection.combined_fields.values()
        ]
        self.indexer = kernel.make_indexer(
            len(self.fields), combined_fields, joined=self.analysis.joins_apostrophes, limit=self.analysis.limit
        )
        self.ids = kernel.Numbering()
        self.scratch = Scratch(self.folder / "runs")
        self.totals = dict.fromkeys(self.all_fields, 0)

    def add(self, batch: list[Document]) -> None:
        """Count the words of a batch, write tokens and lengths, and write a run if the counts need too much memory."""
        self._add_names(batch)
        self._add_numbers(batch)
        prepare = self.analysis.prepare
        texts = []
        for document in batch:
            fields = document.fields
            if not fields.keys() <= self.declared:
                unknown = min(fields.keys() - self.declared)
                raise DataError(f"document {document.id!r} has the field {unknown!r}, {self.collection.name} does not")
            for field in self.fields:
                text = fields.get(field, "")
                texts.append(text if text.isascii() else prepare(text))
        kernel.count(self.indexer, self.analysis.terms(kernel.read(self.indexer, texts)))
        self._write_documents()
        if not self.documents:
            self._choose_derived_field()
        self.documents += len(batch)
        # Inverting a field needs the same memory again; the other half is for everything else.
        if self.indexer.held >= self.memory // 4:
            self._write_run()

    def _choose_derived_field(self) -> None:
        """Choose the largest member of a combined field: its postings are the combined ones less the other members'."""
        for name, members in list(self.collection.combined_fields.items())[:1]:
            largest = max(members, key=self.totals.__getitem__)
            self.derived[largest] = name
            self.indexer.leave_out(self.fields.index(largest))

    def _add_names(self, batch: list[Document]) -> None:
        ids = [document.id for document in batch]
        try:
            repeated = self.ids.add(ids)
            urls = [document.url.encode() for document in batch]
        except UnicodeEncodeError:
            raise DataError("an id or a url has a lone surrogate, which UTF-8 cannot encode") from None
        if repeated >= 0:
            first = self.ids.find(ids[repeated]) + 1
            raise DataError(describe_duplicate(ids[repeated], first, self.documents + repeated + 1))
        if "" in ids:
            raise DataError(f"missing id of document number {self.documents + ids.index('') + 1:,}")
        self.files.append("urls.bytes", np.frombuffer(b"".join(urls), np.uint8))
        self.scratch.append("urls.lengths", np.array([len(url) for url in urls], np.uint32))

    def _add_numbers(self, batch: list[Document]) -> None:
        """Write the values of the numeric fields, NaN for missing ones."""
        for i, field in enumerate(self.collection.numeric_fields):
            values = [document.numbers.get(field, math.nan) for document in batch]
            self.files.append(f"numbers.{i}", np.array(values, np.float64))

    def _write_documents(self) -> None:
        """Write tokens, lengths and uniques of the latest batch."""
        for s, field in enumerate(self.all_fields):
            lengths = self.indexer.lengths(s)
            self.scratch.append(f"{s}.lengths", lengths)
            self.scratch.append(f"{s}.uniques", self.indexer.uniques(s))
            if s < len(self.fields):
                self.scratch.append(f"{s}.sizes", self.indexer.sizes(s))
                self.files.append(f"{s}.tokens", self.indexer.tokens(s))
            self.totals[field] += int(lengths.sum(dtype=np.int64))

    def _write_run(self) -> None:
        """Write the counts in memory as one run per field."""
        for s, field in enumerate(self.all_fields):
            if field in self.derived:
                continue
            run = kernel.invert(self.indexer, s)
            for name in RUN_ARRAYS:
                getattr(run, name).tofile(self._run_file(self.runs, s, name))
        self.indexer.forget()
        self.runs += 1

    def _run_file(self, run: int, field: int, name: str) -> Path:
        return self.folder / "runs" / f"{run}.{field}.{name}"

    def finish(self) -> dict[str, Any]:
        """Merge the runs and write the ids and terms; return the manifest without the files."""
        if not self.documents:
            raise DataError(f"the collection {self.collection.name} has no documents")
        if self.runs:
            self._write_run()
        terms = kernel.terms_of(self.indexer)
        fields = self._finish_fields(len(terms.starts))
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
        numeric_fields = self.collection.numeric_fields
        return {
            "name": self.collection.name, "documents": self.documents, "terms": len(terms.starts),
            "documents_cut": self.indexer.cut, "analysis": self.analysis.record(), "streams": fields,
            **({"numeric_fields": dict(numeric_fields)} if numeric_fields else {}),
        }  # fmt: skip

    def _finish_fields(self, terms: int) -> dict[str, dict[str, Any]]:
        """Write lengths and postings; return the records of the fields for the manifest."""
        records: dict[str, dict[str, Any]] = {}
        occurrences = {}
        for s, field in enumerate(self.all_fields):
            lengths = self.scratch.read(f"{s}.lengths")
            uniques = self.scratch.read(f"{s}.uniques")
            self.files.write(f"{s}.lengths", lengths)
            self.files.write(f"{s}.uniques", uniques)
            if s < len(self.fields):
                self.files.write(f"{s}.sizes", self.scratch.read(f"{s}.sizes"))
            members = self.collection.combined_fields.get(field)
            records[field] = {
                "union": None if members is None else list(members), "rest_of": self.derived.get(field),
                "description": self.collection.descriptions.get(field, ""),
                "total": self.totals[field], "postings": int(uniques.sum(dtype=np.int64)),
            }  # fmt: skip
            if field not in self.derived:
                occurrences[field] = self._write_postings(s, lengths, terms)
                records[field]["terms"] = int(np.count_nonzero(occurrences[field]))
        for field, combined in self.derived.items():
            in_members = sum(occurrences[name] for name in self.collection.combined_fields[combined] if name != field)
            records[field]["terms"] = int(np.count_nonzero(occurrences[combined] != in_members))
        return records

    def _write_postings(self, s: int, lengths: NDArray[np.uint32], terms: int) -> NDArray[np.uint64]:
        """Write the postings of a field; return the number of occurrences of each term."""
        sizes, occurrences = np.zeros(terms + 1, np.int64), np.empty(terms, np.uint64)
        first = 0
        for run in self._merge(s, terms):
            last = first + len(run.sizes)
            postings, sizes[first + 1 : last + 1], occurrences[first:last] = kernel.pack(run, lengths)
            self.files.append(f"{s}.postings", postings)
            first = last
            del run  # before the next range is read, so that only one is in memory
        self.files.write(f"{s}.starts", np.cumsum(sizes))
        return occurrences

    def _merge(self, s: int, terms: int) -> Iterable[kernel.PostingLists]:
        """Return the postings of a field by ranges of terms."""
        if not self.runs:
            return [kernel.invert(self.indexer, s)]
        runs = [_RunFiles(*(self._run_file(run, s, name) for name in RUN_ARRAYS)) for run in range(self.runs)]
        sizes = np.zeros(terms, np.uint32)
        for run in runs:
            run_sizes = run.sizes(0, terms)
            sizes[: len(run_sizes)] += run_sizes
        # A posting needs 8 bytes when read, 8 when merged and up to 4 when written.
        return _merge_runs(runs, sizes, self.memory // 2 // 20)


class Scratch:
    """Temporary arrays in a folder, appended to while an index is built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def append(self, name: str, array: NDArray[np.uint32]) -> None:
        """Append to an array."""
        with (self.folder / name).open("ab") as file:
            array.tofile(file)

    def read(self, name: str) -> NDArray[np.uint32]:
        """Return a whole array."""
        return np.fromfile(self.folder / name, np.uint32)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)


@dataclass(frozen=True)
class _RunFiles:
    """One run of a field on disk, read from front to back."""

    sizes_file: Path
    documents_file: Path
    counts_file: Path

    def sizes(self, first: int, last: int) -> NDArray[np.uint32]:
        """Return the posting counts of a range of terms; a run has only terms that were known when it was written."""
        n_terms = self.sizes_file.stat().st_size // 4
        return _read(self.sizes_file, min(first, n_terms), min(last, n_terms))

    def postings(self, sizes: NDArray[np.uint32], start: int) -> kernel.PostingLists:
        """Return the postings of a range of terms that begin at `start`."""
        stop = start + int(sizes.sum(dtype=np.int64))
        return kernel.PostingLists(sizes, _read(self.documents_file, start, stop), _read(self.counts_file, start, stop))


def _read(file: Path, start: int, stop: int) -> NDArray[np.uint32]:
    return np.fromfile(file, np.uint32, stop - start, offset=4 * start)


def _merge_runs(runs: Sequence[_RunFiles], sizes: NDArray[np.uint32], n_postings: int) -> Iterator[kernel.PostingLists]:
    """Yield ranges of terms with about `n_postings` postings, each merged from all runs."""
    ends = np.cumsum(sizes, dtype=np.int64)
    starts = [0] * len(runs)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + n_postings, "right")))
        yield _merge_range(runs, starts, sizes[first:last], ends[first:last] - before, first)
        first = last


def _merge_range(
    runs: Sequence[_RunFiles], starts: list[int], sizes: NDArray[np.uint32], ends: NDArray[np.int64], first: int
) -> kernel.PostingLists:
    """Return the postings of the terms from `first` on; advances `starts`, the read positions of the runs."""
    documents, counts = np.empty(int(ends[-1]), np.uint32), np.empty(int(ends[-1]), np.uint32)
    cursor = ends - sizes
    for r, run in enumerate(runs):
        part = run.postings(run.sizes(first, first + len(sizes)), starts[r])
        starts[r] += len(part.documents)
        kernel.place(part, cursor, documents, counts)
    return kernel.PostingLists(sizes, documents, counts)
