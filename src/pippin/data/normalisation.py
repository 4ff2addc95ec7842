"""LETOR's three versions of a data set, Feature-null → Feature-min → QueryLevelNorm, and their text, byte for byte.

Each version is computed from the numbers that the previous one prints. LETOR's C library printed 17 significant digits
first and rounded these half away from zero to six decimals, unlike Python. A number with six decimals is read back as
the nearest double, so that printing and reading between the steps is one rounding.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.letor import string_columns
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.kernels.text import format_decimals
from pippin.storage.files import atomic_write

Floats = NDArray[np.float64]

_MILLIONTH = Decimal("0.000001")
_TIE_TOLERANCE = 1e-15  # per millionth: error of binary arithmetic and 17 digits, with a margin
_MIN_INTEGRAL = 2.0**53  # doubles from here on are whole numbers, which 17 digits read back
_MAX_BINARY = 1e6  # below, the distance to a tie is computed exactly enough in binary
_VALUES_PER_BLOCK = 1 << 14  # values rounded at once, so that a block stays in the cache
_MAX_EXAMINED = 1000  # queries that `detect_version` examines
_MIN_SCALED = 0.99  # share of a query's features that range from 0 to 1 in a normalised data set


@dataclass(frozen=True)
class LetorVersion:
    """Folder and file names of one version.

    Parameters
    ----------
    name : str
        Name of the folder.
    files : mapping
        Part → file name.
    constant : str, optional
        Text of a feature that is 0 for a whole query; by default like any other number.
    """

    name: str
    files: Mapping[str, str]
    constant: str | None = None


_LONG_NAMES = {"train": "trainingset.txt", "vali": "validationset.txt", "test": "testset.txt"}
_SHORT_NAMES = {"train": "train.txt", "vali": "vali.txt", "test": "test.txt"}
LETOR_VERSIONS = {
    version.name: version
    for version in (
        LetorVersion("Feature-null", _LONG_NAMES),
        LetorVersion("Feature-min", _LONG_NAMES),
        LetorVersion("QueryLevelNorm", _SHORT_NAMES, "0"),
    )
}
# Columns of BM25 and its logarithm in LETOR 3.0, by the number of features: OHSUMED and Gov.
_LAYOUTS = {45: (11, 12, 26, 27, 41, 42), 64: (21, 22, 23, 24, 25, 61)}
_BM25 = re.compile(r"(log_)?bm25(?![a-z0-9])", re.IGNORECASE)


def round_as_printed(values: NDArray[np.floating[Any]]) -> Floats:
    """Return the doubles that LETOR's six decimals are read back as; NaN stays NaN.

    >>> round_as_printed(np.array([9 / 128, 0.066667 / 0.4, -2.5e-7]))
    array([0.070313, 0.166668, 0.      ])
    """
    exact = np.ascontiguousarray(values, np.float64)
    out = np.empty_like(exact)
    source, target = exact.reshape(-1), out.reshape(-1)
    for start in range(0, len(source), _VALUES_PER_BLOCK):
        target[start : start + _VALUES_PER_BLOCK] = _round(source[start : start + _VALUES_PER_BLOCK])
    return out


def _round(exact: Floats) -> Floats:
    if np.isinf(exact).any():
        raise DataError("a feature is infinite; LETOR text cannot hold infinity")
    size = np.abs(exact)
    millionths = np.minimum(size, _MIN_INTEGRAL) * 1e6
    below = np.floor(millionths)
    out = np.copysign(np.floor(millionths + 0.5) / 1e6, exact)
    hard = (np.abs(millionths - below - 0.5) < _TIE_TOLERANCE * (millionths + 1.0)) | (size > _MAX_BINARY)
    if hard.any():
        is_integral = size >= _MIN_INTEGRAL
        out[is_integral] = exact[is_integral]
        hard &= ~is_integral
        out[hard] = [float(_round_decimal(value)) for value in exact[hard].tolist()]
    return out + 0.0  # no −0


def _round_decimal(value: float) -> Decimal:
    """Round to 17 significant digits, then half away from zero to six decimals."""
    return Decimal(f"{value:.16e}").quantize(_MILLIONTH, ROUND_HALF_UP)


def to_min(
    data: Dataset, *, rule: Literal["letor", "min"] = "letor", zero: Sequence[str | int] | None = None
) -> Dataset:
    """Compute Feature-min: replace NULL by the minimum of the feature in the query.

    Parameters
    ----------
    data : Dataset
        Features with NaN for NULL.
    rule : {"letor", "min"}, default "letor"
        "letor", as in the published files, replaces NULL by 0 in BM25 and its logarithm; "min" is the paper's rule.
    zero : sequence of str or int, optional
        The BM25 columns by name or number from 1; by default recognised by name or by LETOR 3.0's layouts.

    Returns
    -------
    Dataset
        Features without NaN; a feature that is NULL for a whole query is 0.

    References
    ----------
    Qin, Liu, Xu and Li 2010, LETOR: A benchmark collection for research on learning to rank, §3.5.
    """
    if rule not in {"letor", "min"}:
        raise UnknownName("rule for NULL", rule, ("letor", "min"))
    features = np.asarray(data.features, np.float64)
    is_null = np.isnan(features)
    minimum = np.nan_to_num(_per_query(np.fmin, features, data.offsets), nan=0.0)
    if rule == "letor" and is_null.any():
        minimum[:, _zero_columns(data, zero)] = 0.0
    return _with_features(data, np.where(is_null, _repeat(minimum, data.offsets), features), "Feature-min")


def to_query_level_norm(data: Dataset) -> Dataset:
    """Compute QueryLevelNorm: (x − min)/(max − min) within a query, 0 if they are equal.

    Parameters
    ----------
    data : Dataset
        Features without NaN.

    Returns
    -------
    Dataset
        Features between 0 and 1.
    """
    features = np.asarray(data.features, np.float64)
    if np.isnan(features).any():
        raise DataError("NULL cannot be normalised; compute Feature-min first")
    minimum, maximum = (_per_query(extreme, features, data.offsets) for extreme in (np.minimum, np.maximum))
    span = maximum - minimum
    span[span == 0] = 1.0  # x − min is 0 there
    scaled = (features - _repeat(minimum, data.offsets)) / _repeat(span, data.offsets)
    return _with_features(data, scaled, "QueryLevelNorm")


def make_versions(
    data: Dataset, *, rule: Literal["letor", "min"] = "letor", zero: Sequence[str | int] | None = None
) -> dict[str, Dataset]:
    """Compute the three versions, each from the printed numbers of the previous one.

    Parameters
    ----------
    data : Dataset
        Features in full precision, NaN for NULL.
    rule, zero
        As in `to_min`.

    Returns
    -------
    dict of str to Dataset
        Feature-null, Feature-min and QueryLevelNorm.
    """
    null = _with_features(data, round_as_printed(data.features), "Feature-null")
    minimum = to_min(null, rule=rule, zero=zero)
    norm = to_query_level_norm(minimum)
    return {
        "Feature-null": null,
        "Feature-min": minimum,
        "QueryLevelNorm": _with_features(norm, round_as_printed(norm.features), "QueryLevelNorm"),
    }


def detect_version(data: Dataset) -> str:
    """Return the name of the version whose values a data set has: Feature-null, Feature-min or QueryLevelNorm.

    A data set is normalised per query if features range from 0 to 1, or are 0, within almost all queries, and some
    values lie between. At most 1,000 queries are examined.

    >>> data = Dataset.from_arrays([[3.0], [4.0], [5.0], [7.0]], [0, 1, 0, 1], group=[3, 1])
    >>> detect_version(data), detect_version(to_query_level_norm(data))
    ('Feature-min', 'QueryLevelNorm')
    """
    step = max(1, data.queries // _MAX_EXAMINED)
    examined = data.select(np.arange(0, data.queries, step)) if step > 1 else data
    features = np.asarray(examined.features)
    if np.isnan(features).any():
        return "Feature-null"
    several = np.diff(examined.offsets) > 1
    if not several.any() or ((features < 0) | (features > 1)).any() or not ((features > 0) & (features < 1)).any():
        return "Feature-min"
    least, most = (_per_query(extreme, features, examined.offsets)[several] for extreme in (np.minimum, np.maximum))
    is_scaled = (least == 0) & ((most == 1) | (most == 0))
    return "QueryLevelNorm" if is_scaled.mean() >= _MIN_SCALED else "Feature-min"


def write_version(data: Dataset, path: str | os.PathLike[str], *, constant: str | None = None) -> None:
    """Write LETOR's lines: six decimals, NULL, `#docid = id`.

    `constant` is the text of a feature that is 0 for a whole query; OHSUMED's QueryLevelNorm has `0`.
    """
    with atomic_write(path) as file:
        for text in version_lines(data, constant):
            file.write(text)


def version_lines(data: Dataset, constant: str | None = None) -> Iterator[bytes]:
    """Yield the lines of each query."""
    comments = list(string_columns(data)[1])
    endings = [f" #{comment}\n".encode() if comment else b"\n" for comment in comments] or [b"\n"] * len(data)
    for query, (start, stop) in enumerate(itertools.pairwise(data.offsets.tolist())):
        table = round_as_printed(data.features[start:stop])
        is_zero = np.zeros(table.shape[1], np.bool_) if constant is None else ~np.any(table, axis=0)
        prefixes = [f" {i + 1}:{constant if zero else ''}" for i, zero in enumerate(is_zero.tolist())]
        values, ends = format_decimals(table, prefixes, ~is_zero)
        qid, bounds = f" qid:{data.query_ids[query]}".encode(), [0, *ends.tolist()]
        labels = data.labels[start:stop].tolist()
        rows = zip(labels, itertools.pairwise(bounds), endings[start:stop], strict=True)
        yield b"".join(b"%d%b%b%b" % (label, qid, values[begin:end], ending) for label, (begin, end), ending in rows)


def _with_features(data: Dataset, features: Floats, version: str) -> Dataset:
    """Replace the features by those of a version, and drop the lines of text."""
    return replace(data, features=features, lines=None, version=version)


def _per_query(extreme: np.ufunc, features: Floats, offsets: NDArray[np.int64]) -> Floats:
    """Return the [q, f] minimum or maximum of each query; 0 for a query without documents."""
    out = np.zeros((len(offsets) - 1, features.shape[1]))
    is_filled = np.diff(offsets) > 0
    if is_filled.any():
        out[is_filled] = extreme.reduceat(features, offsets[:-1][is_filled], axis=0)
    return out


def _repeat(values: Floats, offsets: NDArray[np.int64]) -> Floats:
    """Repeat the values of a query for each of its documents."""
    return np.repeat(values, np.diff(offsets), axis=0)


def _zero_columns(data: Dataset, zero: Sequence[str | int] | None) -> list[int]:
    """Return the positions of the columns whose NULL becomes 0."""
    names = data.feature_names
    if zero is not None:
        return [_column(data, name) for name in zero]
    if any(not name.isdigit() for name in names):
        return [i for i, name in enumerate(names) if _BM25.match(name)]
    if len(names) not in _LAYOUTS:
        raise ConventionError(
            f"cannot find BM25, whose NULL becomes 0, among these {len(names)} features; name its columns with zero=, "
            "or use rule='min'"
        )
    return [number - 1 for number in _LAYOUTS[len(names)]]


def _column(data: Dataset, name: str | int) -> int:
    if isinstance(name, str):
        if name not in data.feature_names:
            raise UnknownName("feature", name, data.feature_names)
        return data.feature_names.index(name)
    if not 1 <= name <= len(data.feature_names):
        raise ConventionError(f"no feature {name}; the data set has {len(data.feature_names)} features")
    return name - 1
