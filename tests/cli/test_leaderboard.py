"""`pippin study` and `pippin leaderboard` on a small real grid."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.benchmarks import runner
from pippin.benchmarks.plan import Experiment
from pippin.benchmarks.studies.training_conventions import RANKERS
from pippin.cli.main import main
from pippin.data.letor import write_letor
from pippin.data.synthetic import make_dataset
from pippin.errors import DataError

ARGUMENTS = ["--ranker", "adarank,best-feature", "--convention", "ranklib,yahoo", "--quick", "--quiet", "--jobs", "2"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a study of two rankers under two conventions, and what it wrote."""
    folder = tmp_path_factory.mktemp("study")
    data = make_dataset(queries=60, documents=12, labels=3, seed=3)
    write_letor(replace(data, features=np.nan_to_num(data.features)), folder / "toy.txt")
    arguments = [str(folder / "toy.txt"), *ARGUMENTS, "-o", str(folder / "results")]
    assert main(["study", "conventions", *arguments, "--format", "json", "--report", str(folder / "study.json")]) == 0
    return folder / "results"


def test_the_study_of_real_models(results: Path) -> None:
    (record,) = json.loads((results.parent / "study.json").read_text())
    result = {c["name"]: c for c in record["conclusions"]}
    assert result["bias"]["holds"] == "yes"
    assert result["bias"]["value"] > 0
    assert result["invariance"]["holds"] == "yes"  # best-feature is the same under ranklib and yahoo, bit by bit
    assert result["training under letor4"]["holds"] == "unknown"
    assert len(record["points"]) == 2 * 2 * len(record["tools"]) * 10


def test_the_terminal_view(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", str(results), "--convention", "ranklib", "--per-fold"]) == 0
    output = capsys.readouterr().out
    for words in ("ranker         NDCG@1", "P@10", "95% interval", "Fold5", "reversed pairs", "letor4"):
        assert words in output
    assert "Missing" not in output


def test_csv_with_published_values(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = tmp_path / "theirs.csv"
    theirs.write_text("dataset,ranker,measure,value\nTOY,AdaRank-MAP,MAP,0.5\n")
    arguments = ["leaderboard", str(results), "--convention", "yahoo", "--published", str(theirs)]
    assert main([*arguments, "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert float(row["difference"]) == pytest.approx(float(row["ours"]) - 0.5)
    assert main(arguments) == 0
    assert ": published values" in capsys.readouterr().out
    theirs.write_text("dataset,ranker,measure,value\nOTHER,AdaRank-MAP,MAP,0.5\n")
    assert main(arguments) == 2
    assert "no overlap" in capsys.readouterr().err


def test_refusals(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        ([str(tmp_path)], "no results"),
        ([str(results)], "several training conventions; choose one of ranklib, yahoo"),
        ([str(results), "--convention", "yahoo", "--tool", "letr4"], "did you mean letor4"),
        ([str(results), "--convention", "yahoo", "--measure", "NDCG@11"], "did you mean NDCG@1"),
        ([str(results), "--convention", "yahoo", "--data", "tyo"], "did you mean toy"),
        ([str(results), "--test", "x"], "no test is called 'x'"),
    ):
        assert main(["leaderboard", *arguments]) == 2
        assert words in capsys.readouterr().err
    assert main(["study", "conventions", "toy.txt", "--convention", "yaho"]) == 2
    assert "did you mean yahoo" in capsys.readouterr().err


def test_the_study_of_conventions_trains_the_algorithms_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Experiment] = []

    def stop(plan: Experiment, *_: Any, **__: Any) -> None:
        plans.append(plan)
        raise DataError("not computed in this test")

    monkeypatch.setattr(runner, "run", stop)
    assert main(["study", "conventions", "mine"]) == 2
    assert plans[0].rankers == RANKERS
