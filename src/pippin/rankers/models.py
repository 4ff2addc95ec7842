"""Model files: one readable JSON file per model, and models of other programs as rankers.

The record has the keys format, version, ranker, pippin, parameters, features, data, curve, state and sha256; `plugin`
if the ranker comes from a plugin, `feature_version` and `documents_per_query` of the training set (its normalisation
and its longest list), `relation_weight` if scores are propagated along relations (see `relational`), and `sample` if
documents of the training set are kept. A ranker with weight matrices is one safetensors file with the same
record in its header. `sha256` is the digest of the record in canonical form (sorted keys, no spaces) and of the arrays.

Files are not trusted: `load` returns a model that scores any table of its features, or raises DataError. No size
that a file claims is allocated before it is checked.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin._version import __version__
from pippin.data.dataset import Dataset
from pippin.data.normalisation import LETOR_VERSIONS
from pippin.errors import DataError, PippinError
from pippin.evaluation.convention import Convention
from pippin.models.importers import default_feature_names, detect_format, read_model
from pippin.models.model import (
    LinearModel,
    Model,
    NeuralNetwork,
    TreeEnsemble,
    map_features,
    model_from_dict,
    model_to_dict,
)
from pippin.models.scoring import Scorer, make_scorer
from pippin.rankers import ranker
from pippin.rankers.base import Features, Ranker, read_number
from pippin.rankers.chains import is_known, registered_stages
from pippin.rankers.parameters import parameter
from pippin.rankers.training_data import pack_sample
from pippin.storage.files import atomic_write
from pippin.storage.manifest import matches_schema

FORMAT = "pippin-model"
VERSION = 2
LARGEST = 1 << 31  # maximum size of a model file in bytes
_HEAD = 4096  # the name of the format is within so many bytes
_SCHEMA = {
    "ranker": str, "pippin": str, "parameters": {str: object}, "features": [str], "data": str,
    "curve": [(float, int, None)], "state": {str: object},
}  # fmt: skip


Arrays = dict[str, NDArray[Any]]


def record(model: Ranker, data: str = "") -> dict[str, Any]:
    """Return the record of a model without its learned state; `data` is the digest of the training data."""
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
        **_plugin(model.name),
        **({"feature_version": model.feature_version_} if model.feature_version_ else {}),
        **({"documents_per_query": model.documents_per_query_} if model.documents_per_query_ else {}),
        **({} if model.relation_weight_ is None else {"relation_weight": model.relation_weight_}),
    }


def _plugin(name: str) -> dict[str, str]:
    """Return place and digest of the plugins that a ranker or its steps come from."""
    plugins = []
    for registry, stage in registered_stages(name):
        origin = registry.origin(stage) if stage in registry else None
        if origin is not None:
            plugins.append(f"{origin.root_name} {registry.digest(stage)}")
    return {"plugin": ", ".join(plugins)} if plugins else {}


def _plain(value: Any) -> Any:
    if isinstance(value, Convention):
        return {"convention": asdict(value)}
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple) else value


def _parameter(value: Any) -> Any:
    if isinstance(value, dict):
        axes = dict(value["convention"])
        if isinstance(axes.get("gain"), list):
            axes["gain"] = tuple(axes["gain"])
        return Convention(**axes)
    return tuple(value) if isinstance(value, list) else value


def digest(content: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of a record (without its `sha256`) and its arrays."""
    record = {key: value for key, value in content.items() if key != "sha256"}
    hashed = sha256(json.dumps(record, sort_keys=True, allow_nan=False, separators=(",", ":")).encode())
    for name, array in sorted(arrays.items()):
        hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def align_features(model: Ranker, data: Dataset) -> Dataset:
    """Return the data with the model's features in the model's order; a missing feature is an error."""
    if data.feature_names == model.feature_names_:
        return data
    missing = [name for name in model.feature_names_ if name not in data.feature_names]
    if missing:
        raise DataError(
            f"{data.name} lacks {len(missing)} of the {len(model.feature_names_)} features of the model, "
            f"among them {missing[0]}"
        )
    position = {name: i for i, name in enumerate(data.feature_names)}
    columns = [position[name] for name in model.feature_names_]
    return replace(data, features=data.features[:, columns], feature_names=model.feature_names_, lines=None)


