"""A build on real worker processes, one of them killed while it works: the bytes are those of one machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.collection.test_build import SMALL, content, orchard

from pippin.bench.dask.building import Workers, workers
from pippin.bench.dask.cluster import connected
from pippin.collection import build as room
from pippin.collection import sharded
from pippin.collection.build import build
from pippin.errors import DataError

pytest.importorskip("distributed")
T = TypeVar("T")


class Killing(Workers):
    """Workers one of which is killed after the first answer of every round."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.client, self.killed = client, 0

    def each(self, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        for place, answer in enumerate(super().each(function, arguments)):
            if not place:
                os.kill(min(self.client.run(os.getpid).values()), signal.SIGKILL)
                self.killed += 1
            yield answer


def test_a_killed_worker_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded, "PIECE_DOCUMENTS", 7)
    monkeypatch.setattr(room, "STRETCH", 1)
    collection, recipe = replace(orchard(), anchored=False), replace(SMALL, features="gov")
    build(collection, tmp_path / "one", recipe)
    with connected("local", 2, None) as client:
        spread = Killing(client)
        assert spread.workers == 2
        build(collection, tmp_path / "many", recipe, spread=spread)
    assert spread.killed == 3  # while links, shards and features were under way
    assert content(tmp_path / "many") == content(tmp_path / "one")


def test_a_cluster_of_others_has_its_own_workers() -> None:
    with pytest.raises(DataError, match="is for the cluster to say"), workers("tcp://127.0.0.1:1", jobs=2):
        pass
