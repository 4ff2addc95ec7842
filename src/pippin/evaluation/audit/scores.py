"""Checks of scores and runs: ties, unjudged and missing documents, and documents that NDCG ignores."""

from __future__ import annotations

import numpy as np

from pippin.data.quality import BoolArray, IntArray, count_per_query, query_of_rows
from pippin.evaluation.audit.base import (
    AuditInput,
    Effect,
    Effects,
    Finding,
    check,
    count_of,
    first_names,
    largest_cutoff,
    tools_with,
)
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import RankingCache, measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools.classic import OFFICIAL
from pippin.kernels.measures import UNJUDGED


def _is_scored(audited: AuditInput) -> bool:
    return audited.scores is not None


def _is_run(audited: AuditInput) -> bool:
    return audited.run is not None


def _ndcg_measures(audited: AuditInput) -> list[Measure]:
    return [measure for measure in audited.measures if measure.kind == "NDCG"]


def _has_ndcg_of_run(audited: AuditInput) -> bool:
    return _is_run(audited) and bool(_ndcg_measures(audited))


@check("tied", "tied scores", _is_scored)
def check_ties(audited: AuditInput) -> Finding | None:
    """Count queries with equal scores and those in which tied documents have different labels."""
    ranking = audited.ranking
    flags = ranking.tied_queries()
    number = int(flags.sum())
    if not number:
        return None
    heads = np.flatnonzero(ranking.tied == 0)[np.cumsum(ranking.tied == 0) - 1]
    has_different_labels = count_per_query(ranking.labels != ranking.labels[heads], ranking.offsets) > 0
    documents = int(((ranking.tied != 0) | np.append(ranking.tied[1:] != 0, False)).sum())
    parts = [
        ("tied documents", float(documents)), ("queries where labels differ", float(has_different_labels.sum()))
    ]  # fmt: skip
    for measure in audited.measures:
        for bound in ("worst", "best"):
            mean = audited.effects.mean_or_nan(measure, audited.base.convention_for(measure, ties=bound))
            parts += [] if np.isnan(mean) else [(f"{measure} with the {bound} order", mean)]
    return Finding(
        "tied", "warning" if has_different_labels.any() else "info", number, len(flags),
        f"{count_of(number, len(flags), 'queries', 'have')} tied scores ({documents:,} "
        f"documents); in {int(has_different_labels.sum()):,} of them tied documents have different labels, so that "
        "their order counts",
        audited.effects.by_axis("ties"),
        "Busa-Fekete et al. 2012, §3: neither the sort nor the document id should decide; official computes the "
        "expectation over all orders",
        first_names([ranking.query_ids[q] for q in np.flatnonzero(
            has_different_labels if has_different_labels.any() else flags)]),
        tuple(parts),
    )  # fmt: skip


@check("tied_float32", "scores that are tied in single precision only", _is_scored)
def check_single_precision(audited: AuditInput) -> Finding | None:
    """Count queries with scores that differ but are equal after rounding to single precision."""
    single = audited.rankings.for_convention(
        OFFICIAL.replace(ties="input", query_selection="both", score_precision="float32")
    )
    ties_in_double, ties_in_single = (count_per_query(r.tied != 0, r.offsets) for r in (audited.ranking, single))
    flags = ties_in_single > ties_in_double
    number = int(flags.sum())
    if not number:
        return None
    return Finding(
        "tied_float32", "warning", number, len(flags),
        f"{count_of(number, len(flags), 'queries', 'have')} scores that differ but are equal in "
        "single precision",
        audited.effects.by_axis("score_precision"),
        "write scores that differ in their first 6 significant digits, or replace them by ranks",
        first_names([single.query_ids[q] for q in np.flatnonzero(flags)]),
    )  # fmt: skip


class JudgedOnly(RankingCache):
    """The same rankings without unjudged documents."""

    def for_convention(self, convention: Convention) -> Ranking:
        """Return the ranking under a convention, without unjudged documents."""
        ranking = super().for_convention(convention)
        return ranking.drop(ranking.labels == UNJUDGED)


