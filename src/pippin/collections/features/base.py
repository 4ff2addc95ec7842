"""Define, register and parse features such as `bm25(k1=0.9,b=0.4)@title`.

A feature is one formula over the term statistics of a query's candidates. Its function receives the candidates, the
statistics of one field if it needs one, and its parameters by name; the signature holds the defaults. It returns one
float64 per candidate, NaN for missing values. A feature registered with `batched=True` also accepts a `Batch` of
queries: computing thousands of candidates per call keeps the time in NumPy loops instead of Python calls.
"""

from __future__ import annotations

import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from pippin.collections.index.statistics import (
    Batch,
    Candidates,
    FieldStatistics,
    Floats,
    NumericField,
    Queries,
    batches,
)
from pippin.display.registry_view import RegistryView
from pippin.errors import ConventionError, PluginError, UnknownName
from pippin.kernels import threads
from pippin.registry import Registry

Parameter = float | int | str
PAIRS = 1 << 14  # candidates in a batch: enough that calls cost nothing, few enough for a core's cache
Compute = TypeVar("Compute", bound=Callable[..., Floats])


@dataclass(frozen=True, eq=False)
class Feature:
    """One formula; `kind` is what it depends on: the query (Q), the document (D) or both (Q-D)."""

    name: str
    kind: Literal["Q", "D", "Q-D"]
    formula: str
    source: str
    missing_when: str  # when the value is missing
    fill: Literal["min", "zero"]  # of NULL in LETOR's Feature_MIN: the query's minimum, or 0
    needs_field: bool
    parameters: Mapping[str, Parameter]  # with their defaults
    limits: Mapping[str, str]  # "[0, 1]" for numbers, "null | value" for words
    compute: Callable[..., Floats] = dataclass_field(repr=False)
    batched: bool = False  # whether `compute` also accepts a batch of queries
    numeric: bool = False  # whether the field is numeric instead of text


@dataclass(frozen=True)
class BoundFeature:
    """A feature on one field with its parameters; its text is its identity."""

    feature: Feature
    field: str | None = None
    parameters: tuple[tuple[str, Parameter], ...] = ()  # that differ from the defaults

    @cached_property
    def text(self) -> str:
        """The canonical text, such as `bm25(k1=0.9,b=0.4)@title`, without parameters that have their defaults."""
        parameters = ",".join(f"{key}={_format(value)}" for key, value in self.parameters)
        at = "" if self.field is None else f"@{self.field}"
        return self.feature.name + (f"({parameters})" if parameters else "") + at

    def values(self, candidates: Candidates) -> Floats:
        """Return one value per candidate, NaN for missing values."""
        if self.field is None:
            return self.of(candidates, None)
        check_fields([self], candidates.fields, candidates.numeric_fields)
        fields = candidates.numeric_fields if self.feature.numeric else candidates.fields
        return self.of(candidates, fields[self.field])

    def of(self, queries: Queries, field: FieldStatistics | NumericField | None) -> Floats:
        """Return one value per candidate, from the statistics of the feature's field."""
        # lambda is a keyword of Python, so functions name that parameter lambda_.
        arguments = {"lambda_" if key == "lambda" else key: value for key, value in self.parameters}
        values = self.feature.compute(queries, *([] if field is None else [field]), **arguments)
        values = np.asarray(values, np.float64)
        if values.shape != (len(queries),):
            raise PluginError(f"{self} must return one value per candidate, {len(queries)}, got {values.shape}")
        return values

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class FeatureSet:
    """Features in a published order, written for the fields of the published collection."""

    name: str
    meaning: str
    source: str
    fields: tuple[str, ...]
    texts: tuple[str, ...]
    left_out: str = ""  # features of the published set that are missing here

    def __len__(self) -> int:
        return len(self.texts)

    def on(self, fields: Sequence[str]) -> tuple[str, ...]:
        """Return the texts with the set's fields replaced by these, in their order."""
        if len(fields) != len(self.fields):
            example = "+".join(self.fields)
            raise ConventionError(f"the feature set {self.name} needs {len(self.fields)} fields, as in @{example}")
        replacement = dict(zip(self.fields, fields, strict=True))
        parts = (text.partition("@") for text in self.texts)
        return tuple(name + at + replacement.get(field, field) for name, at, field in parts)


FEATURES: Registry[Feature] = Registry("feature", "pippin.features", Feature)
features: RegistryView[Feature] = RegistryView(
    FEATURES,
    {
        "of": lambda feature: feature.kind,
        "formula": lambda feature: feature.formula,
        "source": lambda feature: feature.source,
        "NULL": lambda feature: feature.missing_when,
    },
)
SETS: Registry[FeatureSet] = Registry("feature set", "pippin.feature_sets", FeatureSet)


