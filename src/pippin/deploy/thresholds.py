"""Which threshold must stand in an engine's file, so that it sends every value the way that training did?

Our trees send `x <= t` to the left. An engine may hold x and t in float32, ask `x < t`, or add something of its own to
t first. Rounding to the nearest is monotone: x <= t implies float32(x) <= float32(t), so that only a value that shares
the threshold's float32 can change sides, and no other threshold would do better. What cannot be written is refused by
the names of feature and threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pippin.errors import ConventionError
from pippin.forms.arithmetic import asked
from pippin.forms.form import F64, ZERO, Scoring, Tree, Trees
from pippin.forms.native import last_rounded_to

_LARGEST = float(np.finfo(np.float32).max)
_TRIED = 4  # steps of float32 around the first guess


@dataclass(frozen=True)
class Fitted:
    """A form as a target computes it, and what had to be done to get there."""

    form: Any
    notes: tuple[str, ...] = ()


def fitted(form: Trees, scoring: Scoring) -> Fitted:
    """The trees with the thresholds that a target's file must hold, under the target's convention."""
    moved, endless, zeros = 0, 0, 0

    def fit(one: Tree) -> Tree:
        nonlocal moved, endless, zeros
        wanted = one.threshold.copy()
        if scoring.slack:
            zero = (wanted > 0) & (wanted <= ZERO)
            zeros += int(zero.sum())
            wanted[zero] = 0.0
        above = wanted >= _limit(scoring)
        endless += int(above.sum())
        kept = np.where(above, _limit(scoring), _carried(wanted, form.scoring.features, scoring.features))
        _check_range(form, one, kept, scoring)
        moved += int((kept != wanted)[~above].sum())
        written = np.where(above, _limit(scoring), _written(form, one, kept, scoring))
        if one.zero_missing is not None:
            _refuse_zero(form, one)
        return replace(one, threshold=written)

    bags = tuple(tuple(fit(one) for one in bag) for bag in form.bags)
    notes = []
    if moved:
        notes.append(
            f"{moved:,} thresholds are rounded to the nearest {scoring.features}, as the engine rounds features"
        )
    if scoring.operator == "<":
        notes.append(f"thresholds stand one {scoring.features} higher, because the engine asks x < t, not x <= t")
    if scoring.slack:
        notes.append(f"thresholds stand lower by {scoring.slack:g}, which the engine adds to them")
    if zeros:
        notes.append(f"{zeros:,} thresholds of 1e-35, which is how LightGBM says 0, stand as 0")
    if endless:
        notes.append(f"{endless:,} nodes send all but NULL to the left; their threshold is the largest float32")
    return Fitted(replace(form, bags=bags, scoring=scoring), tuple(notes))


def _limit(scoring: Scoring) -> float:
    """What stands for a threshold above every value."""
    return _LARGEST if "float32" in (scoring.features, scoring.thresholds) else float(np.finfo(np.float64).max)


def _carried(thresholds: F64, source: str, target: str) -> F64:
    """The thresholds of `<=` for values of another precision.

    From float32 to doubles: float32(x) <= t holds up to the middle of t and its successor, which rounds to the even.
    """
    if source == target:
        return thresholds
    if target == "float32":
        with np.errstate(over="ignore"):
            return thresholds.astype(np.float32).astype(np.float64)
    return last_rounded_to(thresholds)


def _check_range(form: Trees, one: Tree, kept: F64, scoring: Scoring) -> None:
    if scoring.thresholds == "float32" and not np.isfinite(kept.astype(np.float32)).all():
        node = int(np.flatnonzero(~np.isfinite(kept.astype(np.float32)))[0])
        raise _refused(form, one, node, "is beyond float32, in which the engine holds thresholds")


def _written(form: Trees, one: Tree, kept: F64, scoring: Scoring) -> F64:
    """What must stand in the file so that the engine compares with `kept`."""
    if scoring.operator == "<":
        return _up(kept, scoring.features)
    if not scoring.slack:
        return kept
    slack = rounded32(np.array(scoring.slack))
    written = rounded32(kept - slack)
    found = np.full(len(kept), False)
    for step in range(-_TRIED, _TRIED + 1):
        tried = written.astype(np.float32)
        for _ in range(abs(step)):
            tried = np.nextafter(tried, np.float32(np.inf if step > 0 else -np.inf))
        fits = ~found & (asked(tried.astype(np.float64), scoring) == kept)
        written[fits] = tried[fits]
        found |= fits
    if not found.all():
        node = int(np.flatnonzero(~found)[0])
        raise _refused(
            form, one, node,
            f"is not reached by any float32 plus {scoring.slack:g}, which the engine adds; rescale the feature",
        )  # fmt: skip
    return written


def rounded32(values: F64) -> F64:
    """Doubles that float32 has."""
    return values.astype(np.float32).astype(np.float64)


def _up(values: F64, precision: str) -> F64:
    if precision == "float64":
        return np.asarray(np.nextafter(values, np.inf), np.float64)
    return np.nextafter(values.astype(np.float32), np.float32(np.inf)).astype(np.float64)


def _refuse_zero(form: Trees, one: Tree) -> None:
    node = int(np.flatnonzero(one.zero_missing)[0]) if one.zero_missing is not None else 0
    raise _refused(form, one, node, "takes 0 for missing, which no target can say")


def _refused(form: Trees, one: Tree, node: int, why: str) -> ConventionError:
    name = form.names[int(one.feature[node])]
    return ConventionError(f"the threshold {float(one.threshold[node])!r} of feature {name} {why}")
