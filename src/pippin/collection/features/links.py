"""What links, urls and the pages around a page say (features 41–60 of LETOR's “Gov”).

All that a query's link features share (scores of all pages, the neighbourhood of its candidates, propagated scores and
counts, HITS) is worked out once and kept as long as its candidates. Scores are BM25 on the stream `whole` unless
`stream` names another one; a page without a word of the query has the score 0.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.candidates import Candidates, Floats, Ints
from pippin.collection.features.base import feature, total
from pippin.collection.propagation import LINK_ALPHA, SITEMAP_ALPHA, Neighbourhood, propagate, sitemap_weights
from pippin.collection.ranks import Hits, hits
from pippin.collection.sparse import Sparse
from pippin.collection.topical import BEST, TopicalHits, topical_hits
from pippin.collection.web import Web
from pippin.errors import ConventionError
from pippin.kernels.links import weigh_rows
from pippin.kernels.neighbourhood import PageSet

_QIN = "Qin, Liu, Zhang, Chen, Ma 2005"
_SHAKERY = "Shakery, Zhai 2003"
_NIE = "Nie, Davison, Qi 2006"
_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR), Table 2"
_LIMITS = {"alpha": "[0, 1]", "alpha_is_self": "[0, 1]", "b": "[0, 1]", "topic_alpha": "[0, 1]"}
_STRETCH = 256  # pages of which the best one says whether any can be among the best of all
_WORKSPACES: weakref.WeakKeyDictionary[Candidates, dict[tuple[Any, ...], Workspace]] = weakref.WeakKeyDictionary()


class Workspace:
    """What the link features of one query share; every part is worked out when it is first asked for."""

    def __init__(self, candidates: Candidates, stream: str = "whole", k1: float = 2.5, b: float = 0.8) -> None:
        web = web_of(candidates)
        if candidates.index is None or candidates.numbers is None:
            raise ConventionError("this feature looks at pages beyond the candidates, for which it needs the index")
        if stream not in candidates.streams:
            raise ConventionError(f"this feature scores pages on the stream {stream!r}, which this collection lacks")
        # Not the candidates themselves, whose life the table of workspaces must not prolong.
        self.web, self.index, self.numbers = web, candidates.index, candidates.numbers
        self.words = candidates.words
        self.stream, self.k1, self.b = stream, k1, b
        self.average = candidates.streams[stream].average or 1.0
        self._kept: dict[tuple[Any, ...], Any] = {}

    def keep(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` gives, made once."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @cached_property
    def postings(self) -> list[tuple[Ints, Floats]]:
        """Pages and counts of each distinct word."""
        return [self.index.postings(self.stream, word) for word in dict.fromkeys(self.words)]

    @cached_property
    def idf(self) -> Floats:
        """[u] ln((N − df + ½)/(df + ½)), 0 for a word that no page has."""
        df = np.array([len(numbers) for numbers, _ in self.postings], np.float64)
        return np.where(df > 0, np.log((self.web.pages - df + 0.5) / (df + 0.5)), 0.0)

    @cached_property
    def lengths(self) -> Any:
        """[n] words of every page."""
        return self.index.lengths(self.stream)

    def _gains(self, counts: Floats, pages: Ints) -> Floats:
        """c(k1+1)/(c + k1(1−b + b·|d|/avgdl)) of counts [m] or [m, u]; 0 where the count is 0."""
        norm = self.b * self.lengths[pages]  # worked out in one place: memory takes longer than numbers
        norm /= self.average
        norm += 1 - self.b
        norm *= self.k1
        below = np.add(counts.T, norm, out=norm if counts.ndim == 1 else None).T
        gains = counts * (self.k1 + 1)
        np.divide(gains, below, out=gains, where=True if below.all() else below != 0)
        return gains

    def bm25(self, counts: Floats) -> Floats:
        """BM25 of the candidates with other counts [n, u] in place of c(w,d); lengths and idf stay."""
        return total((self._gains(counts, self.numbers) * self.idf).T)

    @cached_property
    def _matched(self) -> tuple[PageSet, Ints]:
        """The pages with a word of the query, as a set and ascending."""
        matched = PageSet(self.web.pages)
        for numbers, _ in self.postings:
            matched.add(numbers)
        return matched, matched.number()

    @cached_property
    def _table(self) -> Floats:
        """[m + 1, 1 + u] BM25 and the counts of the matched pages; the last row, 0, is that of all other pages."""
        matched, pages = self._matched
        table = np.zeros((len(pages) + 1, 1 + len(self.postings)))
        for column, (numbers, times) in enumerate(self.postings, 1):
            rows = matched.slots(numbers)
            table[rows, column] = times
            table[rows, 0] += self.idf[column - 1] * self._gains(np.asarray(times, np.float64), numbers)
        return table

    @cached_property
    def scores(self) -> Floats:
        """[m] BM25 of the matched pages."""
        return self._table[:-1, 0].copy()

    def table(self, pages: Ints) -> Floats:
        """[n, 1 + u] the score and the counts of some pages: what is propagated, in one go."""
        return np.take(self._table, self._matched[0].slots(pages), axis=0)

    @cached_property
    def around(self) -> Neighbourhood:
        """The candidates and the pages next to them."""
        return Neighbourhood(self.web.graph, self.numbers, (self._matched[0], self.scores))

    @cached_property
    def around_table(self) -> Floats:
        """The table of the neighbourhood."""
        return self.table(self.around.pages)

    def along_links(self, weighting: str, alpha: float, alpha_is_self: int) -> Floats:
        """[n, 1 + u] the candidates' scores and counts, propagated along links."""

        def make() -> Floats:
            weights: Sparse = self.keep((weighting,), lambda: self._weights(weighting))
            h = propagate(weights, self.around_table, alpha, alpha_is_self=bool(alpha_is_self))
            return h[self.around.slots]

        found: Floats = self.keep((weighting, alpha, alpha_is_self), make)
        return found

    def _weights(self, weighting: str) -> Sparse:
        if weighting == "uniform":
            return self.around.uniform()
        if weighting == "in":
            out: Sparse = self.keep(("out",), lambda: self._weights("out"))
            return out.transposed()
        return self.around.weighted()

    def along_sitemap(self, alpha: float, alpha_is_self: int, levels: int) -> Floats:
        """[n, 1 + u] the candidates' scores and counts, propagated along the sitemap."""

        def make() -> Floats:
            sitemap = self.web.sitemap
            pages = sitemap.with_descendants(self.numbers)  # what a page takes in comes from below
            weights, self_weighs = sitemap_weights(sitemap, pages), bool(alpha_is_self)
            h = propagate(weights, self.table(pages), alpha, alpha_is_self=self_weighs, levels=levels or None)
            return h[np.searchsorted(pages, self.numbers)]

        found: Floats = self.keep(("sitemap", alpha, alpha_is_self, levels), make)
        return found

    @cached_property
    def hits(self) -> Hits:
        """HITS on the neighbourhood, its base set."""
        return hits(self.around.links())

    @cached_property
    def topics(self) -> Floats:
        """[k] the topics of the query."""
        scores, (_, matched) = self.scores, self._matched
        heads = np.maximum.reduceat(scores, np.arange(0, len(scores), _STRETCH)) if len(scores) else scores
        enough = np.partition(heads, -BEST)[-BEST] if len(heads) > BEST else -np.inf  # as many pages have at least that
        top = np.flatnonzero(scores >= enough)
        best = matched[top[np.lexsort((top, -scores[top]))]][:BEST]
        return self.web.topics.of_query(self.index, self.words, best)

    def topical_hits(self, topic_alpha: float) -> TopicalHits:
        """Topical HITS on the neighbourhood, summed over topics as the query weighs them."""

        def make() -> TopicalHits:
            own = weigh_rows(self.web.topics.pages, self.around.pages, self.topics)
            return topical_hits(self.hits, own, alpha=topic_alpha)

        found: TopicalHits = self.keep(("topical", topic_alpha), make)
        return found


