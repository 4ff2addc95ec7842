"""RankLib's metrics by name, computed by Pippin's measures under RankLib's convention.

Particular to RankLib are default cutoffs and cutoffs of 0, relevance by a label above 0 but gains by its integer part,
the lists whose labels make the ideal list, and Java's parsing and printing of numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from pippin.compat.common import as_dataset, with_pools
from pippin.evaluation import measures
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import Values, measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.rank import rank
from pippin.evaluation.ranking import Ranking
from pippin.evaluation.tools import TOOLS
from pippin.records import FrozenRecord

_DOUBLE = re.compile(
    rb"([+-]?)(?:(NaN)|(Infinity)|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?"
    rb"|(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?)"
)
_INTEGER = re.compile(r"[+-]?\d+")
_SPACE = bytes(range(33))  # the characters that String.trim removes


def parse_double(text: bytes) -> float:
    """Parse a number as `Double.parseDouble`: NaN and Infinity in this spelling only, an optional final f or d.

    >>> parse_double(b"1.5e1"), parse_double(b"2f"), parse_double(b"-Infinity"), parse_double(b"0x1p3")
    (15.0, 2.0, -inf, 8.0)
    """
    match = _DOUBLE.fullmatch(text)
    if match is None:
        raise ValueError(f'For input string: "{text.decode("utf-8", "replace")}"')
    sign = -1.0 if match[1] == b"-" else 1.0
    if match[2]:
        return math.nan
    if match[5]:
        try:
            return sign * float.fromhex(match[5].decode())
        except OverflowError:
            return sign * math.inf
    return sign * (math.inf if match[3] else float(match[4]))


def as_integer(value: float) -> int:
    """Convert a number as `(int) value`: truncated, NaN is 0, and large numbers are the largest integer.

    >>> as_integer(-1.9), as_integer(math.nan), as_integer(math.inf)
    (-1, 0, 2147483647)
    """
    if math.isnan(value):
        return 0
    return int(min(max(value, -(2.0**31)), 2.0**31 - 1))


def parse_integer(text: str) -> int:
    """Parse a 32-bit integer as `Integer.parseInt`."""
    if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError(f'For input string: "{text}"')
    return int(text)


def show(value: float) -> str:
    """Format a number as `Double.toString`: shortest digits, with an exponent below 0.001 and from 10,000,000.

    >>> [show(v) for v in (0.397, 1.0, 2e-4, 1e7, 12345.678, -0.0)]
    ['0.397', '1.0', '2.0E-4', '1.0E7', '12345.678', '-0.0']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(digits) - 1}"


def round_half_up(value: float, digits: int = 4) -> float:
    """Return floor(v * 10^digits + 0.5) / 10^digits, by which RankLib rounds printed values.

    >>> round_half_up(0.03125), round_half_up(0.39696)
    (0.0313, 0.397)
    """
    if not math.isfinite(value):
        return value
    scale = 10.0**digits
    return math.floor(value * scale + 0.5) / scale


def trimmed_lines(path: str) -> Iterator[bytes]:
    """Yield the stripped lines of a file, which end with \\n or \\r; a file named `.gz` is decompressed."""
    with _open(path) as file:
        for line in file:
            text = line.strip(_SPACE)
            if b"\r" in text:
                for piece in text.split(b"\r"):
                    yield piece.strip(_SPACE)
            else:
                yield text


