"""Where is the other data set that a ranker borrows from? By a name that somebody offered, or by its file.

A benchmark offers its data sets by their names; in Python, `offer("old", dataset)` does. What is borrowed takes part in
the result, so that its digest stands in the parameters of a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pippin.data.dataset import Dataset
from pippin.data.published_orders import ORDERS
from pippin.errors import DataError, UnknownName

_OFFERED: dict[str, Dataset | Callable[[], Dataset]] = {}


def offer(name: str, data: Dataset | Callable[[], Dataset]) -> None:
    """Let rankers borrow a data set by this name; a function is called when one does."""
    _OFFERED[name] = data


def borrowed(name: str, digest: str | None) -> Dataset:
    """The data set of a name or a file; DataError where it is not the one that the digest says."""
    from pippin.data.load import as_judged
    from pippin.data.store import digest as digest_of

    given = _OFFERED.get(name)
    if given is None and not Path(name).exists():
        raise UnknownName("data set to learn from, nor a file,", name, _OFFERED)
    data = as_judged(name) if given is None else given if isinstance(given, Dataset) else given()
    if not isinstance(data, Dataset):
        raise DataError("judgements have no features to learn from", name)
    if digest is not None and digest_of(data) != digest:
        raise DataError("this is not the data that the plan was made with", name)
    return data


def matched(source: Dataset, target: Dataset, names: str | None = None) -> list[tuple[int, int]]:
    """The columns of the features that both have, the target's and the source's, by their names.

    `names` is the published order that numbers follow where a data set has numbers for names. DataError where nothing
    is the same, or where numbers alone would say so.
    """
    theirs = {name: i for i, name in enumerate(_named(source, names))}
    ours = _named(target, names)
    common = [(i, theirs[name]) for i, name in enumerate(ours) if name in theirs]
    if not common:
        raise DataError(f"{source.name} and {target.name} have no feature of the same name")
    if all(ours[i].isdigit() for i, _ in common) and len(source.feature_names) != len(target.feature_names):
        raise DataError(
            f"the features of {source.name} and {target.name} have numbers instead of names, and are not as many: "
            "nothing says that the same number is the same feature; names=ohsumed (or gov, letor4, mslr) does"
        )
    return common


def _named(data: Dataset, names: str | None) -> tuple[str, ...]:
    """The names of a data set's features: its own, or those of a published order where it numbers as many."""
    if names is None or not all(name.isdigit() for name in data.feature_names):
        return data.feature_names
    if names not in ORDERS:
        raise UnknownName("published order of features", names, ORDERS)
    order = ORDERS[names]
    if len(order) != len(data.feature_names):
        return data.feature_names
    return tuple(order[int(name) - 1] if 0 < int(name) <= len(order) else name for name in data.feature_names)