def feature(
    name: str,
    *,
    kind: Literal["Q", "D", "Q-D"],
    formula: str,
    source: str,
    missing_when: str = "never",
    fill: Literal["min", "zero"] = "min",
    limits: Mapping[str, str] | None = None,
    batched: bool = False,
    numeric: bool = False,
) -> Callable[[Compute], Compute]:
    """Register a formula as a feature.

    A second positional argument of the function is the statistics of the field, with `numeric` a `NumericField`. With
    `batched` the function also accepts a `Batch`, in which values per word or query must pass through `broadcast`.
    """

    def register(compute: Compute) -> Compute:
        signature = inspect.signature(compute).parameters.values()
        defaults = {p.name.rstrip("_"): p.default for p in signature if p.kind is p.KEYWORD_ONLY}
        needs_field = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in signature) > 1
        own_limits = {key: limit for key, limit in (limits or {}).items() if key in defaults}
        shape = needs_field, defaults, own_limits
        FEATURES.register(
            name, Feature(name, kind, formula, source, missing_when, fill, *shape, compute, batched, numeric)
        )
        return compute

    return register


def extract(candidates: Candidates, features: str | Iterable[BoundFeature | str]) -> Floats:
    """Return the features of a query's candidates, float64 [n, f], NaN for missing values."""
    return extract_many([candidates], features)[0]


def extract_many(
    queries: Sequence[Candidates], features: str | Iterable[BoundFeature | str], workers: int | None = None
) -> list[Floats]:
    """Return the features of each query's candidates, computed on all threads, with the bits of `extract`."""
    bound = parse_features(features)
    for candidates in queries:
        check_fields(bound, candidates.fields, candidates.numeric_fields)
    fields = dict.fromkeys(bound.field for bound in bound if bound.feature.batched and bound.field is not None)
    tables: list[Floats] = [np.empty((0, 0))] * len(queries)

    jobs = list(batches(queries, fields, PAIRS))
    with ThreadPoolExecutor(max(1, min(workers or threads(), len(jobs)))) as pool:
        results = pool.map(lambda job: _extract(job[1], bound), jobs)
        for (positions, _), of_batch in zip(jobs, results, strict=True):
            for position, table in zip(positions, of_batch, strict=True):
                tables[position] = table
    return tables


def _extract(batch: Batch, bound_features: Sequence[BoundFeature]) -> list[Floats]:
    """Return the table of each query of a batch."""
    columns = np.empty((len(bound_features), len(batch)), np.float64)
    offsets = np.concatenate(([0], np.cumsum(batch.sizes))).tolist()
    spans = list(zip(batch.queries, offsets, offsets[1:], strict=False))
    fields: dict[str, FieldStatistics] = {}
    for column, bound in zip(columns, bound_features, strict=True):
        if bound.feature.batched and bound.field is not None:
            if bound.field not in fields:
                fields[bound.field] = batch.field(bound.field)
            column[:] = bound.of(batch, fields[bound.field])
        else:
            for candidates, start, end in spans:
                column[start:end] = bound.values(candidates)
    return [np.ascontiguousarray(columns[:, start:end].T) for _, start, end in spans]


def check_fields(features: Iterable[BoundFeature], fields: Iterable[str], numeric_fields: Iterable[str] = ()) -> None:
    """Raise `ConventionError` unless the collection has the fields of all features."""
    of_kind = {False: tuple(fields), True: tuple(numeric_fields)}
    for bound in features:
        names = of_kind[bound.feature.numeric]
        if bound.field is not None and bound.field not in names:
            kind = "numeric field" if bound.feature.numeric else "field"
            raise ConventionError(
                f"{bound.text} needs the {kind} {bound.field!r}, which the collection does not have; its {kind}s: "
                f"{', '.join(names) or 'none'}"
            )


def parse_features(features: str | Iterable[BoundFeature | str]) -> tuple[BoundFeature, ...]:
    """Parse features, written as names with parameters and fields, and feature sets.

    >>> [bound.text for bound in parse_features("bm25(b=0.4, k1=0.9)@title, tf@body length@body")]
    ['bm25(k1=0.9,b=0.4)@title', 'tf@body', 'length@body']
    >>> len(parse_features("ohsumed")), parse_features("ohsumed@title+body+whole")[-1].text
    (45, 'lmir_abs(delta=0.5)@whole')
    """
    parts = _split(features) if isinstance(features, str) else features
    parsed: list[BoundFeature] = []
    for part in parts:
        parsed += [part] if isinstance(part, BoundFeature) else _parse(part)
    if not parsed:
        raise ConventionError("no features are given")
    counts = Counter(bound.text for bound in parsed)
    if repeated := next((text for text, count in counts.items() if count > 1), None):
        raise ConventionError(f"the feature {repeated} is given twice")
    return tuple(parsed)


