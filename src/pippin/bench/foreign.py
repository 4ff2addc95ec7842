"""Which models of other programs take part in a benchmark? Those in a folder, each as a ranker that is not trained."""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pippin.bench.plan import Experiment
from pippin.errors import DataError
from pippin.forms.importers import recognised
from pippin.rankers.imported import content_of
from pippin.rankers.written import canonical


def with_models(experiment: Experiment, folder: str | os.PathLike[str]) -> Experiment:
    """The plan with a folder's models beside its rankers."""
    names, parameters = models_in(folder)
    return replace(
        experiment, rankers=(*experiment.rankers, *names), parameters={**experiment.parameters, **parameters}
    )


def models_in(folder: str | os.PathLike[str]) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """The rankers of a folder's models as they are written, and the digest of each as its parameter.

    A model scores the test queries of every fold as it is: whoever trained it must not have seen them.
    """
    if not Path(folder).is_dir():
        raise DataError("the folder of models does not exist", folder)
    parameters = {}
    for file in sorted(Path(folder).iterdir()):
        if not file.is_file() or file.name.startswith(".") or file.name.endswith(".parity.json"):
            continue
        content = content_of(file)
        if recognised(content) is None:
            raise DataError("this is no model that Pippin can read; keep such files out of the folder of models", file)
        if set(str(file)) & set("(),="):
            raise DataError("the name of a model in a benchmark has no brackets, commas or equals signs", file)
        parameters[canonical(f"imported(file={file})")] = {"digest": sha256(content).hexdigest()}
    if not parameters:
        raise DataError("no model stands in this folder", folder)
    return tuple(parameters), parameters
