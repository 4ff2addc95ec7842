"""Write a model for an engine: adapt it to the engine's arithmetic, write the files, and certify the result."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.normalisation import detect_version
from pippin.errors import ConventionError, RequirementNotMet
from pippin.models.certificate import Certificate, certify
from pippin.models.exporters.base import F64, Exporter, ExportRequest, as_mapping, to_json
from pippin.models.model import LinearModel, Model, Normaliser, TreeEnsemble, fold_normalisation
from pippin.storage.files import atomic_write

CERTIFICATE_SUFFIX = ".parity.json"


@dataclass(frozen=True)
class ExportResult:
    """The files that an export wrote, and its certificate."""

    files: tuple[str, ...]
    certificate: Certificate


def export_model(
    model: Model,
    exporter: Exporter,
    out: str | os.PathLike[str],
    data: Dataset,
    scores: F64,
    *,
    features: Any = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    feature_version: str = "",
    require: str = "order",
    force: bool = False,
) -> ExportResult:
    """Write a model for an engine, with a certificate made from `data` and its `scores` by the original model."""
    is_normalised = "QueryLevelNorm" in (feature_version, detect_version(data))
    if is_normalised and exporter.computes_features and not force:
        raise ConventionError(
            f"{exporter.name} computes raw features and cannot normalise them within a query, as the training data are "
            "(QueryLevelNorm). Train on raw features, Feature-null or Feature-min; --force exports the model anyway"
        )
    files, certificate = _render_and_certify(exporter, model, Path(out), data, scores, features, name, options or {})
    if certificate.n_reordered_beyond_ties and exporter.supports_normalisers and isinstance(model, LinearModel):
        centred = _standardise(model, data)
        candidate = _render_and_certify(exporter, centred, Path(out), data, scores, features, name, options or {})
        if candidate[1].n_reordered_beyond_ties < certificate.n_reordered_beyond_ties:
            files, certificate = candidate
    if is_normalised:
        certificate.notes.append("the model expects features that are normalised within each query (QueryLevelNorm)")
    if not certificate.meets(require):
        if not force:
            error = RequirementNotMet(
                f"the export does not meet --require {require}: {certificate.sentence()}. "
                "Use another target or option, a weaker requirement such as ndcg=0.001, or --force"
            )
            error.certificate = certificate
            raise error
        certificate.notes.append(f"the export does not meet the requirement {require}")
    files[CERTIFICATE_SUFFIX] = to_json(certificate.record())
    paths = tuple(f"{os.fspath(out)}{suffix}" for suffix in files)
    for path, content in zip(paths, files.values(), strict=True):
        with atomic_write(path) as sink:
            sink.write(content)
    return ExportResult(paths, certificate)


def _render_and_certify(
    exporter: Exporter, model: Model, out: Path, data: Dataset, scores: F64, features: Any, name: str | None,
    options: Mapping[str, Any],
) -> tuple[dict[str, bytes], Certificate]:  # fmt: skip
    request, files = render_files(exporter, model, out, features, name, options)
    with tempfile.TemporaryDirectory() as folder:  # engines read files
        base = Path(folder) / out.name
        for suffix, content in files.items():
            Path(f"{base}{suffix}").write_bytes(content)
        return files, certify(exporter, request, model, scores, data, base)


def _standardise(model: LinearModel, data: Dataset) -> LinearModel:
    """Return the model with normalisers, so that float32 sums have small terms; a constant changes no order.

    Mean and deviation are those of `data`, with missing values as 0; any values give the same order in exact numbers.
    """
    table = np.nan_to_num(np.asarray(data.features, np.float64))
    shift = table.mean(axis=0).astype(np.float32).astype(np.float64)
    scale = table.std(axis=0).astype(np.float32).astype(np.float64)
    scale[~(scale > 0)] = 1.0
    return with_normalisers(model, [Normaliser(a, b) for a, b in zip(shift.tolist(), scale.tolist(), strict=True)])


def with_normalisers(model: LinearModel, normalisers: Sequence[Normaliser]) -> LinearModel:
    """Return the model with these normalisers in front, and the same scores in exact numbers."""
    model = fold_normalisation(model)
    shift, scale = np.array([(each.shift, each.scale) for each in normalisers]).T
    bias = float(model.bias + model.weights @ shift)
    return replace(model, weights=model.weights * scale, bias=bias, normalisers=tuple(normalisers))


def render_files(
    exporter: Exporter, model: Model, out: Path, features: Any, name: str | None, options: Mapping[str, Any]
) -> tuple[ExportRequest, dict[str, bytes]]:
    """Return the files of an export by their suffix, without writing them."""
    if isinstance(model, TreeEnsemble) and any(tree.intervals for tree in model.trees()):
        raise ConventionError(f"{exporter.name} has no exporter of categorical splits: train on numeric features")
    resolved = exporter.resolve_options(options)
    mapping = as_mapping(features).for_model(model.names)
    adapted = exporter.adapt(model, resolved)
    engine_model = adapted.model.rename_features(mapping.names(model.names))
    name = name or re.sub(r"\W+", "_", out.name.split(".")[0]) or "model"  # valid in every engine
    request = ExportRequest(engine_model, name, out.name, mapping, resolved, list(adapted.notes))
    return request, exporter.write(request)
