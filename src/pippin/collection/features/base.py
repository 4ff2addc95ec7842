"""What a feature is, how it is registered where it is defined, and how `bm25(k1=0.9,b=0.4)@title` is understood.

A feature is one formula over the counts of a query's candidates. Its function takes the candidates, the counts of one
stream unless it needs none, and its parameters by name; defaults stand in the signature. It returns one float64 per
candidate, NaN for NULL. One that is registered with `many` takes a `Batch` of queries as well, and is then worked out
for thousands of candidates in one go: NumPy's time is in the numbers, not in the calls, and threads hardly meet.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from pippin.collection.candidates import Batch, Candidates, Floats, Queries, StreamCounts, batches
from pippin.errors import ConventionError, PluginError, UnknownName
from pippin.kernels import threads
from pippin.registry import Registry

Parameter = float | int | str
PAIRS = 1 << 14  # candidates in a batch: enough that calls cost nothing, few enough for a core's cache
Compute = TypeVar("Compute", bound=Callable[..., Floats])


@dataclass(frozen=True, eq=False)
class Feature:
    """One formula. `kind` says on what it depends: the query (Q), the document (D) or both (Q-D)."""

    name: str
    kind: Literal["Q", "D", "Q-D"]
    formula: str
    source: str
    null: str  # when there is no value
    fill: Literal["min", "zero"]  # what LETOR's Feature_MIN puts in place of NULL: the query's minimum, or 0
    needs_stream: bool
    parameters: Mapping[str, Parameter]  # with their defaults
    limits: Mapping[str, str]  # "[0, 1]" for numbers, "null | value" for words
    compute: Callable[..., Floats] = field(repr=False)
    many: bool = False  # whether `compute` takes a batch of queries, too


@dataclass(frozen=True)
class BoundFeature:
    """A feature on one stream with its parameters. Its text is its identity."""

    feature: Feature
    stream: str | None = None
    parameters: tuple[tuple[str, Parameter], ...] = ()  # those that differ from the defaults

    @cached_property
    def text(self) -> str:
        """As it is written, e.g. `bm25(k1=0.9,b=0.4)@title`; parameters that have their default are not said."""
        inside = ",".join(f"{key}={_shown(value)}" for key, value in self.parameters)
        at = "" if self.stream is None else f"@{self.stream}"
        return self.feature.name + (f"({inside})" if inside else "") + at

    def values(self, candidates: Candidates) -> Floats:
        """One value per candidate; NaN where there is none."""
        if self.stream is not None and self.stream not in candidates.streams:
            raise _no_stream(self.text, self.stream, candidates.streams)
        return self.of(candidates, None if self.stream is None else candidates.streams[self.stream])

    def of(self, queries: Queries, stream: StreamCounts | None) -> Floats:
        """One value per candidate, given the counts of the feature's stream."""
        # A parameter that is a word of Python, as lambda, is written with an underscore behind it.
        named = {_argument(key): value for key, value in self.parameters}
        values = self.feature.compute(queries, *([] if stream is None else [stream]), **named)
        values = np.asarray(values, np.float64)
        if values.shape != (len(queries),):
            raise PluginError(f"{self} must give a value per candidate, {len(queries)}, not {values.shape}")
        return values

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class FeatureSet:
    """Features in a published order. They are written for the set's own streams; another collection names its own."""

    name: str
    meaning: str
    source: str
    streams: tuple[str, ...]
    texts: tuple[str, ...]
    left_out: str = ""  # what the published set has and this one has not

    def __len__(self) -> int:
        return len(self.texts)

    def on(self, streams: Sequence[str]) -> tuple[str, ...]:
        """The texts with the set's streams replaced by others, in their order."""
        if len(streams) != len(self.streams):
            wanted = "+".join(self.streams)
            raise ConventionError(f"the feature set {self.name} wants {len(self.streams)} streams, as in @{wanted}")
        other = dict(zip(self.streams, streams, strict=True))
        parts = (text.partition("@") for text in self.texts)
        return tuple(name + at + other.get(stream, stream) for name, at, stream in parts)


FEATURES: Registry[Feature] = Registry("feature", "pippin.features", Feature)
SETS: Registry[FeatureSet] = Registry("feature set", "pippin.feature_sets", FeatureSet)


