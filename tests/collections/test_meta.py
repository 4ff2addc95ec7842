"""LETOR's meta-information files: published bytes, indentation and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.collections.features.strategies import COLLECTION, draw_candidates
from tests.collections.six_pages import write_meta

from pippin.collections.collection import Collection, Document
from pippin.collections.features import extract, parse_features
from pippin.collections.index.index import build_index
from pippin.collections.index.statistics import Candidates
from pippin.collections.letor.metadata import (
    CollectionInfo,
    Meta,
    StreamInfo,
    read_info,
    read_meta,
    read_query,
    write_info,
    write_query,
)
from pippin.data.dataset import Dataset
from pippin.data.folds import cut_queries, make_folds, write_folds
from pippin.data.normalisation import make_versions, write_version
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn


@pytest.fixture(scope="module")
def ohsumed_folder(shared: Path) -> Path:
    folder = shared / "data" / "OHSUMED"
    if not (folder / "Meta").is_dir():
        pytest.skip("OHSUMED is not here")
    return folder


@pytest.fixture(scope="module")
def published_meta(ohsumed_folder: Path) -> tuple[Meta, list[Candidates]]:
    meta = read_meta(ohsumed_folder / "Meta")
    return meta, list(meta)


def as_dataset(queries: list[Candidates], features: str) -> Dataset:
    expected = parse_features(features)
    return Dataset(
        np.vstack([extract(candidates, expected) for candidates in queries]),
        np.concatenate([candidates.labels for candidates in queries]),
        np.cumsum([0, *map(len, queries)]),
        tuple(candidates.query.id for candidates in queries),
        StringColumn.of(document for candidates in queries for document in candidates.document_ids),
        tuple(bound.text for bound in expected),
    )


def add_published_whitespace(file: Path) -> None:
    """Add the traces of hand-editing that the published file has after all streams but the last."""
    text = file.read_bytes().decode()
    last = text.rindex("  <stream>\r\n")
    head = text[:last].replace("</totaltermnum>\r\n", "</totaltermnum>\r \r\n")
    tail = text[last:].replace("  <stream>\r\n", "  <stream> \n", 1)
    file.write_bytes((head.replace("</stream>\r\n", "</stream> \r\n") + tail).encode())


def test_the_107_published_files_are_written_again(
    ohsumed_folder: Path, published_meta: tuple[Meta, list[Candidates]], tmp_path: Path
) -> None:
    meta, queries = published_meta
    written = write_meta(tmp_path, meta.info, queries)
    add_published_whitespace(tmp_path / "collectioninfo.xml")
    assert len(written) == 107
    assert [
        file.name for file in written if file.read_bytes() != (ohsumed_folder / "Meta" / file.name).read_bytes()
    ] == []


def test_the_45_features_in_three_versions_are_the_published_bytes(
    ohsumed_folder: Path, published_meta: tuple[Meta, list[Candidates]], tmp_path: Path
) -> None:
    data = as_dataset(published_meta[1], "ohsumed")
    for version, numbers in make_versions(data).items():
        parts = cut_queries(numbers.queries, cut="floor")
        for part, name in zip(parts, ("S1", "S2", "S3", "S4", "S5"), strict=True):
            constant = "0" if version == "QueryLevelNorm" else None
            write_version(numbers.select(part), tmp_path / "part.txt", constant=constant)
            assert (tmp_path / "part.txt").read_bytes() == (ohsumed_folder / version / f"{name}.txt").read_bytes()


def test_the_fold_files_are_the_parts_one_after_the_other(
    ohsumed_folder: Path, published_meta: tuple[Meta, list[Candidates]], tmp_path: Path
) -> None:
    norm = make_versions(as_dataset(published_meta[1], "ohsumed"))["QueryLevelNorm"]
    files = write_folds(make_folds(norm, cut="floor"), tmp_path)
    parts = [(ohsumed_folder / "QueryLevelNorm" / f"S{i}.txt").read_bytes() for i in range(1, 6)]
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
        np.array_equal(getattr(one.fields[s], name), getattr(two.fields[s], name)) for s in one.fields for name in names
    )


def test_written_files_are_read_back(folder: Path) -> None:
    meta = read_meta(folder)
    assert meta.info == INFO
    first, second = meta
    assert len(meta) == 2
    assert same(first, draw_candidates(4, ("a", "b&c", "a"), seed=2))
    assert same(second, draw_candidates(3, (), seed=3))
    assert first.fields["title"].average == 60.0


def test_a_query_without_documents_is_read(folder: Path) -> None:
    write_query(draw_candidates(0, ("a",)), INFO, folder / "query-2.xml")
    assert len(read_query(folder / "query-2.xml", INFO)) == 0


def test_the_average_has_six_significant_digits(folder: Path) -> None:
    info = CollectionInfo("o", 348_566, (StreamInfo("title", "Title", 1, 2_770_138), *INFO.streams[1:]))
    assert read_query(folder / "query-1.xml", info).fields["title"].average == 7.94724


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


def replace_text(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (replace_text("<docnum>4<", "<docnum>5<"), r":\d+: expected <doc>, found </docinfo>"),
        (replace_text("<docnum>4<", "<docnum>3<"), "expected </docinfo>, found <doc>"),
        (replace_text("<docnum>4<", f"<docnum>{10**15}<"), "expected <doc>, found </docinfo>"),
        (replace_text("<docnum>4<", "<docnum>-4<"), "<docnum> must not be negative: -4"),
        (replace_text("<docnum>4<", "<docnum>four<"), "<docnum> must be a whole number, got 'four'"),
        (replace_text("<termnum>3</termnum>", ""), "the file has no <termnum>"),
        (replace_text("<label>", "<grade>"), r":\d+: expected <label>, found <grade>"),
        (replace_text("<termfrequency>", "<termfrequency>x"), r":\d+: <termfrequency> must be a whole number, got 'x"),
        (replace_text("<length>", "<length>-"), "a count must not be negative: -"),
        (replace_text("<length>", f"<length>{10**30}"), "a number is too large"),
        (replace_text("<uniquelength>", "<uniquelength>99"), r":\d+: the counts of document d\d contradict its length"),
        (replace_text("<termid>2<", "<termid>3<"), "the term ids are not 1 to 3"),
        (replace_text("<streamfrequency>", "<streamfrequency>999"), "more documents than occurrences"),
        (lambda text: text[: len(text) // 2], "found the end of the file"),
        (lambda text: text + "<query>", "expected the end of the file, found <query>"),
        (lambda text: "nothing", "the file has no <termnum>"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_reported_with_its_line(folder: Path, change: Callable[[str], str], sentence: str) -> None:
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
        ("<streamnum>3<", "<streamnum>4<", "expected <stream>, found </collectioninfo>"),
        ("<streamid>2<", "<streamid>7<", "stream 2 has the id 7"),
        (f"<docnum>{COLLECTION}<", "<docnum>0<", "the collection has no document"),
        (">abstract<", ">title<", "two streams have the same name"),
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

    from pippin.collections.collection import Query

    candidates = replace(draw_candidates(1, ("a",)), query=Query("a/b", "a"))
    with pytest.raises(DataError, match="cannot be part of a file name"):
        write_meta(tmp_path, INFO, [candidates])


def test_an_index_gives_its_counts_and_a_stream_without_description_its_name(tmp_path: Path) -> None:
    pages = [Document("a", {"title": "red red pear", "text": "plum"}), Document("b", {"title": "pear"})]
    collection = Collection("o", ("title", "text"), lambda: iter(pages), descriptions={"title": "Title"})
    streams = (StreamInfo("title", "Title", 2, 4), StreamInfo("text", "text", 1, 1))
    assert CollectionInfo.of(build_index(collection, tmp_path / "index")) == CollectionInfo("o", 2, streams)
