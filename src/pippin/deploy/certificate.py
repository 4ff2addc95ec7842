"""What does an engine's way of scoring change? The certificate that stands beside every export.

The same documents are scored by Pippin and by the target's own engine, or where that cannot run here by the
interpreter in the engine's precision. Told are the largest difference of two scores, the documents that change sides at
a threshold and at which, the queries whose order changes (and whether two of their documents have one score in
float32, so that no order of them means anything there), and NDCG@10 before and after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin import __version__
from pippin.data.dataset import Dataset
from pippin.data.packing import digest
from pippin.deploy.target import NotHere, Request, Target
from pippin.errors import ConventionError
from pippin.evaluation.objective import Judge
from pippin.forms.arithmetic import leaves, score
from pippin.forms.form import Form, Trees

F64 = NDArray[np.float64]
FORMAT = "pippin-parity"
MEASURE = "NDCG@10"
_LISTED = 100  # queries and thresholds that are named at most


@dataclass(frozen=True)
class Certificate:
    """What an export changes, found out on one data set."""

    target: str
    checked_by: str  # the engine and its version, or the interpreter
    by_engine: bool
    scoring: dict[str, Any]
    data: dict[str, Any]
    largest_difference: float
    equal_bits: bool
    sides: int  # documents that go another way at some threshold
    thresholds: list[dict[str, Any]]  # where they do, at most 100
    order: list[dict[str, Any]]  # queries whose order changes, at most 100
    reordered: int  # how many they are
    ndcg: dict[str, float]
    notes: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """What the file holds."""
        return {"format": FORMAT, "version": 1, "pippin": __version__, **asdict(self)}

    def sentence(self) -> str:
        """The certificate in one sentence."""
        scores = "the same bits" if self.equal_bits else f"scores within {self.largest_difference:.3g}"
        unequal = sum(not one["equal_in_float32"] for one in self.order)
        order = "no query changes its order" if not self.reordered else (
            f"{self.reordered} of {self.data['queries']} queries change their order, "
            f"{unequal} of them between documents that float32 tells apart"
        )  # fmt: skip
        sides = f"{self.sides} documents change sides at a threshold" if self.sides else "no document changes sides"
        return (
            f"{self.checked_by} on {self.data['documents']:,} documents: {scores}; {sides}; {order}; "
            f"{MEASURE} {self.ndcg['before']:.6f} → {self.ndcg['after']:.6f}"
        )


def certify(target: Target, request: Request, form: Form, before: F64, data: Dataset, base: Path) -> Certificate:
    """Score with the files that were written, and compare."""
    table = np.ascontiguousarray(data.features, np.float64)
    by, after, ran = scored(target, request, table, base)
    if np.isnan(table).any() and request.form.scoring.missing == "zero":
        request.notes.append("the data have NULL, which this engine takes for 0")
    if np.isnan(after).any():
        raise ConventionError(f"{target.name} gives no score to a document with NULL; check with data that have none")
    with np.errstate(invalid="ignore"):
        differences = np.abs(after - before)
    sides, thresholds = changed_sides(form, request.form, table)
    order = changed_order(before, after, data)
    judge = Judge(data, MEASURE, "official")
    return Certificate(
        target.name, by, ran, {**asdict(request.form.scoring), "words": request.form.scoring.sentence()},
        {"name": data.name, "digest": digest(data), "documents": len(data), "queries": data.queries},
        float(np.nanmax(differences, initial=0.0)), bool((after == before).all()), sides, thresholds, order[:_LISTED],
        len(order), {"before": judge.mean(before), "after": judge.mean(after)}, list(request.notes),
    )  # fmt: skip


def scored(target: Target, request: Request, table: F64, base: Path) -> tuple[str, F64, bool]:
    """Who scored, the scores, and whether it was the engine itself."""
    if target.engine is not None:
        try:
            by, found = target.engine.run(base, table, request)
            return by, np.asarray(found, np.float64).reshape(-1), True
        except NotHere as error:
            request.notes.append(f"not checked by {target.engine.name} itself: {error}")
    form = request.form if target.reread is None else target.reread(base, request)
    return "the interpreter in the engine's precision", score(form, table), False


def changed_sides(form: Form, other: Form, table: F64) -> tuple[int, list[dict[str, Any]]]:
    """How many documents reach another leaf in some tree, and the thresholds at which ways part."""
    if not isinstance(form, Trees) or not isinstance(other, Trees):
        return 0, []
    changed = np.zeros(len(table), bool)
    places: dict[tuple[str, float], int] = {}
    for one, ours, theirs in zip(form.trees(), leaves(form, table), leaves(other, table), strict=True):
        rows = np.flatnonzero(ours != theirs)
        changed[rows] = True
        for row in rows:
            node = _parting(one, int(ours[row]), int(theirs[row]))
            place = (form.names[int(one.feature[node])], float(one.threshold[node]))
            places[place] = places.get(place, 0) + 1
    worst = sorted(places.items(), key=lambda found: -found[1])[:_LISTED]
    listed = [{"feature": name, "threshold": at, "decisions": count} for (name, at), count in worst]
    return int(changed.sum()), listed


def _parting(one: Any, ours: int, theirs: int) -> int:
    """The last node that is on the way to both leaves."""
    parents: dict[int, int] = {}
    for node in range(len(one)):
        parents[int(one.left[node])] = parents[int(one.right[node])] = node
    way, at = set(), -1 - ours
    while at in parents:
        at = parents[at]
        way.add(at)
    at = parents[-1 - theirs]
    while at not in way:
        at = parents[at]
    return at


def changed_order(before: F64, after: F64, data: Dataset) -> list[dict[str, Any]]:
    """Queries whose documents stand in another order, ties in the order of the data, with why it may be."""
    found = []
    for query, (start, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        ours, theirs = before[start:end], after[start:end]
        if (np.argsort(-ours, kind="stable") == np.argsort(-theirs, kind="stable")).all():
            continue
        with np.errstate(over="ignore"):
            single = ours.astype(np.float32)
        equal = len(np.unique(single)) < len(single) and not _crossed(single, theirs)
        found.append({"query": data.query_ids[query], "documents": int(end - start), "equal_in_float32": bool(equal)})
    return found


def _crossed(single: NDArray[np.float32], theirs: F64) -> bool:
    """Whether two documents change places that float32 tells apart."""
    lowest = np.inf
    for value in np.unique(single)[::-1]:
        group = theirs[single == value]
        if group.max() > lowest:
            return True
        lowest = min(lowest, float(group.min()))
    return False