def feature(
    name: str,
    *,
    kind: Literal["Q", "D", "Q-D"],
    formula: str,
    source: str,
    null: str = "never",
    fill: Literal["min", "zero"] = "min",
    limits: Mapping[str, str] | None = None,
    many: bool = False,
) -> Callable[[Compute], Compute]:
    """Decorator: put a formula on the shelf. Its second argument, if there is one, is the stream.

    `many`: it also takes a `Batch`, where what is known of words and queries goes through `each` to meet candidates.
    """

    def put(compute: Compute) -> Compute:
        signature = inspect.signature(compute).parameters.values()
        named = {p.name.rstrip("_"): p.default for p in signature if p.kind is p.KEYWORD_ONLY}
        plain = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in signature)
        allowed = {key: limit for key, limit in (limits or {}).items() if key in named}
        FEATURES.register(
            name, Feature(name, kind, formula, source, null, fill, plain > 1, named, allowed, compute, many)
        )
        return compute

    return put


def extract(candidates: Candidates, features: str | Iterable[BoundFeature | str]) -> Floats:
    """The features of a query's candidates: float64[n, f], NaN for NULL."""
    return extract_many([candidates], features)[0]


def extract_many(
    queries: Sequence[Candidates], features: str | Iterable[BoundFeature | str], workers: int | None = None
) -> list[Floats]:
    """The features of each query's candidates, on all threads: bit for bit what `extract` gives of one query."""
    wanted = parse_features(features)
    for candidates in queries:
        check_streams(wanted, candidates.streams)
    streams = dict.fromkeys(bound.stream for bound in wanted if bound.feature.many and bound.stream is not None)
    tables: list[Floats] = [np.empty((0, 0))] * len(queries)

    def work(places: Sequence[int], batch: Batch) -> None:
        for place, table in zip(places, _extract(batch, wanted), strict=True):
            tables[place] = table

    found = list(batches(queries, streams, PAIRS))
    with ThreadPoolExecutor(max(1, min(workers or threads(), len(found)))) as pool:
        for _ in pool.map(lambda one: work(*one), found):
            pass
    return tables


def _extract(batch: Batch, wanted: Sequence[BoundFeature]) -> list[Floats]:
    """The table of each query of a batch."""
    columns = np.empty((len(wanted), len(batch)), np.float64)
    cuts = np.concatenate(([0], np.cumsum(batch.sizes))).tolist()
    spans = list(zip(batch.queries, cuts, cuts[1:], strict=False))
    streams: dict[str, StreamCounts] = {}
    for column, bound in zip(columns, wanted, strict=True):
        if bound.feature.many and bound.stream is not None:
            if bound.stream not in streams:
                streams[bound.stream] = batch.stream(bound.stream)
            column[:] = bound.of(batch, streams[bound.stream])
        else:
            for candidates, start, end in spans:
                column[start:end] = bound.values(candidates)
    return [np.ascontiguousarray(columns[:, start:end].T) for _, start, end in spans]


def check_streams(features: Iterable[BoundFeature], streams: Iterable[str]) -> None:
    """Raise with one sentence unless the collection has every stream that a feature asks for."""
    known = tuple(streams)
    for bound in features:
        if bound.stream is not None and bound.stream not in known:
            raise _no_stream(bound.text, bound.stream, known)


def _no_stream(text: str, stream: str, known: Iterable[str]) -> ConventionError:
    there = ", ".join(known) or "none"
    return ConventionError(f"{text} asks for the stream {stream!r}, which this collection lacks; its streams: {there}")


def parse_features(features: str | Iterable[BoundFeature | str]) -> tuple[BoundFeature, ...]:
    """The features that are asked for, as names with parameters and streams, or as whole sets.

    >>> [bound.text for bound in parse_features("bm25(b=0.4, k1=0.9)@title, tf@body length@body")]
    ['bm25(k1=0.9,b=0.4)@title', 'tf@body', 'length@body']
    >>> len(parse_features("ohsumed")), parse_features("ohsumed@title+body+whole")[-1].text
    (45, 'lmir_abs(delta=0.5)@whole')
    """
    pieces = _split(features) if isinstance(features, str) else features
    found: list[BoundFeature] = []
    for piece in pieces:
        found += [piece] if isinstance(piece, BoundFeature) else _parse(piece)
    if not found:
        raise ConventionError("no feature is asked for")
    seen: set[str] = set()
    for bound in found:
        if bound.text in seen:
            raise ConventionError(f"{bound.text} is asked for twice")
        seen.add(bound.text)
    return tuple(found)


