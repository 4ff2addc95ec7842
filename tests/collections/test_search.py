"""Top-k search equals brute force, with and without early termination."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pippin.cli.main import main
from pippin.collections.collection import Collection, Document
from pippin.collections.index.index import Index, build_index
from pippin.collections.text.analysis import Analyzer
from pippin.errors import DataError, UnknownName
from pippin.kernels import index as kernel

PLAIN = Analyzer(stop="none", stem="none")


def build_small_index(texts: list[str], folder: Path, ids: list[str] | None = None) -> Index:
    ids = ids or [f"d{i}" for i in range(len(texts))]
    pages = [Document(id_, {"text": text}) for id_, text in zip(ids, texts, strict=True)]
    return build_index(Collection("it", ("text",), lambda: iter(pages)), folder, analysis=PLAIN)


def brute(texts: list[str], words: list[str], k1: float, b: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """BM25 by its formula, and which documents hold a word."""
    tokens = [text.split() for text in texts]
    lengths = np.array([len(t) for t in tokens], float)
    scores, hits = np.zeros(len(texts)), np.zeros(len(texts), bool)
    for word in dict.fromkeys(words):
        c = np.array([t.count(word) for t in tokens], float)
        df = np.count_nonzero(c)
        idf = np.log((len(texts) - df + 0.5) / (df + 0.5))
        here = c > 0
        scores[here] += idf * c[here] * (k1 + 1) / (c[here] + k1 * (1 - b + b * lengths[here] / lengths.mean()))
        hits |= here
    return scores, hits


def expected_ranking(scores: NDArray[np.float64], hits: NDArray[np.bool_], ids: list[str], n: int) -> list[int]:
    result = np.flatnonzero(hits).tolist()
    return sorted(result, key=lambda d: (-scores[d], ids[d]))[:n]


@settings(max_examples=80)
@given(st.data())
def test_the_best_are_those_of_a_brute_force(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    alphabet = [f"w{i}" for i in range(data.draw(st.integers(1, 12)))]
    seed = data.draw(st.integers(0, 1 << 30))
    generator = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, len(alphabet) + 1) ** generator.uniform(0, 2)
    texts = [
        " ".join(generator.choice(alphabet, generator.integers(0, 8), p=chances / chances.sum()))
        for _ in range(data.draw(st.integers(1, 300)))
    ]
    ids = [f"{i}" for i in generator.permutation(len(texts))]
    words = data.draw(st.lists(st.sampled_from([*alphabet, "unknown"]), max_size=6))
    k1, b = data.draw(st.sampled_from([(2.5, 0.8), (1.2, 0.75), (0.0, 0.5), (0.9, 0.0), (2.0, 1.0)]))
    n = data.draw(st.integers(0, 40) | st.just(1000))
    index = build_small_index(texts, tmp_path_factory.mktemp("index") / "it", ids)
    numbers, scores = index.search_terms(words, n, field="text", k1=k1, b=b)
    everything = index.bm25(words, field="text", k1=k1, b=b)
    by_formula, hits = brute(texts, words, k1, b)
    np.testing.assert_allclose(everything, by_formula, rtol=1e-12, atol=1e-12)
    assert numbers.tolist() == expected_ranking(everything, hits, ids, n)
    assert scores.tobytes() == everything[numbers].tobytes()


def test_windows_and_thresholds_over_many_documents(tmp_path: Path) -> None:
    """Enough documents for several windows, so that frequent words stop being looked at."""
    generator = np.random.default_rng(3)
    chances = 1.0 / np.arange(1, 3001)
    sample = generator.choice(3000, (20_000, 12), p=chances / chances.sum())
    texts = [" ".join(f"w{i}" for i in row) for row in sample.tolist()]
    ids = [f"d{i}" for i in generator.permutation(len(texts))]
    index = build_small_index(texts, tmp_path / "it", ids)
    queries = [[f"w{i}" for i in row] for row in generator.choice(3000, (60, 4), p=chances / chances.sum()).tolist()]
    for words, (numbers, scores) in zip(queries, index.search_many(queries, 50, field="text"), strict=True):
        everything = index.bm25(words, field="text")
        hits = np.asarray(np.isin(sample, [int(word[1:]) for word in words]).any(axis=1))
        assert numbers.tolist() == expected_ranking(everything, hits, ids, 50)
        assert scores.tobytes() == everything[numbers].tobytes()


@pytest.mark.parametrize("average", [40.0, 7.5])
def test_ranges_of_documents_over_a_large_collection(average: float) -> None:
    """More documents than one range has, words of three documents and of nearly all, and counts beyond a byte."""
    generator = np.random.default_rng(int(average))
    documents, shares = 100_000, np.geomspace(3e-5, 0.97, 24)
    lengths = generator.integers(300, 900, documents).astype(np.uint32)
    postings = [np.flatnonzero(generator.random(documents) < share).astype(np.uint32) for share in shares]
    counts = [np.minimum(generator.geometric(0.4, len(some)), 299).astype(np.uint32) for some in postings]
    counts[-1][:50] = 299
    sizes = np.array([len(some) for some in postings], np.uint32)
    run = kernel.PostingLists(sizes, np.concatenate(postings), np.concatenate(counts))
    packed, ends, _ = kernel.pack(run, lengths)
    starts = np.concatenate(([0], np.cumsum(ends)))
    field = kernel.open_stream(starts, packed, lengths, average=average)
    ranks = generator.permutation(documents).astype(np.uint32)
    for n in (1, 10, 1000):
        queries = [generator.choice(24, generator.integers(1, 7), replace=False).astype(np.uint32) for _ in range(20)]
        offsets = np.concatenate(([0], np.cumsum([len(query) for query in queries])))
        hits = kernel.search(field, np.concatenate(queries), offsets, n, 1.2, 0.75, ranks)
        for query, (numbers, scores) in zip(queries, hits, strict=True):
            exact = kernel.score_bm25(field, query, documents, 1.2, 0.75)
            there = np.unique(np.concatenate([postings[word] for word in query]))
            best = there[np.lexsort((ranks[there], -exact[there]))[:n]]
            assert numbers.tolist() == best.tolist()
            assert scores.tobytes() == exact[best].tobytes()


def in_order(scores: NDArray[np.float64], hits: NDArray[np.bool_], ids: list[str], n: int) -> list[int]:
    """Sort with NumPy by falling score, then id."""
    order = np.lexsort((np.argsort(np.argsort(np.array(ids))), -scores))
    best: list[int] = order[hits[order]][:n].tolist()
    return best


@pytest.mark.parametrize("length", [0, 1, 6])
def test_the_whole_order_among_many_ties(length: int, tmp_path: Path) -> None:
    """Documents of one length or of any (0) over few words: one word in all of them, and few distinct scores."""
    generator = np.random.default_rng(length)
    alphabet = np.array([f"w{i}" for i in range(9)])
    chances = 1.0 / np.arange(1, 10) ** 2
    sizes = np.full(9_000, length) if length else generator.integers(0, 7, 9_000)
    sample = [generator.choice(alphabet, size, p=chances / chances.sum()) for size in sizes]
    texts = [" ".join(["all", *words]) for words in sample]
    ids = [f"d{i}" for i in generator.permutation(len(texts))]
    index = build_small_index(texts, tmp_path / "it", ids)
    for words in (["all"], ["all", "w0"], ["w8", "w0", "w8", "all"], ["w1", "w2", "unknown"], ["w8", "w7", "w6", "w5"]):
        scores, hits = brute(texts, words, 1.2, 0.75)
        exact = index.bm25(words, field="text", k1=1.2, b=0.75)
        np.testing.assert_allclose(exact, scores, rtol=1e-12, atol=1e-12)
        for n in (1, 2, 10, 64, 65, 1000, 5000, 9_000, 1 << 40):
            numbers, result = index.search_terms(words, n, field="text", k1=1.2, b=0.75)
            assert numbers.tolist() == in_order(exact, hits, ids, n)
            assert result.tobytes() == exact[numbers].tobytes()


@pytest.mark.parametrize("text", ["x", "x y"])
def test_equal_documents_come_by_id(text: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    ids = [f"d{i}" for i in generator.permutation(20_000)]
    index = build_small_index([text] * len(ids), tmp_path / "it", ids)
    by_id = sorted(range(len(ids)), key=ids.__getitem__)
    for n in (1, 10, 1000, 19_999, 20_001):
        numbers, scores = index.search_terms(["y", "x", "x", "unknown"], n, field="text")
        assert numbers.tolist() == by_id[:n]
        assert len(set(scores.tolist())) == 1


def test_words_in_most_documents_have_negative_weight(tmp_path: Path) -> None:
    index = build_small_index(["a", "a", "a b", "c"], tmp_path / "it")
    numbers, scores = index.search_terms(["a"], 10, field="text", k1=2.5, b=0)
    assert numbers.tolist() == [0, 1, 2]
    np.testing.assert_allclose(scores, [np.log((4 - 3 + 0.5) / (3 + 0.5))] * 3)


def test_ties_go_by_id_and_not_by_number(tmp_path: Path) -> None:
    index = build_small_index(
        ["x", "x", "x", "y", "z", "z", "z", "z"], tmp_path / "it", ["d10", "d9", "d1", "a", "b", "c", "d", "e"]
    )
    assert [index.ids.at(i) for i in index.search_terms(["x"], 2, field="text")[0].tolist()] == ["d1", "d10"]


def test_query_term_frequency_has_no_effect(tmp_path: Path) -> None:
    index = build_small_index(["x y", "x", "z", "z z", "q"], tmp_path / "it")
    for once, twice in zip(
        index.search_terms(["x", "y"], 5, field="text"),
        index.search_terms(["x", "y", "x"], 5, field="text"),
        strict=True,
    ):
        assert once.tolist() == twice.tolist()


def test_nothing_to_find(tmp_path: Path) -> None:
    index = build_small_index(["x", "", "y"], tmp_path / "it")
    assert [part.tolist() for part in index.search_terms([], 5, field="text")] == [[], []]
    assert [part.tolist() for part in index.search_terms(["zzz"], 5, field="text")] == [[], []]
    assert index.search_many([], 5, field="text") == []


def test_wrong_questions(tmp_path: Path) -> None:
    index = build_small_index(["x"], tmp_path / "it")
    with pytest.raises(DataError, match="k1 of at least 0"):
        index.search_terms(["x"], 5, field="text", k1=-1)
    with pytest.raises(DataError, match="b from 0 to 1"):
        index.bm25(["x"], field="text", b=1.5)
    with pytest.raises(UnknownName, match="did you mean text"):
        index.search_terms(["x"], 5, field="texts")
    with pytest.raises(DataError, match="must be at least 0"):
        index.search_terms(["x"], -1, field="text")


def test_six_pages_worked_out_by_hand(tmp_path: Path) -> None:
    """Six pages with anchors and urls; the expected values were computed apart from this project's code."""
    rows = [
        ("space agency", "space agency home space", "home space agency", "a.gov/"),
        ("mars missions", "mars rover space mission mars", "mars mars missions", "a.gov/mars/"),
        ("rover", "mars rover", "rover rover page", "a.gov/mars/rover.html"),
        ("health agency", "health agency", "health", "b.gov/index.html"),
        ("space law", "space law agency", "law", "b.gov/space/law.html"),
        ("", "unrelated", "", "c.gov/x.html"),
    ]
    fields = ("title", "body", "anchor", "url")
    pages = [Document(f"d{i}", dict(zip(fields, row, strict=True))) for i, row in enumerate(rows, 1)]
    six = Collection("six", fields, lambda: iter(pages), combined_fields={"whole": fields})
    index = build_index(six, tmp_path / "it", analysis=PLAIN)
    assert index.lengths("whole").tolist() == [11, 13, 11, 9, 11, 5]
    full = index.bm25(["mars", "space"], field="whole")
    np.testing.assert_allclose(full, [0, 1.356431, 0.875427, 0, 0, 0], atol=5e-7)
    title = index.bm25(["mars", "space"], field="title")
    np.testing.assert_allclose(title, [0.493741, 1.091398, 0, 0, 0.493741, 0], atol=5e-7)
    # `space` stands in half of the pages, so that it adds nothing; pages that hold it are found all the same.
    assert index.search_terms(["mars", "space"], 9, field="whole")[0].tolist() == [1, 2, 0, 4]


