"""A board from the first day to the last: made, sent to, scored, closed, revealed, checked by strangers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.boards.conftest import Fair, fair

import pippin
from pippin.boards import log, sending, standing
from pippin.boards.board import Board, Hidden, Limits, split
from pippin.boards.export import export_json, export_results
from pippin.boards.scoring import kept
from pippin.boards.site import Site
from pippin.boards.tables import MIGRATIONS, SETTINGS, VERSION
from pippin.cli.main import main
from pippin.data import synthetic
from pippin.data.letor import read_letor
from pippin.data.trec import Judgements
from pippin.errors import ConventionError, DataError


def test_the_public_part_has_no_label_and_no_order_that_tells(cup: Fair) -> None:
    board, hidden = cup.board, cup.hidden
    public = read_letor(board.folder / "test.txt")
    assert not public.labels.any()
    assert hidden.judged.labels.any()
    whole = synthetic.make(queries=80, seed=5)
    kept_order = [whole.query_ids.index(query) for query in board.test.query_ids]
    rows = [row for q in kept_order for row in range(int(whole.offsets[q]), int(whole.offsets[q + 1]))]
    assert list(hidden.judged.labels) != list(whole.labels[rows])
    assert sorted(hidden.judged.labels) == sorted(whole.labels[rows])
    for q, query in enumerate(board.test.query_ids):  # each document has kept its label
        at = whole.query_ids.index(query)
        here, there = (slice(int(d.offsets[n]), int(d.offsets[n + 1])) for d, n in ((board.test, q), (whole, at)))
        assert board.test.document_ids is not None
        assert whole.document_ids is not None
        mine = {board.test.document_ids.at(r): hidden.judged.labels[r] for r in range(here.start, here.stop)}
        assert mine == {whole.document_ids.at(r): whole.labels[r] for r in range(there.start, there.stop)}


def test_the_split_is_stratified_by_relevant_documents() -> None:
    relevant = np.repeat(np.array([0, 1, 2, 8]), 25)
    chosen = split(relevant, 0.4, seed=3)
    assert len(chosen) == 40
    assert {int(n): int((relevant[chosen] == n).sum()) for n in np.unique(relevant)} == {0: 10, 1: 10, 2: 10, 8: 10}
    assert chosen.tolist() == split(relevant, 0.4, seed=3).tolist() != split(relevant, 0.4, seed=4).tolist()


def test_the_whole_way(cup: Fair, tmp_path: Path) -> None:
    good, weak, other = cup.send("Ann", cup.scores(0.5), "good"), cup.send("Ann", cup.scores(4, 1)), None
    other = cup.send("Bob", cup.scores(1.5, 2), "bob's <b>")
    wrong = cup.send("Bob", "1\n2\n")
    cup.score()
    rows = standing.leaderboard(cup.site, "cup")
    assert [(row.rank, row.account, row.submission) for row in rows] == [(1, "Ann", good), (2, "Bob", other)]
    step = sending.state_of(cup.site, "cup")["step"]
    assert all(math.isclose(row.value / step, round(row.value / step)) for row in rows)
    exact = kept(cup.site, "cup", good)
    assert abs(rows[0].value - exact.means["public"]) <= step / 2 + 1e-9
    assert cup.sent("Ann")[weak]["released"] is False
    assert cup.sent("Ann")[weak]["value"] is None
    assert cup.sent("Bob")[wrong]["fault"].startswith("s.txt:2: the file ends after 2 scores")
    assert rows[1].places["letor4"] in (1, 2)
    with pytest.raises(ConventionError, match="is open; close it first"):
        standing.reveal(cup.site, "cup")
    standing.close(cup.site, "cup")
    with pytest.raises(sending.BoardClosed, match="takes no submissions any more"):
        cup.send("Ann", cup.scores(0.1))
    assert rows[0].final is None
    standing.reveal(cup.site, "cup")
    rows = standing.leaderboard(cup.site, "cup")
    assert rows[0].final == exact.means["final"]
    assert rows[1].final_p is not None
    assert cup.sent("Ann")[weak]["final"] == kept(cup.site, "cup", weak).means["final"]
    whole = tmp_path / "export.json"
    whole.write_text(json.dumps(export_json(cup.site, "cup")))
    receipt = tmp_path / "receipt.json"
    receipt.write_text(cup.sent("Ann")[good]["receipt"])
    assert [one.fault for one in log.verify([whole, receipt], cup.site.key)] == ["", ""]
    assert [one["kind"] for one in cup.site.store.log("cup")].count("scored") == 3


def test_the_value_is_what_evaluate_says_of_the_half(cup: Fair) -> None:
    scores = cup.scores(1.0)
    one = cup.send("Ann", scores)
    cup.score()
    hidden = cup.hidden
    for half in ("public", "final"):
        part = hidden.parts[half]
        rows = np.concatenate([np.arange(hidden.judged.offsets[q], hidden.judged.offsets[q + 1])
                               for q in hidden.halves[half]])  # fmt: skip
        found = pippin.evaluate(part, scores[rows], "NDCG@10", "official")
        assert kept(cup.site, "cup", one).means[half] == found.mean["NDCG@10"]


def test_a_run_in_any_order_and_a_model_give_what_scores_give(cup: Fair, tmp_path: Path) -> None:
    test = cup.board.test
    train = read_letor(cup.board.folder / "train.txt", absent="null")
    model = pippin.train(train, "best-feature")
    scores = pippin.rank(model, test)
    pippin.save(model, tmp_path / "model.json")
    assert test.document_ids is not None
    lines = [f"{test.query_ids[q]} Q0 {test.document_ids.at(row)} 1 {float(scores[row])!r} x"
             for row, q in enumerate(test.qid().tolist())]  # fmt: skip
    np.random.default_rng(1).shuffle(lines)
    ids = [cup.send("Ann", scores), cup.send("Bob", "\n".join(lines) + "\n"),
           cup.send("Cid", (tmp_path / "model.json").read_text())]  # fmt: skip
    cup.score()
    kinds = [cup.sent(who)[one]["kind"] for who, one in zip(("Ann", "Bob", "Cid"), ids, strict=True)]
    assert kinds == ["scores", "run", "model"]
    assert len({kept(cup.site, "cup", one).means["public"] for one in ids}) == 1


def test_a_board_of_judgements_takes_runs(tmp_path: Path) -> None:
    site = Site.create(tmp_path / "boards")
    judged = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(8)} for q in range(20)}
    site.new_board("cup", Judgements.of(judged), measure="AP", tool="trec_eval9", seed=1)
    made = Fair(site)
    assert (made.board.folder / "queries.txt").read_text().split() == list(judged)
    run = "".join(f"q{q} Q0 d{d} 1 {judged[f'q{q}'][f'd{d}'] + d / 9} t\n" for q in range(20) for d in range(8))
    good, short = made.send("Ann", run), made.send("Ann", "q0 Q0 d1 1 0.5 t\n")
    wrong, plain = made.send("Ann", run + "q99 Q0 d1 1 0.5 t\n"), made.send("Ann", "0.5\n0.1\n")
    made.score()
    sent = made.sent("Ann")
    assert sent[good]["released"]
    assert "19 of the board's 20 queries are missing" in sent[short]["fault"]
    assert "the board has no query q99" in sent[wrong]["fault"]
    assert "takes runs in TREC's six columns" in sent[plain]["fault"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("nan\n", "s.txt:1: .*nan"),
        ("x y z\n", "3 columns stand here"),
        ("0 qid:1 1:0.5\n", "this is judged data"),
        ("q9 Q0 d1 1 0.5 t\n", "the board has no query q9"),
        ('{"format": "pippin-model", "version": 2}', "s.txt: "),
        ("\x00\x01", "s.txt: this is no text"),
        ("pippin-model", "s.txt:"),
    ],
)
def test_bad_files_are_refused_with_one_sentence(cup: Fair, content: str, sentence: str) -> None:
    import re

    one = cup.send("Ann", content)
    cup.score()
    row = cup.sent("Ann")[one]
    assert row["state"] == "refused"
    assert re.search(sentence, row["fault"])
    assert "\n" not in row["fault"]
    assert row["receipt"] is None


def test_limits_of_an_account(tmp_path: Path) -> None:
    made = fair(tmp_path / "boards", limits=Limits(per_day=2, bytes=4000))
    made.send("Ann", "1\n")
    made.send("Ann", "1\n")
    with pytest.raises(sending.TooMany, match="may send 2 submissions to this board in 24 hours"):
        made.send("Ann", "1\n")
    made.send("Bob", "1\n")
    with pytest.raises(sending.TooLarge, match=r"at most 4\.0 kB"):
        made.send("Bob", "1\n" * 4000)
    assert len(list((made.site.folder / "uploads").iterdir())) == 3


def test_many_at_once_are_counted_too(cup: Fair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that were both looked at before either was stored: the second is refused when it would be."""
    for _ in range(cup.board.limits.per_day):
        cup.send("Ann", "1\n")
    monkeypatch.setattr(sending, "check_open", lambda *_: None)
    with pytest.raises(sending.TooMany):
        cup.send("Ann", "1\n")
    assert len(cup.sent("Ann")) == cup.board.limits.per_day == len(list((cup.site.folder / "uploads").iterdir()))


