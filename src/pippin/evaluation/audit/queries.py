"""Checks of queries and labels: what tools disagree about for every system."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels
from pippin.data.quality import Layout, count_per_query, repeated_documents
from pippin.errors import ConventionError
from pippin.evaluation.audit.base import (
    AuditInput,
    Effect,
    Finding,
    check,
    count_of,
    depends_on,
    first_names,
    largest_cutoff,
    tools_with,
)


def _has_folds(audited: AuditInput) -> bool:
    return audited.layout is not None


@check("leak", "queries that are in more than one part", _has_folds)
def check_leaks(audited: AuditInput) -> Finding | None:
    """Count queries shared between the training, validation and test part of one fold."""
    layout = audited.layout or {}
    shared: dict[str, None] = {}
    parts: list[tuple[str, float]] = []
    for fold, files in layout.items():
        for a, b in combinations(files, 2):
            both = sorted(set(files[a].query_ids) & set(files[b].query_ids))
            shared |= dict.fromkeys(both)
            parts += [(f"{fold} {a} and {b}".lstrip(), len(both))] if both else []
    if not shared:
        return None
    total = len({query for files in layout.values() for part in files.values() for query in part.query_ids})
    where = "; ".join(f"{place} share {int(count):,}" for place, count in parts[:5])
    return Finding(
        "leak", "error", len(shared), total,
        f"{count_of(len(shared), total, 'queries', 'are')} in more than one part: {where}",
        recommendation="remove them from all but one part: a model trained on its test queries cannot be compared",
        examples=first_names(list(shared)), parts=tuple(parts),
    )  # fmt: skip


@check("rotation", "folds that are not a rotation", lambda s: len(s.layout or {}) > 1)
def check_rotation(audited: AuditInput) -> Finding | None:
    """Find folds that differ from LETOR's: fold i validates on the test part of fold i − 1 and trains on the others.

    For five parts this is Table 4 of Qin et al. 2010: fold i trains on S_i, S_i+1, S_i+2, validates on S_i+3 and
    tests on S_i+4.
    """
    layout = audited.layout or {}
    tests = {fold: frozenset(_part(layout, fold, "test")) for fold in layout}
    every = frozenset(query for files in layout.values() for part in files.values() for query in part.query_ids)
    wrong: list[str] = []
    for a, b in combinations(layout, 2):
        if tests[a] & tests[b]:
            wrong.append(f"{a} and {b} test on {len(tests[a] & tests[b]):,} common queries")
    never = every - frozenset().union(*tests.values())
    if never:
        wrong.append(f"{len(never):,} queries are never tested")
    folds = list(layout)
    odd = set()
    for i, fold in enumerate(folds):
        validated, trained = _part(layout, fold, "vali"), _part(layout, fold, "train")
        if validated != tests[folds[i - 1]]:
            wrong.append(f"{fold} does not validate on the test part of {folds[i - 1]}")
            odd.add(fold)
        if trained != every - tests[fold] - validated:
            wrong.append(f"{fold} does not train on all the other parts")
            odd.add(fold)
    if not wrong:
        return None
    return Finding(
        "rotation", "warning", max(len(odd), 1), len(folds),
        f"the {len(folds)} folds are not a rotation: {'; '.join(wrong[:5])}{'; …' if len(wrong) > 5 else ''}",
        recommendation="LETOR (Qin et al. 2010, Table 4): fold i trains on S_i, S_i+1, S_i+2, validates on S_i+3 and "
        "tests on S_i+4, so that every query is tested once; otherwise means over folds are not means over queries",
        examples=first_names(sorted(odd)),
    )  # fmt: skip


def _part(layout: Layout, fold: str, name: str) -> frozenset[str]:
    part = layout[fold].get(name)
    return frozenset(part.query_ids) if part else frozenset()


@check("feature_numbers", "parts with different numbers of features", _has_folds)
def check_feature_numbers(audited: AuditInput) -> Finding | None:
    """Find parts with fewer features than others: a model trained on one part cannot rank another."""
    widths = {f"{fold} {name}".lstrip(): part.features for fold, files in (audited.layout or {}).items()
              for name, part in files.items()}  # fmt: skip
    most = max(widths.values(), default=0)
    narrow = [place for place, width in widths.items() if width < most]
    if not narrow:
        return None
    sizes = ", ".join(f"{place} {widths[place]}" for place in narrow[:5])
    return Finding(
        "feature_numbers", "warning", len(narrow), len(widths),
        f"{count_of(len(narrow), len(widths), 'parts', 'have')} fewer than {most} features: "
        f"{sizes}{', …' if len(narrow) > 5 else ''}",
        recommendation=f"read all parts with {most} features; features that a sparse file omits are 0",
        examples=first_names(narrow), parts=tuple((place, width) for place, width in widths.items()),
    )  # fmt: skip


_PAPER = "Busa-Fekete et al. 2012"


@check("labels", "labels")
def check_labels(audited: AuditInput) -> Finding | None:
    """Count labels, and compare the gains that tools use for them."""
    values, counts = np.unique(audited.qrels.labels, return_counts=True)
    total = len(audited.qrels.labels)
    if not total:
        return Finding("labels", "error", 0, 0, "no document is judged")
    relevant = int(counts[values >= 1].sum())
    graded = audited.scores is not None and values[-1] > 1
    return Finding(
        "labels", "info", relevant, total,
        f"{count_of(relevant, total, 'documents', 'have')} a label of 1 or more"
        f"{', and labels are graded' if graded else ''}",
        audited.effects.by_axis("gain") if graded else (),
        parts=tuple((f"label {v}", int(c)) for v, c in zip(values, counts, strict=True)),
    )  # fmt: skip


@check("empty", "queries without a relevant document")
def check_empty(audited: AuditInput) -> Finding | None:
    """Count queries without a relevant document: tools count 0, 1, or leave them out."""
    flags = count_per_query(audited.qrels.labels >= 1, audited.qrels.offsets) == 0
    number = int(flags.sum())
    if not number:
        return None
    return Finding(
        "empty", "error" if number == audited.queries else "warning", number, audited.queries,
        f"{count_of(number, audited.queries, 'queries', 'have')} no relevant document",
        audited.effects.by_axis("empty"),
        f"{_PAPER}, §6: remove such queries from a benchmark, because no model can learn from them; report final "
        "results by the definition (official: 0)",
        first_names(audited.names(flags)),
    )  # fmt: skip


@check("short", "lists shorter than the cutoff")
def check_short(audited: AuditInput) -> Finding | None:
    """Count lists of fewer than k documents: some tools count 0 for NDCG@k or P@k."""
    sizes, names = _sizes(audited)
    cutoff = largest_cutoff(audited.measures)
    flags = sizes < cutoff
    number = int(flags.sum())
    if not number:
        return None
    kind = "judged documents" if isinstance(audited.qrels, Qrels) and audited.run is None else "documents"
    effects = audited.effects.by_axis("short_lists") + audited.effects.by_axis("precision_denominator")
    return Finding(
        "short", "warning", number, len(sizes),
        f"{count_of(number, len(sizes), 'queries', 'have')} fewer than {cutoff} {kind}",
        effects,
        f"{_PAPER}, §6: avoid tools that count 0 for short lists; they favour systems that are good on long lists and "
        "cannot learn from short ones",
        first_names([names[q] for q in np.flatnonzero(flags)]),
        tuple((f"< {k}", int((sizes < k).sum())) for k in audited.cutoffs),
    )  # fmt: skip


def _sizes(audited: AuditInput) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the number of documents per query (of the run, if there is one) and the query ids."""
    if audited.run is not None:
        return audited.ranking.sizes(), audited.ranking.query_ids
    return np.diff(audited.qrels.offsets), audited.qrels.query_ids


