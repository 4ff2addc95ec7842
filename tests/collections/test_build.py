from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pytest

from pippin.collections import build as room
from pippin.collections.build import build_dataset
from pippin.collections.collection import Collection, Document, Link, Query
from pippin.collections.features import extract, extract_many
from pippin.collections.letor import sampling as extraction
from pippin.collections.letor.metadata import read_meta
from pippin.collections.letor.sampling import BuildOptions, SamplingMethod, choose_features
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.fold_files import STORE, index_folder, read_folds, text_digest
from pippin.data.inputs import coerce_judgements
from pippin.data.letor import read_letor
from pippin.data.qrels import Qrels
from pippin.data.quality import read_for_audit
from pippin.data.store import fold_store_text, open_fold_store, read_store
from pippin.data.streaming import LineOffsets, iter_letor_chunks
from pippin.errors import DataError

T = TypeVar("T")
WORDS = ("apple", "pear", "plum", "quince", "cherry", "medlar", "damson", "bullace")


def page(number: int) -> Document:
    words = [WORDS[(number * step) % len(WORDS)] for step in (1, 3, 5)]
    links = (Link(f"http://orchard.org/{(number * 7) % 40}/", words[1]), Link("http://elsewhere.org/", "away"))
    url = f"http://orchard.org/{number}/"
    return Document(f"d{number}", {"title": words[0], "body": " ".join(words * 2), "url": url[7:]}, url, links)


def orchard(tasks: tuple[str, ...] = ("",)) -> Collection:
    pages = [page(number) for number in range(40)]
    queries = tuple(
        Query(f"{task}{i}", f"{WORDS[i]} and the {WORDS[i + 1]}", {"description": WORDS[i]}, task)
        for task in tasks
        for i in range(6)
    )
    qrels = {q.id: {f"d{(i * 5) % 40}": 2, f"d{i * 7 + 1}": 1, "gone": 1} for i, q in enumerate(queries)}
    return Collection(
        "orchard", ("body", "anchor", "title", "url"), lambda: iter(pages), queries, Qrels.from_dict(qrels),
        combined_fields={"whole": ("body", "anchor", "title", "url")}, topics={"d1": "sweet", "d2": "sour"},
    )  # fmt: skip


SMALL = BuildOptions(features="tf@body bm25@title pagerank", sample=12, folds=3)


UNLISTED = ("dataset.json", "checksums.bin")


def content(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_the_folder_is_laid_out_as_letor_does(tmp_path: Path) -> None:
    manifest = build_dataset(orchard(), tmp_path / "out", SMALL)
    out = tmp_path / "out"
    for version, test in (("Feature-null", "testset"), ("Feature-min", "testset"), ("QueryLevelNorm", "test")):
        folds = read_folds(out / version)
        assert len(folds) == 3
        assert (out / version / "Fold1" / f"{test}.txt").is_file()
        assert folds[0].test.features.shape[1] == 3
    data = read_store(out / "binary.pippin")
    assert isinstance(data, Dataset)
    assert data.feature_names == ("tf@body", "bm25@title", "pagerank")
    assert (out / "Meta" / "query-0.xml").is_file()
    assert "| 3 | `pagerank` | D |" in (out / "README.md").read_text()
    assert manifest["tasks"][""]["queries"] == data.queries == 6
    assert json.loads((out / "dataset.json").read_text()) == manifest
    assert manifest["files"] == {name: sha for name, sha in content(out).items() if name not in UNLISTED}
    assert not list(tmp_path.glob("*.building"))


def test_audit_takes_what_build_made(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "one", SMALL)
    data, layout = read_for_audit([str(tmp_path / "one")])
    assert data.query_ids == tuple(map(str, range(6)))
    assert layout is not None
    build_dataset(orchard(("TD", "NP")), tmp_path / "two", SMALL)
    with pytest.raises(DataError, match="several query sets; name one of NP/QueryLevelNorm, TD/QueryLevelNorm"):
        read_for_audit([str(tmp_path / "two")])
    assert len(read_for_audit([str(tmp_path / "two" / "TD")])[0].query_ids) == 6


def test_all_64_features_and_a_folder_per_task(tmp_path: Path) -> None:
    build_dataset(
        orchard(("TD", "NP")), tmp_path / "out", BuildOptions(sample=10, folds=3, meta=False, similarity=True)
    )
    for task in ("TD", "NP"):
        data = read_store(tmp_path / "out" / task / "binary.pippin")
        assert isinstance(data, Dataset)
        assert data.features.shape[1] == 64
        assert (tmp_path / "out" / task / "similarity.txt").is_file()
        assert not (tmp_path / "out" / task / "Meta").exists()


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "a", SMALL)
    build_dataset(orchard(), tmp_path / "b", SMALL)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_features_as_they_fit() -> None:
    assert len(choose_features("auto", orchard())) == 64
    plain = Collection("plain", ("headline", "text"), lambda: iter([]))
    texts = [bound.text for bound in choose_features("auto", plain)]
    assert len(texts) == 30
    assert texts[0] == "tf@headline"
    assert texts[-1].endswith("@text")


