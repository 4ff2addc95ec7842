"""An index equals its documents however it was built, and damaged indexes do not open."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.tampering import forge

from pippin.cli.main import main
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.index import writer as index_build
from pippin.collections.index.index import Index, build_index, open_index
from pippin.collections.index.storage import FORMAT, ArrayWriter
from pippin.collections.text.analysis import Analyzer
from pippin.errors import DataError, UnknownName

PLAIN = Analyzer(stop="none", stem="none")
UNIONS = {"whole": ("title", "body")}


def collection(pages: list[Document], name: str = "orchard") -> Collection:
    return Collection(
        name, ("title", "body"), lambda: iter(pages), combined_fields=UNIONS, descriptions={"title": "its name"}
    )


def random_pages(documents: int = 700) -> list[Document]:
    generator = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(400)])

    def text(most: int) -> str:
        return " ".join(words[(400 * generator.random(generator.integers(0, most)) ** 3).astype(int)])

    return [Document(f"d{i}", {"title": text(4), "body": text(40)}, f"http://o.org/{i}") for i in range(documents)]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def pages() -> list[Document]:
    return random_pages()


@pytest.fixture(scope="module")
def index(pages: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(collection(pages), tmp_path_factory.mktemp("index") / "it", analysis=PLAIN)


def words_of(page: Document, field: str) -> list[str]:
    return [word for member in UNIONS.get(field, (field,)) for word in page.fields.get(member, "").split()]


@pytest.mark.parametrize("field", ["title", "body", "whole"])
def test_all_counts_are_those_of_the_documents(index: Index, pages: list[Document], field: str) -> None:
    counts = [Counter(words_of(page, field)) for page in pages]
    assert index.lengths(field).tolist() == [c.total() for c in counts]
    assert index.uniques(field).tolist() == [len(c) for c in counts]
    assert index.total_terms(field) == sum(c.total() for c in counts)
    assert index.average_length(field) == index.total_terms(field) / len(pages)
    vocabulary = sorted(set().union(*counts))
    assert index.vocabulary_size(field) == len(vocabulary)
    df, cf = index.term_statistics(field, [*vocabulary, "nowhere"])
    assert df.tolist() == [*(sum(word in c for c in counts) for word in vocabulary), 0]
    assert cf.tolist() == [*(sum(c[word] for c in counts) for word in vocabulary), 0]
    for word in vocabulary[::29]:
        numbers, times = index.postings(field, word)
        assert numbers.tolist() == [i for i, c in enumerate(counts) if word in c]
        assert times.tolist() == [c[word] for c in counts if word in c]
    assert [part.tolist() for part in index.postings(field, "nowhere")] == [[], []]


@pytest.mark.parametrize("field", ["title", "body", "whole"])
def test_tokens_stand_in_order(index: Index, pages: list[Document], field: str) -> None:
    numbers = [3, 0, 699, 3]
    offsets, tokens = index.tokens(field, numbers)
    assert tokens.dtype == np.int32
    results = [[index.vocabulary.at(t) for t in tokens[offsets[i] : offsets[i + 1]].tolist()] for i in range(4)]
    assert results == [words_of(pages[number], field) for number in numbers]
    assert [part.tolist() for part in index.tokens(field, [])] == [[0], []]


def test_index_description(index: Index) -> None:
    assert (index.name, index.documents, index.fields) == ("orchard", 700, ("title", "body", "whole"))
    assert index.descriptions == {"title": "its name", "body": "", "whole": ""}
    assert index.analysis == PLAIN
    assert (index.ids.at(5), index.urls.at(5)) == ("d5", "http://o.org/5")
    assert index.numbers(["d7", "none", "d699", ""]).tolist() == [7, -1, 699, -1]


def test_candidates_carry_every_count(index: Index, pages: list[Document]) -> None:
    numbers = [650, 3, 17, 420]
    result = index.candidates(Query("q", "w0 w5 w0 nowhere"), numbers, [1, 0, 2, 0], web="links")
    assert result.words == ("w0", "w5", "w0", "nowhere")
    assert tuple(result.document_ids) == ("d650", "d3", "d17", "d420")
    assert result.labels.tolist() == [1, 0, 2, 0]
    assert (result.numbers is not None and result.numbers.tolist(), result.index, result.web) == (
        numbers,
        index,
        "links",
    )
    for field, counts in result.fields.items():
        here = [words_of(pages[number], field) for number in numbers]
        assert counts.tf.tolist() == [[w.count(word) for w in here] for word in result.words]
        assert counts.length.tolist() == [len(w) for w in here]
        assert counts.unique.tolist() == [len(set(w)) for w in here]
        df, cf = index.term_statistics(field, result.words)
        assert (counts.df.tolist(), counts.cf.tolist()) == (df.tolist(), cf.tolist())
        assert (counts.documents, counts.total) == (700, index.total_terms(field))
        assert counts.average == float(f"{index.average_length(field):.6g}")
        assert counts.positions is not None
        positions = counts.positions()
        distinct = [result.words[row] for row in result.distinct]
        for i, words in enumerate(here):
            part = slice(positions.offsets[i], positions.offsets[i + 1])
            places = list(zip(positions.position[part].tolist(), positions.word[part].tolist(), strict=True))
            assert places == [(at, distinct.index(word)) for at, word in enumerate(words) if word in distinct]


def test_candidates_of_given_words_or_of_none(index: Index) -> None:
    assert index.candidates(Query("q", "w0"), [1], [0], words=["w7"]).words == ("w7",)
    empty = index.candidates(Query("q", "?!"), [1, 2], [0, 0])
    assert empty.fields["body"].tf.shape == (0, 2)
    assert not empty.fields["body"].hits.any()
    assert index.candidates(Query("q", "w0"), [], []).fields["body"].tf.shape == (1, 0)


def test_wrong_questions(index: Index) -> None:
    for wrong in (lambda: index.lengths("bdy"), lambda: index.tokens("bdy", [0]), lambda: index.postings("bdy", "w0")):
        with pytest.raises(UnknownName, match="did you mean body"):
            wrong()
    for numbers in ([-1], [700]):
        with pytest.raises(DataError, match="document numbers of orchard are from 0 to 699"):
            index.tokens("body", numbers)


def test_the_bytes_are_the_same_on_any_number_of_threads_and_in_little_memory(
    pages: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_build, "FIRST_DOCUMENTS", 100)
    index = build_index(collection(pages), tmp_path / "it", analysis=PLAIN)
    expected = contents(tmp_path / "it")
    build_index(collection(pages), tmp_path / "again", analysis=PLAIN)
    assert contents(tmp_path / "again") == expected
    monkeypatch.setenv("PIPPIN_THREADS", "1")
    build_index(collection(pages), tmp_path / "alone", analysis=PLAIN)
    assert contents(tmp_path / "alone") == expected
    monkeypatch.setenv("PIPPIN_THREADS", "3")
    monkeypatch.setattr(index_build, "BATCH_DOCUMENTS", 50)
    monkeypatch.setattr(index_build, "MIN_MEMORY", 1)
    spilled = build_index(collection(pages), tmp_path / "spilled", analysis=PLAIN, memory=20_000)
    assert contents(tmp_path / "spilled") == expected
    assert spilled.digest == index.digest


def test_large_counts_and_cut_documents(tmp_path: Path) -> None:
    pages = [Document("a", {"title": "x " * 300, "body": "y " * 70_000}), Document("b", {"body": "y z y"})]
    index = build_index(collection(pages), tmp_path / "it", analysis=Analyzer(stop="none", stem="none", limit=69_000))
    assert index.postings("body", "y")[1].tolist() == [69_000, 2]
    assert index.postings("title", "x")[1].tolist() == [300]
    assert index.postings("whole", "z")[1].tolist() == [1]
    assert index.manifest["documents_cut"] == 1
    assert index.search_terms(["y"], 5, field="body")[0].tolist() == [1, 0]


def test_an_empty_stream(tmp_path: Path) -> None:
    index = build_index(collection([Document("a", {"title": "x"}), Document("b", {})]), tmp_path / "it")
    assert (index.total_terms("body"), index.average_length("body"), index.vocabulary_size("body")) == (0, 0.0, 0)
    assert index.bm25(["x"], field="body").tolist() == [0, 0]
    assert index.search_terms(["x"], 5, field="body")[0].tolist() == []
    assert index.candidates(Query("q", "x"), [0, 1], [0, 0]).fields["body"].tf.tolist() == [[0, 0]]


def test_the_best_are_found_where_a_sample_misleads(tmp_path: Path) -> None:
    """Documents that are scored first, at sixteen places, hold a rare word that no other holds."""
    pages = [Document(f"d{i:04}", {"body": "rare" if i % 128 == 0 else f"w{i % 3} " * (i % 5)}) for i in range(2048)]
    index = build_index(collection(pages), tmp_path / "it", analysis=PLAIN)
    for words in (["rare", "w1"], ["rare", "w0", "w2"], ["w0"]):
        scores = index.bm25(words, field="body")
        holds = np.flatnonzero(scores != 0)
        best = holds[np.lexsort((holds, -scores[holds]))][:100]
        numbers, result = index.search_terms(words, 100, field="body")
        assert numbers.tolist() == best.tolist()
        assert result.tolist() == scores[best].tolist()


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ([Document("a", {}), Document("b", {}), Document("a", {})], "'a': documents 1 and 3 have it"),
        ([Document("a", {"abstract": "x"})], "document 'a' has the field 'abstract', orchard does not"),
        ([Document("a", {}), Document("", {})], "missing id of document number 2"),
        ([Document("\ud800", {})], "lone surrogate"),
        ([], "orchard has no documents"),
    ],
)
def test_bad_documents(bad: list[Document], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=sentence):
        build_index(collection(bad), tmp_path / "it")
    assert not list(tmp_path.iterdir())


def test_bad_collections(tmp_path: Path) -> None:
    def failing() -> Iterator[Document]:
        yield Document("a", {})
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(DataError, match=r"it cannot be read \(Input/output error\)"):
        build_index(Collection("it", ("body",), failing), tmp_path / "it")
    pages = [Document("a", {})]
    with pytest.raises(DataError, match="'title', which is not a field"):
        build_index(
            Collection("it", ("body",), lambda: iter(pages), combined_fields={"whole": ("title",)}), tmp_path / "it"
        )
    with pytest.raises(DataError, match="no members"):
        build_index(Collection("it", ("body",), lambda: iter(pages), combined_fields={"whole": ()}), tmp_path / "it")
    with pytest.raises(DataError, match="not unique"):
        build_index(Collection("it", ("body", "body"), lambda: iter(pages)), tmp_path / "it")
    with pytest.raises(DataError, match="at least 16M of memory"):
        build_index(collection(pages), tmp_path / "it", memory=1000)
    assert not list(tmp_path.iterdir())


def test_other_folders_are_not_replaced_by_an_index(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="choose another name"):
        build_index(collection([Document("a", {})]), tmp_path / "kept")
    assert contents(tmp_path / "kept") == {"letter.txt": b"dear"}


def test_a_disk_that_fills_leaves_the_old_index(
    pages: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index(collection(pages[:10]), tmp_path / "it")
    before = contents(tmp_path / "it")
    written = ArrayWriter.append

    def full(self: ArrayWriter, name: str, array: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> None:
        if name == "2.postings":
            raise OSError(errno.ENOSPC, "No space left on device")
        written(self, name, array)

    monkeypatch.setattr(ArrayWriter, "append", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        build_index(collection(pages), tmp_path / "it")
    assert contents(tmp_path / "it") == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["it"]
    assert open_index(tmp_path / "it", verify=True).documents == 10


KILLED = """
import os, signal, sys
from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import build_index
def pages():
    for i in range(20_000):
        yield Document(f"d{i}", {"body": f"word{i} and more"})
    os.kill(os.getpid(), signal.SIGKILL)