def _open(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        import gzip

        return cast(IO[bytes], gzip.open(path, "rb"))
    return Path(path).open("rb")


# name in RankLib → (measure, default cutoff)
_KINDS = {
    "MAP": ("AP", 0), "NDCG": ("NDCG", 10), "DCG": ("DCG", 10), "P": ("P", 10), "RR": ("RR", 0), "BEST": ("best", 10),
    "ERR": ("ERR", 10),
}  # fmt: skip
_GAIN_METRICS = ("NDCG", "DCG", "ERR")
_MAX_GRADE = 30  # RankLib's gain 2^label - 1 is a 32-bit integer, which overflows at 31
MAX_LABEL = 1_000_000  # RankLib has a table of the gains of all labels


def gain(label: int) -> int:
    """Return (1 << label) - 1 in Java, which uses the low five bits of the label only.

    >>> [gain(label) for label in (2, 30, 31, 32, 33)]
    [3, 1073741823, 2147483647, 0, 1]
    """
    return (1 << (label & 31)) - 1


class Metric(FrozenRecord):
    """A metric of RankLib: its measure, its cutoff (0 or less for the full list) and its printed name."""

    kind: str
    cutoff: int
    name: str


def parse(text: str) -> Metric:
    """Return the metric of a name in any case.

    >>> parse("ndcg@5").name, parse("MAP@5").name, parse("rr").name, parse("best").name
    ('NDCG@5', 'MAP', 'RR@0', 'Best@10')
    """
    head, at, tail = text.partition("@")
    name = head.upper()
    if name not in _KINDS:
        raise ValueError(f"unknown metric {text}")
    kind, cutoff = _KINDS[name]
    if at:
        cutoff = parse_integer(tail)
    printed = "Best" if name == "BEST" else name
    return Metric(kind, cutoff, "MAP" if kind == "AP" else f"{printed}@{cutoff}")


class Lists(FrozenRecord, eq=False):
    """Lists in the order of the file: concatenated labels, lengths and query ids."""

    labels: NDArray[np.float64]
    sizes: NDArray[np.int64]
    ids: list[str]

    def with_relevant(self) -> Lists:
        """Return the lists that have a label above 0."""
        owner = np.repeat(np.arange(len(self.ids)), self.sizes)
        keep = np.zeros(len(self.ids), bool)
        keep[owner[self.labels > 0]] = True
        return Lists(self.labels[keep[owner]], self.sizes[keep], [i for i, k in zip(self.ids, keep, strict=True) if k])

    def rank(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> Ranking:
        """Rank the lists with these labels by these scores."""
        data = as_dataset(labels, self.sizes, map(str, range(len(self.ids))), "lists")
        return rank(data, scores, TOOLS["ranklib"].convention)


Judgements = dict[str, list[int]]


def read_judgements(path: str, metric: Metric) -> Judgements:
    """Read labels by query: all positive ones for MAP; for NDCG those of the last consecutive lines of a query."""
    judgements: Judgements = {}
    last = None
    for line in trimmed_lines(path):
        if not line:
            continue
        words = line.split(b" ")
        if len(words) < 4:
            raise ValueError(f"Index 3 out of bounds for length {len(words)}")
        query = words[0].decode("utf-8", "surrogateescape")
        label = round(parse_double(words[3].strip()))
        if metric.kind == "NDCG":
            if query != last:
                judgements[query] = []
            judgements[query].append(label)
        elif label > 0:
            judgements.setdefault(query, []).append(label)
        last = query
    if metric.kind == "NDCG":
        return {query: _ideal(labels, metric.cutoff) for query, labels in judgements.items()}
    return judgements


def _ideal(labels: list[int], cutoff: int) -> list[int]:
    """Return the labels of an ideal list; RankLib takes none for a cutoff of 0, and fails at labels below 0."""
    best = sorted(labels, reverse=True)[: max(cutoff, 0)]
    if best and best[-1] < 0:
        raise ValueError(f"Index {best[-1]} out of bounds for length 6")
    return best


def values(
    lists: Lists, scores: NDArray[np.float64], metric: Metric, highest: float, judgements: Judgements | None
) -> Values:
    """Return the metric of every list; `highest` is the divisor of ERR's gains, `judgements` come from -qrel."""
    if metric.kind == "RR" and metric.cutoff <= 0:
        return np.zeros(len(lists.ids))
    if metric.kind == "best":
        return _best(lists, scores, metric.cutoff)
    labels = (lists.labels if metric.kind in _GAIN_METRICS else lists.labels > 0).astype(np.int32)
    if metric.kind == "ERR":
        return _err(lists.rank(labels, scores), metric.cutoff, highest)
    measure = Measure(metric.kind, metric.cutoff if metric.cutoff > 0 else None)
    overrides: dict[str, object] = {}
    ranking = lists.rank(labels, scores)
    if metric.kind == "NDCG" or (metric.kind == "AP" and judgements is not None):
        ranking = _with_ideals(ranking, lists, labels, judgements, metric.kind == "AP")
        overrides = {"ideal_source": "judged", "ap_denominator": "judged"}
    if metric.kind in ("NDCG", "DCG") and max(labels.max(initial=0), ranking.pool.max(initial=0)) > _MAX_GRADE:
        return _with_overflowing_gains(ranking, metric)
    convention = TOOLS["ranklib"].convention_for(measure, **overrides)
    if metric.kind in ("NDCG", "DCG"):
        return _multiply_discounts(ranking, measure, convention)
    return measure_values(ranking, measure, convention)


def _depths(ranking: Ranking, cutoff: int) -> NDArray[np.int64]:
    """Return the number of documents within the cutoff of each list."""
    sizes: NDArray[np.int64] = ranking.sizes()
    return np.minimum(sizes, cutoff) if cutoff > 0 else sizes


def _err(ranking: Ranking, cutoff: int, highest: float) -> Values:
    """Return ERR with stopping probabilities gain / `highest`, which may exceed 1."""
    gains = np.array([gain(label) for label in range(int(ranking.labels.max(initial=0)) + 1)], np.float64)
    depths = _depths(ranking, cutoff)
    total, not_stopped = np.zeros(len(depths)), np.ones(len(depths))
    with np.errstate(all="ignore"):
        for i in range(int(depths.max(initial=0))):
            active = np.flatnonzero(depths > i)
            probability = gains[ranking.labels[ranking.offsets[:-1][active] + i]] / highest
            total[active] += not_stopped[active] * probability / (i + 1)
            not_stopped[active] *= 1.0 - probability
    return total


def _with_overflowing_gains(ranking: Ranking, metric: Metric) -> Values:
    """Return NDCG or DCG with labels whose gains overflow; the ideal list is still ordered by label."""
    values = []
    for q, depth in enumerate(_depths(ranking, metric.cutoff).tolist()):
        first, pool = int(ranking.offsets[q]), ranking.pool[ranking.pool_offsets[q] : ranking.pool_offsets[q + 1]]
        value = _dcg(ranking.labels[first : first + depth])
        if metric.kind == "NDCG":
            best = _dcg(pool[: metric.cutoff] if metric.cutoff > 0 else pool)
            value = value / best if best > 0 else 0.0
        values.append(value)
    return np.array(values, np.float64)


def _dcg(labels: NDArray[np.int32]) -> float:
    total = 0.0
    for i, label in enumerate(labels.tolist()):
        total += gain(label) * (1.0 / (math.log(i + 2) / math.log(2.0)))
    return total


def _multiply_discounts(ranking: Ranking, measure: Measure, convention: Convention) -> Values:
    """Return NDCG or DCG by gain * (1 / (ln(1 + r) / ln 2)), which differs in the last digit from a division."""
    rules = measures.rules(ranking, convention, measure)
    discounts = 1.0 / (np.log(np.arange(2.0, len(rules.divisors) + 2.0)) / np.log(2.0))
    rules = replace(rules, multipliers=discounts, divisors=np.ones_like(discounts))
    values = ranking.compute(measure.kind.lower(), rules)
    return np.where(np.isnan(values), convention.empty or 0.0, values)


def _with_ideals(
    ranking: Ranking, lists: Lists, labels: NDArray[np.int32], judgements: Judgements | None, judged_only: bool
) -> Ranking:
    """Return the ranking with ideal lists from the judgements of the query, or from the first list of the query.

    With `judged_only`, the ideal list of a query without judgements is empty.
    """
    external = judgements or {}
    sizes = [*lists.sizes.tolist(), *(len(pool) for pool in external.values()), 0]
    pooled = np.concatenate([labels, np.array([*chain(*external.values())], np.int32)])
    pools = as_dataset(pooled, sizes, map(str, range(len(sizes))), "judged")
    source = {query: len(lists.ids) + i for i, query in enumerate(external)}
    empty_pool = len(sizes) - 1
    indices = [
        source.get(query, empty_pool) if judged_only else source.setdefault(query, number)
        for number, query in enumerate(lists.ids)
    ]
    return with_pools(ranking, pools, indices)


def _best(lists: Lists, scores: NDArray[np.float64], cutoff: int) -> Values:
    """Return the highest label among the first k documents."""
    distinct, codes = np.unique(lists.labels, return_inverse=True)
    ranking = lists.rank(codes.astype(np.int32), scores)
    positions = np.arange(len(codes)) - np.repeat(ranking.offsets[:-1], lists.sizes)
    within = np.where(positions < (cutoff if cutoff > 0 else len(codes)), ranking.labels, 0)
    return distinct[np.maximum.reduceat(within, ranking.offsets[:-1])] if len(codes) else np.empty(0)