@check("unjudged", "unjudged documents among the first", _is_run)
def check_unjudged(audited: AuditInput) -> Finding | None:
    """Count unjudged documents among the first k of the run."""
    ranking, cutoff = audited.ranking, largest_cutoff(audited.measures)
    flags = ranking.labels == UNJUDGED
    if not flags.any():
        return None
    position = _positions(ranking)
    number, total = _count_above(flags, position, cutoff)
    parts = []
    for k in audited.cutoffs:
        unjudged, retrieved = _count_above(flags, position, k)
        parts.append((f"of the first {k}", unjudged / retrieved if retrieved else 0.0))
    queries = np.flatnonzero(count_per_query(flags & (position < cutoff), ranking.offsets) > 0)
    judged_only = Effects(JudgedOnly(audited.qrels, audited.rankings.run), audited.measures, audited.base)
    return Finding(
        "unjudged", "warning" if number else "info", number, total,
        f"{count_of(number, total, f'documents among the first {cutoff}', 'are')} not judged, in "
        f"{len(queries):,} of {len(ranking.query_ids):,} queries ({int(flags.sum()):,} in the whole run)",
        audited.effects.compared_to(
            judged_only, lambda _: "counts them as not relevant (against the run without them)"),
        "Busa-Fekete et al. 2012, footnote 14: judgements are often pooled, so an unjudged document may be relevant; "
        "also compare without the unjudged documents, or by Bpref",
        first_names([ranking.query_ids[q] for q in queries]),
        tuple(parts),
    )  # fmt: skip


def _positions(ranking: Ranking) -> IntArray:
    """Return the position of each document in its list, from 0."""
    return np.arange(len(ranking.labels)) - np.repeat(ranking.offsets[:-1], ranking.sizes())


def _count_above(flags: BoolArray, position: IntArray, cutoff: int) -> tuple[int, int]:
    """Return the number of flagged documents among the first k, and of all among the first k."""
    is_above = position < cutoff
    return int((flags & is_above).sum()), int(is_above.sum())


@check("unretrieved", "relevant documents that were not retrieved", _is_run)
def check_unretrieved(audited: AuditInput) -> Finding | None:
    """Count relevant documents that the run lacks, in the queries of the run."""
    ranking = audited.ranking
    lacking = _count_unretrieved(ranking)
    number, total = int(lacking.sum()), int((ranking.pool >= 1).sum())
    if not number:
        return None
    return Finding(
        "unretrieved", "warning", number, total,
        f"{count_of(number, total, 'relevant documents', 'are')} not in the run, in "
        f"{int((lacking > 0).sum()):,} of {len(ranking.query_ids):,} queries",
        audited.effects.by_axis("ideal_source") + audited.effects.by_axis("ap_denominator"),
        examples=first_names([ranking.query_ids[q] for q in np.flatnonzero(lacking > 0)]),
    )  # fmt: skip


def _count_unretrieved(ranking: Ranking) -> IntArray:
    """Return the number of relevant documents per query that the list lacks."""
    relevant = count_per_query(ranking.pool >= 1, ranking.pool_offsets)
    return relevant - count_per_query(ranking.labels >= 1, ranking.offsets)


@check("ndcg_extra", "irrelevant documents that NDCG ignores", _has_ndcg_of_run)
def check_ignored_irrelevant(audited: AuditInput) -> Finding | None:
    """Count queries whose NDCG stays the same without the irrelevant documents at the end of the list."""
    ranking, measures = audited.ranking, _ndcg_measures(audited)
    cutoff = largest_cutoff(measures)
    position = _positions(ranking)
    is_relevant = (ranking.labels >= 1) & (position < cutoff)
    group = np.cumsum(ranking.tied == 0)  # documents with the score of a relevant one may rank before it
    last_group = np.full(len(ranking.query_ids), -1)
    np.maximum.at(last_group, query_of_rows(ranking.offsets)[is_relevant], group[is_relevant])
    is_ignored = (position < cutoff) & (group > np.repeat(last_group, ranking.sizes()))
    is_ignored &= np.repeat(last_group >= 0, ranking.sizes())
    ignored = count_per_query(is_ignored, ranking.offsets)
    queries = [ranking.query_ids[q] for q in np.flatnonzero(ignored > 0)]
    if not queries:
        return None
    hits = count_per_query(is_relevant, ranking.offsets)[ignored > 0]
    listed = np.minimum(ranking.sizes(), cutoff)[ignored > 0]
    return Finding(
        "ndcg_extra", "info", len(queries), len(ranking.query_ids),
        f"{count_of(len(queries), len(ranking.query_ids), 'queries', 'have')} irrelevant "
        f"documents below the last relevant one of the first {cutoff} ({int(ignored.sum()):,} documents); "
        f"{' and '.join(map(str, measures))} would be the same without them",
        recommendation="NDCG does not penalise irrelevant documents at the end of a list; if the number of results "
        "matters, also report precision of the retrieved set (P without a cutoff)",
        examples=first_names(queries),
        parts=(("precision of these lists", float((hits / listed).mean())),
               ("precision without the ignored documents", float((hits / (listed - ignored[ignored > 0])).mean()))),
        queries=tuple(queries),
    )  # fmt: skip


