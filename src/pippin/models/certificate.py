"""Certificates: what an engine's scoring changes, written beside every export.

The same documents are scored by Pippin and by the engine, or by Pippin in the engine's precision if the engine cannot
run on this machine. The certificate states the largest difference of two scores, the documents that take another branch
at a threshold, the queries whose order changes (and whether it changes only between documents whose scores are equal in
float32, so that their order means nothing), and NDCG@10 before and after.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pippin._version import __version__
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.errors import ConventionError
from pippin.evaluation.objective import Objective
from pippin.models.exporters.base import F64, EngineUnavailable, Exporter, ExportRequest
from pippin.models.model import Model, Tree, TreeEnsemble
from pippin.models.scoring import reach_leaves, rounding_bound, score_reference

FORMAT = "pippin-parity"
MEASURE = "NDCG@10"
_MAX_LISTED = 100  # queries and thresholds listed in a certificate


@dataclass(frozen=True)
class Certificate:
    """What an export changes on one data set."""

    target: str
    checked_by: str  # the engine with its version, or the interpreter
    by_engine: bool
    scoring: dict[str, Any]
    data: dict[str, Any]
    largest_difference: float
    rounding_bound: float  # how much the engine can add to it by another order of float64 sums; 0 if it was run
    has_equal_scores: bool  # bit for bit, as the engine computed them
    branch_changes: int  # documents that take another branch at some threshold
    thresholds: list[dict[str, Any]]  # where they do; at most 100
    reordered_queries: list[dict[str, Any]]  # at most 100
    n_reordered_queries: int
    n_reordered_beyond_ties: int  # of these, between documents with different float32 scores
    ndcg: dict[str, float]
    notes: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Return the content of the certificate's file."""
        return {"format": FORMAT, "version": 1, "pippin": __version__, **asdict(self)}

    def meets(self, requirement: str) -> bool:
        """Return whether the export meets "bits", "order" (beyond ties in float32) or "ndcg=0.001" (NDCG@10).

        Raises
        ------
        ConventionError
            If the requirement is unknown.
        """
        name, _, limit = requirement.partition("=")
        if requirement == "bits":
            return self.has_equal_scores
        if requirement == "order":
            return not self.n_reordered_beyond_ties
        if name != "ndcg" or not re.fullmatch(r"\d*\.?\d+(e-?\d+)?", limit):
            raise ConventionError(f"invalid requirement {requirement!r}: write bits, order or ndcg=0.001")
        return abs(self.ndcg["after"] - self.ndcg["before"]) <= float(limit)

    def sentence(self) -> str:
        """Summarise the certificate."""
        scores = f"scores within {self.largest_difference + self.rounding_bound:.3g}"
        if self.has_equal_scores:
            scores = "identical scores"
        order = "no query changes its order"
        if self.n_reordered_queries:
            order = f"{self.n_reordered_queries} of {self.data['queries']} queries change their order"
            order += f" ({self.n_reordered_beyond_ties} beyond ties in float32)"
        branches = f"{self.branch_changes or 'no'} document{'' if self.branch_changes == 1 else 's'}"
        return (
            f"{self.checked_by} on {self.data['documents']:,} documents: {scores}; {branches} on another side of a "
            f"threshold; {order}; {MEASURE} {self.ndcg['before']:.6f} → {self.ndcg['after']:.6f}"
        )


