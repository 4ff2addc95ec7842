"""The conclusions of Busa-Fekete et al. 2012 about training and evaluation conventions, each tested on a data set."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pippin.benchmarks.leaderboard import Leaderboard, LeaderboardKey, agreement
from pippin.benchmarks.standings import mean_over_folds
from pippin.evaluation.paired_tests import adjust
from pippin.evaluation.significance import compare_pair
from pippin.evaluation.value_table import ValueTable

if TYPE_CHECKING:
    from pippin.benchmarks.studies.training_conventions import Study

Verdict = Literal["yes", "partly", "no", "unknown"]
LAST = 10  # the largest cutoff
MEASURE = f"NDCG@{LAST}"  # the measure of training and of the conclusions
CUTOFFS = tuple(range(1, LAST + 1))
ALPHA = 0.05
NEEDED = ("official", "ranklib", "yahoo", "letor4")  # tools of the conclusions
# Rankers whose training evaluates the measure.
MEASURE_RANKERS = ("adarank", "lambdamart", "coordinate-ascent", "lambdarank", "best-feature")
VALIDATION_RANKERS = ("rankboost",)  # rankers that evaluate the measure for early stopping only
# Rankers whose models do not depend on the value of empty queries.
INVARIANT_RANKERS = ("lambdamart", "coordinate-ascent", "lambdarank", "best-feature")
_BEFORE = 7  # "the scores degrade rapidly for cutoff values of 8 – 10"
_EXACT = 1e-12
_RESAMPLES = 1000  # bootstrap samples of the interval of a number of flips


@dataclass(frozen=True)
class Evidence:
    """The value of one ranker that supports or contradicts a conclusion."""

    ranker: str
    value: float
    p: float  # corrected over the rankers; NaN for identities
    note: str = ""
    low: float = math.nan  # 95 % interval of a difference over queries, for this ranker alone
    high: float = math.nan


@dataclass(frozen=True)
class Conclusion:
    """A statement of the paper, and whether it holds on a data set."""

    name: str
    statement: str
    holds: Verdict
    value: float  # NaN if the verdict is unknown
    meaning: str  # of the value
    p: float  # the largest p-value of the verdict; NaN for an identity
    explanation: str
    evidence: tuple[Evidence, ...] = ()
    low: float = math.nan  # 95 % interval of the value over queries; NaN for an identity
    high: float = math.nan


def conclusions(study: Study, cells: Sequence[Any]) -> tuple[Conclusion, ...]:
    """Return all conclusions of a study."""
    return (
        bias(study), collapse(study), letor_training(study), yahoo_training(study), invariance(study, cells),
        best_training(study), best_ranker(study), short_lists(study), flips := order(study),
        order_without_empty(study, flips.value),
    )  # fmt: skip


def _boards(study: Study, tool: str, measure: str = MEASURE) -> dict[str, Leaderboard]:
    """Return the leaderboards of a tool by training convention."""
    return {c: study.boards[c][LeaderboardKey(study.data, tool, measure)] for c in study.conventions}


def _test(ranker: str, value: float, a: Mapping[str, float], b: Mapping[str, float], note: str) -> Evidence:
    """Test the difference of two columns by the paired t-test over queries; p is 1 for equal columns."""
    pair = compare_pair(ValueTable.from_systems({"a": a, "b": b}), "a", "b", "t", alpha=ALPHA)
    return Evidence(ranker, value, 1.0 if math.isnan(pair.p) else pair.p, note, pair.low, pair.high)


def _mean_columns(columns: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of several columns, query by query."""
    return {query: math.fsum(column[query] for column in columns) / len(columns) for query in columns[0]}


