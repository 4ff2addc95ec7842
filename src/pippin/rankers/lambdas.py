"""Lambda gradients of a measure, from labels or from preferred pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import group_sum
from pippin.clicks.propensity import Preferences
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import Measure, err_rules, rules
from pippin.evaluation.objective import resolve
from pippin.evaluation.rank import has_only_relevant, rank
from pippin.evaluation.ranking import Ranking
from pippin.kernels import losses as kernel
from pippin.kernels.losses import PairLoss
from pippin.kernels.measures import Rules
from pippin.kernels.ranking import order_lists, sort_pools

F64 = NDArray[np.float64]
# Axis values under which the native swap differences are wrong: axis, value, kinds of measure (none: all), reason.
_UNKNOWN: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("ties", "shared-rank", (), "tied ones share a rank"),
    ("ties", "topk-of-all", (), "those of other queries take part"),
    ("ties", "argpartition-of-all", (), "those of other queries settle ties"),
    ("list_order", "given", (), "no score moves one"),
    ("score_floor", "zero", (), "what one counts hangs on its score"),
    ("score_floor", "drop", (), "a score drops one"),
    ("negative_labels", "label", ("NDCG", "DCG"), "a label below 0 takes away"),
    ("negative_labels", "gain", ("NDCG", "DCG"), "a label below 0 takes away"),
    ("ap_denominator", "found", ("AP",), "a swap changes what AP is divided by"),
    ("ap_undefined", "cutoff", ("AP",), "a swap can leave AP without a value"),
    ("rbp_gain", "label", ("RBP",), "RBP counts labels"),
    ("tie_scope", "run", ("RBP",), "a group of ties runs on into the next query"),
)
# Kinds of measure that λ supports → native name, and the name of the measure's parameter.
_NATIVE_MEASURES = {
    "NDCG": ("ndcg", ""), "DCG": ("dcg", ""), "AP": ("ap", ""), "ERR": ("err", ""), "RR": ("rr", ""), "P": ("p", ""),
    "Recall": ("recall", ""), "RBP": ("rbp", "p"),
}  # fmt: skip


class Lambdas:
    """Lambda gradients and second derivatives by document.

    For a pair with label_i > label_j and ρ = 1 / (1 + exp(sigma (s_i - s_j))): gradient_i -= sigma |Δ| ρ,
    gradient_j += sigma |Δ| ρ, hessian of both += sigma² |Δ| ρ (1 - ρ). Source: Burges 2010, sections 4 to 7.

    >>> data = Dataset(np.zeros((2, 1)), np.array([0, 1], np.int32), np.array([0, 2]), ("q",))
    >>> gradient, hessian = Lambdas(data, "RR", "official")(np.zeros(2))
    >>> gradient.tolist(), hessian.tolist()
    ([0.25, -0.25], [0.125, 0.125])
    """

    def __init__(
        self,
        data: Dataset,
        measure: str | None = "NDCG@10",
        convention: str | Convention = "official",
        *,
        sigma: float = 1.0,
        beyond_cutoff: str = "zero",
        truncation_level: int | None = None,
        lambda_norm: bool = False,
        damp_close_scores: bool = False,
    ) -> None:
        """Prepare the gradient of `measure` under `convention`; None is RankNet, where every pair counts 1.

        Parameters
        ----------
        beyond_cutoff : {"zero", "keep"}
            Value of a rank beyond the cutoff of NDCG or DCG: nothing, as in the measure, or its discount, as in RankLib
            and LightGBM.
        truncation_level : int, optional
            Follow the measure down to this rank at least, because long lists give more pairs to learn from. The
            measure's own cutoff still decides which lists are too short to count.
        lambda_norm : bool
            Scale gradient and Hessian of a query by log2(1 + S) / S, where S is the sum of the absolute forces.
        damp_close_scores : bool
            Divide |Δ| of a pair by 0.01 + the distance of its scores, unless all scores of the query are equal.
            LightGBM's `lambdarank_norm` does both.
        """
        if beyond_cutoff not in ("zero", "keep"):
            raise ConventionError(f"beyond_cutoff must be 'zero' or 'keep', got {beyond_cutoff!r}")
        if not sigma > 0:
            raise ConventionError(f"sigma must be positive, got {sigma}")
        self.data, self.sigma, self._keep = data, float(sigma), beyond_cutoff == "keep"
        self._normalise, self._damp = lambda_norm, damp_close_scores
        self._labels, self._ties, self._float32 = data.labels, "input", False
        if measure is None:
            # Only the order of labels counts: close ranks, so that no label is large.
            self._labels = np.unique(data.labels, return_inverse=True)[1].astype(np.int32)
            self._form, self._rules = "pairs", _no_rules(self._labels)
            self.scales = np.ones(data.queries)
            return
        parsed, ruling = resolve(measure, convention)
        _check_supported(data, parsed, ruling)
        self._labels = _labels_under(data, ruling)
        self._float32 = ruling.score_precision == "float32"
        if ruling.ties != "expected" and not (ruling.ties.startswith("id-") and data.document_ids is None):
            self._ties = ruling.ties
        self._form, self._rules = _native_measure(data, self._labels, parsed, ruling)
        self._keep = self._keep and self._form in ("ndcg", "dcg")
        if truncation_level is not None:
            self._rules = _raise_cutoff(self._form, self._rules, truncation_level)
        self.scales = kernel.swap_scales(self._form, self._labels, data.offsets, self._rules)
        if ruling.short_lists == "zero" and self._form in ("ndcg", "dcg"):
            self.scales[np.diff(data.offsets) < (parsed.cutoff or 0 if ruling.apply_cutoff else 0)] = 0.0
        self.scales[np.diff(data.offsets) < ruling.min_retrieved] = 0.0
        if ruling.all_relevant_lists == "drop":
            self.scales[has_only_relevant(self._labels, data.offsets, ruling.relevance_threshold)] = 0.0

    def order(self, scores: F64) -> NDArray[np.int64]:
        """Return the rows in rank order within each query."""
        ids = self.data.document_ids if self._ties.startswith("id-") else None
        return order_lists(scores, self._labels, self.data.offsets, ids, self._ties, self._float32)

    def __call__(self, scores: F64) -> tuple[F64, F64]:
        """Gradient and second derivative at these scores."""
        scores = np.ascontiguousarray(scores, np.float64)
        if scores.shape != (len(self.data),):
            raise DataError(f"{scores.size} scores for the {len(self.data)} documents of {self.data.name}")
        return kernel.lambdas(
            self._form, scores, self._labels, self.data.offsets, self.order(scores), self.scales, self._rules,
            self.sigma, self._keep, self._normalise, self._damp,
        )  # fmt: skip

    def discounts(self, size: int) -> F64:
        """Return the discount of each position, for NDCG and DCG."""
        if self._form not in ("ndcg", "dcg"):
            raise ConventionError("preference pairs need the measure NDCG or DCG in lambdamart")
        rules = self._rules
        worth = rules.multipliers[:size] / rules.divisors[:size]
        if rules.cutoff and not self._keep:
            worth[rules.cutoff :] = 0.0
        return worth

    def changes(self, query: int, scores: F64) -> F64:
        """Return table[a, b], a < b: the change of a query's value if positions a and b are swapped."""
        begin, end = self.data.offsets[query], self.data.offsets[query + 1]
        ranked = self._labels[self.order(np.ascontiguousarray(scores, np.float64))[begin:end]]
        raw = kernel.swap_changes(self._form, ranked, self._rules, self._keep)
        return raw * float(self.scales[query])


