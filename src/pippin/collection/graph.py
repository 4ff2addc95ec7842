"""Who points to whom: the link graph of a collection as two sparse matrices, links by source and by target.

Links to pages outside the collection are no edges, but they are counted per page and their targets kept. A page's links
to itself give no edge, and several links from one page to another count once (spec of LETOR's features 56 and 57).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.collection.addresses import Addresses
from pippin.collection.collection import Collection
from pippin.collection.linked import Links, gather_links
from pippin.collection.sparse import Sparse
from pippin.data.texts import Texts
from pippin.errors import DataError

Ints = NDArray[np.int64]
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
    outside: Numbers = field(default_factory=lambda: np.zeros(0, np.int32))  # [n] links to pages that are not here
    outside_urls: Texts = field(default_factory=lambda: Texts.of(()))  # where they lead to, the most linked first
    outside_counts: Numbers = field(default_factory=lambda: np.zeros(0, np.int32))  # links to each of them

    @classmethod
    def of(cls, pages: int, sources: ArrayLike, targets: ArrayLike) -> Graph:
        """The graph of these links between `pages` pages."""
        start, end = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
        if start.shape != end.shape or start.ndim != 1:
            raise DataError(f"{start.size} sources of links against {end.size} targets")
        for side in (start, end):
            if len(side) and not 0 <= int(side.min()) <= int(side.max()) < pages:
                raise DataError(f"a link names a page outside 0 … {pages - 1}")
        other = start != end
        key = start[other] * pages + end[other]
        unlike = len(key)
        key.sort()
        key = key[np.concatenate(([True], key[1:] != key[:-1]))] if len(key) else key
        start, end = np.divmod(key, max(pages, 1))
        order = np.argsort(end, kind="stable")
        return cls(
            _offsets(start, pages), end.astype(np.int32), _offsets(end, pages), start[order].astype(np.int32),
            len(other) - unlike, unlike - len(key),
        )  # fmt: skip

    @classmethod
    def of_collection(cls, collection: Collection, addresses: Addresses | None = None) -> Graph:
        """The links of a collection's documents; reads it once, and once more for addresses not given."""
        addresses = Addresses.of(collection) if addresses is None else addresses
        return cls.of_links(len(addresses.ids), [gather_links(addresses, collection)])

    @classmethod
    def of_links(cls, pages: int, parts: Iterable[Links]) -> Graph:
        """The graph of links that were gathered stretch by stretch."""
        sources, targets = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        outside = np.zeros(pages, np.int32)
        elsewhere: Counter[str] = Counter()
        for part in parts:
            sources.append(part.sources)
            targets.append(part.targets)
            for page, count in part.outside.items():
                outside[page] = count
            elsewhere.update(part.elsewhere)
        graph = cls.of(pages, np.concatenate(sources), np.concatenate(targets))
        most = sorted(elsewhere.items(), key=lambda item: (-item[1], item[0]))
        return cls(
            graph.out_offsets, graph.out_targets, graph.in_offsets, graph.in_sources, graph.self_links, graph.repeats,
            outside, Texts.of(place for place, _ in most), np.array([count for _, count in most], np.int32),
        )  # fmt: skip

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.out_offsets) - 1

    @property
    def links(self) -> int:
        """How many edges there are."""
        return len(self.out_targets)

    @cached_property
    def outdegree(self) -> Ints:
        """[n] pages that each page points to."""
        return np.diff(self.out_offsets)

    @cached_property
    def indegree(self) -> Ints:
        """[n] pages that point to each page."""
        return np.diff(self.in_offsets)

    def targets(self, page: int) -> Numbers:
        """The pages that `page` points to."""
        return self.out_targets[self.out_offsets[page] : self.out_offsets[page + 1]]

    def sources(self, page: int) -> Numbers:
        """The pages that point to `page`."""
        return self.in_sources[self.in_offsets[page] : self.in_offsets[page + 1]]

    def matrix(self) -> Sparse:
        """The adjacency matrix: 1 where the row's page points to the column's."""
        return Sparse(self.out_offsets, self.out_targets, np.ones(self.links))

    @property
    def nbytes(self) -> int:
        """Memory of the edges."""
        return sum(a.nbytes for a in (self.out_offsets, self.out_targets, self.in_offsets, self.in_sources))

    def __repr__(self) -> str:
        return f"Graph({self.pages:,} pages, {self.links:,} links)"


def _offsets(rows: Ints, pages: int) -> Ints:
    offsets = np.zeros(pages + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=pages), out=offsets[1:])
    return offsets


def gather(offsets: Ints, columns: Numbers, rows: Ints, limit: int | None = None) -> tuple[Ints, Numbers]:
    """The lists of some rows one after the other (of each at most the first `limit`): row position and column.

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
    place = np.repeat(first - (ends - counts), counts)
    place += np.arange(len(place))
    return position, columns[place]