def _split(text: str) -> list[str]:
    """The pieces between commas or blanks, except inside brackets."""
    return re.findall(r"(?:[^\s,(]|\([^)]*\)?)+", text)


_SHAPE = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\((?P<inside>[^()]*)\))?(?:@(?P<stream>[^@\s]+))?")


def _parse(text: str) -> list[BoundFeature]:
    """One feature, or all of a set."""
    shape = _SHAPE.fullmatch(text.strip())
    if shape is None:
        raise ConventionError(f"a feature is written name(parameter=value)@stream, not {text!r}")
    name, inside, stream = shape["name"], shape["inside"], shape["stream"]
    if _is_set(name):
        if inside is not None:
            raise ConventionError(f"{text}: a feature set has no parameters")
        chosen = SETS[name]
        texts = chosen.texts if stream is None else chosen.on(stream.split("+"))
        return [bound for each in texts for bound in _parse(each)]
    if name not in FEATURES:
        raise UnknownName("feature", name, [*FEATURES, *SETS])
    kept = FEATURES[name]
    if kept.needs_stream and stream is None:
        raise ConventionError(f"{text} needs a stream, as in {text}@title")
    if not kept.needs_stream and stream is not None:
        raise ConventionError(f"{text}: {name} is a feature of the whole document and has no stream")
    return [BoundFeature(kept, stream, _parameters(kept, inside or "", text))]


def sets_of(text: str) -> list[str]:
    """The names of the feature sets in a text.

    >>> sets_of("ohsumed@title+body+whole bm25(k1=0.9)@title")
    ['ohsumed']
    """
    return [name for piece in _split(text) if _is_set(name := re.split(r"[@(]", piece)[0])]


def _is_set(name: str) -> bool:
    """Whether this is no feature but a set of them; what is known comes before what packages promise."""
    if name in FEATURES.known or name in SETS.known:
        return name not in FEATURES.known
    return name not in FEATURES and name in SETS


def _parameters(kept: Feature, inside: str, text: str) -> tuple[tuple[str, Parameter], ...]:
    """The given parameters that differ from the defaults, in the order of the signature."""
    given: dict[str, Parameter] = {}
    for part in inside.split(",") if inside.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ConventionError(f"{text}: parameters are written name=value")
        if key not in kept.parameters:
            raise UnknownName(f"parameter of {kept.name}", key, kept.parameters)
        if key in given:
            raise ConventionError(f"{text}: {key} is given twice")
        given[key] = _parameter(kept, key, value, text)
    return tuple((key, given[key]) for key, usual in kept.parameters.items() if given.get(key, usual) != usual)


def _parameter(kept: Feature, key: str, value: str, text: str) -> Parameter:
    """A value of the default's type within the limits."""
    usual = kept.parameters[key]
    if isinstance(usual, str) and key not in kept.limits:
        return value
    if isinstance(usual, str):
        choices = kept.limits[key].split(" | ")
        if value not in choices:
            raise ConventionError(f"{text}: {key} is {' or '.join(choices)}, not {value!r}")
        return value
    limits = kept.limits.get(key, "[0, inf)")
    try:
        number = type(usual)(value)
    except ValueError:
        number = math.nan
    if not _inside(number, limits):
        kind = "a whole number" if isinstance(usual, int) else "a number"
        raise ConventionError(f"{text}: {key} is {kind} in {limits}, not {value!r}")
    return number


def _inside(value: float, limits: str) -> bool:
    """Whether a number lies in an interval such as "(0, 1]"."""
    low, high = (float(end) for end in limits[1:-1].split(","))
    above = value >= low if limits[0] == "[" else value > low
    return above and (value <= high if limits[-1] == "]" else value < high)


def _shown(value: Parameter) -> str:
    return value if isinstance(value, str) else f"{value:.17g}" if float(f"{value:g}") != value else f"{value:g}"


def _argument(key: str) -> str:
    return f"{key}_" if key == "lambda" else key


def total(terms: Floats) -> Floats:
    """Σ over words of [t, n]. Row by row, so that a document's sum never depends on how many others there are."""
    out = np.zeros(terms.shape[1:], np.float64)
    for row in terms:
        out += row
    return out


def constant(queries: Queries, value: Any) -> Floats:
    """The same value for every candidate of a query, as features of the query alone have."""
    return np.broadcast_to(queries.each(value), len(queries)).copy()
