"""Conversion between all formats, and errors for impossible ones."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.strategies import any_ids, datasets, judgements, plain_ids, runs, same

import pippin
from pippin.data import frames, store
from pippin.data.buffers import open_buffer
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.folds import Folds
from pippin.data.qrels import Data, Qrels, RankingData, Run
from pippin.data.read import (
    OUTPUT_FORMATS,
    convert,
    detect_text_format,
    format_of_path,
    output_format,
    read_data,
    write,
)
from pippin.errors import DataError, UnknownName
from pippin.kernels.strings import StringColumn

NAMES = {"letor": "d.txt", "qrels": "d.qrels", "run": "d.run", "scores": "d.scores", "parquet": "d.parquet",
         "csv": "d.csv", "arrow": "d.arrow", "store": "d.pippin"}  # fmt: skip
TABLES = ["parquet", "csv", "arrow", "store"]
HOMES = {Dataset: ["letor", *TABLES], Qrels: ["qrels", *TABLES], Run: ["run", *TABLES]}
drawn = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(data=st.one_of(datasets(plain_ids, lowest=0), judgements(), runs()))
@drawn
def test_a_chain_through_every_form_keeps_everything(data: Data, tmp_path: Path) -> None:
    path = tmp_path / "0.pippin"
    dtype = data.features.dtype if isinstance(data, Dataset) else None  # text has no precision of its own
    write(data, path)
    for step, form in enumerate(HOMES[type(data)], 1):
        target = tmp_path / f"{step}{NAMES[form]}"
        _, written = convert(path, target, dtype=dtype)
        assert written == form
        path = target
    assert same(values(read_data(path)), values(data))


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(HOMES[Dataset], 2)))
def test_datasets_go_from_every_form_to_every_other(source: str, target: str, tmp_path: Path) -> None:
    data = Dataset(
        np.array([[0.1, np.nan], [-2.0, 1e-9], [3.0, 0.0]]), np.array([0, 2, 1], np.int32), np.array([0, 2, 3]),
        ("q1", "q2"), StringColumn.of(["a", "b", "a"]),
    )  # fmt: skip
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    write(data, tmp_path / "in" / NAMES[source])
    convert(tmp_path / "in" / NAMES[source], tmp_path / "out" / NAMES[target])
    assert same(values(read_data(tmp_path / "out" / NAMES[target])), values(data))


def values(data: RankingData) -> RankingData:
    """Return a data set without the comments that store document ids in LETOR text."""
    if not isinstance(data, Dataset):
        return data
    return Dataset(data.features, data.labels, data.offsets, data.query_ids, data.document_ids)


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow", "store"])
@pytest.mark.parametrize("name", ["MQ2008/S5.txt", "OHSUMED/Feature-null/S1.txt", "mslr-5k/msn1.fold1.test.5k.txt"])
def test_real_data_survive(shared: Path, tmp_path: Path, name: str, form: str) -> None:
    file = shared / "data" / name
    data, _ = convert(file, tmp_path / NAMES[form])
    assert isinstance(data, Dataset)
    read = read_data(tmp_path / NAMES[form])
    assert not isinstance(read, np.ndarray)
    assert digest(read) == digest(data)
    convert(tmp_path / NAMES[form], tmp_path / "back.txt")
    assert same(read_data(tmp_path / "back.txt"), data)


def test_text_stays_the_same_bytes(shared: Path, tmp_path: Path) -> None:
    file = shared / "data" / "MQ2008" / "S5.txt"
    convert(file, tmp_path / "copy.txt.gz")
    convert(tmp_path / "copy.txt.gz", tmp_path / "copy.txt")
    assert (tmp_path / "copy.txt").read_bytes() == file.read_bytes()


LETOR = "1 qid:1 1:0.5 2:7 #docid = a\n0 qid:1 1:0.25 #docid = b\n2 qid:2 2:1 #docid = a\n"


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    (tmp_path / "d.txt").write_text(LETOR)
    return tmp_path / "d.txt"


def test_a_data_set_narrows(letor: Path, tmp_path: Path) -> None:
    convert(letor, tmp_path / "j.qrels")
    assert (tmp_path / "j.qrels").read_text() == "1 0 a 1\n1 0 b 0\n2 0 a 2\n"
    qrels, form = convert(letor, tmp_path / "j.parquet", labels=True)
    assert (type(qrels), form) == (Qrels, "parquet")
    assert same(read_data(tmp_path / "j.parquet"), Qrels.from_dict({"1": {"a": 1, "b": 0}, "2": {"a": 2}}))
    convert(letor, tmp_path / "f.scores", feature="2")
    assert [float(line) for line in (tmp_path / "f.scores").read_text().split()] == [7, 0, 1]
    run, _ = convert(letor, tmp_path / "f.run", feature="1")
    assert same(run, Run.from_dict({"1": {"a": 0.5, "b": 0.25}, "2": {"a": 0.0}}))
    table, _ = convert(letor, tmp_path / "f.csv", feature="1")
    assert isinstance(table, Run)


def test_a_single_feature_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    scores, form = convert(tmp_path / "d.txt", tmp_path / "s", target_format="scores")
    assert form == "scores"
    assert same(scores, np.array([0.5, 0.25]))
    again, form = convert(tmp_path / "s", tmp_path / "s.csv")
    assert same(read_data(tmp_path / "s.csv"), again)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        ("d.run", "out.letor", {}, "a run cannot be written as LETOR text, which needs features"),
        ("d.qrels", "out.letor", {}, "judgements cannot be written as LETOR text, which needs features"),
        ("d.qrels", "out.run", {}, "judgements cannot be written as a run, which needs a score for each document"),
        ("d.run", "out.qrels", {}, "a run cannot be written as judgements, which need labels"),
        ("d.run", "out.scores", {}, "a run cannot be written as scores, which are in the order of a data set"),
        ("d.scores", "out.pippin", {}, "a list of scores cannot be written as a store"),
        ("d.scores", "out.run", {}, "a list of scores cannot be written as a run"),
        ("d.txt", "out.scores", {}, "d.txt has 2 features; name the one to use as score"),
        ("d.txt", "out.run", {"feature": "3"}, "no feature is called '3'; known: 1, 2"),
        (
            "d.txt",
            "out.scores",
            {"feature": "2", "missing_value": "null"},
            "document 2 has no value of feature 2",
        ),
        ("n.txt", "out.qrels", {}, "n.txt has no document ids, which judgements need"),
        ("n.txt", "out.run", {}, "n.txt has no document ids, which a run needs"),
        ("d.run", "out.csv", {"labels": True}, "expected judgements, but this is a run"),
        ("d.run", "out.csv", {"feature": "1"}, "feature '1' needs a data set, but this is a run"),
        ("d.txt", "out.csv", {"feature": "1", "labels": True}, "choose one"),
        ("d.txt", "out.csv", {"target_format": "excel"}, "no format is called 'excel'"),
        ("d.txt", "out.csv", {"source_format": "leto"}, "no format is called 'leto'; did you mean letor"),
        ("d.txt", "out.csv", {"source_format": "csv"}, "csv|columns"),
        ("nothing", "out.csv", {}, "no such file"),
        (".", "out.csv", {}, "this folder is neither a store nor partitions"),
    ],
)
def test_invalid_values(source: str, target: str, options: dict[str, Any], message: str, letor: Path) -> None:
    folder = letor.parent
    (folder / "n.txt").write_text("1 qid:1 1:0.5\n")
    (folder / "d.run").write_text("1 Q0 a 1 0.5 r\n")
    (folder / "d.qrels").write_text("1 0 a 1\n")
    (folder / "d.scores").write_text("0.5\n0.25\n")
    before = sorted(folder.iterdir())
    with pytest.raises((DataError, UnknownName), match=message):
        convert(folder / source, folder / target, **options)
    assert sorted(folder.iterdir()) == before, "nothing is written"


@pytest.mark.parametrize("bad", ["a b", "", "a\tb", "a\nb"])
def test_ids_that_text_cannot_hold(bad: str, tmp_path: Path) -> None:
    qrels = Qrels.from_dict({"q": {bad: 1}}), Qrels.from_dict({bad: {"d": 1}})
    for data in (*qrels, Run.from_dict({"q": {bad: 1.0}}), Dataset.from_arrays([[1.0]], [1], [bad])):
        frames.write_frame(data, tmp_path / "d.parquet")
        with pytest.raises(DataError, match="cannot be written as"):
            convert(tmp_path / "d.parquet", tmp_path / "out.txt")
        assert not (tmp_path / "out.txt").exists()


@given(data=st.one_of(datasets(any_ids), judgements(any_ids), runs(any_ids)))
@drawn
def test_text_holds_an_id_or_refuses_it(data: Data, tmp_path: Path) -> None:
    """Whatever the ids are, the text reads back the same, or there is a sentence and no file."""
    path = tmp_path / "out.txt"
    path.unlink(missing_ok=True)
    try:
        form = write(data, path)
    except DataError:
        assert not path.exists()
        return
    read = read_data(path, form)
    assert read.query_ids == data.query_ids  # type: ignore[union-attr]
    assert isinstance(data, Dataset) or same(read, data)


def test_negative_labels_are_not_for_letor(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="LETOR text cannot hold the label -1"):
        write(Dataset.from_arrays([[1.0], [1.0]], [-1, 1], ["q", "q"]), tmp_path / "d.txt")


def test_options_reach_the_readers(letor: Path, tmp_path: Path) -> None:
    data, _ = convert(letor, tmp_path / "n.parquet", missing_value="null", dtype="float32")
    assert isinstance(data, Dataset)
    assert data.features.dtype == np.float32
    assert np.isnan(data.features).tolist() == [[False, False], [False, True], [True, False]]
    again, _ = convert(tmp_path / "n.parquet", tmp_path / "w.pippin", dtype="float64")
    assert isinstance(again, Dataset)
    assert again.features.dtype == np.float64
    (tmp_path / "m.txt").write_text("1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:3\n")
    with pytest.raises(DataError, match="are not contiguous"):
        convert(tmp_path / "m.txt", tmp_path / "m.csv")
    merged, _ = convert(tmp_path / "m.txt", tmp_path / "m.csv", merge_queries=True)
    assert merged.offsets.tolist() == [0, 2, 3]  # type: ignore[union-attr]


def test_forms_are_recognised(letor: Path, tmp_path: Path) -> None:
    assert format_of_path(letor) is None
    assert detect_text_format(open_buffer(letor)) == "letor"
    assert format_of_path("irds:cranfield") == "irds"
    assert format_of_path("somewhere/d.tsv") == "csv"
    store.write_store(Qrels.from_dict({"q": {"d": 1}}), tmp_path / "plain")
    assert format_of_path(tmp_path / "plain") == "store"
    run = Run.from_dict({"q": {"d": 1.0}})
    assert output_format(tmp_path / "plain", run) == "store", "a store that stands there is replaced"
    assert output_format("-", run) == output_format("x", run) == output_format("x.txt.gz", run) == "run"
    assert output_format("x.QRELS.gz", run) == "qrels"
    assert {output_format(name, run) for name in ("x/", "x.pippin")} == {"store"}
    assert set(NAMES) == set(OUTPUT_FORMATS)


def test_labels_and_scores_by_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "both.csv").write_text("qid,docno,label,score\n1,x,1,0.5\n")
    convert(tmp_path / "both.csv", tmp_path / "b.qrels")
    assert (tmp_path / "b.qrels").read_text() == "1 0 x 1\n"
    run, _ = convert(tmp_path / "both.csv", tmp_path / "b.run.gz")
    assert same(run, Run.from_dict({"1": {"x": 0.5}}))


def test_ir_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [SimpleNamespace(query_id="1", doc_id="a", relevance=1)]
    stand = ModuleType("ir_datasets")
    stand.load = lambda name: SimpleNamespace(has_qrels=lambda: True, qrels_iter=lambda: rows)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ir_datasets", stand)
    convert("irds:apples", tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text() == "1 0 a 1\n"


def test_queries_without_a_relevant_document_are_dropped(tmp_path: Path) -> None:
    text = "0 qid:a 1:0.5 #docid = x\n0 qid:a 1:0.25 #docid = y\n2 qid:b 1:1 #docid = z\n-1 qid:c 1:1 #docid = z\n"
    (tmp_path / "d.txt").write_text(text.replace("-1", "0"))
    data, _ = convert(tmp_path / "d.txt", tmp_path / "out.txt", drop_empty=True)
    assert isinstance(data, Dataset)
    assert (data.query_ids, data.labels.tolist(), data.features.tolist()) == (("b",), [2], [[1.0]])
    (tmp_path / "d.qrels").write_text("a 0 x 0\nb 0 x 1\nb 0 y 0\nc 0 x -1\n")
    qrels = pippin.read(tmp_path / "d.qrels", drop_empty=True)
    assert isinstance(qrels, Qrels)
    assert (qrels.query_ids, qrels.labels.tolist(), qrels.offsets.tolist()) == (("b",), [1, 0], [0, 2])
    (tmp_path / "d.run").write_text("a Q0 x 1 0.5 t\n")
    with pytest.raises(DataError, match="expected labels"):
        pippin.read(tmp_path / "d.run", drop_empty=True)
    (tmp_path / "none.qrels").write_text("a 0 x 0\n")
    with pytest.raises(DataError, match="no relevant document"):
        pippin.read(tmp_path / "none.qrels", drop_empty=True)


def test_folds_drop_queries_without_a_relevant_document(tmp_path: Path) -> None:
    for part in ("train", "vali", "test"):
        (tmp_path / f"{part}.txt").write_text(f"0 qid:{part}1 1:0.5\n1 qid:{part}2 1:0.25\n")
    folds = pippin.read(tmp_path, drop_empty=True)
    assert isinstance(folds, Folds)
    assert [folds[0][part].query_ids for part in ("train", "vali", "test")] == [("train2",), ("vali2",), ("test2",)]
