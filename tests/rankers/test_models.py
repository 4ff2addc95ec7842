"""Model files: digest, weights by name, invalid trees and other files in their place."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from tests.rankers.ranker_names import names
from tests.rankers.test_estimators import plant_sum, quick

from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import LambdaMART, RankSVM, models
from pippin.rankers.base import Ranker
from pippin.rankers.boosting import read_trees

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
DATA = plant_sum(10)


def alter_model(model: Ranker, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a model file with a changed content and a valid digest."""
    content, arrays = models.read_record(models.to_bytes(model), "model")
    del content["sha256"]
    change(content)
    return models.seal(content, arrays)


@pytest.mark.parametrize("name", names())
def test_every_model_carries_its_digest(name: str) -> None:
    content, arrays = models.read_record(models.to_bytes(quick(name).fit(DATA)), "model")
    assert content["version"] == models.VERSION
    assert content["sha256"] == models.digest(content, arrays)


@pytest.mark.parametrize("name", names())
def test_a_changed_number_is_detected(name: str) -> None:
    packed = models.to_bytes(quick(name).fit(DATA))
    digits = [i for i, byte in enumerate(packed) if chr(byte).isdigit()]
    for at in digits[:: max(1, len(digits) // 50)]:
        broken = packed[:at] + (b"7" if packed[at : at + 1] != b"7" else b"8") + packed[at + 1 :]
        if packed.startswith(b"{") and json.loads(broken) == json.loads(packed):
            continue  # a digit beyond what a double holds
        with pytest.raises(DataError):
            models.from_bytes(broken, "model")


def test_the_digest_ignores_order_of_keys_and_spaces(tmp_path: Path) -> None:
    model = RankSVM().fit(plant_sum(10, features=12))
    path = tmp_path / "model.json"
    model.save(path)
    content = json.loads(path.read_text())
    assert list(content["state"]["weights"]) != sorted(content["state"]["weights"])  # 1, 10, 11, 12, 2 …
    path.write_text(json.dumps(content, sort_keys=True, separators=(",", ":")))
    again = models.load(path)
    assert isinstance(again, RankSVM)
    assert again.coef_.tolist() == model.coef_.tolist()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.update(version="1"), "its version is '1'"),
        (lambda c: c.update(version=True), "its version is True"),
        (lambda c: c.pop("version"), "its version is None"),
        (lambda c: c.update(ranker=5), "invalid ranker"),
        (lambda c: c.update(ranker="ranksvn"), "no ranker is called 'ranksvn'; did you mean ranksvm"),
        (lambda c: c.update(parameters=[1]), "invalid parameters"),
        (lambda c: c["parameters"].update(C="x"), "C must be a number, got 'x'"),
        (lambda c: c["parameters"].update(C=-1), "C must be above 0, got -1"),
        (lambda c: c["parameters"].update(D=1), "unknown parameter 'D'"),
        (lambda c: c["state"]["weights"].pop("2"), "5 weights do not fit the 6 features"),
        (lambda c: c["state"]["weights"].update(more=1.0), "7 weights do not fit the 6 features"),
        (lambda c: c["state"]["weights"].update({"2": "much"}), "not a finite number"),
        (lambda c: c["state"].update(weights=[1.0] * 6), "damaged"),
        (lambda c: c["features"].append("2"), "two with the same name"),
        (lambda c: c["features"].__setitem__(0, "other"), "do not fit the 6 features"),
        (lambda c: c.update(curve=[{}]), "invalid curve"),
        (lambda c: c.pop("state"), "invalid state"),
        (lambda c: c.update(relation_weight="all"), "not a finite number"),
    ],
)  # fmt: skip
def test_a_forged_record_is_reported(change: Callable[[dict[str, Any]], object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as error:
        models.from_bytes(alter_model(RankSVM().fit(DATA), change), "here/model.json")
    assert str(error.value).startswith("here/model.json: ")


def lines_of(change: dict[str, str]) -> Callable[[dict[str, Any]], None]:
    def change_content(content: dict[str, Any]) -> None:
        ensemble = content["state"]["ensembles"][0]
        lines = ensemble["lightgbm"]
        for i, line in enumerate(lines):
            key = line.split("=")[0]
            if key in change:
                lines[i] = f"{key}={change[key]}"
        sizes = next(i for i, line in enumerate(lines) if line.startswith("tree_sizes"))
        if "tree_sizes" not in change:  # a forger counts the bytes again
            text = "\n".join(lines)
            lines[sizes] = f"tree_sizes={text.index('end of trees') - text.index('Tree=')}"

    return change_content


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"left_child": "1000000000 -2 -3"}, "an unknown child"),
        ({"right_child": "1 2 -5"}, "an unknown child"),
        ({"left_child": "-1 0 -3"}, "an unknown child, or one that precedes it"),
        ({"left_child": "-1 -1 -3"}, "no parent or two"),
        ({"split_feature": "2000000000 1 1"}, "an unknown feature"),
        ({"split_feature": "-1 1 1"}, "an unknown feature"),
        ({"split_feature": "1 1"}, "number of values in split_feature"),
        ({"threshold": "1e999 1 1"}, "not finite"),
        ({"threshold": "nan 1 1"}, "something else than numbers"),
        ({"leaf_value": "1 2 3"}, "number of values in leaf_value"),
        ({"num_leaves": "1000000000"}, "num_leaves of a tree differs"),
        ({"num_leaves": "0"}, "num_leaves of a tree differs"),
        ({"num_cat": "1"}, "categories or linear leaves"),
        ({"is_linear": "1"}, "categories or linear leaves"),
        ({"decision_type": "1 2 2"}, "an unknown decision_type"),
        ({"leaf_count": "-1 1 1 1"}, "a negative count"),
        ({"shrinkage": "x"}, "something else than numbers"),
        ({"tree_sizes": "10"}, "tree_sizes does not fit"),
        ({"tree_sizes": "1 1"}, "tree_sizes does not fit"),
        ({"max_feature_idx": "2000000000"}, "header of the trees does not fit"),
        ({"feature_names": "a b"}, "header of the trees does not fit"),
        ({"num_tree_per_iteration": "1000"}, "header of the trees does not fit"),
        ({"feature_infos": "none"}, "range of a feature"),
        ({"Tree": "5"}, "is not at its position"),
        ({"split_gain": "1 1 1\nhidden=1"}, "missing or unknown lines"),
        ({"split_gain": "1 1 1\nnum_cat=0"}, "an unknown or repeated line"),
    ],
)
def test_invalid_trees_are_refused_before_scoring(change: dict[str, str], sentence: str) -> None:
    model = LambdaMART(rounds=1, num_leaves=4, min_data_in_leaf=1).fit(DATA)
    assert "num_leaves=4" in model.boosters_[0]
    models.from_bytes(alter_model(model, lines_of({})), "model")
    with pytest.raises(DataError, match=sentence):
        models.from_bytes(alter_model(model, lines_of(change)), "model")


