"""Which conclusions of Busa-Fekete et al. (2012) hold on this data?

Each is a function over a study that gives a verdict with its number. Where a difference could be chance, it is tested
on paired queries, corrected over the rankers; where it is an identity, it is checked on every query and needs no test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pippin.bench.leaderboard import BoardKey, Leaderboard, agreement
from pippin.bench.standings import mean_over_folds
from pippin.evaluation.corrections import adjust
from pippin.evaluation.significance import compare_pair
from pippin.evaluation.value_table import ValueTable

if TYPE_CHECKING:
    from pippin.bench.study import Study

Holds = Literal["yes", "partly", "no", "unknown"]
ALPHA = 0.05
NEEDED = ("official", "ranklib", "yahoo", "letor4")  # tools that the conclusions are about
LOOKING = ("adarank", "lambdamart", "coordinate-ascent", "lambdarank", "best-feature")  # at the measure, in training
UNCHANGED = ("lambdamart", "coordinate-ascent", "lambdarank", "best-feature")  # by the value of empty queries
_LAST, _BEFORE = 10, 7  # “the scores degrade rapidly for cutoff values of 8 – 10”
_EXACT = 1e-12


@dataclass(frozen=True)
class Evidence:
    """What one ranker says about a conclusion."""

    ranker: str
    value: float
    p: float  # corrected over the rankers; NaN where nothing is left to chance
    words: str = ""
    low: float = math.nan  # 95 % interval of a difference over queries, for this ranker alone
    high: float = math.nan


@dataclass(frozen=True)
class Conclusion:
    """A statement, whether it holds here, the number that says so, and how sure it is."""

    name: str
    statement: str
    holds: Holds
    value: float  # NaN where the study has nothing to say
    meaning: str  # of the value
    p: float  # the largest of the p that the verdict rests on; NaN for an identity
    words: str
    evidence: tuple[Evidence, ...] = ()


def conclusions(study: Study, cells: Sequence[Any]) -> tuple[Conclusion, ...]:
    """All of them."""
    reached = [rule(study) for rule in (bias, collapse, letor_training, yahoo_training)]
    return (*reached, unchanged(study, cells), order(study))


def _boards(study: Study, tool: str, measure: str = f"NDCG@{_LAST}") -> dict[str, Leaderboard]:
    """Training convention → the leaderboard of the tool."""
    return {c: study.boards[c][BoardKey(study.data, tool, measure)] for c in study.conventions}


def _test(ranker: str, value: float, a: Mapping[str, float], b: Mapping[str, float], words: str) -> Evidence:
    """The difference of two columns by the paired t-test over queries; equal columns do not differ for certain."""
    tested = compare_pair(ValueTable.from_systems({"a": a, "b": b}), "a", "b", "t", alpha=ALPHA)
    p = 1.0 if math.isnan(tested.p) else tested.p
    return Evidence(ranker, value, p, words, tested.low, tested.high)


def _corrected(rows: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The same with p corrected over the rankers by Holm."""
    tested = [e for e in rows if e.low != 0 or e.high != 0]  # two equal columns are no test
    corrected = iter(adjust(np.array([e.p for e in tested]), "holm").tolist() if tested else ())
    return tuple(replace(e, p=next(corrected)) if e in tested else e for e in rows)


def _unknown(name: str, statement: str, meaning: str, why: str) -> Conclusion:
    return Conclusion(name, statement, "unknown", math.nan, meaning, math.nan, why)


def bias(study: Study) -> Conclusion:
    """NDCG of `yahoo` less NDCG of `ranklib`, query by query: 1 where a query is empty, 0 elsewhere.

    A query is empty where its average precision is 0: every document of a query is ranked.
    """
    statement = "The bias of yahoo equals the share of empty queries exactly."
    worst, ties, rows = 0.0, 0.0, {}
    share = math.nan
    for cutoff in range(1, _LAST + 1):
        measure = f"NDCG@{cutoff}"
        tools = [_boards(study, tool, measure) for tool in ("yahoo", "ranklib", "official")]
        precision = _boards(study, "official", "MAP")
        for convention in study.conventions:
            yahoo, ranklib, official = (boards[convention] for boards in tools)
            for ranker in yahoo.by_ranker:
                empty = {q: float(v == 0) for q, v in precision[convention].by_query(ranker).items()}
                ours, theirs = ranklib.by_query(ranker), yahoo.by_query(ranker)
                worst = max(worst, *(abs(theirs[q] - ours[q] - empty[q]) for q in theirs))
                share = _fold_mean(precision[convention], ranker)
                difference = yahoo.by_ranker[ranker].mean - official.by_ranker[ranker].mean
                ties = max(ties, abs(difference - share))
                if convention == study.base and cutoff == _LAST:
                    rows[ranker] = yahoo.by_ranker[ranker].mean - ranklib.by_ranker[ranker].mean
    meaning = "share of empty queries"
    if not rows:
        return _unknown("bias", statement, meaning, "No ranker has all its cells.")
    holds: Holds = "yes" if worst <= _EXACT else "no"
    exactly = "exactly 1" if worst == 0 else f"1 (± {worst:.1g})"
    words = (
        f"{_percent(share)} of the queries are empty. Over all rankers, cutoffs and training conventions, yahoo less "
        f"ranklib (the same but for empty queries) is {exactly} on those and 0 on the others. Against "
        f"official, which takes ties in expectation, the mean bias departs from the share by at most {ties:.4f}."
    )
    evidence = tuple(Evidence(r, v, math.nan) for r, v in rows.items())
    return Conclusion("bias", statement, holds, share, meaning, math.nan, words, evidence)