def save(model: Ranker, path: str | os.PathLike[str], data: str | None = None, sample: bool = True) -> None:
    """Write a fitted model to one file: JSON, or safetensors for networks.

    Parameters
    ----------
    model : Ranker
        A fitted ranker.
    path : path
        The file to write, atomically.
    data : str, optional
        Digest of the training data to note in the file. Default: the digest that `pippin.train` computed.
    sample : bool, default True
        Keep up to 1,000 documents of the training set in the file, with which exports are checked. Use False if
        documents must not be passed on.

    Raises
    ------
    DataError
        If two features have the same name.

    Examples
    --------
    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> save(pippin.train(data, "ranksvm"), file)
    >>> pippin.rank(file, data).argsort().tolist()
    [0, 1, 2]
    """
    if data is None:
        summary = getattr(model, "training_summary_", None)
        data = "" if summary is None else summary.data_digest
    with atomic_write(path) as out:
        out.write(to_bytes(model, data, sample))


def to_bytes(model: Ranker, data: str = "", sample: bool = True) -> bytes:
    """Return the content of a model's file."""
    names = model.feature_names_
    if len(set(names)) != len(names):
        duplicate = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"two features are called {duplicate}: a model file identifies features by name. Rename one")
    content, arrays = to_record(model, data)
    documents = vars(model).get("_sample")
    if sample and documents is not None:
        content["sample"] = documents if isinstance(documents, str) else pack_sample(documents)
    return seal(content, arrays)


def to_record(model: Ranker, data: str = "") -> tuple[dict[str, Any], Arrays]:
    """Return the record of a model with its learned state, and its arrays."""
    state = model._state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    return {**record(model, data), "state": {key: value for key, value in state.items() if key not in arrays}}, arrays


def pack_models(models: Sequence[Ranker]) -> tuple[list[dict[str, Any]], Arrays]:
    """Return the records of models within a model, and their arrays with the position of the model as a prefix."""
    contents, arrays = [], Arrays()
    for i, model in enumerate(models):
        content, model_arrays = to_record(model)
        contents.append(content)
        arrays |= {f"{i}/{key}": value for key, value in model_arrays.items()}
    return contents, arrays


def unpack_models(contents: Sequence[Any], state: Mapping[str, Any]) -> list[Ranker]:
    """Undo `pack_models`; `state` has the arrays. ValueError, KeyError or TypeError if a record is invalid."""
    models = []
    for i, content in enumerate(contents):
        if not isinstance(content, dict) or invalid_fields(content):
            raise ValueError(f"inner model {i + 1} is invalid")
        head = f"{i}/"
        models.append(from_record(content, {k.removeprefix(head): v for k, v in state.items() if k.startswith(head)}))
    return models


