"""`pippin report` and `pippin leaderboard` on empty or incomplete results."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.benchmarks.small import bench, whole, write_folds

import pippin
from pippin.cli.main import main
from pippin.errors import ConventionError, PippinWarning


def test_results_whose_cells_all_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folds(tmp_path / "null", whole(null=True), folds=3)
    outcome = bench(folder, tmp_path / "r", rankers=("regression",), tools=("official",))
    assert (len(outcome.failed), outcome.computed) == (3, 0)
    for options in ([], ["--tables"], ["--figures", "svg"], ["--page"]):
        assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "report"), *options]) == 2
        output = capsys.readouterr().err
        assert output.startswith(f"pippin: {tmp_path / 'r'}: nothing to report: all 3 cells of these results failed")
        assert "regression on null Fold1: regression does not support NULL" in output
        assert output.count("\n") == 1
    assert not (tmp_path / "report").exists()
    assert main(["leaderboard", str(tmp_path / "r")]) == 0
    assert "null, regression: no mean" in capsys.readouterr().out


def test_failed_data_set_next_to_a_finished_data_set(tmp_path: Path) -> None:
    failing = write_folds(tmp_path / "null", whole(null=True), folds=3)
    fine = write_folds(tmp_path / "fine", folds=3)
    bench(failing, tmp_path / "r", rankers=("regression",), tools=("official",))
    bench(fine, tmp_path / "r", rankers=("regression",), tools=("official",))
    assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "report"), "--page", "--tables"]) == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert "does not support NULL" in page


def test_without_vl_convert_everything_but_figures_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_folds(tmp_path / "mine", folds=3)
    results = bench(folder, tmp_path / "r", rankers=("regression",), tools=("official",)).results
    monkeypatch.setattr("pippin.reports.report.missing_modules", lambda *modules: list(modules))
    with pytest.warns(PippinWarning, match="without figures"):
        written = pippin.report(results, tmp_path / "report")
    assert {path.relative_to(tmp_path / "report").parts[0] for path in written} == {"index.html", "tables"}
    assert main(["report", str(tmp_path / "r"), "-o", str(tmp_path / "again"), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "without figures" in " ".join(err.split())
    assert f"{tmp_path / 'again' / 'tables'}: {len(written) - 1} tables" in out
    with pytest.raises(ConventionError, match="tables and figures go into a folder"):
        pippin.report(results, tmp_path / "page.html", tables=True)
