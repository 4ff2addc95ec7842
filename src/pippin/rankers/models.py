"""Models as files: one readable JSON file, no pickle.

{format, version, ranker, pippin, parameters, convention, features, data, curve, state}, and `relation_weight` where
scores are spread along relations of the documents afterwards (see `relational`). Networks, whose weights are not
for reading, are one safetensors file with the same record in its header.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin import __version__
from pippin.data.buffers import atomic_write
from pippin.data.dataset import Dataset
from pippin.errors import DataError, MissingExtra
from pippin.evaluation.convention import Convention
from pippin.rankers import ranker
from pippin.rankers.base import Ranker

FORMAT = "pippin-model"
VERSION = 1


def record(model: Ranker, data: str = "") -> dict[str, Any]:
    """The model without its learned state: what it is and where it comes from; `data` is the training data's digest."""
    parameters = {key: _plain(value) for key, value in model.get_params(deep=False).items()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "ranker": model.name,
        "pippin": __version__,
        "parameters": parameters,
        "features": list(model.feature_names_),
        "data": data,
        "curve": [None if v != v else v for v in getattr(model, "curve_", [])],  # noqa: PLR0124 - NaN
        **({} if model.relation_weight_ is None else {"relation_weight": model.relation_weight_}),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Convention):
        return {"convention": asdict(value)}
    return list(value) if isinstance(value, tuple) else value


def _parameter(value: Any) -> Any:
    if isinstance(value, dict) and "convention" in value:
        axes = dict(value["convention"])
        if isinstance(axes.get("gain"), list):
            axes["gain"] = tuple(axes["gain"])
        return Convention(**axes)
    return value


def aligned(model: Ranker, data: Dataset) -> Dataset:
    """The data with the model's features in the model's order; a feature that is lacking is an error."""
    if data.feature_names == model.feature_names_:
        return data
    lacking = [name for name in model.feature_names_ if name not in data.feature_names]
    if lacking:
        raise DataError(
            f"{data.name} lacks {len(lacking)} of the {len(model.feature_names_)} features of the model, "
            f"among them {lacking[0]}"
        )
    position = {name: i for i, name in enumerate(data.feature_names)}
    columns = [position[name] for name in model.feature_names_]
    return replace(data, features=data.features[:, columns], feature_names=model.feature_names_, lines=None)


def save(model: Ranker, path: str | os.PathLike[str], data: str = "") -> None:
    """Write a fitted model to one file, at once: JSON, or safetensors where arrays are among what was learned.

    `data` is the digest of the training data, to be kept with it.

    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> save(pippin.train(data, "ranksvm"), file)
    >>> pippin.rank(file, data).argsort().tolist()
    [0, 1, 2]
    """
    state = model._state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    content = {**record(model, data), "state": {key: value for key, value in state.items() if key not in arrays}}
    if arrays:
        packed = _safetensors().save(arrays, {FORMAT: json.dumps(content)})
    else:
        packed = (json.dumps(content, indent=1) + "\n").encode()
    with atomic_write(path) as out:
        out.write(packed)


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingExtra("safetensors", "the model file of a network", "pippin[neural]") from None
    return safetensors.numpy


def _content(packed: bytes) -> Any:
    """What `save` wrote: the record with the state. ValueError where it is neither of the two kinds."""
    header = int.from_bytes(packed[:8], "little")  # of safetensors: the length of its own JSON, which comes next
    if packed[8:9] != b"{" or header > len(packed) - 8:
        return json.loads(packed)
    content = json.loads(json.loads(packed[8 : 8 + header])["__metadata__"][FORMAT])
    module = _safetensors()
    try:
        content["state"].update(module.load(packed))
    except Exception as error:  # the package's own error is no ValueError
        raise ValueError(str(error)) from None
    return content


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a model; a damaged or newer file is an error that says so.

    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> pippin.save(pippin.train(data, "ranksvm", C=0.5), file)
    >>> load(file).C
    0.5
    """
    try:
        content = _content(Path(path).read_bytes())
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except (ValueError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise DataError("this is no model file: not safetensors and not JSON, or damaged", path) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError("this is no model file of Pippin", path)
    if content.get("version", 0) > VERSION:
        raise DataError(f"written by a newer Pippin ({content.get('pippin')}), which this one cannot read", path)
    try:
        parameters = {key: _parameter(value) for key, value in content["parameters"].items()}
        model = ranker(content["ranker"])(**parameters)
        model.feature_names_ = tuple(content["features"])
        model.n_features_in_ = len(content["features"])
        model.curve_ = [float("nan") if v is None else v for v in content["curve"]]
        model._restore(content["state"])
        if "relation_weight" in content:
            model.relation_weight_ = float(content["relation_weight"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"the model file is damaged ({type(error).__name__}: {error})", path) from None
    return model