def _fold_mean(precision: Leaderboard, ranker: str) -> float:
    """Share of empty queries, as a mean over folds."""
    folds = {fold: list(values.values()) for fold, values in precision.queries[ranker].items()}
    shares = {(fold, 1): sum(v == 0 for v in values) / len(values) for fold, values in folds.items()}
    return mean_over_folds(shares).mean


def collapse(study: Study) -> Conclusion:
    """NDCG of `letor4` falls from cutoff 7 to 10 where the definition's does not."""
    statement = "letor4 collapses towards cutoff 10, where lists are shorter than the cutoff."
    last = {tool: _boards(study, tool)[study.base] for tool in ("official", "letor4")}
    before = {tool: _boards(study, tool, f"NDCG@{_BEFORE}")[study.base] for tool in ("official", "letor4")}
    rows, drops, zeroed, rises = [], [], 0.0, []
    for ranker in last["official"].by_ranker:
        official, letor = last["official"].by_query(ranker), last["letor4"].by_query(ranker)
        zeroed = max(zeroed, sum(letor[q] == 0 < official[q] for q in official) / len(official))
        drops.append(last["official"].by_ranker[ranker].mean - last["letor4"].by_ranker[ranker].mean)
        rises.append(last["official"].by_ranker[ranker].mean - before["official"].by_ranker[ranker].mean)
        fall = before["letor4"].by_ranker[ranker].mean - last["letor4"].by_ranker[ranker].mean
        words = f"official − letor4 at {_LAST}: {signed(drops[-1])}"
        rows.append(_test(ranker, fall, before["letor4"].by_query(ranker), letor, words))
    meaning = f"official − letor4 at cutoff {_LAST}, mean over rankers"
    if not rows:
        return _unknown("collapse", statement, meaning, "No ranker has all its cells.")
    evidence = _corrected(rows)
    falls = [e.value > 0 and e.p <= ALPHA and rise > -_EXACT for e, rise in zip(evidence, rises, strict=True)]
    drop = math.fsum(drops) / len(drops)
    words = (
        f"From cutoff {_BEFORE} to {_LAST} letor4's NDCG changes by {_span([-e.value for e in evidence])}, the "
        f"definition's by {_span(rises)}. At {_LAST} letor4 gives 0 to {_percent(zeroed)} of the queries, "
        "although something relevant was found."
    )
    return Conclusion("collapse", statement, _share(falls), drop, meaning, max(e.p for e in evidence), words, evidence)


def letor_training(study: Study) -> Conclusion:
    """NDCG@10 by the definition after training under `letor4`, less that after training under the base."""
    name, statement = "training under letor4", "Training under letor4 hurts the rankers that look at the measure."
    meaning = f"NDCG@{_LAST} by the definition, trained under letor4 − under {study.base}, mean over those rankers"
    if "letor4" not in study.conventions or study.base == "letor4":
        return _unknown(name, statement, meaning, "Nothing was trained under letor4 and another tool.")
    evidence = _trained(study, "letor4", study.base)
    looking = [e for e in evidence if e.ranker in LOOKING]
    if not looking:
        return _unknown(name, statement, meaning, "No ranker that looks at the measure has all its cells.")
    worse = [e.value < 0 and e.p <= ALPHA for e in looking]
    better = [e for e in looking if e.value > 0 and e.p <= ALPHA]
    holds = "partly" if any(worse) and better else _share(worse)
    value = math.fsum(e.value for e in looking) / len(looking)
    lower = sum(e.value < 0 for e in looking)
    words = (
        f"{lower} of {len(looking)} are lower after it, {sum(worse)} significantly; {len(better)} significantly higher."
        f"{_controls(evidence)}"
    )
    return Conclusion(name, statement, holds, value, meaning, max(e.p for e in looking), words, evidence)


