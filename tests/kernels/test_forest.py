"""Tree scoring equals a walk per document, and LightGBM's scores to the last bit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import lightgbm
import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.kernels.scoring import Forest, Missing, Trees, read_numbers
from pippin.models.model import ZERO_THRESHOLD
from pippin.rankers.boosting import read_trees

F64 = NDArray[np.float64]
ODD = (
    0.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    ZERO_THRESHOLD,
    -ZERO_THRESHOLD,
    5e-324,
    -1e-40,
    1.1e-35,
    1e300,
    -1e300,
)
KINDS = {0: Missing.AS_ZERO, 4: Missing.ZERO_RIGHT, 6: Missing.ZERO_LEFT, 8: Missing.NAN_RIGHT, 10: Missing.NAN_LEFT}


def available() -> list[str]:
    """Return the instruction sets that this processor supports."""
    results = []
    for name in ("plain", "avx2", "avx512"):
        try:
            Forest([], 1).scores(np.zeros((1, 1)), name)
        except ValueError:
            continue
        results.append(name)
    return results


def grow_trees(rng: np.random.Generator, leaves: Sequence[int], features: int, thresholds: F64) -> Trees:
    """Random trees, chains and bushes among them, numbered as LightGBM numbers them."""
    left, right = [], []
    for count in leaves:
        sides = np.zeros((count - 1, 2), np.int32)
        ends: list[tuple[int, int]] = []  # (node, side) of each leaf
        skew = rng.choice([0.0, 0.5, 1.0])
        for node in range(count - 1):
            if node == 0:
                ends = [(0, 0), (0, 1)]
            else:  # as a leaf-wise grower: some leaf becomes a node, and keeps its number on the left
                at = len(ends) - 1 if rng.random() < skew else int(rng.integers(len(ends)))
                parent, side = ends[at]
                sides[parent, side] = node
                ends[at] = (node, 0)
                ends.append((node, 1))
        for leaf, (node, side) in enumerate(ends):
            sides[node, side] = -1 - leaf
        left.append(sides[:, 0])
        right.append(sides[:, 1])
    nodes = sum(leaves) - len(leaves)
    return Trees(
        np.array(leaves, np.int64), rng.integers(0, features, nodes).astype(np.int32), rng.choice(thresholds, nodes),
        rng.integers(0, len(Missing), nodes).astype(np.uint8), np.concatenate(left), np.concatenate(right),
        rng.normal(size=sum(leaves)),
    )  # fmt: skip


def table_of(rng: np.random.Generator, rows: int, features: int, thresholds: F64) -> F64:
    """Return values at thresholds, next to them, and special values."""
    near = rng.choice(thresholds, (rows, features))
    step = rng.integers(0, 3, near.shape)
    near = np.where(step == 1, np.nextafter(near, math.inf), np.where(step == 2, np.nextafter(near, -math.inf), near))
    return np.ascontiguousarray(np.where(rng.random(near.shape) < 0.3, rng.choice(ODD, near.shape), near))


def goes_left(x: float, threshold: float, missing: int, zero: float) -> bool:
    if math.isnan(x) and missing in (Missing.NAN_LEFT, Missing.NAN_RIGHT):
        return missing == Missing.NAN_LEFT
    x = 0.0 if math.isnan(x) or abs(x) <= zero else x
    if x == 0 and missing in (Missing.ZERO_LEFT, Missing.ZERO_RIGHT):
        return missing == Missing.ZERO_LEFT
    return x <= threshold


def walk_trees(ensembles: Sequence[Trees], table: F64, zero: float) -> F64:
    """Score every document by walking down every tree."""
    total = np.zeros(len(table))
    for trees in ensembles:
        sums, node, leaf = np.zeros(len(table)), 0, 0
        for count in trees.leaves:
            for d, row in enumerate(table):
                at = 0 if count > 1 else -1
                while at >= 0:
                    i = node + at
                    x, cut = row[trees.features[i]], trees.thresholds[i]
                    at = (trees.left if goes_left(x, cut, trees.missing[i], zero) else trees.right)[i]
                sums[d] += trees.values[leaf - 1 - at]
            node, leaf = node + int(count) - 1, leaf + int(count)
        total += sums
    return total


@pytest.mark.parametrize("instructions", available())
@pytest.mark.parametrize("zero", [0.0, ZERO_THRESHOLD])
@pytest.mark.parametrize(
    ("rows", "leaves"),
    [
        (1, (1,)), (3, (2, 1, 3)), (31, (8, 9, 16, 17)), (33, (31, 32, 33)), (70, (64, 65)), (129, (255, 5)),
        (40, (256, 257, 300, 7)), (513, (20, 12)),
    ],
)  # fmt: skip
def test_scores_are_those_of_walking(rows: int, leaves: tuple[int, ...], zero: float, instructions: str) -> None:
    rng = np.random.default_rng(rows)
    thresholds = np.concatenate([rng.normal(size=20), [v for v in ODD if not math.isnan(v)]])
    ensembles = [grow_trees(rng, leaves, 3, thresholds), grow_trees(rng, leaves[:1], 3, thresholds)]
    table = table_of(rng, rows, 3, thresholds)
    scores = Forest(ensembles, 3, zero).scores(table, instructions)
    np.testing.assert_array_equal(scores, walk_trees(ensembles, table, zero))


@pytest.mark.parametrize("zero", [0.0, ZERO_THRESHOLD])
@pytest.mark.parametrize("infinite", [False, True], ids=["finite", "infinite"])
@pytest.mark.parametrize("leaves", [(1,), (2, 1, 3), (31,) * 20, (7, 64, 65, 300)])
def test_few_documents_are_scored_by_walking_and_to_the_bit(
    leaves: tuple[int, ...], infinite: bool, zero: float
) -> None:
    rng = np.random.default_rng(len(leaves))
    odd = [value for value in ODD if math.isfinite(value) or (infinite and not math.isnan(value))]
    thresholds = np.concatenate([rng.normal(size=20), odd])
    ensembles = [grow_trees(rng, leaves, 3, thresholds), grow_trees(rng, leaves[:1], 3, thresholds)]
    table = table_of(rng, 60, 3, thresholds)
    expected = walk_trees(ensembles, table, zero)
    forest, single = (Forest(ensembles, 3, zero, single) for single in (False, True))
    for start in range(0, 60, 5):
        for stop in range(start, start + 6):
            np.testing.assert_array_equal(forest.scores(table[start:stop]), expected[start:stop])
    np.testing.assert_array_equal(single.scores(table[:5]), single.scores(table)[:5])


@pytest.mark.parametrize("instructions", available())
@pytest.mark.parametrize("count", [1, 15, 16, 17, 254, 255, 256, 257, 272, 273, 600, 5000])
def test_a_feature_can_have_any_number_of_thresholds(count: int, instructions: str) -> None:
    rng = np.random.default_rng(count)
    thresholds = np.sort(rng.normal(size=count))
    stumps = Trees(
        np.full(count, 2), np.zeros(count, np.int32), thresholds, rng.integers(0, 5, count).astype(np.uint8),
        np.full(count, -1, np.int32), np.full(count, -2, np.int32), rng.normal(size=2 * count),
    )  # fmt: skip
    values = np.concatenate([rng.choice(thresholds, 100), np.nextafter(rng.choice(thresholds, 100), math.inf), ODD])
    scores = Forest([stumps], 1).scores(values[:, None], instructions)
    np.testing.assert_array_equal(scores, walk_trees([stumps], values[:, None], 0.0))


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    forest = Forest([grow_trees(rng, rng.integers(1, 300, 400).tolist(), 5, rng.normal(size=50))], 5)
    table = rng.normal(size=(6000, 5))
    scores = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("PIPPIN_THREADS", count)
        scores.append(forest.scores(table))
    assert (scores[0] == scores[1]).all()
    assert (scores[0] == scores[2]).all()


def as_text(trees: Trees, features: int) -> str:
    """Return the trees in LightGBM's text format."""
    kinds = {way: kind for kind, way in KINDS.items()}
    blocks, node, leaf = [], 0, 0
    for number, count in enumerate(trees.leaves.tolist()):
        own, ends = slice(node, node + count - 1), slice(leaf, leaf + count)
        node, leaf = node + count - 1, leaf + count
        zeros, ones = " ".join(["0"] * (count - 1)), " ".join(["1"] * count)
        lines = {
            "Tree": number, "num_leaves": count, "num_cat": 0,
            "split_feature": " ".join(map(str, trees.features[own].tolist())), "split_gain": zeros,
            "threshold": " ".join(map(repr, trees.thresholds[own].tolist())),
            "decision_type": " ".join(str(kinds[Missing(way)]) for way in trees.missing[own]),
            "left_child": " ".join(map(str, trees.left[own].tolist())),
            "right_child": " ".join(map(str, trees.right[own].tolist())),
            "leaf_value": " ".join(map(repr, trees.values[ends].tolist())), "leaf_weight": ones, "leaf_count": ones,
            "internal_value": zeros, "internal_weight": zeros, "internal_count": zeros, "is_linear": 0, "shrinkage": 1,
        }  # fmt: skip
        blocks.append("".join(f"{key}={value}\n" for key, value in lines.items()) + "\n\n")
    return (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx={features - 1}\nfeature_names={' '.join(f'Column_{i}' for i in range(features))}\n"
        f"feature_infos={' '.join(['[0:1]'] * features)}\ntree_sizes={' '.join(str(len(b)) for b in blocks)}\n\n"
        f"{''.join(blocks)}end of trees\n\nfeature_importances:\n\npandas_categorical:null\n"
    )


