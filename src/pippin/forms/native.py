"""What a form scores, fast: the same bits as `arithmetic` gives, by the kernels.

Trees are scored in doubles whatever their engine holds. An engine's question is monotone in the value that a document
has, so that a largest double answers it with yes; that double is the threshold. Sums that an engine rounds to float32
after each tree are rounded by the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.forms.arithmetic import asked, finished, rounded, score, seen
from pippin.forms.form import F64, ZERO, Form, Linear, Scoring, Tree, Trees, leaf
from pippin.kernels import forest
from pippin.kernels.forest import Forest, Missing
from pippin.kernels.linear import linear_scores

Scorer = Callable[[F64], F64]


def scorer(form: Form) -> Scorer:
    """What gives every row of a table of doubles its score."""
    with np.errstate(all="ignore"):
        if isinstance(form, Trees) and (form.scoring.features == "float64" or not _takes_zero(form)):
            plain = _of_trees(form)
        elif isinstance(form, Linear):
            plain = _of_terms(form)
        else:
            return lambda table: score(form, table)

    def scores(table: F64) -> F64:
        with np.errstate(all="ignore"):
            return plain(table)

    return scores


def decisive(thresholds: F64, scoring: Scoring) -> F64:
    """The largest doubles that an engine sends to the left of thresholds as they stand in its file.

    >>> decisive(np.array([0.5]), Scoring(operator="<")).tolist()
    [0.49999999999999994]
    """
    wanted = asked(thresholds, scoring)
    if scoring.features == "float64":
        return wanted if scoring.operator == "<=" else np.asarray(np.nextafter(wanted, -np.inf), np.float64)
    with np.errstate(over="ignore"):
        single = wanted.astype(np.float32)
    beyond = single > wanted if scoring.operator == "<=" else single >= wanted
    last = last_rounded_to(np.where(beyond, np.nextafter(single, np.float32(-np.inf)), single).astype(np.float64))
    return np.where(beyond & (single == -np.inf), -np.inf, last)  # which nothing is below


def last_rounded_to(singles: F64) -> F64:
    """The largest double that is rounded to each float32 or below it: the middle to the next one goes to the even.

    >>> last_rounded_to(np.array([1.0])) == 1 + 2.0**-24
    array([ True])
    """
    single = singles.astype(np.float32)
    with np.errstate(over="ignore"):
        above = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
    here, above = (np.clip(side, -(2.0**128), 2.0**128) for side in (singles, above))  # where float32 would go on
    middle: F64 = here / 2 + above / 2
    odd = (single.view(np.int32) & 1).astype(bool)
    found = np.where(odd, np.nextafter(middle, -np.inf), middle)
    return np.where(singles == np.inf, np.inf, found)


def _takes_zero(form: Trees) -> bool:
    return any(one.zero_missing is not None for one in form.trees())


def _of_trees(form: Trees) -> Scorer:
    kinds = form.scoring
    zero = ZERO if _takes_zero(form) else 0.0
    bags = [_packed(bag, kinds, form.start) for bag in form.bags]
    groups = [bags] if kinds.totals == "float64" else [[bag] for bag in bags]
    forests = [Forest(group, max(1, len(form.names)), zero, kinds.sums == "float32") for group in groups]

    def scores(table: F64) -> F64:
        plain = np.ascontiguousarray(seen(form, table) if any(form.normalisers) else table)
        total = np.zeros(len(plain))
        for one in forests:
            total = rounded(total + one.scores(plain), kinds.totals)
        return finished(form, total)

    return scores


def _packed(bag: Sequence[Tree], kinds: Scoring, start: float) -> forest.Trees:
    """The trees of a bag as the kernel takes them; what sums start from is a tree of one leaf before them."""
    trees = [leaf(start), *bag]

    def joined(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(one, name) for one in trees)])

    values = rounded(joined("value", np.float64), kinds.values)
    values[0] = rounded(np.array(start), kinds.sums)
    left = joined("missing_left", np.bool_)
    each = (np.zeros(len(one), bool) if one.zero_missing is None else one.zero_missing for one in trees)
    zeros = np.concatenate([np.empty(0, bool), *each])
    plain = np.where(left, Missing.NAN_LEFT, Missing.NAN_RIGHT) if kinds.missing == "direction" else Missing.AS_ZERO
    missing = np.where(zeros, np.where(left, Missing.ZERO_LEFT, Missing.ZERO_RIGHT), plain).astype(np.uint8)
    return forest.Trees(
        np.array([len(one.value) for one in trees], np.int64), joined("feature", np.int32),
        decisive(joined("threshold", np.float64), kinds), missing, joined("left", np.int32), joined("right", np.int32),
        values,
    )  # fmt: skip


def _of_terms(form: Linear) -> Scorer:
    kinds = form.scoring
    terms = form.terms or tuple((i, float(form.weights[i])) for i in form.used())
    columns = np.array([column for column, _ in terms], np.int32)
    weights = rounded(np.array([weight for _, weight in terms], np.float64), kinds.values)
    start, bias = (float(rounded(np.array(one), kind)) for one, kind in (
        (form.start, kinds.sums), (form.bias, kinds.values)))  # fmt: skip

    def scores(table: F64) -> F64:
        plain = np.ascontiguousarray(seen(form, table) if any(form.normalisers) else table)
        total = linear_scores(
            plain, columns, weights, start, single_features=kinds.features == "float32",
            single_sums=kinds.sums == "float32", missing_is_zero=kinds.missing == "zero",
        )  # fmt: skip
        return rounded(total + bias, kinds.sums) if form.bias else total

    return scores
