"""Create, score, close, reveal and verify boards."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.boards.conftest import BoardSite, make_site

import pippin
from pippin.boards import audit_log, leaderboard, queue
from pippin.boards.board import Board, HiddenLabels, Limits, split_queries
from pippin.boards.database import SETTINGS
from pippin.boards.leaderboard import export_json, export_results
from pippin.boards.scoring import create_board, load_scores
from pippin.boards.site import Site
from pippin.cli.main import main
from pippin.data import synthetic
from pippin.data.letor import read_letor
from pippin.data.qrels import Qrels
from pippin.errors import ConventionError, DataError


def test_the_public_part_has_no_labels_and_a_shuffled_order(cup: BoardSite) -> None:
    board, labels = cup.board, cup.labels
    public = read_letor(board.folder / "test.txt")
    assert not public.labels.any()
    assert labels.data.labels.any()
    original = synthetic.make_dataset(queries=80, seed=5)
    positions = [original.query_ids.index(query) for query in board.test.query_ids]
    rows = [row for q in positions for row in range(int(original.offsets[q]), int(original.offsets[q + 1]))]
    assert list(labels.data.labels) != list(original.labels[rows])
    assert sorted(labels.data.labels) == sorted(original.labels[rows])
    for q, query in enumerate(board.test.query_ids):  # each document keeps its label
        at = original.query_ids.index(query)
        shuffled, unshuffled = (
            slice(int(d.offsets[n]), int(d.offsets[n + 1])) for d, n in ((board.test, q), (original, at))
        )
        assert board.test.document_ids is not None
        assert original.document_ids is not None
        mine = {board.test.document_ids.at(r): labels.data.labels[r] for r in range(shuffled.start, shuffled.stop)}
        assert mine == {
            original.document_ids.at(r): original.labels[r] for r in range(unshuffled.start, unshuffled.stop)
        }


def test_the_split_is_stratified_by_relevant_documents() -> None:
    relevant = np.repeat(np.array([0, 1, 2, 8]), 25)
    selected = split_queries(relevant, 0.4, seed=3)
    assert len(selected) == 40
    assert {int(n): int((relevant[selected] == n).sum()) for n in np.unique(relevant)} == {0: 10, 1: 10, 2: 10, 8: 10}
    assert (
        selected.tolist()
        == split_queries(relevant, 0.4, seed=3).tolist()
        != split_queries(relevant, 0.4, seed=4).tolist()
    )


def test_submit_score_close_reveal_and_verify(cup: BoardSite, tmp_path: Path) -> None:
    good, weak = cup.submit("Ann", cup.scores(0.5), "good"), cup.submit("Ann", cup.scores(4, 1))
    second = cup.submit("Bob", cup.scores(1.5, 2), "bob's <b>")
    invalid = cup.submit("Bob", "1\n2\n")
    cup.score()
    rows = leaderboard.leaderboard_rows(cup.site, "cup")
    assert [(row.rank, row.account, row.submission) for row in rows] == [(1, "Ann", good), (2, "Bob", second)]
    step = queue.board_state(cup.site, "cup")["step"]
    assert all(math.isclose(row.value / step, round(row.value / step)) for row in rows)
    exact = load_scores(cup.site, "cup", good)
    assert abs(rows[0].value - exact.means["public"]) <= step / 2 + 1e-9
    assert cup.submissions("Ann")[weak]["is_shown"] is False
    assert cup.submissions("Ann")[weak]["value"] is None
    assert cup.submissions("Bob")[invalid]["error"].startswith("s.txt:2: the file ends after 2 scores")
    assert rows[1].other_tool_ranks["letor4"] in (1, 2)
    with pytest.raises(ConventionError, match="is open"):
        leaderboard.reveal(cup.site, "cup")
    leaderboard.close(cup.site, "cup")
    with pytest.raises(queue.ClosedBoard, match="is closed"):
        cup.submit("Ann", cup.scores(0.1))
    assert rows[0].final is None
    leaderboard.reveal(cup.site, "cup")
    rows = leaderboard.leaderboard_rows(cup.site, "cup")
    assert rows[0].final == exact.means["final"]
    assert rows[1].final_p is not None
    assert cup.submissions("Ann")[weak]["final"] == load_scores(cup.site, "cup", weak).means["final"]
    exported = tmp_path / "export.json"
    exported.write_text(json.dumps(export_json(cup.site, "cup")))
    receipt = tmp_path / "receipt.json"
    receipt.write_text(cup.submissions("Ann")[good]["receipt"])
    assert [check.error for check in audit_log.verify([exported, receipt], cup.site.key)] == ["", ""]
    assert [entry["kind"] for entry in cup.site.store.log("cup")].count("scored") == 3


def test_values_equal_those_of_evaluate(cup: BoardSite) -> None:
    scores = cup.scores(1.0)
    submission = cup.submit("Ann", scores)
    cup.score()
    labels = cup.labels
    for split in ("public", "final"):
        part = labels.parts[split]
        rows = np.concatenate([np.arange(labels.data.offsets[q], labels.data.offsets[q + 1])
                               for q in labels.queries[split]])  # fmt: skip
        evaluation = pippin.evaluate(part, scores[rows], "NDCG@10", "official")
        assert load_scores(cup.site, "cup", submission).means[split] == evaluation.mean["NDCG@10"]


def test_a_run_and_a_model_get_the_same_value_as_their_scores(cup: BoardSite, tmp_path: Path) -> None:
    test = cup.board.test
    train = read_letor(cup.board.folder / "train.txt", missing_value="null")
    model = pippin.train(train, "best-feature")
    scores = pippin.rank(model, test)
    pippin.save(model, tmp_path / "model.json")
    assert test.document_ids is not None
    lines = [f"{test.query_ids[q]} Q0 {test.document_ids.at(row)} 1 {float(scores[row])!r} x"
             for row, q in enumerate(test.qid().tolist())]  # fmt: skip
    np.random.default_rng(1).shuffle(lines)
    ids = [cup.submit("Ann", scores), cup.submit("Bob", "\n".join(lines) + "\n"),
           cup.submit("Cid", (tmp_path / "model.json").read_text())]  # fmt: skip
    cup.score()
    kinds = [
        cup.submissions(account)[submission]["kind"]
        for account, submission in zip(("Ann", "Bob", "Cid"), ids, strict=True)
    ]
    assert kinds == ["scores", "run", "model"]
    assert len({load_scores(cup.site, "cup", submission).means["public"] for submission in ids}) == 1


def test_a_board_of_qrels_accepts_runs(tmp_path: Path) -> None:
    site = Site.create(tmp_path / "boards")
    labels = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(8)} for q in range(20)}
    create_board(site, "cup", Qrels.from_dict(labels), measure="AP", tool="trec_eval9", seed=1)
    board_site = BoardSite(site)
    assert (board_site.board.folder / "queries.txt").read_text().split() == list(labels)
    run = "".join(f"q{q} Q0 d{d} 1 {labels[f'q{q}'][f'd{d}'] + d / 9} t\n" for q in range(20) for d in range(8))
    good, short = board_site.submit("Ann", run), board_site.submit("Ann", "q0 Q0 d1 1 0.5 t\n")
    unknown, scores = board_site.submit("Ann", run + "q99 Q0 d1 1 0.5 t\n"), board_site.submit("Ann", "0.5\n0.1\n")
    board_site.score()
    rows = board_site.submissions("Ann")
    assert rows[good]["is_shown"]
    assert "19 of 20 queries are missing" in rows[short]["error"]
    assert "unknown query q99" in rows[unknown]["error"]
    assert "accepts TREC runs only" in rows[scores]["error"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("nan\n", "s.txt:1: .*nan"),
        ("x y z\n", "3 columns"),
        ("0 qid:1 1:0.5\n", "the file has LETOR data"),
        ("q9 Q0 d1 1 0.5 t\n", "unknown query q9"),
        ('{"format": "pippin-model", "version": 2}', "s.txt: "),
        ("\x00\x01", "s.txt: this is not a text file"),
        ("pippin-model", "s.txt:"),
    ],
)
def test_invalid_files_are_rejected_with_a_message(cup: BoardSite, content: str, sentence: str) -> None:
    import re

    submission = cup.submit("Ann", content)
    cup.score()
    row = cup.submissions("Ann")[submission]
    assert row["state"] == "rejected"
    assert re.search(sentence, row["error"])
    assert "\n" not in row["error"]
    assert row["receipt"] is None


def test_limits_of_an_account(tmp_path: Path) -> None:
    board_site = make_site(tmp_path / "boards", limits=Limits(per_day=2, bytes=4000))
    board_site.submit("Ann", "1\n")
    board_site.submit("Ann", "1\n")
    with pytest.raises(queue.TooMany, match="2 in 24 hours"):
        board_site.submit("Ann", "1\n")
    board_site.submit("Bob", "1\n")
    with pytest.raises(queue.TooLarge, match=r"at most 3\.9 KiB"):
        board_site.submit("Bob", "1\n" * 4000)
    assert len(list((board_site.site.folder / "uploads").iterdir())) == 3


def test_concurrent_submissions_are_counted(cup: BoardSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission is rejected by the second check if the first check was passed concurrently."""
    for _ in range(cup.board.limits.per_day):
        cup.submit("Ann", "1\n")
    monkeypatch.setattr(queue, "check_open", lambda *_: None)
    with pytest.raises(queue.TooMany):
        cup.submit("Ann", "1\n")
    assert len(cup.submissions("Ann")) == cup.board.limits.per_day == len(list((cup.site.folder / "uploads").iterdir()))


