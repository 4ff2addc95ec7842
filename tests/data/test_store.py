"""Stores open by memory map, report damage and are written atomically."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.strategies import any_ids, datasets, judgements, runs, same
from tests.tampering import forge

from pippin.data import store, synthetic
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.qrels import Data, Qrels, Run
from pippin.data.store import FORMAT, read_store, write_store
from pippin.errors import DataError
from pippin.evaluation.evaluate import evaluate
from pippin.kernels.checksum import BLOCK
from pippin.kernels.strings import StringColumn

anything = st.one_of(datasets(any_ids), judgements(any_ids), runs(any_ids))
dataset = Dataset.from_arrays
drawn = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(data=anything)
@drawn
def test_round_trip(data: Data, tmp_path: Path) -> None:
    write_store(data, tmp_path / "d.pippin")
    read = read_store(tmp_path / "d.pippin", verify=True)
    assert same(read, data)
    assert (read.name, digest(read)) == (data.name, digest(data))
    assert store.read_manifest(tmp_path / "d.pippin")["digest"] == digest(data)
    assert [path.name for path in tmp_path.iterdir()] == ["d.pippin"], "nothing else is left beside it"


def test_everything_survives_and_columns_are_mapped(tmp_path: Path) -> None:
    data = Dataset(
        np.array([[1, np.nan], [3, 4]], np.float32), np.array([1, 0], np.int32), np.array([0, 0, 2]), ("empty", "q"),
        StringColumn.of(["a", ""]), ("u", "ü"), StringColumn.of(["inc = 1", ""]), "my set",
    )  # fmt: skip
    write_store(data, tmp_path / "s")
    read = read_store(tmp_path / "s")
    assert isinstance(read, Dataset)
    assert same(read, data)
    assert not read.features.flags.owndata
    assert not read.features.flags.writeable
    run = Run.from_dict({"q": {"d": 0.5}}, "mine")
    write_store(run, tmp_path / "r")
    again = read_store(tmp_path / "r")
    assert isinstance(again, Run)
    assert (again.name, again.tag) == ("mine", "mine")


def test_manifest_says_what_is_inside(tmp_path: Path) -> None:
    data = synthetic.make_dataset(queries=20)
    write_store(data, tmp_path / "s/")
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert manifest["counts"] == {"queries": 20, "documents": len(data), "features": 12}
    assert (manifest["version"], manifest["kind"]) == (2, "dataset")
    features = manifest["columns"]["features"]
    assert (features["dtype"], features["shape"]) == ("float64", [len(data), 12])
    assert manifest["checksums"]["bytes"]["features.npy"] == (tmp_path / "s" / "features.npy").stat().st_size


def test_existing_store_is_replaced_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "s.pippin"
    write_store(dataset([[1.0]], [1], ["old"]), path)
    old = read_store(path)
    write_store(old.select([0]) if isinstance(old, Dataset) else old, path)
    write_store(dataset([[2.0], [3.0]], [0, 2], ["new", "new"]), path)
    assert old.query_ids == ("old",)
    assert isinstance(old, Dataset)
    assert old.features.tolist() == [[1.0]]
    assert read_store(path).query_ids == ("new",)
    assert [path.name for path in tmp_path.iterdir()] == ["s.pippin"]


def test_failure_leaves_the_old_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.pippin"
    write_store(dataset([[1.0]], [1], ["old"]), path)

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", broken)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        write_store(dataset([[2.0]], [1], ["new"]), path)
    assert read_store(path).query_ids == ("old",)
    assert [path.name for path in tmp_path.iterdir()] == ["s.pippin"]


def test_failure_at_the_last_step_brings_the_old_store_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.pippin"
    write_store(dataset([[1.0]], [1], ["old"]), path)
    rename = os.rename

    def broken(source: Path, target: Path) -> None:
        if source.suffix == ".new":
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(DataError, match="cannot be written"):
        write_store(dataset([[2.0]], [1], ["new"]), path)
    assert read_store(path).query_ids == ("old",)
    assert [path.name for path in tmp_path.iterdir()] == ["s.pippin"]


def test_other_folders_are_not_replaced_by_a_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("more of it")
    for name in ("folder", "file"):
        with pytest.raises(DataError, match="this exists and is not a store of Pippin"):
            write_store(dataset([[1.0]], [1], ["q"]), tmp_path / name)
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    write_store(dataset([[1.0]], [1], ["q"]), tmp_path / "empty")
    assert store.is_store(tmp_path / "empty")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_store(Qrels.from_dict({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}), tmp_path / "s")
    return tmp_path / "s"


def assert_refused(path: Path, match: str, verify: bool = False) -> None:
    with pytest.raises(DataError, match=match):
        read_store(path, verify=verify)


def test_no_store(tmp_path: Path) -> None:
    assert_refused(tmp_path, "there is no manifest.json")
    (tmp_path / "manifest.json").write_text('{"name": "an extension of a browser"}')
    assert_refused(tmp_path, "has another format")


def test_other_versions(path: Path) -> None:
    forge(path, FORMAT, version=3, pippin="9.9")
    assert_refused(path, r"of version 3, written by pippin 9.9; this is pippin .*, which reads version 2")
    forge(path, FORMAT, version=1)
    assert_refused(path, "of an earlier version, which cannot be verified: write it again with `pippin convert`")


def test_damaged_manifest(path: Path) -> None:
    text = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(text[: len(text) // 2])
    assert_refused(path, "manifest.json cannot be read")
    (path / "manifest.json").write_text(text.replace('"name": "judgements"', '"name": "judgement5"'))
    assert_refused(path, "the checksum of manifest.json does not match")
    (path / "manifest.json").write_text(text)
    forge(path, FORMAT, columns={"offsets": 3})
    assert_refused(path, "manifest.json does not describe it")
    forge(path, FORMAT, kind="song")
    assert_refused(path, "damaged")


def test_missing_truncated_and_foreign_columns(path: Path) -> None:
    labels = path / "labels.npy"
    content = labels.read_bytes()
    for size in (len(content) - 2, 20, 0):
        labels.write_bytes(content[:size])
        assert_refused(path, f"labels.npy has {size} bytes, but manifest.json states {len(content)}")
    labels.unlink()
    assert_refused(path, "labels.npy is missing")
    labels.write_bytes(content[:-2])
    forge(path, FORMAT)
    assert_refused(path, "labels.npy is truncated")
    np.save(labels, np.array([1, 0, 2, 3], np.int32))
    forge(path, FORMAT)
    assert_refused(path, r"labels.npy holds int32\[4\], but the manifest states int32\[3\]")
    np.save(labels, np.array([1.0, 0, 2]))
    forge(path, FORMAT)
    assert_refused(path, r"labels.npy holds float64\[3\]")


def test_a_column_laid_out_otherwise_is_refused(tmp_path: Path) -> None:
    write_store(dataset([[1.0, 2.0], [3.0, 4.0]], [0, 1], ["q", "q"]), tmp_path / "s")
    np.save(tmp_path / "s" / "features.npy", np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
    forge(tmp_path / "s", FORMAT)
    assert_refused(tmp_path / "s", "features.npy holds")


def test_changed_bytes_are_detected_when_a_store_is_opened(path: Path) -> None:
    labels = path / "labels.npy"
    content = bytearray(labels.read_bytes())
    content[-4] ^= 1
    labels.write_bytes(content)
    assert_refused(path, "labels.npy: bytes 0 to 140 differ from what was written")
    assert_refused(path, "labels.npy: bytes .* differ from what was written", verify=True)


def test_features_are_verified_when_they_are_looked_at_and_only_the_blocks_that_are(tmp_path: Path) -> None:
    rows = 2 * BLOCK // 8
    data = dataset(np.arange(2.0 * rows).reshape(-1, 2), [0, 1] * (rows // 2), np.repeat(np.arange(rows // 16), 16))
    write_store(data, tmp_path / "s")
    file = tmp_path / "s" / "features.npy"
    content = bytearray(file.read_bytes())
    content[3 * BLOCK + 5] ^= 1
    file.write_bytes(content)
    read = read_store(tmp_path / "s")
    assert isinstance(read, Dataset)
    assert np.array_equal(read.labels, data.labels)
    front = read.select(slice(0, 100))
    assert np.array_equal(front.features, data.features[:1600]), "what is whole can be used"
    message = "features.npy: bytes 196,608 to 262,144 differ from what was written"
    for part in (read, read.select(slice(rows // 16 - 8, rows // 16)), replace(front, name="copied")):
        if part.name == "copied":
            assert len(part.features) == 1600
            continue
        with pytest.raises(DataError, match=message):
            part.features  # noqa: B018
    with pytest.raises(DataError, match=message):
        read.select([3, 1])
    evaluate(read, np.arange(len(data), dtype=np.float64), ["MAP"])  # looks at no feature
    assert_refused(tmp_path / "s", message, verify=True)


@pytest.mark.parametrize(("name", "values"), [("lengths", [2, 2, 3]), ("starts", [-1, 2, 4]), ("lengths", [2, -2, 2])])
def test_texts_never_point_outside(path: Path, name: str, values: list[int]) -> None:
    file = path / f"document_ids.{name}.npy"
    np.save(file, np.array(values, np.load(file).dtype))
    forge(path, FORMAT)
    assert_refused(path, "points outside its bytes")


def test_offsets_are_checked(path: Path) -> None:
    np.save(path / "offsets.npy", np.array([0, 5, 3]))
    forge(path, FORMAT)
    assert_refused(path, "damaged: the offsets do not divide 3 rows into 2 queries")


def test_digest_knows_values_not_names() -> None:
    data = dataset([[1.0, np.nan], [0.0, 2.0]], [1, 0], ["a", "b"], document_ids=["x", "y"])
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    twin = dataset([[1.0, other_nan], [0.0, 2.0]], [1, 0], ["a", "b"], document_ids=["x", "y"], name="else")
    assert digest(data) == digest(twin)
    changed = [
        dataset([[1.0, np.nan], [0.0, 2.5]], [1, 0], ["a", "b"], document_ids=["x", "y"]),
        dataset([[1.0, np.nan], [0.0, 2.0]], [1, 1], ["a", "b"], document_ids=["x", "y"]),
        dataset([[1.0, np.nan], [0.0, 2.0]], [1, 0], ["a", "a"], document_ids=["x", "y"]),
        dataset([[1.0, np.nan], [0.0, 2.0]], [1, 0], ["a", "b"], document_ids=["xy", ""]),
        dataset([[1.0, np.nan], [0.0, 2.0]], [1, 0], ["a", "b"]),
        dataset([[1.0, np.nan], [0.0, 2.0]], [1, 0], ["a", "b"], document_ids=["x", "y"], feature_names=["u", "v"]),
        dataset(np.array([[1, np.nan], [0, 2]], np.float32), [1, 0], ["a", "b"], document_ids=["x", "y"]),
    ]
    assert len({digest(d) for d in [data, *changed]}) == 1 + len(changed)


@given(st.lists(any_ids, max_size=20), st.data())
@settings(max_examples=50, deadline=None)
def test_pack_gathers_any_pieces(items: list[str], drawn: st.DataObject) -> None:
    texts = StringColumn.of(items)
    rows = np.array(
        drawn.draw(st.lists(st.integers(0, len(items) - 1), max_size=30) if items else st.just([])), np.int64
    )
    selected = texts.take(rows)
    packed = selected.pack()
    assert list(packed) == [items[row] for row in rows]
    assert len(packed.buffer) == sum(len(items[row].encode()) for row in rows)


@given(drawing=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_reported(drawing: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "s"
    shutil.rmtree(path, ignore_errors=True)
    write_store(Qrels.from_dict({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}), path)
    file = drawing.draw(st.sampled_from(sorted(path.iterdir())))
    content = file.read_bytes()
    position = drawing.draw(st.integers(0, len(content) - 1))
    put = drawing.draw(st.binary(max_size=3))
    damaged = content[:position] + put + content[position + drawing.draw(st.integers(0, 3)) :]
    file.write_bytes(damaged)
    if damaged != content:
        assert_refused(path, "store")
