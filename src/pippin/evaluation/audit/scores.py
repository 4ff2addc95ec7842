"""Checks of scores and runs: ties, unjudged documents, and what is missing on either side."""

from __future__ import annotations

import numpy as np

from pippin.data.quality import BoolArray, IntArray, count_per_query
from pippin.evaluation.audit.base import AuditInput, Effects, Finding, check, largest_cutoff, moving, of, some, verb
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import RankingCache
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools.classic import OFFICIAL
from pippin.kernels.measures import UNJUDGED


def _is_scored(audited: AuditInput) -> bool:
    return audited.scored is not None


def _is_run(audited: AuditInput) -> bool:
    return audited.run is not None


@check("tied", "tied scores", _is_scored)
def tied(audited: AuditInput) -> Finding | None:
    """Queries with equal scores, how many of them have equal scores with different labels, and how far they reach."""
    ranking = audited.ranking
    flags = ranking.tied_queries()
    number = int(flags.sum())
    if not number:
        return None
    heads = np.flatnonzero(ranking.tied == 0)[np.cumsum(ranking.tied == 0) - 1]
    mattering = count_per_query(ranking.labels != ranking.labels[heads], ranking.offsets) > 0
    documents = int(((ranking.tied != 0) | np.append(ranking.tied[1:] != 0, False)).sum())
    parts = [("tied documents", float(documents)), ("queries where labels differ", float(mattering.sum()))]
    for measure in audited.measures:
        for bound in ("worst", "best"):
            mean = audited.effects.attempt(measure, measure.under(OFFICIAL.replace(ties=bound)))
            parts += [] if np.isnan(mean) else [(f"{measure} with the {bound} order", mean)]
    return Finding(
        "tied", "warning" if mattering.any() else "info", number, len(flags),
        f"{of(number, len(flags), 'queries')} {verb(number, 'have', 'has')} tied scores ({documents:,} documents); in "
        f"{int(mattering.sum()):,} of them tied documents have different labels, so that their order counts",
        moving(audited.effects.of_axis("ties")),
        "Busa-Fekete et al. 2012, §3: neither the sort nor the document id should decide; official takes the "
        "expectation over all orders",
        some([ranking.query_ids[q] for q in np.flatnonzero(mattering if mattering.any() else flags)]),
        tuple(parts),
    )  # fmt: skip


@check("tied_float32", "scores that are tied in single precision only", _is_scored)
def tied_float32(audited: AuditInput) -> Finding | None:
    """Scores that differ, but not once a tool has rounded them to single precision."""
    single = audited.rankings.for_convention(
        OFFICIAL.replace(ties="input", query_selection="both", score_precision="float32")
    )
    fewer, more = (count_per_query(r.tied != 0, r.offsets) for r in (audited.ranking, single))
    flags = more > fewer
    number = int(flags.sum())
    if not number:
        return None
    return Finding(
        "tied_float32", "warning", number, len(flags),
        f"{of(number, len(flags), 'queries')} {verb(number, 'have', 'has')} scores that differ but are equal in single "
        "precision",
        moving(audited.effects.of_axis("score_precision")),
        "write scores with at most 6 significant digits apart, or replace them by ranks",
        some([single.query_ids[q] for q in np.flatnonzero(flags)]),
    )  # fmt: skip


class Condensed(RankingCache):
    """The same rankings without the documents that nobody judged."""

    def for_convention(self, convention: Convention) -> Ranking:
        """The ranking under a convention, condensed."""
        return condense(super().for_convention(convention))


def condense(ranking: Ranking) -> Ranking:
    """A ranking without its unjudged documents; those that are left stay tied where they were."""
    kept = np.flatnonzero(ranking.labels != UNJUDGED)
    group = np.cumsum(ranking.tied == 0)[kept]
    offsets = np.searchsorted(kept, ranking.offsets).astype(np.int64)
    still_tied = np.concatenate((np.zeros(min(1, len(kept)), np.uint8), (group[1:] == group[:-1]).astype(np.uint8)))
    return Ranking(
        ranking.query_ids, ranking.labels[kept], offsets, still_tied, ranking.pool, ranking.pool_offsets,
        ranking.expected,
    )  # fmt: skip


