"""`pippin verify`: one line per object, exit status 0 or 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from tests.benchmarks.small import bench, write_folds
from tests.collections.six_pages import micro_web

from pippin.cli.main import main
from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import build_index
from pippin.data import frames, synthetic
from pippin.data.partitions import write_partitions
from pippin.data.store import write_store
from pippin.rankers import models, ranker

DATA = synthetic.make_dataset(12, documents=6, features=6)
NEEDED = ("store", "partitions", "index", "web", "table.parquet", "table.arrow", "model.json", "results")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("all")
    write_store(DATA, place / "store")
    write_partitions(DATA, place / "partitions", 20)
    pages = [Document(f"d{i}", {"body": "apples and pears " * i}) for i in range(1, 9)]
    build_index(Collection("fruit", ("body",), lambda: iter(pages)), place / "index")
    micro_web().save(place / "web")
    for form in ("parquet", "arrow"):
        frames.write_frame(DATA, place / f"table.{form}")
    models.save(ranker("best-feature")().fit(DATA), place / "model.json")
    bench(write_folds(place / "text"), place / "results", rankers=("best-feature",))
    return place


def verify_json(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, list[dict[str, Any]]]:
    status = main(["verify", *map(str, paths), "--format", "json"])
    out = capsys.readouterr().out
    return status, json.loads(out) if out else []


def test_golden_files_are_complete(everything: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, result = verify_json(capsys, everything)
    assert status == 0
    assert {Path(item["path"]).name for item in result} >= set(NEEDED)
    assert {item["state"] for item in result} == {"whole"}
    assert all(item["files"] and item["bytes"] for item in result)
    assert main(["verify", str(everything / "store")]) == 0
    assert "whole" in capsys.readouterr().out


@pytest.mark.parametrize("name", NEEDED)
def test_any_flipped_bit_is_detected(everything: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = everything / name
    for file in sorted(file for file in (place.rglob("*") if place.is_dir() else [place]) if file.is_file()):
        content = file.read_bytes()
        if not content or file.name == ".lock":
            continue
        changed = bytearray(content)
        changed[len(content) // 2] ^= 1
        file.write_bytes(changed)
        status, result = verify_json(capsys, place)
        file.write_bytes(content)
        assert (status, "damaged" in {item["state"] for item in result}) == (2, True), file
    assert verify_json(capsys, place)[0] == 0


def test_unverifiable_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    for path in (tmp_path, tmp_path / "letter.txt", tmp_path / "nothing"):
        assert main(["verify", str(path)]) == 2
        assert capsys.readouterr().err.startswith("pippin: ")
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "theirs.parquet")
    status, result = verify_json(capsys, tmp_path)
    assert (status, [item["state"] for item in result]) == (0, ["unverified"])