@pytest.mark.parametrize("sampling", ["top", "judged", "both"])
def test_sampling_says_what_it_lost_and_added(sampling: SamplingMethod, tmp_path: Path) -> None:
    manifest = build_dataset(orchard(), tmp_path / "out", replace(SMALL, sampling=sampling))
    result = manifest["tasks"][""]["sampling"]
    text = (tmp_path / "out" / "Feature-null" / "Fold1" / "trainingset.txt").read_text()
    assert result["relevant"] == 12
    assert result["unknown"] == {str(i): ["gone"] for i in range(6)}
    assert (result["lost"] == 0) == (sampling != "top")
    assert (result["added"] > 0) == (sampling == "both")
    assert ("added = judged" in text) == (sampling == "both")
    data = read_store(tmp_path / "out" / "binary.pippin")
    assert len(data.labels) == manifest["tasks"][""]["documents"]  # type: ignore[union-attr]
    if sampling == "judged":
        assert len(data.labels) == 12  # type: ignore[union-attr]


def test_the_ceiling_of_every_re_ranking_is_reported(tmp_path: Path) -> None:
    full = build_dataset(orchard(), tmp_path / "all", replace(SMALL, sampling="both"))["tasks"][""]
    assert full["sampling"]["lost"] == 0
    few = build_dataset(orchard(), tmp_path / "few", replace(SMALL, sample=2))["tasks"][""]
    sampling, result = few["sampling"], few["upper_bounds"]
    assert sampling["lost"] > 0
    # Each query has two relevant documents in the collection and a third that is gone: a perfect MAP is 2/3.
    assert full["upper_bounds"]["judged"]["MAP"] == pytest.approx(2 / 3)
    assert full["upper_bounds"]["sample"]["MAP"] == pytest.approx(1.0)
    assert result["judged"]["MAP"] == pytest.approx((sampling["relevant"] - sampling["lost"]) / (3 * 6))
    card = (tmp_path / "few" / "README.md").read_text()
    assert "Upper bounds of any re-ranking of the samples" in card
    assert f"{result['judged']['NDCG@10']:.4f}" in card


def test_documents_stand_in_the_order_of_their_ids(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "out", SMALL)
    data = read_store(tmp_path / "out" / "binary.pippin")
    assert isinstance(data, Dataset)
    assert data.document_ids is not None
    first = [int(name[1:]) for name in data.document_ids[: int(data.offsets[1])]]
    assert first == sorted(first)


def single(fields: tuple[str, ...] = ("text",)) -> Collection:
    """A collection with one field of text."""
    pages = [Document(f"d{i}", {fields[0]: " ".join(page(i).fields["body"].split())}) for i in range(40)]
    return replace(orchard(), fields=fields, combined_fields={}, iter_documents=lambda: iter(pages))


@pytest.mark.parametrize("features", ["auto", "bm25@text tf@text", "bm25@whole"])
def test_one_stream_is_the_whole(features: str, tmp_path: Path) -> None:
    manifest = build_dataset(single(), tmp_path / "out", replace(SMALL, features=features))
    assert all(name.endswith("@text") for name in manifest["features"])
    assert manifest["tasks"][""]["queries"] == 6