build_index(Collection("it", ("body",), pages), sys.argv[1])
"""


def test_a_killed_build_leaves_nothing_that_opens(tmp_path: Path) -> None:
    build_index(collection([Document("a", {"body": "x"})]), tmp_path / "old")
    for name in ("old", "new"):
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert open_index(tmp_path / "old", verify=True).documents == 1
    for folder in tmp_path.iterdir():
        if folder.name != "old":
            with pytest.raises(DataError, match="no index"):
                open_index(folder)


def damage(folder: Path, how: str) -> None:
    manifest = json.loads((folder / "index.json").read_text())
    if how == "file":
        (folder / "2.postings.bin").unlink()
    elif how == "short":
        os.truncate(folder / "2.postings.bin", 4)
    elif how == "flipped":
        data = bytearray((folder / "1.tokens.bin").read_bytes())
        data[0] ^= 1
        (folder / "1.tokens.bin").write_bytes(data)
    elif how == "json":
        (folder / "index.json").write_text("{")
    elif how == "edited":
        (folder / "index.json").write_text(json.dumps(manifest))
    else:
        changes = {"version": 99, "format": "something", "documents": manifest["documents"] + 1, "streams": {"a": {}}}
        forge(folder, FORMAT, **{how: changes[how]})


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("version", "this index is of version 99"),
        ("file", "damaged: 2.postings.bin is missing"),
        ("short", "damaged: 2.postings.bin has 4 bytes, but index.json states"),
        ("flipped", "damaged: 1.tokens.bin: bytes .* differ from what was written"),
        ("streams", "does not describe it"),
        ("format", "has another format"),
        ("edited", "damaged: the checksum of index.json does not match"),
        ("documents", "the number of documents differs"),
        ("json", "cannot be read"),
    ],
)
def test_damage_is_reported(how: str, sentence: str, tmp_path: Path) -> None:
    build_index(collection(random_pages(20)), tmp_path / "it")
    damage(tmp_path / "it", how)
    with pytest.raises(DataError, match=sentence):
        open_index(tmp_path / "it", verify=how == "flipped")


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("name", ["2.starts", "2.postings", "ids.ranks", "ids.lengths", "terms.order", "terms.lengths"])
def test_numbers_that_lead_nowhere_lead_to_an_error(name: str, forged: bool, tmp_path: Path) -> None:
    """Not seen when an index is opened, but when it is searched; with forged checksums, nothing is read beyond."""
    build_index(collection(random_pages(200)), tmp_path / "it", analysis=PLAIN)
    file = tmp_path / "it" / f"{name}.bin"
    data = bytearray(file.read_bytes())
    data[8:-8] = b"\x7f" * len(data[8:-8])  # the first and the last are compared when it is opened
    file.write_bytes(data)
    if forged:
        forge(tmp_path / "it", FORMAT)
    index = open_index(tmp_path / "it")
    words = [f"w{i}" for i in range(5)]
    with pytest.raises(DataError, match="index is damaged"):
        index.search_terms(words, 5, field="body"), index.numbers(["d7"])
    with pytest.raises(DataError, match="index is damaged"):
        index.bm25(words, field="body"), index.numbers(["d7"])


def test_empty_folder_is_not_an_index(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no index"):
        open_index(tmp_path / "nowhere")


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "stdlib", "-o", str(tmp_path / "it"), "--memory", "lots"]) == 2
    assert "invalid memory size 'lots'" in capsys.readouterr().err
    assert main(["index", "stdlib", "-o", str(tmp_path / "it"), "--stem", "portr"]) == 2
    assert "did you mean porter" in capsys.readouterr().err


def test_the_command_says_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pippin.collections.search.open_collection", lambda _, **__: collection(random_pages(30)))
    (tmp_path / "stop.txt").write_text("w0 w1\n")
    arguments = ["index", "orchard", "-o", str(tmp_path / "it"), "--stop", str(tmp_path / "stop.txt"), "--stem", "none"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("orchard: 30 documents, ")
    (full,) = [line for line in printed.splitlines() if line.startswith("  whole ")]
    assert full.endswith("= title + body")
    assert open_index(tmp_path / "it").analysis == Analyzer(stop=("w0", "w1"), stem="none")