def _no_rules(labels: NDArray[np.int32]) -> Rules:
    return Rules(np.zeros(int(labels.max(initial=0)) + 1), np.ones(1), np.ones(1))


def _check_supported(data: Dataset, measure: Measure, convention: Convention) -> None:
    """Raise ConventionError if the native swap differences are wrong under an axis of the convention.

    They respect all other axes, or these do not affect swaps.
    """
    for axis, value, kinds, why in _UNKNOWN:
        if getattr(convention, axis) != value or (kinds and measure.kind not in kinds):
            continue
        if axis == "negative_labels" and data.labels.min(initial=0) >= 0:
            continue
        if axis == "ap_undefined" and (convention.empty == 0 or not (measure.cutoff and convention.apply_cutoff)):
            continue
        raise ConventionError(
            f"λ is not defined for {measure} under {axis}={value} ({why}): choose another {AXES[axis].label}"
        )


def _labels_under(data: Dataset, convention: Convention) -> NDArray[np.int32]:
    """Return the labels under the convention, in the order of the data; negative labels are 0."""
    unranked = rank(
        data, np.zeros(len(data)), convention.replace(query_selection="judged", min_retrieved=0, ties="input")
    )
    if not np.array_equal(unranked.offsets, data.offsets):
        raise ConventionError("the convention drops documents, which λ does not support")
    return np.ascontiguousarray(np.maximum(unranked.labels, 0), np.int32)


