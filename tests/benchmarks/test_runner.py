"""Worker failures: killed, crashed or out of memory or disk, with identical results after a restart."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks import counting, failing_rankers
from tests.benchmarks.small import bench, here, whole, write_folds

import pippin
from pippin.benchmarks.store import DiskFull, Results
from pippin.benchmarks.tables import table_rows
from pippin.cli.main import main
from pippin.errors import DataError
from pippin.system import parse_size

ODD = failing_rankers.__name__


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folds(tmp_path_factory.mktemp("data") / "small", folds=3)


def test_crashes_and_memory_stop_their_own_cells_alone(folder: Path, tmp_path: Path) -> None:
    names = ("best-feature", "regression", "odd-crash", "odd-large")
    options = {"rankers": names, "imports": (ODD,), "tools": ("official", "yahoo")}
    outcome = bench(folder, tmp_path / "two", executor=None, jobs=2, memory=900 << 20, **options)
    assert (len(outcome.failed), outcome.computed) == (2, 3 * len(names) - 2)
    failures = outcome.results.failures()
    assert table_rows(failures, "fold", "ranker") == [("Fold1", "odd-crash"), ("Fold1", "odd-large")]
    assert failures["reason"][0].as_py().startswith("the process was ended by SIGKILL, as the system does when memory")
    assert failures["reason"][1].as_py() == "out of memory: the job alone takes more than the limit of 900 MiB"
    quiet = bench(folder, tmp_path / "here", rankers=names[:2], tools=("official", "yahoo"))
    for cell in quiet.results.cells:  # in other processes, on other threads, in another order: the same bytes
        twin = outcome.results.path / "cells" / cell.address
        assert {f.name: f.read_bytes() for f in twin.iterdir()} == {f.name: f.read_bytes() for f in cell.path.iterdir()}


def test_a_full_disk_ends_the_run_with_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="disk full; finished cells are kept"):
        bench(folder, tmp_path / "r", rankers=("odd-full",), imports=(ODD,), executor=None, jobs=1)
    results = Results.open(tmp_path / "r")
    assert not results.cells
    assert not list((results.path / ".new").iterdir())


def command(folder: Path, output: Path) -> list[str]:
    rankers = ["--ranker", "odd-slow,best-feature", "--import", ODD, "--tool", "official,letor4", "--jobs", "2"]
    return [sys.executable, "-m", "pippin", "bench", str(folder), *rankers, "-o", str(output)]


def test_killed_in_the_middle_it_goes_on_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    quiet = bench(folder, tmp_path / "quiet", rankers=("odd-slow", "best-feature"), imports=(ODD,), quick=False,
                  tools=("official", "letor4"))  # fmt: skip
    cells, moved = tmp_path / "r" / "cells", tmp_path / "held"
    moved.touch()  # two cells wait for it, so that there is a middle
    variables = {**environment, failing_rankers.HELD: str(moved)}
    process = subprocess.Popen(command(folder, tmp_path / "r"), env=variables, stderr=subprocess.DEVNULL)
    while not (cells.is_dir() and any(cells.iterdir())):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list(cells.iterdir()))
    moved.unlink()
    assert 1 <= done <= 4
    last = subprocess.run(command(folder, tmp_path / "r"), env=environment, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    assert int(re.findall(r"\((\d+) computed now\)", last.stdout)[0]) <= 6 - done
    assert Results.open(tmp_path / "r").digest() == quiet.results.digest()


def test_the_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'data = ["{folder}"]\nrankers = ["regression"]\nquick = true\ntools = ["official"]\n')
    output = ["-o", str(tmp_path / "r"), "--jobs", "1"]
    assert main(["bench", str(plan), *output, "--set", "regression.lambda_l2=1.0"]) == 0
    printed, aside = capsys.readouterr()
    assert "NDCG@10" in printed
    assert "3 of 3 cells are in" in printed
    assert (
        f"For all tables: pippin leaderboard {tmp_path / 'r'}. For a page: pippin report {tmp_path / 'r'} -o page.html"
        in " ".join(aside.split())
    )
    assert Results(str(tmp_path / "r")).cells[0].record["parameters"] == {"lambda_l2": 1.0}


@pytest.mark.parametrize(
    "override", [{"regression": {"lambda_l2": 2.0}}, {"best-feature": {}}, ["regression.lambda_l2=2.0"]]
)
def test_parameters_are_merged_with_those_of_a_plan(folder: Path, tmp_path: Path, override: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'data = ["{folder}"]\nrankers = ["regression"]\nquick = true\ntools = ["official"]\n'
                    '[parameters.regression]\nlambda_l2 = 5.0\n')  # fmt: skip
    result = pippin.bench(plan, tmp_path / "r", parameters=override, executor=here)
    lambda_l2 = 5.0 if "best-feature" in override else 2.0
    assert {cell.record["parameters"]["lambda_l2"] for cell in result.results.cells} == {lambda_l2}
    assert result.to_dict()["done"] == result.computed == 3


def test_an_interrupted_bench_says_how_to_go_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raise_interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pippin.benchmarks.bench.run", raise_interrupt)
    assert main(["bench", str(folder), "-r", "regression", "-o", "kept"]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "pippin: finished cells are in kept; run the same command again to continue",
        "pippin: interrupted",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere: no such file, folder or collection"),
        (["plan.toml", "other"], "a plan lists its own data sets"),
        (["nowhere", "--set", "ranksvm=1"], "invalid parameter 'ranksvm=1'; write RANKER.NAME=VALUE"),
        (["nowhere", "--ranker", "lamdamart"], "did you mean lambdamart"),
        (["nowhere", "--memory", "lots"], "use a number with K, M, G or T"),
        (["nowhere", "--seeds", "0"], "seeds must not be empty"),
    ],
)
def test_bad_input_is_reported(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments, "-o", str(tmp_path / "r")]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_sizes() -> None:
    assert parse_size("1.5GiB") == 1.5 * 2**30
    with pytest.raises(DataError):
        parse_size("-1G")


def test_at_least_one_job(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least 1, found -1"):
        bench(folder, tmp_path / "r", executor=None, jobs=-1)


def test_each_line_is_parsed_once_whatever_the_number_of_rankers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "counts"
    monkeypatch.setenv(counting.COUNTED, str(counts))
    data = whole()
    folder = write_folds(tmp_path / "small", data)
    options: dict[str, Any] = {"imports": (counting.__name__,), "executor": None, "jobs": 2, "tools": ("official",)}
    outcome = bench(folder, tmp_path / "r", rankers=("best-feature", "regression"), **options)
    assert outcome.computed == 10
    assert counts.read_text() == f"{len(data)}\n"  # of 15 files, in which each line stands five times
    assert bench(folder, tmp_path / "r", rankers=("ranksvm",), **options).computed == 5
    assert counts.read_text() == f"{len(data)}\n"


@pytest.mark.parametrize("where", [[], ["--dask", "local"]], ids=["processes", "Dask"])
def test_nothing_of_the_current_folder_is_run(folder: Path, tmp_path: Path, where: list[str]) -> None:
    """Modules beside the data and beside an imported ranker, called like those that Pippin needs."""
    beside = tmp_path / "beside"
    beside.mkdir()
    for name in ("numpy", "sklearn", "json", "multiprocessing", "lightgbm", "sitecustomize"):
        (beside / f"{name}.py").write_text(f"open({str(tmp_path / 'stolen')!r}, 'a').write(__name__)\n")
    (beside / "brought.py").write_text(
        "from pippin.rankers.base import register\nfrom pippin.rankers.best_feature import BestFeature\n\n"
        "@register('brought')\nclass Brought(BestFeature):\n    '''The best feature again.'''\n"
    )
    command = [sys.executable, "-m", "pippin", "bench", str(folder), "-o", str(tmp_path / "r"), "--ranker",
               "brought", "--import", "brought", "--tool", "official", "--jobs", "1", *where]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=beside, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "stolen").exists()
    assert len(Results.open(tmp_path / "r").cells) == 3
