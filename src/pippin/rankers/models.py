"""Models as files: one readable JSON file, no pickle.

{format, version, ranker, pippin, parameters, features, data, curve, state, sha256}, `plugin` where the ranker is not
Pippin's own, `relation_weight` where scores are spread along relations of the documents afterwards (see `relational`),
and `sample` where documents of the training set are kept (see `parts.sample`). Networks, whose weights are not for
reading, are one safetensors file with the same record in its header. `sha256` is the digest of the content: of the
record in its canonical form, whatever the order and spacing of its keys in the file, and of the arrays.

A file comes from anywhere. Whatever it holds, `load` gives a model that scores any table of its features, or one
sentence; nothing is allocated by a size that the file merely claims.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin import __version__
from pippin.data.dataset import Dataset
from pippin.errors import DataError, PippinError
from pippin.evaluation.convention import Convention
from pippin.files import atomic_write
from pippin.forms.importers import read_form, recognised
from pippin.manifest import fits
from pippin.rankers import ranker
from pippin.rankers.base import Ranker
from pippin.rankers.composing import is_known, parts_of
from pippin.rankers.parts.sample import packed
from pippin.rankers.parts.states import number

FORMAT = "pippin-model"
VERSION = 2  # 1 had no digest of its content
LARGEST = 1 << 31  # bytes of a model file at most
_HEAD = 4096  # bytes in which a model of Pippin says what it is
_SHAPE = {
    "ranker": str, "pippin": str, "parameters": {str: object}, "features": [str], "data": str,
    "curve": [(float, int, None)], "state": {str: object},
}  # fmt: skip

if TYPE_CHECKING:
    from pippin.rankers.imported import Imported

Arrays = dict[str, NDArray[Any]]


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
        **_plugin(model.name),
        **({} if model.relation_weight_ is None else {"relation_weight": model.relation_weight_}),
    }


def _plugin(name: str) -> dict[str, str]:
    """Where a ranker comes from that is not Pippin's own, for those who have to find it again."""
    strangers = []
    for shelf, part in parts_of(name):
        origin = shelf.origin(part) if part in shelf else None
        if origin is not None:
            strangers.append(f"{origin.place} {shelf.digest(part)}")
    return {"plugin": ", ".join(strangers)} if strangers else {}


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
    """SHA-256 of a model's content, `sha256` itself left out."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    hashed = sha256(json.dumps(rest, sort_keys=True, allow_nan=False, separators=(",", ":")).encode())
    for name, array in sorted(arrays.items()):
        hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


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


def save(model: Ranker, path: str | os.PathLike[str], data: str = "", sample: bool = True) -> None:
    """Write a fitted model to one file, at once: JSON, or safetensors where arrays are among what was learned.

    `data` is the digest of the training data, to be kept with it. With `sample`, the file has the 1,000 documents of
    the training set that exports are checked with; leave them out where documents must not leave.

    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> save(pippin.train(data, "ranksvm"), file)
    >>> pippin.rank(file, data).argsort().tolist()
    [0, 1, 2]
    """
    names = model.feature_names_
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"two features are called {twice}; a model file tells features by their names")
    with atomic_write(path) as out:
        out.write(to_bytes(model, data, sample))


def to_bytes(model: Ranker, data: str = "", sample: bool = True) -> bytes:
    """The content of a model's file."""
    content, arrays = content_of(model, data)
    kept = vars(model).get("_sample")
    if sample and kept is not None:
        content["sample"] = kept if isinstance(kept, str) else packed(kept)
    return seal(content, arrays)


def content_of(model: Ranker, data: str = "") -> tuple[dict[str, Any], Arrays]:
    """The record of a model with its learned state, and the arrays that belong to it."""
    state = model._state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    return {**record(model, data), "state": {key: value for key, value in state.items() if key not in arrays}}, arrays


def packed_models(models: Sequence[Ranker]) -> tuple[list[dict[str, Any]], Arrays]:
    """Models within a model: the content of each, and the arrays of all, each named after the place of its model."""
    contents, arrays = [], Arrays()
    for i, model in enumerate(models):
        content, own = content_of(model)
        contents.append(content)
        arrays |= {f"{i}/{key}": value for key, value in own.items()}
    return contents, arrays


def unpacked_models(contents: Sequence[Any], state: Mapping[str, Any]) -> list[Ranker]:
    """Undo `packed_models`; ValueError and its brothers where it is none. `state` holds the arrays, too."""
    models = []
    for i, content in enumerate(contents):
        if not isinstance(content, dict) or misshapen(content):
            raise ValueError(f"part {i + 1} of the whole is not what it should be")
        head = f"{i}/"
        models.append(revived(content, {k.removeprefix(head): v for k, v in state.items() if k.startswith(head)}))
    return models


def seal(content: Mapping[str, Any], arrays: Arrays) -> bytes:
    """A record, and what arrays belong to it, with the digest of both."""
    sealed = {**content, "sha256": digest(content, arrays)}
    if arrays:
        import safetensors.numpy

        made: bytes = safetensors.numpy.save(arrays, {FORMAT: json.dumps(sealed)})
        return made
    return (json.dumps(sealed, indent=1, allow_nan=False) + "\n").encode()


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a model, Pippin's own or another program's; a damaged or newer file is an error that says so.

    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> pippin.save(pippin.train(data, "ranksvm", C=0.5), file)
    >>> load(file).C
    0.5
    """
    content = _bytes(path)
    return from_bytes(content, path) if _is_own(content) else imported(content, path)


def is_own(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as Pippin's models do."""
    return FORMAT.encode() in _bytes(path, _HEAD)


