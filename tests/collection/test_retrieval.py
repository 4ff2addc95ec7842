"""Runs from an index: every model against its definition over all documents, and the chain against build and rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.collection.test_build import SMALL, orchard

from pippin.cli.main import main
from pippin.collection.build import build
from pippin.collection.collection import Query
from pippin.collection.features import extract
from pippin.collection.index import Index, build_index, open_index
from pippin.collection.retrieval import Pipeline, run_of, search
from pippin.data.folders import load_folder
from pippin.data.trec_text import read_run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.rankers import RankSVM
from pippin.rankers.models import save

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
    found = search(index, QUERIES, model=model, top=5)
    for query, numbers, scores in zip(QUERIES, found.numbers, found.scores, strict=True):
        everything = np.arange(index.documents)
        values = extract(index.candidates(query, everything, np.zeros(index.documents, np.int32)), feature)[:, 0]
        words = index.analyse(query.text)
        held = {int(n) for word in words for n in index.postings("whole", word)[0]}
        wanted = sorted((-values[n], index.ids.at(n).encode()) for n in held if not np.isnan(values[n]))[:5]
        assert [(-s, index.ids.at(int(n)).encode()) for n, s in zip(numbers, scores, strict=True)] == wanted


def test_bm25_is_the_kernels(index: Index) -> None:
    found = search(index, QUERIES, model="bm25(k1=0.9,b=0.4)", top=7)
    for query, numbers, scores in zip(QUERIES, found.numbers, found.scores, strict=True):
        kept, values = index.top(index.analyse(query.text), 7, stream="whole", k1=0.9, b=0.4)
        assert (numbers.tolist(), scores.tolist()) == (kept.tolist(), values.tolist())
    run = found.run()
    assert run.query_ids == ("q1", "q2")  # nothing holds a zebra
    assert run.tag == "bm25(k1=0.9,b=0.4)"


def test_features_are_the_same_in_stretches(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = (*QUERIES, Query("q4", "apple"), Query("q5", "quince and pear"))
    found = search(index, queries, top=9)
    features = "tf@body bm25@title bm25@whole lmir_dir@whole"
    whole = found.dataset(features).features
    for i, query in enumerate(queries):
        if len(found.numbers[i]):
            candidates = index.candidates(query, found.numbers[i], np.zeros(len(found.numbers[i]), np.int32))
            raw = search(index, [query], top=9).dataset(features, version="Feature-null").features
            np.testing.assert_allclose(raw, extract(candidates, features), rtol=1e-6)  # six digits are kept
    monkeypatch.setattr("pippin.collection.retrieval.STRETCH", 10)
    assert found.dataset(features).features.tobytes() == whole.tobytes()


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        ("bm25(k3=7)", UnknownName, "no parameter of BM25 in a search is called 'k3'"),
        ("lmir", UnknownName, "no feature is called 'lmir'"),
        ("ohsumed", ConventionError, "the feature set ohsumed wants 3 streams"),
    ],
)
def test_models_that_are_none(index: Index, model: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        search(index, QUERIES, model=model)


def test_the_chain_gives_what_rank_gives_on_the_built_data(tmp_path: Path) -> None:
    build(orchard(), tmp_path / "out", SMALL)
    fold = load_folder(tmp_path / "out" / "QueryLevelNorm")[0]
    model = RankSVM().fit(fold.train)
    ranked = run_of(fold.test, model.predict(fold.test), model.name)
    asked = [query for query in orchard().queries if query.id in fold.test.query_ids]
    run = Pipeline(tmp_path / "out", model, FEATURES, top=SMALL.size)(asked)
    assert as_dict(run) == as_dict(ranked)
    straight = open_index(tmp_path / "out" / "index").search(asked, top=SMALL.size)
    with pytest.raises(ConventionError, match="needs the links"):
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
    build(orchard(), tmp_path / "out", recipe)
    fold = load_folder(tmp_path / "out" / "QueryLevelNorm")[0]
    save(RankSVM().fit(fold.train), tmp_path / "model.json")
    (tmp_path / "topics.tsv").write_text("n1\tapple pear\nn2\tquince\n")
    command = ["rerank", str(tmp_path / "model.json"), str(tmp_path / "out"), "--topics", str(tmp_path / "topics.tsv")]
    out = str(tmp_path / "new.run")
    assert main([*command, "-o", out, "--top", "6"]) == 0
    run = read_run(out)
    assert run.query_ids == ("n1", "n2")
    assert np.diff(run.offsets).max() <= 6
    for a, b in zip(run.offsets[:-1], run.offsets[1:], strict=True):
        assert (np.diff(run.scores[a:b]) <= 0).all()
    assert main([*command, "-o", out, "--version", "nothing"]) == 2


def test_search_writes_a_run_for_all_topics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = build_index(orchard(), tmp_path / "orchard")
    (tmp_path / "topics.tsv").write_text("n1\tapple pear\nn2\tzebra\nn3\tquince\n")
    asked = ["search", str(tmp_path / "orchard"), "--topics", str(tmp_path / "topics.tsv")]
    assert main([*asked, "--out", str(tmp_path / "bm25.run"), "--top", "4"]) == 0
    assert "no document holds a word of 1 of the 3 queries (n2 …)" in capsys.readouterr().err
    run = read_run(tmp_path / "bm25.run")
    assert run.query_ids == ("n1", "n3")
    numbers, scores = index.top(index.analyse("apple pear"), 4, stream="whole")
    assert list(run.document_ids)[:4] == list(index.ids.take(numbers))
    assert run.scores[:4].tolist() == scores.tolist()
    assert main([*asked, "--out", str(tmp_path / "lm.run"), "--model", "lm-dirichlet(mu=50)"]) == 0
    assert main(["search", str(tmp_path / "orchard")]) == 2
    assert main([*asked, "apple"]) == 2


def test_rank_writes_a_run_where_ids_are_known(tmp_path: Path) -> None:
    build(orchard(), tmp_path / "out", replace(SMALL, features="tf@body bm25@title"))
    fold = tmp_path / "out" / "QueryLevelNorm" / "Fold1"
    save(RankSVM().fit(load_folder(fold.parent)[0].train), tmp_path / "model.json")
    assert main(["rank", str(tmp_path / "model.json"), str(fold / "test.txt"), "--out", str(tmp_path / "x.run")]) == 0
    run = read_run(tmp_path / "x.run")
    test = load_folder(fold.parent)[0].test
    assert run.query_ids == test.query_ids
    assert sorted(run.document_ids) == sorted(test.document_ids or ())
    assert all((np.diff(run.scores[a:b]) <= 0).all() for a, b in zip(run.offsets, run.offsets[1:], strict=False))


def test_a_model_that_numbers_its_features(index: Index) -> None:
    model = RankSVM().fit(np.array([[0.0], [1.0], [0.0], [1.0]]), [0, 1, 0, 1], qid=[1, 1, 2, 2])
    with pytest.raises(DataError, match="by number only"):
        Pipeline(index, model)