@pytest.mark.parametrize("seed", range(8))
def test_scores_are_lightgbms_to_the_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    thresholds = np.concatenate([rng.normal(size=30) * 10.0 ** rng.integers(-40, 40, 30), [v for v in ODD if v == v]])  # noqa: PLR0124 - NaN
    thresholds = np.where(thresholds == -math.inf, -1e301, thresholds)
    leaves = [1, 2, 300, *rng.integers(1, 301, 20).tolist()]
    text = as_text(grow_trees(rng, leaves, 4, thresholds), 4)
    table = table_of(rng, 500, 4, thresholds)
    expected = lightgbm.Booster(model_str=text).predict(table, raw_score=True, num_threads=1)
    trees = read_trees(text, 4).trees
    assert trees.leaves.tolist() == leaves
    for instructions in available():
        np.testing.assert_array_equal(Forest([trees], 4, ZERO_THRESHOLD).scores(table, instructions), expected)


STUMP = Trees(
    np.array([2]), np.array([0], np.int32), np.array([0.5]), np.array([0], np.uint8), np.array([-1], np.int32),
    np.array([-2], np.int32), np.array([1.0, 2.0]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"leaves": np.array([3])}, "as many nodes as they say"),
        ({"leaves": np.array([0])}, "a tree needs at least one leaf"),
        ({"leaves": np.array([2, 1])}, "as many leaves as they say"),
        ({"features": np.array([1], np.int32)}, "a feature that is not there"),
        ({"features": np.array([-1], np.int32)}, "a feature that is not there"),
        ({"thresholds": np.array([math.nan])}, "a threshold is not a number"),
        ({"missing": np.array([5], np.uint8)}, "unknown rule for missing values"),
        ({"left": np.array([0], np.int32)}, "a child that is not there, or that comes before it"),
        ({"left": np.array([1], np.int32)}, "a child that is not there"),
        ({"left": np.array([-3], np.int32)}, "a child that is not there"),
        ({"left": np.array([-(2**31)], np.int32)}, "a child that is not there"),
        ({"left": np.array([-2], np.int32)}, "reached twice"),
    ],
)
def test_invalid_trees_are_refused(change: dict[str, Any], sentence: str) -> None:
    Forest([STUMP], 1)
    with pytest.raises(ValueError, match=sentence):
        Forest([dataclasses.replace(STUMP, **change)], 1)


