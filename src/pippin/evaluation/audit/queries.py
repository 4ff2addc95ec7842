"""Checks of queries and labels: what tools disagree about before any system has been scored."""

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
    depends,
    largest_cutoff,
    moving,
    of,
    printing,
    some,
    verb,
)


def _has_folds(audited: AuditInput) -> bool:
    return audited.layout is not None


@check("leak", "queries that are in more than one part", _has_folds)
def leak(audited: AuditInput) -> Finding | None:
    """Queries shared between the training, validation and test part of one fold."""
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
        f"{of(len(shared), total, 'queries')} {verb(len(shared), 'are', 'is')} in more than one part: {where}",
        recommendation="take them out of all but one part: a model that has seen its test queries cannot be compared",
        examples=some(list(shared)), parts=tuple(parts),
    )  # fmt: skip


@check("rotation", "folds that are not a rotation", lambda s: len(s.layout or {}) > 1)
def rotation(audited: AuditInput) -> Finding | None:
    """Folds that are not LETOR's: fold i tests on one part, validates on fold i−1's, and trains on all the others.

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
        examples=some(sorted(odd)),
    )  # fmt: skip


def _part(layout: Layout, fold: str, name: str) -> frozenset[str]:
    part = layout[fold].get(name)
    return frozenset(part.query_ids) if part else frozenset()


@check("feature_numbers", "parts with different numbers of features", _has_folds)
def feature_numbers(audited: AuditInput) -> Finding | None:
    """Parts that have fewer features than others: a model trained on one fails on, or misreads, the other."""
    widths = {f"{fold} {name}".lstrip(): part.features for fold, files in (audited.layout or {}).items()
              for name, part in files.items()}  # fmt: skip
    most = max(widths.values(), default=0)
    narrow = [place for place, width in widths.items() if width < most]
    if not narrow:
        return None
    shown = ", ".join(f"{place} {widths[place]}" for place in narrow[:5])
    return Finding(
        "feature_numbers", "warning", len(narrow), len(widths),
        f"{of(len(narrow), len(widths), 'parts')} {verb(len(narrow), 'have', 'has')} fewer than {most} features: "
        f"{shown}{', …' if len(narrow) > 5 else ''}",
        recommendation=f"read all parts with {most} features; what a sparse file leaves out is 0",
        examples=some(narrow), parts=tuple((place, width) for place, width in widths.items()),
    )  # fmt: skip


_PAPER = "Busa-Fekete et al. 2012"


@check("labels", "labels")
def labels(audited: AuditInput) -> Finding | None:
    """How often each label occurs, and which tools take the label itself for the gain."""
    values, counts = np.unique(audited.judged.labels, return_counts=True)
    total = len(audited.judged.labels)
    if not total:
        return Finding("labels", "error", 0, 0, "no document is judged")
    relevant = int(counts[values >= 1].sum())
    graded = audited.scored is not None and values[-1] > 1
    return Finding(
        "labels", "info", relevant, total, f"{of(relevant, total, 'documents')} have a label of 1 or more",
        moving(audited.effects.of_axis("gain")) if graded else (),
        parts=tuple((f"label {v}", int(c)) for v, c in zip(values, counts, strict=True)),
    )  # fmt: skip


@check("empty", "queries without a relevant document")
def empty(audited: AuditInput) -> Finding | None:
    """Queries without a relevant document: tools count 0, 1, or leave them out."""
    flags = count_per_query(audited.judged.labels >= 1, audited.judged.offsets) == 0
    number = int(flags.sum())
    if not number:
        return None
    return Finding(
        "empty", "error" if number == audited.queries else "warning", number, audited.queries,
        f"{of(number, audited.queries, 'queries')} {verb(number, 'have', 'has')} no relevant document",
        moving(audited.effects.of_axis("empty")),
        f"{_PAPER}, §6: a benchmark should be free of such queries, for nothing can be learned from them; a tool that "
        "counts 1 does no harm in training, but final results are to be given by the definition (official: 0)",
        some(audited.names(flags)),
    )  # fmt: skip


@check("short", "lists shorter than the cutoff")
def short(audited: AuditInput) -> Finding | None:
    """Lists of fewer than k documents: some tools count 0 for NDCG@k or P@k."""
    sizes, names = _sizes(audited)
    cutoff = largest_cutoff(audited.measures)
    flags = sizes < cutoff
    number = int(flags.sum())
    if not number:
        return None
    kind = "judged documents" if isinstance(audited.judged, Qrels) and audited.run is None else "documents"
    effects = audited.effects.of_axis("short_lists") + audited.effects.of_axis("precision_denominator")
    return Finding(
        "short", "warning", number, len(sizes),
        f"{of(number, len(sizes), 'queries')} {verb(number, 'have', 'has')} fewer than {cutoff} {kind}",
        moving(effects),
        f"{_PAPER}, §6: avoid tools that give short queries 0; they favour systems that are good on long lists, and "
        "such queries are lost for training",
        some([names[q] for q in np.flatnonzero(flags)]),
        tuple((f"< {k}", int((sizes < k).sum())) for k in audited.cutoffs),
    )  # fmt: skip


def _sizes(audited: AuditInput) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Documents by query (of the run, where there is one), and the queries' names."""
    if audited.run is not None:
        return audited.ranking.sizes(), audited.ranking.query_ids
    return np.diff(audited.judged.offsets), audited.judged.query_ids


