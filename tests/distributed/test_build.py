"""A build on worker processes with a killed worker gives identical bytes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.collections.test_build import SMALL, content, orchard

from pippin.collections import build
from pippin.collections.build import build_dataset
from pippin.collections.links.graph import add_anchor_texts
from pippin.distributed.dask_executor import DaskExecutor

pytest.importorskip("distributed")
T = TypeVar("T")


class KillingExecutor(DaskExecutor):
    """An executor that kills a worker after the first result of every call."""

    killed = 0

    def starmap(self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        for i, result in enumerate(super().starmap(function, arguments)):
            if i == 0:
                os.kill(min(self.client.run(os.getpid).values()), signal.SIGKILL)
                self.killed += 1
            yield result


def test_a_killed_worker_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "BATCH_QUERIES", 1)
    collection, recipe = add_anchor_texts(orchard()), replace(SMALL, features="gov")
    build_dataset(collection, tmp_path / "one", recipe)
    with KillingExecutor("local", 2) as executor:
        assert executor.n_workers == 2
        build_dataset(collection, tmp_path / "many", recipe, executor=executor)
    assert executor.killed == 1
    assert content(tmp_path / "many") == content(tmp_path / "one")
