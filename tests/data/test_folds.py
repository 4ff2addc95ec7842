"""Folds: parts of complete queries, rotated as in LETOR's Table 4."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pippin.data.fold_files import read_folds
from pippin.data.folds import cut_queries, make_folds, write_folds
from pippin.data.normalisation import LETOR_VERSIONS
from pippin.data.synthetic import make_dataset
from pippin.errors import ConventionError, DataError, PippinError, UnknownName

TABLE_4 = {
    "Fold1": ("123", "4", "5"),
    "Fold2": ("234", "5", "1"),
    "Fold3": ("345", "1", "2"),
    "Fold4": ("451", "2", "3"),
    "Fold5": ("512", "3", "4"),
}


@pytest.mark.parametrize("name", TABLE_4)
def test_folds_rotate_as_in_table_4(name: str) -> None:
    data = make_dataset(queries=10, documents=4)
    fold = make_folds(data)[name]
    assert fold.name == name
    for part, numbers in zip((fold.train, fold.vali, fold.test), TABLE_4[name], strict=True):
        expected = [data.query_ids[2 * (int(s) - 1) + i] for s in numbers for i in (0, 1)]
        assert list(part.query_ids) == expected


@pytest.mark.parametrize(
    ("queries", "cut", "sizes"),
    [
        (106, "floor", [21, 21, 21, 21, 22]),
        (784, "ceil", [157, 157, 157, 157, 156]),
        (1692, "ceil", [339, 339, 339, 339, 336]),
        (9, "even", [2, 2, 2, 2, 1]),
        (5, "ceil", [1, 1, 1, 1, 1]),
    ],
)
def test_parts_have_the_published_sizes(queries: int, cut: str, sizes: list[int]) -> None:
    parts = cut_queries(queries, cut=cut)  # type: ignore[arg-type]
    assert [len(part) for part in parts] == sizes
    assert np.concatenate(parts).tolist() == list(range(queries))


def test_a_seed_draws_by_lot_and_repeats() -> None:
    first, second, other = (cut_queries(50, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))
    assert sorted(np.concatenate(first).tolist()) == list(range(50))
    assert np.concatenate(first).tolist() != list(range(50))


@pytest.mark.parametrize("seed", [None, 7])
def test_every_part_has_its_share_of_every_task(seed: int | None) -> None:
    tasks = ["td"] * 7 + ["hp"] * 11 + ["np"] * 6
    parts = cut_queries(24, seed=seed, tasks=tasks)
    assert sorted(np.concatenate(parts).tolist()) == list(range(24))
    assert {len(part) for part in parts} <= {4, 5}
    for task in ("td", "hp", "np"):
        shares = [sum(tasks[i] == task for i in part) for part in parts]
        assert max(shares) - min(shares) <= 1


def test_more_or_fewer_parts_than_five() -> None:
    folds = make_folds(make_dataset(queries=7, documents=3), k=3)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold3"]
    assert len(folds) == 3
    for fold in folds:
        assert sorted((*fold.train.query_ids, *fold.vali.query_ids, *fold.test.query_ids)) == sorted(
            folds.data.query_ids
        )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"queries": 4}, "4 queries cannot be cut into 5 folds"),
        ({"queries": 9, "k": 2}, "folds need at least 3 parts"),
        ({"queries": 6, "cut": "ceil"}, "6 queries in parts of 2 give fewer than 5 parts; use cut='even'"),
        ({"queries": 6, "cut": "flor"}, "no cut is called 'flor'; did you mean floor"),
        ({"queries": 6, "tasks": ["a"]}, "1 tasks for 6 queries"),
    ],
)
def test_unsplittable_data_are_reported(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(PippinError, match=sentence):
        cut_queries(**options)  # type: ignore[arg-type]
    assert issubclass(ConventionError, PippinError)


def test_an_unknown_fold_or_part_is_reported() -> None:
    folds = make_folds(make_dataset(queries=5, documents=3))
    with pytest.raises(DataError, match="no fold 'Fold6'; the folds are Fold1"):
        folds["Fold6"]
    with pytest.raises(DataError, match="has no part 'dev'; it has train, vali, test"):
        folds[0]["dev"]


@pytest.mark.parametrize("version", ["Feature-min", "QueryLevelNorm"])
def test_written_folds_load_as_published_ones(tmp_path: Path, version: str) -> None:
    folds = make_folds(make_dataset(queries=8, documents=5), seed=3)
    files = write_folds(folds, tmp_path / "made", version)
    assert len(files) == 15
    assert all(file.is_file() for file in files)
    loaded = read_folds(tmp_path / "made")
    for made in folds:
        for part in ("train", "vali", "test"):
            again = loaded[made.name][part]
            assert again.query_ids == made[part].query_ids
            np.testing.assert_allclose(again.features, made[part].features, atol=5e-7)
            assert again.labels.tolist() == made[part].labels.tolist()


def test_an_unknown_version_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no version is called 'norm'"):
        write_folds(make_folds(make_dataset(queries=5, documents=2)), tmp_path, "norm")


def test_a_constant_column_prints_as_in_either_letor(tmp_path: Path) -> None:
    data = make_dataset(queries=5, documents=2)
    folds = make_folds(replace(data, features=np.zeros((len(data), 1)), feature_names=()))
    write_folds(folds, tmp_path / "3")
    write_folds(folds, tmp_path / "4", replace(LETOR_VERSIONS["QueryLevelNorm"], constant=None))
    printed = [(tmp_path / letor / "Fold1" / "test.txt").read_text().split("\n")[0].split()[2] for letor in "34"]
    assert printed == ["1:0", "1:0.000000"]