@check("unjudged", "documents that nobody judged among the first", _is_run)
def unjudged(audited: AuditInput) -> Finding | None:
    """Documents of the run that have no judgement, among the first k."""
    ranking, cutoff = audited.ranking, largest_cutoff(audited.measures)
    flags = ranking.labels == UNJUDGED
    if not flags.any():
        return None
    position = np.arange(len(flags)) - np.repeat(ranking.offsets[:-1], ranking.sizes())
    number, total = _above(flags, position, cutoff)
    parts = []
    for k in audited.cutoffs:
        holes, places = _above(flags, position, k)
        parts.append((f"of the first {k}", holes / places if places else 0.0))
    queries = np.flatnonzero(count_per_query(flags & (position < cutoff), ranking.offsets) > 0)
    whole = Effects(audited.rankings, audited.measures, settled=False)
    condensed = Effects(Condensed(audited.judged, audited.rankings.run), audited.measures, settled=False)
    return Finding(
        "unjudged", "warning" if number else "info", number, total,
        f"{of(number, total, f'documents among the first {cutoff}')} {verb(number, 'are', 'is')} not judged, in "
        f"{len(queries):,} of {len(ranking.query_ids):,} queries ({int(flags.sum()):,} in the whole run)",
        moving(whole.against(condensed, lambda _: "counts them as not relevant (against the run without them)")),
        "Busa-Fekete et al. 2012, footnote 14: judgements are often pooled, so that a document nobody judged may well "
        "be relevant; compare also with the unjudged left out, or by bpref",
        some([ranking.query_ids[q] for q in queries]),
        tuple(parts),
    )  # fmt: skip


def _above(flags: BoolArray, position: IntArray, cutoff: int) -> tuple[int, int]:
    """How many of the first k are flagged, and how many there are."""
    first = position < cutoff
    return int((flags & first).sum()), int(first.sum())


@check("unretrieved", "relevant documents that were not retrieved", _is_run)
def unretrieved(audited: AuditInput) -> Finding | None:
    """Relevant documents that the run does not contain, in queries that it answers."""
    ranking = audited.ranking
    relevant = count_per_query(ranking.pool >= 1, ranking.pool_offsets)
    missing = relevant - count_per_query(ranking.labels >= 1, ranking.offsets)
    number, total = int(missing.sum()), int(relevant.sum())
    if not number:
        return None
    effects = audited.effects.of_axis("ideal_source") + audited.effects.of_axis("ap_denominator")
    return Finding(
        "unretrieved", "warning", number, total,
        f"{of(number, total, 'relevant documents')} {verb(number, 'are', 'is')} not in the run, in "
        f"{int((missing > 0).sum()):,} of {len(ranking.query_ids):,} queries",
        moving(effects),
        examples=some([ranking.query_ids[q] for q in np.flatnonzero(missing > 0)]),
    )  # fmt: skip


@check("missing", "judged queries that the run does not answer", _is_run)
def missing(audited: AuditInput) -> Finding | None:
    """Judged queries without a line in the run."""
    answered = set(audited.run.query_ids if audited.run else ())
    names = [query for query in audited.judged.query_ids if query not in answered]
    if not names:
        return None
    return Finding(
        "missing", "warning", len(names), audited.queries,
        f"{of(len(names), audited.queries, 'judged queries')} {verb(len(names), 'are', 'is')} missing from the run",
        moving(audited.effects.of_axis("query_selection")),
        "count them as 0 (trec_eval -c), or a system gains by keeping silent",
        some(names),
    )  # fmt: skip


@check("surplus", "queries of the run that are not judged", _is_run)
def surplus(audited: AuditInput) -> Finding | None:
    """Queries of the run that nobody judged: no tool counts them."""
    judged = set(audited.judged.query_ids)
    ids = audited.run.query_ids if audited.run else ()
    names = [query for query in ids if query not in judged]
    if not names:
        return None
    return Finding(
        "surplus", "info", len(names), len(ids),
        f"{of(len(names), len(ids), 'queries of the run')} {verb(len(names), 'are', 'is')} not judged; no tool counts "
        f"{verb(len(names), 'them', 'it')}",
        examples=some(names),
    )  # fmt: skip