@pytest.mark.parametrize("name", ["adi", "med"])
def test_real_collections_by_the_benchmark(name: str, shared: Path) -> None:
    """All topics and models, against counts of the texts and a full sort; `benchmarks/exactness.py` takes them all."""
    folder = shared / "data" / "text" / name
    if not folder.is_dir():
        pytest.skip(f"no collection {folder}")
    benchmark = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "exactness.py"))
    compared, tied = benchmark["compare"](folder, (10, 1000))
    assert compared == 2 * 6 * {"adi": 35, "med": 30}[name]
    assert tied > 0


def score(line: str) -> str:
    return line.split()[1]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [
        Document("p1", {"body": "red apples and pears"}, url="http://orchard.org/apples"),
        Document("p2", {"body": "a green apple"}),
        *(Document(f"x{i}", {"body": "nothing"}) for i in range(4)),
    ]
    build_index(Collection("orchard", ("body",), lambda: iter(pages)), tmp_path / "it")
    assert main(["search", str(tmp_path / "it"), "the apples", "-n", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "orchard, body: appl (2)"
    assert lines[2:] == [
        f"1  {score(lines[2])}  p2",
        "           a green apple",
        "",
        f"2  {score(lines[5])}  p1",
        "           red apples and pears",
        "           http://orchard.org/apples",
    ]
    assert main(["search", str(tmp_path / "it"), "the and of"]) == 2
    assert "no word of 'the and of' remains" in capsys.readouterr().err
    assert main(["search", str(tmp_path / "it"), "plums"]) == 0
    output = capsys.readouterr().out.splitlines()
    assert output == ["orchard, body: plum (0)", "", "no document contains any of these words"]
    assert main(["search", str(tmp_path / "it"), "plums", "-n", "0"]) == 2
    assert main(["search", str(tmp_path), "plums"]) == 2
    assert "no index" in capsys.readouterr().err
