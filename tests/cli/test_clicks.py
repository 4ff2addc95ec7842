"""Click commands from simulation to a model, and their errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.cli.main import main
from pippin.clicks.logs import read
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor, write_scores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("clicks")
    data = plant_sum(queries=30, size=8)
    write_letor(data, place / "train.txt")
    write_letor(
        Dataset(data.features, np.zeros(len(data), np.int32), data.offsets, data.query_ids), place / "blind.txt"
    )
    write_scores(np.random.default_rng(1).random(len(data)), place / "scores.txt")
    words = ["--sessions", "50", "--depth", "4", "--swap-rate", "0.5", "--eta", "0.5"]
    assert main(["simulate", f"{place}/train.txt", f"{place}/scores.txt", *words, "--out", f"{place}/log.tsv"]) == 0
    return place


def test_a_model_learns_from_a_log_without_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", f"{folder}/blind.txt", "--ranker", "ranksvm", "--clicks", f"{folder}/log.tsv", "--quiet"]
    for method, out in ((["--propensities", "swaps"], "a.json"), (["--debias", "naive"], "b.json"),
                     (["--propensities", "1,0.71,0.58,0.5"], "c.json")):  # fmt: skip
        assert main([*arguments, *method, "--out", f"{folder}/{out}"]) == 0
    assert "learning from ClickLog(1,500 sessions" in capsys.readouterr().out
    by_hand = pippin.train(folder / "train.txt", "ranksvm", clicks=read(folder / "log.tsv"), debias="naive")
    assert np.array_equal(pippin.load(folder / "b.json").predict(plant_sum(5, 8)), by_hand.predict(plant_sum(5, 8)))
    names = [f"{folder}/{name}" for name in ("train.txt", "a.json", "scores.txt")]
    assert main(["interleave", *names, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"].startswith("Users prefer a to scores")


def test_propensities_are_printed_as_training_takes_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["propensities", f"{folder}/log.tsv", "--resamples", "10", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["rank"] for row in record["ranks"]] == [1, 2, 3, 4]
    assert record["ranks"][1]["low"] <= record["ranks"][1]["propensity"] <= record["ranks"][1]["high"]
    assert main(["propensities", f"{folder}/log.tsv", "--resamples", "0"]) == 0
    propensities = ",".join(f"{row['propensity']:.4g}" for row in record["ranks"])
    assert propensities in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(("words", "sentence"), [
    (["interleave", "a", "b"], "expected DATA A B, or one LOG, got 2 files"),
    (["interleave", "{}/log.tsv"], "the log has no column"),
    (["propensities", "{}/train.txt"], "train.txt:1: the column session is missing"),
    (["train", "{}/train.txt", "-r", "mart", "--clicks", "{}/log.tsv", "-o", "{}/m"], "does not support preference"),
    (["train", "{}/train.txt", "-r", "ranksvm", "--clicks", "{}/log.tsv", "--propensities", "guess", "-o", "{}/m"],
     "no method for propensities is called 'guess'"),
    (["simulate", "{}/train.txt", "{}/none.txt", "-o", "{}/m.tsv"], "none.txt: there is no such file"),
])  # fmt: skip
def test_impossible_requests_are_reported(
    folder: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(folder) for word in words]) == 2
    assert sentence in capsys.readouterr().err.replace("\n  ", " ")
