"""Folds as text: each line is parsed once, and each part equals its separately read file."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.test_fold_files import lay, small

from pippin.data import fold_files
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.fold_files import index_texts, read_folds
from pippin.data.letor import read_letor, write_letor
from pippin.data.store import open_fold_store, write_fold_store
from pippin.errors import DataError
from pippin.kernels import text as kernel
from pippin.storage.manifest import dump_with_checksum, read_with_checksum


@pytest.fixture
def parsed_lines(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lines that were parsed, call by call."""
    calls: list[int] = []
    parse = kernel.parse_letor

    def parse_and_count(text: Any, file: str, pieces: Any, features: Any, absent: float) -> Any:
        calls.append(len(features))
        return parse(text, file, pieces, features, absent)

    monkeypatch.setattr(kernel, "parse_letor", parse_and_count)
    return calls


def files_of(folder: Path) -> dict[str, dict[str, Path]]:
    folds = sorted(path for path in folder.iterdir() if path.is_dir())
    return {fold.name: {part: fold / f"{part}.txt" for part in ("train", "vali", "test")} for fold in folds}


def assert_same(part: Dataset, alone: Dataset) -> None:
    """Equal columns bit by bit, and the same text where it is known."""
    assert part.query_ids == alone.query_ids
    assert part.features.tobytes() == alone.features.tobytes()
    assert part.labels.tobytes() == alone.labels.tobytes()
    assert part.offsets.tobytes() == alone.offsets.tobytes()
    assert part.document_ids == alone.document_ids
    assert part.comments == alone.comments
    assert part.feature_names == alone.feature_names
    assert digest(part) == digest(alone)


@pytest.mark.parametrize(("name", "lines"), [("MQ2008", 15211), ("OHSUMED/QueryLevelNorm", 16140),
                                             ("OHSUMED/Feature-null", 16140)])  # fmt: skip
def test_each_line_of_published_folds_is_parsed_once(
    shared: Path, tmp_path: Path, parsed_lines: list[int], name: str, lines: int
) -> None:
    folder = lay(shared, name, tmp_path / "folds")
    folds = read_folds(folder, check=False, missing_value="null" if "null" in name else "zero")
    assert parsed_lines == [lines]
    write_fold_store(folds, tmp_path / "store")
    stored = open_fold_store(tmp_path / "store")
    for fold, files in files_of(folder).items():
        for part, file in files.items():
            alone = read_letor(file, missing_value="null" if "null" in name else "zero")
            assert_same(folds[fold][part], alone)
            assert_same(stored[fold][part], alone)
            assert stored.digest(fold, part) == digest(alone)
    write_letor(folds["Fold4"].train, tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == (folder / "Fold4" / "train.txt").read_bytes()


ODD = {
    # A query without a document id, one with other documents in the second fold, comments, a byte order mark,
    # no newline at the end, a file that shows fewer features, lines in another order.
    "Fold1/train.txt": "\ufeff# head\n1 qid:a 1:1 2:2 #docid = x\n\n0 qid:a 1:3 2:4 #docid = y\n# more\n2 qid:b 1:5\n",
    "Fold1/vali.txt": "0 qid:c 1:1 2:2 #docid = x\r\n1 qid:c 1:1 2:2 #docid = z rest",
    "Fold1/test.txt": "3 qid:d 1:7 2:8\n",
    "Fold2/train.txt": "3 qid:d 1:7 2:8\n0 qid:c 1:1 2:2 #docid = x\r\n1 qid:c 1:1 2:2 #docid = z rest\n",
    "Fold2/vali.txt": "1 qid:a 1:1 2:2 #docid = x\n0 qid:a 1:3 2:4.5 #docid = y\n",
    "Fold2/test.txt": "2 qid:b 1:5\n2 qid:e 1:5 2:1 #\n",
}


def test_odd_files_come_out_as_by_themselves(tmp_path: Path, parsed_lines: list[int]) -> None:
    folder = small(tmp_path / "odd", ODD)
    folds = index_texts(files_of(folder)).parse()
    assert parsed_lines == [9]  # of 14 lines; query a differs in one, and c had no newline at its end
    write_fold_store(folds, tmp_path / "store")
    for path in (folds, open_fold_store(tmp_path / "store")):
        for fold, files in files_of(folder).items():
            for part, file in files.items():
                assert_same(path[fold][part], read_letor(file, features=2))
    assert folds["Fold1"].train.document_ids is None
    assert folds["Fold2"].vali.document_ids is not None
    assert folds["Fold1"].test.comments is None


def test_folds_of_different_widths_keep_them(tmp_path: Path) -> None:
    wide = {name: text.replace("2:8", "2:8 4:1") if name == "Fold2/train.txt" else text for name, text in ODD.items()}
    folds = read_folds(small(tmp_path, wide))
    assert [fold.train.features.shape[1] for fold in folds] == [2, 4]
    assert folds["Fold1"].train.feature_names == ("1", "2")
    assert folds["Fold2"].vali.features[0].tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize(("at", "line", "sentence"), [
    ("Fold1/vali.txt", "x qid:c 1:1\n", r"vali.txt:3: the label 'x' is not a number"),
    ("Fold2/test.txt", "1 qid:b 1:1\n", r"test.txt:3: the rows of query b are not contiguous; it began in line 1"),
    ("Fold2/vali.txt", "1 qid:a 1:1 #docid = x\n", r"vali.txt:3: document x is listed twice in query a"),
    ("Fold1/test.txt", "1 1:1\n", r"test.txt:2: qid: and a query id are expected"),
    ("Fold2/train.txt", "1 qid:z 2:1 1:1\n", r"train.txt:4: feature 1 follows feature 2"),
])  # fmt: skip
def test_errors_name_the_right_line(tmp_path: Path, at: str, line: str, sentence: str) -> None:
    folder = small(tmp_path, {**ODD, at: ODD[at].rstrip("\n") + "\n" + line})
    with pytest.raises(DataError, match=sentence):
        read_folds(folder)


def test_an_empty_part_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"vali.txt: the file contains no data"):
        read_folds(small(tmp_path, {**ODD, "Fold1/vali.txt": "# nothing\n"}))


