"""Which page stands above which on its host? The tree of pages that urls alone tell.

The rules (LETOR says only "heuristic rules" on urls; these are ours):
1. A page whose canonical url ends in `/`, or is named like an index page (index, default, home, main, welcome .html …),
   stands for its directory. Of several that do, the one with the shortest url, then the lowest number, has it; the
   others are ordinary pages of the directory.
2. The parent of an ordinary page is the page of the nearest directory that has one, from its own upwards: for
   `a.gov/x/y/z.html` that of `a.gov/x/y/`, `a.gov/x/`, `a.gov/`. A page that stands for a directory begins one higher.
   Directories without a page are skipped. Queries (`page.cgi?id=3`) and `~user` are ordinary parts of a path.
3. Parents are on the same host. The page of a host's root has no parent, unless `super_domains` asks for the root of
   the nearest domain above (`b.a.gov/` under `a.gov/`). A page without a url has neither parent nor children.
A parent's directory is a shorter prefix, or the page has lost its own directory to the parent: there are no cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.collection.graph import Ints, Numbers, gather
from pippin.collection.urls import ancestors, directory, host, is_index
from pippin.errors import DataError
from pippin.kernels.neighbourhood import PageSet


@dataclass(frozen=True, eq=False)
class Sitemap:
    """A forest of pages: parents (−1 none), children (ascending), depth (0 for a page without parent).

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
        """The forest of given parents; a cycle is a DataError."""
        parent = np.asarray(parents, np.int64)
        pages = len(parent)
        if pages and not -1 <= int(parent.min()) <= int(parent.max()) < pages:
            raise DataError(f"a sitemap names a parent outside −1 … {pages - 1}")
        has = np.flatnonzero(parent >= 0)
        order = has[np.argsort(parent[has], kind="stable")]
        offsets = np.zeros(pages + 1, np.int64)
        np.cumsum(np.bincount(parent[has], minlength=pages), out=offsets[1:])
        return cls(parent.astype(np.int32), offsets, order.astype(np.int32), _depth(parent))

    @classmethod
    def of_urls(cls, urls: Sequence[str], *, super_domains: bool = False) -> Sitemap:
        """The forest that canonical urls tell, by the rules above.

        >>> pages = ["a.gov/", "a.gov/x/", "a.gov/x/y/z.html", "b.a.gov/index.html", "c.gov/z.html", ""]
        >>> Sitemap.of_urls(pages).parent.tolist(), Sitemap.of_urls(pages, super_domains=True).parent.tolist()
        ([-1, 0, 1, -1, -1, -1], [-1, 0, 1, 0, -1, -1])
        """
        claims = [number for number, url in enumerate(urls) if url and is_index(url)]
        page_of: dict[str, int] = {}
        for number in sorted(claims, key=lambda n: (len(urls[n]), n)):
            page_of.setdefault(directory(urls[number]), number)
        return cls.of_parents([_parent(n, url, page_of, super_domains) if url else -1 for n, url in enumerate(urls)])

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.parent)

    @property
    def roots(self) -> int:
        """How many pages have no parent."""
        return int(np.count_nonzero(self.parent < 0))

    @cached_property
    def child_counts(self) -> Ints:
        """[n] direct children (feature 60)."""
        return np.diff(self.child_offsets)

    def children(self, page: int) -> Numbers:
        """The pages right below `page`."""
        return self.child_pages[self.child_offsets[page] : self.child_offsets[page + 1]]

    def siblings(self, page: int) -> Numbers:
        """The other pages right below the parent of `page`."""
        above = int(self.parent[page])
        beside = self.children(above) if above >= 0 else self.child_pages[:0]
        others: Numbers = beside[beside != page]
        return others

    def with_descendants(self, pages: Ints) -> Ints:
        """These pages and all below them, ascending."""
        inside = PageSet(self.pages)
        level = inside.add(pages)
        while len(level):
            level = inside.add(gather(self.child_offsets, self.child_pages, level)[1])
        return inside.number()


def _parent(number: int, url: str, page_of: dict[str, int], super_domains: bool) -> int:
    home = directory(url)
    if page_of.get(home, number) != number:
        return page_of[home]
    for folder in ancestors(home):
        if folder in page_of:
            return page_of[folder]
    if super_domains:
        domain = host(url)
        while "." in domain:
            domain = domain.partition(".")[2]
            parent = page_of.get(domain + "/")
            if parent is not None and parent != number:
                return parent
    return -1


def _depth(parent: NDArray[np.int64]) -> Numbers:
    """Steps to a page without parent, found by doubling: as fast for one long chain as for a flat host."""
    end = len(parent)  # stands above all pages without parent
    jump = np.append(np.where(parent < 0, end, parent), end)
    steps = np.append((parent >= 0).astype(np.int32), np.int32(0))
    for _ in range(end.bit_length()):
        if (jump == end).all():
            break
        steps += steps[jump]
        jump = jump[jump]
    lost = np.flatnonzero(jump != end)
    if len(lost):
        raise DataError(f"the sitemap has a cycle: page {int(lost[0])} is on it or below it")
    return steps[:end]