def web_of(candidates: Candidates) -> Web:
    """The web behind the candidates."""
    if not isinstance(candidates.web, Web) or candidates.numbers is None:
        raise ConventionError("this feature needs the links and urls of the collection, and these candidates have none")
    return candidates.web


def workspace(candidates: Candidates, stream: str = "whole", k1: float = 2.5, b: float = 0.8) -> Workspace:
    """The workspace of a query for these parameters."""
    kept = _WORKSPACES.setdefault(candidates, {})
    key = (stream, k1, b)
    if key not in kept:
        kept[key] = Workspace(candidates, *key)
    return kept[key]


_SITEMAP_FORMULA = "h(p) = α·S(p) + (1−α)·mean of h over the children of p"


@feature(
    "sitemap_term", kind="Q-D", formula="BM25 with counts " + _SITEMAP_FORMULA.replace("S(p)", "c(w,p)"), source=_QIN,
    limits=_LIMITS,
)  # fmt: skip
def sitemap_term(
    candidates: Candidates, *, alpha: float = SITEMAP_ALPHA, levels: int = 0, alpha_is_self: int = 1,
    stream: str = "whole", k1: float = 2.5, b: float = 0.8,
) -> Floats:  # fmt: skip
    """The query's words in the page and below it (41); levels = 0 stands for all."""
    space = workspace(candidates, stream, k1, b)
    return space.bm25(space.along_sitemap(alpha, alpha_is_self, levels)[:, 1:])