@check("single", "queries of one document")
def single(audited: AuditInput) -> Finding | None:
    """Queries of one document: there is nothing to rank."""
    sizes, names = _sizes(audited)
    number = int((sizes == 1).sum())
    if not number:
        return None
    return Finding(
        "single", "info", number, len(sizes),
        f"{of(number, len(sizes), 'queries')} {verb(number, 'have', 'has')} a single document: every system ranks "
        f"{verb(number, 'them', 'it')} alike",
        examples=some([names[q] for q in np.flatnonzero(sizes == 1)]),
    )  # fmt: skip


@check("constant_labels", "queries whose documents all have one label")
def constant_labels(audited: AuditInput) -> Finding | None:
    """Queries with a relevant document whose labels are all equal: every ranking of them scores the same."""
    judged = audited.judged
    filled = np.diff(judged.offsets) > 0
    first = np.zeros(audited.queries, np.int32)
    first[filled] = judged.labels[judged.offsets[:-1][filled]]
    sizes = np.diff(judged.offsets)
    same = count_per_query(judged.labels == np.repeat(first, sizes), judged.offsets) == sizes
    flags = filled & same & (first >= 1)
    number, without = int(flags.sum()), int((filled & same & (first < 1)).sum())
    if not number and not without:
        return None
    return Finding(
        "constant_labels", "info", number, audited.queries,
        f"{of(number, audited.queries, 'queries')} {verb(number, 'have', 'has')} relevant documents only, all with the "
        f"same label, so that no pair can be learned from ({without:,} more are all not relevant)",
        _fixed(audited, flags) if audited.run is None else (),
        examples=some(audited.names(flags)),
    )  # fmt: skip


def _fixed(audited: AuditInput, flags: NDArray[np.bool_]) -> tuple[Effect, ...]:
    """The part of each mean that these queries make up, which is the same for every system."""
    effects: list[Effect] = []
    for measure in audited.measures:
        groups: dict[float, list[str]] = {}
        for tool in printing(measure):
            try:
                _, values = audited.ceiling.values(
                    measure, tool.convention_for(measure).replace(query_selection="judged")
                )
            except ConventionError:  # told by the check of labels that a tool does not know
                continue
            part = np.nansum(values[flags]) / max(int((~np.isnan(values)).sum()), 1)
            groups.setdefault(round(float(part), 6), []).append(tool.name)
        effects += [
            Effect(measure.text, tuple(names), "of every system's mean comes from them, whatever the ranking", part)
            for part, names in sorted(groups.items(), reverse=True)
        ]
    return tuple(effects)


