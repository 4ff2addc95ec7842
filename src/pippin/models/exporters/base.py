"""Exporters: file formats of engines, how each engine scores, and the mapping of features to an engine's own.

An exporter is registered by its module. It receives a model that is already adapted to the engine's scoring rules (see
`thresholds`) and returns files. For the certificate the engine itself scores the files if it can run on this machine;
otherwise Pippin computes in the engine's precision.

A mapping is a JSON file that names an engine's features and how it computes them:

    {"bm25@title": {"name": "title_bm25", "template": {"match": {"title": "{{keywords}}"}}},
     "length@body": "body_length"}

A string is the name in the engine. Other keys (`template` and `params` for Elasticsearch and OpenSearch, `class` and
`params` for Solr, `expression` for Vespa) are written to the feature set beside the model. `pippin engine
features` writes a mapping for the features that an engine can compute.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, DataError, UnknownName
from pippin.models.importers import read_model
from pippin.models.model import (
    FLOAT64,
    Layer,
    LinearModel,
    Model,
    NeuralNetwork,
    Normaliser,
    ScoringRules,
    TreeEnsemble,
    fold_normalisation,
    map_features,
)
from pippin.models.thresholds import AdaptedModel, adapt_thresholds
from pippin.registry import Registry

F64 = NDArray[np.float64]
Files = dict[str, bytes]  # content by suffix of the output path; "" is the model itself
KIND_NAMES = {"linear": "a linear model", "trees": "trees", "network": "a neural network"}
KINDS = tuple(KIND_NAMES)


@dataclass(frozen=True)
class FeatureMapping:
    """Names and definitions of features in an engine, by feature; may be empty."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    file: str | None = None

    def name(self, feature: str) -> str:
        """Return the name of a feature in the engine."""
        return str(self.entries.get(feature, {}).get("name", feature))

    def names(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the names of features in the engine; DataError if two are equal."""
        names = tuple(self.name(feature) for feature in features)
        if len(set(names)) != len(names):
            duplicate = next(name for i, name in enumerate(names) if name in names[:i])
            raise DataError(f"two features are mapped to the name {duplicate}", self.file)
        return names

    def definitions(self, names: Iterable[str], key: str) -> dict[str, dict[str, Any]]:
        """Return the entries of features by their names in the engine; DataError if an entry lacks `key`."""
        features = {self.name(feature): feature for feature in self.entries}
        entries = {name: self.entries.get(features.get(name, name), {}) for name in names}
        for name, entry in entries.items():
            if key not in entry:
                feature = features.get(name, name)
                raise DataError(f"the mapping does not define {feature}: {key!r} is missing", self.file)
        return entries

    def for_model(self, features: Sequence[str]) -> FeatureMapping:
        """Return the mapping by the feature names of a model; numbered features match the `number` of entries."""
        if not self.entries or any(feature in self.entries for feature in features):
            return self
        numbered = {str(entry["number"]): entry for entry in self.entries.values() if "number" in entry}
        entries = {feature: numbered[feature] for feature in features if feature in numbered}
        if not entries:
            example = f"mapping {next(iter(self.entries))}, model {features[0]}"
            raise DataError(f"the mapping names no feature of the model: {example}", self.file)
        return FeatureMapping(entries, self.file)

    def has(self, key: str) -> bool:
        """Return whether some entry has this key."""
        return any(key in entry for entry in self.entries.values())


def as_mapping(features: Any) -> FeatureMapping:
    """Return the mapping of a JSON file or of a dict by feature; None is an empty mapping."""
    if features is None or isinstance(features, FeatureMapping):
        return features or FeatureMapping()
    path = None
    if isinstance(features, str | os.PathLike):
        path = os.fspath(features)
        try:
            features = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"cannot read this file ({error.strerror})", path) from None
        except (ValueError, RecursionError):
            raise DataError("a mapping of features is a JSON file, and this is invalid JSON", path) from None
    if not isinstance(features, dict):
        raise DataError("invalid feature mapping: expected a JSON object, or a dict in Python", path)
    entries = {}
    for feature, value in features.items():
        entry = {"name": value} if isinstance(value, str) else value
        if not isinstance(entry, dict) or not isinstance(entry.get("name", feature), str):
            raise DataError(f"the mapping of {feature} is neither a name nor an object with a name", path)
        entries[feature] = entry
    return FeatureMapping(entries, path)


@dataclass(frozen=True)
class ExportRequest:
    """The arguments of an exporter: the adapted model, its name, the mapping and the options; notes are appended."""

    model: Any
    name: str
    file_name: str
    mapping: FeatureMapping
    options: Mapping[str, str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Option:
    """An option of an exporter; without choices it takes any text."""

    default: str
    help: str
    choices: tuple[str, ...] = ()


class EngineUnavailable(Exception):
    """The engine cannot run on this machine; the certificate is computed in its precision instead."""


@dataclass(frozen=True)
class Engine:
    """An engine that can score exported files on this machine."""

    name: str
    # From the path of the exported file, a feature table and the request: the engine's version, and the scores.
    # Raises EngineUnavailable.
    score: Callable[[Path, F64, ExportRequest], tuple[str, F64]]


@dataclass(frozen=True)
class Exporter:
    """A file format, how its engine scores, and the engine itself if it can run on this machine."""

    name: str
    title: str
    source: str  # where the scoring rules were read
    kinds: tuple[str, ...]
    write: Callable[[ExportRequest], Files]
    rules: ScoringRules | Callable[[Mapping[str, str], Model], ScoringRules] = FLOAT64
    engine: Engine | None = None
    confirmed_with: str = ""  # engine with which `make test-engines` compares the scores of certificates
    options: Mapping[str, Option] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)  # reason by kind of model
    supports_normalisers: bool = False
    computes_features: bool = False  # search engines compute features themselves, one document at a time
    # Reads the written file as the engine does, for certificates without the engine.
    read_back: Callable[[Path, ExportRequest], Model] | None = None

    def scoring_rules(self, options: Mapping[str, str], model: Model) -> ScoringRules:
        """Return how the engine scores a model under these options."""
        return self.rules if isinstance(self.rules, ScoringRules) else self.rules(options, model)

    def describe_scoring(self) -> str:
        """Describe how the engine scores each kind of model with the default options."""
        kinds_by_rules: dict[str, list[str]] = {}
        for kind in self.kinds:
            rules = self.scoring_rules(self.resolve_options({}), _EXAMPLES[kind])
            kinds_by_rules.setdefault(rules.sentence(trees=kind == "trees"), []).append(kind)
        return "; ".join(f"{', '.join(kinds)}: {sentence}" for sentence, kinds in kinds_by_rules.items())

    def checked_by(self) -> str:
        """Return who computes the scores of the certificate."""
        if self.engine is not None:
            return self.engine.name
        return f"interpreter, confirmed with {self.confirmed_with}" if self.confirmed_with else "interpreter"

    def resolve_options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Return all options with defaults; raise for unknown names and values."""
        resolved = {name: option.default for name, option in self.options.items()}
        for name, value in options.items():
            if name not in self.options:
                raise UnknownName(f"option of {self.name}", name, self.options)
            choices = self.options[name].choices
            if choices and str(value) not in choices:
                raise ConventionError(f"{name} of {self.name} must be {' or '.join(choices)}, got {value!r}")
            resolved[name] = str(value)
        return resolved

    def adapt(self, model: Model, options: Mapping[str, str]) -> AdaptedModel:
        """Return the model as this engine computes it; ConventionError if the engine cannot represent it."""
        if model.kind not in self.kinds:
            reason = self.refused.get(model.kind)
            reason = reason or f"it reads only {' and '.join(KIND_NAMES[kind] for kind in self.kinds)}"
            raise ConventionError(f"{self.name} does not support {KIND_NAMES[model.kind]}: {reason}")
        rules = self.scoring_rules(options, model)
        notes: list[str] = []
        if any(model.normalisers) and not self.supports_normalisers:
            if not isinstance(model, LinearModel):
                raise ConventionError(f"{self.name} cannot normalise features as this model does")
            notes.append("the normalisation of features is in the weights")
        if isinstance(model, LinearModel) and not (any(model.normalisers) and self.supports_normalisers):
            model = fold_normalisation(model)
        if isinstance(model, TreeEnsemble):
            adapted = adapt_thresholds(model, rules)
            return AdaptedModel(adapted.model, (*notes, *adapted.notes))
        if isinstance(model, NeuralNetwork) and rules.values == "float32" and model.is_standardised():
            model = _move_standardisation(model) if self.supports_normalisers else model.fold_standardisation()
            place = "a normaliser of each feature" if self.supports_normalisers else "the weights of the first layer"
            notes.append(f"the standardisation of features is in {place}")
        return AdaptedModel(replace(model, scoring=rules), tuple(notes))


def _move_standardisation(model: NeuralNetwork) -> NeuralNetwork:
    """Return the network with normalisers instead of its standardisation: (x − mean) / (1 / factor)."""
    first, *other_layers = model.layers
    is_used = model.factor != 0
    layers = (replace(first, matrix=np.where(is_used[:, None], first.matrix, 0.0)), *other_layers)
    normalisers = tuple(
        Normaliser(mean, 1 / factor) if factor and (mean or factor != 1) else None
        for mean, factor in zip(model.mean.tolist(), model.factor.tolist(), strict=True)
    )
    width = len(model.names)
    return replace(model, layers=layers, mean=np.zeros(width), factor=np.ones(width), normalisers=normalisers)


_ZERO = np.zeros(1)
_EXAMPLES: Mapping[str, Model] = {
    "linear": LinearModel(("x",), _ZERO), "trees": TreeEnsemble(("x",), ()),
    "network": NeuralNetwork(("x",), (Layer(np.zeros((1, 1)), _ZERO),), _ZERO, _ZERO),
}  # fmt: skip
EXPORTERS: Registry[Exporter] = Registry("target", "pippin.targets", Exporter, package="pippin.models.exporters")


def read_back_as(format: str) -> Callable[[Path, ExportRequest], Model]:
    """Return a function that reads an exported file with the importer of a format, over the features of the export.

    RankLib's files number features in the order of the export. Missing values are treated as the
    rules of the export say, because files do not state it.
    """

    def read_back(base: Path, request: ExportRequest) -> Model:
        names = request.model.names
        model = read_model(base.read_bytes(), base, format)[1]
        if format == "ranklib" or request.options.get("type") == "ranklib":
            model = model.rename_features(names[: len(model.names)])
        rules = replace(model.scoring, missing=request.model.scoring.missing)
        return map_features(replace(model, scoring=rules), names)

    return read_back


def to_json(value: Any) -> bytes:
    """Return indented JSON as UTF-8."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def register(exporter: Exporter) -> Exporter:
    """Register an exporter under its name."""
    return EXPORTERS.register(exporter.name, exporter)