def _native_measure(
    data: Dataset, labels: NDArray[np.int32], measure: Measure, convention: Convention
) -> tuple[str, Rules]:
    """Return the native name of a measure and its rules under the convention."""
    if measure.kind not in _NATIVE_MEASURES:
        raise ConventionError(f"cannot compute lambdas for {measure}; use one of {', '.join(_NATIVE_MEASURES)}")
    form, parameter = _NATIVE_MEASURES[measure.kind]
    pool = sort_pools(labels, data.offsets, np.arange(data.queries), data.offsets)
    tied = np.zeros(len(labels), np.uint8)
    ranking = Ranking(
        data.query_ids, labels, data.offsets, tied, pool, data.offsets, expected=False,
        max_label=int(data.labels.max(initial=0)),
    )  # fmt: skip
    if form == "err":
        ruling = err_rules(ranking, convention, measure)
    else:
        ruling = rules(ranking, convention, measure, measure.parameter(parameter) if parameter else 0.0)
    if form in ("p", "recall") and ruling.cutoff == 0:
        raise ConventionError(f"{measure} without a cutoff is the same for every ranking: add a cutoff")
    if form not in ("ndcg", "dcg", "err"):  # only these use gains
        ruling = _without_gains(ruling, labels)
    return form, ruling


def _raise_cutoff(form: str, ruling: Rules, depth: int) -> Rules:
    """Return the rules with a cutoff of at least `depth`, except for P and recall, which the cutoff defines."""
    if form in ("p", "recall") or ruling.cutoff == 0 or depth <= ruling.cutoff:
        return ruling
    return replace(ruling, cutoff=depth, short_is_zero=False)


def _without_gains(ruling: Rules, labels: NDArray[np.int32]) -> Rules:
    return replace(ruling, gains=np.zeros(int(labels.max(initial=0)) + 1))


I64 = NDArray[np.int64]
I32 = NDArray[np.int32]


class PreferredLambdas:
    """Gradient and second derivative of preference pairs, with λ = weight · |D(better) - D(worse)| · ρ.

    D is the discount of a document's rank under the measure. Pairs with ranks are divided by t⁺ · t⁻, the trust in the
    ranks at which their documents were shown (Unbiased LambdaMART, Hu et al. 2019, section 4): from the losses of the
    previous round, t_k = (loss at k / loss at 1) ** (1 / (power + 1)).
    """

    def __init__(self, data: Dataset, pairs: Preferences, lambdas: Lambdas, normalise: bool) -> None:
        self.data, self.pairs, self._lambdas = data, pairs, lambdas
        self._discounts = lambdas.discounts(int(np.diff(data.offsets).max(initial=0)))
        self._query, self._normalise, self._exponent = data.qid()[pairs.better], normalise, 1.0 / (1.0 + pairs.power)
        deepest = 0 if pairs.ranks is None else int(pairs.ranks.max(initial=1))
        self.clicked_trust, self.other_trust = np.ones(deepest), np.ones(deepest)  # t⁺ and t⁻ by rank

    def __call__(self, scores: F64) -> tuple[F64, F64]:
        """Gradient and second derivative at these scores."""
        pairs, sigma = self.pairs, self._lambdas.sigma
        document_discounts = self._discounts[self._positions(scores)]
        weights = np.abs(document_discounts[pairs.better] - document_discounts[pairs.worse]) * pairs.weights
        margin = sigma * (scores[pairs.better] - scores[pairs.worse])
        if pairs.ranks is not None:
            weights = self._apply_trust(weights, margin)
        probability = 0.5 * (1.0 - np.tanh(0.5 * margin))  # 1 / (1 + exp(margin))
        lambdas = sigma * weights * probability
        hessians = sigma * lambdas * (1.0 - probability)
        if self._normalise:
            total = 2.0 * group_sum(self._query, lambdas, self.data.queries)
            norm = np.divide(np.log2(1.0 + total), total, out=np.ones_like(total), where=total > 0)[self._query]
            lambdas, hessians = norm * lambdas, norm * hessians
        size = len(self.data)
        gradient = group_sum(pairs.worse, lambdas, size) - group_sum(pairs.better, lambdas, size)
        return gradient, group_sum(pairs.worse, hessians, size) + group_sum(pairs.better, hessians, size)

    def _positions(self, scores: F64) -> I64:
        """Return the position of each row in its query's ranking."""
        order = self._lambdas.order(np.ascontiguousarray(scores, np.float64))
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order)) - np.repeat(self.data.offsets[:-1], np.diff(self.data.offsets))
        return positions

    def _apply_trust(self, apart: F64, margin: F64) -> F64:
        """Divide pair weights by the trust in their ranks, and update the trust for the next round."""
        ranks = self.pairs.ranks
        if ranks is None:
            return apart
        clicked_rank, other_rank = ranks[:, 0] - 1, ranks[:, 1] - 1
        clicked_trust, other_trust = self.clicked_trust[clicked_rank], self.other_trust[other_rank]
        losses = apart * np.logaddexp(0.0, -margin)
        depth = len(self.clicked_trust)
        loss_by_rank = (
            group_sum(clicked_rank, losses / other_trust, depth),
            group_sum(other_rank, losses / clicked_trust, depth),
        )
        self.clicked_trust, self.other_trust = (_relative_trust(sums, self._exponent) for sums in loss_by_rank)
        return apart / (clicked_trust * other_trust)


