"""Research tables against hand computation: gaps, mixed tasks, diversity, clicks and other libraries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.small import here, write_folds
from tests.rankers.test_estimators import plant_sum
from tests.rankers.test_query_dependent import two_tasks

from pippin.benchmarks.inputs import Input, open_source_folds, resolve_inputs
from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.plan import Experiment
from pippin.benchmarks.runner import run
from pippin.benchmarks.store import Results
from pippin.benchmarks.studies import clicks
from pippin.benchmarks.studies.baselines import closed_share, difference, interval
from pippin.benchmarks.studies.directions import StudyContext, research
from pippin.benchmarks.studies.retrieval import ambiguous_queries, diversity_table
from pippin.benchmarks.studies.task_mixture import mix_tasks, raw_features, share_recovered
from pippin.cli.main import main
from pippin.clicks.propensity import propensities
from pippin.clicks.simulation import examination
from pippin.collections.build import build_dataset
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.letor.sampling import BuildOptions
from pippin.collections.search import load_index
from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels
from pippin.errors import DataError, MissingDependency
from pippin.rankers.steps.clicks import Clicks


def run_bench(data: tuple[str, ...], output: Path, rankers: tuple[str, ...]) -> Results:
    plan = Experiment(data, rankers=rankers, tools=("official",), measures=("NDCG@10",), quick=True, folds=3)
    return run(plan, output, executor=here, verbose=False).results


def test_a_share_is_of_the_means_and_its_interval_draws_queries() -> None:
    low = np.array([0.1, 0.2, 0.3, np.nan])
    high, line = low + np.array([0.4, 0.2, 0.3, 1.0]), low + np.array([0.1, 0.2, 0.0, 1.0])
    result = closed_share(line, low, high)
    assert result.share == pytest.approx((0.1 + 0.2 + 0.0) / (0.4 + 0.2 + 0.3))
    # Of 27 draws of three queries, the least share is 0 (the third alone), the most 1 (the second alone).
    assert (result.low, result.high) == (0.0, 1.0)
    assert closed_share(high, low, high)[1:] == (1.0, 1.0)
    assert interval(np.full(5, 0.25)) == (0.25, 0.25)
    assert difference(np.array([-0.5, -0.5])).startswith("-0.5000 (-0.5000")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Input]:
    """Two tasks that contradict each other, apart, as a build lays them out."""
    folder, data = tmp_path_factory.mktemp("tasks"), two_tasks(36)
    for task in "AB":
        own = data.select(np.flatnonzero([query[0] == task for query in data.query_ids]))
        write_folds(folder / task / "Feature-min", own, 3)
        (folder / task / "QueryLevelNorm").mkdir()
    plain = [Input(task, "folder", str(folder / task / "QueryLevelNorm"), 3) for task in "AB"]
    return [raw_features(source) for source in plain]


def test_mixed_folds_are_those_of_the_tasks_together(tasks: list[Input], tmp_path: Path) -> None:
    assert [source.data for source in tasks] == ["A-raw", "B-raw"]
    mixture = mix_tasks(tasks, tmp_path, "both")
    full, apart = mixture.read(), [source.read() for source in tasks]
    assert [fold.name for fold in full] == ["Fold1", "Fold2", "Fold3"]
    for fold in full:
        for part in ("train", "vali", "test"):
            own = {query for item in apart for query in item[fold.name][part].query_ids}
            assert set(fold[part].query_ids) == own
    left, again = full["Fold2"]["test"], mix_tasks(tasks, tmp_path, "both")
    assert again == mixture
    first = apart[0]["Fold2"]["test"]
    assert np.array_equal(left.features[: len(first)], first.features)
    with pytest.raises(DataError, match="same id"):
        mix_tasks([tasks[0], tasks[0]], tmp_path, "twice")
    assert not list(tmp_path.glob("twice*"))


def test_recovered_share_of_the_mixing_loss(tasks: list[Input], tmp_path: Path) -> None:
    mixture = mix_tasks(tasks, tmp_path, "both")
    baseline, chains = "ranksvm", ("classes > ranksvm", "clusters(2) > ranksvm")
    data = tuple(f"{source.data}={source.path}" for source in (mixture, *tasks))
    results = run_bench(data[:1], tmp_path / "r", (baseline, *chains))
    results = run_bench(data[1:], tmp_path / "r", (baseline,))
    table = share_recovered(results, mixture, tasks, baseline, [*chains, "not there"], "NDCG@10")
    assert [row[1] for row in table.rows] == ["ranksvm, each task alone", "ranksvm", *chains]
    low = leaderboard(results, "both", "NDCG@10", "official").by_query("ranksvm")
    boards = [leaderboard(results, source.data, "NDCG@10", "official") for source in tasks]
    high = {query: value for board in boards for query, value in board.by_query("ranksvm").items()}
    own = leaderboard(results, "both", "NDCG@10", "official").by_query(chains[0])
    assert low.keys() == high.keys()
    share = sum(own[q] - low[q] for q in low) / sum(high[q] - low[q] for q in low)
    assert table.rows[2][-1].startswith(f"{share:.0%} (")
    assert share > 0.8
    assert table.rows[0][2] == f"{np.mean(list(high.values())):.4f}"
    assert "Over all 36 test queries" in table.notes[0]
    same = share_recovered(results, mixture, [mixture], baseline, chains, "NDCG@10")
    assert [row[-1] for row in same.rows[2:]] == ["no loss"] * 2
    assert table.notes[1].startswith("classes > ranksvm classifies 97% (")  # 35 of 36
    assert table.notes[1].endswith("of the queries correctly; 50% belong to the most frequent task.")


@pytest.fixture
def pages() -> Collection:
    """Two topics share the word apple; a page of each, and others."""
    texts = {"d1": "red apple pie", "d2": "apple computer chip", "d3": "apple apple", "d4": "pear tree", "d5": "pie"}
    topics = {"1": ("apple pie", "TD"), "2": ("apple chip", "TD"), "3": ("pear", "TD"), "4": ("apple", "HP")}
    queries = tuple(Query(name, text, task=task) for name, (text, task) in topics.items())
    qrels = Qrels.from_dict({"1": {"d1": 1, "d3": 0}, "2": {"d2": 1}, "3": {"d4": 1}, "4": {"d3": 1}})
    documents = [Document(name, {"body": text}) for name, text in texts.items()]
    return Collection("orchard", ("body",), lambda: iter(documents), queries, qrels)


def test_words_of_several_topics_are_queries_with_subtopics(pages: Collection, tmp_path: Path) -> None:
    only = replace(pages, queries=pages.queries[:3])
    build_dataset(replace(only, queries=tuple(replace(query, task="") for query in only.queries)), tmp_path / "b",
          BuildOptions("bm25@body", folds=3, meta=False))  # fmt: skip
    index, _ = load_index(tmp_path / "b")
    queries, subqueries, qrels = ambiguous_queries(index, pages, "TD")
    assert [query.id for query in queries] == ["apple"]
    assert [(query.id, query.text) for query in subqueries] == [("apple.1", "apple pie"), ("apple.2", "apple chip")]
    assert qrels.splitlines() == ["apple 1 d1 1", "apple 2 d2 1"]


def test_topics_count_once_for_a_word_and_only_with_a_relevant_page(pages: Collection, tmp_path: Path) -> None:
    texts = {"1": "apple apples pie", "2": "apple chip", "3": "pear pears", "5": "apple tree", "6": "pie"}
    queries = tuple(Query(name, text) for name, text in texts.items())
    qrels = Qrels.from_dict({"1": {"d1": 1}, "2": {"d2": 1}, "3": {"d4": 1}, "6": {"d5": 0}})
    build_dataset(replace(pages, queries=queries[:3]), tmp_path / "b", BuildOptions("bm25@body", folds=3, meta=False))
    collection = replace(pages, queries=queries, qrels=qrels)
    _, subqueries, _ = ambiguous_queries(load_index(tmp_path / "b")[0], collection, "")
    assert [(query.id, query.text) for query in subqueries] == [("apple.1", texts["1"]), ("apple.2", texts["2"])]
    table = diversity_table(tmp_path / "b", collection, "")
    assert (table.rows, table.notes) == (
        [], ["Not measured: fewer than two words occur in several topics of orchard."],
    )  # fmt: skip


def test_the_embedded_collections_topics_are_diversified(tmp_path: Path) -> None:
    words = ["apple", "pear", "plum"]
    texts = {f"{a}{b}": f"{a} {b} {b}" for a in words for b in ("pie", "tree", "juice")}
    queries = tuple(Query(f"{a}-{b}", f"{a} {b}") for a in words for b in ("pie", "tree", "juice"))
    qrels = Qrels.from_dict({query.id: {query.text.replace(" ", ""): 1} for query in queries})
    documents = [Document(name, {"body": text}) for name, text in texts.items()]
    orchard = Collection("orchard", ("body",), lambda: iter(documents), queries, qrels)
    build_dataset(orchard, tmp_path / "b", BuildOptions("bm25@body", folds=3, meta=False))
    table = diversity_table(tmp_path / "b", orchard, "", ("mmr(0.5)", "xquad(0.5)"))
    assert [row[0] for row in table.rows] == ["BM25", "mmr(0.5)", "xquad(0.5)"]
    assert table.notes[0].startswith("6 words of orchard's topics, 3.0 subtopics each")
    first, other = (float(table.rows[i][1]) for i in (0, 2))
    assert table.rows[2][5].startswith(f"{other - first:+.3f}")
    assert table.rows[0][5:] == ["", ""]


@pytest.fixture(scope="module")
def click_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Input, Results]:
    folder = tmp_path_factory.mktemp("clicks")
    data = write_folds(folder / "mine", plant_sum(queries=24, size=8), 3)
    rankers = ("clicks(naive) > lambdamart", "clicks(ips) > lambdamart", "lambdamart")
    results = run_bench((f"mine={data}",), folder / "r", rankers)
    return resolve_inputs([f"mine={data}"])[0], results


def test_a_gap_is_between_naive_clicks_and_labels(
    click_results: tuple[Input, Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, results = click_results
    lines = [("clicks(naive) > lambdamart", ["clicks(ips) > lambdamart", "not there"], "lambdamart")]
    monkeypatch.setattr(clicks, "_ALPHA", -1.0)
    (row,) = clicks.gap_table(results, [source], lines, "NDCG@10").rows
    assert row[:2] == ["mine", "clicks(ips) > lambdamart"]
    assert row[-1] == "no gap"
    board = leaderboard(results, "mine", "NDCG@10", "official")
    naive, own, labels = (board.values[:, board.rankers.index(name)] for name in
                          ("clicks(naive) > lambdamart", "clicks(ips) > lambdamart", "lambdamart"))  # fmt: skip
    assert row[2] == f"{np.nanmean(labels - naive):+.4f}"
    monkeypatch.setattr(clicks, "_ALPHA", 1.0)
    (row,) = clicks.gap_table(results, [source], lines, "NDCG@10").rows
    gap = np.nanmean(labels - naive)
    assert row[-1] == (str(closed_share(own, naive, labels)) if gap > 0 else "no gap")


def test_other_libraries_learn_from_the_same_clicks(
    click_results: tuple[Input, Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, results = click_results
    calls: list[tuple[int, bool]] = []

    def grow(X: Dataset, y: object, ranks: object, sizes: object, debiased: bool, least: int) -> clicks.Predict:
        calls.append((len(np.asarray(X)), debiased))
        return lambda data, trees: np.asarray(data.features)[:, 0] + np.asarray(data.features)[:, 1]

    peers = {"sum": ("numpy", grow, True), "absent": ("no_such_module", grow, False)}
    monkeypatch.setattr(clicks, "PEERS", peers)
    ours = ["clicks(naive) > lambdamart", "clicks(ips) > lambdamart"]
    table = clicks.peers_table(results, [source], ours, "lambdamart", "NDCG@10")
    assert [row[1] for row in table.rows] == [*ours, "lambdamart", "sum"]
    assert table.rows[-1][2] == "1.0000"  # labels are by that sum
    assert table.notes[-1] == "Not installed: absent."
    folds = open_source_folds(source)
    assert calls == [(len(Clicks().log(fold["train"]).items), True) for fold in folds]


@pytest.mark.parametrize("debiased", [False, True])
def test_lightgbm_trees_learn_from_clicks(debiased: bool) -> None:
    data = plant_sum(queries=40, size=8)
    log = Clicks(sessions=20, swap_rate=0.5).log(data)
    scores = clicks.select_trees(data, data, log, clicks.train_lightgbm, debiased, 2, "NDCG@10")(data)
    truth = np.asarray(data.features)[:, :2].sum(axis=1)
    assert np.corrcoef(scores, truth)[0, 1] > 0.5
    again = clicks.select_trees(data, data, log, clicks.train_lightgbm, debiased, 2, "NDCG@10")(data)
    assert np.array_equal(scores, again)


def test_errors_of_propensities_by_hand(click_results: tuple[Input, Results], monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = click_results
    monkeypatch.setattr(clicks, "_SEEDS", 1)
    none, half = clicks.propensities_table([source], swaps=(0.0, 0.5)).rows
    assert none[3:7] == ["refused", "", "refused", ""]
    train = open_source_folds(source)["Fold1"]["train"]
    log = Clicks(swap_rate=0.5, seed=1).log(train)
    estimate = np.abs(propensities(log, "em").values * np.arange(1, 9) - 1)[1:]
    assert np.allclose(examination(8, 1.0), 1 / np.arange(1, 9))
    assert half[2:5] == [f"{log.clicks.sum():,}", f"{100 * estimate.mean():.1f}%", f"{100 * estimate.max():.1f}%"]


@pytest.mark.parametrize(
    "command",
    [["study", "research"], ["study", "feature-curve"], ["study", "learning-curve"], ["bench", "-r", "regression"]],
)
def test_without_a_validation_part_no_output_is_written(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_folds(tmp_path / "mine", plant_sum(queries=15, size=6), 3)
    for file in folder.glob("*/vali.txt"):
        file.unlink()
    assert main([*command, str(folder), "--out", str(tmp_path / "r")]) == 2
    assert "this fold has no vali.txt" in capsys.readouterr().err
    (tmp_path / "one").mkdir()
    for part in ("train", "test"):
        (folder / "Fold1" / f"{part}.txt").rename(tmp_path / "one" / f"{part}.txt")
    assert main([*command, str(tmp_path / "one"), "--out", str(tmp_path / "r")]) == 2
    assert "validation part missing" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_missing_extras_are_reported_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    folder = write_folds(tmp_path / "mine", plant_sum(queries=15, size=6), 3)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match="torch"):
        research([str(folder)], tmp_path / "r", only=["beyond-scores"])
    assert not (tmp_path / "r").exists()
    with pytest.raises(DataError, match="no data set given"):
        research([], tmp_path / "r")


def test_a_laboratory_knows_the_tasks_of_collections(tmp_path: Path) -> None:
    folder = write_folds(tmp_path / "mine", plant_sum(queries=15, size=6), 3)
    place = StudyContext((f"mine={folder}",), tmp_path / "r", folds=3)
    assert place.tasks("auto") == {}
    assert list(place.topic_collections()) == []
