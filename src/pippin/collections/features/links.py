"""Features of links, URLs and neighbouring pages (features 41–60 of LETOR's “Gov”).

`LinkFeatureCache` computes the values that a query's link features share once: scores of all pages, the neighbourhood
of the candidates, propagated scores and counts, HITS. Scores are BM25 on the field `whole` unless `field` names another
one; a page without a word of the query has the score 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.features.base import feature, total
from pippin.collections.index.statistics import Candidates, Floats, Ints
from pippin.collections.links.graph import Sparse
from pippin.collections.links.link_analysis import (
    LINK_ALPHA,
    SITEMAP_ALPHA,
    Hits,
    Neighborhood,
    hits,
    propagate,
    sitemap_weights,
)
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.topical import BEST_PAGES, TopicalHits, topical_hits
from pippin.errors import ConventionError
from pippin.kernels.graph import PageSet, weigh_rows

_QIN = "Qin, Liu, Zhang, Chen, Ma 2005"
_SHAKERY = "Shakery, Zhai 2003"
_NIE = "Nie, Davison, Qi 2006"
_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR), Table 2"
_LIMITS = {"alpha": "[0, 1]", "alpha_is_self": "[0, 1]", "b": "[0, 1]", "topic_alpha": "[0, 1]"}
_BLOCK_PAGES = 256  # pages whose maximum decides whether one of them can be among the best


class LinkFeatureCache:
    """The values that the link features of one query share; each is computed when it is first used."""

    def __init__(self, candidates: Candidates, field: str = "whole", k1: float = 2.5, b: float = 0.8) -> None:
        web = link_index_of(candidates)
        if candidates.index is None or candidates.numbers is None:
            raise ConventionError("link features need an index: they use pages beyond the candidates")
        if field not in candidates.fields:
            raise ConventionError(f"link features need the field {field!r}, which the collection does not have")
        # No reference to the candidates, whose cache refers to this object.
        self.web, self.index, self.numbers = web, candidates.index, candidates.numbers
        self.words = candidates.words
        self.field, self.k1, self.b = field, k1, b
        self.average = candidates.fields[field].average or 1.0
        self._memo: dict[tuple[Any, ...], Any] = {}

    def memoize(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the result of `make`, computed once."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    @cached_property
    def postings(self) -> list[tuple[Ints, Floats]]:
        """The pages and counts of each distinct word."""
        return [self.index.postings(self.field, word) for word in dict.fromkeys(self.words)]

    @cached_property
    def idf(self) -> Floats:
        """ln((N − df + ½)/(df + ½)) of each distinct word, [u]; 0 for a word of no page."""
        df = np.array([len(numbers) for numbers, _ in self.postings], np.float64)
        return np.where(df > 0, np.log((self.web.pages - df + 0.5) / (df + 0.5)), 0.0)

    @cached_property
    def lengths(self) -> Any:
        """The number of words of every page, [n]."""
        return self.index.lengths(self.field)

    def _gains(self, counts: Floats, pages: Ints) -> Floats:
        """Return c(k1+1)/(c + k1(1−b + b·|d|/avgdl)) of counts [m] or [m, u]; 0 for a count of 0."""
        norm = self.b * self.lengths[pages]  # in place, because memory access is slower than arithmetic
        norm /= self.average
        norm += 1 - self.b
        norm *= self.k1
        denominator = np.add(counts.T, norm, out=norm if counts.ndim == 1 else None).T
        gains = counts * (self.k1 + 1)
        np.divide(gains, denominator, out=gains, where=True if denominator.all() else denominator != 0)
        return gains

    def bm25(self, counts: Floats) -> Floats:
        """Return BM25 of the candidates with these counts [n, u] instead of c(w,d)."""
        return total((self._gains(counts, self.numbers) * self.idf).T)

    @cached_property
    def _matching_pages(self) -> tuple[PageSet, Ints]:
        """Return the pages that contain a word of the query, as a set and in ascending order."""
        matched = PageSet(self.web.pages)
        for numbers, _ in self.postings:
            matched.add(numbers)
        return matched, matched.number()

    @cached_property
    def _table(self) -> Floats:
        """BM25 and the counts of the matched pages, [m + 1, 1 + u]; the last row, 0, is for all other pages."""
        matched, pages = self._matching_pages
        table = np.zeros((len(pages) + 1, 1 + len(self.postings)))
        for column, (numbers, counts) in enumerate(self.postings, 1):
            rows = matched.slots(numbers)
            table[rows, column] = counts
            table[rows, 0] += self.idf[column - 1] * self._gains(np.asarray(counts, np.float64), numbers)
        return table

    @cached_property
    def scores(self) -> Floats:
        """BM25 of the matched pages, [m]."""
        return self._table[:-1, 0].copy()

    def table(self, pages: Ints) -> Floats:
        """Return the score and the counts of some pages, [n, 1 + u], which are propagated together."""
        return np.take(self._table, self._matching_pages[0].slots(pages), axis=0)

    @cached_property
    def around(self) -> Neighborhood:
        """The candidates and the pages linked with them."""
        return Neighborhood(self.web.graph, self.numbers, (self._matching_pages[0], self.scores))

    @cached_property
    def around_table(self) -> Floats:
        """The table of the neighbourhood."""
        return self.table(self.around.pages)

    def along_links(self, weighting: str, alpha: float, alpha_is_self: int) -> Floats:
        """Return the candidates' scores and counts, propagated along links, [n, 1 + u]."""

        def make() -> Floats:
            weights: Sparse = self.memoize((weighting,), lambda: self._weights(weighting))
            h = propagate(weights, self.around_table, alpha, alpha_is_self=bool(alpha_is_self))
            return h[self.around.slots]

        propagated: Floats = self.memoize((weighting, alpha, alpha_is_self), make)
        return propagated

    def _weights(self, weighting: str) -> Sparse:
        if weighting == "uniform":
            return self.around.uniform()
        if weighting == "in":
            out: Sparse = self.memoize(("out",), lambda: self._weights("out"))
            return out.transpose()
        return self.around.weighted_links()

    def along_sitemap(self, alpha: float, alpha_is_self: int, levels: int) -> Floats:
        """Return the candidates' scores and counts, propagated along the sitemap, [n, 1 + u]."""

        def make() -> Floats:
            sitemap = self.web.sitemap
            pages = sitemap.with_descendants(self.numbers)  # values propagate upwards
            weights, self_weighs = sitemap_weights(sitemap, pages), bool(alpha_is_self)
            h = propagate(weights, self.table(pages), alpha, alpha_is_self=self_weighs, levels=levels or None)
            return h[np.searchsorted(pages, self.numbers)]

        propagated: Floats = self.memoize(("sitemap", alpha, alpha_is_self, levels), make)
        return propagated

    @cached_property
    def hits(self) -> Hits:
        """HITS on the neighbourhood, its base set."""
        return hits(self.around.links())

    @cached_property
    def topics(self) -> Floats:
        """The topics of the query, [k]."""
        scores, (_, matched) = self.scores, self._matching_pages
        maxima = np.maximum.reduceat(scores, np.arange(0, len(scores), _BLOCK_PAGES)) if len(scores) else scores
        threshold = np.partition(maxima, -BEST_PAGES)[-BEST_PAGES] if len(maxima) > BEST_PAGES else -np.inf
        top = np.flatnonzero(scores >= threshold)
        best = matched[top[np.lexsort((top, -scores[top]))]][:BEST_PAGES]
        return self.web.topics.of_query(self.index, self.words, best)

    def topical_hits(self, topic_alpha: float) -> TopicalHits:
        """Compute topical HITS on the neighbourhood, summed over topics with the query's weights."""

        def make() -> TopicalHits:
            topic_weights = weigh_rows(self.web.topics.pages, self.around.pages, self.topics)
            return topical_hits(self.hits, topic_weights, alpha=topic_alpha)

        result: TopicalHits = self.memoize(("topical", topic_alpha), make)
        return result