def _relative_trust(sums: F64, exponent: float) -> F64:
    """Return sums relative to rank 1; a rank without a sum gets the value of the previous rank."""
    if not sums[0] > 0:
        raise DataError("no pair has its document at rank 1, the reference of all other ranks")
    values = (np.maximum(sums, 0.0) / sums[0]) ** exponent
    filled = np.maximum.accumulate(np.where(values > 0, np.arange(len(values)), 0))
    result: F64 = values[filled]
    return result


@dataclass(frozen=True, eq=False)
class PreferredPairs:
    """Weighted preference pairs with the interface of `kernels.losses.Pairs`."""

    preferences: Preferences
    offsets: I64  # query boundaries

    @classmethod
    def of(cls, data: Dataset, preferences: Preferences, by_query: bool) -> Self:
        """Return the pairs of a data set; with `by_query`, the weights of a query are divided by their sum.

        ConventionError for pairs with ranks, which only lambdamart supports.
        """
        if preferences.ranks is not None:
            raise ConventionError("pairwise debiasing estimates trust by boosting: train lambdamart, or use ips")
        order = np.argsort(preferences.better, kind="stable")  # groups the pairs of a query
        better, weights = preferences.better[order], preferences.weights[order]
        if by_query:
            queries = data.qid()[better]
            weights = weights / group_sum(queries, weights)[queries]
        return cls(Preferences(better, preferences.worse[order], weights), data.offsets)

    @cached_property
    def _ends(self) -> I64:
        return np.searchsorted(self.preferences.better, self.offsets)

    def loss(self, scores: F64, *, squared: bool) -> PairLoss:
        """Return Σ weight · h, or Σ weight · h², over all pairs, with h = max(0, 1 − (s_better − s_worse))."""
        pairs = self.preferences
        hinge = np.maximum(0.0, 1.0 - (scores[pairs.better] - scores[pairs.worse]))
        coefficients = pairs.weights * (2.0 * hinge if squared else (hinge > 0).astype(np.float64))
        gradient = group_sum(pairs.worse, coefficients, len(scores)) - group_sum(
            pairs.better, coefficients, len(scores)
        )
        return PairLoss(float(pairs.weights @ (hinge**2 if squared else hinge)), gradient, np.empty(0, np.int32))

    def product(self, scores: F64, order: I32, rows: F64) -> F64:
        """Return the second derivative of the squared loss at `scores` times each column."""
        from scipy import sparse

        pairs = self.preferences
        better, worse = pairs.better, pairs.worse
        active = 1.0 - (scores[better] - scores[worse]) > 0
        better, worse, weights = better[active], worse[active], 2.0 * pairs.weights[active]
        size = len(scores)
        matrix: Any = sparse.coo_matrix((weights, (better, worse)), (size, size)).tocsr()
        sums = group_sum(better, weights, size) + group_sum(worse, weights, size)
        product: F64 = sums[:, None] * rows - (matrix + matrix.T) @ rows
        return product

    def part(self, first: int, last: int) -> Self:
        """Return the pairs of queries [first, last)."""
        selected, start, pairs = slice(self._ends[first], self._ends[last]), self.offsets[first], self.preferences
        shifted = Preferences(pairs.better[selected] - start, pairs.worse[selected] - start, pairs.weights[selected])
        return type(self)(shifted, self.offsets[first : last + 1] - start)