@pytest.mark.parametrize("settings", [
    {}, {"n_bags": 3, "bagging_fraction": 0.5, "feature_fraction": 0.5}, {"num_leaves": 2},
    {"num_leaves": 60, "min_data_in_leaf": 1},
    {"max_bin": 3},
])  # fmt: skip
def test_all_grown_trees_are_valid(settings: dict[str, Any]) -> None:
    holes = plant_sum(40, seed=9)
    features = np.where(np.random.default_rng(1).random(holes.features.shape) < 0.2, np.nan, holes.features)
    features[:, 4] = 1.0
    for table in (holes.features, features, features * 1e-300, features * 1e30):
        data = Dataset(table, holes.labels, holes.offsets, holes.query_ids)
        for name in ("lambdamart", "mart", "xendcg"):
            model = quick(name, rounds=12, **settings).fit(data)
            for text in vars(model)["boosters_"]:
                read_trees(text, 6)


def set_parameter(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change_content(content: dict[str, Any]) -> None:
        content["parameters"][name] = value

    return change_content


def test_a_network_of_a_billion_units_is_refused_without_memory() -> None:
    model = quick("ranknet").fit(DATA)
    for parameter, value in (("hidden_units", 10**12), ("hidden_layers", 10**12), ("hidden_layers", 2)):
        with pytest.raises(DataError, match=r"another type or shape than the parameters require|arrays do not fit"):
            models.from_bytes(alter_model(model, set_parameter(parameter, value)), "model")


def test_duplicate_feature_names_are_refused_on_save(tmp_path: Path) -> None:
    data = dataclasses.replace(DATA, feature_names=("a", "b", "a", "c", "d", "e"))
    with pytest.raises(DataError, match="two features are called a"):
        RankSVM().fit(data).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_of_the_first_version_is_refused(tmp_path: Path) -> None:
    content = json.loads(models.to_bytes(quick("ranksvm").fit(DATA)))
    del content["sha256"]
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**content, "version": 1}))
    with pytest.raises(DataError, match="train the model again"):
        models.load(path)