def certify(
    exporter: Exporter, request: ExportRequest, model: Model, before: F64, data: Dataset, base: Path
) -> Certificate:
    """Score the written files and compare with the scores before the export."""
    rules = request.model.scoring
    table = np.ascontiguousarray(data.features, np.float64)
    checked_by, after, by_engine = score_exported(exporter, request, table, base)
    bound = 0.0 if by_engine else rounding_bound(request.model, table)
    if np.isnan(table).any() and rules.missing == "zero":
        request.notes.append("the data have missing values, which this engine treats as 0")
    if np.isnan(after).any():
        raise ConventionError(
            f"{exporter.name} returns no score for documents with missing values; check with data without them"
        )
    with np.errstate(invalid="ignore"):
        differences = np.abs(after - before)
    branch_changes, thresholds = compare_leaves(model, request.model, table)
    reordered = compare_orders(before, after, data)
    objective = Objective(data, MEASURE, "official")
    sizes = {"name": data.name, "digest": digest(data), "documents": len(data), "queries": data.queries}
    return Certificate(
        exporter.name, checked_by, by_engine, {**asdict(rules), "sentence": rules.sentence()},
        sizes, float(np.nanmax(differences, initial=0.0)), bound, not bound and bool((after == before).all()),
        branch_changes, thresholds, reordered[:_MAX_LISTED], len(reordered),
        sum(not query["equal_in_float32"] for query in reordered),
        {"before": objective.mean(before), "after": objective.mean(after)}, list(request.notes),
    )  # fmt: skip


def score_exported(exporter: Exporter, request: ExportRequest, table: F64, base: Path) -> tuple[str, F64, bool]:
    """Return who scored, the scores, and whether it was the engine itself."""
    if exporter.engine is not None:
        try:
            version, scores = exporter.engine.score(base, table, request)
            return version, np.asarray(scores, np.float64).reshape(-1), True
        except EngineUnavailable as error:
            request.notes.append(f"not checked by {exporter.engine.name} itself: {error}")
    model = request.model if exporter.read_back is None else exporter.read_back(base, request)
    return "interpreter in the engine's precision", score_reference(model, table), False


def compare_leaves(model: Model, exported: Model, table: F64) -> tuple[int, list[dict[str, Any]]]:
    """Count the documents that reach another leaf in some tree, and list the thresholds where their paths part."""
    if not isinstance(model, TreeEnsemble) or not isinstance(exported, TreeEnsemble):
        return 0, []
    is_changed = np.zeros(len(table), bool)
    counts: dict[tuple[str, float], int] = {}
    paths = zip(model.trees(), reach_leaves(model, table), reach_leaves(exported, table), strict=True)
    for tree, leaves, exported_leaves in paths:
        rows = np.flatnonzero(leaves != exported_leaves)
        is_changed[rows] = True
        for row in rows:
            node = _last_common_node(tree, int(leaves[row]), int(exported_leaves[row]))
            threshold = (model.names[int(tree.feature[node])], float(tree.threshold[node]))
            counts[threshold] = counts.get(threshold, 0) + 1
    most_frequent = sorted(counts.items(), key=lambda item: -item[1])[:_MAX_LISTED]
    listed = [{"feature": name, "threshold": value, "decisions": count} for (name, value), count in most_frequent]
    return int(is_changed.sum()), listed


def _last_common_node(tree: Tree, leaf: int, other_leaf: int) -> int:
    """Return the last node on the paths to both leaves."""
    parents: dict[int, int] = {}
    for node in range(len(tree)):
        parents[int(tree.left[node])] = parents[int(tree.right[node])] = node
    path, node = set(), -1 - leaf
    while node in parents:
        node = parents[node]
        path.add(node)
    node = parents[-1 - other_leaf]
    while node not in path:
        node = parents[node]
    return node


def compare_orders(before: F64, after: F64, data: Dataset) -> list[dict[str, Any]]:
    """Return the queries whose documents change their order; ties keep the order of the data."""
    reordered = []
    for query, (start, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        old, new = before[start:end], after[start:end]
        order = np.argsort(-new, kind="stable")
        if (np.argsort(-old, kind="stable") == order).all():
            continue
        with np.errstate(over="ignore"):
            is_equal = not (np.diff(old[order].astype(np.float32)) > 0).any()
        reordered.append({"query": data.query_ids[query], "documents": int(end - start), "equal_in_float32": is_equal})
    return reordered