@check("single", "queries of one document")
def check_single(audited: AuditInput) -> Finding | None:
    """Count queries with one document, which every system ranks alike."""
    sizes, names = _sizes(audited)
    number = int((sizes == 1).sum())
    if not number:
        return None
    return Finding(
        "single", "info", number, len(sizes),
        f"{count_of(number, len(sizes), 'queries', 'have')} a single document: every system ranks "
        "it alike",
        examples=first_names([names[q] for q in np.flatnonzero(sizes == 1)]),
    )  # fmt: skip


@check("constant_labels", "queries whose documents all have one label")
def check_constant_labels(audited: AuditInput) -> Finding | None:
    """Count queries whose labels are all equal: every ranking of them has the same value."""
    qrels = audited.qrels
    filled = np.diff(qrels.offsets) > 0
    first = np.zeros(audited.queries, np.int32)
    first[filled] = qrels.labels[qrels.offsets[:-1][filled]]
    sizes = np.diff(qrels.offsets)
    same = count_per_query(qrels.labels == np.repeat(first, sizes), qrels.offsets) == sizes
    flags = filled & same & (first >= 1)
    number, without = int(flags.sum()), int((filled & same & (first < 1)).sum())
    if not number:
        return None
    return Finding(
        "constant_labels", "info", number, audited.queries,
        f"{count_of(number, audited.queries, 'queries', 'have')} only relevant documents with the same "
        f"label, so that a model cannot learn from their pairs ({without:,} more have only irrelevant documents)",
        _constant_parts(audited, flags) if audited.run is None else (),
        examples=first_names(audited.names(flags)),
    )  # fmt: skip


