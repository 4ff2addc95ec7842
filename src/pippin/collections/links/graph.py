"""The link graph of a collection, its sparse matrices, and anchor texts.

Links to pages outside the collection are counted per page, and their targets are kept. Self-links are ignored, and
repeated links between two pages count once (LETOR's features 56 and 57). The anchor field of a document contains the
texts of the links that point to it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.collections.collection import ANCHOR, Collection, Document
from pippin.collections.links.urls import DocumentUrls, follow
from pippin.errors import DataError
from pippin.kernels.graph import transpose as transpose_csr
from pippin.kernels.strings import StringColumn

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sparse:
    """A square sparse matrix by rows (CSR), for the kernels; entries of a row keep their order."""

    offsets: Ints
    columns: NDArray[np.int32]
    weights: Floats

    @classmethod
    def of(cls, rows: Ints, columns: NDArray[np.integer[Any]], weights: Floats, size: int) -> Sparse:
        """Return the matrix with these entries.

        >>> Sparse.of(np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([3.0, 2.0, 4.0]), 2).toarray().tolist()
        [[0.0, 2.0], [3.0, 4.0]]
        """
        order = np.argsort(rows, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=size))))
        return cls(offsets.astype(np.int64), columns[order].astype(np.int32), weights[order])

    @property
    def size(self) -> int:
        """Number of rows, and of columns."""
        return len(self.offsets) - 1

    @cached_property
    def rows(self) -> Ints:
        """The row of every entry."""
        return np.repeat(np.arange(self.size), np.diff(self.offsets))

    def transpose(self) -> Sparse:
        """Return the transpose."""
        return Sparse(*transpose_csr(self.offsets, self.columns, self.weights))

    def __matmul__(self, x: Floats) -> Floats:
        """Return the product with a vector; each row is summed in the order of its entries."""
        sums = np.bincount(self.rows, self.weights * x[self.columns], self.size)
        return sums.astype(np.float64, copy=False)  # without any entry, the result has integers

    def toarray(self) -> Floats:
        """Return a dense array."""
        dense = np.zeros((self.size, self.size))
        dense[self.rows, self.columns] = self.weights
        return dense


Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Graph:
    """Directed edges between pages 0 … n−1, without self-links and repeats; neighbours ascend.

    >>> graph = Graph.of(3, [0, 0, 0, 1, 2], [1, 1, 2, 2, 2])
    >>> graph
    Graph(3 pages, 3 links)
    >>> graph.targets(0).tolist(), graph.sources(2).tolist(), graph.self_links, graph.repeats
    ([1, 2], [0, 1], 1, 1)
    """

    out_offsets: Ints
    out_targets: Numbers
    in_offsets: Ints
    in_sources: Numbers
    self_links: int = 0  # left out
    repeats: int = 0  # left out
    # [n] links of each page to pages outside the collection; their targets, most linked first; links to each target
    outside: Numbers = dataclass_field(default_factory=lambda: np.zeros(0, np.int32))
    outside_urls: StringColumn = dataclass_field(default_factory=lambda: StringColumn.of(()))
    outside_counts: Numbers = dataclass_field(default_factory=lambda: np.zeros(0, np.int32))

    @classmethod
    def of(cls, pages: int, sources: ArrayLike, targets: ArrayLike) -> Graph:
        """Return the graph of these links between `pages` pages."""
        start, end = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        if start.shape != end.shape or start.ndim != 1:
            raise DataError(f"links have {start.size} sources and {end.size} targets")
        for side in (start, end):
            if len(side) and not 0 <= int(side.min()) <= int(side.max()) < pages:
                raise DataError(f"a link has a page outside 0 … {pages - 1}")
        is_link = start != end
        key = start[is_link] * pages + end[is_link]
        n_links = len(key)
        key.sort()
        key = key[np.concatenate(([True], key[1:] != key[:-1]))] if len(key) else key
        start, end = np.divmod(key, max(pages, 1))
        order = np.argsort(end, kind="stable")
        return cls(
            _offsets(start, pages), end.astype(np.int32), _offsets(end, pages), start[order].astype(np.int32),
            len(is_link) - n_links, n_links - len(key),
        )  # fmt: skip

    @classmethod
    def of_collection(cls, collection: Collection, addresses: DocumentUrls | None = None) -> Graph:
        """Return the links of a collection, which is read once, and once more unless the addresses are given."""
        addresses = DocumentUrls.of(collection) if addresses is None else addresses
        links = collect_links(addresses, collection)
        graph = cls.of(len(addresses.ids), links.sources, links.targets)
        outside = np.zeros(graph.pages, np.int32)
        outside[list(links.outside)] = list(links.outside.values())
        urls = sorted(links.outside_urls.items(), key=lambda item: (-item[1], item[0]))
        return replace(
            graph, outside=outside, outside_urls=StringColumn.of(url for url, _ in urls),
            outside_counts=np.array([count for _, count in urls], np.int32),
        )  # fmt: skip

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.out_offsets) - 1

    @property
    def links(self) -> int:
        """Number of links."""
        return len(self.out_targets)

    @cached_property
    def outdegree(self) -> Ints:
        """The number of pages that each page points to, [n]."""
        return np.diff(self.out_offsets)

    @cached_property
    def indegree(self) -> Ints:
        """The number of pages that point to each page, [n]."""
        return np.diff(self.in_offsets)

    def targets(self, page: int) -> Numbers:
        """Return the pages that `page` points to."""
        return self.out_targets[self.out_offsets[page] : self.out_offsets[page + 1]]

    def sources(self, page: int) -> Numbers:
        """Return the pages that point to `page`."""
        return self.in_sources[self.in_offsets[page] : self.in_offsets[page + 1]]

    def matrix(self) -> Sparse:
        """Return the adjacency matrix: 1 if the row's page points to the column's."""
        return Sparse(self.out_offsets, self.out_targets, np.ones(self.links))

    @property
    def nbytes(self) -> int:
        """Memory of the links in bytes."""
        return sum(a.nbytes for a in (self.out_offsets, self.out_targets, self.in_offsets, self.in_sources))

    def __repr__(self) -> str:
        return f"Graph({self.pages:,} pages, {self.links:,} links)"


def _offsets(rows: Ints, pages: int) -> Ints:
    offsets = np.zeros(pages + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=pages), out=offsets[1:])
    return offsets


def gather(offsets: Ints, columns: Numbers, rows: Ints, limit: int | None = None) -> tuple[Ints, Numbers]:
    """Return the concatenated lists of some rows, at most `limit` columns of each: row positions and columns.

    >>> graph = Graph.of(3, [0, 0, 1], [1, 2, 2])
    >>> [part.tolist() for part in gather(graph.out_offsets, graph.out_targets, np.array([1, 0]))]
    [[0, 1, 1], [2, 1, 2]]
    """
    first = offsets[rows]
    counts = offsets[rows + 1] - first
    if limit is not None:
        counts = np.minimum(counts, limit)
    ends = np.cumsum(counts)
    position = np.repeat(np.arange(len(rows)), counts)
    entries = np.repeat(first - (ends - counts), counts)
    entries += np.arange(len(entries))
    return position, columns[entries]


@dataclass(frozen=True, eq=False)
class _Links:
    """The links of all documents."""

    sources: Numbers  # of links to documents of the collection
    targets: Numbers
    texts: Numbers  # position of each link's text in `distinct_texts`; −1 without text
    distinct_texts: Sequence[str]
    outside: Counter[int]  # document → links to pages outside the collection
    outside_urls: Counter[str]  # targets of those


def collect_links(addresses: DocumentUrls, documents: Iterable[Document]) -> _Links:
    """Resolve the links of all documents."""
    numbers: dict[str, int] = {}
    sources, targets, texts = array("i"), array("i"), array("i")
    outside: Counter[int] = Counter()
    outside_urls: Counter[str] = Counter()
    for source, page, link, target in addresses.links(documents):
        if target >= 0:
            text = " ".join(link.text.split())
            sources.append(source)
            targets.append(target)
            texts.append(numbers.setdefault(text, len(numbers)) if text else -1)
        elif url := _outside_url(page, link.target):
            outside[source] += 1
            outside_urls[url] += 1
    inside = [np.frombuffer(column, np.int32) for column in (sources, targets, texts)]
    return _Links(inside[0], inside[1], inside[2], tuple(numbers), outside, outside_urls)


def _outside_url(page: str, target: str) -> str:
    """Return the URL of a link that leaves the collection; empty if it leads to no page (mail, scripts, a fragment)."""
    url = follow(page, target) if page else target.strip()
    return "" if url == page else url


def add_anchor_texts(collection: Collection) -> Collection:
    """Return the collection with the anchor field: the texts of links from other documents, one per line.

    A text that several links have is repeated; links of a page to itself do not count. Earlier content of the field is
    replaced. The collection is read once for its URLs and once for its links; each distinct text and two numbers per
    link stay in memory. A combined field such as `whole` contains the field only if it lists it.
    """
    urls = DocumentUrls.of(collection)
    links = collect_links(urls, collection)
    has_text = (links.texts >= 0) & (links.targets != links.sources)
    targets, texts = links.targets[has_text], links.texts[has_text]
    order = np.argsort(targets, kind="stable")
    offsets = np.searchsorted(targets[order], np.arange(len(urls.ids) + 1)).tolist()
    by_document = texts[order]

    def documents() -> Iterator[Document]:
        for number, document in enumerate(collection):
            of_document = by_document[offsets[number] : offsets[number + 1]].tolist()
            anchor = "\n".join(links.distinct_texts[text] for text in of_document)
            yield replace(document, fields={**document.fields, ANCHOR: anchor})

    fields = collection.fields if ANCHOR in collection.fields else (*collection.fields, ANCHOR)
    return replace(collection, fields=fields, iter_documents=documents)
