"""Published data sets load from their folders, and deviations from the published counts are reported."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pippin.data.fold_files import read_folds
from pippin.data.folds import Folds
from pippin.data.published import FIVE_FOLDS, PUBLISHED_DATASETS, Count, PublishedDataset, rotate_counts
from pippin.errors import DataError, UnknownName


def lay(shared: Path, name: str, out: Path) -> Path:
    subprocess.run([shared / "data" / "folds", shared / "data" / name, out], check=True)
    return out


def small(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


SPARSE = {
    "train.txt": "1 qid:1 1:0.5 3:1\n0 qid:1 2:0.25\n",
    "vali.txt": "0 qid:2 1:0.5\n",
    "test.txt": "2 qid:3 1:1 5:7\n",
}


@pytest.mark.parametrize("source", PUBLISHED_DATASETS.values(), ids=lambda s: s.name)
def test_declarations_add_up(source: PublishedDataset) -> None:
    """The parts of a fold are the whole set wherever all of them are declared."""
    assert source.name == source.name.lower()
    assert source.title
    assert source.origin
    assert source.features is not None
    for fold in source.folds:
        counts = [source.count(fold, part) for part in source.parts]
        for position in (0, 1):
            values = [count[position] for count in counts]
            if None not in values and source.total[position] is not None:
                assert sum(v for v in values if v is not None) == source.total[position]
    assert set(source.counts) <= {(fold, part) for fold in source.folds for part in source.parts}


def test_rotation_is_that_of_letor() -> None:
    counts = rotate_counts([Count(1), Count(10), Count(100), Count(1000), Count(10000)])
    assert {fold: counts[fold, "test"].queries for fold in FIVE_FOLDS} == dict(
        zip(FIVE_FOLDS, (10000, 1, 10, 100, 1000), strict=True)
    )
    assert counts["Fold5", "train"].queries == 10000 + 1 + 10
    assert counts["Fold5", "vali"].queries == 100


@pytest.mark.parametrize("named", [True, False])
def test_mq2008_by_name_and_by_counts(shared: Path, tmp_path: Path, named: bool) -> None:
    folds = read_folds(lay(shared, "MQ2008", tmp_path / ("MQ2008" if named else "somewhere")))
    assert folds.name == "mq2008"
    assert [fold.name for fold in folds] == list(FIVE_FOLDS)
    assert len(folds["Fold1"].train) == 2933 + 3635 + 3062
    assert (folds[0].test.queries, folds[0].test.features.shape[1]) == (156, 46)
    assert folds[4].vali.name == "mq2008 Fold5 vali"


@pytest.mark.parametrize("version", ["QueryLevelNorm", "Feature-null"])
def test_ohsumed_in_its_versions(shared: Path, tmp_path: Path, version: str) -> None:
    out = lay(shared, f"OHSUMED/{version}", tmp_path / "OHSUMED" / version)
    if version == "Feature-null":
        for file in out.rglob("*.txt"):
            file.rename(
                file.with_name({"train": "trainingset", "vali": "validationset", "test": "testset"}[file.stem] + ".txt")
            )
    folds = read_folds(out)
    assert folds.name == "ohsumed"
    data = folds["Fold3"].train
    assert (data.queries, len(data)) == (21 + 21 + 22, 3573 + 3538 + 3383)
    assert np.isnan(data.features).any() == (version == "Feature-null")


def test_counts_that_differ_are_reported(shared: Path, tmp_path: Path) -> None:
    out = lay(shared, "MQ2008", tmp_path / "somewhere")
    lines = (out / "Fold3" / "test.txt").read_text().splitlines(keepends=True)
    (out / "Fold3" / "test.txt").write_text("".join(lines[:-1]))
    with pytest.raises(DataError, match=r"Fold3/test.txt: 3,634 documents, but LETOR 4.0 MQ2008 has 3,635"):
        read_folds(out)
    assert len(read_folds(out, check=False)["Fold3"].test) == 3634
    with pytest.raises(DataError, match=r"471 queries, but LETOR 4.0 MQ2007 has 1,017"):
        read_folds(out, source="mq2007")


@pytest.mark.parametrize(("missing_value", "filler"), [("zero", 0.0), ("null", np.nan)])
def test_unknown_sets_share_the_largest_width(tmp_path: Path, missing_value: str, filler: float) -> None:
    folds = read_folds(small(tmp_path / "mine", SPARSE), missing_value=missing_value)  # type: ignore[arg-type]
    assert (folds.name, len(folds), folds[0].name) == ("folder", 1, "")
    assert [folds[0][part].features.shape[1] for part in ("vali", "train", "test")] == [5, 5, 5]
    expected = [[0.5, filler, 1, filler, filler], [filler, 0.25, filler, filler, filler]]
    assert np.array_equal(folds[0].train.features, expected, equal_nan=True)
    assert folds[0].train.feature_names == ("1", "2", "3", "4", "5")
    assert "mine" in repr(folds)


def test_known_sets_get_the_declared_width(tmp_path: Path) -> None:
    files = {f"set1.{part}.txt": text for part, text in zip(("train", "valid", "test"), SPARSE.values(), strict=True)}
    folds = read_folds(small(tmp_path / "set", files), source="yahoo-set1", check=False, dtype=np.float32)
    assert folds[0].vali.features.shape == (1, 700)
    assert folds[0].vali.features.dtype == np.float32
    with pytest.raises(DataError, match=r"1 queries, but Yahoo! Learning to Rank Challenge, set 1 has 19,944"):
        read_folds(tmp_path / "set", source="yahoo-set1")


def test_more_features_than_declared(tmp_path: Path) -> None:
    wide = PublishedDataset("wide", "Wide", 4, (0, 1, 2), "made up", ("",), PUBLISHED_DATASETS["istella-s"].parts)
    small(tmp_path, SPARSE)
    with pytest.raises(DataError, match=r"test.txt: 5 features, but Wide has 4"):
        read_folds(tmp_path, source=wide)
    assert read_folds(tmp_path, source=wide, check=False)[0].test.features.shape == (1, 5)


def test_istella_by_its_parts(tmp_path: Path) -> None:
    two = {name: SPARSE[name] for name in ("train.txt", "test.txt")}
    folds = read_folds(small(tmp_path / "istella-letor", two), check=False)
    assert folds.name == "istella"
    with pytest.raises(DataError, match="Istella LETOR has no part 'vali'; it has train, test"):
        _ = folds[0].vali
    assert read_folds(small(tmp_path / "istella-s-letor", SPARSE), check=False).name == "istella-s"
    five = small(tmp_path / "2003_td_dataset", {f"Fold1/{n}": t for n, t in SPARSE.items()})
    assert read_folds(five, check=False).name == "td2003"


def test_gzipped_parts(tmp_path: Path) -> None:
    small(tmp_path, SPARSE)
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress((tmp_path / "test.txt").read_bytes()))
    (tmp_path / "test.txt").unlink()
    assert read_folds(tmp_path)[0].test.labels.tolist() == [2]


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        read_folds(tmp_path / "nowhere")
    with pytest.raises(
        DataError, match=r"unknown file names in this folder; expected one of: .*Fold1 … Fold5, each with"
    ):
        read_folds(tmp_path)
    with pytest.raises(DataError, match=r"no files of Istella LETOR in this folder; expected train.txt, test.txt$"):
        read_folds(tmp_path, source="istella")
    with pytest.raises(UnknownName, match="did you mean istella"):
        read_folds(tmp_path, source="istela")
    small(tmp_path, {f"Fold{k}/{name}": text for name, text in SPARSE.items() for k in (1, 2)})
    (tmp_path / "Fold2" / "vali.txt").unlink()
    with pytest.raises(DataError, match=r"Fold2: this fold has no vali.txt or validationset.txt"):
        read_folds(tmp_path)
    shutil.rmtree(tmp_path / "Fold2")
    folds: Folds = read_folds(tmp_path)
    with pytest.raises(DataError, match="no fold 'Fold2'; the folds are Fold1"):
        _ = folds["Fold2"]
