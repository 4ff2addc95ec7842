"""Data sets of ir_datasets by id, with a stand-in for the package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import pytest
from tests.data.strategies import same

from pippin.data import adapters
from pippin.data.qrels import Qrels, Run
from pippin.errors import DataError, MissingDependency


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: float
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Stand:
    """What ir_datasets gives for one id."""

    def __init__(self, qrels: list[Qrel], scored: list[ScoredDoc]) -> None:
        self.qrels, self.scored = qrels, scored

    def has_qrels(self) -> bool:
        return bool(self.qrels)

    def has_scoreddocs(self) -> bool:
        return bool(self.scored)

    def qrels_iter(self) -> Iterator[Qrel]:
        return iter(self.qrels)

    def scoreddocs_iter(self) -> Iterator[ScoredDoc]:
        if self.scored[0].doc_id == "gone":
            raise ConnectionError("no route to host")
        return iter(self.scored)


SETS = {
    "apples": Stand([Qrel("1", "a", 2), Qrel("2", "a", 0), Qrel("1", "b", -1)], [ScoredDoc("1", "a", 0.5)]),
    "apples/docs": Stand([], []),
    "apples/twice": Stand([Qrel("1", "a", 2), Qrel("1", "a", 1)], []),
    "apples/half": Stand([Qrel("1", "a", 0.5)], [ScoredDoc("1", "gone", 0.5)]),
}


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = ModuleType("ir_datasets")
    monkeypatch.setattr(stand, "load", SETS.__getitem__, raising=False)
    monkeypatch.setitem(sys.modules, "ir_datasets", stand)


@pytest.mark.usefixtures("package")
def test_judgements_and_run() -> None:
    qrels = adapters.read_irds_qrels("irds:apples")
    assert same(qrels, Qrels.from_dict({"1": {"a": 2, "b": -1}, "2": {"a": 0}}))
    assert qrels.name == adapters.read_irds_qrels("apples").name == "irds:apples"
    assert same(adapters.read_irds_run("irds:apples"), Run.from_dict({"1": {"a": 0.5}}))


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("irds:pears", "irds:pears: ir_datasets has no data set with this id"),
        ("irds:apples/docs", "irds:apples/docs: this data set of ir_datasets has no judgements"),
        ("irds:apples/twice", "document a is listed twice in query 1"),
        ("irds:apples/half", "the label 0.5 of a is not a whole number"),
    ],
)
def test_unreadable_files(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        adapters.read_irds_qrels(name)


@pytest.mark.usefixtures("package")
def test_failing_download() -> None:
    with pytest.raises(DataError, match=r"could not read it \(ConnectionError: no route to host\)"):
        adapters.read_irds_run("irds:apples/half")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingDependency, match=r"pip install 'pippin\[datasets\]'"):
        adapters.read_irds_qrels("irds:apples")