def _interval(a: Sequence[Mapping[str, float]], b: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """Return the 95 % t interval of the difference of the means of two groups of columns."""
    evidence = _test("", math.nan, _mean_columns(a), _mean_columns(b), "")
    return evidence.low, evidence.high


def _correct(rows: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Correct the p-values over the rankers by Holm; equal columns are not tests."""
    tests = [e for e in rows if e.low != 0 or e.high != 0]
    p_values = iter(adjust(np.array([e.p for e in tests]), "holm").tolist() if tests else ())
    return tuple(replace(e, p=next(p_values)) if e in tests else e for e in rows)


def _unknown(name: str, statement: str, meaning: str, reason: str) -> Conclusion:
    return Conclusion(name, statement, "unknown", math.nan, meaning, math.nan, reason)


def bias(study: Study) -> Conclusion:
    """Check that NDCG under `yahoo` less NDCG under `ranklib` is 1 for every empty query and 0 for the others.

    Empty queries are those with an average precision of 0, because all documents of a query are ranked.
    """
    statement = "The bias of yahoo equals the share of empty queries exactly."
    worst, ties, rows = 0.0, 0.0, {}
    share = math.nan
    for cutoff in CUTOFFS:
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
                if convention == study.base and cutoff == LAST:
                    rows[ranker] = yahoo.by_ranker[ranker].mean - ranklib.by_ranker[ranker].mean
    meaning = "share of empty queries"
    if not rows:
        return _unknown("bias", statement, meaning, "No ranker has all its cells.")
    if share == 0:
        return _unknown("bias", statement, meaning, "The data set has no empty query.")
    holds: Verdict = "yes" if worst <= _EXACT else "no"
    exactly = "exactly 1" if worst == 0 else f"1 (± {worst:.1g})"
    explanation = (
        f"{_percent(share)} of the queries are empty. Over all rankers, cutoffs and training conventions, yahoo less "
        f"ranklib (the same but for empty queries) is {exactly} on those and 0 on the others. Against "
        f"official, which takes ties in expectation, the mean bias departs from the share by at most {ties:.4f}."
    )
    evidence = tuple(Evidence(r, v, math.nan) for r, v in rows.items())
    return Conclusion("bias", statement, holds, share, meaning, math.nan, explanation, evidence)


def _fold_mean(precision: Leaderboard, ranker: str) -> float:
    """Return the share of empty queries as a mean over folds."""
    folds = {fold: list(values.values()) for fold, values in precision.queries[ranker].items()}
    shares = {(fold, 1): sum(v == 0 for v in values) / len(values) for fold, values in folds.items()}
    return mean_over_folds(shares).mean


def collapse(study: Study) -> Conclusion:
    """Check that NDCG under `letor4` falls from cutoff 7 to 10, and NDCG by the definition does not."""
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
        note = f"official − letor4 at {LAST}: {format_signed(drops[-1])}"
        rows.append(_test(ranker, fall, before["letor4"].by_query(ranker), letor, note))
    meaning = f"official − letor4 at cutoff {LAST}, mean over rankers"
    if not rows:
        return _unknown("collapse", statement, meaning, "No ranker has all its cells.")
    evidence = _correct(rows)
    falls = [e.value > 0 and e.p <= ALPHA and rise > -_EXACT for e, rise in zip(evidence, rises, strict=True)]
    drop = math.fsum(drops) / len(drops)
    explanation = (
        f"From cutoff {_BEFORE} to {LAST} letor4's NDCG changes by {_span([-e.value for e in evidence])}, the "
        f"definition's by {_span(rises)}. At {LAST} letor4 gives 0 to {_percent(zeroed)} of the queries, "
        "although something relevant was found."
    )
    interval = _interval(*([last[tool].by_query(r) for r in last[tool].by_ranker] for tool in ("official", "letor4")))
    return Conclusion(
        "collapse",
        statement,
        _share(falls),
        drop,
        meaning,
        max(e.p for e in evidence),
        explanation,
        evidence,
        *interval,
    )


def letor_training(study: Study) -> Conclusion:
    """Compare NDCG@10 by the definition after training under `letor4` and after training under the base."""
    name = "training under letor4"
    statement = "Training under letor4 hurts the rankers whose training evaluates the measure."
    meaning = f"NDCG@{LAST} by the definition, trained under letor4 − under {study.base}, mean over those rankers"
    if "letor4" not in study.conventions or study.base == "letor4":
        return _unknown(name, statement, meaning, "No ranker was trained under letor4 and another tool.")
    evidence = _compare_training(study, "letor4", study.base)
    measure_rankers = [e for e in evidence if e.ranker in MEASURE_RANKERS]
    if not measure_rankers:
        return _unknown(name, statement, meaning, "No ranker whose training evaluates the measure has all its cells.")
    worse = [e.value < 0 and e.p <= ALPHA for e in measure_rankers]
    better = [e for e in measure_rankers if e.value > 0 and e.p <= ALPHA]
    value = math.fsum(e.value for e in measure_rankers) / len(measure_rankers)
    boards = _boards(study, "official")
    interval = _interval(*([boards[c].by_query(e.ranker) for e in measure_rankers] for c in ("letor4", study.base)))
    lower_together = interval[1] < 0 and not any(worse)
    holds = "partly" if lower_together or (any(worse) and better) else _share(worse)
    lower = sum(e.value < 0 for e in measure_rankers)
    explanation = (
        f"{lower} of {len(measure_rankers)} are lower after it, {sum(worse)} significantly; "
        f"{len(better)} significantly higher."
        f"{' The interval of their mean is below 0.' if lower_together else ''}{_controls(evidence)}"
    )
    return Conclusion(
        name, statement, holds, value, meaning, max(e.p for e in measure_rankers), explanation, evidence, *interval
    )


def yahoo_training(study: Study) -> Conclusion:
    """Compare AdaRank's NDCG@10 by the definition after training under `yahoo` and under its counterpart."""
    twin = _counterpart(study)
    name = "training under yahoo"
    statement = "Training under yahoo helps AdaRank, which then gives empty queries no weight."
    meaning = f"NDCG@{LAST} by the definition, AdaRank trained under yahoo − under {twin}"
    evidence = _compare_training(study, "yahoo", twin) if twin else ()
    adaranks = [e for e in evidence if e.ranker == "adarank"]
    if not adaranks:
        return _unknown(name, statement, meaning, "AdaRank was not trained under yahoo and another tool.")
    (adarank,) = adaranks
    holds: Verdict = "yes" if adarank.value > 0 and adarank.p <= ALPHA else "no"
    sure = "significantly" if adarank.p <= ALPHA else "not significantly"
    explanation = f"AdaRank changes by {format_signed(adarank.value)}, {sure}.{_controls(evidence)}"
    return Conclusion(
        name, statement, holds, adarank.value, meaning, adarank.p, explanation, evidence, adarank.low, adarank.high
    )


def invariance(study: Study, cells: Sequence[Any]) -> Conclusion:
    """Check that models trained under `yahoo` and under `ranklib` give the same scores, bit for bit.

    The two differ in the value of empty queries only. That adds a constant to the objective of coordinate ascent, and
    swaps within such a query have no gradient in LambdaMART, so the models must be equal.
    """
    statement = "Training under yahoo cannot change LambdaMART or coordinate ascent."
    meaning = "share of equal models, bit for bit"
    twin = _counterpart(study)
    scores = {c.key: c for c in cells if c.key[0] == study.data}
    rows = []
    for ranker in (r for r in INVARIANT_RANKERS if r in study.rankers):
        pairs = [(cell, scores.get((*key[:3], twin, key[4]))) for key, cell in scores.items()
                 if key[2] == ranker and key[3] == "yahoo"]  # fmt: skip
        equal = [np.array_equal(_scores(a), _scores(b)) for a, b in pairs if b is not None]
        if equal:
            rows.append(Evidence(ranker, sum(equal) / len(equal), math.nan, f"{sum(equal)} of {len(equal)} models"))
    if not rows:
        return _unknown("invariance", statement, meaning, "Neither was trained under yahoo and another tool.")
    value = math.fsum(e.value for e in rows) / len(rows)
    all_same = all(e.value == 1 for e in rows)
    explanation = (
        f"Against {twin}: {'; '.join(f'{e.ranker} {e.note}' for e in rows)} score every test document the same."
    )
    if twin != "ranklib" and not all_same:
        explanation += f" {twin} and yahoo also differ in ties; train under ranklib to separate the two causes."
    if all_same:
        explanation += " The paper's LambdaMART curves, which differ, must have another cause."
    holds: Verdict = "yes" if all_same else "no" if twin == "ranklib" else "unknown"
    return Conclusion("invariance", statement, holds, value, meaning, math.nan, explanation, tuple(rows))


def best_training(study: Study) -> Conclusion:
    """Compare NDCG@10 by the definition after training under `yahoo` and under every other convention."""
    name, statement = "best training", "Training under yahoo gives equal or better models than any other convention."
    others = [c for c in study.conventions if c != "yahoo"]
    meaning = f"NDCG@{LAST} by the definition, trained under yahoo − under the others, mean over rankers"
    boards = _boards(study, "official")
    rankers = [
        r for r in study.rankers if r in MEASURE_RANKERS and all(r in board.by_ranker for board in boards.values())
    ]
    if "yahoo" not in study.conventions or not rankers:
        return _unknown(name, statement, meaning, "No ranker was trained under yahoo and another tool.")
    evidence = _correct([
        replace(row, ranker=f"{row.ranker}, {other}")
        for other in others for row in _compare_training(study, "yahoo", other, corrected=False)
        if row.ranker in rankers
    ])  # fmt: skip
    worse = [e.ranker for e in evidence if e.value < 0 and e.p <= ALPHA]
    better = [e.ranker for e in evidence if e.value > 0 and e.p <= ALPHA]
    value = math.fsum(e.value for e in evidence) / len(evidence)
    interval = _interval(
        [boards["yahoo"].by_query(r) for r in rankers],
        [boards[c].by_query(r) for c in others for r in rankers],
    )
    explanation = (
        f"Of {len(evidence)} comparisons (ranker, other convention), yahoo is significantly better in {len(better)}"
        f"{_in_brackets(better)} and significantly worse in {len(worse)}{_in_brackets(worse)}."
    )
    return Conclusion(
        name, statement, "no" if worse else "yes", value, meaning, min(e.p for e in evidence), explanation, evidence,
        *interval,
    )  # fmt: skip


def best_ranker(study: Study) -> Conclusion:
    """Compare coordinate ascent with every other ranker, all trained under the base."""
    name, statement = "best ranker", "Coordinate ascent is best, whichever tool evaluates."
    board = _boards(study, "official")[study.base]
    meaning = f"NDCG@{LAST} by the definition, coordinate ascent − the best other ranker"
    others = [r for r in board.by_ranker if r != "coordinate-ascent"]
    if "coordinate-ascent" not in board.by_ranker or not others:
        return _unknown(name, statement, meaning, "Coordinate ascent and another ranker need all their cells.")
    evidence = _compare_rankers(board, "coordinate-ascent", others)
    first = [tool for tool in study.tools if study.board(study.base, tool, LAST).best == "coordinate-ascent"]
    best = evidence[0]  # the others are in the order of their means
    better = sum(e.value > 0 and e.p <= ALPHA for e in evidence)
    worse = sum(e.value < 0 and e.p <= ALPHA for e in evidence)
    explanation = (
        f"{len(first)} of {len(study.tools)} tools put it first. By the definition it is significantly ahead of "
        f"{better} of {len(evidence)} rankers and significantly behind {worse}; the best other is {best.ranker}."
    )
    holds: Verdict = "yes" if len(first) == len(study.tools) else "partly" if first else "no"
    return Conclusion(name, statement, holds, best.value, meaning, best.p, explanation, evidence, best.low, best.high)


def short_lists(study: Study) -> Conclusion:
    """Compare RankBoost with RankSVM and LambdaMART on lists that are shorter than the cutoff."""
    name, statement = "short lists", "RankBoost is ahead of RankSVM and LambdaMART on lists shorter than the cutoff."
    board = _boards(study, "official")[study.base]
    meaning = f"NDCG@{LAST} by the definition on such lists, RankBoost − the mean of the other two"
    others = [r for r in board.by_ranker if r in ("ranksvm", "lambdamart")]
    if "rankboost" not in board.by_ranker or len(others) < 2:
        return _unknown(name, statement, meaning, "RankBoost, RankSVM and LambdaMART need all their cells.")
    short = {query for query, length in study.lengths.items() if length < LAST}
    if len(short) < 2:
        return _unknown(name, statement, meaning, f"Fewer than two queries have less than {LAST} documents.")
    evidence = _compare_rankers(board, "rankboost", others, short)
    longer = _compare_rankers(board, "rankboost", others, set(study.lengths) - short)
    columns = [{q: v for q, v in board.by_query(r).items() if q in short} for r in ("rankboost", *others)]
    interval = _interval(columns[:1], columns[1:])
    value = math.fsum(e.value for e in evidence) / len(evidence)
    on_longer_lists = "; ".join(f"{e.ranker} {format_signed(e.value)} (p {e.p:.2g})" for e in longer)
    explanation = (
        f"{len(short)} of {len(study.lengths)} queries have fewer than {LAST} documents. There RankBoost differs from "
        f"{'; '.join(f'{e.ranker} by {format_signed(e.value)} (p {e.p:.2g})' for e in evidence)}; "
        f"on the longer lists: {on_longer_lists}. letor4 gives 0 to every short list, so it cannot see the difference."
    )
    holds = _share([e.value > 0 and e.p <= ALPHA for e in evidence])
    return Conclusion(
        name, statement, holds, value, meaning, max(e.p for e in evidence), explanation, evidence, *interval
    )


def order(study: Study) -> Conclusion:
    """Count the pairs of rankers, trained under the base, whose order depends on the tool."""
    statement = "Another evaluation tool may order the algorithms differently."
    meaning = f"pairs of rankers whose order flips between tools, by NDCG@{LAST}"
    comparison = agreement(study.board(study.base, tool, LAST) for tool in study.tools)
    if comparison is None:
        return _unknown("order", statement, meaning, "Fewer than two rankers have all their cells.")
    significant = sum(bool(verdict.significant) for verdict in comparison.flips)
    explanation = f"{comparison.sentence()} {significant} of the pairs that flip are significant under some tool."
    holds: Verdict = "yes" if significant else "partly" if comparison.flips else "no"
    _, low, high = _count_flips(study, list(study.lengths))
    return Conclusion(
        "order", statement, holds, float(len(comparison.flips)), meaning, math.nan, explanation, low=low, high=high
    )


def order_without_empty(study: Study, n_with_empty: float) -> Conclusion:
    """Count the pairs of rankers whose order depends on the tool once the empty queries are removed."""
    name, statement = "order without empty queries", "Without empty queries the tools order the algorithms alike."
    meaning = (
        f"pairs of rankers whose order flips between tools, by NDCG@{LAST} on the queries with a relevant document"
    )
    precision = _boards(study, "official", "MAP")[study.base]
    if len(precision.by_ranker) < 2:
        return _unknown(name, statement, meaning, "Fewer than two rankers have all their cells.")
    ranker = next(iter(precision.by_ranker))
    relevant = [q for q, v in precision.by_query(ranker).items() if v > 0]
    flips, low, high = _count_flips(study, relevant)
    explanation = (
        f"{len(study.lengths) - len(relevant)} of {len(study.lengths)} queries are empty. Pairs that flip with them: "
        f"{n_with_empty:.0f}; without them: {flips:.0f}. "
        "What is left are ties, gains and lists shorter than the cutoff."
    )
    holds: Verdict = "no" if flips else "yes"
    return Conclusion(name, statement, holds, flips, meaning, math.nan, explanation, low=low, high=high)


def _count_flips(study: Study, queries: Sequence[str]) -> tuple[float, float, float]:
    """Return the number of pairs of rankers that two tools order differently, with its 95 % bootstrap interval."""
    boards = [study.board(study.base, tool, LAST) for tool in study.tools]
    rankers = [r for r in boards[0].by_ranker if all(r in board.by_ranker for board in boards)]
    columns = [[board.by_query(r) for r in rankers] for board in boards]
    values = np.array([[[column.get(q, math.nan) for q in queries] for column in tool] for tool in columns])
    has_value = ~np.isnan(values)
    folds = np.array([query.partition("/")[0] for query in queries])
    draw = np.random.default_rng(1)
    totals = np.zeros((1 + _RESAMPLES, *values.shape[:2]))
    for fold in np.unique(folds):  # means are taken over folds, so queries are drawn within a fold
        n = int((folds == fold).sum())
        weights = np.vstack([np.ones(n), draw.multinomial(n, np.full(n, 1 / n), _RESAMPLES)])
        part = np.where(has_value, values, 0)[..., folds == fold]
        with np.errstate(invalid="ignore"):
            totals += np.einsum("bq,trq->btr", weights, part) / np.einsum(
                "bq,trq->btr", weights, has_value[..., folds == fold]
            )
    differences = totals[..., :, np.newaxis] - totals[..., np.newaxis, :]
    flips = ((differences > _EXACT).any(axis=1) & (differences < -_EXACT).any(axis=1)).sum(axis=(1, 2)) / 2
    low, high = np.percentile(flips[1:], [2.5, 97.5])
    return float(flips[0]), float(low), float(high)


def _counterpart(study: Study) -> str:
    """Return the convention to compare `yahoo` with: `ranklib`, which differs in empty queries only, or the base."""
    if "yahoo" not in study.conventions:
        return ""
    candidates = [c for c in ("ranklib", study.base) if c in study.conventions and c != "yahoo"]
    return candidates[0] if candidates else ""


def _scores(cell: Any) -> Any:
    return cell.scores()["score"].to_numpy()


def _compare_rankers(
    board: Leaderboard, ranker: str, others: Sequence[str], queries: Collection[str] | None = None
) -> tuple[Evidence, ...]:
    """Compare a ranker with others on some queries (default: all)."""
    columns = {
        r: {q: v for q, v in board.by_query(r).items() if queries is None or q in queries} for r in (ranker, *others)
    }
    means = {r: math.fsum(column.values()) / len(column) for r, column in columns.items()}
    return _correct([_test(r, means[ranker] - means[r], columns[ranker], columns[r], "") for r in others])


def _in_brackets(names: Sequence[str]) -> str:
    return f" ({'; '.join(names)})" if names else ""


def _compare_training(study: Study, convention: str, against: str, corrected: bool = True) -> tuple[Evidence, ...]:
    """Compare every ranker under two training conventions, evaluated by the definition."""
    boards = _boards(study, "official")
    rows = []
    for ranker in study.rankers:
        if ranker in boards[convention].by_ranker and ranker in boards[against].by_ranker:
            a, b = (boards[c].by_query(ranker) for c in (convention, against))
            means = [boards[c].by_ranker[ranker].mean for c in (convention, against)]
            kinds = {"": MEASURE_RANKERS, "early stopping only": VALIDATION_RANKERS}
            note = next((note for note, rankers in kinds.items() if ranker in rankers), "control")
            rows.append(_test(ranker, means[0] - means[1], a, b, note))
    return _correct(rows) if corrected else tuple(rows)


def _share(each: Sequence[bool]) -> Verdict:
    return "yes" if all(each) else "partly" if any(each) else "no"


def _controls(evidence: Sequence[Evidence]) -> str:
    controls = [f"{e.ranker} {format_signed(e.value)} (p {e.p:.2g})" for e in evidence if e.note == "control"]
    return f" Controls: {', '.join(controls)}." if controls else ""


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return format_signed(low) if high - low < 0.00005 else f"{format_signed(low)} to {format_signed(high)}"


def format_signed(value: float) -> str:
    """Return a difference with its sign.

    >>> format_signed(-0.5), format_signed(math.nan)
    ('−0.5000', '–')
    """
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
