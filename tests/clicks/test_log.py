"""Click logs in memory and as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pippin.clicks.logs import ClickLog, read, write
from pippin.data.dataset import Dataset
from pippin.errors import DataError

SESSIONS = [("q1", ["a", "b"], [True, False]), ("q2", ["b"], [False]), ("q1", ["b", "a"], [True, True])]
HEADER = "session\tquery\trank\tdocument\tclick\n"


def rows(log: ClickLog) -> list[tuple[str, str, int, bool]]:
    queries = log.item_queries[log.items].tolist()
    documents = [log.item_documents[item] for item in log.items]
    return [
        (log.query_ids[query], document, rank, click)
        for query, document, rank, click in zip(
            queries, documents, log.ranks.tolist(), log.clicks.tolist(), strict=True
        )
    ]


def test_one_document_of_two_queries_is_two_items() -> None:
    log = ClickLog.of(SESSIONS)
    assert log.item_queries.tolist() == [0, 0, 1]
    assert log.item_documents == ("a", "b", "b")
    assert log.query_of().tolist() == [0, 1, 0]


def test_counts_are_those_of_a_loop() -> None:
    log = ClickLog.of(SESSIONS)
    seen: dict[tuple[int, int], list[int]] = {}
    for item, rank, click in zip(log.items.tolist(), log.ranks.tolist(), log.clicks.tolist(), strict=True):
        cell = seen.setdefault((item, rank), [0, 0])
        cell[0] += 1
        cell[1] += click
    counts = log.counts()
    result = zip(counts.items, counts.ranks, counts.views, counts.clicks, strict=True)
    assert {(int(i), int(r)): [n, c] for i, r, n, c in result} == seen


def test_a_selection_of_sessions() -> None:
    log = ClickLog.of(SESSIONS)
    assert rows(log.select(np.array([2, 1]))) == rows(log)[3:] + rows(log)[2:3]


def test_items_find_their_rows() -> None:
    data = Dataset.from_arrays(np.zeros((3, 1)), [0, 0, 0], ["q2", "q1", "q1"], document_ids=["b", "c", "a"])
    assert ClickLog.of(SESSIONS).rows_in(data).tolist() == [2, -1, 0]


def test_documents_without_ids_are_called_by_their_places() -> None:
    data = Dataset.from_arrays(np.zeros((3, 1)), [0, 0, 0], ["x", "x", "y"])
    assert ClickLog.of([("y", ["1"], [True]), ("x", ["2", "1"], [False, True])]).rows_in(data).tolist() == [2, 1, 0]


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz", "log.jsonl", "log.parquet"])
@pytest.mark.parametrize("teams", [None, [1, 2, 0, 2, 1]])
def test_a_log_survives_its_file(tmp_path: Path, name: str, teams: list[int] | None) -> None:
    plain = ClickLog.of(SESSIONS)
    log = ClickLog(plain.query_ids, plain.item_queries, plain.item_documents, plain.offsets, plain.items,
                   np.array([1, 2, 5, 1, 2], np.int32), plain.clicks,
                   None if teams is None else np.array(teams, np.int8))  # fmt: skip
    write(log, tmp_path / name)
    again = read(tmp_path / name)
    assert rows(again) == rows(log)
    assert again.offsets.tolist() == log.offsets.tolist()
    assert (None if again.teams is None else again.teams.tolist()) == teams


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("session\tquery\trank\tdocument\n", ":1: the column click is missing"),
        (HEADER, "the log is empty"),
        (HEADER + "1\tq\t1\ta\n", ":2: the line has 4 fields, the header 5. Separate them by tabs"),
        (HEADER + "1\tq\t0\ta\t1\n", ":2: rank must be a whole number from 1, got '0'"),
        (HEADER + "1\tq\t1\ta\tyes\n", ":2: click must be 1 or 0, got 'yes'"),
        (HEADER + "1\tq\t1\ta\t1\n1\tr\t2\ta\t1\n", ":3: session 1 has two queries: q and r"),
        (HEADER + "1\tq\t2\ta\t1\n1\tq\t2\tb\t1\n", ":3: rank 2 follows rank 2 in session 1"),
        (HEADER + "1\tq\t1\ta\t1\n2\tq\t1\ta\t1\n1\tq\t2\tb\t1\n", ":4: rows of session 1 are not consecutive"),
        (HEADER + "1\t\t1\ta\t1\n", ":2: the query or the document is empty"),
    ],
)
def test_invalid_text_is_refused_with_its_line(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "log.tsv"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        read(file)
    assert f"{file}{sentence}" in str(error.value) or f"{file}: {sentence}" in str(error.value)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("[1]", 'a session must be an object with "query"'),
        ("{", "the line is not JSON"),
        ('{"query": "q", "documents": []}', '"documents" must be a list of at least one string'),
        ('{"query": "q", "documents": ["a"], "clicks": [1, 0]}', '"clicks" must be a list with 1 entries'),
        ('{"query": "q", "documents": ["a"], "clicks": [2]}', "click must be 1 or 0, got '2'"),
        ('{"query": "q", "documents": ["a"], "clicks": [1], "teams": ["C"]}', "team must be A, B or empty, got 'C'"),
    ],
)
def test_invalid_json_is_refused_with_its_line(tmp_path: Path, line: str, sentence: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"query": "q", "documents": ["a"], "clicks": [true]}\n' + line + "\n")
    with pytest.raises(DataError) as error:
        read(file)
    assert f"{file}:2: {sentence}" in str(error.value)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    file.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"log\.parquet"):
        read(file)


def test_text_refuses_lossy_ids(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="write the log as"):
        write(ClickLog.of([("q", ["a\tb"], [True])]), tmp_path / "log.tsv")
    assert not (tmp_path / "log.tsv").exists()