def unreadable(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path.mkdir(), "this is a folder"),
        (unreadable, "cannot be read"),
        (lambda path: None, "no such file"),
        (lambda path: path.write_bytes(b""), "not a model file"),
        (lambda path: path.write_text("[" * 200_000), "not a model file"),
        (lambda path: path.write_text('{"format":' * 100_000), "not a model file"),
        (lambda path: path.write_text('{"format": "pippin-model", "version": 1' + "0" * 5000 + "}"), "a model file"),
        (lambda path: path.write_bytes(models.to_bytes(quick("ranknet").fit(DATA))[:-3]), "not a model file"),
        (lambda path: path.write_bytes((1 << 62).to_bytes(8, "little") + b"{}"), "not a model file"),
    ],
)  # fmt: skip
def test_rank_with_an_invalid_model_file_is_reported(
    make: Callable[[Path], object], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.json"
    make(path)
    (tmp_path / "data.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    assert main(["rank", str(path), str(tmp_path / "data.txt")]) == 2
    output = capsys.readouterr().err.strip()
    assert sentence in output
    assert str(path) in output
    assert "\n" not in output


def test_saved_trees_score_without_lightgbm(tmp_path: Path) -> None:
    data = plant_sum(30, seed=4)
    for name in ("lambdamart", "mart", "xendcg"):
        model = quick(name, rounds=8, bags=2, row_fraction=0.5).fit(data)
        model.save(tmp_path / name)
        np.save(tmp_path / "table.npy", data.features)
        code = (
            "import sys; sys.modules['lightgbm'] = None\n"
            "import numpy, pippin\n"
            f"model = pippin.load({name!r})\n"
            "numpy.save('scores.npy', model.predict(numpy.load('table.npy')))\n"
            "model.importance()"
        )
        subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
        assert (np.load(tmp_path / "scores.npy") == model.predict(data)).all()


@pytest.mark.parametrize(
    "settings", [{}, {"n_bags": 3, "bagging_fraction": 0.5, "feature_fraction": 0.5}, {"num_leaves": 60}]
)
def test_scores_and_importance_are_lightgbms(settings: dict[str, Any]) -> None:
    holes = plant_sum(40, seed=9)
    features = np.where(np.random.default_rng(1).random(holes.features.shape) < 0.2, np.nan, holes.features)
    for table in (holes.features, features):
        data = Dataset(table, holes.labels, holes.offsets, holes.query_ids)
        model = LambdaMART(rounds=12, min_data_in_leaf=1, **settings).fit(data)
        total, gains = np.zeros(len(table)), np.zeros(6)
        for text in model.boosters_:
            booster = lightgbm.Booster(model_str=text)
            total += booster.predict(features, raw_score=True)
            gains += booster.feature_importance("gain")
        assert (model.predict(features) == total / len(model.boosters_)).all()
        assert list(model.importance().values()) == (gains / len(model.boosters_)).tolist()