@pytest.mark.parametrize(("unjudged", "queries"), [("drop", 6), ("keep", 7)])
def test_unjudged_queries(unjudged: Literal["drop", "keep"], queries: int, tmp_path: Path) -> None:
    collection = orchard()
    more = (*collection.queries, Query("new", "apple"))
    manifest = build_dataset(replace(collection, queries=more), tmp_path / "out", replace(SMALL, unjudged=unjudged))
    task = manifest["tasks"][""]
    assert (task["queries"], task["sampling"]["unjudged"]) == (queries, ["new"])
    assert "new" not in task["sampling"]["empty"]


def test_judgements_that_know_none_of_the_documents(tmp_path: Path) -> None:
    foreign = Qrels.from_dict({str(i): {f"x{i}": 1, f"y{i}": 0} for i in range(6)})
    with pytest.raises(DataError, match=r"judged x0, y0, x1 …, documents d0, d1, d2 …"):
        build_dataset(replace(orchard(), qrels=foreign), tmp_path / "out", SMALL)
    assert not (tmp_path / "out").exists()


def test_a_field_that_no_topic_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no topic of orchard has the field 'narrative'; they have description"):
        build_dataset(orchard(), tmp_path / "out", replace(SMALL, query_field="narr"))


def test_uninformative_features_are_reported_and_can_be_dropped(tmp_path: Path) -> None:
    copied = [replace(page(i), fields={**page(i).fields, "copy": page(i).fields["body"]}) for i in range(40)]
    fields = ("body", "anchor", "title", "url", "copy", "blank")
    collection = replace(orchard(), fields=fields, iter_documents=lambda: iter(copied))
    recipe = replace(SMALL, features="tf@body bm25@title tf@copy tf@blank")
    manifest = build_dataset(collection, tmp_path / "out", recipe)
    assert manifest["useless"] == {"tf@copy": "a copy of tf@body", "tf@blank": "one value only"}
    assert len(manifest["features"]) == 4
    fewer = build_dataset(collection, tmp_path / "out", replace(recipe, drop_uninformative=True))
    assert fewer["features"] == ["tf@body", "bm25@title"]
    assert read_folds(tmp_path / "out" / "Feature-min")[0].test.features.shape[1] == 2


def test_a_query_without_words_and_one_without_documents_are_reported(tmp_path: Path) -> None:
    collection = orchard()
    queries = (*collection.queries, Query("silent", "and the of"), Query("strange", "zebra"))
    manifest = build_dataset(replace(collection, queries=queries), tmp_path / "out", replace(SMALL, unjudged="keep"))
    result = manifest["tasks"][""]["sampling"]
    assert result["wordless"] == ["silent"]
    assert result["without"] == ["strange"]
    assert manifest["tasks"][""]["queries"] == 6


def test_another_field_of_the_topics(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "out", replace(SMALL, query_field="description"))
    assert "<termnum>1</termnum>" in (tmp_path / "out" / "Meta" / "query-0.xml").read_text()


@pytest.mark.parametrize("name", ["trainingset.txt", "../Fold1/trainingset.txt"])
def test_a_file_knows_its_data_set_also_from_within_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_dataset(orchard(), tmp_path / "out", SMALL)
    monkeypatch.chdir(tmp_path / "out" / "Feature-min" / "Fold1")
    assert coerce_judgements(name).feature_names == ("tf@body", "bm25@title", "pagerank")  # type: ignore[union-attr]
    text = Path(name).read_bytes()
    Path(name).write_bytes(text.replace(b"1:", b"1:9", 1))
    with pytest.raises(DataError, match=r"this data set is damaged: Feature-min/Fold1/trainingset.txt"):
        coerce_judgements(name)


