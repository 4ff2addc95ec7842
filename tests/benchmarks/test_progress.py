"""Progress output of a bench: the current leader and leaderboard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from tests.benchmarks.small import CHEAP, SerialExecutor, bench, here, whole, write_folds

from pippin.benchmarks.cell import CellFiles, Job
from pippin.benchmarks.plan import Experiment, Task
from pippin.benchmarks.runner import ProgressLeader, run
from pippin.benchmarks.store import Results
from pippin.cli.main import main


def test_a_leader_is_named_over_folds_that_all_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[tuple[Task, str]] = []

    update = ProgressLeader.update

    def listen(leader: ProgressLeader, task: Task, done: bool) -> str:
        messages.append((task, update(leader, task, done)))
        return messages[-1][1]

    monkeypatch.setattr(ProgressLeader, "update", listen)
    data = write_folds(tmp_path / "mine", whole(), 3)
    outcome = run(Experiment((str(data),), rankers=CHEAP, quick=True), tmp_path / "results", executor=here)
    done: dict[str, list[str]] = {}
    for task, words in messages:
        done.setdefault(task.fold, []).append(task.ranker)
        folds = sum(len(rankers) == 2 for rankers in done.values())
        assert words.endswith(f"({folds} of 3 folds)") if folds else not words
    board = outcome.results.leaderboard("MAP")
    assert messages[-1][1] == f"{board.best} leads on mine: MAP {board.standings[0].mean:.4f} (3 of 3 folds)"


def test_results_are_watched_until_all_are_there(tmp_path: Path) -> None:
    folder, going = tmp_path / "results", threading.Event()

    class SlowExecutor(SerialExecutor):
        def as_completed(
            self, function: Callable[[Job], CellFiles], items: Iterable[Job]
        ) -> Iterator[tuple[Job, CellFiles | Exception]]:
            for outcome in super().as_completed(function, items):
                yield outcome
                assert going.wait(60)

    data = write_folds(tmp_path / "mine", whole(), 3)
    worker = threading.Thread(target=lambda: bench(data, folder, executor=SlowExecutor()))
    worker.start()
    while not any(folder.glob("cells/*")):
        assert worker.is_alive()
    calls = []
    for results in Results.watch(folder, 0.01):
        calls.append(len(results.cells))
        going.set()
    worker.join()
    assert calls[0] == 1
    assert calls[-1] == 6
    assert calls == sorted(set(calls))


def test_the_command_shows_the_last_state_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench(write_folds(tmp_path / "mine", whole(), 3), tmp_path / "results")
    assert main(["leaderboard", str(tmp_path / "results"), "--watch"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("6 of 6 cells are complete")
    assert main(["leaderboard", str(tmp_path / "results"), "--watch", "--format", "json"]) == 2
    assert "--watch prints tables on the terminal" in capsys.readouterr().err
