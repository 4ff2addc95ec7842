"""Runs from an index: every retrieval model against its definition over all documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.collections.test_build import SMALL, orchard

from pippin.cli.main import main
from pippin.collections.build import build_dataset
from pippin.collections.collection import Document, Query
from pippin.collections.features import extract
from pippin.collections.index.index import Index, build_index, open_index
from pippin.collections.search import Pipeline, run_of, search
from pippin.data.fold_files import read_folds
from pippin.data.qrels import parse_run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.rankers import LambdaMART, RankSVM
from pippin.rankers.models import load, save

QUERIES = (Query("q1", "apple and the pear"), Query("q2", "medlar medlar quince"), Query("q3", "zebra"))
FEATURES = "tf@body bm25@title pagerank"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(orchard(), tmp_path_factory.mktemp("index") / "orchard")


@pytest.mark.parametrize(
    ("model", "feature"),
    [
        ("lm-dirichlet(mu=50)", "lmir_dir(mu=50)@whole"),
        ("lm-jm", "lmir_jm@whole"),
        ("tfidf", "tf_idf@whole"),
        ("lmir_abs(delta=0.5)", "lmir_abs(delta=0.5)@whole"),
    ],
)
def test_a_feature_as_retrieval_model_ranks_all_documents_by_it(index: Index, model: str, feature: str) -> None:
    hits = search(index, QUERIES, model=model, top=5)
    for query, numbers, scores in zip(QUERIES, hits.numbers, hits.scores, strict=True):
        everything = np.arange(index.documents)
        values = extract(index.candidates(query, everything, np.zeros(index.documents, np.int32)), feature)[:, 0]
        words = index.analyse(query.text)
        stored = {int(n) for word in words for n in index.postings("whole", word)[0]}
        expected = sorted((-values[n], index.ids.at(n).encode()) for n in stored if not np.isnan(values[n]))[:5]
        assert [(-s, index.ids.at(int(n)).encode()) for n, s in zip(numbers, scores, strict=True)] == expected


def test_bm25_is_the_kernels(index: Index) -> None:
    hits = search(index, QUERIES, model="bm25(k1=0.9,b=0.4)", top=7)
    for query, numbers, scores in zip(QUERIES, hits.numbers, hits.scores, strict=True):
        kept, values = index.search_terms(index.analyse(query.text), 7, field="whole", k1=0.9, b=0.4)
        assert (numbers.tolist(), scores.tolist()) == (kept.tolist(), values.tolist())
    run = hits.run()
    assert run.query_ids == ("q1", "q2")  # nothing holds a zebra
    assert run.tag == "bm25(k1=0.9,b=0.4)"


def test_features_are_the_same_in_stretches(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = (*QUERIES, Query("q4", "apple"), Query("q5", "quince and pear"))
    hits = search(index, queries, top=9)
    features = "tf@body bm25@title bm25@whole lmir_dir@whole"
    full = hits.dataset(features).features
    for i, query in enumerate(queries):
        if len(hits.numbers[i]):
            candidates = index.candidates(query, hits.numbers[i], np.zeros(len(hits.numbers[i]), np.int32))
            raw = search(index, [query], top=9).dataset(features, version="Feature-null").features
            np.testing.assert_allclose(raw, extract(candidates, features), rtol=1e-6)  # six digits are kept
    monkeypatch.setattr("pippin.collections.search.BATCH_PAIRS", 10)
    assert hits.dataset(features).features.tobytes() == full.tobytes()


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        ("bm25(k3=7)", UnknownName, "no parameter of BM25 in a search is called 'k3'"),
        ("lmir", UnknownName, "no feature is called 'lmir'"),
        ("ohsumed", ConventionError, "the feature set ohsumed needs 3 fields"),
    ],
)
def test_models_that_are_none(index: Index, model: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        search(index, QUERIES, model=model)


def test_the_chain_gives_what_rank_gives_on_the_built_data(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "out", SMALL)
    fold = read_folds(tmp_path / "out" / "QueryLevelNorm")[0]
    model = RankSVM().fit(fold.train)
    ranked = run_of(fold.test, model.predict(fold.test), model.name)
    queries = [query for query in orchard().queries if query.id in fold.test.query_ids]
    run = Pipeline(tmp_path / "out", model, FEATURES, top=SMALL.sample)(queries)
    assert as_dict(run) == as_dict(ranked)
    straight = search(open_index(tmp_path / "out" / "index"), queries, top=SMALL.sample)
    with pytest.raises(ConventionError, match="need the links"):
        straight >> FEATURES


def as_dict(run: object) -> dict[str, dict[str, float]]:
    cuts = run.offsets.tolist()  # type: ignore[attr-defined]
    ids, scores = list(run.document_ids), run.scores.tolist()  # type: ignore[attr-defined]
    return {
        query: dict(zip(ids[a:b], scores[a:b], strict=True))
        for query, a, b in zip(run.query_ids, cuts, cuts[1:], strict=False)  # type: ignore[attr-defined]
    }


def test_the_command_writes_a_run(tmp_path: Path) -> None:
    recipe = replace(SMALL, features="tf@body bm25@title")
    build_dataset(orchard(), tmp_path / "out", recipe)
    fold = read_folds(tmp_path / "out" / "QueryLevelNorm")[0]
    save(RankSVM().fit(fold.train), tmp_path / "model.json")
    (tmp_path / "topics.tsv").write_text("n1\tapple pear\nn2\tquince\n")
    command = ["rerank", str(tmp_path / "model.json"), str(tmp_path / "out"), "--queries", str(tmp_path / "topics.tsv")]
    out = str(tmp_path / "new.run")
    assert main([*command, "-o", out]) == 0
    run = parse_run(out)
    assert run.query_ids == ("n1", "n2")
    assert np.diff(run.offsets).max() <= SMALL.sample
    for a, b in zip(run.offsets[:-1], run.offsets[1:], strict=True):
        assert (np.diff(run.scores[a:b]) <= 0).all()
    for options in (["--version", "nothing"], ["--version", "Feature-min"], ["--top", "6"]):
        assert main([*command, "-o", out, *options]) == 2


def test_search_writes_a_run_for_all_topics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = build_index(orchard(), tmp_path / "orchard")
    (tmp_path / "topics.tsv").write_text("n1\tapple pear\nn2\tzebra\nn3\tquince\n")
    queries = ["search", str(tmp_path / "orchard"), "--queries", str(tmp_path / "topics.tsv")]
    assert main([*queries, "--out", str(tmp_path / "bm25.run"), "--top", "4"]) == 0
    assert "1 of the 3 queries (n2 …)" in capsys.readouterr().err
    run = parse_run(tmp_path / "bm25.run")
    assert run.query_ids == ("n1", "n3")
    numbers, scores = index.search_terms(index.analyse("apple pear"), 4, field="whole")
    assert list(run.document_ids)[:4] == list(index.ids.take(numbers))
    assert run.scores[:4].tolist() == scores.tolist()
    assert main([*queries, "--out", str(tmp_path / "lm.run"), "--model", "lm-dirichlet(mu=50)"]) == 0
    assert main(["search", str(tmp_path / "orchard")]) == 2
    assert main([*queries, "apple"]) == 2


def test_rank_writes_a_run_where_ids_are_known(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "out", replace(SMALL, features="tf@body bm25@title"))
    fold = tmp_path / "out" / "QueryLevelNorm" / "Fold1"
    save(RankSVM().fit(read_folds(fold.parent)[0].train), tmp_path / "model.json")
    assert main(["rank", str(tmp_path / "model.json"), str(fold / "test.txt"), "--out", str(tmp_path / "x.run")]) == 0
    run = parse_run(tmp_path / "x.run")
    test = read_folds(fold.parent)[0].test
    assert run.query_ids == test.query_ids
    assert sorted(run.document_ids) == sorted(test.document_ids or ())
    assert all((np.diff(run.scores[a:b]) <= 0).all() for a, b in zip(run.offsets, run.offsets[1:], strict=False))


def test_a_model_that_numbers_its_features(index: Index) -> None:
    model = RankSVM().fit(np.array([[0.0], [1.0], [0.0], [1.0]]), [0, 1, 0, 1], qid=[1, 1, 2, 2])
    with pytest.raises(DataError, match="feature numbers"):
        Pipeline(index, model)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "out"
    build_dataset(orchard(), folder, replace(SMALL, features="tf@body bm25@title length@whole proximity"))
    return folder


@pytest.mark.parametrize("version", ["Feature-null", "Feature-min", "QueryLevelNorm"])
def test_version_and_depth_come_from_the_model(built: Path, tmp_path: Path, version: str) -> None:
    fold = read_folds(built / version)[0]
    ranker = LambdaMART(rounds=5) if version == "Feature-null" else RankSVM()
    save(ranker.fit(fold.train), tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    assert (model.feature_version_, model.documents_per_query_) == (version, SMALL.sample)
    queries = [query for query in orchard().queries if query.id in fold.test.query_ids]
    expected = as_dict(run_of(fold.test, model.predict(fold.test), model.name))
    assert as_dict(Pipeline(built, model)(queries)) == expected
    assert as_dict(Pipeline(built, model, version=version, top=SMALL.sample)(queries)) == expected
    assert as_dict(search(built, queries, top=SMALL.sample) >> list(model.feature_names_) >> model) == expected
    wrong = "QueryLevelNorm" if version == "Feature-min" else "Feature-min"
    with pytest.raises(ConventionError, match=f"the model was trained on {version} and cannot score {wrong}"):
        Pipeline(built, model, version=wrong)


def test_another_depth_is_an_error_only_with_normalisation_per_query(built: Path) -> None:
    model = RankSVM().fit(read_folds(built / "QueryLevelNorm")[0].train)
    with pytest.raises(ConventionError, match="normalised over up to 12 documents per query; 5 candidates change"):
        Pipeline(built, model, top=5)
    raw = RankSVM().fit(read_folds(built / "Feature-min")[0].train)
    assert np.diff(Pipeline(built, raw, top=5)([QUERIES[0]]).offsets).tolist() == [5]


def test_a_model_without_a_version_needs_one(built: Path) -> None:
    model = RankSVM().fit(read_folds(built / "Feature-min")[0].train)
    model._feature_version, model._documents_per_query = "", 0
    with pytest.raises(ConventionError, match="does not record the version of its features; name it: --version"):
        Pipeline(built, model)
    assert Pipeline(built, model, version="Feature-min").top == SMALL.sample
    assert Pipeline(open_index(built / "index"), model, version="Feature-min").top == 1000


@pytest.mark.parametrize("version", ["Feature-min", "QueryLevelNorm"])
def test_documents_outside_the_index_have_the_features_of_indexed_ones(built: Path, version: str) -> None:
    pipeline = Pipeline(built, RankSVM().fit(read_folds(built / version)[0].train))
    documents = [replace(page, id=f"new-{page.id}") for page in orchard()]
    ids = [page.id for page in orchard()]
    query = Query("q", "apple and the pear or plum apple")
    indexed, new = pipeline.rerank(query, ids), pipeline.rerank(query, documents)
    assert [(f"new-{name}", score) for name, score in indexed] == new
    assert len(new) == 40
    pairs = pipeline.rerank(query, [document for pair in zip(ids, documents, strict=True) for document in pair])
    scores = dict(pairs)
    assert {name: scores[name] for name in ids} == {name: scores[f"new-{name}"] for name in ids}
    candidates = pipeline.index.candidates(query, np.arange(40), np.zeros(40, np.int32))
    names = "ohsumed@title+body+whole proximity positions query"
    table = extract(pipeline.index.unindexed_candidates(query, documents), names)
    assert table.tobytes() == extract(candidates, names).tobytes()


def test_reranking_where_nothing_matches_gives_an_empty_list(built: Path) -> None:
    pipeline = Pipeline(built, RankSVM().fit(read_folds(built / "Feature-min")[0].train))
    for query in ("zebra", "the", ""):
        assert pipeline.rerank(query) == []
        assert pipeline.rerank(query, ["d1", Document("x", {"body": "apples"})]) == []
    assert pipeline.rerank("apple", []) == []
    assert [name for name, _ in pipeline.rerank("apple")] == ["d0", "d16", "d24", "d32", "d8"]


def test_documents_that_cannot_be_reranked(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "out", SMALL)
    pipeline = Pipeline(tmp_path / "out", RankSVM().fit(read_folds(tmp_path / "out" / "Feature-min")[0].train))
    with pytest.raises(DataError, match="document d77 is not in orchard; pass a Document with its fields"):
        pipeline.rerank("apple", ["d1", "d77"])
    with pytest.raises(DataError, match="the feature pagerank needs indexed documents; x is not one"):
        pipeline.rerank("apple", [Document("x", {"body": "apple"})])
    with pytest.raises(DataError, match="document x has the field 'price', orchard does not"):
        pipeline.index.unindexed_candidates(QUERIES[0], [Document("x", {"price": "3"})])
    assert len(pipeline.rerank("apple pear", ["d1", "d2"])) == 2
