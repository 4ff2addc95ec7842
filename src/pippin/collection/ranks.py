"""Which pages matter by their links alone, or in the neighbourhood of a query? PageRank, HostRank and HITS.

Every rank says after how many rounds it stood still and how much the last round still changed; one that does not stand
still is a DataError, never a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.graph import Graph, Ints
from pippin.collection.sitemap import Sitemap
from pippin.collection.sparse import Sparse
from pippin.errors import DataError
from pippin.kernels.hits import HubLinks
from pippin.kernels.links import link_sums

Floats = NDArray[np.float64]
Sums = Callable[[Floats], Floats]
DAMPING = 0.85
_POWERS, _RESTARTS = 40, 250  # of Lanczos' method


@dataclass(frozen=True, eq=False)
class Rank:
    """A value per page, and how the iteration ended."""

    values: Floats
    rounds: int
    residual: float  # L1 change of the last round

    def __repr__(self) -> str:
        return f"Rank({len(self.values):,} pages, {self.rounds} rounds, residual {self.residual:.1e})"


@dataclass(frozen=True, eq=False)
class Hits:
    """Authorities and hubs of length 1 (all 0 where there is no link), and how the iteration ended."""

    authority: Floats
    hub: Floats
    rounds: int
    residual: float
    links: HubLinks


def pagerank(graph: Graph, *, damping: float = DAMPING, tolerance: float = 1e-12, rounds: int = 1000) -> Rank:
    """PageRank (Page et al. 1998), of sum 1: the share of time a surfer spends on each page.

    x(p) = (1−d)/N + d·(Σ_{q→p} x(q)/|Out(q)| + D/N), D the mass on pages without links. Stops at an L1 change of at
    most `tolerance`.
    """
    pull = Pull(graph)
    return _stationary(pull.sums, graph.outdegree == 0, damping, tolerance, rounds, "PageRank")


class Pull:
    """What a page takes in from those that point to it: Σ_{q→p} x(q)/|Out(q)|, for one column of x or several."""

    def __init__(self, graph: Graph) -> None:
        self._offsets, self._sources = graph.in_offsets, graph.in_sources
        self._share = 1.0 / np.maximum(graph.outdegree, 1)
        self._given = np.empty(0)  # what each page gives to each of its targets, made in the same place every round

    def sums(self, x: Floats, out: Floats | None = None) -> Floats:
        """The sums for x [n] or [n, k]; in `out`, where that is given."""
        if self._given.shape != x.shape:
            self._given = np.empty_like(x)
        np.multiply(x.T, self._share, out=self._given.T)
        return link_sums(self._offsets, self._sources, self._given, out)


def _stationary(
    pull: Sums,
    dangling: NDArray[np.bool_],
    damping: float,
    tolerance: float,
    rounds: int,
    name: str,
) -> Rank:
    """The fixed point of x = (1−d)/N + d·(pull(x) + x(dangling)/N)."""
    pages = len(dangling)
    if not 0 <= damping < 1:
        raise DataError(f"the damping of {name} is at least 0 and below 1, not {damping}")
    if not pages:
        return Rank(np.zeros(0), 0, 0.0)
    loose = np.flatnonzero(dangling)
    x, residual = np.full(pages, 1.0 / pages), np.inf
    for done in range(1, rounds + 1):
        lost = float(x[loose].sum())
        y = pull(x)
        y *= damping
        y += (1.0 - damping + damping * lost) / pages
        x -= y
        residual = float(np.abs(x, out=x).sum())
        x = y
        if residual <= tolerance:
            return Rank(x / x.sum(), done, residual)
    raise restless(name, rounds, residual, tolerance)


def restless(name: str, rounds: int, residual: float, tolerance: float) -> DataError:
    """The error of an iteration that did not stand still."""
    return DataError(f"{name} still changes by {residual:.3g} after {rounds} rounds (asked for {tolerance:g})")


def hostrank(
    graph: Graph,
    hosts: NDArray[np.integer[Any]],
    sitemap: Sitemap | None = None,
    *,
    distributed: bool = False,
    theta: float = 0.6,
    damping: float = DAMPING,
    tolerance: float = 1e-12,
    rounds: int = 1000,
) -> Rank:
    """HostRank (Xue et al. 2005): the PageRank of a page's host in the graph of hosts, the same for all its pages.

    Links from host i to host j ≠ i are the weight of the edge i → j. The value per host is our reading of LETOR's scale
    of 10³. `distributed` shares it out among the pages (our simplification of the paper's model): in proportion to
    (θ·(1+links from other hosts)/Σ + (1−θ)·(1+links from its own)/Σ)·½^depth, the depth being that in the sitemap.
    """
    home: Ints = np.asarray(hosts, np.int64)
    number = int(home.max()) + 1 if len(home) else 0
    edge = home[graph.out_targets] * number + np.repeat(home, graph.outdegree)
    edge, count = np.unique(edge, return_counts=True)
    target, source = np.divmod(edge, max(number, 1))
    count[target == source] = 0  # links inside a host do not count
    total = np.bincount(source, count, number)
    share = count / np.maximum(total, 1.0)[source]

    def received(x: Floats) -> Floats:
        return np.bincount(target, share * x[source], number).astype(np.float64, copy=False)

    rank = _stationary(received, total == 0, damping, tolerance, rounds, "HostRank")
    values = rank.values[home]
    if distributed:
        if sitemap is None:
            raise DataError("HostRank shared out among the pages needs the sitemap")
        values = values * _shares(graph, home, number, sitemap, theta)
    return Rank(values, rank.rounds, rank.residual)


def _shares(graph: Graph, hosts: Ints, number: int, sitemap: Sitemap, theta: float) -> Floats:
    """Each page's share of its host; shares of a host sum to 1."""
    target = graph.out_targets
    across = np.repeat(hosts, graph.outdegree) != hosts[target]
    share = np.zeros(graph.pages)
    for weight, kind in ((theta, across), (1 - theta, ~across)):
        links = 1.0 + np.bincount(target[kind], minlength=graph.pages)
        share += weight * links / np.bincount(hosts, links, number)[hosts]
    share *= 0.5**sitemap.depth
    return share / np.bincount(hosts, share, number)[hosts]


def hits(links: Sparse, *, tolerance: float = 1e-10, rounds: int = 200) -> Hits:
    """HITS (Kleinberg 1999) of a graph given as a sparse matrix (row points to column), all links counting alike.

    a = Aᵀh and h = Aa, each scaled to length 1, from h = 1 until neither changes by more than `tolerance` (L1). Links
    inside a host are kept. Where the two largest singular values lie so close that `rounds` rounds do not suffice,
    Lanczos' method goes on from there to the same limit: its space is spanned by the same powers.
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
        raise restless("HITS", rounds, residual, tolerance)
    return Hits(authority, hub, done, residual, arranged)


def _lanczos(links: Sparse, start: Floats) -> Floats:
    """The dominant eigenvector of AᵀA that `start` leads to: of the space of its powers, again and again."""
    back, vector = links.transposed(), start / np.linalg.norm(start)
    for _ in range(_RESTARTS):
        basis, images = [vector], [back @ (links @ vector)]
        while len(basis) < min(_POWERS, links.size):
            known = np.array(basis)
            new = images[-1] - known.T @ (known @ images[-1])
            new -= known.T @ (known @ new)  # once is not enough where little is left
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
