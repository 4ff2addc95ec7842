"""Link analysis: PageRank, HostRank, HITS, and propagation of scores along links and the sitemap.

Every rank reports its number of rounds and its last change; an iteration that does not converge is a DataError.

One recursion serves all eight propagation features (41–48): h = α·S + (1−α)·W·h, where row p of W lists the pages that
p takes from. Sitemap: the mean of its children (Qin et al. 2005). Links (Shakery and Zhai 2003): the pages that p
points to, equally or in proportion to S⁺ = max(S, 0); or the pages that point to p, each in proportion to S⁺ of its
targets, which is the transpose. Rows or columns of W sum to at most 1, so that each round reduces the error by 1−α.

LETOR calls α a "propagation rate"; here it is the weight of the page's own score. `alpha_is_self=False` exchanges α and
1−α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.links.graph import Graph, Ints, Sparse, gather
from pippin.collections.links.sitemap import Sitemap
from pippin.errors import DataError
from pippin.kernels.graph import HubLinks, PageSet, inner_links, link_sums
from pippin.kernels.graph import propagate as propagate_rounds

Floats = NDArray[np.float64]
Sums = Callable[[Floats], Floats]
DAMPING = 0.85
_POWERS, _RESTARTS = 40, 250  # of the Lanczos method


@dataclass(frozen=True, eq=False)
class Rank:
    """A value per page, and the convergence of the iteration."""

    values: Floats
    rounds: int
    residual: float  # L1 change of the last round

    def __repr__(self) -> str:
        return f"Rank({len(self.values):,} pages, {self.rounds} rounds, residual {self.residual:.1e})"


@dataclass(frozen=True, eq=False)
class Hits:
    """Authorities and hubs of length 1 (all 0 without links), and the convergence of the iteration."""

    authority: Floats
    hub: Floats
    rounds: int
    residual: float
    links: HubLinks


def pagerank(graph: Graph, *, damping: float = DAMPING, tolerance: float = 1e-12, rounds: int = 1000) -> Rank:
    """Compute PageRank (Page et al. 1998), of sum 1: the share of time a surfer spends on each page.

    x(p) = (1−d)/N + d·(Σ_{q→p} x(q)/|Out(q)| + D/N), D the mass on pages without links. Stops at an L1 change of at
    most `tolerance`.
    """
    pull = Pull(graph)
    return _stationary(pull.sums, graph.outdegree == 0, damping, tolerance, rounds, "PageRank")


class Pull:
    """Sums over the pages that point to each page: Σ_{q→p} x(q)/|Out(q)|, for one column of x or several."""

    def __init__(self, graph: Graph) -> None:
        self._offsets, self._sources = graph.in_offsets, graph.in_sources
        self._share = 1.0 / np.maximum(graph.outdegree, 1)
        self._sent = np.empty(0)  # from each page to each of its targets; the memory is reused in every round

    def sums(self, x: Floats, out: Floats | None = None) -> Floats:
        """Return the sums for x [n] or [n, k], written to `out` if given."""
        if self._sent.shape != x.shape:
            self._sent = np.empty_like(x)
        np.multiply(x.T, self._share, out=self._sent.T)
        return link_sums(self._offsets, self._sources, self._sent, out)


def _stationary(
    pull: Sums, is_dangling: NDArray[np.bool_], damping: float, tolerance: float, rounds: int, name: str
) -> Rank:
    """Return the fixed point of x = (1−d)/N + d·(pull(x) + x(dangling)/N)."""
    pages = len(is_dangling)
    if not 0 <= damping < 1:
        raise DataError(f"the damping of {name} must be at least 0 and below 1, got {damping}")
    if not pages:
        return Rank(np.zeros(0), 0, 0.0)
    dangling = np.flatnonzero(is_dangling)
    x, residual = np.full(pages, 1.0 / pages), np.inf
    for done in range(1, rounds + 1):
        dangling_mass = float(x[dangling].sum())
        y = pull(x)
        y *= damping
        y += (1.0 - damping + damping * dangling_mass) / pages
        x -= y
        residual = float(np.abs(x, out=x).sum())
        x = y
        if residual <= tolerance:
            return Rank(x / x.sum(), done, residual)
    raise convergence_error(name, rounds, residual, tolerance)


def convergence_error(name: str, rounds: int, residual: float, tolerance: float) -> DataError:
    """Return the error of an iteration that did not converge."""
    return DataError(f"{name} did not converge in {rounds} rounds: change {residual:.3g}, tolerance {tolerance:g}")


def hostrank(graph: Graph, hosts: NDArray[np.integer[Any]], *, damping: float = DAMPING) -> Rank:
    """Compute HostRank (Xue et al. 2005): the PageRank of a page's host in the graph of hosts.

    The number of links from host i to host j ≠ i is the weight of the edge i → j. All pages of a host have the same
    value, which is our reading of LETOR's scale of 10³.
    """
    host_of: Ints = np.asarray(hosts, np.int64)
    number = int(host_of.max()) + 1 if len(host_of) else 0
    edge = host_of[graph.out_targets] * number + np.repeat(host_of, graph.outdegree)
    edge, count = np.unique(edge, return_counts=True)
    target, source = np.divmod(edge, max(number, 1))
    count[target == source] = 0  # links inside a host do not count
    total = np.bincount(source, count, number)
    share = count / np.maximum(total, 1.0)[source]

    def pull(x: Floats) -> Floats:
        return np.bincount(target, share * x[source], number).astype(np.float64, copy=False)

    rank = _stationary(pull, total == 0, damping, 1e-12, 1000, "HostRank")
    return Rank(rank.values[host_of], rank.rounds, rank.residual)


def hits(links: Sparse, *, tolerance: float = 1e-10, rounds: int = 200) -> Hits:
    """Compute HITS (Kleinberg 1999) of a graph given as a sparse matrix (row points to column) with equal weights.

    a = Aᵀh and h = Aa, each scaled to length 1, from h = 1 until neither changes by more than `tolerance` (L1). Links
    inside a host are kept. If the two largest singular values are so close that `rounds` rounds do not suffice, the
    Lanczos method continues to the same limit: its space is spanned by the same powers.
    """
    arranged = HubLinks(links.offsets, links.columns)
    authority, hub = np.zeros(links.size), np.ones(links.size)
    done, residual = arranged.hits(authority, hub, tolerance, rounds)
    if residual > tolerance:
        authority = _lanczos(links, authority)
        hub = links @ authority
        arranged.hits(authority, hub, tolerance, 1)  # to length 1
        done, residual = rounds + 2, arranged.hits(authority, hub, tolerance, 1)[1]
    if residual > tolerance:
        raise convergence_error("HITS", rounds, residual, tolerance)
    return Hits(authority, hub, done, residual, arranged)


def _lanczos(links: Sparse, start: Floats) -> Floats:
    """Return the dominant eigenvector of AᵀA by the restarted Lanczos method, from `start`."""
    back, vector = links.transpose(), start / np.linalg.norm(start)
    for _ in range(_RESTARTS):
        basis, images = [vector], [back @ (links @ vector)]
        while len(basis) < min(_POWERS, links.size):
            space = np.array(basis)
            new = images[-1] - space.T @ (space @ images[-1])
            new -= space.T @ (space @ new)  # again, because the first pass leaves rounding errors in a short vector
            length = float(np.linalg.norm(new))
            if length <= 1e-12 * float(np.linalg.norm(images[-1])):
                break
            basis.append(new / length)
            images.append(back @ (links @ basis[-1]))
        values, vectors = np.linalg.eigh(np.array(basis) @ np.array(images).T)
        vector, image = vectors[:, -1] @ np.array(basis), vectors[:, -1] @ np.array(images)
        if float(np.linalg.norm(image - values[-1] * vector)) <= 1e-14 * values[-1]:
            break
    leading: Floats = np.abs(vector)
    return leading


Scored = tuple[PageSet, Floats]  # pages with a score, numbered, and their scores; other pages have score 0
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
    """Compute h = α·S + (1−α)·W·h for one column of S or several.

    With `levels`, compute that many rounds from h = S; else until no value changes by more than `tolerance`·max|S|.
    """
    if not 0 <= alpha <= 1:
        raise DataError(f"alpha must be between 0 and 1, got {alpha}")
    self_share = alpha if alpha_is_self else 1.0 - alpha
    if self_share == 1.0 or not values.size:
        return self_share * values
    max_change = tolerance * max(float(values.max()), -float(values.min())) if levels is None else -np.inf
    matrix = weights.offsets, weights.columns, weights.weights
    table = np.ascontiguousarray(values.reshape(len(values), -1))
    h, change = propagate_rounds(*matrix, table, self_share, max_change, rounds if levels is None else levels)
    if levels is None and change > max_change:
        raise convergence_error("propagation", rounds, change, max_change)
    return h.reshape(values.shape)


def sitemap_weights(sitemap: Sitemap, pages: Ints) -> Sparse:
    """Return the matrix of means over children: 1/|Child(p)| if c is a child of p.

    `pages` are ascending and contain all their descendants.
    """
    parent = sitemap.parent[pages]
    row = np.searchsorted(pages, parent)
    child = np.flatnonzero(pages[np.minimum(row, len(pages) - 1)] == parent)  # whose parent is among the pages
    return Sparse.of(row[child], child, 1.0 / sitemap.child_counts[parent[child]], len(pages))


class Neighborhood:
    """The pages around a query's candidates, and the links among them.

    The pages (our choice, as for the base set of HITS) are the candidates, all pages they point to, and the first
    `in_links` pages by number that point to a candidate. The weights of a page depend on all its links in the
    collection and on the scores of all pages; links that leave the neighborhood propagate nothing.
    """

    def __init__(self, graph: Graph, candidates: Ints, scored: Scored, in_links: int = 50) -> None:
        _, targets = gather(graph.out_offsets, graph.out_targets, candidates)
        _, sources = gather(graph.in_offsets, graph.in_sources, candidates, in_links)
        inside = PageSet(graph.pages)
        for pages in (candidates, targets, sources):
            inside.add(pages)
        self.pages: Ints = inside.number()
        self.slots: Ints = inside.slots(candidates)  # position of each candidate in `pages`
        self._degree = graph.outdegree[self.pages]
        out = graph.out_offsets, graph.out_targets
        (self._offsets, self._columns), self._weighted = inner_links(*out, inside, self.pages, *scored)

    def links(self) -> Sparse:
        """Return the adjacency matrix: 1 if the row's page points to the column's."""
        return Sparse(self._offsets, self._columns, np.ones(len(self._columns)))

    def uniform(self) -> Sparse:
        """Return the weights ω(p, q) = 1/|Out(p)|."""
        share = 1.0 / np.maximum(self._degree, 1)
        return Sparse(self._offsets, self._columns, np.repeat(share, np.diff(self._offsets)))

    def weighted_links(self) -> Sparse:
        """Return the weights ω(p, q) = S⁺(q)/Σ_{u∈Out(p)} S⁺(u); the transpose is the weighting by in-links."""
        return Sparse(*self._weighted)
