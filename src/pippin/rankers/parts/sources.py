"""Where is the other data set that a ranker borrows from? By a name that somebody offered, or by its file.

A benchmark offers its data sets by their names; in Python, `offer("old", dataset)` does. What is borrowed takes part in
the result, so that its digest stands in the parameters of a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pippin.data.dataset import Dataset
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


def matched(source: Dataset, target: Dataset) -> list[str]:
    """The names of the features that both have; DataError where there are none, or where numbers stand for names."""
    common = [name for name in target.feature_names if name in source.feature_names]
    if not common:
        raise DataError(f"{source.name} and {target.name} have no feature of the same name")
    if all(name.isdigit() for name in common) and len(source.feature_names) != len(target.feature_names):
        raise DataError(
            f"the features of {source.name} and {target.name} have numbers instead of names, and are not as many: "
            "nothing says that the same number is the same feature"
        )
    return common
