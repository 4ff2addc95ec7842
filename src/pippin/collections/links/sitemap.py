"""The tree of pages on each host, derived from URLs alone.

The rules (LETOR says only "heuristic rules" on urls; these are ours):
1. A page whose canonical url ends in `/`, or is named like an index page (index, default, home, main, welcome .html …),
   is the page of its directory. Of several such pages, the one with the shortest url, then the lowest number, is it;
   the others are ordinary pages of the directory.
2. The parent of an ordinary page is the page of the nearest directory that has one, from its own upwards: for
   `a.gov/x/y/z.html` that of `a.gov/x/y/`, `a.gov/x/`, `a.gov/`. For the page of a directory the search begins one
   directory higher.
   Directories without a page are skipped. Queries (`page.cgi?id=3`) and `~user` are ordinary parts of a path.
3. Parents are on the same host. The page of a host's root is a root. A page without a url has neither parent nor
   children.
Cycles are impossible: a parent's directory is a shorter prefix, or the same directory with the parent as its page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.collections.links.graph import Ints, Numbers, gather
from pippin.collections.links.urls import ancestors, directory, directory_pages
from pippin.errors import DataError
from pippin.kernels.graph import PageSet


@dataclass(frozen=True, eq=False)
class Sitemap:
    """A forest of pages: parents (−1: none), children (ascending), depth (0: no parent).

    >>> tree = Sitemap.of_parents([-1, 0, 1, 0])
    >>> tree.children(0).tolist(), tree.depth.tolist(), tree.roots
    ([1, 3], [0, 1, 2, 1], 1)
    """

    parent: Numbers
    child_offsets: Ints
    child_pages: Numbers
    depth: Numbers

    @classmethod
    def of_parents(cls, parents: ArrayLike) -> Sitemap:
        """Return the forest of these parents; raise `DataError` if there is a cycle."""
        parent = np.asarray(parents, np.int64)
        pages = len(parent)
        if pages and not -1 <= int(parent.min()) <= int(parent.max()) < pages:
            raise DataError(f"the sitemap has a parent outside −1 … {pages - 1}")
        children = np.flatnonzero(parent >= 0)
        order = children[np.argsort(parent[children], kind="stable")]
        offsets = np.zeros(pages + 1, np.int64)
        np.cumsum(np.bincount(parent[children], minlength=pages), out=offsets[1:])
        return cls(parent.astype(np.int32), offsets, order.astype(np.int32), _depth(parent))

    @classmethod
    def of_urls(cls, urls: Sequence[str]) -> Sitemap:
        """Return the forest of pages with these canonical URLs, by the rules above.

        >>> pages = ["a.gov/", "a.gov/x/", "a.gov/x/y/z.html", "b.a.gov/index.html", "c.gov/z.html", ""]
        >>> Sitemap.of_urls(pages).parent.tolist()
        [-1, 0, 1, -1, -1, -1]
        """
        page_of: dict[str, int] = {}
        for number in directory_pages(urls):
            page_of.setdefault(directory(urls[number]), number)
        return cls.of_parents([_parent(n, url, page_of) if url else -1 for n, url in enumerate(urls)])

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.parent)

    @property
    def roots(self) -> int:
        """Number of pages without parent."""
        return int(np.count_nonzero(self.parent < 0))

    @cached_property
    def child_counts(self) -> Ints:
        """The number of children of each page, [n] (feature 60)."""
        return np.diff(self.child_offsets)

    def children(self, page: int) -> Numbers:
        """Return the children of a page."""
        return self.child_pages[self.child_offsets[page] : self.child_offsets[page + 1]]

    def siblings(self, page: int) -> Numbers:
        """Return the other children of the parent of a page."""
        parent = int(self.parent[page])
        children = self.children(parent) if parent >= 0 else self.child_pages[:0]
        siblings: Numbers = children[children != page]
        return siblings

    def with_descendants(self, pages: Ints) -> Ints:
        """Return these pages and all their descendants, ascending."""
        inside = PageSet(self.pages)
        level = inside.add(pages)
        while len(level):
            level = inside.add(gather(self.child_offsets, self.child_pages, level)[1])
        return inside.number()


def _parent(number: int, url: str, page_of: dict[str, int]) -> int:
    folder = directory(url)
    if page_of.get(folder, number) != number:
        return page_of[folder]
    return next((page_of[above] for above in ancestors(folder) if above in page_of), -1)


def _depth(parent: NDArray[np.int64]) -> Numbers:
    """Return the number of steps to a page without parent, by doubling: long chains are as fast as flat hosts."""
    end = len(parent)  # the parent of all pages without parent
    jump = np.append(np.where(parent < 0, end, parent), end)
    steps = np.append((parent >= 0).astype(np.int32), np.int32(0))
    for _ in range(end.bit_length()):
        if (jump == end).all():
            break
        steps += steps[jump]
        jump = jump[jump]
    cyclic = np.flatnonzero(jump != end)
    if len(cyclic):
        raise DataError(f"the sitemap has a cycle: page {int(cyclic[0])} is on it or below it")
    return steps[:end]