def yahoo_training(study: Study) -> Conclusion:
    """AdaRank's NDCG@10 by the definition after training under `yahoo`, less that after training under its twin."""
    twin = _twin(study)
    name = "training under yahoo"
    statement = "Training under yahoo helps AdaRank, which then gives empty queries no weight."
    meaning = f"NDCG@{_LAST} by the definition, AdaRank trained under yahoo − under {twin}"
    evidence = _trained(study, "yahoo", twin) if twin else ()
    adaranks = [e for e in evidence if e.ranker == "adarank"]
    if not adaranks:
        return _unknown(name, statement, meaning, "AdaRank was not trained under yahoo and another tool.")
    (adarank,) = adaranks
    holds: Holds = "yes" if adarank.value > 0 and adarank.p <= ALPHA else "no"
    sure = "significantly" if adarank.p <= ALPHA else "not significantly"
    words = f"AdaRank changes by {signed(adarank.value)}, {sure}.{_controls(evidence)}"
    return Conclusion(name, statement, holds, adarank.value, meaning, adarank.p, words, evidence)


def unchanged(study: Study, cells: Sequence[Any]) -> Conclusion:
    """Scores of models trained under `yahoo` and under `ranklib`, bit by bit.

    The two differ in the value of empty queries alone. It adds a constant to the objective of coordinate ascent, and no
    swap of two documents of such a query has a gradient in LambdaMART, so the models must be the same.
    """
    statement = "Training under yahoo cannot change LambdaMART or coordinate ascent."
    meaning = "share of models that are the same, bit by bit"
    twin = _twin(study)
    scores = {c.key: c for c in cells if c.key[0] == study.data}
    rows = []
    for ranker in (r for r in UNCHANGED if r in study.rankers):
        pairs = [(cell, scores.get((*key[:3], twin, key[4]))) for key, cell in scores.items()
                 if key[2] == ranker and key[3] == "yahoo"]  # fmt: skip
        same = [_same(a, b) for a, b in pairs if b is not None]
        if same:
            rows.append(Evidence(ranker, sum(same) / len(same), math.nan, f"{sum(same)} of {len(same)} models"))
    if not rows:
        return _unknown("unchanged", statement, meaning, "Neither was trained under yahoo and another tool.")
    value = math.fsum(e.value for e in rows) / len(rows)
    all_same = all(e.value == 1 for e in rows)
    words = f"Against {twin}: {'; '.join(f'{e.ranker} {e.words}' for e in rows)} score every test document the same."
    if twin != "ranklib" and not all_same:
        words += f" {twin} and yahoo differ in how they take ties, too; train under ranklib to tell the two apart."
    if all_same:
        words += " The paper's LambdaMART curves, which differ, must have another cause."
    holds: Holds = "yes" if all_same else "no" if twin == "ranklib" else "unknown"
    return Conclusion("unchanged", statement, holds, value, meaning, math.nan, words, tuple(rows))


def order(study: Study) -> Conclusion:
    """Pairs of rankers that some tool turns round, all trained under the base."""
    statement = "Another evaluation tool may order the algorithms differently."
    meaning = f"pairs of rankers that some tool turns round, by NDCG@{_LAST}"
    compared = agreement(study.board(study.base, tool, _LAST) for tool in study.tools)
    if compared is None:
        return _unknown("order", statement, meaning, "There are not two rankers with all their cells.")
    firm = [v for v in compared.flips if v.significant]
    words = f"{compared.sentence()} {len(firm)} of the pairs that flip are significant under some tool."
    holds: Holds = "yes" if firm else "partly" if compared.flips else "no"
    return Conclusion("order", statement, holds, float(len(compared.flips)), meaning, math.nan, words)


def _twin(study: Study) -> str:
    """The convention that `yahoo` is held against: `ranklib`, which differs in nothing else, or the base."""
    if "yahoo" not in study.conventions:
        return ""
    others = [c for c in ("ranklib", study.base) if c in study.conventions and c != "yahoo"]
    return others[0] if others else ""


def _same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a.scores()["score"], b.scores()["score"]))


def _trained(study: Study, convention: str, against: str) -> tuple[Evidence, ...]:
    """Every ranker under both training conventions, evaluated by the definition."""
    boards = _boards(study, "official")
    rows = []
    for ranker in study.rankers:
        if ranker in boards[convention].by_ranker and ranker in boards[against].by_ranker:
            a, b = (boards[c].by_query(ranker) for c in (convention, against))
            means = [boards[c].by_ranker[ranker].mean for c in (convention, against)]
            rows.append(_test(ranker, means[0] - means[1], a, b, "" if ranker in LOOKING else "control"))
    return _corrected(rows)


def _share(each: Sequence[bool]) -> Holds:
    return "yes" if all(each) else "partly" if any(each) else "no"


def _controls(evidence: Sequence[Evidence]) -> str:
    shown = [f"{e.ranker} {signed(e.value)} (p {e.p:.2g})" for e in evidence if e.ranker not in LOOKING]
    return f" Controls: {', '.join(shown)}." if shown else ""


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return signed(low) if high - low < 0.00005 else f"{signed(low)} to {signed(high)}"


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(-0.5), signed(math.nan)
    ('−0.5000', '–')
    """
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
