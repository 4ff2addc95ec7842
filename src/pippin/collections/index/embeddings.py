"""Encoders of texts, and the stored vectors of a collection's passages: dense features and nearest documents.

A document is divided into passages of a fixed number of words; its vector is the mean of theirs. Search is exact: all
documents are compared. The stored arrays are memory-mapped, verified, and bound to their index and encoder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import WHOLE, Query
from pippin.collections.index.index import Index
from pippin.dependencies import require
from pippin.display.terminal import ProgressBar
from pippin.errors import DataError
from pippin.storage.files import write_new
from pippin.storage.manifest import FolderFormat, Manifest

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Ints = NDArray[np.int64]
FORMAT = FolderFormat("pippin embeddings", 1, "folder of embeddings", "make it again with `embed`", "embeddings.json")
VECTORS = "dense"  # the folder of vectors in a built data set
RRF = 60  # constant of reciprocal rank fusion (Cormack, Clarke & Büttcher 2009)
DEPTH = 1000  # ranks that count in the fused score of a document
PASSAGE_WORDS = 150
MAX_PASSAGES = 8  # per document
BATCH_DOCUMENTS = 256  # encoded at once


class Encoder(Protocol):
    """A model that maps each text to a vector."""

    @property
    def digest(self) -> str:
        """Identity of the model; vectors of different models are never mixed."""

    @property
    def size(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> F32:
        """Return the vectors of texts, float32 of shape [n, size]."""


class SentenceEncoder:
    """A sentence-transformers model in a local folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        require("dense vectors of texts", "sentence_transformers")
        self.folder = Path(folder)
        if not (self.folder / "modules.json").is_file():
            raise DataError("this is not a sentence-transformers folder: modules.json is missing", folder)
        from sentence_transformers import SentenceTransformer

        try:
            self._model: Any = SentenceTransformer(str(self.folder), device="cpu", local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"sentence-transformers cannot load this model: {error}", folder) from None
        self.size = int(self._model.get_sentence_embedding_dimension())
        self.digest = _digest_model(self.folder)

    def encode(self, texts: Sequence[str]) -> F32:
        """Return the vectors of texts, float32 of shape [n, size]."""
        vectors = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32).reshape(len(texts), self.size)

    def __repr__(self) -> str:
        return f"SentenceEncoder({self.folder.name!r}: vectors of length {self.size})"


def _digest_model(folder: Path) -> str:
    """Return the SHA-256 of all files of a model, names included; hidden files are caches of downloads."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if not any(part.startswith(".") for part in name.parts):
            with path.open("rb") as file:
                digest.update(f"{name.as_posix()}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def load_encoder(model: Encoder | str | os.PathLike[str]) -> Encoder:
    """Return an encoder as it is, or load the sentence-transformers model of a folder."""
    return SentenceEncoder(model) if isinstance(model, str | os.PathLike) else model


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The stored vectors of an index's documents."""

    index: Index
    encoder: Encoder
    manifest: Manifest

    @cached_property
    def passages(self) -> F32:
        """The vectors of all passages, memory-mapped, [p, size]."""
        return np.ndarray(
            (int(self.starts[-1]), self.encoder.size), "<f4", self.manifest.open("passages.bin").read_verified()
        )

    @cached_property
    def starts(self) -> Ints:
        """The offsets of the passages of each document, [n + 1]."""
        return np.frombuffer(self.manifest.open("starts.bin").read_verified(), "<i8")

    @cached_property
    def documents(self) -> F64:
        """The mean vector of each document's passages, [n, size]; 0 for a document without text."""
        sizes, means = np.diff(self.starts), np.zeros((len(self.starts) - 1, self.encoder.size))
        has_text = sizes > 0
        if has_text.any():
            sums = np.add.reduceat(np.asarray(self.passages, np.float64), self.starts[:-1][has_text], axis=0)
            means[has_text] = sums / sizes[has_text, None]
        return means

    def about(self) -> dict[str, object]:
        """Return the digest of the model and the settings of the passages, for a manifest."""
        return {key: self.manifest.record[key] for key in ("model", "size", "words", "most", "streams")}

    def queries(self, queries: Sequence[Query]) -> F64:
        """Encode queries; [q, size]."""
        return self.encoder.encode([query.text for query in queries]).astype(np.float64)

    def table(self, query: Query, words: Sequence[str], numbers: Ints) -> F64:
        """Compute the features of the set `dense` for some documents; `words` are the analysed words of the query.

        The columns [d, 4] are cosine and dot product with the query, the best cosine of a passage, and the fused score
        of the best documents by BM25 and the nearest documents in the whole collection.
        """
        vector = self.queries([query])[0]
        nearest = self._nearest(vector, DEPTH)[0]
        best = self.index.search_terms(words, DEPTH, field=self.index.resolve_field(WHOLE))[0]
        fused_scores = reciprocal_ranks(best.tolist(), nearest.tolist())
        fused = [fused_scores.get(number, 0.0) for number in numbers.tolist()]
        return np.column_stack((self.features(vector, numbers), fused))

    def features(self, query: F64, numbers: Ints) -> F64:
        """Return cosine and dot product of documents with a vector, and the best cosine of a passage; [d, 3]."""
        table = np.zeros((len(numbers), 3))
        length = np.sqrt(query @ query)
        for row, number in enumerate(numbers.tolist()):
            document = self.documents[number]
            passages = np.asarray(self.passages[self.starts[number] : self.starts[number + 1]], np.float64)
            if len(passages):
                dot = float(document @ query)
                cosines = passages @ query / np.maximum(np.sqrt((passages**2).sum(axis=1)) * length, 1e-12)
                norm = max(float(np.sqrt(document @ document) * length), 1e-12)
                table[row] = dot / norm, dot, cosines.max()
        return table

    @cached_property
    def _lengths(self) -> F64:
        """The lengths of all passages' vectors, [p]."""
        lengths: F64 = np.maximum(np.sqrt((np.asarray(self.passages, np.float64) ** 2).sum(axis=1)), 1e-12)
        return lengths

    def _nearest(self, vector: F64, top: int) -> tuple[Ints, F64]:
        """Return the documents whose best passage is nearest to a vector by cosine; all are compared, ties by id."""
        documents = np.flatnonzero(np.diff(self.starts) > 0)
        cosines = self.passages @ vector / self._lengths / max(float(np.sqrt(vector @ vector)), 1e-12)
        best = np.maximum.reduceat(cosines, self.starts[:-1][documents]) if len(documents) else np.empty(0)
        order = np.lexsort((self.index.id_ranks[documents], -best))[:top]
        return documents[order], best[order]

    def nearest(self, queries: Sequence[Query], *, top: int = 1000) -> tuple[tuple[Ints, ...], tuple[F64, ...]]:
        """Find the nearest documents of each query: their numbers, and their scores."""
        if top < 1:
            raise DataError(f"top must be at least 1, got {top}")
        pairs = [self._nearest(vector, top) for vector in self.queries(queries)]
        return tuple(numbers for numbers, _ in pairs), tuple(scores for _, scores in pairs)


