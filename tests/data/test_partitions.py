"""Partitions at query boundaries: round trip, and detection of split queries."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from tests.tampering import forge

from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements
from pippin.data.letor import write_letor
from pippin.data.partitions import (
    FORMAT,
    check_partitions,
    is_partitions,
    open_partitions,
    read_partitions,
    write_partitions,
)
from pippin.data.synthetic import make_dataset
from pippin.errors import DataError


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    write_letor(make_dataset(30, documents=8, features=5, seed=2), tmp_path / "d.txt")
    return tmp_path / "d.txt"


def same(one: Dataset, other: Dataset) -> bool:
    return (
        np.array_equal(one.features, other.features, equal_nan=True)
        and np.array_equal(one.labels, other.labels)
        and np.array_equal(one.offsets, other.offsets)
        and one.query_ids == other.query_ids
        and (one.document_ids is None) == (other.document_ids is None)
        and list(one.document_ids or ()) == list(other.document_ids or ())
    )


@pytest.mark.parametrize("rows", [1, 50, 10_000])
def test_written_files_are_read_back(letor: Path, tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pippin.data.partitions.iter_letor_chunks", small_stretches)
    output = write_partitions(letor, tmp_path / "parts", rows)
    data = coerce_judgements(letor)
    assert isinstance(data, Dataset)
    assert same(read_partitions(tmp_path / "parts"), data)
    assert (output.queries, len(output), output.labels) == (30, len(data), (0, int(data.labels.max())))
    if rows == 1:
        assert [part.queries for part in output.parts] == [1] * 30
    assert all(part.documents <= max(rows, int(np.diff(data.offsets).max())) for part in output.parts)
    full = coerce_judgements(tmp_path / "parts")
    assert isinstance(full, Dataset)
    assert same(full, data)


def test_data_in_memory_and_its_precision(letor: Path, tmp_path: Path) -> None:
    data = coerce_judgements(letor)
    assert isinstance(data, Dataset)
    output = write_partitions(data, tmp_path / "parts", 60, dtype="float32")
    assert (output.dtype, output.read(output.parts[0]).features.dtype.name) == ("float32", "float32")
    again = write_partitions(data, tmp_path / "parts", 60, dtype="float32")
    assert again.digest() == output.digest()


def test_unlike_counts_informative_queries(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n0 qid:2 1:1\n0 qid:2 1:3\n1 qid:3 1:1\n")
    (part,) = write_partitions(tmp_path / "d.txt", tmp_path / "parts").parts
    assert (part.queries, part.documents, part.unlike) == (3, 5, 2)


def rewrite(folder: Path, number: int, change: object) -> None:
    """Change a partition, its count in the manifest and the checksums, as a program that cuts badly would."""
    file = folder / f"part-{number:05}.parquet"
    table = change(parquet.read_table(file))  # type: ignore[operator]
    parquet.write_table(table, file)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["partitions"][number]["documents"] = table.num_rows
    forge(folder, FORMAT, partitions=manifest["partitions"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: pyarrow.concat_tables([t, t[:1]]), "part-00001.parquet: the rows of query .* are not contiguous"),
        (lambda t: t.drop_columns(["2"]), "part-00001.parquet: the columns differ from those of part-00000.parquet"),
    ],
)
def test_a_cut_that_does_not_hold(letor: Path, tmp_path: Path, change: object, sentence: str) -> None:
    write_partitions(letor, tmp_path / "parts", 60)
    rewrite(tmp_path / "parts", 1, change)
    with pytest.raises(DataError, match=sentence):
        check_partitions(tmp_path / "parts")


def test_a_cut_through_a_query(letor: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    write_partitions(letor, folder, 60)
    last = parquet.read_table(folder / "part-00000.parquet")[-1:]
    rewrite(folder, 1, lambda table: pyarrow.concat_tables([last, table]))
    query = last.column("query")[0].as_py()
    with pytest.raises(
        DataError, match=f"part-00001.parquet: query {query} is also in part-00000.parquet; a query must be"
    ):
        read_partitions(folder)


def test_files_that_are_gone_or_others(letor: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    write_partitions(letor, folder, 60)
    first, second = folder / "part-00000.parquet", folder / "part-00001.parquet"
    content = first.read_bytes()
    for place in (50, len(content) - 40):
        first.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        for opened in (check_partitions, read_partitions):
            with pytest.raises(DataError, match=r"part-00000.parquet: bytes .* differ from what was written"):
                opened(folder)
    first.write_bytes(content)
    second.write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"part-00001.parquet has 4 bytes, but"):
        check_partitions(folder)
    forge(folder, FORMAT)
    with pytest.raises(DataError, match="damaged, or not a Parquet file"):
        check_partitions(folder)
    second.unlink()
    with pytest.raises(DataError, match=r"part-00001.parquet is missing"):
        check_partitions(folder)


def test_pages_have_checksums_of_their_own(letor: Path, tmp_path: Path) -> None:
    """A partition that was taken out of its folder is verified too."""
    write_partitions(letor, tmp_path / "parts")
    content = bytearray((tmp_path / "parts" / "part-00000.parquet").read_bytes())
    content[len(content) // 3] ^= 1
    (tmp_path / "alone.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"alone.parquet: invalid parquet file \(.*CRC"):
        coerce_judgements(tmp_path / "alone.parquet")


def test_folders_that_are_no_partitions(letor: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").write_text("mine")
    with pytest.raises(DataError, match="choose another name"):
        write_partitions(letor, other)
    with pytest.raises(DataError, match="no folder of partitions"):
        open_partitions(other)
    for content, sentence in (
        ("{", "cannot be read"),
        ('{"format": "x"}', "has another format"),
        ('{"format": "pippin partitions", "version": 9}', "of version 9"),
        ('{"format": "pippin partitions", "version": 1}', "of an earlier version, which cannot be verified"),
        ('{"format": "pippin partitions", "version": 2}', "the checksum of manifest.json does not match"),
    ):
        (other / "manifest.json").write_text(content)
        with pytest.raises(DataError, match=sentence):
            open_partitions(other)
    assert not is_partitions(tmp_path)


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.txt"
    path.write_text("1 qid:1 1:1 #docid = a\n1 qid:2 1:1 #docid = b\n0 qid:3 1:1\n")
    with pytest.raises(DataError, match="documents per partition must be at least 1, got 0"):
        write_partitions(path, tmp_path / "parts", 0)
    monkeypatch.setattr("pippin.data.partitions.iter_letor_chunks", small_stretches)
    with pytest.raises(DataError, match="a document of query 3 or a later one has no id"):
        write_partitions(path, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def small_stretches(path: Path, places: object, **options: object) -> object:
    from pippin.data.streaming import iter_letor_chunks

    return iter_letor_chunks(path, places, 1, **options)  # type: ignore[arg-type]
