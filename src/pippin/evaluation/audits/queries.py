"""Checks of queries and labels: what tools disagree about before any system has been scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.audit import count_per_query, repeated_documents
from pippin.data.dataset import Dataset
from pippin.data.trec import Judgements
from pippin.errors import ConventionError
from pippin.evaluation.audits.effects import depends, moving, printing
from pippin.evaluation.audits.finding import Effect, Finding, check, of, some, verb
from pippin.evaluation.audits.subject import Subject, largest_cutoff

_PAPER = "Busa-Fekete et al. 2012"


@check("labels", "labels")
def labels(subject: Subject) -> Finding | None:
    """How often each label occurs, and which tools take the label itself for the gain."""
    values, counts = np.unique(subject.judged.labels, return_counts=True)
    total = len(subject.judged.labels)
    if not total:
        return Finding("labels", "error", 0, 0, "no document is judged")
    relevant = int(counts[values >= 1].sum())
    graded = subject.scored is not None and values[-1] > 1
    return Finding(
        "labels", "info", relevant, total, f"{of(relevant, total, 'documents')} have a label of 1 or more",
        moving(subject.effects.of_axis("gain")) if graded else (),
        parts=tuple((f"label {v}", int(c)) for v, c in zip(values, counts, strict=True)),
    )  # fmt: skip


@check("empty", "queries without a relevant document")
def empty(subject: Subject) -> Finding | None:
    """Queries without a relevant document: tools count 0, 1, or leave them out."""
    flags = count_per_query(subject.judged.labels >= 1, subject.judged.offsets) == 0
    number = int(flags.sum())
    if not number:
        return None
    return Finding(
        "empty", "error" if number == subject.queries else "warning", number, subject.queries,
        f"{of(number, subject.queries, 'queries')} {verb(number, 'have', 'has')} no relevant document",
        moving(subject.effects.of_axis("empty")),
        f"{_PAPER}, §6: a benchmark should be free of such queries, for nothing can be learned from them; a tool that "
        "counts 1 does no harm in training, but final results are to be given by the definition (official: 0)",
        some(subject.names(flags)),
    )  # fmt: skip


@check("short", "lists shorter than the cutoff")
def short(subject: Subject) -> Finding | None:
    """Lists of fewer than k documents: some tools count 0 for NDCG@k or P@k."""
    sizes, names = _sizes(subject)
    cutoff = largest_cutoff(subject.measures)
    flags = sizes < cutoff
    number = int(flags.sum())
    if not number:
        return None
    kind = "judged documents" if isinstance(subject.judged, Judgements) and subject.run is None else "documents"
    effects = subject.effects.of_axis("short") + subject.effects.of_axis("short_precision")
    return Finding(
        "short", "warning", number, len(sizes),
        f"{of(number, len(sizes), 'queries')} {verb(number, 'have', 'has')} fewer than {cutoff} {kind}",
        moving(effects),
        f"{_PAPER}, §6: avoid tools that give short queries 0; they favour systems that are good on long lists, and "
        "such queries are lost for training",
        some([names[q] for q in np.flatnonzero(flags)]),
        tuple((f"< {k}", int((sizes < k).sum())) for k in subject.cutoffs),
    )  # fmt: skip


def _sizes(subject: Subject) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Documents by query (of the run, where there is one), and the queries' names."""
    if subject.run is not None:
        return subject.ranking.sizes(), subject.ranking.query_ids
    return np.diff(subject.judged.offsets), subject.judged.query_ids


@check("single", "queries of one document")
def single(subject: Subject) -> Finding | None:
    """Queries of one document: there is nothing to rank."""
    sizes, names = _sizes(subject)
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
def constant_labels(subject: Subject) -> Finding | None:
    """Queries with a relevant document whose labels are all equal: every ranking of them scores the same."""
    judged = subject.judged
    filled = np.diff(judged.offsets) > 0
    first = np.zeros(subject.queries, np.int32)
    first[filled] = judged.labels[judged.offsets[:-1][filled]]
    sizes = np.diff(judged.offsets)
    same = count_per_query(judged.labels == np.repeat(first, sizes), judged.offsets) == sizes
    flags = filled & same & (first >= 1)
    number, without = int(flags.sum()), int((filled & same & (first < 1)).sum())
    if not number and not without:
        return None
    return Finding(
        "constant_labels", "info", number, subject.queries,
        f"{of(number, subject.queries, 'queries')} {verb(number, 'have', 'has')} relevant documents only, all with the "
        f"same label, so that no pair can be learned from ({without:,} more are all not relevant)",
        _fixed(subject, flags) if subject.run is None else (),
        examples=some(subject.names(flags)),
    )  # fmt: skip