def test_merged_queries_and_packed_files(tmp_path: Path) -> None:
    folder = small(tmp_path, {**ODD, "Fold1/train.txt": "1 qid:a 1:1\n0 qid:b 1:2\n2 qid:a 1:3\n"})
    (folder / "Fold1" / "test.txt.gz").write_bytes(gzip.compress((folder / "Fold1" / "test.txt").read_bytes()))
    (folder / "Fold1" / "test.txt").unlink()
    folds = read_folds(folder, merge_queries=True)
    assert folds["Fold1"].train.labels.tolist() == [1, 2, 0]
    assert folds["Fold1"].test.labels.tolist() == [3]
    with pytest.raises(DataError, match="the rows of query a are not contiguous"):
        read_folds(folder)


def test_many_lines_are_brought_together_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small(tmp_path, ODD)
    monkeypatch.setattr(fold_files, "_MAX_BYTES_IN_MEMORY", 10)
    assert_same(read_folds(folder)["Fold2"].train, read_letor(folder / "Fold2" / "train.txt"))


def test_digest_depends_on_file_content(tmp_path: Path) -> None:
    first = index_texts(files_of(small(tmp_path / "one", ODD)))
    two = index_texts(files_of(small(tmp_path / "two", ODD)))
    other = {**ODD, "Fold2/test.txt": ODD["Fold2/test.txt"].replace("1:5", "1:6")}
    three = index_texts(files_of(small(tmp_path / "three", other)))
    assert first.digest() == two.digest() != three.digest()
    assert first.digest() != first.digest(missing_value="null")


LINES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1:1", "2:2 #docid = x", "1:NULL # c", "3:0.5"])),
                 min_size=1, max_size=6)  # fmt: skip


def group_lines(lines: list[tuple[str, str]]) -> Iterator[str]:
    for query, remaining in sorted(lines, key=lambda line: line[0]):
        yield f"1 qid:{query} {remaining}\n"


def outcome(read: Callable[[], Any]) -> Any:
    """Return what is read, or the error message."""
    try:
        return read()
    except DataError as error:
        return str(error)


@given(st.lists(LINES, min_size=2, max_size=4))
def test_any_files_come_out_as_by_themselves(tmp_path_factory: pytest.TempPathFactory, files: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("any")
    for i, lines in enumerate(files):
        (folder / f"{i}.txt").write_text("".join(group_lines(lines)))
    names = {"": {str(i): folder / f"{i}.txt" for i in range(len(files))}}
    alone = {part: outcome(partial(read_letor, file)) for part, file in names[""].items()}
    refused = [message for message in alone.values() if isinstance(message, str)]  # a document twice in a query
    if refused:
        assert outcome(lambda: index_texts(names).parse()) == refused[0]
        return
    folds = index_texts(names).parse()
    width = max(data.features.shape[1] for data in alone.values() if isinstance(data, Dataset))
    for part, file in names[""].items():
        assert_same(folds[""][part], read_letor(file, features=width))


@pytest.mark.parametrize("forged", [
    {"folds": []}, {"folds": {"Fold1": {"train": [99]}}}, {"folds": {"Fold1": {"train": [-1]}}}, {"name": 1},
    {"folds": {"Fold1": {"train": [2**70]}}}, {"query_ids": {"x": "1"}}, {"digests": 3}, {"without_ids": None},
    {"widths": {"Fold1": "2"}},
])  # fmt: skip
def test_a_forged_store_of_folds_is_reported(tmp_path: Path, forged: dict[str, Any]) -> None:
    write_fold_store(index_texts(files_of(small(tmp_path / "odd", ODD))).parse(), tmp_path / "store")
    record = read_with_checksum(tmp_path / "store" / "folds.json")
    (tmp_path / "store" / "folds.json").write_bytes(dump_with_checksum({**record, **forged}))
    with pytest.raises(DataError, match=r"store: this store of folds is damaged"):
        open_fold_store(tmp_path / "store")
