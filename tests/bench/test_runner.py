"""Real workers: killed, crashing, too large, on a full disk; the results are the same bytes all the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pippin.bench.runner import parse_size
from pippin.bench.store import DiskFull, Results
from pippin.cli.main import main
from pippin.errors import DataError
from tests.bench import odd_rankers
from tests.bench.small import bench, write_folds

ODD = odd_rankers.__name__


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folds(tmp_path_factory.mktemp("data") / "small")


def test_jobs_and_crashes_change_no_byte_of_the_rest(folder: Path, tmp_path: Path) -> None:
    quiet = bench(folder, tmp_path / "here", rankers=("best-feature", "regression"))
    crashed = bench(
        folder, tmp_path / "two", rankers=("best-feature", "odd-crash", "regression"), imports=(ODD,), way=None, jobs=2
    )
    assert crashed.status == 1
    assert {reason[:38] for reason in crashed.failed.values()} == {"the process was ended by SIGKILL, as t"}
    assert len(crashed.failed) == 5
    assert crashed.results.failures()["ranker"].to_list() == ["odd-crash"] * 5
    assert crashed.computed == 10
    assert crashed.results.digest() == quiet.results.digest()


def test_a_cell_beyond_the_memory_fails_alone(folder: Path, tmp_path: Path) -> None:
    outcome = bench(
        folder, tmp_path / "r", rankers=("best-feature", "odd-large"), imports=(ODD,), way=None, jobs=1,
        memory=700 << 20, tools=("official",), folds=5,
    )  # fmt: skip
    assert outcome.computed == 5
    assert set(outcome.failed.values()) == {"out of memory: it alone takes more than the 700 MB allowed"}


def test_a_full_disk_ends_the_run_with_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="the disk is full; what was finished is kept"):
        bench(folder, tmp_path / "r", rankers=("odd-full",), imports=(ODD,), way=None, jobs=1)
    results = Results.open(tmp_path / "r")
    assert not results.cells
    assert not list((results.path / ".new").iterdir())


def command(folder: Path, output: Path) -> list[str]:
    rankers = ["--rankers", "odd-slow,best-feature", "--import", ODD, "--tools", "official,letor4", "--jobs", "2"]
    return [sys.executable, "-m", "pippin", "bench", str(folder), *rankers, "-o", str(output)]


def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    quiet = bench(folder, tmp_path / "quiet", rankers=("odd-slow", "best-feature"), imports=(ODD,), quick=False,
                  tools=("official", "letor4"))  # fmt: skip
    cells = tmp_path / "r" / "cells"
    for after in (1, 5):
        process = subprocess.Popen(command(folder, tmp_path / "r"), env=environment, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (cells.is_dir() and len(list(cells.iterdir())) >= after) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = len(list(cells.iterdir()))
        assert after <= done < 10
    last = subprocess.run(command(folder, tmp_path / "r"), env=environment, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    assert int(re.findall(r"\((\d+) computed now\)", last.stdout)[0]) <= 10 - done
    assert Results.open(tmp_path / "r").digest() == quiet.results.digest()


def test_the_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'data = ["{folder}"]\nrankers = ["regression"]\nquick = true\ntools = ["official"]\n')
    output = ["-o", str(tmp_path / "r"), "--jobs", "1"]
    assert main(["bench", str(plan), *output, "--set", "regression.ridge=1.0"]) == 0
    shown = capsys.readouterr().out
    assert "NDCG@10" in shown
    assert "5 of 5 cells are in" in shown
    assert Results.open(tmp_path / "r").cells[0].record["parameters"] == {"ridge": 1.0}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere: there is no such file or folder"),
        (["plan.toml", "other"], "a plan names its data itself"),
        (["nowhere", "--set", "ranksvm=1"], "--set takes RANKER.NAME=VALUE, not 'ranksvm=1'"),
        (["nowhere", "--rankers", "lamdamart"], "did you mean lambdamart"),
        (["nowhere", "--memory", "lots"], "a size of memory is a number with K, M, G or T"),
        (["nowhere", "--seeds", "0"], "the plan names no seeds"),
    ],
)
def test_bad_input_gets_one_sentence(
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
    with pytest.raises(DataError, match="at least one job is needed, not -1"):
        bench(folder, tmp_path / "r", way=None, jobs=-1)