def test_changed_labels_and_data_are_detected(cup: BoardSite) -> None:
    labels = np.load(cup.site.hidden_folder("cup") / "labels.npy")
    labels[0] += 1
    np.save(cup.site.hidden_folder("cup") / "labels.npy", labels)
    with pytest.raises(DataError, match="labels of the board have changed"):
        HiddenLabels.open(cup.board, cup.site.hidden_folder("cup"))
    file = cup.board.folder / "test.txt"
    file.write_bytes(file.read_bytes().replace(b"1:0.", b"1:1.", 1))
    with pytest.raises(DataError, match="data of the board have changed"):
        _ = Board.open(cup.board.folder).test


def test_changes_of_a_log_are_detected(cup: BoardSite, tmp_path: Path) -> None:
    submission = cup.submit("Ann", cup.scores(0.5))
    cup.score()
    entries = cup.site.store.log("cup")
    head = leaderboard.board_record(cup.site, "cup")["head"]
    file = tmp_path / "log.jsonl"

    def error_of(changed: list[dict[str, object]]) -> str:
        file.write_text("".join(json.dumps(record) + "\n" for record in (*changed, head)))
        return audit_log.verify([file])[0].error

    assert error_of(entries) == ""
    assert "the hash of entry" in error_of([*entries[:1], audit_log.make_entry("cup", 2, 0, "closed", {}, "0" * 64)])
    assert "wrong number" in error_of([entries[0], *entries[2:]])
    forged = json.loads(json.dumps(entries))
    forged[2]["body"]["receipt"]["statement"]["value"] = 0.99
    assert "has been changed" in error_of(forged)
    body = forged[2]["body"]
    forged[2] = audit_log.make_entry("cup", 3, forged[2]["at"], "scored", body, forged[2]["previous"])
    assert "invalid signature" in error_of(forged)
    other_key = audit_log.new_key()
    body["receipt"] = audit_log.sign(body["receipt"]["statement"], other_key)
    forged[2] = audit_log.make_entry("cup", 3, forged[2]["at"], "scored", body, forged[2]["previous"])
    assert "another key" in error_of(forged)
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps(body["receipt"]))
    error_of(entries)
    assert audit_log.verify([file, receipt])[1].error == "the receipt is not in the log"
    receipt.write_text(cup.submissions("Ann")[submission]["receipt"].replace('"is_shown": true', '"is_shown": false'))
    assert "signature is invalid" in audit_log.verify([receipt])[0].error


