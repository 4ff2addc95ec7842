"""Model files: the digest, weights by name, trees that are none, and all that may stand where a model should be."""

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
from tests.rankers.shelf import names
from tests.rankers.test_estimators import planted, quick

from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import LambdaMART, RankSVM, models
from pippin.rankers.base import Ranker
from pippin.rankers.parts.tree_text import read_trees

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
DATA = planted(10)


def forged(model: Ranker, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A model's file with something changed and the digest made again."""
    content, arrays = models.unpacked(models.to_bytes(model), "model")
    del content["sha256"]
    change(content)
    return models.seal(content, arrays)


@pytest.mark.parametrize("name", names())
def test_every_model_carries_its_digest(name: str) -> None:
    content, arrays = models.unpacked(models.to_bytes(quick(name).fit(DATA)), "model")
    assert content["version"] == models.VERSION
    assert content["sha256"] == models.digest(content, arrays)


@pytest.mark.parametrize("name", names())
def test_a_number_that_was_changed_is_seen(name: str) -> None:
    packed = models.to_bytes(quick(name).fit(DATA))
    digits = [i for i, byte in enumerate(packed) if chr(byte).isdigit()]
    for at in digits[:: max(1, len(digits) // 50)]:
        broken = packed[:at] + (b"7" if packed[at : at + 1] != b"7" else b"8") + packed[at + 1 :]
        if packed.startswith(b"{") and json.loads(broken) == json.loads(packed):
            continue  # a digit beyond what a double holds
        with pytest.raises(DataError):
            models.from_bytes(broken, "model")


def test_the_order_of_keys_and_spaces_are_nobodys_business(tmp_path: Path) -> None:
    model = RankSVM().fit(planted(10, features=12))
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
        (lambda c: c.update(ranker=5), "ranker is not what it should be"),
        (lambda c: c.update(ranker="ranksvn"), "no ranker is called 'ranksvn'; did you mean ranksvm"),
        (lambda c: c.update(parameters=[1]), "parameters is not what it should be"),
        (lambda c: c["parameters"].update(C="x"), "C is a number, not 'x'"),
        (lambda c: c["parameters"].update(C=-1), "C is a number above 0, not -1"),
        (lambda c: c["parameters"].update(D=1), "no parameter 'D'"),
        (lambda c: c["state"]["weights"].pop("2"), "5 weights are not those of the 6 features"),
        (lambda c: c["state"]["weights"].update(more=1.0), "7 weights are not those of the 6 features"),
        (lambda c: c["state"]["weights"].update({"2": "much"}), "no finite number"),
        (lambda c: c["state"].update(weights=[1.0] * 6), "damaged"),
        (lambda c: c["features"].append("2"), "two have one name"),
        (lambda c: c["features"].__setitem__(0, "other"), "are not those of the 6 features"),
        (lambda c: c.update(curve=[{}]), "curve is not what it should be"),
        (lambda c: c.pop("state"), "state is not what it should be"),
        (lambda c: c.update(relation_weight="all"), "no finite number"),
    ],
)  # fmt: skip
def test_a_forged_record_gets_a_sentence(change: Callable[[dict[str, Any]], object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as error:
        models.from_bytes(forged(RankSVM().fit(DATA), change), "here/model.json")
    assert str(error.value).startswith("here/model.json: ")


def lines_of(change: dict[str, str]) -> Callable[[dict[str, Any]], None]:
    def changed(content: dict[str, Any]) -> None:
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

    return changed


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"left_child": "1000000000 -2 -3"}, "a child that is not there"),
        ({"right_child": "1 2 -5"}, "a child that is not there"),
        ({"left_child": "-1 0 -3"}, "a child that is not there, or that comes before it"),
        ({"left_child": "-1 -1 -3"}, "reached twice, or never"),
        ({"split_feature": "2000000000 1 1"}, "a feature that is not there"),
        ({"split_feature": "-1 1 1"}, "a feature that is not there"),
        ({"split_feature": "1 1"}, "not as many numbers in split_feature"),
        ({"threshold": "1e999 1 1"}, "not finite"),
        ({"threshold": "nan 1 1"}, "something else than numbers"),
        ({"leaf_value": "1 2 3"}, "not as many numbers in leaf_value"),
        ({"num_leaves": "1000000000"}, "not as many leaves as it says"),
        ({"num_leaves": "0"}, "not as many leaves as it says"),
        ({"num_cat": "1"}, "of a kind that is never written"),
        ({"is_linear": "1"}, "of a kind that is never written"),
        ({"decision_type": "1 2 2"}, "decides in a way"),
        ({"leaf_count": "-1 1 1 1"}, "fewer documents than none"),
        ({"shrinkage": "x"}, "something else than numbers"),
        ({"tree_sizes": "10"}, "sizes of the trees"),
        ({"tree_sizes": "1 1"}, "sizes of the trees"),
        ({"max_feature_idx": "2000000000"}, "do not begin as trees"),
        ({"feature_names": "a b"}, "do not begin as trees"),
        ({"num_tree_per_iteration": "1000"}, "do not begin as trees"),
        ({"feature_infos": "none"}, "range of every feature"),
        ({"Tree": "5"}, "does not stand where it should"),
        ({"split_gain": "1 1 1\nhidden=1"}, "not the lines of a tree"),
        ({"split_gain": "1 1 1\nnum_cat=0"}, "a line that is not a tree's"),
    ],
)
def test_trees_that_are_none_are_refused_before_they_score(change: dict[str, str], sentence: str) -> None:
    model = LambdaMART(rounds=1, leaves=4, min_leaf=1).fit(DATA)
    assert "num_leaves=4" in model.boosters_[0]
    models.from_bytes(forged(model, lines_of({})), "model")
    with pytest.raises(DataError, match=sentence):
        models.from_bytes(forged(model, lines_of(change)), "model")


