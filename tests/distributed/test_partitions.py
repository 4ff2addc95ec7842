"""Distributed training on a scheduler with two workers, one of which is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.benchmarks import killed_worker
from tests.benchmarks.small import whole

from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor
from pippin.data.partitions import read_partition_scores, read_partitions, write_partitions
from pippin.distributed import partitions
from pippin.distributed.dask_executor import DaskExecutor
from pippin.errors import DataError
from pippin.evaluation import streaming
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.objective import Objective
from pippin.evaluation.streaming import Request, needs_all_queries
from pippin.evaluation.tools import TOOLS
from pippin.rankers import models
from pippin.rankers.lambdamart import LambdaMART
from pippin.reports.evaluation import evaluation_record

pytest.importorskip("distributed")
MEASURES = ("NDCG@5", "MAP")
EVERY: list[Request] = [(tool, {}) for tool in TOOLS.values() if not needs_all_queries(MEASURES, (tool, {}))]


@pytest.fixture(scope="module")
def executor() -> Iterator[DaskExecutor]:
    with DaskExecutor("local", 2) as executor:
        yield executor


@pytest.fixture(scope="module")
def data() -> tuple[Dataset, Dataset]:
    return whole(120), whole(60, seed=2)


def ranker(**options: Any) -> LambdaMART:
    return LambdaMART(rounds=30, min_data_in_leaf=5, measure="NDCG@5", convention="yahoo", **options)


def test_one_share_has_the_same_trees(executor: DaskExecutor, data: tuple[Dataset, Dataset], tmp_path: Path) -> None:
    train, valid = data
    write_partitions(train, tmp_path / "parts")
    grown = partitions.train_on_partitions(ranker(), tmp_path / "parts", executor, valid)
    alone = ranker().fit(train, eval_set=valid)
    assert grown.boosters_ == alone.boosters_
    assert grown.curve_ == alone.curve_


def test_two_workers_share_the_queries(executor: DaskExecutor, data: tuple[Dataset, Dataset], tmp_path: Path) -> None:
    train, valid = data
    parts = write_partitions(train, tmp_path / "parts", rows=150)
    assert len(parts.parts) > 4
    grown = partitions.train_on_partitions(ranker(n_bags=2, bagging_fraction=0.8), tmp_path / "parts", executor, valid)
    models.save(grown, tmp_path / "model.json", parts.digest())
    again = partitions.train_on_partitions(ranker(n_bags=2, bagging_fraction=0.8), tmp_path / "parts", executor, valid)
    assert grown.boosters_ == again.boosters_
    loaded = models.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(valid), grown.predict(valid))
    judge = Objective(valid, "NDCG@5", "yahoo")
    alone = ranker(n_bags=2, bagging_fraction=0.8).fit(train, eval_set=valid)
    assert judge.mean(grown.predict(valid)) == pytest.approx(judge.mean(alone.predict(valid)), abs=0.03)
    assert judge.mean(grown.predict(valid)) > judge.mean(-valid.features[:, 0].astype(np.float64)) + 0.05


def test_a_worker_killed_while_trees_grow(
    executor: DaskExecutor, data: tuple[Dataset, Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, _ = data
    write_partitions(train, tmp_path / "parts", rows=150)
    quiet = partitions.train_on_partitions(ranker().set_params(rounds=400), tmp_path / "parts", executor)
    victim = min(executor.client.run(os.getpid).values())
    watch, watched = partitions._watch, 0

    def kill_and_watch(*given: Any) -> None:
        nonlocal watched
        watched += 1
        if watched == 1:
            while not all(executor.client.processing().values()):  # every worker has its share
                time.sleep(0.01)
            time.sleep(0.1)
            os.kill(victim, signal.SIGKILL)
        watch(*given)

    monkeypatch.setattr(partitions, "_watch", kill_and_watch)
    disturbed = partitions.train_on_partitions(ranker().set_params(rounds=400), tmp_path / "parts", executor)
    assert watched == 2
    assert victim not in executor.client.run(os.getpid).values()
    assert disturbed.boosters_ == quiet.boosters_


@pytest.mark.parametrize(("moment", "error"), [("_networks", OSError), ("_send", KeyError), ("_watch", CancelledError)])
def test_training_restarts_after_losing_a_worker(
    moment: str,
    error: type[Exception],
    executor: DaskExecutor,
    data: tuple[Dataset, Dataset],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While it is asked for a port, is sent the validation set, or has its share."""
    train, valid = data
    write_partitions(train, tmp_path / "parts", rows=150)
    quiet = partitions.train_on_partitions(ranker(), tmp_path / "parts", executor, valid)
    wrapped, raised, begun_anew = getattr(partitions, moment), [error], []

    def lost_at_first(*given: Any) -> Any:
        answer = None if raised and moment != "_watch" else wrapped(*given)  # no trees may be under way when it is lost
        if raised:
            raise raised.pop()("gone")
        return answer

    monkeypatch.setattr(partitions, moment, lost_at_first)
    monkeypatch.setattr(partitions, "_restart_workers", lambda _, workers: begun_anew.append(len(workers)))
    disturbed = partitions.train_on_partitions(ranker(), tmp_path / "parts", executor, valid)
    assert begun_anew == [executor.n_workers]
    assert disturbed.boosters_ == quiet.boosters_


