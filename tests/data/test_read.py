"""`pippin.read` detects the content of a path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.folds import Folds
from pippin.data.letor import write_letor
from pippin.data.partitions import write_partitions
from pippin.data.qrels import Qrels, Run
from pippin.data.quality import read_for_audit
from pippin.data.read import read, read_run
from pippin.data.store import write_store
from pippin.data.streaming import LineOffsets, SortRule, iter_letor_chunks, iter_ranked_chunks
from pippin.data.synthetic import make_dataset
from pippin.errors import DataError


def lay_out(folder: Path) -> Dataset:
    """Write a folder with one fold of train.txt, vali.txt and test.txt."""
    data = make_dataset(9, documents=4, seed=2)
    (folder / "Fold1").mkdir(parents=True)
    for part, queries in (("train", slice(0, 3)), ("vali", slice(3, 6)), ("test", slice(6, 9))):
        write_letor(data.select(queries), folder / "Fold1" / f"{part}.txt")
    return data


def test_a_folder_is_a_store_partitions_or_folds(tmp_path: Path) -> None:
    data = lay_out(tmp_path / "laid")
    write_store(data, tmp_path / "s.pippin")
    write_letor(data, tmp_path / "d.txt")
    write_partitions(tmp_path / "d.txt", tmp_path / "parts", rows=10)
    for name in ("s.pippin", "parts", "d.txt"):
        stored = read(tmp_path / name)
        assert isinstance(stored, Dataset)
        np.testing.assert_array_equal(stored.labels, data.labels)
    folds = read(tmp_path / "laid", check=False)
    assert isinstance(folds, Folds)
    narrow = read(tmp_path / "laid", check=False, dtype=np.float32)
    assert isinstance(narrow, Folds)
    assert {fold.train.features.dtype for fold in narrow} == {np.dtype(np.float32)}


def test_a_folder_of_several_data_sets_asks_which(tmp_path: Path) -> None:
    for version in ("NULL", "MIN"):
        lay_out(tmp_path / version)
    with pytest.raises(DataError, match="holds several data sets; read one of them: MIN, NULL"):
        read(tmp_path, check=False)


def test_a_store_is_audited_as_one_data_set(tmp_path: Path) -> None:
    data = make_dataset(3, documents=4)
    write_store(data, tmp_path / "s.pippin")
    audited, layout = read_for_audit([str(tmp_path / "s.pippin")])
    assert layout is None
    np.testing.assert_array_equal(audited.labels, data.labels)


def test_empty_chunks(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("# a comment\n\n")
    with pytest.raises(DataError, match="the file contains no data"):
        list(iter_letor_chunks(tmp_path / "x", LineOffsets()))
    with pytest.raises(DataError, match="the file contains no data"):
        list(
            iter_ranked_chunks(
                tmp_path / "x", Qrels.from_dict({"a": {"x": 1}}), SortRule("input", False), LineOffsets()
            )
        )
    with pytest.raises(DataError, match="only a regular file can be read in chunks"):
        list(iter_letor_chunks(tmp_path, LineOffsets()))


def test_json_is_judgements_or_a_run_by_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "qrels.json").write_text('{"q": {"a": 1, "b": 0}}')
    (tmp_path / "run.json").write_text('{"q": {"a": 1.5, "b": -1}}')
    assert isinstance(read(tmp_path / "qrels.json"), Qrels)
    assert isinstance(read(tmp_path / "run.json"), Run)
    assert isinstance(read_run(tmp_path / "qrels.json"), Run)
