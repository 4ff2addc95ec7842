"""LETOR's meta-information, read and written: the published bytes, any indentation, and what is wrong with a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.collection.features.drawing import COLLECTION, draw_candidates

from pippin.collection.candidates import Candidates
from pippin.collection.features import extract, parse_features
from pippin.collection.meta import (
    CollectionInfo,
    Meta,
    StreamInfo,
    read_info,
    read_meta,
    read_query,
    write_info,
    write_meta,
    write_query,
)
from pippin.data.dataset import Dataset
from pippin.data.folds import cut_queries, make_folds, write_folds
from pippin.data.texts import Texts
from pippin.data.versions import make_versions, write_version
from pippin.errors import DataError


@pytest.fixture(scope="module")
def ohsumed(shared: Path) -> Path:
    folder = shared / "data" / "OHSUMED"
    if not (folder / "Meta").is_dir():
        pytest.skip("OHSUMED is not here")
    return folder


@pytest.fixture(scope="module")
def published(ohsumed: Path) -> tuple[Meta, list[Candidates]]:
    meta = read_meta(ohsumed / "Meta")
    return meta, list(meta)


def as_dataset(queries: list[Candidates], features: str) -> Dataset:
    wanted = parse_features(features)
    return Dataset(
        np.vstack([extract(candidates, wanted) for candidates in queries]),
        np.concatenate([candidates.labels for candidates in queries]),
        np.cumsum([0, *map(len, queries)]),
        tuple(candidates.query.id for candidates in queries),
        Texts.of(document for candidates in queries for document in candidates.document_ids),
        tuple(bound.text for bound in wanted),
    )


def test_the_107_published_files_are_written_again(
    ohsumed: Path, published: tuple[Meta, list[Candidates]], tmp_path: Path
) -> None:
    meta, queries = published
    written = write_meta(tmp_path, meta.info, queries)
    write_info(meta.info, tmp_path / "collectioninfo.xml", scars=True)
    assert len(written) == 107
    assert [file.name for file in written if file.read_bytes() != (ohsumed / "Meta" / file.name).read_bytes()] == []


def test_the_45_features_in_three_versions_are_the_published_bytes(
    ohsumed: Path, published: tuple[Meta, list[Candidates]], tmp_path: Path
) -> None:
    data = as_dataset(published[1], "ohsumed")
    for version, numbers in make_versions(data).items():
        parts = cut_queries(numbers.queries, cut="floor")
        for part, name in zip(parts, ("S1", "S2", "S3", "S4", "S5"), strict=True):
            constant = "0" if version == "QueryLevelNorm" else None
            write_version(numbers.select(part), tmp_path / "part.txt", constant=constant)
            assert (tmp_path / "part.txt").read_bytes() == (ohsumed / version / f"{name}.txt").read_bytes()


def test_the_fold_files_are_the_parts_one_after_the_other(
    ohsumed: Path, published: tuple[Meta, list[Candidates]], tmp_path: Path
) -> None:
    norm = make_versions(as_dataset(published[1], "ohsumed"))["QueryLevelNorm"]
    files = write_folds(make_folds(norm, cut="floor"), tmp_path)
    parts = [(ohsumed / "QueryLevelNorm" / f"S{i}.txt").read_bytes() for i in range(1, 6)]
    assert len(files) == 15
    assert (tmp_path / "Fold4" / "train.txt").read_bytes() == parts[3] + parts[4] + parts[0]
    assert (tmp_path / "Fold4" / "vali.txt").read_bytes() == parts[1]
    assert (tmp_path / "Fold4" / "test.txt").read_bytes() == parts[2]
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"Fold{i}" for i in range(1, 6)]


INFO = CollectionInfo(
    "orchard <&>",
    COLLECTION,
    tuple(StreamInfo(name, name, 500, COLLECTION * 60) for name in ("title", "abstract", "whole")),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    queries = [draw_candidates(4, ("a", "b&c", "a"), seed=2), draw_candidates(3, (), seed=3)]
    write_meta(tmp_path, INFO, queries[:1])
    write_query(queries[1], INFO, tmp_path / "query-10.xml")
    return tmp_path


def same(one: Candidates, two: Candidates) -> bool:
    names = ("df", "cf", "tf", "length", "unique")
    return (one.words, one.document_ids, one.labels.tolist()) == (
        two.words,
        two.document_ids,
        two.labels.tolist(),
    ) and all(
        np.array_equal(getattr(one.streams[s], name), getattr(two.streams[s], name))
        for s in one.streams
        for name in names
    )


def test_what_is_written_is_read(folder: Path) -> None:
    meta = read_meta(folder)
    assert meta.info == INFO
    first, second = meta
    assert len(meta) == 2
    assert same(first, draw_candidates(4, ("a", "b&c", "a"), seed=2))
    assert same(second, draw_candidates(3, (), seed=3))
    assert first.streams["title"].average == 60.0


def test_a_query_without_documents_is_read(folder: Path) -> None:
    write_query(draw_candidates(0, ("a",)), INFO, folder / "query-2.xml")
    assert len(read_query(folder / "query-2.xml", INFO)) == 0


def test_the_average_has_six_significant_digits(folder: Path) -> None:
    info = CollectionInfo("o", 348_566, (StreamInfo("title", "Title", 1, 2_770_138), *INFO.streams[1:]))
    assert read_query(folder / "query-1.xml", info).streams["title"].average == 7.94724


def test_indentation_and_blank_lines_change_nothing(folder: Path) -> None:
    file = folder / "query-1.xml"
    plain = read_query(file, INFO)
    pretty = re.sub(r"(?m)^", "\t  ", file.read_text()).replace("\n", "\r\n\r\n").lstrip()
    file.write_text("\ufeff" + pretty)
    assert same(read_query(file, INFO), plain)


def test_streams_are_named_by_their_descriptions_or_by_the_caller(folder: Path) -> None:
    streams = tuple(StreamInfo("", text, 1, 1) for text in ("Title", "Title and Abstract", "Extracted title"))
    write_info(CollectionInfo("o", 1, streams), folder / "collectioninfo.xml")
    assert [s.name for s in read_info(folder / "collectioninfo.xml").streams] == ["title", "whole", "extracted_title"]
    named = read_info(folder / "collectioninfo.xml", streams=("x", "y", "z"))
    assert [s.name for s in named.streams] == ["x", "y", "z"]
    with pytest.raises(DataError, match="2 names for 3 streams"):
        read_info(folder / "collectioninfo.xml", streams=("x", "y"))


def test_queries_come_by_number(folder: Path) -> None:
    (folder / "query-9.xml").write_bytes((folder / "query-1.xml").read_bytes())
    assert [file.name for file in read_meta(folder).files] == ["query-1.xml", "query-9.xml", "query-10.xml"]


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (replaced("<docnum>4<", "<docnum>5<"), r":\d+: <doc> is expected and </docinfo> stands here"),
        (replaced("<docnum>4<", "<docnum>3<"), "</docinfo> is expected and <doc> stands here"),
        (replaced("<docnum>4<", f"<docnum>{10**15}<"), "<doc> is expected and </docinfo> stands here"),
        (replaced("<docnum>4<", "<docnum>-4<"), "<docnum> is not negative, as -4 is"),
        (replaced("<docnum>4<", "<docnum>four<"), "<docnum> is a whole number, not 'four'"),
        (replaced("<termnum>3</termnum>", ""), "the file has no <termnum>"),
        (replaced("<label>", "<grade>"), r":\d+: <label> is expected and <grade> stands here"),
        (replaced("<termfrequency>", "<termfrequency>x"), r":\d+: <termfrequency> is a whole number, not 'x"),
        (replaced("<length>", "<length>-"), "a count is not negative, as -"),
        (replaced("<length>", f"<length>{10**30}"), "a number is too large"),
        (replaced("<uniquelength>", "<uniquelength>99"), r":\d+: the counts of document d\d contradict its length"),
        (replaced("<termid>2<", "<termid>3<"), "the term ids do not count from 1 to 3"),
        (replaced("<streamfrequency>", "<streamfrequency>999"), "more documents than it has occurrences"),
        (lambda text: text[: len(text) // 2], "is expected and the file ends here"),
        (lambda text: text + "<query>", "the file should end and <query> stands here"),
        (lambda text: "nothing", "the file has no <termnum>"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_with_its_line(folder: Path, change: Callable[[str], str], sentence: str) -> None:
    file = folder / "query-1.xml"
    changed = change(file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    with pytest.raises(DataError, match=sentence) as raised:
        read_query(file, INFO)
    assert str(raised.value).startswith(str(file))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("<streamnum>3<", "<streamnum>4<", "<stream> is expected and </collectioninfo> stands here"),
        ("<streamid>2<", "<streamid>7<", "stream 2 has the id 7"),
        (f"<docnum>{COLLECTION}<", "<docnum>0<", "a collection has at least one document"),
        (">abstract<", ">title<", "two streams have one name"),
    ],
)
def test_a_damaged_collectioninfo(folder: Path, old: str, new: str, sentence: str) -> None:
    file = folder / "collectioninfo.xml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(DataError, match=sentence):
        read_info(file)


def test_other_bytes_and_no_files_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "query-1.xml").write_bytes(b"<query>\xff</query>")
    with pytest.raises(DataError, match="not UTF-8"):
        read_query(folder / "query-1.xml", INFO)
    for file in folder.glob("query-*.xml"):
        file.unlink()
    with pytest.raises(DataError, match=r"no query-….xml"):
        read_meta(folder)


def test_a_query_id_that_cannot_be_a_file_name_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    from pippin.collection.collection import Query

    candidates = replace(draw_candidates(1, ("a",)), query=Query("a/b", "a"))
    with pytest.raises(DataError, match="cannot be part of a file's name"):
        write_meta(tmp_path, INFO, [candidates])


class Counts:
    def __init__(self) -> None:
        self.name, self.documents, self.streams = "o", 9, ("title", "whole")
        self.descriptions = {"title": "Title", "whole": ""}

    def terms(self, stream: str) -> int:
        return len(stream)

    def total(self, stream: str) -> int:
        return 10 * len(stream)


def test_an_index_tells_its_counts_and_a_stream_without_description_its_name() -> None:
    streams = (StreamInfo("title", "Title", 5, 50), StreamInfo("whole", "whole", 5, 50))
    assert CollectionInfo.of(Counts()) == CollectionInfo("o", 9, streams)