def test_labels_and_data_that_were_changed_are_refused(cup: Fair) -> None:
    labels = np.load(cup.site.hidden("cup") / "labels.npy")
    labels[0] += 1
    np.save(cup.site.hidden("cup") / "labels.npy", labels)
    with pytest.raises(DataError, match="labels of this board are not those it was made with"):
        Hidden.open(cup.board, cup.site.hidden("cup"))
    file = cup.board.folder / "test.txt"
    file.write_bytes(file.read_bytes().replace(b"1:0.", b"1:1.", 1))
    with pytest.raises(DataError, match="data of this board are not those it was made with"):
        _ = Board.open(cup.board.folder).test


def test_a_log_that_was_changed_is_found_out(cup: Fair, tmp_path: Path) -> None:
    one = cup.send("Ann", cup.scores(0.5))
    cup.score()
    entries = cup.site.store.log("cup")
    file = tmp_path / "log.jsonl"

    def fault(changed: list[dict[str, object]]) -> str:
        file.write_text("".join(json.dumps(entry) + "\n" for entry in changed))
        return log.verify([file])[0].fault

    assert fault(entries) == ""
    assert "hash of the entry before" in fault([*entries[:1], log.entry("cup", 2, 0, "closed", {}, "0" * 64)])
    assert "not the one that belongs there" in fault([entries[0], *entries[2:]])
    better = json.loads(json.dumps(entries))
    better[2]["body"]["receipt"]["statement"]["value"] = 0.99
    assert "was changed" in fault(better)
    body = better[2]["body"]
    better[2] = log.entry("cup", 3, better[2]["at"], "scored", body, better[2]["previous"])
    assert "not signed" in fault(better)
    forged = log.new_key()
    body["receipt"] = log.sign(body["receipt"]["statement"], forged)
    better[2] = log.entry("cup", 3, better[2]["at"], "scored", body, better[2]["previous"])
    assert "another key" in fault(better)
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps(body["receipt"]))
    fault(entries)
    assert log.verify([file, receipt])[1].fault == "it does not stand in the log"
    receipt.write_text(cup.sent("Ann")[one]["receipt"].replace('"released": true', '"released": false'))
    assert "not that of the key" in log.verify([receipt])[0].fault


