"""What is shown while a bench goes on: the leader, and the leaderboards again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.bench.small import bench, here, whole, write_folds

from pippin.bench.plan import Experiment
from pippin.bench.runner import Job, Leader, RunJobs
from pippin.bench.store import Results
from pippin.bench.watching import watch
from pippin.cli.main import main


def test_a_leader_is_named_over_folds_that_all_have(tmp_path: Path) -> None:
    said: list[tuple[Job, str]] = []

    def listening(results: Results, experiment: Experiment) -> RunJobs:
        def running(todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
            leader = Leader(results, experiment, todo)
            for job, reason in here(results, experiment)(todo):
                said.append((job, leader.after(job.task, reason is None)))
                yield job, reason

        return running

    outcome = bench(write_folds(tmp_path / "mine", whole(), 3), tmp_path / "results", executor=listening)
    done: dict[str, list[str]] = {}
    for job, words in said:
        done.setdefault(job.task.fold, []).append(job.task.ranker)
        folds = sum(len(rankers) == 2 for rankers in done.values())
        assert words.endswith(f"({folds} of 3 folds)") if folds else not words
    board = outcome.results.leaderboard("MAP")
    assert said[-1][1] == f"{board.best} leads on mine: MAP {board.standings[0].mean:.4f} (3 of 3 folds)"


def test_results_are_watched_until_all_are_there(tmp_path: Path) -> None:
    folder, going = tmp_path / "results", threading.Event()

    def slowly(results: Results, experiment: Experiment) -> RunJobs:
        def running(todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
            for job, reason in here(results, experiment)(todo):
                yield job, reason
                assert going.wait(60)

        return running

    data = write_folds(tmp_path / "mine", whole(), 3)
    worker = threading.Thread(target=lambda: bench(data, folder, executor=slowly))
    worker.start()
    while not any(folder.glob("cells/*")):
        assert worker.is_alive()
    seen = []
    for results in watch(folder, 0.01):
        seen.append(len(results.cells))
        going.set()
    worker.join()
    assert seen[0] == 1
    assert seen[-1] == 6
    assert seen == sorted(set(seen))


def test_the_command_shows_the_last_state_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench(write_folds(tmp_path / "mine", whole(), 3), tmp_path / "results")
    assert main(["leaderboard", str(tmp_path / "results"), "--watch"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("6 of 6 cells are there")
    assert main(["leaderboard", str(tmp_path / "results"), "--watch", "--format", "json"]) == 2
    assert "--watch shows tables on the terminal" in capsys.readouterr().err
