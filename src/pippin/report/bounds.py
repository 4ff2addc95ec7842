"""What bounds look like: a row per measure or per query, and a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from pippin.evaluation.bounds import Bounds
from pippin.tables import Table, number


def sentence(bounds: Bounds) -> str:
    """What the bounds say, and what more is to know of them."""
    words = bounds.verdict
    if not bounds.exact:
        words += " The bound holds, but some queries have too many unjudged documents for it to be reached."
    if bounds.residuals is not None:
        words += f" RBP's residual, with what longer lists could add, is {bounds.residuals.mean():.4f}."
    return words


def means(several: Sequence[Bounds]) -> Table:
    """A row per measure."""
    rows = [
        [one.measure, str(one.holes), *(number(x, 4) for x in (one.low, one.value, one.high)), _kind(one.exact)]
        for one in several
    ]
    what = "value" if len(several[0].names) == 1 else "difference"
    return Table(["measure", "unjudged", "least", what, "greatest", "bounds"], rows, remarks=1)


def per_query(several: Sequence[Bounds]) -> Table:
    """A row per query."""
    rows = [
        [query, one.measure, str(holes), *(number(x, 4) for x in (low, value, high)), _kind(exact)]
        for one in several
        for query, holes, value, low, high, exact in zip(*one.to_dict().values(), strict=True)
    ]
    what = "value" if len(several[0].names) == 1 else "difference"
    return Table(["query", "measure", "unjudged", "least", what, "greatest", "bounds"], rows, names=2, remarks=1)


def _kind(exact: bool) -> str:
    return "exact" if exact else "outer"