def seal(content: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the file of a record and its arrays, with the digest of both."""
    sealed = {**content, "sha256": digest(content, arrays)}
    if arrays:
        import safetensors.numpy

        result: bytes = safetensors.numpy.save(arrays, {FORMAT: json.dumps(sealed)})
        return result
    return (json.dumps(sealed, indent=1, allow_nan=False) + "\n").encode()


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a model file of Pippin or of another program.

    Parameters
    ----------
    path : path
        A model file of Pippin, or of a library that `pippin import --list` names.

    Returns
    -------
    Ranker
        The fitted ranker; an `ImportedModel` if another program wrote the file.

    Raises
    ------
    DataError
        If the file is missing, damaged, or written by another version of the format.

    Examples
    --------

    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> pippin.save(pippin.train(data, "ranksvm", C=0.5), file)
    >>> load(file).C
    0.5
    """
    content = read_bytes(path)
    if FORMAT.encode() in content[:_HEAD] or detect_format(content) is None:
        return from_bytes(content, path)
    return read_foreign_model(content, path)


def as_ranker(model: Any, feature_names: Sequence[str] = ()) -> Ranker:
    """Return the ranker of a model's file, or of an object of Pippin or of another library.

    An object without names of features takes `feature_names` if their number fits.
    """
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    if isinstance(model, Ranker) or hasattr(model, "to_model"):
        return model  # type: ignore[no-any-return]
    imported = ImportedModel.from_estimator(model)
    width = len(imported.feature_names_)
    if len(feature_names) == width and imported.feature_names_ == default_feature_names(width):
        return ImportedModel.of(imported.model_.rename_features(feature_names), imported.origin_)
    return imported


def is_pippin_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as Pippin's models do."""
    return FORMAT.encode() in read_bytes(path, _HEAD)


def read_foreign_model(content: bytes, path: str | os.PathLike[str], format: str | None = None) -> ImportedModel:
    """Return the model of another program's file; features without names are numbered from 1."""
    origin, model = read_model(content, path, format)
    return ImportedModel.of(model, origin)


def import_model(
    path: str | os.PathLike[str], *, format: str | None = None, feature_names: str | os.PathLike[str] | None = None
) -> ImportedModel:
    """Read a model of another program.

    Parameters
    ----------
    path : path
        A file of LightGBM, XGBoost, CatBoost, RankLib or another supported program.
    format : str, optional
        Format of the file. Default: detected.
    feature_names : path, optional
        Text file with the names of all features, one per line in the model's order. Default: the names in the file,
        or numbers from 1.

    Returns
    -------
    ImportedModel
        A fitted ranker with the program's scores, bit for bit.

    Raises
    ------
    DataError
        If the file is not a model, or the names do not fit its features.

    Examples
    --------
    >>> import pippin
    >>> model = pippin.rankers.import_model("model.txt")  # doctest: +SKIP
    """
    from pippin.models.importers import FORMATS

    if format is not None and format not in FORMATS:
        raise DataError(f"unknown model format {format!r}: use {', '.join(FORMATS)}")
    content = read_bytes(path)
    if FORMAT.encode() in content[:_HEAD]:
        raise DataError("this is already a model of Pippin", path)
    model = read_foreign_model(content, path, format)
    if feature_names is None:
        return model
    names = tuple(line.strip() for line in Path(feature_names).read_text(encoding="utf-8").splitlines() if line.strip())
    if len(names) != len(model.feature_names_) or len(set(names)) != len(names):
        raise DataError(
            f"expected {len(model.feature_names_)} different feature names, found {len(names)} lines", feature_names
        )
    return ImportedModel.of(model.model_.rename_features(names), model.origin_)


def from_bytes(pack_sample: bytes, path: str | os.PathLike[str]) -> Ranker:
    """Return the model of a file's content; errors name the path."""
    content, arrays = read_record(pack_sample, path)
    _check_record(content, arrays, path)
    try:
        return from_record(content, arrays)
    except PippinError as error:
        raise DataError(getattr(error, "message", str(error)), path) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise DataError(f"the model file is damaged ({reason})", path) from None


def read_bytes(path: str | os.PathLike[str], first: int | None = None) -> bytes:
    """Return the content of a model file, or its first bytes; a file larger than any model is an error."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1 if first is None else first)
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except IsADirectoryError:
        raise DataError("this is a folder; expected a model file", path) from None
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror})", path) from None
    if len(content) > LARGEST:
        raise DataError(f"the file is too large for a model (more than {LARGEST:,} bytes)", path)
    return content


def read_record(content: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the record and the arrays of a model's file, without any check of them."""
    header = int.from_bytes(content[:8], "little")  # of safetensors: the length of its own JSON, which comes next
    try:
        if content[8:9] != b"{" or header > len(content) - 8:
            record, arrays = _json(content), {}
        else:
            record = _json(_json(content[8 : 8 + header])["__metadata__"][FORMAT])
            arrays = _arrays(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("not a model file: neither safetensors nor JSON, or damaged", path) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise DataError("not a model file of Pippin", path)
    return record, arrays


def _json(content: bytes | str) -> Any:
    """Parse JSON; NaN, infinity and a repeated key are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            raise ValueError("a key occurs twice")
        return mapping

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a finite number")

    return json.loads(content, object_pairs_hook=unique, parse_constant=refuse)


def _arrays(content: bytes) -> Arrays:
    import safetensors.numpy

    try:
        arrays: Arrays = safetensors.numpy.load(content)
    except Exception as error:  # safetensors' error does not derive from ValueError
        raise ValueError(str(error)) from None
    return arrays


def _check_record(content: dict[str, Any], arrays: Arrays, path: str | os.PathLike[str]) -> None:
    """Raise DataError unless version, fields and digest of a record are valid."""
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"the model file is damaged (its version is {version!r})", path)
    if version > VERSION:
        raise DataError(f"written by a newer Pippin ({content.get('pippin')}): update Pippin to read it", path)
    if version < VERSION:
        raise DataError("written by an earlier Pippin in a format without a digest: train the model again", path)
    for key in invalid_fields(content):
        raise DataError(f"the model file is damaged (invalid {key})", path)
    if content.get("sha256") != _digest_or_none(content, arrays):
        raise DataError("the model file is damaged: its digest differs from the one that was written", path)


def invalid_fields(content: Mapping[str, Any]) -> list[str]:
    """Return the fields of a record that are missing or of another type."""
    return [key for key, shape in _SCHEMA.items() if key not in content or not matches_schema(content[key], shape)]


def _digest_or_none(content: dict[str, Any], arrays: Arrays) -> str | None:
    try:
        return digest(content, arrays)
    except (ValueError, RecursionError):  # infinite numbers, such as 1e999
        return None


def from_record(content: dict[str, Any], arrays: Arrays) -> Ranker:
    """Return the model of a record with valid fields; ValueError, KeyError or TypeError if they do not fit together."""
    name = content["ranker"]
    if "plugin" in content and not is_known(name):
        origin = f"its ranker {name!r} comes from a plugin ({content['plugin']})"
        raise PippinError(f"{origin}: install it, or name its module with --import")
    cls = ranker(name)
    parameter_names = cls.parameter_names()
    for name in content["parameters"]:
        if name not in parameter_names:
            raise ValueError(f"unknown parameter {name!r} of {cls.name}")
    model = cls(**{key: _parameter(value) for key, value in content["parameters"].items()})
    model.check_parameters()
    model.feature_names_ = tuple(content["features"])
    model.n_features_in_ = len(model.feature_names_)
    if not 0 < len(set(model.feature_names_)) == len(model.feature_names_):
        raise ValueError("no features, or two with the same name")
    model.curve_ = [float("nan") if value is None else read_number(value) for value in content["curve"]]
    model._restore({**content["state"], **arrays})
    if not isinstance(content.get("sample", ""), str):
        raise ValueError("the sample of the training set is not text")
    model._sample = content.get("sample")
    version = content.get("feature_version", "")
    if version not in ("", *LETOR_VERSIONS):
        raise ValueError(f"unknown version of the features: {version!r}")
    model._feature_version = version
    depth = content.get("documents_per_query", 0)
    if type(depth) is not int or depth < 0:
        raise ValueError(f"invalid number of documents per query: {depth!r}")
    model._documents_per_query = depth
    if "relation_weight" in content:
        model.relation_weight_ = read_number(content["relation_weight"])
    return model


def _write_foreign_model(model: Any, library: str) -> tuple[str, bytes]:
    """Return the format and the content of a file that a library writes of its model."""
    if library == "lightgbm":
        return "lightgbm", getattr(model, "booster_", model).model_to_string().encode()
    missing = getattr(model, "missing", None)
    if library == "xgboost" and missing is not None and not np.isnan(missing):
        raise DataError(f"{type(model).__name__}(missing={missing}) is not supported: replace these values with NaN")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), **({"format": "json"} if library == "catboost" else {}))
        return library, path.read_bytes()


NAME = "imported"


class ImportedModel(Ranker):
    """A model of another program, which scores bit for bit as that program does.

    It is not registered because it cannot be trained: `pippin.load` reads other programs' files into one. Written as
    `imported(file=model.txt)` it takes part in a benchmark, where `fit` reads the file and matches its features.
    """

    name = NAME
    source = "the program that wrote the file"
    allow_nan = True

    file: str | None = parameter(None, "the model's file")
    digest: str | None = parameter(None, "SHA-256 that the file must have")

    @classmethod
    def of(cls, model: Model, origin: str = "") -> Self:
        """Return the ranker of a model; `origin` names the program that wrote it.

        Parameters
        ----------
        model : Model
            Model of trees, weights or layers.
        origin : str, default ''
            Name of the program that wrote it.
        """
        ranker = cls()
        ranker.model_, ranker.origin_ = model, origin
        ranker.feature_names_ = model.names
        ranker.n_features_in_ = len(model.names)
        ranker.curve_ = []
        return ranker

    @classmethod
    def from_estimator(cls, estimator: Any, features: tuple[str, ...] = ()) -> Self:
        """Return the ranker of a fitted model of scikit-learn, LightGBM, XGBoost or CatBoost.

        `features` are the names of its features, by default its own.

        Parameters
        ----------
        estimator : estimator
            Fitted model of scikit-learn, LightGBM, XGBoost or CatBoost.
        features : tuple of str, optional
            Names of its features; by default its own.
        """
        from pippin.models.importers.sklearn import from_estimator

        library = type(estimator).__module__.partition(".")[0]
        if library not in ("lightgbm", "xgboost", "catboost"):
            return cls.of(from_estimator(estimator, tuple(features)), f"scikit-learn {type(estimator).__name__}")
        format, content = _write_foreign_model(estimator, library)
        model = read_foreign_model(content, type(estimator).__name__, format).model_
        return cls.of(model.rename_features(features) if features else model, f"{library} {type(estimator).__name__}")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        if self.file is None:
            raise DataError("an imported model cannot be trained: name its file, imported(file=…)")
        content = read_bytes(self.file)
        if self.digest is not None and sha256(content).hexdigest() != self.digest:
            raise DataError("the model differs from the one that the plan was made with", self.file)
        self.origin_, model = read_model(content, self.file)
        missing = [model.names[i] for i in model.used_features() if model.names[i] not in train.feature_names]
        if missing:
            raise DataError(
                f"{train.name} lacks {len(missing)} features of the model, among them {missing[0]}", self.file
            )
        self.model_ = map_features(model, train.feature_names)

    def _predict(self, features: Features) -> NDArray[np.float64]:
        cached: tuple[Model, Scorer] | None = vars(self).get("_scorer")
        if cached is None or cached[0] is not self.model_:
            cached = self._scorer = (self.model_, make_scorer(self.model_))
        return cached[1](features)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_scorer"}

    def _to_model(self) -> Model:
        return self.model_

    def _state(self) -> dict[str, Any]:
        return {"origin": self.origin_, "form": model_to_dict(self.model_)}

    def _restore(self, state: dict[str, Any]) -> None:
        if not isinstance(state["origin"], str):
            raise ValueError("the origin is not text")
        self.origin_ = state["origin"]
        self.model_ = model_from_dict(state["form"], self.feature_names_)

    def importance(self) -> dict[str, float]:
        """Return how many tree nodes split on each feature, or the absolute size of its weights."""
        sizes = np.zeros(len(self.feature_names_))
        if isinstance(self.model_, TreeEnsemble):
            for tree in self.model_.trees():
                np.add.at(sizes, tree.feature, 1.0)
        elif isinstance(self.model_, LinearModel):
            sizes = np.abs(self.model_.weights)
        elif isinstance(self.model_, NeuralNetwork):
            sizes = np.abs(self.model_.layers[0].matrix).sum(axis=1)
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))
