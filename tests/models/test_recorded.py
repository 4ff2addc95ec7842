"""Models and scores recorded from RankLib, QuickRank, jforests, svm_rank and LIBLINEAR, bit for bit."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
from tests.golden.models import unpack_models
from tests.golden.models.record import FEATURES, LIBLINEAR, QUICKRANK, RANKLIB

from pippin.data.buffers import Buffer
from pippin.data.letor import read_letor
from pippin.models.importers import detect_format
from pippin.rankers.models import read_foreign_model

NAMES = [
    *(f"ranklib-{kind}" for kind in RANKLIB), *(f"quickrank-{kind}" for kind in QUICKRANK),
    *(f"liblinear-{kind}" for kind in LIBLINEAR), "jforests-lambdamart", "svmrank-linear",
]  # fmt: skip
FILES = cache(unpack_models)
# RankLib's units are exp() of Java's and of ours, whose last bits differ.
NETWORKS = ("ranklib-ranknet", "ranklib-lambdarank", "ranklib-listnet")
# LIBLINEAR's decision is for the first label of the training file, and the score for the larger one.
NEGATED = ("liblinear-svc", "liblinear-logistic")


def test_every_recording_has_a_test() -> None:
    assert {name.removesuffix(".model") for name in FILES() if name.endswith(".model")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_scores_equal_the_recorded_ones(name: str) -> None:
    content = FILES()[f"{name}.model"]
    assert detect_format(content) == name.partition("-")[0]
    model = read_foreign_model(content, name)
    text = np.frombuffer(FILES()["test.txt"], np.uint8)
    table = read_letor(Buffer(text, "test.txt"), features=FEATURES).features
    wide = np.zeros((len(table), max(FEATURES, len(model.feature_names_))))
    wide[:, :FEATURES] = table
    scores = model.predict(wide[:, [int(feature) - 1 for feature in model.feature_names_]])
    expected = np.loadtxt(io.BytesIO(FILES()[f"{name}.scores"]))
    if name in NETWORKS:
        np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-16)
    elif name == "svmrank-linear":  # which prints eight digits
        assert [f"{score:.8f}" for score in scores] == FILES()[f"{name}.scores"].decode().split()
    else:
        np.testing.assert_array_equal(scores, -expected if name in NEGATED else expected)