@pytest.mark.parametrize("settings", [
    {}, {"bags": 3, "row_fraction": 0.5, "feature_fraction": 0.5}, {"leaves": 2}, {"leaves": 60, "min_leaf": 1},
    {"bins": 3},
])  # fmt: skip
def test_all_trees_that_are_grown_pass_the_check(settings: dict[str, Any]) -> None:
    holes = planted(40, seed=9)
    features = np.where(np.random.default_rng(1).random(holes.features.shape) < 0.2, np.nan, holes.features)
    features[:, 4] = 1.0
    for table in (holes.features, features, features * 1e-300, features * 1e30):
        data = Dataset(table, holes.labels, holes.offsets, holes.query_ids)
        for name in ("lambdamart", "mart", "xendcg"):
            model = quick(name, rounds=12, **settings).fit(data)
            for text in vars(model)["boosters_"]:
                read_trees(text, 6)


def set_parameter(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def changed(content: dict[str, Any]) -> None:
        content["parameters"][name] = value

    return changed


def test_a_network_of_a_billion_units_is_refused_without_memory() -> None:
    model = quick("ranknet").fit(DATA)
    for parameter, value in (("units", 10**12), ("layers", 10**12), ("layers", 2)):
        with pytest.raises(DataError, match=r"the layers do not fit together|arrays are not those of"):
            models.from_bytes(forged(model, set_parameter(parameter, value)), "model")


def test_two_features_of_one_name_are_refused_when_a_model_is_written(tmp_path: Path) -> None:
    data = dataclasses.replace(DATA, feature_names=("a", "b", "a", "c", "d", "e"))
    with pytest.raises(DataError, match="two features are called a"):
        RankSVM().fit(data).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_of_the_first_version_is_read_with_a_warning(tmp_path: Path) -> None:
    for name in ("ranksvm", "lambdamart"):
        model = quick(name).fit(DATA)
        content = json.loads(models.to_bytes(model))
        del content["sha256"]
        path = tmp_path / name
        path.write_text(json.dumps({**content, "version": 1}))
        with pytest.warns(UserWarning, match="without a digest"):
            again = models.load(path)
        assert (again.predict(DATA) == model.predict(DATA)).all()


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
        (lambda path: path.write_bytes(b""), "this is no model file"),
        (lambda path: path.write_text("[" * 200_000), "this is no model file"),
        (lambda path: path.write_text('{"format":' * 100_000), "this is no model file"),
        (lambda path: path.write_text('{"format": "pippin-model", "version": 1' + "0" * 5000 + "}"), "no model file"),
        (lambda path: path.write_bytes(models.to_bytes(quick("ranknet").fit(DATA))[:-3]), "this is no model file"),
        (lambda path: path.write_bytes((1 << 62).to_bytes(8, "little") + b"{}"), "this is no model file"),
    ],
)  # fmt: skip
def test_what_is_no_model_ends_rank_with_one_sentence(
    make: Callable[[Path], object], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.json"
    make(path)
    (tmp_path / "data.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    assert main(["rank", str(path), str(tmp_path / "data.txt")]) == 2
    said = capsys.readouterr().err.strip()
    assert sentence in said
    assert str(path) in said
    assert "\n" not in said


def test_a_saved_model_of_trees_scores_where_lightgbm_is_not_installed(tmp_path: Path) -> None:
    data = planted(30, seed=4)
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


@pytest.mark.parametrize("settings", [{}, {"bags": 3, "row_fraction": 0.5, "feature_fraction": 0.5}, {"leaves": 60}])
def test_scores_and_importance_are_lightgbms(settings: dict[str, Any]) -> None:
    holes = planted(40, seed=9)
    features = np.where(np.random.default_rng(1).random(holes.features.shape) < 0.2, np.nan, holes.features)
    for table in (holes.features, features):
        data = Dataset(table, holes.labels, holes.offsets, holes.query_ids)
        model = LambdaMART(rounds=12, min_leaf=1, **settings).fit(data)
        total, gains = np.zeros(len(table)), np.zeros(6)
        for text in model.boosters_:
            booster = lightgbm.Booster(model_str=text)
            total += booster.predict(features, raw_score=True)
            gains += booster.feature_importance("gain")
        assert (model.predict(features) == total / len(model.boosters_)).all()
        assert list(model.importance().values()) == (gains / len(model.boosters_)).tolist()
