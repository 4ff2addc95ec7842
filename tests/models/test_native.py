"""Kernels and the reference scorer give equal bits for all scoring rules, at and next to every threshold."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import lightgbm
import numpy as np
import pytest
from tests.models.kinds import documents, train_ranker

from pippin.models.importers.lightgbm import read_text
from pippin.models.model import (
    FLOAT32,
    FLOAT64,
    ZERO_THRESHOLD,
    LinearModel,
    Normaliser,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_tree,
)
from pippin.models.scoring import double_thresholds, largest_double_rounding_to, make_scorer, score_reference
from pippin.rankers import models
from pippin.rankers.models import ImportedModel
from pippin.rankers.rankboost import RankBoost

NAMES = ("a", "b", "c")
ODD = [
    0.0,
    -0.0,
    1e-36,
    -1e-36,
    1e-35,
    -1e-35,
    ZERO_THRESHOLD,
    -ZERO_THRESHOLD,
    2e-35,
    1e-45,
    -1e-46,
    0.1,
    3.4028235e38,
    -3.5e38,
    1e300,
]
KINDS = ("float64", "float32")
CONVENTIONS = [
    FLOAT64, FLOAT32, replace(FLOAT32, operator="<"), replace(FLOAT32, missing="zero"), replace(FLOAT32, slack=1e-6),
    *(ScoringRules(f, t, v, s, o, missing=m, totals=s) for f, t, v, s, o, m in
      product(KINDS, KINDS, KINDS, KINDS, ("<=", "<"), ("direction", "zero"))),
]  # fmt: skip


def random_tree(random: np.random.Generator, leaves: int, zeros: bool = False) -> Tree:
    """Return a random tree: each node splits one of the leaves so far."""
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
    return make_tree(random.integers(0, 3, leaves - 1), threshold, left, right, flags[0], random.normal(size=leaves),
                flags[1] if zeros else None)  # fmt: skip


def table_of(random: np.random.Generator, form: TreeEnsemble) -> Any:
    """Return values at thresholds, next to them, where float32 rounds to another number, and missing values."""
    cuts = np.concatenate([tree.threshold for tree in form.trees()])
    cuts = cuts[np.isfinite(cuts) & (np.abs(cuts) < 1e300)]
    with np.errstate(over="ignore"):
        singles = cuts.astype(np.float32)
        ends = largest_double_rounding_to(singles.astype(np.float64))
    values = np.concatenate([cuts, ends, np.array(ODD), [np.nan] * 40, *(
        np.nextafter(side, limit) for side in (cuts, ends) for limit in (-np.inf, np.inf))])  # fmt: skip
    return random.choice(values[~np.isinf(values)], (700, 3))


@pytest.mark.parametrize("scoring", CONVENTIONS, ids=lambda rules: f"{rules.sentence()}-{rules.values}-{rules.sums}")
def test_trees(scoring: ScoringRules) -> None:
    random = np.random.default_rng(1)
    bags = tuple(tuple(random_tree(random, int(n)) for n in random.integers(1, 40, 6)) for _ in range(3))
    form = TreeEnsemble(NAMES, bags, divisor=3.0, base=0.1, start=0.3, scale=0.7, scoring=scoring)
    table = table_of(random, form)
    np.testing.assert_array_equal(make_scorer(form)(table), score_reference(form, table))


def test_zero_as_missing_normalisers_and_large_trees() -> None:
    random = np.random.default_rng(2)
    plain = TreeEnsemble(NAMES, ((random_tree(random, 300), random_tree(random, 7)),))
    trees = [
        random_tree(random, 20, zeros=True) for _ in range(5)
    ]  # with thresholds that LightGBM's zero does not move
    trees = [
        replace(tree, threshold=np.where(np.abs(tree.threshold) <= ZERO_THRESHOLD, 1.0, tree.threshold))
        for tree in trees
    ]
    zeros = TreeEnsemble(NAMES, (tuple(trees),))
    scaled = replace(plain, scoring=FLOAT32, normalisers=(Normaliser(0.5, 3.0), None, Normaliser(-1.0, 0.1)))
    for form in (plain, zeros, scaled, replace(zeros, scoring=FLOAT32)):
        table = table_of(random, form)
        np.testing.assert_array_equal(make_scorer(form)(table), score_reference(form, table))


@pytest.mark.parametrize("scoring", CONVENTIONS[:4] + CONVENTIONS[5::7], ids=lambda rules: rules.sentence(trees=False))
def test_weighted_sums(scoring: ScoringRules) -> None:
    random = np.random.default_rng(3)
    table = random.normal(size=(300, 3))
    if scoring.missing == "zero":
        table[::5, 1] = np.nan
    weights = random.normal(size=3)
    normalisers = (None, Normaliser(0.1, 7.0), None)
    for form in (
        LinearModel(NAMES, weights, bias=0.3, start=0.7, scoring=scoring),
        LinearModel(NAMES, weights, terms=((2, 0.1), (0, 0.3), (2, -0.7)), scoring=scoring),
        LinearModel(NAMES, weights, scoring=scoring, normalisers=normalisers),
    ):
        np.testing.assert_array_equal(make_scorer(form)(table), score_reference(form, table))


def test_largest_double_rounding_to_a_float32() -> None:
    for value in (0.0, 1.0, -1.0, 0.1, 1e-45, 3.4028234663852886e38, -3.4028234663852886e38):
        single = np.float32(value)
        last = largest_double_rounding_to(np.array([float(single)]))
        with np.errstate(over="ignore"):
            assert last.astype(np.float32)[0] == single
            assert np.nextafter(last, np.inf).astype(np.float32)[0] > single
    assert double_thresholds(np.array([np.inf]), FLOAT32)[0] == np.inf


DECISIONS = {"none": (0, 2), "zero": (4, 6), "nan": (8, 10)}


@pytest.mark.parametrize("missing", DECISIONS)
def test_lightgbm_around_zero(missing: str) -> None:
    """Every threshold by every value near LightGBM's zero, NULL to either side: LightGBM's own scores."""
    beside = float(np.nextafter(ZERO_THRESHOLD, 1))
    thresholds = [
        0.0,
        -0.0,
        1e-40,
        -1e-40,
        1e-35,
        -1e-35,
        ZERO_THRESHOLD,
        -ZERO_THRESHOLD,
        beside,
        -beside,
        2e-35,
        -2e-35,
        1.0,
    ]
    blocks = "".join(
        f"Tree={i}\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\nthreshold={threshold!r}\n"
        f"decision_type={kind}\nleft_child=-1\nright_child=-2\nleaf_value={2.0**i!r} 0\nleaf_weight=1 1\n"
        "leaf_count=1 1\ninternal_value=0\ninternal_weight=0\ninternal_count=2\nis_linear=0\nshrinkage=1\n\n\n"
        for i, (threshold, kind) in enumerate((t, k) for t in thresholds for k in DECISIONS[missing])
    )  # fmt: skip
    text = ("tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=0\n"
            f"objective=regression\nfeature_names=Column_0\nfeature_infos=[0:1]\n\n{blocks}end of trees\n\n"
            "feature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n")  # fmt: skip
    around = np.array([*ODD[:11], *(np.nextafter(value, limit) for value in ODD[:9] for limit in (-1, 1)), np.nan, 5.0])
    expected = lightgbm.Booster(model_str=text).predict(around[:, None], raw_score=True)
    form = read_text(text)
    np.testing.assert_array_equal(score_reference(form, around[:, None]), expected)
    np.testing.assert_array_equal(make_scorer(form)(around[:, None]), expected)


@pytest.mark.parametrize("kind", ["rankboost", "frank"])
@pytest.mark.parametrize("null", [False, True])
def test_stumps_score_as_a_loop_over_them(kind: str, null: bool) -> None:
    model, data = train_ranker(kind, null), documents(null)
    assert isinstance(model, RankBoost) or kind == "frank"
    expected = np.zeros(len(data))
    for weak in model.stumps_:  # type: ignore[attr-defined]
        expected += weak.alpha * weak.of(data.features[:, weak.feature])
    np.testing.assert_array_equal(model.predict(data), expected)


@pytest.mark.parametrize("kind", ["lambdamart", "rankboost", "ranksvm", "ranknet", "adarank"])
def test_float32_needs_no_copy_in_doubles(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = train_ranker(kind), documents()
    single = np.asarray(data.features, np.float32)
    expected = model.predict(single.astype(np.float64))
    monkeypatch.setattr("pippin.rankers.base._BLOCK_VALUES", 6 * 5)
    sizes: list[int] = []
    plain = model._predict

    def record_size(block: Any) -> Any:
        sizes.append(len(block))
        return plain(block)

    monkeypatch.setattr(model, "_predict", record_size)
    for table in (single, replace(data, features=single)):
        np.testing.assert_allclose(model.predict(table), expected, rtol=0, atol=1e-15)
    assert max(sizes) == 5


def test_imported_model_is_scored_by_the_kernels() -> None:
    form = train_ranker("lambdamart").to_model()
    model = ImportedModel.of(form, "test")
    data = documents()
    assert (model.predict(data) == score_reference(form, data.features)).all()
    assert (models.from_bytes(models.to_bytes(model), "model").predict(data) == model.predict(data)).all()