@check("high_labels", "labels that a tool does not know")
def high_labels(audited: AuditInput) -> Finding | None:
    """Labels above the highest that a tool knows: it counts them as 0, or refuses."""
    known = _axis_values(audited, "max_valid_label")
    refused = audited.effects.refused()
    highest = int(audited.judged.labels.max(initial=0))
    least = min((top for top in known if top is not None), default=highest)
    number = int((audited.judged.labels > least).sum())
    if not number and not refused:
        return None
    rows = np.flatnonzero(audited.judged.labels > least)
    return Finding(
        "high_labels", "warning", number, len(audited.judged.labels),
        f"{of(number, len(audited.judged.labels), 'documents')} {verb(number, 'have', 'has')} a label above {least}, "
        "which is all that some tools know" if number else "some tools refuse this data",
        (*moving(audited.effects.of_axis("max_valid_label")), *refused),
        examples=some([audited.document(int(row)) for row in rows[:5]]),
    )  # fmt: skip


@check(
    "weak_labels",
    "labels that only some tools take for relevant",
    lambda audited: any(depends(measure, "relevance_threshold") for measure in audited.measures),
)
def weak_labels(audited: AuditInput) -> Finding | None:
    """Labels from 1 on that are below what a tool calls relevant."""
    highest = max(_axis_values(audited, "relevance_threshold"), default=1)
    judged = audited.judged.labels
    number = int(((judged >= 1) & (judged < highest)).sum())
    if not number:
        return None
    return Finding(
        "weak_labels", "info", number, len(judged),
        f"{of(number, len(judged), 'documents')} {verb(number, 'have', 'has')} a label from 1 to {highest - 1}, which "
        "not every tool calls relevant" if highest > 2 else
        f"{of(number, len(judged), 'documents')} {verb(number, 'have', 'has')} label 1, which not every tool calls "
        "relevant",
        moving(audited.effects.of_axis("relevance_threshold")),
    )  # fmt: skip


def _axis_values(audited: AuditInput, axis: str) -> set[Any]:
    """The values that tools have on an axis, for those measures asked for that the axis can change."""
    return {
        getattr(tool.convention_for(measure), axis)
        for measure in audited.measures
        if depends(measure, axis)
        for tool in printing(measure)
    }


@check("repeated", "documents that stand twice in a query", lambda s: s.judged.document_ids is not None)
def repeated(audited: AuditInput) -> Finding | None:
    """A document that is listed twice for one query."""
    judged = audited.judged
    if judged.document_ids is None:
        return None
    rows = np.flatnonzero(repeated_documents(judged.document_ids, judged.offsets))
    number = len(rows)
    if not number:
        return None
    by_id = "looks judgements up by document id, so that only one of the labels can count"
    by_row = "ranks the rows, so that the document is counted as often as it stands there"
    effects = []
    for measure in audited.measures:
        groups: dict[str, list[str]] = {}
        for tool in printing(measure):
            ideal = tool.convention_for(measure).ideal_source
            groups.setdefault(by_id if ideal == "judged" else by_row, []).append(tool.name)
        effects += [Effect(measure.text, tuple(names), does) for does, names in groups.items()]
    return Finding(
        "repeated", "error", number, len(judged.labels),
        f"{of(number, len(judged.labels), 'documents')} {verb(number, 'repeat', 'repeats')} a document of the same "
        "query" if isinstance(judged, Dataset) else
        f"{of(number, len(judged.labels), 'judgements')} {verb(number, 'are', 'is')} of a document judged before",
        tuple(effects), "keep one row for each document of a query",
        some([audited.document(int(row)) for row in rows[:5]]),
    )  # fmt: skip
