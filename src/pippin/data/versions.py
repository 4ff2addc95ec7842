"""LETOR's three versions of a data set, Feature-null → Feature-min → QueryLevelNorm, and their text, byte for byte.

Each version is computed from the numbers that the one before it prints. LETOR printed them with the C run-time of its
time: to 17 significant digits first, then half away from zero to six decimals, which is not what Python does. A value
with six decimals is a double again, so the way through the text is one rounding between the steps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.letor import text_ids
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.files import atomic_write
from pippin.kernels.decimals import format_decimals

Floats = NDArray[np.float64]

_MILLIONTH = Decimal("0.000001")
_NEAR = 1e-15  # how near to a tie, for each millionth, binary arithmetic and seventeen digits may err, and some more
_WHOLE = 2.0**53  # from here on doubles are whole numbers, which seventeen digits read back
_PLAIN = 1e6  # up to here a value in millionths is exact enough to see how near a tie it is
_AT_ONCE = 1 << 14  # values whose steps stay near the processor


@dataclass(frozen=True)
class Version:
    """How LETOR lays out one version: its folder and its files."""

    name: str
    files: Mapping[str, str]
    constant: str | None = None  # what a column that is 0 for a whole query prints; None: like any other number


_LONG = {"train": "trainingset.txt", "vali": "validationset.txt", "test": "testset.txt"}
_SHORT = {"train": "train.txt", "vali": "vali.txt", "test": "test.txt"}
VERSIONS = {
    version.name: version
    for version in (
        Version("Feature-null", _LONG),
        Version("Feature-min", _LONG),
        Version("QueryLevelNorm", _SHORT, "0"),
    )
}
# Columns of BM25 and its logarithm in LETOR 3.0, by the number of features: OHSUMED and Gov.
_LAYOUTS = {45: (11, 12, 26, 27, 41, 42), 64: (21, 22, 23, 24, 25, 61)}
_BM25 = re.compile(r"(log_)?bm25(?![a-z0-9])", re.IGNORECASE)


def as_printed(values: NDArray[np.floating[Any]]) -> Floats:
    """The doubles that LETOR's six decimals read back as. NaN stays.

    >>> as_printed(np.array([9 / 128, 0.066667 / 0.4, -2.5e-7]))
    array([0.070313, 0.166668, 0.      ])
    """
    exact = np.ascontiguousarray(values, np.float64)
    out = np.empty_like(exact)
    source, target = exact.reshape(-1), out.reshape(-1)
    for start in range(0, len(source), _AT_ONCE):
        target[start : start + _AT_ONCE] = _printed(source[start : start + _AT_ONCE])
    return out


def _printed(exact: Floats) -> Floats:
    if np.isinf(exact).any():
        raise DataError("a feature is infinite, which LETOR text has no word for")
    size = np.abs(exact)
    millionths = np.minimum(size, _WHOLE) * 1e6
    below = np.floor(millionths)
    out = np.copysign(np.floor(millionths + 0.5) / 1e6, exact)
    hard = (np.abs(millionths - below - 0.5) < _NEAR * (millionths + 1.0)) | (size > _PLAIN)
    if hard.any():
        beyond = size >= _WHOLE
        out[beyond] = exact[beyond]
        hard &= ~beyond
        out[hard] = [float(_rounded(value)) for value in exact[hard].tolist()]
    return out + 0.0  # no −0


def _rounded(value: float) -> Decimal:
    """Seventeen significant digits, then half away from zero to six decimals."""
    return Decimal(f"{value:.16e}").quantize(_MILLIONTH, ROUND_HALF_UP)


def to_min(
    data: Dataset, *, rule: Literal["letor", "min"] = "letor", zero: Sequence[str | int] | None = None
) -> Dataset:
    """Feature-min: a NULL becomes the least value of its feature in its query.

    Under `letor`, as in the published files, a NULL of BM25 or its logarithm becomes 0; `zero` names those columns (by
    name, or by number from 1), which otherwise are known by their names or by LETOR 3.0's layouts. `min` is the rule
    of the paper. A feature that is NULL for a whole query becomes 0.
    """
    if rule not in {"letor", "min"}:
        raise UnknownName("rule for NULL", rule, ("letor", "min"))
    features = np.asarray(data.features, np.float64)
    null = np.isnan(features)
    least = np.nan_to_num(_per_query(np.fmin, features, data.offsets), nan=0.0)
    if rule == "letor" and null.any():
        least[:, _zero_columns(data, zero)] = 0.0
    return _with(data, np.where(null, _spread(least, data.offsets), features))


def to_query_level_norm(data: Dataset) -> Dataset:
    """QueryLevelNorm: (x − min)/(max − min) within a query; 0 where they are equal."""
    features = np.asarray(data.features, np.float64)
    if np.isnan(features).any():
        raise DataError("NULL cannot be normalised; make Feature-min first")
    least, most = (_per_query(extreme, features, data.offsets) for extreme in (np.minimum, np.maximum))
    span = most - least
    span[span == 0] = 1.0  # x − min is 0 there
    return _with(data, (features - _spread(least, data.offsets)) / _spread(span, data.offsets))


def make_versions(
    data: Dataset, *, rule: Literal["letor", "min"] = "letor", zero: Sequence[str | int] | None = None
) -> dict[str, Dataset]:
    """The three versions, each computed from what the one before it prints."""
    null = _with(data, as_printed(data.features))
    least = to_min(null, rule=rule, zero=zero)
    norm = to_query_level_norm(least)
    return {"Feature-null": null, "Feature-min": least, "QueryLevelNorm": _with(norm, as_printed(norm.features))}


def write_version(data: Dataset, path: str | os.PathLike[str], *, constant: str | None = None) -> None:
    """Write LETOR's lines: six decimals, NULL, `#docid = id`.

    `constant` is what a column prints that is 0 for a whole query: OHSUMED's QueryLevelNorm has `0` there.
    """
    with atomic_write(path) as file:
        for text in version_lines(data, constant):
            file.write(text)


def version_lines(data: Dataset, constant: str | None = None) -> Iterator[bytes]:
    """The lines of one query after the other."""
    comments = list(text_ids(data)[1])
    endings = [f" #{comment}\n".encode() if comment else b"\n" for comment in comments] or [b"\n"] * len(data)
    for query, (first, last) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        table = as_printed(data.features[first:last])
        flat = np.zeros(table.shape[1], np.bool_) if constant is None else ~np.any(table, axis=0)
        before = [f" {i + 1}:{constant if still else ''}" for i, still in enumerate(flat.tolist())]
        values, ends = format_decimals(table, before, ~flat)
        start, cuts = f" qid:{data.query_ids[query]}".encode(), [0, *ends.tolist()]
        labels = data.labels[first:last].tolist()
        rows = zip(labels, cuts, cuts[1:], endings[first:last], strict=False)
        yield b"".join(b"%d%b%b%b" % (label, start, values[at:end], ending) for label, at, end, ending in rows)


def _with(data: Dataset, features: Floats) -> Dataset:
    """The data with other features, and without the lines that it was read from."""
    return replace(data, features=features, lines=None)


def _per_query(extreme: np.ufunc, features: Floats, offsets: NDArray[np.int64]) -> Floats:
    """[q, f] the least or greatest value of each query; 0 for a query without documents."""
    out = np.zeros((len(offsets) - 1, features.shape[1]))
    there = np.diff(offsets) > 0
    if there.any():
        out[there] = extreme.reduceat(features, offsets[:-1][there], axis=0)
    return out


def _spread(values: Floats, offsets: NDArray[np.int64]) -> Floats:
    """A query's values for each of its documents."""
    return np.repeat(values, np.diff(offsets), axis=0)


def _zero_columns(data: Dataset, zero: Sequence[str | int] | None) -> list[int]:
    """Positions of the columns whose NULL becomes 0."""
    names = data.feature_names
    if zero is not None:
        return [_column(data, name) for name in zero]
    if any(not name.isdigit() for name in names):
        return [i for i, name in enumerate(names) if _BM25.match(name)]
    if len(names) not in _LAYOUTS:
        raise ConventionError(
            f"which of these {len(names)} features are BM25, whose NULL LETOR makes 0? Say so (zero=…), or use rule=min"
        )
    return [number - 1 for number in _LAYOUTS[len(names)]]


def _column(data: Dataset, name: str | int) -> int:
    if isinstance(name, str):
        if name not in data.feature_names:
            raise UnknownName("feature", name, data.feature_names)
        return data.feature_names.index(name)
    if not 1 <= name <= len(data.feature_names):
        raise ConventionError(f"there is no feature {name}; there are {len(data.feature_names)}")
    return name - 1