class RetrievedOnly(RankingCache):
    """The same rankings, judged as if the documents that are not retrieved did not exist."""

    def for_convention(self, convention: Convention) -> Ranking:
        """Return the ranking under a convention, with a pool of the retrieved documents."""
        return super().for_convention(convention.replace(pool_source="list"))


@check("ndcg_missing", "missing relevant documents that NDCG ignores", _has_ndcg_of_run)
def check_ignored_missing(audited: AuditInput) -> Finding | None:
    """Count queries whose NDCG stays the same as if the missing relevant documents did not exist."""
    ranking = audited.ranking
    lacking = dict(zip(ranking.query_ids, _count_unretrieved(ranking).tolist(), strict=True))
    lacking = {query: count for query, count in lacking.items() if count}
    retrieved_only = RetrievedOnly(audited.qrels, audited.rankings.run)
    effects: list[Effect] = []
    affected: set[str] = set()
    for measure in _ndcg_measures(audited):
        groups: dict[int, list[str]] = {}
        for tool in (audited.base, *tools_with(measure)):
            convention = tool.convention_for(measure)
            values, without = (
                dict(zip(r.query_ids, measure_values(r, measure, convention).tolist(), strict=True))
                for r in (cache.for_convention(convention) for cache in (audited.rankings, retrieved_only))
            )
            same = {
                query for query in lacking if values.get(query, 0) > 0 and abs(values[query] - without[query]) < 1e-12
            }
            affected |= same if tool is audited.base else set()
            groups.setdefault(len(same), []).append(tool.name)
        effects += [
            Effect(measure.text, tuple(dict.fromkeys(tools)), f"ignores them in {count:,} of {len(lacking):,} queries")
            for count, tools in sorted(groups.items(), reverse=True) if count
        ]  # fmt: skip
    if not effects:
        return None
    queries = [query for query in lacking if query in affected]
    number = len(queries)
    recall = [1 - lacking[query] / relevant for query, relevant in _relevant(ranking).items() if query in affected]
    return Finding(
        "ndcg_missing", "info", number, len(lacking),
        f"{count_of(number, len(lacking), 'queries with missing relevant documents', 'have')} the same NDCG under "
        f"{audited.base.name} as if these documents did not exist",
        tuple(effects),
        "NDCG does not penalise a relevant document that is missing if the ideal list is made from the retrieved "
        "documents or is full without it; also report Recall or AP",
        first_names(queries),
        (("Recall of these queries", float(np.mean(recall))),) if recall else (),
        tuple(queries),
    )  # fmt: skip


def _relevant(ranking: Ranking) -> dict[str, int]:
    """Return the number of relevant documents per query."""
    relevant = count_per_query(ranking.pool >= 1, ranking.pool_offsets)
    return dict(zip(ranking.query_ids, relevant.tolist(), strict=True))


@check("missing", "judged queries that the run lacks", _is_run)
def check_missing_queries(audited: AuditInput) -> Finding | None:
    """Count judged queries that are not in the run."""
    answered = set(audited.run.query_ids if audited.run else ())
    names = [query for query in audited.qrels.query_ids if query not in answered]
    if not names:
        return None
    return Finding(
        "missing", "warning", len(names), audited.queries,
        f"{count_of(len(names), audited.queries, 'judged queries', 'are')} missing from the "
        "run",
        audited.effects.by_axis("query_selection"),
        "count them as 0 (trec_eval -c); otherwise a system gains by leaving out hard queries",
        first_names(names),
    )  # fmt: skip


@check("surplus", "queries of the run that are not judged", _is_run)
def check_unjudged_queries(audited: AuditInput) -> Finding | None:
    """Count queries of the run without judgements."""
    judged_ids = set(audited.qrels.query_ids)
    ids = audited.run.query_ids if audited.run else ()
    names = [query for query in ids if query not in judged_ids]
    if not names:
        return None
    return Finding(
        "surplus", "info", len(names), len(ids),
        f"{count_of(len(names), len(ids), 'queries of the run', 'are')} not judged and ignored by all "
        "tools",
        examples=first_names(names),
    )  # fmt: skip
