"""The protocol of `benchmarks/defaults.py`: test labels change no default, choice or model."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.rankers.ranker_names import names

from pippin.data.dataset import Dataset
from pippin.data.folds import Folds, make_folds
from pippin.data.synthetic import make_dataset
from pippin.rankers import RankSVM, select

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TRIED = ("ranksvm", "lambdamart(rounds=5)", "grid:rankboost(rounds=5)")


@pytest.fixture(scope="module")
def protocol() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("defaults", BENCHMARKS / "defaults.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["defaults"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.fixture(scope="module")
def data() -> Dataset:
    made = make_dataset(30, 12, 6, 2)
    return replace(made, features=np.nan_to_num(made.features))


def permute_test_labels(folds: Folds, fold: str) -> Folds:
    """Return the folds with permuted labels in one fold's test part."""
    labels = folds.data.labels.copy()
    rows = np.flatnonzero(np.isin(folds.data.qid(), folds.queries[fold]["test"]))
    labels[rows] = np.random.default_rng(4).permutation(labels[rows])
    assert not np.array_equal(labels, folds.data.labels)
    return replace(folds, data=replace(folds.data, labels=labels))


def test_labels_of_the_held_out_part_change_no_decision(protocol: ModuleType, data: Dataset) -> None:
    folds = make_folds(data)
    decisions = []
    for variant in (folds, permute_test_labels(folds, "Fold1")):
        sets = [("made", protocol.turns(protocol.development(variant)))]
        decisions.append(protocol.judge(TRIED, sets, protocol.StoredValues(), lambda line: None))
    first, again = decisions
    assert first.best() == again.best()
    np.testing.assert_array_equal(first.values["made"], again.values["made"])


def test_labels_of_a_part_that_is_judged_do_change_it(protocol: ModuleType, data: Dataset) -> None:
    folds = make_folds(data)
    first, again = (
        protocol.judge(
            ("ranksvm",), [("made", protocol.turns(protocol.development(variant)))], protocol.StoredValues(), print
        )
        for variant in (folds, permute_test_labels(folds, "Fold2"))
    )
    assert not np.array_equal(first.values["made"], again.values["made"])


def test_every_query_is_judged_once_and_never_learned_from_there(protocol: ModuleType, data: Dataset) -> None:
    folds = make_folds(data)
    dealt = protocol.turns(protocol.development(folds))
    qrels = [query for turn in dealt for query in turn.judged.query_ids]
    assert sorted(qrels) == sorted(set(data.query_ids) - set(folds["Fold1"].test.query_ids))
    for turn in dealt:
        parts = [set(part.query_ids) for part in (turn.train, turn.valid, turn.judged)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 24


@pytest.mark.parametrize("fold", ["Fold1", "Fold3"])
def test_labels_of_a_fold_s_test_part_change_no_model(data: Dataset, fold: str, tmp_path: Path) -> None:
    folds = make_folds(data)
    texts = []
    for variant in (folds[fold], permute_test_labels(folds, fold)[fold]):
        selection = select(RankSVM(), variant.train, variant.vali, measure="NDCG@10")
        selection.ranker.save(tmp_path / "model.json")
        texts.append((tmp_path / "model.json").read_bytes())
    assert texts[0] == texts[1]


def test_cached_results_are_not_computed_again(protocol: ModuleType, data: Dataset, tmp_path: Path) -> None:
    turn = protocol.turns(protocol.development(make_folds(data)))[0]
    first = protocol.StoredValues(tmp_path / "kept").value("made", "ranksvm", turn)
    assert protocol.StoredValues(tmp_path / "kept").value("made", "ranksvm", replace(turn, train=turn.valid)) == first


def test_equal_means_share_a_rank(protocol: ModuleType) -> None:
    assert protocol.ranks(np.array([[0.3, 0.5, 0.3, 0.1]])).tolist() == [[2.5, 1.0, 2.5, 4.0]]


def test_one_command_remakes_the_tables_of_all_rankers(protocol: ModuleType) -> None:
    """`make bench-quality` has every ranker but the blend, settings and sets that exist, and the page has the same."""
    root = BENCHMARKS.parent
    values = dict(re.findall(r"^(QUALITY_\w+) \?= (.*)$", (root / "Makefile").read_text(), re.MULTILINE))
    expected = sorted(set(names()) - {"auto"})
    assert values["QUALITY_RANKERS"].split(",") == expected
    page = (root / "docs" / "reproduction.md").read_text()
    lines = re.findall(r"^\$ RANKERS=(?:\$RANKERS,)?(.*)$", page, re.MULTILINE)
    assert ",".join(lines).split(",") == expected
    assert set(values["QUALITY_MADE"].split()) <= protocol.MADE.keys()
    for setting in values["QUALITY_TRY"].split():
        protocol.identity(setting)