def _split(text: str) -> list[str]:
    """Split a text at commas and blanks, except inside brackets."""
    return re.findall(r"(?:[^\s,(]|\([^)]*\)?)+", text)


_SYNTAX = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\((?P<parameters>[^()]*)\))?(?:@(?P<field>[^@\s]+))?")


def _parse(text: str) -> list[BoundFeature]:
    """Parse one feature, or all features of a set."""
    match = _SYNTAX.fullmatch(text.strip())
    if match is None:
        raise ConventionError(f"invalid feature {text!r}: expected name(parameter=value)@field")
    name, parameters, field = match["name"], match["parameters"], match["field"]
    if _is_set(name):
        if parameters is not None:
            raise ConventionError(f"{text}: a feature set has no parameters")
        feature_set = SETS[name]
        texts = feature_set.texts if field is None else feature_set.on(field.split("+"))
        return [bound for member in texts for bound in _parse(member)]
    if name not in FEATURES:
        raise UnknownName("feature", name, [*FEATURES, *SETS])
    feature = FEATURES[name]
    if feature.needs_field and field is None:
        raise ConventionError(f"{text} needs a field, as in {text}@title")
    if not feature.needs_field and field is not None:
        raise ConventionError(f"{text}: {name} is a feature of the whole document and has no field")
    return [BoundFeature(feature, field, _parameters(feature, parameters or "", text))]


def sets_of(text: str) -> list[str]:
    """Return the names of the feature sets in a text.

    >>> sets_of("ohsumed@title+body+whole bm25(k1=0.9)@title")
    ['ohsumed']
    """
    return [name for part in _split(text) if _is_set(name := re.split(r"[@(]", part)[0])]


def _is_set(name: str) -> bool:
    """Return whether a name is a feature set; registered names take precedence over those of plugins."""
    if name in FEATURES.loaded_items or name in SETS.loaded_items:
        return name not in FEATURES.loaded_items
    return name not in FEATURES and name in SETS


def _parameters(feature: Feature, parameters: str, text: str) -> tuple[tuple[str, Parameter], ...]:
    """Parse the parameters that differ from the defaults, in the order of the signature."""
    values: dict[str, Parameter] = {}
    for part in parameters.split(",") if parameters.strip() else []:
        key, equals, value = (side.strip() for side in part.partition("="))
        if not equals:
            raise ConventionError(f"{text}: parameters are written name=value")
        if key not in feature.parameters:
            raise UnknownName(f"parameter of {feature.name}", key, feature.parameters)
        if key in values:
            raise ConventionError(f"{text}: {key} is given twice")
        values[key] = _parameter(feature, key, value, text)
    return tuple((key, values[key]) for key, value in feature.parameters.items() if values.get(key, value) != value)


def _parameter(feature: Feature, key: str, value: str, text: str) -> Parameter:
    """Parse a value of the default's type within the limits."""
    default = feature.parameters[key]
    if isinstance(default, str):
        choices = feature.limits[key].split(" | ") if key in feature.limits else [value]
        if value not in choices:
            raise ConventionError(f"{text}: {key} must be {' or '.join(choices)}, got {value!r}")
        return value
    limits = feature.limits.get(key, "[0, inf)")
    try:
        number = type(default)(value)
    except ValueError:
        number = math.nan
    if not _is_inside(number, limits):
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise ConventionError(f"{text}: {key} must be {kind} in {limits}, got {value!r}")
    return number


def _is_inside(value: float, limits: str) -> bool:
    """Return whether a number is in an interval such as "(0, 1]"."""
    low, high = (float(end) for end in limits[1:-1].split(","))
    above = value >= low if limits[0] == "[" else value > low
    return above and (value <= high if limits[-1] == "]" else value < high)


def _format(value: Parameter) -> str:
    return value if isinstance(value, str) else f"{value:.17g}" if float(f"{value:g}") != value else f"{value:g}"


def total(terms: Floats) -> Floats:
    """Sum [t, n] over words, row by row, so that a document's sum does not depend on the number of documents."""
    out = np.zeros(terms.shape[1:], np.float64)
    for row in terms:
        out += row
    return out


def constant(queries: Queries, value: Any) -> Floats:
    """Return the same value for every candidate of a query."""
    return np.broadcast_to(queries.broadcast(value), len(queries)).copy()
