"""Export a model: fit its form to the target's way of scoring, write, and certify what changed."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.deploy.certificate import Certificate, certify
from pippin.deploy.mapping import Mapping as FeatureMapping
from pippin.deploy.mapping import read_mapping
from pippin.deploy.target import Request, Target, targets
from pippin.deploy.turning import form_of
from pippin.errors import ConventionError, DataError
from pippin.files import atomic_write
from pippin.forms.form import Form
from pippin.rankers.models import aligned, load
from pippin.rankers.training import as_dataset

PARITY = ".parity.json"
_NO_SAMPLE = "this model keeps no documents of its training set; name a labelled data set to check with (--check DATA)"


@dataclass(frozen=True)
class Exported:
    """What an export wrote, and its certificate."""

    files: tuple[str, ...]
    certificate: Certificate


def export(
    model: Any,
    to: str,
    out: str | os.PathLike[str],
    *,
    check: Any = None,
    features: Any = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Exported:
    """Write a model as another engine reads it, and beside it `FILE.parity.json`: what the engine's scoring changes.

    model     a trained ranker, or the file of one
    to        a target: `pippin export --list` shows them
    out       the file to write; a feature set, where there is one, stands beside it
    check     the data that the certificate is made with, in any form that `pippin.rank` takes, with labels (default:
              the documents of its training set that the model keeps)
    features  how the engine calls and computes features: a JSON file, or what would stand in one
    name      of the model in the engine (default: after the file)
    options   of the target

    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.sql"
    >>> found = export(pippin.train(data, "ranksvm"), "sql", file)
    >>> found.certificate.order, found.certificate.largest_difference < 1e-12
    ([], True)
    """
    target = targets()[to]
    ranker = load(model) if isinstance(model, str | os.PathLike) else model
    form = form_of(ranker)
    data = ranker.sample_ if check is None else aligned(ranker, as_dataset(check))
    if data is None:
        raise DataError(_NO_SAMPLE)
    request, files = written(target, form, Path(out), features, name, options or {})
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / Path(out).name
        for suffix, content in files.items():
            Path(f"{base}{suffix}").write_bytes(content)
        certificate = certify(target, request, form, ranker.predict(data), data, base)
    files[PARITY] = (json.dumps(certificate.record(), indent=1, ensure_ascii=False) + "\n").encode()
    paths = tuple(f"{os.fspath(out)}{suffix}" for suffix in files)
    for path, content in zip(paths, files.values(), strict=True):
        with atomic_write(path) as sink:
            sink.write(content)
    return Exported(paths, certificate)


def written(
    target: Target, form: Form, out: Path, features: Any, name: str | None, options: Mapping[str, Any]
) -> tuple[Request, dict[str, bytes]]:
    """The files of an export, by what is added to the name of the one that was asked for."""
    chosen = target.chosen(options)
    mapping = _mapping(features).of(form.names)
    fit = target.fit(form, chosen)
    request = Request(
        fit.form.renamed(mapping.names(form.names)), name or _plain(out), mapping, chosen, list(fit.notes)
    )
    return request, target.write(request)


def _mapping(features: Any) -> FeatureMapping:
    if features is None or isinstance(features, FeatureMapping):
        return features or FeatureMapping()
    if isinstance(features, dict):
        return FeatureMapping({key: {"name": one} if isinstance(one, str) else one for key, one in features.items()})
    if isinstance(features, str | os.PathLike):
        return read_mapping(features)
    raise ConventionError("features= takes a JSON file, or a dict by feature")


def _plain(out: Path) -> str:
    """A name for the model that every engine takes."""
    return re.sub(r"\W+", "_", out.name.split(".")[0]) or "model"
