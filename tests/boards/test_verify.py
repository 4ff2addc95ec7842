"""`board verify` computes the leaderboard from signed receipts and detects forgeries."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.boards.conftest import BoardSite, make_site

import pippin.boards
from pippin.boards import audit_log, leaderboard
from pippin.boards.audit_log import FIRST_PREVIOUS, make_entry

Export = dict[str, Any]


def export_of(board_site: BoardSite) -> Export:
    record: Export = json.loads(json.dumps(pippin.boards.export(board_site.site.folder, "cup")))
    return record


def error_of(export: Export, folder: Path) -> str:
    file = folder / "export.json"
    file.write_text(json.dumps(export))
    return audit_log.verify([file])[0].error


def hash_again(export: Export) -> None:
    """Compute the hash chain of a changed log again, as a forger would."""
    previous, log = FIRST_PREVIOUS, []
    for number, entry in enumerate(export["log"], 1):
        log.append(make_entry(entry["board"], number, entry["at"], entry["kind"], entry["body"], previous))
        previous = log[-1]["hash"]
    export["log"] = log


@pytest.fixture(scope="module")
def board_site(tmp_path_factory: pytest.TempPathFactory) -> BoardSite:
    """A board with two accounts, several submissions and a rejected one."""
    site = make_site(tmp_path_factory.mktemp("verify") / "boards")
    site.submit("Ann", site.scores(2.0), "first")
    site.submit("Bob", site.scores(1.5, 2), "second")
    site.score()
    site.submit("Ann", site.scores(0.3, 3), "third")
    site.submit("Bob", "1\n")
    site.score()
    return site


def rename_leader(export: Export) -> None:
    export["leaderboard"][0]["name"] = "forged"


def raise_value(export: Export) -> None:
    export["leaderboard"][0]["value"] = 0.99


def change_card(export: Export) -> None:
    export["leaderboard"][1]["card"]["authors"] = "Eve"


def delete_leader(export: Export) -> None:
    del export["leaderboard"][0]


def swap_rows(export: Export) -> None:
    export["leaderboard"].reverse()


def cut_log(export: Export) -> None:
    del export["log"][-2:]


def cut_log_and_leader(export: Export) -> None:
    index = max(n for n, entry in enumerate(export["log"]) if entry["kind"] == "scored")
    del export["log"][index:]
    hash_again(export)


def remove_receipts(export: Export) -> None:
    for entry in export["log"]:
        entry["body"].pop("receipt", None)
    export["leaderboard"] = []
    hash_again(export)


def drop_outcome(export: Export) -> None:
    export["log"] = [entry for entry in export["log"] if entry["kind"] != "rejected"]
    hash_again(export)


def remove_head(export: Export) -> None:
    del export["head"]


def forge_head(export: Export) -> None:
    cut_log(export)
    last = export["log"][-1]
    statement = {**export["head"]["statement"], "number": last["number"], "hash": last["hash"]}
    export["head"] = audit_log.sign(statement, audit_log.new_key())


def change_head(export: Export) -> None:
    cut_log(export)
    last = export["log"][-1]
    export["head"]["statement"] |= {"number": last["number"], "hash": last["hash"]}


def rename_accepted(export: Export) -> None:
    next(entry for entry in export["log"] if entry["kind"] == "accepted")["body"]["account"] = "Eve"
    hash_again(export)


FORGERIES = [
    rename_leader, raise_value, change_card, delete_leader, swap_rows, cut_log, cut_log_and_leader, remove_receipts,
    drop_outcome, remove_head, forge_head, change_head, rename_accepted,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forgeries_are_detected(board_site: BoardSite, forge: Callable[[Export], None], tmp_path: Path) -> None:
    export = export_of(board_site)
    assert error_of(export, tmp_path) == ""
    assert len(export["leaderboard"]) == 2
    forged = copy.deepcopy(export)
    forge(forged)
    assert error_of(forged, tmp_path)


def test_waiting_submissions_are_part_of_the_signed_head(tmp_path: Path) -> None:
    site = make_site(tmp_path / "boards")
    waiting = site.submit("Ann", site.scores(1.0))
    export = export_of(site)
    assert export["head"]["statement"]["waiting"] == [waiting]
    assert error_of(export, tmp_path) == ""
    site.score()
    later = export_of(site)
    assert later["head"]["statement"]["waiting"] == []
    assert error_of({**later, "log": later["log"][:-1]}, tmp_path)


@pytest.mark.parametrize("ladder", [True, False])
def test_leaderboards_of_revealed_boards_are_verified(tmp_path: Path, ladder: bool) -> None:
    site = make_site(tmp_path / "boards", ladder=ladder)
    for number in range(6):
        site.submit(("Ann", "Bob", "Cid")[number % 3], site.scores(2.0 / (1 + number), number), f"s{number}")
        site.score()
    assert error_of(export_of(site), tmp_path) == ""
    leaderboard.close(site.site, "cup")
    leaderboard.reveal(site.site, "cup")
    export = export_of(site)
    assert error_of(export, tmp_path) == ""
    assert all(row["final"] is not None for row in export["leaderboard"])
    export["leaderboard"][0]["final"] = 1.0
    assert "final" in error_of(export, tmp_path)


def test_a_log_file_ends_with_its_signed_head(board_site: BoardSite, tmp_path: Path) -> None:
    export = export_of(board_site)
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in (*export["log"], export["head"])))
    assert audit_log.verify([file])[0].error == ""
    file.write_text("".join(json.dumps(record) + "\n" for record in export["log"]))
    assert "no signed head" in audit_log.verify([file])[0].error
    file.write_text("".join(json.dumps(record) + "\n" for record in (*export["log"][:-1], export["head"])))
    assert "incomplete" in audit_log.verify([file])[0].error
