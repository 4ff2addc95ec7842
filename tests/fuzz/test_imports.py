"""Fuzz imported model files: a model that scores, or a one-sentence error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.fuzz.cases import Case
from tests.fuzz.harness import COUNT, alter, byte_mutants, survive
from tests.golden.models import unpack_models
from tests.models import test_files
from tests.models.kinds import train_ranker

from pippin.errors import DataError
from pippin.models.export import render_files
from pippin.models.exporters.base import EXPORTERS
from pippin.models.importers import read_model
from pippin.rankers.models import read_foreign_model

# Files as the programs write them, or as they would write one of our models.
TEXTS = {**test_files.RANKLIB, "quickrank": test_files.QUICKRANK, "jforests": test_files.JFORESTS,
         "svmrank": test_files.SVMRANK, "liblinear": test_files.LIBLINEAR}  # fmt: skip
RECORDED = {f"quickrank {kind}": f"quickrank-{kind}.model" for kind in ("ascent", "linesearch", "rankboost")}
EXPORTED = {
    "lightgbm": ("lightgbm", "lambdamart", {}), "xgboost": ("xgboost", "mart", {}),
    "onnx trees": ("onnx", "bagged", {}),
    "onnx network": ("onnx", "ranknet", {}), "onnx linear": ("onnx", "ranksvm", {"precision": "float"}),
    "plugin": ("elasticsearch-ltr", "lambdamart", {}), "plugin linear": ("elasticsearch-ltr", "ranksvm", {}),
    "elasticsearch": ("elasticsearch", "lambdamart", {}), "solr": ("solr", "rankboost", {}),
    "solr network": ("solr", "ranknet", {}), "lightgbm json": ("vespa", "lambdamart", {}),
    "pmml": ("pmml", "lambdamart", {}),
}  # fmt: skip
CATBOOST = {
    "features_info": {"float_features": [{"borders": [0.5], "feature_id": "", "feature_index": i,
                                          "flat_feature_index": i, "nan_value_treatment": "AsTrue"} for i in range(3)]},
    "oblivious_trees": [{"leaf_values": [0.5, -1, 2, 3.5], "leaf_weights": [1, 2, 3, 4], "splits": [
        {"border": 0.5, "float_feature_index": f, "split_index": f, "split_type": "FloatFeature"} for f in (0, 2)]}],
    "scale_and_bias": [1, [0.25]],
}  # fmt: skip
TABLE = np.random.default_rng(4).random((4, 4096))


@cache
def good(name: str) -> bytes:
    if name in TEXTS:
        return TEXTS[name].encode()
    if name in RECORDED:
        return unpack_models()[RECORDED[name]]
    if name == "catboost":
        return json.dumps(CATBOOST).encode()
    target, kind, options = EXPORTED[name]
    return render_files(EXPORTERS[target], train_ranker(kind).to_model(), Path("model"), None, None, options)[1][""]


FORMATS = [*TEXTS, *RECORDED, *EXPORTED, "catboost"]


def use(content: bytes) -> bytes:
    """Read a model and let it score, which may find that a number is too large."""
    model = read_foreign_model(content, "model")
    if model.n_features_in_ > TABLE.shape[1]:
        raise DataError("more features than here")
    scores = model.predict(TABLE[:, : model.n_features_in_])
    assert np.isfinite(scores).all()
    assert np.isfinite(model.feature_importances_).all()
    return scores.tobytes()


def alter_json_files(name: str, count: int) -> Iterator[bytes]:
    """JSON files changed in one place, so that they still are JSON."""
    content, random = json.loads(good(name)), Random(name)
    while count:
        try:
            yield json.dumps(alter(content, random)).encode()
        except (ValueError, TypeError):
            continue
        count -= 1


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_score_or_are_refused(name: str) -> None:
    use(good(name))
    counts = survive(byte_mutants(good(name), COUNT // 20), use)
    assert counts["refused"] > 0


@pytest.mark.parametrize("name", [name for name in FORMATS if good(name).lstrip()[:1] == b"{"])
def test_forged_json_scores_or_is_refused(name: str) -> None:
    counts = survive(alter_json_files(name, COUNT // 20), use)
    assert counts["refused"] > 0
    assert counts["read"] > 0


def test_bytes_of_any_kind_are_refused_by_every_importer() -> None:
    from pippin.models.importers import FORMATS

    random = Random(1)
    junk = [random.randbytes(length) for length in (0, 1, 8, 100, 5000)]
    junk += [b"{}", b"[]", b"null", b'"x"', b"1", b"[" * 100_000, b'{"a":' * 100_000, b"<a>" * 5000, b"\x08" * 50]
    for name in FORMATS:
        counts = survive(junk, lambda content, name=name: read_model(content, "model", name))  # type: ignore[misc]
        assert counts == {"read": 0, "refused": len(junk)}, name


CASES = {
    name: Case(lambda folder, name=name: (folder / "model").write_bytes(good(name)),  # type: ignore[misc]
               lambda folder: use((folder / "model").read_bytes()))
    for name in FORMATS
}  # fmt: skip
