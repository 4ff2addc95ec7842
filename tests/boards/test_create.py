"""The row in the database is the commit point of `board new`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.boards.conftest import BoardSite

from pippin.boards import board as board_module
from pippin.boards import scoring
from pippin.boards.scoring import create_board
from pippin.boards.site import Site
from pippin.cli.main import main
from pippin.data import synthetic
from pippin.errors import DataError

DATA = synthetic.make_dataset(queries=20, seed=5)
# module and function before which the process is killed
STEPS: list[tuple[Any, str]] = [
    (scoring, "make_board"), (board_module, "_write_hidden_part"), (board_module, "write_letor"),
    (scoring, "HiddenLabels"), (scoring, "save_scores"), (scoring, "insert"), (scoring, "now"),
]  # fmt: skip


def create_and_die(folder: Path, module: Any, function: str) -> int:
    """Create the board `new` in a child process that is killed before a step; return its exit status."""
    process = os.fork()
    if process == 0:
        try:
            setattr(module, function, lambda *_, **__: os._exit(9))
            create_board(Site(folder), "new", DATA, seed=1)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.parametrize(("module", "function"), STEPS, ids=[function for _, function in STEPS])
def test_a_killed_board_new_leaves_no_board(
    sqlite_cup: BoardSite, module: Any, function: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site = sqlite_cup.site
    if function == "HiddenLabels":
        module, function = scoring, "_save_baseline"
    assert create_and_die(site.folder, module, function) == 9
    assert main(["board", "list", "--folder", str(site.folder)]) == 0
    assert "new" not in capsys.readouterr().out
    reopened = Site(site.folder)
    assert reopened.names() == ["cup"]
    reopened.board("cup").verify()
    create_board(site, "next", DATA, seed=1)
    assert sorted(path.name for path in (site.folder / "boards").iterdir()) == ["cup", "next"]
    assert sorted(path.name for path in (site.folder / "hidden").iterdir()) == ["cup", "key.bin", "next"]
    assert create_board(site, "new", DATA, seed=1).name == "new"


def test_a_failed_board_new_leaves_nothing(sqlite_cup: BoardSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DataError("no")

    site = sqlite_cup.site
    monkeypatch.setattr(scoring, "_save_baseline", fail)
    with pytest.raises(DataError, match="no"):
        create_board(site, "new", DATA)
    assert [path.name for path in (site.folder / "boards").iterdir()] == ["cup"]
    assert not list((site.folder / "hidden").glob("*new*"))


def test_folders_of_boards_in_another_database_are_kept(sqlite_cup: BoardSite) -> None:
    site = sqlite_cup.site
    for file in (site.folder / "database").iterdir():
        file.rename(site.folder / f"old-{file.name}")
    empty = Site(site.folder)
    assert empty.names() == []
    with pytest.raises(DataError, match="the database has no such board"):
        create_board(empty, "cup", DATA)
    assert (site.folder / "boards" / "cup" / "board.json").exists()
    assert site.hidden_folder("cup").exists()