def link_index_of(candidates: Candidates) -> LinkIndex:
    """Return the link index of the candidates."""
    if not isinstance(candidates.web, LinkIndex) or candidates.numbers is None:
        raise ConventionError("link features need the links and urls of the collection; these candidates have none")
    return candidates.web


def cache_of(candidates: Candidates, field: str = "whole", k1: float = 2.5, b: float = 0.8) -> LinkFeatureCache:
    """Return the cache of a query for these parameters."""
    key = ("links", field, k1, b)
    if key not in candidates.cache:
        candidates.cache[key] = LinkFeatureCache(candidates, field, k1, b)
    shared: LinkFeatureCache = candidates.cache[key]
    return shared


_SITEMAP_FORMULA = "h(p) = α·S(p) + (1−α)·mean of h over the children of p"


@feature(
    "sitemap_term", kind="Q-D", formula="BM25 with counts " + _SITEMAP_FORMULA.replace("S(p)", "c(w,p)"), source=_QIN,
    limits=_LIMITS,
)  # fmt: skip
def sitemap_term(
    candidates: Candidates, *, alpha: float = SITEMAP_ALPHA, levels: int = 0, alpha_is_self: int = 1,
    field: str = "whole", k1: float = 2.5, b: float = 0.8,
) -> Floats:  # fmt: skip
    """Compute BM25 with counts propagated from the pages below (41); levels = 0 means all."""
    space = cache_of(candidates, field, k1, b)
    return space.bm25(space.along_sitemap(alpha, alpha_is_self, levels)[:, 1:])


