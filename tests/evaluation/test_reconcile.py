"""Reconciliation: contributions sum, do not depend on order, and name the right axis."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.data.qrels import Qrels, Run
from pippin.errors import ConventionError
from pippin.evaluation.evaluation import RankingCache, aggregate, evaluate_rankings, measure_values
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.measures.notation import parse
from pippin.evaluation.reconcile import reconcile_ends, reconcile_rankings, round_as_printed, signed
from pippin.evaluation.tools import TOOLS, Tool
from pippin.kernels.strings import StringColumn


def dataset(*queries: tuple[list[int], list[float]]) -> tuple[Dataset, np.ndarray]:
    labels = np.concatenate([np.array(q[0], np.int32) for q in queries])
    scores = np.concatenate([np.array(q[1], np.float64) for q in queries])
    offsets = np.concatenate(([0], np.cumsum([len(q[0]) for q in queries]))).astype(np.int64)
    names = tuple(f"q{i}" for i in range(len(queries)))
    ids = StringColumn.of(f"d{i:03}" for i in range(len(labels)))
    return Dataset(np.zeros((len(labels), 1)), labels, offsets, names, ids), scores


MIXED = dataset(
    ([2, 0, 1, 0], [0.1, 0.4, 0.4, 0.2]),  # short, tied
    ([0, 0, 0], [0.3, 0.2, 0.1]),  # empty and short
    ([0, 1, 2, 0, 0, 1, 0, 0, 0, 2, 1], [float(i % 4) for i in range(11)]),
)


@pytest.mark.parametrize("target", [t for t in TOOLS if t != "official"])
@pytest.mark.parametrize("measure", ["NDCG@5", "MAP", "P@5", "RR", "ERR@5"])
def test_the_parts_sum_to_the_difference(measure: str, target: str) -> None:
    data, scores = MIXED
    if target == "catboost" and measure.startswith("ERR"):
        with pytest.raises(ConventionError, match="probabilit"):
            reconcile_rankings(RankingCache(data, scores), measure, TOOLS["official"], TOOLS[target])
        return
    reconciliation = reconcile_rankings(RankingCache(data, scores), measure, TOOLS["official"], TOOLS[target])
    assert sum(p.value for p in reconciliation.contributions) == pytest.approx(reconciliation.difference, abs=1e-12)
    for part in reconciliation.contributions:
        if part.axis != "printed_digits":
            assert part.per_query.sum() == pytest.approx(part.value, abs=1e-12)


def test_shares_are_averages_over_all_orders() -> None:
    data, scores = MIXED
    rankings, measure = RankingCache(data, scores), parse("NDCG@5")
    first, last = (TOOLS[t].convention_for(measure) for t in ("trec_eval10", "letor4"))
    reconciliation = reconcile_rankings(rankings, "NDCG@5", TOOLS["trec_eval10"], TOOLS["letor4"])
    parts = {p.axis: p.value for p in reconciliation.contributions if p.axis != "printed_digits"}
    total = dict.fromkeys(parts, 0.0)

    def mean(convention: object) -> float:
        return aggregate(measure_values(rankings.for_convention(convention), measure, convention), "mean")  # type: ignore[arg-type]

    for order in permutations(parts):
        convention, before = first, mean(first)
        for axis in order:
            convention = convention.replace(**{axis: getattr(last, axis)})
            after = mean(convention)
            total[axis] += after - before
            before = after
    for axis, value in parts.items():
        assert value == pytest.approx(total[axis] / factorial(len(parts)), abs=1e-12)


def test_the_bias_of_yahoo_is_the_share_of_empty_queries() -> None:
    data, scores = MIXED
    reconciliation = reconcile_rankings(RankingCache(data, scores), "NDCG@5", TOOLS["ranklib"], TOOLS["yahoo"])
    parts = {p.axis: p for p in reconciliation.contributions}
    assert parts["empty"].value == pytest.approx(1 / 3, abs=1e-12)
    ((query, carried),) = reconciliation.top_queries(parts["empty"])
    assert query == "q1"
    assert carried == pytest.approx(1 / 3)
    assert "1 of 3 queries have no relevant document" in reconciliation.sentence()


def test_two_names_of_one_convention_agree() -> None:
    data, scores = MIXED
    reconciliation = reconcile_rankings(RankingCache(data, scores), "NDCG@5", TOOLS["ranklib"], TOOLS["ranklib"])
    assert reconciliation.difference == 0
    assert reconciliation.contributions == ()
    assert "agree" in reconciliation.sentence()


def test_a_count_has_no_shares() -> None:
    data, scores = MIXED
    with pytest.raises(ConventionError, match="not a mean over queries"):
        reconcile_rankings(RankingCache(data, scores), "num_ret", TOOLS["official"], TOOLS["letor4"])


def test_numbers_keep_their_sign_and_small_ones_their_digits() -> None:
    assert (signed(-0.24561), signed(0.5), signed(0.00002)) == ("−0.246", "+0.500", "+0.00002")
    assert round_as_printed(0.16554, 4) == 0.1655


def test_mq2008_as_the_issue_tells_it(shared: Path) -> None:
    path = shared / "data" / "MQ2008" / "S5.txt"
    data = read_letor(path)
    scores = np.ascontiguousarray(data.features[:, 24])
    reconciliation = reconcile_rankings(RankingCache(data, scores), "NDCG@10", TOOLS["trec_eval9"], TOOLS["letor4"])
    assert reconciliation.sentence().startswith("letor4 − trec_eval9 = −0.246: short lists")
    assert "76 of 156 queries have fewer than 10 documents" in reconciliation.sentence()
    for target in TOOLS.values():
        shares = reconcile_rankings(RankingCache(data, scores), "NDCG@10", TOOLS["official"], target)
        assert sum(p.value for p in shares.contributions) == pytest.approx(shares.difference, abs=1e-12)


# The ends of a reconciliation are the values of evaluate, on data on which tools disagree in every way.
def make_runs(kind: str) -> RankingCache:
    """Nine judged queries: empty and weak-only ones, ties, near-ties, short lists, a missing and an unjudged query."""
    random = np.random.default_rng(len(kind))
    grades = {"graded": [-1, 0, 0, 1, 2, 3, 4], "large": [0, 0, 1, 2, 7, 40], "weak": [0, 0, 1]}[kind]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q in range(9):
        names = [f"d{i:02}" for i in random.permutation(15)]
        labels = [0] * 12 if q == 0 else random.integers(0, 2, 12) if q == 1 else random.choice(grades, 12)
        qrels[f"q{q}"] = {name: int(label) for name, label in zip(names, labels, strict=False)}
        if q != 5:
            listed = [f"d{i:02}" for i in random.permutation(15)][: 3 if q == 2 else int(random.integers(1, 13))]
            scores = random.integers(-1, 5, len(listed)) + random.choice([0.0, 1e-9], len(listed))
            run[f"q{q}"] = {name: float(score) for name, score in zip(listed, scores, strict=True)}
    run["unjudged"] = {"d00": 1.0}
    return RankingCache(Qrels.from_dict(qrels), Run.from_dict(run))


def shared_measures() -> list[tuple[str, list[Tool]]]:
    """Return every measure with the tools that compute it."""
    measures = [
        (kind.name + ("" if kind.cutoff == "never" else "@5"), kind.name) for kind in MEASURE_DEFINITIONS.values()
    ]
    return [(text, [tool for tool in TOOLS.values() if name in tool.measures]) for text, name in measures]


@pytest.mark.parametrize("kind", ["graded", "large", "weak"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_pairs_end_where_evaluate_ends(kind: str) -> None:
    rankings, refused, pairs = make_runs(kind), set[str](), 0
    for text, tools in shared_measures():
        for source, target in permutations(tools, 2):
            try:
                reconcile_ends(rankings, text, source, target)
                pairs += 1
            except ConventionError as error:
                refused.add(str(error))
    assert pairs > 8900
    assert not [reason for reason in refused if "cannot be reconciled" in reason]


KNOWN = [
    ("NDCG@10", "mslr", "gdeval"), ("NDCG@5", "mslr", "sentence-transformers"), ("AP", "mslr", "sentence-transformers"),
    ("RR", "mslr", "sentence-transformers-rerank"), ("NDCG@5", "mslr", "sentence-transformers-rerank"),
    ("NDCG@5", "mslr", "elliot"), ("NDCG@5", "mslr", "llama-index"), ("NDCG@5", "mslr", "pyvespa"),
    ("NDCG@5", "mslr", "recbole"), ("NDCG@5", "mslr", "cornac"), ("P@5", "mslr", "cornac"),
    ("NDCG@5", "mslr", "trectools"), ("NDCG@5", "mslr", "implicit"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "source", "target"), KNOWN)
def test_the_relevance_threshold_decides_which_queries_are_empty(text: str, source: str, target: str) -> None:
    for kind in ("graded", "weak"):
        rankings = make_runs(kind)
        reconciliation = reconcile_rankings(rankings, text, TOOLS[source], TOOLS[target])
        for name, end in ((source, reconciliation.before), (target, reconciliation.after)):
            column = evaluate_rankings(rankings, [text], TOOLS[name], {}, "").columns[0]
            assert end == round_as_printed(column.mean, column.convention.printed_digits)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sampled_pairs_sum_to_the_difference_with_evidence(seed: int) -> None:
    random = np.random.default_rng(seed)
    rankings = make_runs(["graded", "large", "weak"][seed % 3])
    measures = [(text, tools) for text, tools in shared_measures() if len(tools) > 1]
    for _ in range(60):
        text, tools = measures[int(random.integers(len(measures)))]
        source, target = (tools[i] for i in random.choice(len(tools), 2, replace=False))
        try:
            reconciliation = reconcile_rankings(rankings, text, source, target)
        except ConventionError:
            continue
        size = max(1.0, abs(reconciliation.before), abs(reconciliation.after))
        assert sum(c.value for c in reconciliation.contributions) == pytest.approx(
            reconciliation.difference, abs=1e-9 * size
        )
        for contribution in reconciliation.contributions:
            if abs(contribution.value) >= 5e-5 and contribution.axis != "printed_digits":
                assert contribution.evidence
                assert not re.search(r"\b0 of ", contribution.evidence), reconciliation.sentence()


def to_dicts(rankings: RankingCache) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements and run as dicts."""
    qrels, run = rankings.qrels, rankings.run
    assert isinstance(qrels, Qrels)
    assert isinstance(run, Run)

    def by_query(
        ids: tuple[str, ...], offsets: np.ndarray, documents: StringColumn, values: np.ndarray
    ) -> dict[str, Any]:
        spans = zip(ids, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return {q: dict(zip(documents.slice(i, j), values[i:j].tolist(), strict=True)) for q, i, j in spans}

    return (
        by_query(qrels.query_ids, qrels.offsets, qrels.document_ids, qrels.labels),
        by_query(run.query_ids, run.offsets, run.document_ids, run.scores),
    )


# What a sentence names → the data without it.
INTERVENTIONS: dict[str, Callable[[dict[str, dict[str, int]], dict[str, dict[str, float]]], object]] = {
    "queries have tied scores": lambda qrels, run: [
        documents.update({d: 100.0 * rank for rank, d in enumerate(sorted(documents))}) for documents in run.values()
    ],
    "queries have no relevant document": lambda qrels, run: [
        (qrels.pop(q, None), run.pop(q, None)) for q in {*qrels, *run} if 2 not in qrels.get(q, {}).values()
    ],
    "queries have no relevant document in the list": lambda qrels, run: [
        (qrels.pop(q, None), run.pop(q, None))
        for q in {*qrels, *run}
        if not any(qrels.get(q, {}).get(d) == 2 for d in run.get(q, {}))
    ],
    "judged queries are not in the run": lambda qrels, run: [qrels.pop(q) for q in list(qrels) if q not in run],
    "labels are 1": lambda qrels, run: [
        labels.update({d: 0 for d, label in labels.items() if label == 1}) for labels in qrels.values()
    ],
    "labels are below 0": lambda qrels, run: [
        labels.update({d: 0 for d, label in labels.items() if label < 0}) for labels in qrels.values()
    ],
    "queries have fewer than 5 documents": lambda qrels, run: [
        (qrels.pop(q, None), run.pop(q, None)) for q in {*qrels, *run} if len(run.get(q, {})) < 5
    ],
}  # fmt: skip


@pytest.mark.parametrize("phrase", INTERVENTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_contribution_vanishes_with_what_its_evidence_names(phrase: str) -> None:
    rankings = make_runs("graded")
    qrels, run = to_dicts(rankings)
    INTERVENTIONS[phrase](qrels, run)
    without = RankingCache(Qrels.from_dict(qrels), Run.from_dict(run))
    count = 0
    for text in ("NDCG@5", "AP@5", "P@5"):
        tools = [tool for tool in dict(shared_measures())[text] if tool.group == "classic" or "relevant" not in phrase]
        for source, target in [*permutations(tools, 2)][::23]:
            try:
                reconciliation = reconcile_rankings(rankings, text, source, target)
                after = reconcile_rankings(without, text, source, target)
            except ConventionError:
                continue
            remaining = {c.axis: c.value for c in after.contributions}
            for contribution in reconciliation.contributions:
                if re.fullmatch(rf"\d+ of \d+ {phrase}", contribution.evidence) and abs(contribution.value) >= 5e-5:
                    count += 1
                    assert abs(remaining[contribution.axis]) < 1e-9, (text, reconciliation.sentence(), after.sentence())
    assert count