@feature("sitemap_score", kind="Q-D", formula=_SITEMAP_FORMULA + ", S = BM25", source=_QIN, limits=_LIMITS)
def sitemap_score(
    candidates: Candidates, *, alpha: float = SITEMAP_ALPHA, levels: int = 0, alpha_is_self: int = 1,
    stream: str = "whole", k1: float = 2.5, b: float = 0.8,
) -> Floats:  # fmt: skip
    """The score of the page and of those below it (42); levels = 0 stands for all."""
    return workspace(candidates, stream, k1, b).along_sitemap(alpha, alpha_is_self, levels)[:, 0].copy()


_WEIGHTINGS = {
    "in": ("in-links weighted", "h(p) = α·S(p) + (1−α)·Σ_{q→p} h(q)·S⁺(p)/Σ_{u∈Out(q)} S⁺(u)"),
    "out": ("out-links weighted", "h(p) = α·S(p) + (1−α)·Σ_{p→q} h(q)·S⁺(q)/Σ_{u∈Out(p)} S⁺(u)"),
    "uniform": ("out-links alike", "h(p) = α·S(p) + (1−α)·Σ_{p→q} h(q)/|Out(p)|"),
}


def _register_weighting(weighting: str, meaning: str, formula: str) -> None:
    """The score and the feature propagation of one weighting."""

    def score(
        candidates: Candidates, *, alpha: float = LINK_ALPHA, alpha_is_self: int = 1, stream: str = "whole",
        k1: float = 2.5, b: float = 0.8,
    ) -> Floats:  # fmt: skip
        return workspace(candidates, stream, k1, b).along_links(weighting, alpha, alpha_is_self)[:, 0].copy()

    def term(
        candidates: Candidates, *, alpha: float = LINK_ALPHA, alpha_is_self: int = 1, stream: str = "whole",
        k1: float = 2.5, b: float = 0.8,
    ) -> Floats:  # fmt: skip
        space = workspace(candidates, stream, k1, b)
        return space.bm25(space.along_links(weighting, alpha, alpha_is_self)[:, 1:])

    score.__doc__ = f"The score of the page and of those it is linked with, {meaning}."
    term.__doc__ = f"The query's words in the page and in those it is linked with, {meaning}."
    given = {"kind": "Q-D", "source": _SHAKERY, "limits": _LIMITS}
    feature(f"score_{weighting}", formula=formula + ", S = BM25", **given)(score)  # type: ignore[arg-type]
    term_formula = "BM25 with counts " + formula.replace("α·S(p)", "α·c(w,p)")
    feature(f"feature_{weighting}", formula=term_formula, **given)(term)  # type: ignore[arg-type]


