"""Rejections depend neither on the labels nor on the split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.boards.conftest import BoardSite

import pippin.boards.scorer
from pippin.boards.scoring import create_board
from pippin.boards.site import Site
from pippin.data.qrels import Qrels

QUERIES, DOCUMENTS = 24, 6


def run_text(duplicates: tuple[int, ...] = (), scores: str = "{}", without: tuple[int, ...] = ()) -> str:
    """Return a run with duplicate documents in some queries, or without some queries."""
    lines = [
        f"q{q} Q0 d{d} 1 {scores.format(d)} t" for q in range(QUERIES) for d in range(DOCUMENTS) if q not in without
    ]
    return "\n".join([*lines, *(f"q{q} Q0 d0 1 7 t" for q in duplicates)]) + "\n"


FAULTY = [
    *(run_text(duplicates=(a, b)) for a, b in ((3, 11), (11, 3), (20, 5), (0, 23), (7, 8), (19, 2))),
    run_text(duplicates=tuple(range(QUERIES))), run_text(without=(4, 9)), run_text(duplicates=(6,), without=(9,)),
    run_text(scores="nan"), run_text(scores="1e400"), run_text() + "q99 Q0 d1 1 0.5 t\n", "0.5\n", "q0 Q0 d1\n",
]  # fmt: skip


def make_board(folder: Path, seed: int) -> BoardSite:
    """Create a board of the same queries with other labels and another split."""
    labels = np.random.default_rng(seed).permutation(np.arange(QUERIES * DOCUMENTS) % 3).reshape(QUERIES, DOCUMENTS)
    qrels = {f"q{q}": {f"d{d}": int(labels[q, d]) for d in range(DOCUMENTS)} for q in range(QUERIES)}
    site = Site.create(folder)
    create_board(site, "cup", Qrels.from_dict(qrels), measure="AP", tool="trec_eval9", seed=seed)
    return BoardSite(site)


def responses(board_site: BoardSite) -> list[tuple[str, str]]:
    """Submit every faulty run; return states and errors in the order of submission."""
    identities = [board_site.submit("Ann", text) for text in FAULTY]
    board_site.score()
    rows = board_site.submissions("Ann")
    return [(rows[identity]["state"], rows[identity]["error"]) for identity in identities]


def test_rejections_are_the_same_under_permuted_labels_and_another_split(tmp_path: Path) -> None:
    expected = responses(make_board(tmp_path / "0", 0))
    assert {state for state, _ in expected} == {"rejected"}
    for seed in range(1, 6):
        assert responses(make_board(tmp_path / str(seed), seed)) == expected


def test_errors_of_evaluation_reveal_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise pippin.ConventionError("label 2 of query q7")

    monkeypatch.setattr(pippin.boards.scorer, "score_submission", fail)
    board_site = make_board(tmp_path / "boards", 1)
    identity = board_site.submit("Ann", run_text())
    board_site.score()
    error = board_site.submissions("Ann")[identity]["error"]
    assert error == "the submission could not be scored; submit it again, and contact the organiser if this is repeated"
    assert "q7" not in capfd.readouterr().err