def test_tables_of_other_kinds_are_refused() -> None:
    forest = Forest([STUMP], 1)
    with pytest.raises(ValueError, match="not one of the features"):
        forest.scores(np.zeros((3, 2)))
    with pytest.raises(TypeError):
        forest.scores(np.zeros((3, 1), np.float32))
    with pytest.raises(ValueError, match="does not support"):
        forest.scores(np.zeros((3, 1)), "mmx")
    assert forest.scores(np.zeros((0, 1))).tolist() == []
    assert Forest([], 1).scores(np.ones((2, 1))).tolist() == [0, 0]


@pytest.mark.parametrize(
    "text", ["", "1", "1  2", "1 2 ", " 1 2", "1 2 3", "1 x", "1 nan", "1 inf", "1 0x2", "1 +2", "1\t2"]
)
def test_texts_of_other_than_two_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"numbers|a number"):
        read_numbers(text, 2)


def test_numbers_are_read_as_python_reads_them() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300, 1000)
    assert read_numbers(" ".join(map(repr, values.tolist())), 1000).tolist() == values.tolist()
    assert read_numbers("3 -4", 2, integers=True).tolist() == [3, -4]
    assert read_numbers("inf 1", 2, infinite=True).tolist() == [math.inf, 1]
    assert read_numbers("", 0).tolist() == []
    for text in ("1.5 2", "1e3 2"):
        with pytest.raises(ValueError, match="something else"):
            read_numbers(text, 2, integers=True)
    with pytest.raises(ValueError, match="not finite"):
        read_numbers("1e999", 1)
