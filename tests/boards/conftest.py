"""A small board, its labels for the tests to cheat with, and accounts that send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.boards import postgres

from pippin.boards import accounts, sending, standing
from pippin.boards.accounts import Account
from pippin.boards.board import Board, Hidden
from pippin.boards.scorer import Scorer
from pippin.boards.site import Site
from pippin.boards.store import Row
from pippin.boards.submission import make_card
from pippin.data import synthetic


@dataclass
class Fair:
    """A site with the board `cup`, and what its hidden part says."""

    site: Site
    people: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def board(self) -> Board:
        return self.site.board("cup")

    @property
    def hidden(self) -> Hidden:
        return Hidden.open(self.board, self.site.hidden("cup"))

    def person(self, name: str, role: str = "participant") -> Account:
        if name not in self.people:
            self.people[name], self.tokens[name] = accounts.make_account(self.site.store, name, role)
        return self.people[name]

    def scores(self, noise: float, seed: int = 0) -> NDArray[np.float64]:
        """The labels with noise: the less, the better."""
        labels = self.hidden.judged.labels
        return labels + np.random.default_rng(seed).normal(0, noise, len(labels))

    def send(self, name: str, content: Any, called: str = "a", kind: str = "auto") -> str:
        file = self.site.folder / "incoming" / "sent"
        text = content if isinstance(content, str) else "".join(f"{one!r}\n" for one in np.asarray(content).tolist())
        file.write_text(text)
        return sending.accept(self.site, self.person(name), "cup", file, "s.txt", make_card({"name": called}), kind)

    def score(self) -> None:
        with self.site.alone("scorer"):
            Scorer(self.site, 2).drain()

    def sent(self, name: str) -> dict[str, Row]:
        return {row["id"]: row for row in standing.submissions_of(self.site, "cup", self.person(name).id)}


def fair(folder: Path, address: str | None = None, **asked: Any) -> Fair:
    """A site with one board of sixty synthetic queries, half of them test queries."""
    site = Site.create(folder, address)
    site.new_board("cup", synthetic.make(queries=80, seed=5), **{"test": 0.75, "seed": 7, **asked})
    return Fair(site)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgres.Cluster]:
    with postgres.started(tmp_path_factory.mktemp("postgres")) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def cup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fair]:
    """The board on each kind of store."""
    address = request.getfixturevalue("cluster").database() if request.param == "postgresql" else None
    made = fair(tmp_path / "boards", address)
    yield made
    made.site.store.close()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Fair]:
    """The board on SQLite, for what looks into its file or is asked for by commands that name no store."""
    made = fair(tmp_path / "boards")
    yield made
    made.site.store.close()