def test_export_the_results_of_a_revealed_board(cup: BoardSite, tmp_path: Path) -> None:
    good = cup.submit("Ann", cup.scores(0.5), "good")
    cup.submit("Bob", cup.scores(2, 2), "other")
    cup.score()
    with pytest.raises(ConventionError, match="is not revealed"):
        export_results(cup.site, "cup", tmp_path / "results")
    leaderboard.close(cup.site, "cup")
    leaderboard.reveal(cup.site, "cup")
    results = export_results(cup.site, "cup", tmp_path / "results")
    means = {row["ranker"]: row["mean"] for row in results.means().to_pylist() if row["tool"] == "official"}
    assert means["good"] == load_scores(cup.site, "cup", good).means["final"]


@pytest.mark.parametrize("version", ["1", "99"])
def test_a_database_with_another_schema_is_rejected(sqlite_cup: BoardSite, version: str) -> None:
    with sqlite_cup.site.store.writing() as connection:
        connection.execute(SETTINGS.update().where(SETTINGS.c.name == "version").values(value=version))
    with pytest.raises(DataError, match=f"schema version {version}"):
        _ = Site(sqlite_cup.site.folder).store


def test_commands(sqlite_cup: BoardSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sqlite_cup.submit("Ann", sqlite_cup.scores(0.5), "good")
    folder = ["--folder", str(sqlite_cup.site.folder)]
    assert main(["board", "close", "cup", *folder]) == 0
    assert main(["board", "reveal", "cup", *folder]) == 0
    assert "good" in capsys.readouterr().out
    assert main(["board", "export", "cup", *folder, "--out", str(tmp_path / "cup.json")]) == 0
    assert main(["board", "verify", str(tmp_path / "cup.json")]) == 0
    assert "valid" in capsys.readouterr().out
    changed = (tmp_path / "cup.json").read_text().replace('"kind": "closed"', '"kind": "cl0sed"')
    (tmp_path / "cup.json").write_text(changed)
    assert main(["board", "verify", str(tmp_path / "cup.json")]) == 2
    assert main(["board", "show", "cap", *folder]) == 2
    assert "did you mean cup?" in capsys.readouterr().err
    assert main(["board", "invite", *folder]) == 0
    assert "pippin_" in capsys.readouterr().out
    assert main(["board", "new", "Cup!", "--data", "x", *folder]) == 2
    assert "invalid board name" in capsys.readouterr().err
