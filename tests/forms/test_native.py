"""The kernels give a form's scores to the bit: every scoring convention, values at every threshold and beside it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import lightgbm
import numpy as np
import pytest
from tests.deploy.kinds import documents, trained

from pippin.deploy.turning import form_of
from pippin.forms.arithmetic import score
from pippin.forms.form import DOUBLE, SINGLE, ZERO, Linear, Normaliser, Scoring, Tree, Trees, tree
from pippin.forms.importers.lightgbm import read_text
from pippin.forms.native import decisive, last_rounded_to, scorer
from pippin.rankers import models
from pippin.rankers.imported import Imported
from pippin.rankers.rankboost import RankBoost

NAMES = ("a", "b", "c")
ODD = [0.0, -0.0, 1e-36, -1e-36, 1e-35, -1e-35, ZERO, -ZERO, 2e-35, 1e-45, -1e-46, 0.1, 3.4028235e38, -3.5e38, 1e300]
KINDS = ("float64", "float32")
CONVENTIONS = [
    DOUBLE, SINGLE, replace(SINGLE, operator="<"), replace(SINGLE, missing="zero"), replace(SINGLE, slack=1e-6),
    *(Scoring(f, t, v, s, o, missing=m, totals=s) for f, t, v, s, o, m in
      product(KINDS, KINDS, KINDS, KINDS, ("<=", "<"), ("direction", "zero"))),
]  # fmt: skip


def grown(random: np.random.Generator, leaves: int, zeros: bool = False) -> Tree:
    """A random tree: each node splits one of the leaves so far."""
    left, right = np.zeros(leaves - 1, np.int32), np.zeros(leaves - 1, np.int32)
    parents = [(0, 0)] * leaves
    for node in range(leaves - 1):
        if node:
            split = int(random.integers(0, node + 1))
            (left, right)[parents[split][1]][parents[split][0]] = node
        else:
            split = 0
        left[node], right[node] = -1 - split, -2 - node
        parents[split], parents[node + 1] = (node, 0), (node, 1)
    threshold = random.choice([*ODD, *random.normal(size=20)], leaves - 1)
    flags = random.random((2, leaves - 1)) < 0.5
    return tree(random.integers(0, 3, leaves - 1), threshold, left, right, flags[0], random.normal(size=leaves),
                flags[1] if zeros else None)  # fmt: skip


def table_of(random: np.random.Generator, form: Trees) -> Any:
    """Values at thresholds, one double beside them, where float32 rounds to another number, and NULL."""
    cuts = np.concatenate([one.threshold for one in form.trees()])
    cuts = cuts[np.isfinite(cuts) & (np.abs(cuts) < 1e300)]
    with np.errstate(over="ignore"):
        singles = cuts.astype(np.float32)
        ends = last_rounded_to(singles.astype(np.float64))
    values = np.concatenate([cuts, ends, np.array(ODD), [np.nan] * 40, *(
        np.nextafter(one, way) for one in (cuts, ends) for way in (-np.inf, np.inf))])  # fmt: skip
    return random.choice(values[~np.isinf(values)], (700, 3))


@pytest.mark.parametrize("scoring", CONVENTIONS, ids=lambda one: f"{one.sentence()}-{one.values}-{one.sums}")
def test_trees(scoring: Scoring) -> None:
    random = np.random.default_rng(1)
    bags = tuple(tuple(grown(random, int(n)) for n in random.integers(1, 40, 6)) for _ in range(3))
    form = Trees(NAMES, bags, divisor=3.0, base=0.1, start=0.3, scale=0.7, scoring=scoring)
    table = table_of(random, form)
    np.testing.assert_array_equal(scorer(form)(table), score(form, table))


def test_zero_as_missing_normalisers_and_large_trees() -> None:
    random = np.random.default_rng(2)
    plain = Trees(NAMES, ((grown(random, 300), grown(random, 7)),))
    apart = [grown(random, 20, zeros=True) for _ in range(5)]  # with thresholds that LightGBM's zero does not move
    apart = [replace(one, threshold=np.where(np.abs(one.threshold) <= ZERO, 1.0, one.threshold)) for one in apart]
    zeros = Trees(NAMES, (tuple(apart),))
    scaled = replace(plain, scoring=SINGLE, normalisers=(Normaliser(0.5, 3.0), None, Normaliser(-1.0, 0.1)))
    for form in (plain, zeros, scaled, replace(zeros, scoring=SINGLE)):
        table = table_of(random, form)
        np.testing.assert_array_equal(scorer(form)(table), score(form, table))


@pytest.mark.parametrize("scoring", CONVENTIONS[:4] + CONVENTIONS[5::7], ids=lambda one: one.sentence(trees=False))
def test_weighted_sums(scoring: Scoring) -> None:
    random = np.random.default_rng(3)
    table = random.normal(size=(300, 3))
    if scoring.missing == "zero":
        table[::5, 1] = np.nan
    weights = random.normal(size=3)
    normalisers = (None, Normaliser(0.1, 7.0), None)
    for form in (
        Linear(NAMES, weights, bias=0.3, start=0.7, scoring=scoring),
        Linear(NAMES, weights, terms=((2, 0.1), (0, 0.3), (2, -0.7)), scoring=scoring),
        Linear(NAMES, weights, scoring=scoring, normalisers=normalisers),
    ):
        np.testing.assert_array_equal(scorer(form)(table), score(form, table))


def test_the_last_double_of_a_single() -> None:
    for one in (0.0, 1.0, -1.0, 0.1, 1e-45, 3.4028234663852886e38, -3.4028234663852886e38):
        single = np.float32(one)
        last = last_rounded_to(np.array([float(single)]))
        with np.errstate(over="ignore"):
            assert last.astype(np.float32)[0] == single
            assert np.nextafter(last, np.inf).astype(np.float32)[0] > single
    assert decisive(np.array([np.inf]), SINGLE)[0] == np.inf


DECISIONS = {"none": (0, 2), "zero": (4, 6), "nan": (8, 10)}


@pytest.mark.parametrize("missing", DECISIONS)
def test_lightgbm_around_zero(missing: str) -> None:
    """Every threshold by every value near LightGBM's zero, NULL to either side: LightGBM's own scores."""
    beside = float(np.nextafter(ZERO, 1))
    thresholds = [0.0, -0.0, 1e-40, -1e-40, 1e-35, -1e-35, ZERO, -ZERO, beside, -beside, 2e-35, -2e-35, 1.0]
    blocks = "".join(
        f"Tree={i}\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\nthreshold={threshold!r}\n"
        f"decision_type={kind}\nleft_child=-1\nright_child=-2\nleaf_value={2.0**i!r} 0\nleaf_weight=1 1\n"
        "leaf_count=1 1\ninternal_value=0\ninternal_weight=0\ninternal_count=2\nis_linear=0\nshrinkage=1\n\n\n"
        for i, (threshold, kind) in enumerate((t, k) for t in thresholds for k in DECISIONS[missing])
    )  # fmt: skip
    text = ("tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=0\n"
            f"objective=regression\nfeature_names=Column_0\nfeature_infos=[0:1]\n\n{blocks}end of trees\n\n"
            "feature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n")  # fmt: skip
    around = np.array([*ODD[:11], *(np.nextafter(one, way) for one in ODD[:9] for way in (-1, 1)), np.nan, 5.0])
    wanted = lightgbm.Booster(model_str=text).predict(around[:, None], raw_score=True)
    form = read_text(text)
    np.testing.assert_array_equal(score(form, around[:, None]), wanted)
    np.testing.assert_array_equal(scorer(form)(around[:, None]), wanted)


@pytest.mark.parametrize("kind", ["rankboost", "frank"])
@pytest.mark.parametrize("null", [False, True])
def test_stumps_score_as_a_loop_over_them_does(kind: str, null: bool) -> None:
    model, data = trained(kind, null), documents(null)
    assert isinstance(model, RankBoost) or kind == "frank"
    wanted = np.zeros(len(data))
    for weak in model.stumps_:  # type: ignore[attr-defined]
        wanted += weak.alpha * weak.of(data.features[:, weak.feature])
    np.testing.assert_array_equal(model.predict(data), wanted)


@pytest.mark.parametrize("kind", ["lambdamart", "rankboost", "ranksvm", "ranknet", "adarank"])
def test_float32_needs_no_copy_in_doubles(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = trained(kind), documents()
    single = np.asarray(data.features, np.float32)
    wanted = model.predict(single.astype(np.float64))
    monkeypatch.setattr("pippin.rankers.base._STRETCH", 6 * 5)
    sizes: list[int] = []
    plain = model._predict

    def watched(block: Any) -> Any:
        sizes.append(len(block))
        return plain(block)

    monkeypatch.setattr(model, "_predict", watched)
    for given in (single, replace(data, features=single)):
        np.testing.assert_allclose(model.predict(given), wanted, rtol=0, atol=1e-15)
    assert max(sizes) == 5


def test_an_imported_model_is_scored_by_the_kernels() -> None:
    form = form_of(trained("lambdamart"))
    model = Imported.of(form, "test")
    data = documents()
    assert (model.predict(data) == score(form, data.features)).all()
    assert (models.from_bytes(models.to_bytes(model), "model").predict(data) == model.predict(data)).all()
