"""LightGBM's layout: `rank.train` with `rank.train.query` and `rank.train.weight`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.small import whole

import pippin
from pippin.benchmarks.store import Results
from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor
from pippin.errors import DataError


def write_grouped(data: Dataset, file: Path) -> None:
    """Write a data set in LightGBM's layout."""
    write_letor(data, file)
    lines = [line.split("#")[0].split() for line in file.read_text().splitlines()]
    file.write_text("".join(" ".join([words[0], *words[2:]]) + "\n" for words in lines))
    Path(f"{file}.query").write_text("".join(f"{size}\n" for size in np.diff(data.offsets)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_grouped(whole(30), tmp_path / "rank.train")
    write_grouped(whole(12, seed=5), tmp_path / "rank.test")
    return tmp_path


def test_the_queries_beside_a_file_are_its_queries(folder: Path) -> None:
    data, expected = pippin.read(folder / "rank.train"), whole(30)
    assert isinstance(data, Dataset)
    assert data.query_ids[:2] == ("rank.train-1", "rank.train-2")
    np.testing.assert_array_equal(data.offsets, expected.offsets)
    np.testing.assert_array_equal(data.labels, expected.labels)
    np.testing.assert_allclose(data.features, expected.features, atol=1e-6)


def test_a_file_that_names_its_queries_keeps_them(tmp_path: Path) -> None:
    write_letor(whole(3), tmp_path / "a.txt")
    (tmp_path / "a.txt.query").write_text("1\n")
    assert pippin.read(tmp_path / "a.txt").query_ids == whole(3).query_ids  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ("3\n4\n", "rank.train.query: the queries have 7 documents, and "),
        ("3\nx\n", "rank.train.query:2: the size of a query must be a number, got 'x'"),
        ("3\n0\n", "rank.train.query:2: the size of a query must be a positive integer, got 0"),
    ],
)
def test_sizes_that_do_not_fit_are_reported(folder: Path, sizes: str, said: str) -> None:
    (folder / "rank.train.query").write_text(sizes)
    with pytest.raises(DataError) as error:
        pippin.read(folder / "rank.train")
    assert said in str(error.value)


def test_errors_name_the_line_of_the_file(folder: Path) -> None:
    lines = (folder / "rank.train").read_text().splitlines()
    lines[4] = lines[4].replace(":", ":x", 1)
    (folder / "rank.train").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"rank\.train:5: "):
        pippin.read(folder / "rank.train")


def test_weights_beside_a_file_count_in_training(folder: Path) -> None:
    data = whole(30)
    weights = np.arange(1.0, data.queries + 1)
    rows = np.repeat(weights, np.diff(data.offsets))
    (folder / "rank.train.weight").write_text("".join(f"{weight}\n" for weight in rows))
    plain = pippin.read(folder / "rank.train")
    weighted = pippin.rankers.RankSVM().fit(plain, sample_weight=weights)
    np.testing.assert_array_equal(pippin.train(folder / "rank.train", "ranksvm").coef_, weighted.coef_)  # type: ignore[attr-defined]
    assert not np.array_equal(pippin.rankers.RankSVM().fit(plain).coef_, weighted.coef_)
    with pytest.raises(DataError, match="select ignores query weights"):
        pippin.train(folder / "rank.train", "ranksvm", valid=folder / "rank.test", select="MAP")
    assert main(["train", str(folder / "rank.train"), "-r", "ranksvm", "-o", str(folder / "model.json")]) == 0
    np.testing.assert_array_equal(pippin.load(folder / "model.json").coef_, weighted.coef_)  # type: ignore[attr-defined]


def test_a_folder_of_such_files_is_a_fold(folder: Path) -> None:
    folds = pippin.read(folder)
    assert repr(folds).endswith("1 × train, test)")


def test_a_bench_offers_to_cut_a_validation_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", str(folder), "-r", "regression", "--quick", "--allow-one-fold", "--tool", "official", "-q"]
    assert main([*command, "-o", str(folder / "none")]) == 2
    assert "takes a quarter of the training queries" in capsys.readouterr().err
    assert main([*command, "--vali", "0.25", "-o", str(folder / "cut")]) == 0
    assert main([*command, "--vali", "0.5", "-o", str(folder / "half")]) == 0
    cut, half = (Results.open(folder / name) for name in ("cut", "half"))
    assert cut.datasets()["vali_queries"].to_pylist() == [8]
    assert cut.datasets()["train_queries"].to_pylist() == [22]
    assert cut.plan()["plans"][0]["vali"] == 0.25
    assert cut.cells[0].address != half.cells[0].address
    (folder / "rank.train.weight").write_text("1\n" * len(whole(30)))
    assert main([*command, "--vali", "0.25", "-o", str(folder / "weights")]) == 2
    assert "benchmarks do not support query weights" in capsys.readouterr().err


def test_audit_counts_all_documents_of_files_that_share_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = whole(10), whole(10, seed=9)
    assert first.query_ids == second.query_ids
    for name, data in {"a.txt": first, "b.txt": second, "again.txt": first}.items():
        write_letor(data, tmp_path / name)
    assert main(["audit", *(str(tmp_path / name) for name in ("a.txt", "b.txt", "again.txt"))]) == 0
    total = len(first) + len(second)
    assert f"20 queries, {total} documents" in capsys.readouterr().out