def test_scores_and_values_by_partition(
    executor: DaskExecutor, data: tuple[Dataset, Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, valid = data
    models.save(ranker().fit(train), tmp_path / "model.json")
    write_partitions(valid, tmp_path / "parts", rows=60)
    scored = partitions.score_partitions(tmp_path / "model.json", tmp_path / "parts", tmp_path / "scored", executor)
    assert scored.scored
    scores = models.load(tmp_path / "model.json").predict(valid)
    assert np.array_equal(read_partition_scores(tmp_path / "scored"), scores)

    monkeypatch.setattr(streaming, "_evaluate_partition", killed_worker.evaluate_or_die)
    evaluations = streaming.evaluate_partitions(tmp_path / "scored", MEASURES, EVERY, executor, "scores")
    assert (tmp_path / "killed").exists()
    qrels = read_partitions(tmp_path / "scored")
    for (tool, _), evaluation in zip(EVERY, evaluations, strict=True):
        assert evaluation_record(evaluation) == evaluation_record(evaluate(qrels, scores, MEASURES, tool))
    here = streaming.evaluate_partitions(tmp_path / "scored", MEASURES, EVERY, None, "scores")
    assert [evaluation_record(e) for e in here] == [evaluation_record(e) for e in evaluations]


def test_bad_input(executor: DaskExecutor, data: tuple[Dataset, Dataset], tmp_path: Path) -> None:
    from pippin.rankers.mart import MART

    train, valid = data
    write_partitions(train, tmp_path / "parts")
    with pytest.raises(DataError, match="mart cannot be trained"):
        partitions.train_on_partitions(MART(), tmp_path / "parts", executor)
    with pytest.raises(DataError, match="rounds must be at least 1, got 0"):
        partitions.train_on_partitions(ranker().set_params(rounds=0), tmp_path / "parts", executor)
    fewer = replace(valid, features=valid.features[:, :2], feature_names=("1", "2"), lines=None)
    with pytest.raises(DataError, match="lacks 3 of the 5 features"):
        partitions.train_on_partitions(ranker(), tmp_path / "parts", executor, fewer)
    with pytest.raises(DataError, match="have no scores"):
        streaming.evaluate_partitions(tmp_path / "parts", MEASURES, EVERY)
    write_partitions(replace(train, labels=np.zeros_like(train.labels)), tmp_path / "constant")
    with pytest.raises(DataError, match="nothing to learn"):
        partitions.train_on_partitions(ranker(), tmp_path / "constant", executor)
    infinite = replace(train, features=np.full_like(train.features, np.inf))
    write_partitions(infinite, tmp_path / "infinite")
    with pytest.raises(DataError, match="a feature is infinite"):
        partitions.train_on_partitions(ranker(), tmp_path / "infinite", executor)


def tools_in(table: str) -> list[str]:
    """Return the tools with a row in a table."""
    return [line.split()[0] for line in table.partition("\n\n")[0].splitlines()[2:]]


def test_the_commands(
    executor: DaskExecutor, tmp_path: Path, data: tuple[Dataset, Dataset], capsys: pytest.CaptureFixture[str]
) -> None:
    from pippin.cli.main import main

    def run(*arguments: str) -> int:
        return main([a.replace("@", f"{tmp_path}/", 1) if a.startswith("@") else a for a in arguments])

    def run_command(*arguments: str) -> str:
        assert run(*arguments) == 0
        return capsys.readouterr().out

    address = executor.client.scheduler.address

    write_letor(data[0], tmp_path / "train.txt")
    write_letor(data[1], tmp_path / "test.txt")
    output = run_command("convert", "@train.txt", "@parts", "--partitions", "500")
    assert "5 features, float64)" in " ".join(output.split())  # broken where the folder's name makes the line too long
    run_command("convert", "@test.txt", "@more.parquet")
    run_command("convert", "@more.parquet", "@more", "--partitions", "100")
    run_command(
        "train", "@parts", "-r", "lambdamart", "--set", "rounds=5", "--dask", address, "-q", "-o", "@model.json"
    )
    run_command("rank", "@model.json", "@test.txt", "-o", "@scores.txt")
    run_command("rank", "@model.json", "@more", "-o", "@scored/")
    assert len(tools_in(run_command("eval", "@scored", "--tool", "all"))) == len(TOOLS) > len(EVERY)
    # What looks at the documents of all queries is not evaluated by parts: its tools are left out there.
    every = [tool.name for tool, _ in EVERY]
    options = ("--tool", ",".join(every), "--ties-range")
    plain = run_command("eval", "@test.txt", "@scores.txt", *options)
    assert run_command("eval", "@scored", *options) == plain
    for by in (("@test.txt", "@scores.txt", "--stream"), ("@scored", "--stream"), ("@scored", "--dask", address)):
        assert run_command("eval", *by, *options) == plain
        assert tools_in(run_command("eval", *by, "--tool", "all")) == every
    per_query = run_command("eval", "@test.txt", "@scores.txt", "--per-query", "--format", "csv")
    assert run_command("eval", "@test.txt", "@scores.txt", "--per-query", "--format", "csv", "--stream") == per_query
    for arguments, sentence in (
        (("eval", "@test.txt", "@scores.txt", "--dask", "local"), "evaluates folders of scored partitions"),
        (("eval", "@test.txt", "--stream"), "labels only"),
        (("eval", "@test.txt", "@scores.txt", "--stream", "--merge-queries"), "sort it by query instead"),
        (("convert", "@test.txt", "@x", "--partitions", "9", "--to", "csv"), "partitions hold complete data sets"),
        (("convert", "@scores.txt", "@x", "--partitions", "9", "--input-format", "scores"), "expected a data set"),
        (("rank", "@model.json", "@more", "--dask", address), "written to a folder: pass out (-o FOLDER/)"),
        (("train", "@parts", "-r", "mart", "--dask", address, "-o", "@m"), "mart cannot be trained"),
    ):
        assert run(*arguments) == 2
        assert sentence in capsys.readouterr().err