@feature("sitemap_score", kind="Q-D", formula=_SITEMAP_FORMULA + ", S = BM25", source=_QIN, limits=_LIMITS)
def sitemap_score(
    candidates: Candidates, *, alpha: float = SITEMAP_ALPHA, levels: int = 0, alpha_is_self: int = 1,
    field: str = "whole", k1: float = 2.5, b: float = 0.8,
) -> Floats:  # fmt: skip
    """Return the score of the page, propagated from the pages below (42); levels = 0 means all."""
    return cache_of(candidates, field, k1, b).along_sitemap(alpha, alpha_is_self, levels)[:, 0].copy()


_WEIGHTINGS = {
    "in": ("weighted in-links", "h(p) = α·S(p) + (1−α)·Σ_{q→p} h(q)·S⁺(p)/Σ_{u∈Out(q)} S⁺(u)"),
    "out": ("weighted out-links", "h(p) = α·S(p) + (1−α)·Σ_{p→q} h(q)·S⁺(q)/Σ_{u∈Out(p)} S⁺(u)"),
    "uniform": ("out-links with equal weights", "h(p) = α·S(p) + (1−α)·Σ_{p→q} h(q)/|Out(p)|"),
}


def _register_weighting(weighting: str, meaning: str, formula: str) -> None:
    """Register score propagation and feature propagation with one weighting."""

    def score(
        candidates: Candidates, *, alpha: float = LINK_ALPHA, alpha_is_self: int = 1, field: str = "whole",
        k1: float = 2.5, b: float = 0.8,
    ) -> Floats:  # fmt: skip
        return cache_of(candidates, field, k1, b).along_links(weighting, alpha, alpha_is_self)[:, 0].copy()

    def term(
        candidates: Candidates, *, alpha: float = LINK_ALPHA, alpha_is_self: int = 1, field: str = "whole",
        k1: float = 2.5, b: float = 0.8,
    ) -> Floats:  # fmt: skip
        space = cache_of(candidates, field, k1, b)
        return space.bm25(space.along_links(weighting, alpha, alpha_is_self)[:, 1:])

    score.__doc__ = f"Return the score of the page, propagated along {meaning}."
    term.__doc__ = f"Compute BM25 with counts propagated along {meaning}."
    shared = {"kind": "Q-D", "source": _SHAKERY, "limits": _LIMITS}
    feature(f"score_{weighting}", formula=formula + ", S = BM25", **shared)(score)  # type: ignore[arg-type]
    term_formula = "BM25 with counts " + formula.replace("α·S(p)", "α·c(w,p)")
    feature(f"feature_{weighting}", formula=term_formula, **shared)(term)  # type: ignore[arg-type]