def test_results_of_a_revealed_board_can_be_reported(cup: Fair, tmp_path: Path) -> None:
    good = cup.send("Ann", cup.scores(0.5), "good")
    cup.send("Bob", cup.scores(2, 2), "other")
    cup.score()
    with pytest.raises(ConventionError, match="is not revealed"):
        export_results(cup.site, "cup", tmp_path / "results")
    standing.close(cup.site, "cup")
    standing.reveal(cup.site, "cup")
    results = export_results(cup.site, "cup", tmp_path / "results")
    means = {row[2]: row[-1] for row in results.means().rows() if row[5] == "official"}
    assert means["good"] == kept(cup.site, "cup", good).means["final"]


def test_an_older_database_is_brought_to_this_version(plain: Fair) -> None:
    with plain.site.store.writing() as connection:
        connection.execute(SETTINGS.update().where(SETTINGS.c.name == "version").values(value="1"))
        connection.exec_driver_sql("DROP INDEX submissions_received")
    again = Site(plain.site.folder)
    assert again.store.setting("version") == str(VERSION) == str(max(MIGRATIONS))
    with again.store.writing() as connection:
        connection.execute(SETTINGS.update().where(SETTINGS.c.name == "version").values(value="99"))
    with pytest.raises(DataError, match="of version 99, and this Pippin knows"):
        _ = Site(plain.site.folder).store


def test_the_commands(plain: Fair, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain.send("Ann", plain.scores(0.5), "good")
    folder = ["--folder", str(plain.site.folder)]
    assert main(["board", "close", "cup", *folder]) == 0
    assert main(["board", "reveal", "cup", *folder]) == 0
    assert "good" in capsys.readouterr().out
    assert main(["board", "export", "cup", *folder, "--out", str(tmp_path / "plain.json")]) == 0
    assert main(["board", "verify", str(tmp_path / "plain.json")]) == 0
    assert "whole" in capsys.readouterr().out
    changed = (tmp_path / "plain.json").read_text().replace('"kind": "closed"', '"kind": "cl0sed"')
    (tmp_path / "plain.json").write_text(changed)
    assert main(["board", "verify", str(tmp_path / "plain.json")]) == 2
    assert main(["board", "show", "cap", *folder]) == 2
    assert "did you mean cup?" in capsys.readouterr().err
    assert main(["board", "invite", *folder]) == 0
    assert "pippin_" in capsys.readouterr().out
    assert main(["board", "new", "Cup!", "--data", "x", *folder]) == 2
    assert "small letters, digits and hyphens" in capsys.readouterr().err
