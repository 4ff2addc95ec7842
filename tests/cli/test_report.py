"""`pippin report` and `pippin leaderboard` on results that have nothing to show, or little."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.small import bench, whole, write_folds

from pippin.cli.main import main


def test_results_whose_cells_all_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folds(tmp_path / "null", whole(null=True), folds=3)
    outcome = bench(folder, tmp_path / "r", rankers=("regression",), tools=("official",))
    assert (outcome.status, outcome.computed) == (1, 0)
    for options in ([], ["--tables"], ["--figures", "svg"], ["--page"]):
        assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "report"), *options]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"pippin: {tmp_path / 'r'}: all 3 cells of these results failed")
        assert "regression on null Fold1: regression cannot take NULL" in said
        assert said.count("\n") == 1
    assert not (tmp_path / "report").exists()
    assert main(["leaderboard", str(tmp_path / "r")]) == 0
    assert "null, regression: no mean" in capsys.readouterr().out


def test_a_data_set_that_failed_beside_one_that_did_not(tmp_path: Path) -> None:
    failing = write_folds(tmp_path / "null", whole(null=True), folds=3)
    fine = write_folds(tmp_path / "fine", folds=3)
    bench(failing, tmp_path / "r", rankers=("regression",), tools=("official",))
    bench(fine, tmp_path / "r", rankers=("regression",), tools=("official",))
    assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "report"), "--page", "--tables"]) == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert "cannot take NULL" in page