def _is_own(content: bytes) -> bool:
    """Whether a file is none of another program's; what nobody knows is told to be no model of Pippin."""
    return FORMAT.encode() in content[:_HEAD] or recognised(content) is None


def imported(content: bytes, path: str | os.PathLike[str], format: str | None = None) -> Imported:
    """The model of another program's file; its features have the names that stand there, or numbers from 1 on."""
    from pippin.rankers.imported import Imported

    origin, form = read_form(content, path, format)
    return Imported.of(form, origin)


def from_bytes(packed: bytes, path: str | os.PathLike[str]) -> Ranker:
    """The model of a file's content; errors name the path."""
    content, arrays = unpacked(packed, path)
    _check(content, arrays, path)
    try:
        return revived(content, arrays)
    except PippinError as error:
        raise DataError(getattr(error, "message", str(error)), path) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise DataError(f"the model file is damaged ({reason})", path) from None


def _bytes(path: str | os.PathLike[str], first: int | None = None) -> bytes:
    """The bytes of a file that is not larger than any model, or only the first of them."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1 if first is None else first)
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except IsADirectoryError:
        raise DataError("this is a folder, and a model is one file", path) from None
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror})", path) from None
    if len(content) > LARGEST:
        raise DataError(f"this file has more than {LARGEST:,} bytes, which no model has", path)
    return content


def unpacked(content: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """The record and the arrays of a model's file, as they stand there."""
    header = int.from_bytes(content[:8], "little")  # of safetensors: the length of its own JSON, which comes next
    try:
        if content[8:9] != b"{" or header > len(content) - 8:
            record, arrays = _json(content), {}
        else:
            record = _json(_json(content[8 : 8 + header])["__metadata__"][FORMAT])
            arrays = _arrays(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("this is no model file: not safetensors and not JSON, or damaged", path) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise DataError("this is no model file of Pippin", path)
    return record, arrays


def _json(content: bytes | str) -> Any:
    """JSON without the numbers that are none, and without a key that stands twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            raise ValueError("a key stands twice")
        return mapping

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no number")

    return json.loads(content, object_pairs_hook=once, parse_constant=refuse)


def _arrays(content: bytes) -> Arrays:
    import safetensors.numpy

    try:
        arrays: Arrays = safetensors.numpy.load(content)
    except Exception as error:  # the package's own error is no ValueError
        raise ValueError(str(error)) from None
    return arrays


def _check(content: dict[str, Any], arrays: Arrays, path: str | os.PathLike[str]) -> None:
    """Raise unless the record has the version, the shape and the digest of a model's."""
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DataError(f"the model file is damaged (its version is {version!r})", path)
    if version > VERSION:
        raise DataError(f"written by a newer Pippin ({content.get('pippin')}), which this one cannot read", path)
    for key in misshapen(content):
        raise DataError(f"the model file is damaged ({key} is not what it should be)", path)
    if version == 1:
        warnings.warn(
            f"{os.fspath(path)} was written by an earlier Pippin without a digest, so that damage cannot be seen; "
            "train it again, or load and save it",
            stacklevel=4,
        )
    elif content.get("sha256") != _digest_or_none(content, arrays):
        raise DataError("the model file is damaged: its content is not what was written (the digest differs)", path)


def misshapen(content: Mapping[str, Any]) -> list[str]:
    """What of a record is not there or of another shape."""
    return [key for key, shape in _SHAPE.items() if key not in content or not fits(content[key], shape)]


def _digest_or_none(content: dict[str, Any], arrays: Arrays) -> str | None:
    try:
        return digest(content, arrays)
    except (ValueError, RecursionError):  # numbers beyond all bounds, such as 1e999
        return None


def revived(content: dict[str, Any], arrays: Arrays) -> Ranker:
    """The model of a record whose parts have the right shape; ValueError and its brothers where they do not fit."""
    name = content["ranker"]
    if "plugin" in content and not is_known(name):
        brought = f"its ranker {name!r} is a plug-in's ({content['plugin']})"
        raise PippinError(f"{brought}: install it, or give --import its module")
    cls = ranker(name)
    known = cls.parameter_names()
    for name in content["parameters"]:
        if name not in known:
            raise ValueError(f"{cls.name} has no parameter {name!r}")
    model = cls(**{key: _parameter(value) for key, value in content["parameters"].items()})
    model.check_parameters()
    model.feature_names_ = tuple(content["features"])
    model.n_features_in_ = len(model.feature_names_)
    if not 0 < len(set(model.feature_names_)) == len(model.feature_names_):
        raise ValueError("there is no feature, or two have one name")
    model.curve_ = [float("nan") if value is None else number(value) for value in content["curve"]]
    model._restore({**content["state"], **arrays})
    if not isinstance(content.get("sample", ""), str):
        raise ValueError("the sample of the training set is no text")
    model._sample = content.get("sample")
    if "relation_weight" in content:
        model.relation_weight_ = number(content["relation_weight"])
    return model
