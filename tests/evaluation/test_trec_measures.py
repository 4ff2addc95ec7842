"""The measures that only trec_eval prints, against their formulas written out, and the names they go by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from pippin.data.trec import Judgements, Run
from pippin.errors import ConventionError
from pippin.evaluation.evaluate import evaluate, measure_values
from pippin.evaluation.measures import KINDS
from pippin.evaluation.notation import parse
from pippin.evaluation.ranking import Ranking, rank
from pippin.evaluation.tools import TOOLS

NOBODY = "nobody"  # a document outside the pool


@dataclass
class Topic:
    """One list of labels in rank order, and all judged labels."""

    labels: list[int | str]
    pool: list[int]

    def hits(self, depth: int) -> int:
        return sum(x != NOBODY and int(x) >= 1 for x in self.labels[:depth])

    @property
    def relevant(self) -> int:
        return sum(x >= 1 for x in self.pool)

    @property
    def size(self) -> int:
        return len(self.labels)

    def gain(self, i: int) -> int:
        x = self.labels[i]
        return max(0, int(x)) if x != NOBODY else 0

    def ideal(self) -> list[int]:
        return sorted((x for x in self.pool if x > 0), reverse=True)


def make_topics(seed: int, count: int = 60) -> tuple[list[Topic], Ranking]:
    """Topics with unjudged, pooled and unretrieved documents, and their ranking."""
    random = np.random.default_rng(seed)
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    topics = []
    for t in range(count):
        size, missing = int(random.integers(1, 25)), int(random.integers(1, 6))
        labels = [NOBODY if random.random() < 0.2 else int(random.choice([-1, 0, 0, 1, 2, 3])) for _ in range(size)]
        unretrieved = [int(random.choice([0, 1, 2])) for _ in range(missing)]
        names = [f"d{i}" for i in range(size + missing)]
        run[str(t)] = {names[i]: float(size - i) for i in range(size)}
        judged[str(t)] = {n: int(x) for n, x in zip(names, [*labels, *unretrieved], strict=True) if x != NOBODY}
        topics.append(Topic(list(labels), list(judged[str(t)].values())))
    convention = TOOLS["trec_eval9"].convention
    return topics, rank(Judgements.of(judged), Run.of(run), convention)


def ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def precision(t: Topic, depth: int) -> float:
    return ratio(t.hits(depth), depth)


def interpolated(t: Topic, level: float, nearest: bool = False) -> float:
    needed = round(level * t.relevant) if nearest else int(level * t.relevant + 0.9)
    if needed > t.hits(t.size):
        return 0.0
    return max(precision(t, r) for r in range(1, t.size + 1) if t.hits(r) >= needed)


def dcg(gains: list[int]) -> float:
    return sum(g / math.log2(i + 2) for i, g in enumerate(gains))


def ndcg(t: Topic, depth: int) -> float:
    return ratio(dcg([t.gain(i) for i in range(min(depth, t.size))]), dcg(t.ideal()[:depth]))


def ndcg_at_relevant(t: Topic) -> float:
    found = [r + 1 for r in range(t.size) if t.gain(r) > 0]
    missed = len(t.ideal()) - len(found)
    end = max(t.size, len(t.ideal()))
    return ratio(sum(ndcg(t, r) for r in found) + missed * ndcg(t, end), len(t.ideal()))


def ndcg_at_levels(t: Topic) -> float:
    ideal = t.ideal()
    if not ideal:
        return 0.0
    ranks = [r for r in range(1, len(ideal)) if ideal[r] != ideal[r - 1]] + [len(ideal)]
    if t.size > len(ideal) + 1:
        ranks.append(t.size)  # a list that goes on for more than one document has a point at its end too
    return sum(ndcg(t, r) for r in ranks) / len(ranks)


def normalised_gain(t: Topic) -> float:
    ideal, have, cost, total = t.ideal(), 0, 0, 0.0
    for i in range(t.size):
        have += t.gain(i)
        cost += max(1, ideal[i]) if i < len(ideal) else 1
        total += t.gain(i) / math.log2(2 + cost - have) if t.gain(i) else 0.0
    return ratio(total, sum(ideal))


def binary_g(t: Topic) -> float:
    total = sum(1 / math.log2(2 + i - t.hits(i)) for i in range(t.size) if t.hits(i + 1) > t.hits(i))
    return ratio(total, t.relevant)


def inferred_ap(t: Topic) -> float:
    total = 0.0
    for i in range(t.size):
        if t.hits(i + 1) == t.hits(i):
            continue
        above = t.labels[:i]
        judged = sum(x != NOBODY and int(x) >= 0 for x in above)
        pooled = sum(x != NOBODY for x in above)
        inside = pooled / i * (t.hits(i) + 1e-5) / (judged + 2e-5) if i else 0.0
        total += 1 / (i + 1) + i / (i + 1) * inside
    return ratio(total, t.relevant)


def sum_of_precision(t: Topic) -> float:
    return sum(precision(t, i + 1) for i in range(t.size) if t.hits(i + 1) > t.hits(i))


def unjudged(t: Topic, i: int) -> bool:
    return t.labels[i] == NOBODY or int(t.labels[i]) < 0


def residual(t: Topic, p: float) -> float:
    ranks = [i for i in range(t.size) if unjudged(t, i)]
    return p**t.size + (1 - p) * sum(p**i for i in ranks) if ranks else 0.0


def graded_rbp(t: Topic, p: float) -> float:
    top = max([1, *t.pool])
    return (1 - p) * sum(t.gain(i) / top * p**i for i in range(t.size))


TWINS: dict[str, Callable[[Topic], float]] = {
    "iprec_at_recall_0.00": lambda t: interpolated(t, 0.0),
    "iprec_at_recall_0.30": lambda t: interpolated(t, 0.3),
    "iprec_at_recall(recall=0.3,recall_cut=nearest)": lambda t: interpolated(t, 0.3, nearest=True),
    "iprec_at_recall_1.00": lambda t: interpolated(t, 1.0),
    "11pt_avg": lambda t: sum(interpolated(t, i / 10) for i in range(11)) / 11,
    "Rprec_mult_0.40": lambda t: precision(t, int(0.4 * t.relevant + 0.9)),
    "Rprec_mult_2.00": lambda t: precision(t, int(2.0 * t.relevant + 0.9)),
    "relative_P_5": lambda t: ratio(t.hits(5), min(5, t.relevant)),
    "set_relative_P": lambda t: ratio(t.hits(t.size), min(t.size, t.relevant)),
    "set_map": lambda t: ratio(t.hits(t.size) ** 2, t.size * t.relevant),
    "set_F": lambda t: ratio(2 * t.hits(t.size), t.size + t.relevant),
    "set_F(weight=3)": lambda t: ratio(4 * t.hits(t.size), 3 * t.relevant + t.size),
    "utility": lambda t: 2 * t.hits(t.size) - t.size,
    "utility(a=3,b=-2,c=-1,d=0.5,collection=100)": lambda t: 3 * t.hits(t.size)
    - 2 * (t.size - t.hits(t.size))
    - (t.relevant - t.hits(t.size))
    + 0.5 * (100 + t.hits(t.size) - t.size - t.relevant),
    "binG": binary_g,
    "G": normalised_gain,
    "ndcg_rel": ndcg_at_relevant,
    "Rndcg": ndcg_at_levels,
    "ideal_dcg": lambda t: dcg(t.ideal()),
    "infAP": inferred_ap,
    "yaap": lambda t: math.log((1 + sum_of_precision(t)) / (1 + t.relevant - sum_of_precision(t))),
    "rbp_graded": lambda t: graded_rbp(t, 0.9),
    "rbp_resid(p=0.7)": lambda t: residual(t, 0.7),
    "unj_5": lambda t: sum(unjudged(t, i) for i in range(min(5, t.size))) / 5,
    "num_nonrel_judged_ret": lambda t: sum(x == 0 for x in t.labels),
    "gm_map": lambda t: ratio(sum_of_precision(t), t.relevant),
}  # fmt: skip
SINGLE: dict[str, Callable[[Topic], float]] = {
    "3-pt_avg": lambda t: sum(interpolated(t, x) for x in (0.2, 0.5, 0.8)) / 3,
    "avg_doc_prec": sum_of_precision,
    "avg_relative_prec": lambda t: ratio(
        sum(ratio(t.hits(r), min(r, t.relevant)) for r in range(1, t.size + 1)), t.size
    ),
    "exact_relative_unranked_avg_prec": lambda t: precision(t, t.size) ** 2 if t.relevant else 0.0,
    "map_at_R": lambda t: ratio(_above_r(t), t.relevant),
    "int_map": lambda t: ratio(sum(_best(t, i + 1) for i in range(t.size) if t.hits(i + 1) > t.hits(i)), t.relevant),
    "exact_int_R_rcl_prec": lambda t: _best(t, t.relevant) if t.relevant else 0.0,
    "int_0.60R-prec": lambda t: _best(t, int(0.6 * t.relevant + 0.9)) if t.relevant else 0.0,
    "unranked_avg_prec5": lambda t: precision(t, 5) * ratio(t.hits(5), t.relevant),
    "rank_first_rel": lambda t: next((r for r in range(1, t.size + 1) if t.hits(r)), 0),
    "bpref_num_possible": lambda t: t.relevant * min(t.relevant, len(t.pool) - t.relevant),
}


def _best(t: Topic, rank_: int) -> float:
    return max((precision(t, r) for r in range(rank_, t.size + 1)), default=ratio(t.hits(t.size), rank_))


def _above_r(t: Topic) -> float:
    """Precision at the ranks above R; the last rank of a list that ends there counts once more."""
    again = precision(t, t.size) if t.size < t.relevant else 0.0
    return sum(precision(t, r) for r in range(1, t.relevant)) + again


def values_of(text: str, ranking: Ranking, tool: str = "trec_eval9") -> list[float]:
    measure = parse(text)
    return list(measure_values(ranking, measure, TOOLS[tool].convention_for(measure)))


@pytest.mark.parametrize("text", TWINS)
def test_measures_equal_their_formulas(text: str) -> None:
    topics, ranking = make_topics(7)
    assert values_of(text, ranking) == pytest.approx([TWINS[text](t) for t in topics], abs=1e-12)


@pytest.mark.parametrize("text", SINGLE)
def test_measures_of_version_8_equal_their_formulas_in_single_precision(text: str) -> None:
    topics, ranking = make_topics(11)
    assert values_of(text, ranking, "trec_eval8") == pytest.approx([SINGLE[text](t) for t in topics], abs=1e-5)


def test_preferences_of_version_8() -> None:
    # Relevant documents at ranks 2 and 4 with 1 and 2 of the 3 non-relevant ones above them; a third is not found.
    judged = {"q": {"a": 0, "b": 1, "c": 0, "d": 2, "e": 1, "f": 0}}
    run = {"q": {d: 10.0 - i for i, d in enumerate("abcd")}}
    got = evaluate(judged, run, ["bpref_allnonrel", "bpref_retnonrel", "bpref_5", "bpref_num_all", "bpref_num_ret",
                                 "bpref_num_correct", "old_bpref", "bpref_retall"], tool="trec_eval8").mean  # fmt: skip
    assert got["bpref_allnonrel"] == pytest.approx(((1 - 1 / 3) + (1 - 2 / 3)) / 3, abs=1e-6)
    assert got["bpref_retnonrel"] == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 3, abs=1e-6)
    assert got["bpref_5"] == pytest.approx(((1 - 1 / 3) + (1 - 2 / 3)) / 2, abs=1e-6)
    assert got["bpref_num_all"] == (3 - 1) + (3 - 2)
    assert got["bpref_num_ret"] == (2 - 1) + (2 - 2)
    assert got["bpref_num_correct"] == (3 - 1) + (3 - 2)
    assert got["old_bpref"] == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 3, abs=1e-6)
    assert got["bpref_retall"] == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 2, abs=1e-6)


def test_fallout_stops_where_a_list_holds_exactly_that_many() -> None:
    judged = {"q": {f"d{i}": int(i in (0, 20)) for i in range(40)}}
    for size, expected in ((16, 0.0), (17, 0.5), (30, 0.5)):
        # 14.2 non-relevant documents are 15; a list with exactly 15 of them gets no value.
        run = {"q": {f"d{i}": 100.0 - i for i in range(size)}}
        assert evaluate(judged, run, "fallout_recall_14", tool="trec_eval8").mean["fallout_recall_14"] == expected


def test_geometric_mean_keeps_one_empty_topic_from_erasing_the_rest() -> None:
    judged = {"a": {"x": 1}, "b": {"x": 1, "y": 0}}
    run = {"a": {"x": 1.0}, "b": {"y": 1.0}}
    got = evaluate(judged, run, ["gm_map", "gm_bpref"], tool="trec_eval9").mean
    assert got["gm_map"] == pytest.approx(math.sqrt(1.0 * 0.00001))
    assert got["gm_bpref"] == got["gm_map"]


def test_gain_of_a_convention_reaches_the_measures_that_have_one() -> None:
    judged, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    got = evaluate(judged, run, ["ideal_dcg", "ideal_dcg(gain=exp2)"], tool="trec_eval9").mean
    assert got["ideal_dcg"] == pytest.approx(3 + 1 / math.log2(3))
    assert got["ideal_dcg(gain=exp2)"] == pytest.approx(7 + 1 / math.log2(3))


def test_version_10_rounds_recall_levels_to_the_nearest() -> None:
    judged = {"q": {"a": 1, "b": 1, "c": 1, "d": 0}}
    run = {"q": {"a": 3.0, "d": 2.0, "b": 1.0}}
    text = "iprec_at_recall_0.40"  # of 3 relevant documents: 1.2, rounded up 2, to the nearest 1
    assert evaluate(judged, run, text, tool="trec_eval9").mean[text] == 2 / 3
    assert evaluate(judged, run, text, tool="trec_eval10").mean[text] == 1.0


def test_measures_without_a_closed_form_refuse_open_ties() -> None:
    judged, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    with pytest.raises(ConventionError, match="no closed form"):
        evaluate(judged, run, "infAP", tool="official")


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("P5", "P@5"), ("P_5", "P@5"), ("recall5", "Recall@5"), ("recall_10", "Recall@10"), ("R-prec", "Rprec"),
        ("map_cut_10", "AP@10"), ("ndcg_cut_10", "NDCG@10"), ("success_1", "Success@1"), ("exact_prec", "P"),
        ("set_P", "P"), ("exact_recall", "Recall"), ("set_recall", "Recall"), ("11-pt_avg", "11pt_avg"),
        ("gm_ap", "gm_map"), ("relative_P_5", "relative_P@5"), ("relative_prec5", "relative_P@5"),
        ("exact_relative_prec", "relative_P"), ("exact_unranked_avg_prec", "set_map"),
        ("iprec_at_recall_0.10", "iprec_at_recall(recall=0.1)"), ("ircl_prn.0.10", "iprec_at_recall(recall=0.1)"),
        ("Rprec_mult_0.20", "Rprec_mult(multiple=0.2)"), ("0.20R-prec", "Rprec_mult(multiple=0.2)"),
        ("int_0.20R-prec", "int_Rprec_mult(multiple=0.2)"), ("fallout_recall_14", "fallout_recall(nonrelevant=14)"),
        ("unranked_avg_prec15", "unranked_avg_prec@15"), ("unj_5", "unj@5"), ("bpref_5", "bpref_5"),
        ("relative_unranked_avg_prec30", "relative_unranked_avg_prec@30"), ("infAP", "infAP"), ("Rndcg", "Rndcg"),
        ("utility_1.0_-1.0_0.0_0.0", "utility(a=1,b=-1,c=0,d=0)"), ("utility_2,-1,0,0", "utility(a=2,b=-1,c=0,d=0)"),
        ("set_F_2.0", "set_F(weight=2)"), ("11pt_avg(rel=2)", "11pt_avg(rel=2)"),
    ],
)  # fmt: skip
def test_printed_names_are_understood(printed: str, text: str) -> None:
    assert parse(printed).text == text
    assert parse(text) == parse(printed)


def test_every_kind_parses_back_from_its_name() -> None:
    for kind in KINDS.values():
        asked = f"{kind.name}@10" if kind.cutoff == "required" else kind.name
        assert parse(asked).kind == kind.name
