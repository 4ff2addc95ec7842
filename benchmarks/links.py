"""Measure link analysis at web scale: PageRank per round, memory, peers and link features of a query.

python benchmarks/links.py [--pages 1000000] [--links 20000000] [--candidates 1000] [--peer-pages 100000] [--no-peers]

The graph is synthetic: out-degrees log-normal, targets drawn from a power law over shuffled pages, urls of three levels
on hosts of very different sizes. Seconds are the processor's; nothing here has more than one thread.
"""

from __future__ import annotations

import argparse
import functools
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Query
from pippin.collections.features import parse_features
from pippin.collections.index.statistics import Candidates, FieldStatistics
from pippin.collections.links.graph import Graph
from pippin.collections.links.link_analysis import Pull, pagerank
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.topical import TopicDistributions, topical_pagerank
from pippin.collections.links.urls import DocumentUrls

LINK_FEATURES = (
    "sitemap_term", "sitemap_score", "score_in", "score_out", "score_uniform", "feature_in", "feature_out",
    "feature_uniform", "authority", "hub", "pagerank", "hostrank", "topical_pagerank", "topical_authority",
    "topical_hub", "inlinks", "outlinks", "slashes", "url_length", "children",
)  # fmt: skip


def power_law(pages: int, links: int, seed: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Sources and targets of about so many links."""
    rng = np.random.default_rng(seed)
    wish = rng.lognormal(0, 1, pages)
    degree = rng.poisson(wish * links / wish.sum())
    rank = (pages * rng.random(int(degree.sum())) ** 3).astype(np.int64)  # density falls as rank^(-2/3)
    names = rng.permutation(pages)
    return np.repeat(np.arange(pages, dtype=np.int32), degree), names[rank].astype(np.int32)


def least(run: Callable[[], Any], times: int = 5, clock: Callable[[], float] = time.process_time) -> float:
    """Least seconds of several runs; of the processor, so that a busy machine tells the same."""
    seconds = []
    for _ in range(times):
        start = clock()
        run()
        seconds.append(clock() - start)
    return min(seconds)


def memory(run: Callable[[], Any]) -> int:
    """Peak bytes that a run takes beyond what was there."""
    tracemalloc.start()
    run()
    memory_used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return memory_used


def pull_matrix(graph: Graph) -> Any:
    """1/|Out(q)| in row p and column q where q points to p, as SciPy has it."""
    from scipy.sparse import csr_array

    share, offsets = 1.0 / np.maximum(graph.outdegree, 1), graph.in_offsets.astype(np.int32)
    return csr_array((share[graph.in_sources], graph.in_sources, offsets), shape=(graph.pages, graph.pages))


def show_pagerank(graph: Graph) -> None:
    ranks = pagerank(graph, tolerance=1e-8)
    seconds = least(lambda: pagerank(graph, tolerance=1e-8), 3)
    memory_used = memory(lambda: pagerank(graph, tolerance=1e-2))
    matrix, vector = pull_matrix(graph), np.full(graph.pages, 1.0 / graph.pages)
    one_pass = least(graph.in_sources.sum)
    product = least(lambda: matrix @ vector)
    moved = graph.links * 12 + graph.pages * 16
    broadcast = seconds / ranks.rounds
    print(f"{graph}; {graph.nbytes / 1e6:.0f} MB by source and by target")
    print(f"PageRank to 1e-8: {ranks.rounds} rounds in {seconds:.2f} s, {broadcast * 1e3:.1f} ms a round")
    print(f"  one pass over the links in memory {one_pass * 1e3:.1f} ms: a round takes {broadcast / one_pass:.1f}×")
    print(f"  plain mat-vec of SciPy {product * 1e3:.1f} ms, {moved / product / 1e9:.2f} GB/s; "
          f"ours {moved / broadcast / 1e9:.2f} GB/s")  # fmt: skip
    print(
        f"  memory beyond the graph {memory_used / 1e6:.0f} MB: with it {1 + memory_used / graph.nbytes:.2f}× the graph"
    )


def show_topical(graph: Graph, topics: int = 12) -> None:
    shares = np.random.default_rng(3).dirichlet(np.full(topics, 0.3), graph.pages)
    plain, matrix, pull = pagerank(graph).values, pull_matrix(graph), Pull(graph)
    block = shares * plain[:, None]
    ours, scipys = least(lambda: pull.sums(block), 2), least(lambda: matrix @ block, 2)
    start = time.process_time()
    ranks = topical_pagerank(graph, plain, shares)
    seconds = time.process_time() - start
    memory_used = memory(lambda: topical_pagerank(graph, plain, shares, tolerance=1e-1))
    print(f"a product with {topics} columns: {ours:.2f} s, SciPy {scipys:.2f} s")
    print(f"topical PageRank to 1e-12: {ranks.rounds} rounds in {seconds:.1f} s, "
          f"memory with the graph {1 + memory_used / graph.nbytes:.2f}× the graph")  # fmt: skip


def show_peers(pages: int, links: int) -> None:
    import igraph
    import networkx
    import sknetwork

    sources, targets = power_law(pages, links, 1)
    graph = Graph.of(pages, sources, targets)
    ours = pagerank(graph, tolerance=1e-10)
    rows = [("pippin", least(lambda: pagerank(graph, tolerance=1e-10), 3), 0.0)]
    from scipy.sparse import csr_matrix

    matrix = graph.matrix()
    old = csr_matrix((matrix.weights, matrix.columns, matrix.offsets), shape=(pages, pages))
    ranker = sknetwork.ranking.PageRank(solver="piteration", n_iter=ours.rounds, tol=0)
    seconds = least(lambda: ranker.fit(old), 3)
    rows.append(("scikit-network", seconds, float(np.abs(ranker.scores_ - ours.values).sum())))
    edges = np.column_stack((np.repeat(np.arange(pages), graph.outdegree), graph.out_targets))
    peer = igraph.Graph(n=pages, edges=edges, directed=True)
    seconds = least(lambda: peer.pagerank(damping=0.85), 3)
    rows.append(("igraph (PRPACK)", seconds, float(np.abs(np.array(peer.pagerank()) - ours.values).sum())))
    other = networkx.DiGraph()
    other.add_nodes_from(range(pages))
    other.add_edges_from(edges.tolist())
    values = {}
    seconds = least(lambda: values.update(networkx.pagerank(other, alpha=0.85, tol=1e-10 / pages, max_iter=1000)), 1)
    inputs = np.array([values[i] for i in range(pages)])
    rows.append(("networkx", seconds, float(np.abs(inputs - ours.values).sum())))
    print(f"\n{graph}: PageRank to about 1e-10, from each library's own form of the graph")
    for name, seconds, apart in rows:
        print(f"  {name:18}{seconds:9.3f} s{seconds / rows[0][1]:8.1f}×   L1 from ours {apart:.1e}")


class SyntheticIndex:
    """Three words with postings of a tenth, a fiftieth and a five-hundredth of the pages."""

    def __init__(self, pages: int, seed: int = 2) -> None:
        rng = np.random.default_rng(seed)
        self.documents = pages
        self._lengths = rng.integers(50, 2000, pages).astype(np.uint32)
        self._postings = {
            word: (numbers, rng.integers(1, 9, len(numbers)).astype(np.float64))
            for word, share in (("common", 10), ("middling", 50), ("rare", 500))
            for numbers in (np.sort(rng.choice(pages, max(1, pages // share), replace=False)),)
        }

    def postings(self, field: str, word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return self._postings[word]

    def lengths(self, field: str) -> NDArray[np.uint32]:
        return self._lengths

    def average_length(self, field: str) -> float:
        return float(self._lengths.mean())


def candidates_of(index: SyntheticIndex, web: LinkIndex, count: int, words: Sequence[str]) -> Candidates:
    """The first `count` pages with the rarest word, and their counts (which link features do not look at)."""
    numbers = index.postings("whole", words[-1])[0][:count]
    empty = np.zeros((len(words), len(numbers)))
    counts = FieldStatistics(
        index.documents,
        int(index.lengths("whole").sum()),
        index.average_length("whole"),
        empty[:, 0],
        empty[:, 0],
        empty,
        np.ones(len(numbers)),
        np.ones(len(numbers)),
    )
    names = tuple(map(str, numbers))
    labels = np.zeros(len(numbers), np.int32)
    return Candidates(Query("q", " ".join(words)), tuple(words), names, labels, {"whole": counts}, numbers, index, web)


def synthetic_web(graph: Graph) -> LinkIndex:
    """Pages on hosts of very different sizes, with topics."""
    rng = np.random.default_rng(3)
    hosts = (1000 * rng.random(graph.pages) ** 4).astype(int)
    urls = [f"h{h}.gov/{i % 97}/{i % 13}/{'' if i % 50 == 0 else f'{i}.html'}" for i, h in enumerate(hosts.tolist())]
    ids = list(map(str, range(graph.pages)))
    shares = rng.dirichlet(np.full(12, 0.3), graph.pages)
    topics = TopicDistributions(
        tuple(f"t{i}" for i in range(12)), shares, np.full(graph.pages, -1, np.int32), np.ones(12)
    )
    return LinkIndex.build("synthetic", DocumentUrls.from_urls(ids, urls), graph, topics)


def show_features(graph: Graph, count: int) -> None:
    start = time.perf_counter()
    web = synthetic_web(graph)
    print(f"\n{web}: built in {time.perf_counter() - start:.1f} s ({dict(web.convergence['pagerank'])})")
    index = SyntheticIndex(graph.pages)
    bound = parse_features(" ".join(LINK_FEATURES))
    times: dict[str, list[float]] = {name: [] for name in LINK_FEATURES}
    for _ in range(5):
        candidates = candidates_of(index, web, count, ("common", "middling", "rare"))
        for broadcast in bound:
            times[broadcast.text].append(least(functools.partial(broadcast.values, candidates), 1))
    total = sum(min(seconds) for seconds in times.values())
    print(f"all {len(bound)} link features of {len(candidates):,} candidates: {total * 1e3:.1f} ms; of these")
    for name, seconds in times.items():
        if min(seconds) > 0.0005:
            print(f"  {name:20}{min(seconds) * 1e3:8.1f} ms (with what it is the first to need)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--links", type=int, default=20_000_000)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--peer-pages", type=int, default=100_000)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    sources, targets = power_law(options.pages, options.links)
    start = time.perf_counter()
    graph = Graph.of(options.pages, sources, targets)
    print(f"graph of {len(sources):,} links built in {time.perf_counter() - start:.1f} s")
    del sources, targets
    show_pagerank(graph)
    show_topical(graph)
    show_features(graph, options.candidates)
    if not options.no_peers:
        show_peers(options.peer_pages, options.peer_pages * 20)


if __name__ == "__main__":
    main()
