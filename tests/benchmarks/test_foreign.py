"""Models of other programs in a benchmark, on the same folds and under every tool."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.small import whole, write_folds

import pippin
from pippin.benchmarks.plan import models_in
from pippin.cli.main import main
from pippin.errors import DataError
from pippin.models.exporters.lightgbm import model_text
from pippin.models.model import make_tree


def furnish(folder: Path) -> None:
    data = whole(30)
    write_folds(folder / "mine", data, 3)
    (folder / "models").mkdir()
    stumps = [make_tree([f], [0.4], [-1], [-2], [True], [0.0, 1.0]) for f in range(3)]
    (folder / "models" / "theirs.txt").write_text(model_text(data.feature_names, stumps, []))
    (folder / "models" / "linear.model").write_text("## Coordinate Ascent\n1:0.5 2:0.25")


def test_their_models_stand_on_the_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["bench", "mine", "--quick", "-r", "best-feature", "-t", "official,letor4", "-m", "NDCG@10,MAP", "--quiet",
             "--models", "models", "--out", "results"]  # fmt: skip
    assert main(words) == 0
    board = pippin.Results(Path("results")).leaderboard("NDCG@10")
    names = {"best-feature", "imported(file=models/theirs.txt)", "imported(file=models/linear.model)"}
    assert set(board.to_dict()["ranker"]) == names
    theirs = pippin.load("models/linear.model")
    results = pippin.Results(Path("results"))
    cell = next(cell for cell in results.cells if cell.record["ranker"] == "imported(file=models/linear.model)")
    test = pippin.read(f"mine/{cell.record['fold']}/test.txt")
    assert isinstance(test, pippin.Dataset)
    scores = theirs.predict(np.asarray(test.features)[:, :2])
    expected = pippin.evaluate(test, scores, "NDCG@10").mean["NDCG@10"]
    assert cell.record["means"]["official"]["NDCG@10"] == pytest.approx(expected, abs=1e-12)


def test_another_file_of_that_name_is_another_cell(tmp_path: Path) -> None:
    furnish(tmp_path)
    before = models_in(tmp_path / "models")[1]
    (tmp_path / "models" / "linear.model").write_text("## Coordinate Ascent\n1:0.5 2:0.26")
    after = models_in(tmp_path / "models")[1]
    assert {name for name in before if before[name] != after[name]} == {
        f"imported(file={tmp_path}/models/linear.model)"
    }


def test_a_folder_without_models_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        models_in(tmp_path / "none")
    with pytest.raises(DataError, match="this folder has no models"):
        models_in(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match="unknown model format"):
        models_in(tmp_path)
