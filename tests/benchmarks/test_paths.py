"""Learning curves over features and queries."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.benchmarks.small import here, write_folds
from tests.rankers.test_estimators import plant_sum

from pippin.benchmarks.store import Results
from pippin.benchmarks.studies.baselines import compare_with_baseline
from pippin.benchmarks.studies.curves import (
    Crossover,
    FeatureCurve,
    LearningCurves,
    crossing,
    feature_curve,
    find_crossover,
    learning_curves,
)
from pippin.cli.main import main
from pippin.cli.study import with_sizes
from pippin.errors import ConventionError, DataError
from pippin.reports import studies as report

HOW: dict[str, Any] = {"executor": here, "verbose": False, "quick": True, "folds": 3}


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels follow the first two of six features."""
    return write_folds(tmp_path_factory.mktemp("data") / "planted", plant_sum(queries=24, size=8), 3)


@pytest.fixture(scope="module")
def path(folds: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[FeatureCurve, Path]:
    output = tmp_path_factory.mktemp("select") / "results"
    (result,) = feature_curve([str(folds)], output, step="elimination", ranker="regression", sizes=(1, 2, 99), **HOW)
    return result, output


def test_two_features_are_enough_where_two_were_planted(path: tuple[FeatureCurve, Path]) -> None:
    result, output = path
    assert [k for k, _ in result.points] == [1, 2]  # 99 is more than there are
    assert dict(result.points)[1].verdict == "worse"
    assert result.smallest == 2
    assert result.selected[2] == {"1": 3, "2": 3}
    results = Results.open(output)
    board = results.leaderboard("NDCG@10", data="planted")
    assert result.all_features.mean == board.by_ranker["regression"].mean
    first = compare_with_baseline(results, "planted", "regression", ["elimination(n_features=1) > regression"])[1]
    values = {r: board.by_query(r) for r in ("regression", "elimination(n_features=1) > regression")}
    gaps = np.array([values["elimination(n_features=1) > regression"][q] - v for q, v in values["regression"].items()])
    assert first.difference == pytest.approx(gaps.mean())
    assert first.difference < 0 < first.p < 0.05


def test_a_path_shows_itself(path: tuple[FeatureCurve, Path]) -> None:
    result, _ = path
    text = report.selection_table(result).render()
    assert "2 of 6 features are the smallest set that is not significantly worse" in text
    assert "1 (3/3), 2 (3/3)" in text
    record = report.selection_record(result)
    assert (record["smallest"], record["all"]["difference"]) == (2, None)
    page = report.selection_page([result])
    assert "How many features are enough?" in page
    assert '"x":6' in page
    never = replace(result, points=tuple((k, p) for k, p in result.points if k == 1))
    assert "every set tried is significantly worse" in report.selection_sentence(never)


def test_a_path_of_directions(folds: Path, tmp_path: Path) -> None:
    (result,) = feature_curve(
        [str(folds)], tmp_path / "r", step="pca(within=all)", ranker="regression", sizes=(2,), **HOW
    )
    assert [point.ranker for _, point in result.points] == ["pca(n_components=2,within=all) > regression"]


@pytest.mark.parametrize("step", ["bag", "knn", "products"])
def test_a_step_without_a_number_of_features_has_no_path(folds: Path, tmp_path: Path, step: str) -> None:
    with pytest.raises(ConventionError, match="does not reduce features"):
        feature_curve([str(folds)], tmp_path / "r", step=step, **HOW)
    with pytest.raises(DataError, match="positive integers"):
        with_sizes({"sizes": "1,x"})


def test_curves_and_when_trees_overtake(folds: Path, tmp_path: Path) -> None:
    (result,) = learning_curves(
        [str(folds)], tmp_path / "r", rankers=("regression", "mart"), sizes=(2, 99), seeds=2, **HOW
    )
    assert set(result.curves) == {"regression", "mart"}
    assert [n for n, *_ in result.curves["mart"]] == [2, result.n_queries]
    assert [(crossover.ranker, crossover.second) for crossover in result.crossovers] == [("mart", "regression")]
    assert "mart" in report.learning_table(result).render()
    assert "How many queries are enough?" in report.learning_page([result])
    assert report.learning_record(result)["queries"] == result.n_queries


def test_a_crossing_by_hand() -> None:
    """From −1 to +3 between 10 and 160 queries: a quarter of the way in the logarithm, at 20."""
    assert crossing([10, 160], [-1, 3]) == 20
    assert crossing([10, 20, 40], [1, -1, 1]) == pytest.approx(math.sqrt(800))
    sure = find_crossover("a", "b", [10, 160], np.tile([-1.0, 3.0], (12, 1)))
    assert (sure.queries, sure.low, sure.high) == (20, 20, 20)
    never = find_crossover("a", "b", [10, 160], np.tile([3.0, -1.0], (12, 1)))
    assert math.isinf(never.queries)
    sentences = report.learning_sentences(LearningCurves("d", "NDCG@10", 160, {"a": ((10, 0.1, 0.0, 0.2),)}, (never,)))
    assert sentences == ["On d a does not overtake b within 160 queries (95% interval: never)."]
    early = Crossover("a", "b", 10, 10, math.inf)
    curve = {"a": ((10, 0.1, 0.0, 0.2),)}
    assert "from 10 queries (95% interval: 10 or fewer … never)" in report.learning_sentences(
        LearningCurves("d", "NDCG@10", 160, curve, (early,))
    )[0]  # fmt: skip


@pytest.mark.parametrize("command", [["feature-curve"], ["learning-curve", "--seeds", "1"], ["conventions"]])
def test_missing_cells_are_reported_with_the_reason(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Features that are NULL, which a weighted sum cannot take."""
    assert main(["synthetic", "--size", "30", "-o", str(tmp_path / "data")]) == 0
    sizes = [] if command == ["conventions"] else ["--sizes", "2"]
    arguments = ["--ranker", "regression", "--quick", "--quiet", "--jobs", "1", "--report", str(tmp_path / "page.html")]
    assert (
        main(["study", *command, str(tmp_path / "data" / "test.txt"), "-o", str(tmp_path / "r"), *sizes, *arguments])
        == 2
    )
    assert "does not support NULL (NaN) features" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_a_report_that_ends_in_html_is_a_page(folds: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["--ranker", "regression", "--sizes", "1", "--quick", "--quiet", "--jobs", "1", "--report", str(page)]
    assert main(["study", "feature-curve", str(folds), "-o", str(tmp_path / "r"), *arguments]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


KEYS = {
    "feature-curve": {"data", "step", "ranker", "measure", "features", "folds", "all", "points", "smallest"},
    "learning-curve": {"data", "measure", "queries", "curves", "crossovers"},
}


@pytest.mark.parametrize("study", KEYS)
def test_a_curve_can_be_printed_in_every_format(
    study: str, folds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--ranker", "regression", "--sizes", "1,2", "--quick", "--quiet", "--jobs", "1"]

    def output(form: str) -> str:
        assert main(["study", study, str(folds), "-o", str(tmp_path / "r"), *options, "--format", form]) == 0
        return capsys.readouterr().out

    (record,) = json.loads(output("json"))
    assert set(record) >= KEYS[study]
    assert "," in output("csv").splitlines()[0]
    assert "| --" in output("markdown")
    assert output("latex").count(r"\begin{tabular}") == 1


def test_an_option_of_another_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "conventions", str(tmp_path), "--step", "gas"]) == 2
    assert "--step does not apply" in capsys.readouterr().err
    assert main(["study", "learning-curve"]) == 2
    assert "needs DATA" in capsys.readouterr().err
