"""DATA arguments: accepted inputs and errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.small import split_into_folds, whole, write_fold, write_folds
from tests.collections.test_build import orchard

from pippin.benchmarks.data_checks import audit_folds, check_data, check_digests
from pippin.benchmarks.inputs import FoldRef, Input, InputOptions, cache_folds, resolve_inputs
from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.folds import PARTS
from pippin.data.letor import write_letor
from pippin.data.store import write_store
from pippin.errors import DataError, PippinError


def check_inputs(path: Path, **options: bool) -> None:
    list(check_data(resolve_inputs([str(path)]), path.parent / "cache", **options))


def test_folds_of_a_file_are_a_rotation() -> None:
    data = whole(23)
    folds = split_into_folds(data, 5)
    assert [fold.test.queries for fold in folds] == [4, 5, 5, 5, 4]  # 5 + 5 + 5 + 4 + 4, the last part tests first
    assert {query for fold in folds for query in fold.test.query_ids} == set(data.query_ids)
    for i, fold in enumerate(folds):
        assert fold.vali.query_ids == folds[i - 1].test.query_ids
        assert {*fold.train.query_ids, *fold.vali.query_ids, *fold.test.query_ids} == set(data.query_ids)
        assert fold.train.queries + fold.vali.queries + fold.test.queries == 23


def test_a_file_a_folder_of_folds_and_one_of_fifths_are_the_same_data(tmp_path: Path) -> None:
    data = whole(20)
    write_folds(tmp_path / "folds", data)
    write_letor(data, tmp_path / "all.txt")
    (tmp_path / "fifths").mkdir()
    for i in range(5):
        write_letor(data.select(slice(4 * i, 4 * i + 4)), tmp_path / "fifths" / f"S{i + 1}.txt")
    kinds = [resolve_inputs([str(tmp_path / name)])[0].read() for name in ("folds", "all.txt", "fifths")]
    for item, two, three in zip(*kinds, strict=True):
        for a, b, c in ((item[part], two[part], three[part]) for part in PARTS):
            assert a.query_ids == b.query_ids == c.query_ids
            assert np.array_equal(a.features, b.features)
            assert np.array_equal(a.features, c.features)


def test_data_sets_have_names(tmp_path: Path) -> None:
    (tmp_path / "MQ2008").mkdir()
    write_folds(tmp_path / "mine" / "QueryLevelNorm")
    write_letor(whole(), tmp_path / "all.txt")
    for i in range(5):
        write_letor(whole(4), tmp_path / "MQ2008" / f"S{i + 1}.txt")
    arguments = [tmp_path / "mine" / "QueryLevelNorm", tmp_path / "all.txt", tmp_path / "MQ2008"]
    result = resolve_inputs([*map(str, arguments), f"other={tmp_path / 'all.txt'}"])
    assert [source.data for source in result] == ["mine", "all", "mq2008", "other"]
    with pytest.raises(DataError, match=r"are both named all; write NAME="):
        resolve_inputs([str(tmp_path / "all.txt")] * 2)


def test_missing_input_leaves_no_output(tmp_path: Path) -> None:
    nothing = str(tmp_path / "nothing")
    with pytest.raises(DataError, match="no such file, folder or collection"):
        resolve_inputs([nothing])
    for command in (
        ["bench", nothing, "-o", str(tmp_path / "bench")],
        ["study", "learning-curve", nothing, "-o", str(tmp_path / "curve")],
        ["study", "feature-curve", nothing, "-o", str(tmp_path / "select")],
        ["board", "new", "pippins", "--data", nothing, "--folder", str(tmp_path / "boards")],
    ):
        assert main(command) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("folds", "sentence"), [(2, "found 2 folds; at least 3"), (40, "30 queries cannot be cut into 40 folds")]
)
def test_too_few_or_too_many_folds(tmp_path: Path, folds: int, sentence: str) -> None:
    write_letor(whole(), tmp_path / "all.txt")
    with pytest.raises(PippinError, match=sentence):
        list(check_data(resolve_inputs([str(tmp_path / "all.txt")], InputOptions(folds)), tmp_path / "cache"))


def test_fifths_that_share_a_query(tmp_path: Path) -> None:
    for i in range(5):
        write_letor(whole(4), tmp_path / f"S{i + 1}.txt")
    with pytest.raises(DataError, match="a query is in more than one of S1, S2 …"):
        check_inputs(tmp_path)


def test_judgements_are_no_data_to_learn_from(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    with pytest.raises(DataError, match="expected features to learn from"):
        check_inputs(tmp_path / "qrels.txt")


def test_one_fold_is_refused_unless_allowed(tmp_path: Path) -> None:
    write_fold(tmp_path / "one" / "Fold1", *split_into_folds(whole(), 3)[0])
    with pytest.raises(DataError, match="one has one fold"):
        check_inputs(tmp_path / "one")
    check_inputs(tmp_path / "one", allow_one_fold=True)


def test_nothing_relevant(tmp_path: Path) -> None:
    data = whole()
    write_folds(tmp_path / "none", replace(data, labels=np.zeros(len(data), np.int32)))
    with pytest.raises(DataError, match="no document of none is relevant"):
        check_inputs(tmp_path / "none")


def test_folds_with_different_features(tmp_path: Path) -> None:
    data = whole()
    narrow = replace(data, features=data.features[:, :4].copy(), feature_names=())
    folds = [split_into_folds(data, 5)[0], *split_into_folds(narrow, 5)[1:]]
    for i, parts in enumerate(folds):
        write_fold(tmp_path / "odd" / f"Fold{i + 1}", *parts)
    with pytest.raises(DataError, match="Fold1 and Fold2 of odd differ in the number of their features"):
        check_inputs(tmp_path / "odd")


def leaky(folder: Path, rename: str = "") -> Path:
    """Folds of which the first tests on a training query, perhaps under another name."""
    first, *others = split_into_folds(whole(), 5)
    stolen, test = first.train.select([0]), first.test
    leaked = Dataset(
        np.concatenate((stolen.features, test.features)), np.concatenate((stolen.labels, test.labels)),
        np.concatenate((stolen.offsets, test.offsets[1:] + len(stolen))),
        (rename or stolen.query_ids[0], *test.query_ids),
    )  # fmt: skip
    for i, parts in enumerate([first._replace(test=leaked), *others]):
        write_fold(folder / f"Fold{i + 1}", *parts)
    return folder


@pytest.mark.parametrize(
    ("rename", "sentence"),
    [("", "leak: query 10000 is in both the training and the test part of leak Fold1"),
     ("7", "leak: test query 7 of leak Fold1 has the same documents as training query 10000")],
)  # fmt: skip
def test_a_leak_is_refused_unless_allowed(tmp_path: Path, rename: str, sentence: str) -> None:
    leaky(tmp_path / "leak", rename)
    with pytest.raises(DataError, match=sentence):
        check_inputs(tmp_path / "leak")
    check_inputs(tmp_path / "leak", allow_leak=True)


def test_data_that_change_while_a_run_goes_on(tmp_path: Path) -> None:
    write_letor(whole(), tmp_path / "all.txt")
    (source,) = resolve_inputs([str(tmp_path / "all.txt")])
    ((_, (fold, *_)),) = check_data([source], tmp_path / "cache")
    check_digests(fold.ref, fold.ref.read(), fold.digests)
    with pytest.raises(DataError, match="the train part of all Fold1 has changed"):
        check_digests(fold.ref, split_into_folds(whole(seed=2), 5)[0], fold.digests)


def test_the_audit_sees_every_query_once_and_the_rotation(tmp_path: Path) -> None:
    write_folds(tmp_path / "folds", whole(30))
    audited = audit_folds(resolve_inputs([str(tmp_path / "folds")])[0].read())
    assert audited["about"].startswith("30 queries")
    keys = {finding["key"] for finding in audited["findings"]}
    assert "empty" in keys
    assert not keys & {"leak", "rotation", "feature_numbers"}


def test_a_store_is_made_once_and_again_where_it_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = resolve_inputs([str(write_folds(tmp_path / "small"))])
    folds, store = cache_folds(source, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == [store]
    with monkeypatch.context() as patched:
        patched.setattr("pippin.data.fold_files.parse_queries", None)  # never again
        again, place = cache_folds(source, tmp_path / "cache")
        assert place == store
        assert again.digests == folds.digests
    for damaged in ("folds.json", "data.pippin/features.npy"):
        content = bytearray((store / damaged).read_bytes())
        content[-9] ^= 1
        (store / damaged).write_bytes(content)
        mended, _ = cache_folds(source, tmp_path / "cache")
        assert mended.digests == folds.digests
        assert digest(mended["Fold1"].train) == folds.digest("Fold1", "train")
    changed = tmp_path / "small" / "Fold3" / "vali.txt"
    changed.write_text(changed.read_text().replace(" 1:", " 1:0", 1))
    _, other = cache_folds(source, tmp_path / "cache")
    assert other != store


def test_store_is_memory_mapped_in_place(tmp_path: Path) -> None:
    write_store(whole(), tmp_path / "mine.pippin")
    (source,) = resolve_inputs([str(tmp_path / "mine.pippin")])
    assert (source.data, source.layout) == ("mine", "store")
    folds, store = cache_folds(source, tmp_path / "cache")
    assert (str(store), len(folds)) == (source.path, 5)
    assert not (tmp_path / "cache").exists()
    parts = FoldRef.from_dict(FoldRef(source, "Fold2", str(store)).to_dict()).read()
    assert parts.test.query_ids == folds["Fold2"].test.query_ids


def test_data_are_read_if_the_store_is_not_visible(tmp_path: Path) -> None:
    source = Input("small", "folder", str(write_folds(tmp_path / "small")))
    parts = FoldRef(source, "Fold1", str(tmp_path / "elsewhere")).read()
    assert digest(parts.test) == digest(source.read()["Fold1"].test)


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED/QueryLevelNorm"])
def test_published_data_have_no_leak(shared: Path, tmp_path: Path, name: str) -> None:
    ((_, folds),) = check_data(resolve_inputs([str(shared / "data" / name)]), tmp_path)
    assert [fold.ref.data for fold in folds] == [name.partition("/")[0].lower()] * 5


def test_collections_are_built_once_and_their_tasks_are_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pippin.collections.sources.open_collection", lambda _: orchard(("TD", "NP")))
    options = InputOptions(folds=3, sample=12, cache=tmp_path / "collections")
    inputs = resolve_inputs(["stdlib"], options)
    assert [source.data for source in inputs] == ["orchard-TD", "orchard-NP"]
    assert [list(source.read().queries) for source in inputs] == [["Fold1", "Fold2", "Fold3"]] * 2
    monkeypatch.setattr("pippin.collections.build.build", None)  # never again
    assert resolve_inputs(["stdlib"], options) == inputs
    (folder,) = (tmp_path / "collections").iterdir()
    assert resolve_inputs([str(folder)], options) == inputs
    assert {source.data for source in resolve_inputs([f"mine={folder}"], options)} == {"mine-TD", "mine-NP"}
    assert inputs[0].read()[0].train.feature_names[0] == "tf@body"


def test_a_folder_of_documents_is_a_collection(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    words = [f"apple pear {'plum ' * i}" for i in range(8)]
    text = "".join(f".I {i + 1}\n.T\ntitle {i}\n.W\n{word}\n" for i, word in enumerate(words))
    (tmp_path / "docs" / "all").write_text(text)
    (tmp_path / "docs" / "query.text").write_text("".join(f".I {i}\n.W\nplum pear title\n" for i in (1, 2, 3)))
    (tmp_path / "docs" / "qrels.text").write_text("".join(f"{i} {i} 0 0\n" for i in (1, 2, 3)))
    (source,) = resolve_inputs([str(tmp_path / "docs")], InputOptions(folds=3, cache=tmp_path / "cache"))
    assert (source.data, len(source.read())) == ("docs", 3)
