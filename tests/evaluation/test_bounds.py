"""Bounds over labels of unjudged documents against exhaustive search."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.bounds import bounds
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.tools import TOOLS
from pippin.evaluation.unjudged import MAX_ENUMERATED

Labels = dict[str, int]


def dcg(gains: list[float], k: int) -> float:
    return sum(g / math.log2(r + 1) for r, g in enumerate(gains[:k], 1))


def ndcg(ranked: list[str], labels: Labels, k: int = 3) -> float:
    ideal = dcg([2.0**label - 1 for label in sorted(labels.values(), reverse=True)], k)
    return dcg([2.0 ** labels.get(d, 0) - 1 for d in ranked], k) / ideal if ideal else 0.0


def ap(ranked: list[str], labels: Labels, k: int = 100) -> float:
    relevant = sum(label > 0 for label in labels.values())
    hits = total = 0.0
    for r, document in enumerate(ranked[:k], 1):
        if labels.get(document, 0) > 0:
            hits += 1
            total += hits / r
    return total / relevant if relevant else 0.0


def rr(ranked: list[str], labels: Labels) -> float:
    return next((1 / r for r, d in enumerate(ranked, 1) if labels.get(d, 0) > 0), 0.0)


def p3(ranked: list[str], labels: Labels) -> float:
    return sum(labels.get(d, 0) > 0 for d in ranked[:3]) / 3


def err(ranked: list[str], labels: Labels, top: int = 2) -> float:
    persistence, total = 1.0, 0.0
    for r, document in enumerate(ranked, 1):
        stop = (2 ** labels.get(document, 0) - 1) / 2**top
        total += persistence * stop / r
        persistence *= 1 - stop
    return total


def rbp(ranked: list[str], labels: Labels) -> float:
    return 0.2 * sum(0.8 ** (r - 1) for r, d in enumerate(ranked, 1) if labels.get(d, 0) > 0)


TWINS: dict[str, Callable[[list[str], Labels], float]] = {
    "NDCG@3": ndcg, "NDCG": lambda ranked, labels: ndcg(ranked, labels, 100), "AP": ap,
    "AP@3": lambda ranked, labels: ap(ranked, labels, 3), "RR": rr, "P@3": p3, "ERR": err, "RBP": rbp,
}  # fmt: skip


def small(rng: np.random.Generator, systems: int) -> tuple[Labels, list[list[str]], list[str]]:
    """Qrels, lists of some systems, and the documents of the lists that are not judged."""
    documents = [f"d{i}" for i in range(rng.integers(3, 7))]
    lists = [list(rng.permutation(documents)[: rng.integers(2, len(documents) + 1)]) for _ in range(systems)]
    qrels = {d: int(rng.integers(0, 3)) for d in [*documents, "far"] if rng.random() < 0.4}
    qrels["other"] = 0  # a query with no judgement at all is none
    return qrels, lists, sorted({d for item in lists for d in item} - qrels.keys())


def scores(ranked: list[str]) -> dict[str, float]:
    return {document: float(-r) for r, document in enumerate(ranked)}


@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize("measure", TWINS)
def test_bounds_are_the_extremes_over_all_labels(measure: str, systems: int) -> None:
    rng = np.random.default_rng([systems, *measure.encode()])
    below_zeros = 0
    for _ in range(60):
        qrels, lists, holes = small(rng, systems)
        twin, every = TWINS[measure], []
        for labels in product(range(3), repeat=len(holes)):
            filled = {**qrels, **dict(zip(holes, labels, strict=True))}
            values = [twin(item, filled) for item in lists]
            every.append(values[0] - values[1] if systems == 2 else values[0])
        results = bounds({"q": qrels}, *({"q": scores(item)} for item in lists), measure=measure, max_label=2)
        assert results.exact
        assert results.value == pytest.approx(every[0], abs=1e-12)
        assert (results.low, results.high) == pytest.approx((min(every), max(every)), abs=1e-12)
        below_zeros += min(every) < every[0] - 1e-9
    if systems == 1:
        assert (below_zeros > 0) == measure.startswith(("NDCG", "AP")), "all zero is the least of the others only"


@pytest.mark.parametrize("systems", [1, 2])
def test_bounds_under_a_tool_are_the_extremes_of_what_the_tool_says(systems: int) -> None:
    """Of every tool that does not refuse."""
    rng = np.random.default_rng(systems)
    qrels, lists, holes = next(case for case in iter(lambda: small(rng, systems), None) if len(case[2]) == 2)
    runs = [{"q": scores(item), "r": {"z": 1.0}} for item in lists]
    tried = set()
    for tool, measure in product(TOOLS, ("NDCG@3", "AP", "RR", "P@3", "ERR@3", "RBP", "DCG@3")):
        try:
            result = bounds({"q": qrels, "r": {"z": 2}}, *runs, measure=measure, tool=tool, max_label=2)
        except ConventionError:
            continue
        every = []
        for labels in product(range(3), repeat=len(holes)):
            filled = {"q": {**qrels, **dict(zip(holes, labels, strict=True))}, "r": {"z": 2}}
            results = [evaluate(filled, run, measure, tool, value_rounding="float64", mean_digits=None) for run in runs]
            values = [item.per_query[measure]["q"] for item in results]
            every.append(values[0] - values[1] if systems == 2 else values[0])
        at = result.query_ids.index("q")
        assert (result.lows[at], result.highs[at]) == pytest.approx((min(every), max(every)), abs=1e-12)
        tried.add(tool)
    assert {"official", "trec_eval9", "gdeval", "mteb", "quepid", "elasticsearch"} <= tried


def test_one_tool_at_a_time() -> None:
    with pytest.raises(UnknownName, match="no tool is called 'all'"):
        bounds({"q": {"a": 1}}, {"q": {"a": 1.0}}, tool="all")


def test_a_document_low_in_the_list_lowers_ndcg() -> None:
    result = bounds({"q": {"a": 1}}, {"q": {"a": 2.0, "x": 1.0}}, measure="NDCG@2", max_label=3)
    assert result.value == result.high == 1.0
    assert result.low == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))


@pytest.mark.parametrize("measure", ["AP", "ERR"])
def test_outer_bounds_contain_the_value_and_are_flagged(measure: str) -> None:
    rng = np.random.default_rng(5)
    documents = [f"d{i}" for i in range(MAX_ENUMERATED + 4)]
    first, second = (list(rng.permutation(documents)) for _ in range(2))
    qrels = {"d0": 1, "d1": 0}
    twin = TWINS[measure] if measure != "ERR" else lambda ranked, labels: err(ranked, labels, top=1)
    result = bounds({"q": qrels}, {"q": scores(first)}, {"q": scores(second)}, measure=measure, max_label=1)
    assert not result.exact
    holes = documents[2:]
    every = []
    for labels in product(range(2), repeat=len(holes)):
        filled = {**qrels, **dict(zip(holes, labels, strict=True))}
        every.append(twin(first, filled) - twin(second, filled))
    assert result.low <= min(every) + 1e-12
    assert result.high >= max(every) - 1e-12
    free = [bounds({"q": qrels}, {"q": scores(item)}, measure=measure, max_label=1) for item in (first, second)]
    assert result.high - result.low <= free[0].high - free[1].low - (free[0].low - free[1].high) + 1e-12


def hide_judgements(
    rng: np.random.Generator,
) -> tuple[dict[str, Labels], dict[str, Labels], list[dict[str, dict[str, float]]]]:
    """Return full judgements, the remaining ones after hiding some, and two runs."""
    truth: dict[str, Labels] = {}
    left: dict[str, Labels] = {}
    runs: list[dict[str, dict[str, float]]] = [{}, {}]
    for q in range(5):
        documents = [f"d{i}" for i in range(rng.integers(2, 30))]
        truth[f"q{q}"] = {d: int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1])) for d in documents}
        left[f"q{q}"] = {d: x for d, x in truth[f"q{q}"].items() if rng.random() < 0.7} or {
            documents[0]: truth[f"q{q}"][documents[0]]
        }
        for run in runs:
            run[f"q{q}"] = {d: float(s) for d, s in zip(documents, rng.permutation(len(documents)), strict=True)}
    return truth, left, runs


@pytest.mark.parametrize("measure", ["NDCG@10", "AP", "RR", "P@5", "ERR@10", "RBP"])
def test_bounds_contain_the_truth_of_hidden_judgements(measure: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        truth, left, runs = hide_judgements(rng)
        evaluations = [evaluate(truth, run, measure, "official") for run in runs]
        first = bounds(left, runs[0], measure=measure, max_label=3)
        two = bounds(left, *runs, measure=measure, max_label=3)
        values = [np.array(list(each.per_query[measure].values())) for each in evaluations]
        for value, true in ((first, values[0]), (two, values[0] - values[1])):
            assert (value.lows <= true + 1e-12).all()
            assert (true <= value.highs + 1e-12).all()
            assert value.low - 1e-12 <= true.mean() <= value.high + 1e-12


def test_judging_what_is_listed_shrinks_the_width_faster_than_judging_from_the_top() -> None:
    rng = np.random.default_rng(3)
    widths = np.zeros(2)
    for _ in range(10):
        truth, left, runs = hide_judgements(rng)
        result = bounds(left, *runs, measure="NDCG@10", max_label=3)
        listed = [(item.query, item.document) for item in result.judge_next(8)]
        pooled = [
            (q, d)
            for depth in range(30)
            for q in left
            for run in runs
            for d in sorted(run[q], key=lambda d: -run[q][d])[depth : depth + 1]
            if d not in left[q]
        ]
        for i, chosen in enumerate((listed, list(dict.fromkeys(pooled))[:8])):
            more = {q: {**labels, **{d: truth[q][d] for at, d in chosen if at == q}} for q, labels in left.items()}
            after = bounds(more, *runs, measure="NDCG@10", max_label=3)
            assert after.low >= result.low - 1e-12
            assert after.high <= result.high + 1e-12
            widths[i] += after.high - after.low
    assert widths[0] < widths[1]


def test_residual_of_rbp_covers_unjudged_documents_and_the_tail() -> None:
    result = bounds({"q": {"a": 1}}, {"q": {"x": 3.0, "a": 2.0}}, measure="RBP(p=0.5)")
    assert (result.low, result.high) == (0.25, 0.75)
    assert result.residuals is not None
    assert result.residuals.tolist() == [0.5 + 0.25]
    assert bounds({"q": {"a": 1}}, {"q": {"x": 3.0, "a": 2.0}}, measure="RR").residuals is None


def test_documents_below_the_depth_keep_their_order() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    assert bounds(qrels, run, measure="NDCG@1", depth=1).low == 1.0
    assert bounds(qrels, run, measure="P@3", depth=2).high == pytest.approx(2 / 3)
    with pytest.raises(ConventionError, match="depth must be"):
        bounds(qrels, run, depth=0)


@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize("measure", ["NDCG@3", "AP", "P@3"])
def test_documents_that_no_run_has_count_where_they_are_asked_for(measure: str, systems: int) -> None:
    rng = np.random.default_rng(13)
    narrower = 0
    for _ in range(30):
        qrels, lists, holes = small(rng, systems)
        runs = [{"q": scores(item)} for item in lists]
        every = []
        for labels in product(range(3), repeat=len(holes) + 2):
            filled = {**qrels, **dict(zip([*holes, "n1", "n2"], labels, strict=True))}
            values = [TWINS[measure](item, filled) for item in lists]
            every.append(values[0] - values[1] if systems == 2 else values[0])
        result = bounds({"q": qrels}, *runs, measure=measure, max_label=2, extra_relevant=2)
        assert (result.low, result.high) == pytest.approx((min(every), max(every)), abs=1e-12)
        assert result.n_unjudged == len(holes)
        assert {item.document for item in result.judge_next(100)} <= set(holes)
        narrower += bounds({"q": qrels}, *runs, measure=measure, max_label=2).low > result.low + 1e-9
    assert (narrower > 0) == (measure != "P@3")
    with pytest.raises(ConventionError, match="extra_relevant must be"):
        bounds({"q": qrels}, *runs, extra_relevant=-1)


def test_the_same_document_has_one_label_in_both_runs() -> None:
    run = {"q": {"x": 2.0, "a": 1.0}}
    result = bounds({"q": {"a": 1}}, run, run, measure="ERR")
    assert (result.low, result.high) == (0.0, 0.0)
    assert "equal whatever" in result.verdict
    assert result.judge_next(3) == []


def test_winner_is_reported() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    sure = bounds(qrels, {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}, measure="RR")
    assert "is better whatever" in sure.verdict
    first = bounds(qrels, {"q": {"a": 1.0}}, {"q": {"x": 2.0, "a": 1.0}}, measure="P@1")
    assert first.low == 0.0
    assert "could decide for either" in first.verdict
    assert first.to_dict()["unjudged"] == [1]


@pytest.mark.parametrize(
    ("measure", "axes", "sentence"),
    [
        ("Bpref", {}, "bounds support only AP, DCG"),
        ("NDCG@5", {"ideal_source": "list"}, "do not support ideal_source=list"),
        ("NDCG@5", {"unjudged_documents": "drop"}, "do not support unjudged_documents=drop"),
        ("NDCG@5", {"empty": None}, "only under some labels"),
        ("AP", {"ap_denominator": "found"}, "do not support ap_denominator=found"),
        ("ERR", {"err_max_grade": "query"}, "need a top grade"),
        ("NDCG@5", {"gain": (0.0, 3.0, 1.0)}, "gains that start at 0"),
    ],
)
def test_unknown_names_are_refused(measure: str, axes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConventionError, match=sentence):
        bounds({"q": {"a": 0}}, {"q": {"x": 2.0, "a": 1.0}}, measure=measure, max_label=2, **axes)


def test_tied_documents_need_an_order() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"x": 1.0, "a": 1.0}}
    with pytest.raises(ConventionError, match="has tied documents"):
        bounds(qrels, run)
    assert bounds(qrels, run, measure="RR", tool="trec_eval9").value == 1 / 2  # x before a: by id, descending


def test_a_data_set_has_no_holes() -> None:
    data = Dataset.from_arrays(np.ones((1, 1)), [1], [1])
    with pytest.raises(DataError, match="every document of a data set is judged"):
        bounds(data, [1.0])


def test_documents_that_are_the_query_are_dropped_before() -> None:
    qrels, run = {"q": {"q": 1, "a": 1, "b": 0}}, {"q": {"q": 3.0, "x": 2.0, "a": 1.0}}
    dropped = {"q": {"x": 2.0, "a": 1.0}}
    results, plain = (bounds(qrels, listed, measure="P@2", tool="beir") for listed in (run, dropped))
    assert (results.low, results.high) == (plain.low, plain.high) == (0.5, 1.0)


@pytest.mark.parametrize(
    "axis",
    [
        "relevance_rule=percentile",
        "ties=topk-of-all",
        "pool_source=list",
        "score_floor=zero",
        "unretrieved_relevant=append",
    ],
)
def test_rejection_has_a_reason(axis: str) -> None:
    name, value = axis.split("=")
    selected: dict[str, Any] = {name: value}
    with pytest.raises(ConventionError, match=rf"do not support {axis}: \w+"):
        bounds({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, measure="P@2", **selected)


def test_each_of_several_sentences_names_its_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 3 r\n1 Q0 x 2 2 r\n1 Q0 b 3 1 r\n")
    files = [str(tmp_path / name) for name in ("qrels", "run")]
    assert main(["bounds", *files, "--measure", "AP,RR"]) == 0
    assert [line[:4] for line in capsys.readouterr().out.splitlines() if ": " in line] == ["AP: ", "RR: "]
    assert main(["bounds", *files, "--measure", "AP"]) == 0
    assert "AP: " not in capsys.readouterr().out