for _weighting, (_meaning, _formula) in _WEIGHTINGS.items():
    _register_weighting(_weighting, _meaning, _formula)


@feature(
    "authority", kind="Q-D", formula="a = Aᵀh, h = Aa on the candidates and their neighbours", source="Kleinberg 1999"
)
def authority(candidates: Candidates) -> Floats:
    """HITS' authority of the page (49)."""
    space = workspace(candidates)
    return space.hits.authority[space.around.slots]


@feature("hub", kind="Q-D", formula="a = Aᵀh, h = Aa on the candidates and their neighbours", source="Kleinberg 1999")
def hub(candidates: Candidates) -> Floats:
    """HITS' hub of the page (50)."""
    space = workspace(candidates)
    return space.hits.hub[space.around.slots]


@feature("pagerank", kind="D", formula="10⁵·PageRank(p), d = 0.85", source="Page, Brin, Motwani, Winograd 1998")
def pagerank(candidates: Candidates) -> Floats:
    """PageRank (51)."""
    return 1e5 * web_of(candidates).pagerank[candidates.numbers]


@feature("hostrank", kind="D", formula="10³·PageRank of the page's host", source="Xue, Yang, Zeng, Yu, Chen 2005")
def hostrank(candidates: Candidates) -> Floats:
    """HostRank (52)."""
    return 1e3 * web_of(candidates).hostrank[candidates.numbers]


@feature("topical_pagerank", kind="Q-D", formula="10⁵·Σ_i C(q_i)·A(p_i)", source=_NIE)
def topical_pagerank(candidates: Candidates, *, stream: str = "whole") -> Floats:
    """PageRank of the page in the query's topics (53)."""
    space = workspace(candidates, stream)
    return 1e5 * weigh_rows(space.web.topical, space.numbers, space.topics)


@feature("topical_authority", kind="Q-D", formula="Σ_i C(q_i)·A(p_i), HITS by topics", source=_NIE, limits=_LIMITS)
def topical_authority(candidates: Candidates, *, topic_alpha: float = 0.5, stream: str = "whole") -> Floats:
    """HITS' authority of the page in the query's topics (54)."""
    space = workspace(candidates, stream)
    values: Floats = space.topical_hits(topic_alpha).authority[space.around.slots]
    return values


@feature("topical_hub", kind="Q-D", formula="Σ_i C(q_i)·H(p_i), HITS by topics", source=_NIE, limits=_LIMITS)
def topical_hub(candidates: Candidates, *, topic_alpha: float = 0.5, stream: str = "whole") -> Floats:
    """HITS' hub of the page in the query's topics (55)."""
    space = workspace(candidates, stream)
    values: Floats = space.topical_hits(topic_alpha).hub[space.around.slots]
    return values


def _looked_up(name: str, formula: str, meaning: str, column: Callable[[Web], NDArray[Any]]) -> None:
    """A feature that is a column of the web."""

    def value(candidates: Candidates) -> Floats:
        return column(web_of(candidates))[candidates.numbers].astype(np.float64)

    value.__doc__ = meaning
    feature(name, kind="D", formula=formula, source=_LETOR3)(value)


_looked_up("inlinks", "|{q : q→p}|", "Pages that point to the page (56).", lambda web: web.graph.indegree)
_looked_up("outlinks", "|{q : p→q}|", "Pages that the page points to (57).", lambda web: web.graph.outdegree)
_looked_up("slashes", "slashes of the url without scheme", "Slashes in the url (58).", lambda web: web.slashes)
_looked_up("url_length", "characters of the url without scheme", "Length of the url (59).", lambda web: web.url_lengths)
_looked_up("children", "|Child(p)| in the sitemap", "Pages right below it (60).", lambda web: web.sitemap.child_counts)