def _fixed(subject: Subject, flags: NDArray[np.bool_]) -> tuple[Effect, ...]:
    """The part of each mean that these queries make up, which is the same for every system."""
    effects: list[Effect] = []
    for measure in subject.measures:
        groups: dict[float, list[str]] = {}
        for tool in printing(measure):
            try:
                _, values = subject.ceiling.values(measure, tool.convention_for(measure).replace(queries="judged"))
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
def high_labels(subject: Subject) -> Finding | None:
    """Labels above the highest that a tool knows: it counts them as 0, or refuses."""
    known = _axis_values(subject, "top_label")
    refused = subject.effects.refused()
    highest = int(subject.judged.labels.max(initial=0))
    least = min((top for top in known if top is not None), default=highest)
    number = int((subject.judged.labels > least).sum())
    if not number and not refused:
        return None
    rows = np.flatnonzero(subject.judged.labels > least)
    return Finding(
        "high_labels", "warning", number, len(subject.judged.labels),
        f"{of(number, len(subject.judged.labels), 'documents')} {verb(number, 'have', 'has')} a label above {least}, "
        "which is all that some tools know" if number else "some tools refuse this data",
        (*moving(subject.effects.of_axis("top_label")), *refused),
        examples=some([subject.document(int(row)) for row in rows[:5]]),
    )  # fmt: skip


@check(
    "weak_labels",
    "labels that only some tools take for relevant",
    lambda subject: any(depends(measure, "relevant_at") for measure in subject.measures),
)
def weak_labels(subject: Subject) -> Finding | None:
    """Labels from 1 on that are below what a tool calls relevant."""
    highest = max(_axis_values(subject, "relevant_at"), default=1)
    judged = subject.judged.labels
    number = int(((judged >= 1) & (judged < highest)).sum())
    if not number:
        return None
    return Finding(
        "weak_labels", "info", number, len(judged),
        f"{of(number, len(judged), 'documents')} {verb(number, 'have', 'has')} a label from 1 to {highest - 1}, which "
        "not every tool calls relevant" if highest > 2 else
        f"{of(number, len(judged), 'documents')} {verb(number, 'have', 'has')} label 1, which not every tool calls "
        "relevant",
        moving(subject.effects.of_axis("relevant_at")),
    )  # fmt: skip


def _axis_values(subject: Subject, axis: str) -> set[Any]:
    """The values that tools have on an axis, for those measures asked for that the axis can change."""
    return {
        getattr(tool.convention_for(measure), axis)
        for measure in subject.measures
        if depends(measure, axis)
        for tool in printing(measure)
    }


@check("repeated", "documents that stand twice in a query", lambda s: s.judged.document_ids is not None)
def repeated(subject: Subject) -> Finding | None:
    """A document that is listed twice for one query."""
    judged = subject.judged
    if judged.document_ids is None:
        return None
    rows = np.flatnonzero(repeated_documents(judged.document_ids, judged.offsets))
    number = len(rows)
    if not number:
        return None
    by_id = "looks judgements up by document id, so that only one of the labels can count"
    by_row = "ranks the rows, so that the document is counted as often as it stands there"
    effects = []
    for measure in subject.measures:
        groups: dict[str, list[str]] = {}
        for tool in printing(measure):
            ideal = tool.convention_for(measure).ideal
            groups.setdefault(by_id if ideal == "judged" else by_row, []).append(tool.name)
        effects += [Effect(measure.text, tuple(names), does) for does, names in groups.items()]
    return Finding(
        "repeated", "error", number, len(judged.labels),
        f"{of(number, len(judged.labels), 'documents')} {verb(number, 'repeat', 'repeats')} a document of the same "
        "query" if isinstance(judged, Dataset) else
        f"{of(number, len(judged.labels), 'judgements')} {verb(number, 'are', 'is')} of a document judged before",
        tuple(effects), "keep one row for each document of a query",
        some([subject.document(int(row)) for row in rows[:5]]),
    )  # fmt: skip
