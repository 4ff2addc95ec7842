"""A site with a small board, its labels, and accounts that submit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.boards import postgres

from pippin.boards import accounts, leaderboard, queue
from pippin.boards.accounts import Account
from pippin.boards.board import Board, HiddenLabels
from pippin.boards.database import Row
from pippin.boards.scorer import Scorer
from pippin.boards.scoring import create_board
from pippin.boards.site import Site
from pippin.boards.submissions import make_card
from pippin.data import synthetic


@dataclass
class BoardSite:
    """A site with the board `cup` and accounts."""

    site: Site
    store: str | None = None  # the address of its database; None is SQLite in its folder
    accounts: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def board(self) -> Board:
        return self.site.board("cup")

    @property
    def labels(self) -> HiddenLabels:
        return HiddenLabels.open(self.board, self.site.hidden_folder("cup"))

    def account(self, name: str, role: str = "participant") -> Account:
        if name not in self.accounts:
            self.accounts[name], self.tokens[name] = accounts.make_account(self.site.store, name, role)
        return self.accounts[name]

    def scores(self, noise: float, seed: int = 0) -> NDArray[np.float64]:
        """Return the labels with random noise; less noise ranks better."""
        labels = self.labels.data.labels
        return labels + np.random.default_rng(seed).normal(0, noise, len(labels))

    def submit(self, account: str, content: Any, name: str = "a", kind: str = "auto") -> str:
        file = self.site.folder / "incoming" / "received"
        text = (
            content if isinstance(content, str) else "".join(f"{score!r}\n" for score in np.asarray(content).tolist())
        )
        file.write_text(text)
        return queue.accept(self.site, self.account(account), "cup", file, "s.txt", make_card({"name": name}), kind)

    def score(self) -> None:
        with self.site.lock("scorer"):
            Scorer(self.site, 2).drain()

    def submissions(self, name: str) -> dict[str, Row]:
        return {row["id"]: row for row in leaderboard.submissions_of(self.site, "cup", self.account(name).id)}


def make_site(folder: Path, address: str | None = None, **options: Any) -> BoardSite:
    """Create a site with a board of sixty synthetic test queries."""
    site = Site.create(folder, address)
    create_board(
        site, "cup", synthetic.make_dataset(queries=80, seed=5), **{"test_fraction": 0.75, "seed": 7, **options}
    )
    return BoardSite(site, address)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgres.Cluster]:
    with postgres.start_cluster(tmp_path_factory.mktemp("postgres")) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def cup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSite]:
    """The board on each kind of database."""
    address = request.getfixturevalue("cluster").database() if request.param == "postgresql" else None
    board_site = make_site(tmp_path / "boards", address)
    yield board_site
    board_site.site.store.close()


@pytest.fixture
def sqlite_cup(tmp_path: Path) -> Iterator[BoardSite]:
    """The board on SQLite, for commands that take no database address."""
    board_site = make_site(tmp_path / "boards")
    yield board_site
    board_site.site.store.close()