for _weighting, (_meaning, _formula) in _WEIGHTINGS.items():
    _register_weighting(_weighting, _meaning, _formula)


@feature(
    "authority", kind="Q-D", formula="a = Aᵀh, h = Aa on the candidates and their neighbours", source="Kleinberg 1999"
)
def authority(candidates: Candidates) -> Floats:
    """Return the authority of the page by HITS (49)."""
    space = cache_of(candidates)
    return space.hits.authority[space.around.slots]


@feature("hub", kind="Q-D", formula="a = Aᵀh, h = Aa on the candidates and their neighbours", source="Kleinberg 1999")
def hub(candidates: Candidates) -> Floats:
    """Return the hub value of the page by HITS (50)."""
    space = cache_of(candidates)
    return space.hits.hub[space.around.slots]


@feature("pagerank", kind="D", formula="10⁵·PageRank(p), d = 0.85", source="Page, Brin, Motwani, Winograd 1998")
def pagerank(candidates: Candidates) -> Floats:
    """Return the PageRank of the page (51)."""
    return 1e5 * link_index_of(candidates).pagerank[candidates.numbers]


@feature("hostrank", kind="D", formula="10³·PageRank of the page's host", source="Xue, Yang, Zeng, Yu, Chen 2005")
def hostrank(candidates: Candidates) -> Floats:
    """Return the HostRank of the page (52)."""
    return 1e3 * link_index_of(candidates).hostrank[candidates.numbers]


@feature("topical_pagerank", kind="Q-D", formula="10⁵·Σ_i C(q_i)·A(p_i)", source=_NIE)
def topical_pagerank(candidates: Candidates, *, field: str = "whole") -> Floats:
    """Return the topical PageRank of the page (53)."""
    space = cache_of(candidates, field)
    return 1e5 * weigh_rows(space.web.topical, space.numbers, space.topics)


@feature("topical_authority", kind="Q-D", formula="Σ_i C(q_i)·A(p_i), HITS by topics", source=_NIE, limits=_LIMITS)
def topical_authority(candidates: Candidates, *, topic_alpha: float = 0.5, field: str = "whole") -> Floats:
    """Return the topical authority of the page by HITS (54)."""
    space = cache_of(candidates, field)
    values: Floats = space.topical_hits(topic_alpha).authority[space.around.slots]
    return values


@feature("topical_hub", kind="Q-D", formula="Σ_i C(q_i)·H(p_i), HITS by topics", source=_NIE, limits=_LIMITS)
def topical_hub(candidates: Candidates, *, topic_alpha: float = 0.5, field: str = "whole") -> Floats:
    """Return the topical hub value of the page by HITS (55)."""
    space = cache_of(candidates, field)
    values: Floats = space.topical_hits(topic_alpha).hub[space.around.slots]
    return values


_COLUMNS: dict[str, tuple[str, str, Callable[[LinkIndex], NDArray[Any]]]] = {
    "inlinks": ("|{q : q→p}|", "pages that point to the page (56)", lambda links: links.graph.indegree),
    "outlinks": ("|{q : p→q}|", "pages that the page points to (57)", lambda links: links.graph.outdegree),
    "slashes": ("slashes of the url without scheme", "slashes in the url (58)", lambda links: links.slashes),
    "url_length": ("characters of the url without scheme", "characters of the url (59)",
                   lambda links: links.url_lengths),
    "children": ("|Child(p)| in the sitemap", "children in the sitemap (60)",
                 lambda links: links.sitemap.child_counts),
}  # fmt: skip


def _register_column(name: str, formula: str, meaning: str, column: Callable[[LinkIndex], NDArray[Any]]) -> None:
    """Register a feature that is a column of the link index."""

    def value(candidates: Candidates) -> Floats:
        return column(link_index_of(candidates))[candidates.numbers].astype(np.float64)

    value.__doc__ = f"Return the number of {meaning}."
    feature(name, kind="D", formula=formula, source=_LETOR3)(value)


for _name, (_formula, _meaning, _column) in _COLUMNS.items():
    _register_column(_name, _formula, _meaning, _column)