def embed(
    index: Index, encoder: Encoder, path: str | os.PathLike[str], *, words: int = PASSAGE_WORDS,
    most: int = MAX_PASSAGES, fields: Sequence[str] | None = None, verbose: bool = False,
) -> Embeddings:  # fmt: skip
    """Store the vectors of an index's documents in a folder: passages of `words` words, at most `most` per document.

    Vectors that exist for the same index, model and passages are opened instead.
    """
    if words < 1 or most < 1:
        raise DataError(f"words and most must be at least 1, got {words} and {most}")
    record = {"index": index.digest, "model": encoder.digest, "size": encoder.size, "words": words, "most": most,
              "streams": None if fields is None else list(fields)}  # fmt: skip
    if FORMAT.is_at(path):
        manifest = FORMAT.read(path)
        if all(manifest.record.get(key) == value for key, value in record.items()):
            return open_embeddings(path, index, encoder)
    starts, bar = [0], ProgressBar(index.documents, "embedding") if verbose else None
    with FORMAT.new_folder(path) as folder:
        with (folder / "passages.bin").open("xb") as file:
            for part in _batches(index, words, most, fields):
                flat = [passage for passages in part for passage in passages]
                if flat:
                    file.write(encoder.encode(flat).astype("<f4").tobytes())
                starts += (starts[-1] + np.cumsum([len(passages) for passages in part])).tolist()
                if bar is not None:
                    for _ in part:
                        bar.step()
        write_new(folder / "starts.bin", np.array(starts, "<i8").tobytes())
        FORMAT.write(folder, record)
    if bar is not None:
        bar.close()
    return open_embeddings(path, index, encoder)


def open_embeddings(path: str | os.PathLike[str], index: Index, encoder: Encoder) -> Embeddings:
    """Open stored vectors; raise `DataError` if they are of another index or model."""
    manifest = FORMAT.read(path)
    with FORMAT.wrap_errors(path):
        for key, digest, noun in (("index", index.digest, "index"), ("model", encoder.digest, "model")):
            if manifest[key] != digest:
                raise DataError(f"the embeddings belong to another {noun}; make them again with `embed`", path)
        embeddings = Embeddings(index, encoder, manifest)
        n_starts, size = len(embeddings.starts), embeddings.passages.shape[1]
        if n_starts != index.documents + 1 or size != manifest["size"]:
            raise DataError("the embeddings belong to other documents", path)
        return embeddings


def _batches(index: Index, words: int, most: int, fields: Sequence[str] | None) -> Iterator[list[list[str]]]:
    """Yield the passages of some documents at a time."""
    for first in range(0, index.documents, BATCH_DOCUMENTS):
        batch = []
        for number in range(first, min(index.documents, first + BATCH_DOCUMENTS)):
            texts = index.texts(number)
            if texts is None:
                raise DataError(f"the index {index.name} has no texts to encode; index the collection again with texts")
            texts_of_fields = texts if fields is None else {name: texts.get(name, "") for name in fields}
            batch.append(split_passages(" ".join(texts_of_fields.values()), words, most))
        yield batch


def split_passages(text: str, words: int, most: int) -> list[str]:
    """Split a text into passages of `words` words, at most `most`.

    >>> split_passages("a b c d e", 2, 2)
    ['a b', 'c d']
    """
    tokens = text.split()
    return [" ".join(tokens[i : i + words]) for i in range(0, len(tokens), words)][:most]


def reciprocal_ranks(*lists: Sequence[int], k: int = RRF) -> dict[int, float]:
    """Return Σ 1 / (k + rank) of each document over the lists that contain it.

    >>> reciprocal_ranks([7, 8], [8], k=1)
    {7: 0.5, 8: 0.8333333333333333}
    """
    fused: dict[int, float] = {}
    for ranking in lists:
        for rank, number in enumerate(ranking, 1):
            fused[number] = fused.get(number, 0.0) + 1 / (k + rank)
    return fused


def text_fields(fields: Sequence[str]) -> list[str]:
    """Return the fields to encode, the title first; urls, anchor texts and copies of other fields are left out.

    >>> text_fields(["body", "anchor", "title", "url", "whole", "extracted_title"])
    ['title', 'body']
    """
    excluded = {"title", "anchor", "url", "headings", "extracted_title", WHOLE}
    return [*(["title"] if "title" in fields else []), *(name for name in fields if name not in excluded)]
