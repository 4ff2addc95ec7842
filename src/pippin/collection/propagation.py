"""How do pages share relevance with the pages around them? Scores and counts sent along the sitemap and along links.

One recursion serves all eight features (41–48): h = α·S + (1−α)·W·h, where the rows of W say whose h a page takes in.
Sitemap: the mean of its children (Qin et al. 2005). Links (Shakery and Zhai 2003): the pages it points to, alike or in
proportion to their own S⁺ = max(S, 0); or the pages that point to it, each giving in proportion to S⁺ of where it
points. The last is the transpose of the one before. What no page passes on (a leaf, a page whose targets all have
S⁺ = 0) is 0. Sums of W's rows or columns are at most 1, so h is reached by a factor of 1−α a round.

LETOR calls α a "propagation rate"; we read it as the weight of the page's own score. With `alpha_is_self=False` α and
1−α change places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.collection.graph import Graph, Ints, gather
from pippin.collection.sitemap import Sitemap
from pippin.collection.sparse import Sparse
from pippin.errors import DataError
from pippin.kernels.links import propagate as propagate_rounds
from pippin.kernels.neighbourhood import PageSet, inner_links

Floats = NDArray[np.float64]
Scored = tuple[PageSet, Floats]  # pages with a score, numbered, and their scores; all others have 0
SITEMAP_ALPHA = 0.9
LINK_ALPHA = 0.85


def propagate(
    weights: Sparse,
    values: Floats,
    alpha: float,
    *,
    alpha_is_self: bool = True,
    levels: int | None = None,
    tolerance: float = 1e-9,
    rounds: int = 1000,
) -> Floats:
    """h = α·S + (1−α)·W·h for one column of S or several at once.

    With `levels` that many rounds from h = S; else until no value changes by more than `tolerance`·max|S|.
    """
    if not 0 <= alpha <= 1:
        raise DataError(f"α is a weight from 0 to 1, not {alpha}")
    self_share = alpha if alpha_is_self else 1.0 - alpha
    if self_share == 1.0 or not values.size:
        return self_share * values
    enough = tolerance * max(float(values.max()), -float(values.min())) if levels is None else -np.inf
    matrix = weights.offsets, weights.columns, weights.weights
    table = np.ascontiguousarray(values.reshape(len(values), -1))
    h, changed = propagate_rounds(*matrix, table, self_share, enough, rounds if levels is None else levels)
    if levels is None and changed > enough:
        raise DataError(f"propagation still changes by {changed:.3g} after {rounds} rounds (asked for {enough:.3g})")
    return h.reshape(values.shape)


def sitemap_weights(sitemap: Sitemap, pages: Ints) -> Sparse:
    """The mean over children, among `pages` (ascending, with all below them): 1/|Child(p)| where c is a child of p."""
    parent = sitemap.parent[pages]
    row = np.searchsorted(pages, parent)
    child = np.flatnonzero(pages[np.minimum(row, len(pages) - 1)] == parent)  # others have their parent outside
    return Sparse.of(row[child], child, 1.0 / sitemap.child_counts[parent[child]], len(pages))


class Neighbourhood:
    """The pages around a query's candidates, and the links among them.

    Working set (our choice, as for HITS' base set): the candidates, all pages they point to, and of those that point to
    a candidate the first `in_links` by number. A page's weights are made of all its links in the collection and of the
    scores of all pages; links that leave the set carry nothing.
    """

    def __init__(self, graph: Graph, candidates: Ints, scored: Scored, in_links: int = 50) -> None:
        _, ahead = gather(graph.out_offsets, graph.out_targets, candidates)
        _, behind = gather(graph.in_offsets, graph.in_sources, candidates, in_links)
        inside = PageSet(graph.pages)
        for some in (candidates, ahead, behind):
            inside.add(some)
        self.pages: Ints = inside.number()
        self.slots: Ints = inside.slots(candidates)  # where each candidate stands in `pages`
        self._degree = graph.outdegree[self.pages]
        out = graph.out_offsets, graph.out_targets
        (self._offsets, self._columns), self._weighted = inner_links(*out, inside, self.pages, *scored)

    def links(self) -> Sparse:
        """1 where the row's page points to the column's."""
        return Sparse(self._offsets, self._columns, np.ones(len(self._columns)))

    def uniform(self) -> Sparse:
        """ω(p, q) = 1/|Out(p)|."""
        share = 1.0 / np.maximum(self._degree, 1)
        return Sparse(self._offsets, self._columns, np.repeat(share, np.diff(self._offsets)))

    def weighted(self) -> Sparse:
        """ω(p, q) = S⁺(q)/Σ_{u∈Out(p)} S⁺(u).

        Its transpose is the weighting by in-links: what q takes in from p that points to it.
        """
        return Sparse(*self._weighted)
