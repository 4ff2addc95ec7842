"""Adapt split thresholds to an engine's numeric precision, so that every value takes the branch of training.

A node sends `x <= t` to the left. An engine may hold x and t in float32, compare with `x < t`, or add a constant to t.
Rounding is monotone: x <= t implies float32(x) <= float32(t), so only a value that shares the float32 of the threshold
can change sides. A threshold halfway between neighbouring float32 values, as training on float32 data sets it, becomes
the lower one: rounding it to even would move the documents with the upper value to the left. A threshold that cannot be
written is an error that names the feature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pippin.errors import ConventionError
from pippin.models.model import F64, ZERO_THRESHOLD, ScoringRules, Tree, TreeEnsemble
from pippin.models.scoring import effective_thresholds, largest_double_rounding_to, round_to

_MAX_STEPS = 4  # float32 steps around the first guess of a threshold with slack


@dataclass(frozen=True)
class AdaptedModel:
    """A model as an engine computes it, and notes about what was changed."""

    model: Any
    notes: tuple[str, ...] = ()


def adapt_thresholds(model: TreeEnsemble, rules: ScoringRules) -> AdaptedModel:
    """Return the trees with the thresholds that an engine's file must hold, under the engine's rules."""
    limit = float(np.finfo(np.float32 if "float32" in (rules.features, rules.thresholds) else np.float64).max)
    n_rounded = n_infinite = n_zeros = 0

    def adapt(tree: Tree) -> Tree:
        nonlocal n_rounded, n_infinite, n_zeros
        original = tree.threshold.copy()
        if rules.slack:  # LightGBM writes 0 as 1e-35
            is_zero = (original > 0) & (original <= ZERO_THRESHOLD)
            n_zeros += int(is_zero.sum())
            original[is_zero] = 0.0
        is_infinite = original >= limit
        n_infinite += int(is_infinite.sum())
        target = np.where(is_infinite, limit, _change_precision(original, model.scoring.features, rules.features))
        n_rounded += int((target != original)[~is_infinite].sum())
        if tree.zero_missing is not None:
            node = int(np.flatnonzero(tree.zero_missing)[0])
            raise _error(model, tree, node, "treats 0 as missing, which no target supports")
        if rules.thresholds == "float32" and not np.isfinite(round_to(target, "float32")).all():
            node = int(np.flatnonzero(~np.isfinite(round_to(target, "float32")))[0])
            raise _error(model, tree, node, "exceeds float32, in which the engine holds thresholds")
        return replace(tree, threshold=np.where(is_infinite, limit, _file_thresholds(model, tree, target, rules)))

    bags = tuple(tuple(adapt(tree) for tree in bag) for bag in model.bags)
    notes = []
    if n_rounded:
        notes.append(f"{n_rounded:,} thresholds are rounded to {rules.features}, as the engine rounds features")
    if rules.operator == "<":
        notes.append(f"thresholds are one {rules.features} higher, because the engine tests x < t, not x <= t")
    if rules.slack:
        notes.append(f"thresholds are lower by {rules.slack:g}, which the engine adds to them")
    if n_zeros:
        notes.append(f"{n_zeros:,} thresholds of 1e-35, LightGBM's notation for 0, are written as 0")
    if n_infinite:
        notes.append(f"{n_infinite:,} nodes send all values to the left; their threshold is the largest float32")
    return AdaptedModel(replace(model, bags=bags, scoring=rules), tuple(notes))


def _change_precision(thresholds: F64, source: str, target: str) -> F64:
    """Return the thresholds of `<=` for feature values of another precision."""
    if source == target:
        return thresholds
    return _round_thresholds(thresholds) if target == "float32" else largest_double_rounding_to(thresholds)


def _round_thresholds(thresholds: F64) -> F64:
    """Return the nearest float32; the lower one for a midpoint, or the double after it, which LightGBM writes."""
    nearest = round_to(thresholds, "float32")
    lower = np.nextafter(nearest.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
    is_halfway = (nearest > thresholds) & (thresholds <= np.nextafter(lower / 2 + nearest / 2, np.inf))
    return np.where(is_halfway, lower, nearest)


def _file_thresholds(model: TreeEnsemble, tree: Tree, target: F64, rules: ScoringRules) -> F64:
    """Return the thresholds to write so that the engine compares with `target`."""
    if rules.operator == "<":
        if rules.features == "float64":
            return np.asarray(np.nextafter(target, np.inf), np.float64)
        return np.nextafter(target.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    if not rules.slack:
        return target
    result = round_to(target - round_to(np.array(rules.slack), "float32"), "float32")
    is_solved = np.full(len(target), False)
    for step in range(-_MAX_STEPS, _MAX_STEPS + 1):
        candidate = result.astype(np.float32)
        for _ in range(abs(step)):
            candidate = np.nextafter(candidate, np.float32(np.inf if step > 0 else -np.inf))
        matches = ~is_solved & (effective_thresholds(candidate.astype(np.float64), rules) == target)
        result[matches] = candidate[matches]
        is_solved |= matches
    if not is_solved.all():
        reason = f"is not the sum of a float32 and {rules.slack:g}, which the engine adds; rescale the feature"
        raise _error(model, tree, int(np.flatnonzero(~is_solved)[0]), reason)
    return result


def _error(model: TreeEnsemble, tree: Tree, node: int, reason: str) -> ConventionError:
    name = model.names[int(tree.feature[node])]
    return ConventionError(f"the threshold {float(tree.threshold[node])!r} of feature {name} {reason}")