def _constant_parts(audited: AuditInput, flags: NDArray[np.bool_]) -> tuple[Effect, ...]:
    """Return the part of each mean that comes from these queries, which is the same for every system."""
    effects: list[Effect] = []
    for measure in audited.measures:
        groups: dict[float, list[str]] = {}
        for tool in tools_with(measure):
            try:
                _, values = audited.ceiling.values(
                    measure, tool.convention_for(measure).replace(query_selection="judged")
                )
            except ConventionError:  # reported by the check of labels that a tool does not know
                continue
            part = np.nansum(values[flags]) / max(int((~np.isnan(values)).sum()), 1)
            groups.setdefault(round(float(part), 6), []).append(tool.name)
        effects += [
            Effect(measure.text, tuple(names), "of every system's mean comes from them", part, is_change=False)
            for part, names in sorted(groups.items(), reverse=True)
        ]
    return tuple(effects)


@check("high_labels", "labels that a tool does not know")
def check_high_labels(audited: AuditInput) -> Finding | None:
    """Count labels above the highest that a tool knows: it counts them as 0, or refuses the data."""
    limits = _axis_values(audited, "max_valid_label")
    refusals = audited.effects.refusals()
    highest = int(audited.qrels.labels.max(initial=0))
    least = min((top for top in limits if top is not None), default=highest)
    number = int((audited.qrels.labels > least).sum())
    if not number and not refusals:
        return None
    rows = np.flatnonzero(audited.qrels.labels > least)
    return Finding(
        "high_labels", "warning", number, len(audited.qrels.labels),
        f"{count_of(number, len(audited.qrels.labels), 'documents', 'have')} a label above {least}, "
        "the highest label that some tools know" if number else "some tools refuse these data",
        (*audited.effects.by_axis("max_valid_label"), *refusals),
        examples=first_names([audited.document(int(row)) for row in rows[:5]]),
    )  # fmt: skip


@check(
    "weak_labels",
    "labels that only some tools count as relevant",
    lambda audited: any(depends_on(measure, "relevance_threshold") for measure in audited.measures),
)
def check_weak_labels(audited: AuditInput) -> Finding | None:
    """Count labels of 1 or more that are below the relevance threshold of a tool."""
    highest = max(_axis_values(audited, "relevance_threshold"), default=1)
    labels = audited.qrels.labels
    number = int(((labels >= 1) & (labels < highest)).sum())
    if not number:
        return None
    return Finding(
        "weak_labels", "info", number, len(labels),
        f"{count_of(number, len(labels), 'documents', 'have')} "
        f"{f'a label from 1 to {highest - 1}' if highest > 2 else 'label 1'}, which not every tool counts as relevant",
        audited.effects.by_axis("relevance_threshold"),
    )  # fmt: skip


def _axis_values(audited: AuditInput, axis: str) -> set[Any]:
    """Return the choices of tools on an axis, for the measures that it can change."""
    return {
        getattr(tool.convention_for(measure), axis)
        for measure in audited.measures
        if depends_on(measure, axis)
        for tool in tools_with(measure)
    }


@check("repeated", "documents that are twice in a query", lambda audited: audited.qrels.document_ids is not None)
def check_repeated(audited: AuditInput) -> Finding | None:
    """Count documents that are listed twice for one query."""
    qrels = audited.qrels
    if qrels.document_ids is None:
        return None
    rows = np.flatnonzero(repeated_documents(qrels.document_ids, qrels.offsets))
    number = len(rows)
    if not number:
        return None
    by_id = "looks up judgements by document id, so that only one of the labels counts"
    by_row = "ranks the rows, so that the document counts once per row"
    effects = []
    for measure in audited.measures:
        groups: dict[str, list[str]] = {}
        for tool in tools_with(measure):
            ideal = tool.convention_for(measure).ideal_source
            groups.setdefault(by_id if ideal == "judged" else by_row, []).append(tool.name)
        effects += [Effect(measure.text, tuple(names), does) for does, names in groups.items()]
    return Finding(
        "repeated", "error", number, len(qrels.labels),
        f"{count_of(number, len(qrels.labels), 'documents', 'repeat')} a document of the same "
        "query" if isinstance(qrels, Dataset) else
        f"{count_of(number, len(qrels.labels), 'judgements', 'repeat')} a document of the same "
        "query",
        tuple(effects), "keep one row for each document of a query",
        first_names([audited.document(int(row)) for row in rows[:5]]),
    )  # fmt: skip