def test_every_file_of_a_built_data_set_is_verified_when_it_is_read(tmp_path: Path) -> None:
    out = tmp_path / "out"
    build_dataset(orchard(), out, SMALL)
    text = out / "Feature-min" / "Fold2" / "trainingset.txt"
    names = coerce_judgements(text).feature_names  # type: ignore[union-attr]
    assert names == ("tf@body", "bm25@title", "pagerank")
    full = text.read_bytes()
    place = full.index(b"1:") + 2
    text.write_bytes(full[:place] + b"9" + full[place + 1 :])
    for read in (coerce_judgements, lambda file: list(iter_letor_chunks(file, LineOffsets()))):
        with pytest.raises(DataError, match=r"out: this data set is damaged: Feature-min/Fold2/trainingset.txt: bytes"):
            read(text)
    shutil.copy(text, tmp_path / "edited.txt")
    assert coerce_judgements(tmp_path / "edited.txt") is not None, "elsewhere it is a file as any"
    text.write_bytes(full)
    (out / "Feature-min" / "mine.txt").write_bytes(full)
    assert coerce_judgements(out / "Feature-min" / "mine.txt") is not None, "a file that was not built"
    manifest = out / "dataset.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"pagerank"', b'"pagerang"'))
    with pytest.raises(DataError, match=r"damaged: the checksum of dataset.json does not match"):
        coerce_judgements(text)


def test_a_data_set_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text(
        json.dumps({"format": "pippin data set", "schema": 1, "features": ["tf@body"]}, indent=1)
    )
    (tmp_path / "data.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    for read in (lambda: coerce_judgements(tmp_path / "data.txt"), lambda: room.read_manifest(tmp_path)):
        with pytest.raises(DataError, match="an earlier version, which cannot be verified: build it again"):
            read()


@pytest.mark.parametrize("name", [".lock", "parts", "Feature-min", "Meta/query-0.xml", "index", "plan.json"])
def test_links_in_the_folder_of_a_build_are_not_followed(name: str, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years of work")
    place = tmp_path / "out.building" / name
    place.parent.mkdir(parents=True)
    place.symlink_to(precious / "thesis" if "." in name else precious)
    for resume in (False, True):
        with pytest.raises(DataError, match="this is a symbolic link; Pippin does not write through links"):
            build_dataset(orchard(), tmp_path / "out", SMALL, resume=resume)
    assert [file.read_text() for file in precious.iterdir()] == ["years of work"]


def test_a_build_killed_between_its_renames_leaves_the_old_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_dataset(orchard(), tmp_path / "out", SMALL)
    before = content(tmp_path / "out")
    rename = os.rename

    def gone(source: Path, target: Path) -> None:
        if source.name in ("out.building", ".out.building.old"):  # nor can anything be undone, as after a kill
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", gone)
    with pytest.raises(KeyboardInterrupt):
        build_dataset(orchard(), tmp_path / "out", SMALL)
    monkeypatch.undo()
    assert not (tmp_path / "out").exists()
    assert room.is_built(tmp_path / "out")
    assert content(tmp_path / "out") == before


def test_a_damaged_stretch_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_dataset(orchard(), tmp_path / "whole", SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(room, "write_store", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build_dataset(orchard(), tmp_path / "out", SMALL)
    (part,) = (tmp_path / "out.building" / "parts").iterdir()
    damaged = bytearray(part.read_bytes())
    damaged[-30] ^= 1
    part.write_bytes(damaged)
    build_dataset(orchard(), tmp_path / "out", SMALL, resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_resume_goes_on_and_ends_in_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_dataset(orchard(), tmp_path / "whole", SMALL)
    monkeypatch.setattr(room, "BATCH_QUERIES", 2)
    calls: list[int] = []

    def dying(*given: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return extract_many(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(extraction, "extract_many", dying)
    with pytest.raises(KeyboardInterrupt):
        build_dataset(orchard(), tmp_path / "out", SMALL)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(room, "build_index", None)  # the index is there, and not built again
    build_dataset(orchard(), tmp_path / "out", SMALL, resume=True)
    assert len(calls) == 2 + 2  # the first of three stretches was kept
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_resume_does_not_trust_other_documents_or_another_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(extraction, "extract_many", fail)
        with pytest.raises(KeyboardInterrupt):
            build_dataset(orchard(), tmp_path / "out", SMALL)
    changed = [replace(page(n), fields={**page(n).fields, "body": "apple"}) for n in range(40)]
    other = replace(orchard(), iter_documents=lambda: iter(changed))
    build_dataset(other, tmp_path / "out", SMALL, resume=True)
    build_dataset(other, tmp_path / "afresh", SMALL)
    assert content(tmp_path / "out") == content(tmp_path / "afresh")


def test_a_full_disk_leaves_the_old_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_dataset(orchard(), tmp_path / "out", SMALL)
    before = content(tmp_path / "out")

    def full(*given: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(room, "write_folds", full)
    with pytest.raises(DataError, match="No space left on device"):
        build_dataset(orchard(), tmp_path / "out", replace(SMALL, sample=5))
    assert content(tmp_path / "out") == before


def test_other_folders_are_not_replaced_by_build(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="choose another name"):
        build_dataset(orchard(), tmp_path / "out", SMALL)


def test_concurrent_builds_of_the_same_data_set(tmp_path: Path) -> None:
    (tmp_path / "out.building").mkdir()
    with (tmp_path / "out.building" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another process is building"):
            build_dataset(orchard(), tmp_path / "out", SMALL)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"queries": ()}, "has no queries"),
        ({"qrels": None}, "has no judgements"),
        ({"fields": ("body",), "combined_fields": {}}, "needs the field 'title'"),
    ],
)
def test_collections_that_cannot_be_built(change: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises((DataError, ValueError), match=sentence):
        build_dataset(replace(orchard(), **change), tmp_path / "out", SMALL)  # type: ignore[arg-type]


def test_sampled_features_equal_those_from_the_meta_information(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "out", replace(SMALL, features="ohsumed@title+body+whole"))
    data = read_store(tmp_path / "out" / "binary.pippin")
    assert isinstance(data, Dataset)
    meta = read_meta(tmp_path / "out" / "Meta", streams=("body", "anchor", "title", "url", "whole"))
    again = np.concatenate([extract(value, "ohsumed@title+body+whole") for value in meta])
    np.testing.assert_array_equal(again, data.features)


@pytest.mark.parametrize("seed", [None, 3])
def test_stores_of_versions_equal_their_text(tmp_path: Path, seed: int | None) -> None:
    collection = orchard(("TD", "NP"))
    build_dataset(collection, tmp_path / "out", replace(SMALL, features="auto", seed=seed))
    for task in ("TD", "NP"):
        for version in ("Feature-null", "Feature-min", "QueryLevelNorm"):
            folder = tmp_path / "out" / task / version
            stored = open_fold_store(folder / STORE)
            texts, source = index_folder(folder)
            assert fold_store_text(folder / STORE) == text_digest(texts, source)
            read = texts.parse()
            for fold in read:
                for part in fold.parts:
                    assert stored.digest(fold.name, part) == digest(fold[part]) == digest(stored[fold.name][part])
            assert read_folds(folder).data.features.tobytes() == stored.data.features.tobytes()
    shutil.copytree(tmp_path / "out" / "TD" / "QueryLevelNorm", tmp_path / "copy")
    changed = tmp_path / "copy" / "Fold1" / "test.txt"
    changed.write_text("3" + changed.read_text()[1:])
    assert read_folds(tmp_path / "copy")["Fold1"].test.labels[0] == 3  # and not what the store says


def test_the_text_files_know_their_features_by_name(tmp_path: Path) -> None:
    build_dataset(orchard(("TD", "NP")), tmp_path / "out", SMALL)
    test = read_letor(tmp_path / "out" / "TD" / "QueryLevelNorm" / "Fold1" / "test.txt")
    assert test.feature_names == ("tf@body", "bm25@title", "pagerank")
    narrow = tmp_path / "out" / "narrow.txt"
    narrow.write_text("1 qid:1 1:2\n")
    assert read_letor(narrow).feature_names == ("1",)


class SerialExecutor:
    """An executor that works in this process."""

    def starmap(self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        return (function(*values) for values in arguments)


@pytest.mark.parametrize("tasks", [("",), ("td", "hp")])
def test_a_build_by_workers_has_the_bytes_of_one_machine(
    tasks: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "BATCH_QUERIES", 2)
    recipe = replace(SMALL, features="gov", similarity=True)
    build_dataset(orchard(tasks), tmp_path / "one", recipe)
    build_dataset(orchard(tasks), tmp_path / "many", recipe, executor=SerialExecutor())
    assert content(tmp_path / "many") == content(tmp_path / "one")
