"""The forces λ of LambdaRank and LambdaMART on one data set, for any measure under any convention.

λ of a pair is the gradient of RankNet's cost times the change |Δ| of the measure if the two documents swapped places;
documents are ordered by the scores as the convention orders them. Where it leaves tied documents open (`expected`),
they stand in the order of the data. RankNet itself is the case |Δ| = 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import Measure, err_rules, rules
from pippin.evaluation.objective import resolve
from pippin.evaluation.ranking import Ranking, all_relevant, rank
from pippin.kernels import lambdas as kernel
from pippin.kernels.measures import Rules
from pippin.kernels.rank import order_lists, sort_pools

F64 = NDArray[np.float64]

# Where the change by a swap is not the one of the native forms: axis, value, kinds of measure (none: all), and why.
_UNKNOWN: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("ties", "grouped", (), "tied ones share a rank"),
    ("ties", "topk-of-all", (), "those of other queries take part"),
    ("ties", "argpartition-of-all", (), "those of other queries settle ties"),
    ("order", "given", (), "no score moves one"),
    ("score_floor", "zero", (), "what one counts hangs on its score"),
    ("score_floor", "drop", (), "a score drops one"),
    ("negative", "label", ("NDCG", "DCG"), "a label below 0 takes away"),
    ("ap_denominator", "found", ("AP",), "a swap changes what AP is divided by"),
    ("ap_undefined", "cutoff", ("AP",), "a swap can leave AP without a value"),
    ("rbp_weight", "label", ("RBP",), "RBP counts labels"),
    ("ties_across", "run", ("RBP",), "a group of ties runs on into the next query"),
)
# Kinds of measure that λ can follow → the name of the native form and of the measure's own parameter.
_FORMS = {
    "NDCG": ("ndcg", ""), "DCG": ("dcg", ""), "AP": ("ap", ""), "ERR": ("err", ""), "RR": ("rr", ""), "P": ("p", ""),
    "Recall": ("recall", ""), "RBP": ("rbp", "p"),
}  # fmt: skip


class Lambdas:
    """Gradient and second derivative by document of the cost whose forces are λ.

    With i above j in the measure's eyes and ρ = 1 / (1 + exp(sigma (s_i - s_j))): gradient_i -= sigma |Δ| ρ,
    gradient_j += sigma |Δ| ρ, hessian of both += sigma² |Δ| ρ (1 - ρ). Source: Burges 2010, §§ 4 - 7.

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
        beyond: str = "zero",
        depth: int | None = None,
        normalise: bool = False,
        damp: bool = False,
    ) -> None:
        """`measure` None is RankNet: every pair of unlike labels counts 1.

        `beyond` tells what a rank beyond the cutoff of NDCG or DCG is worth: nothing ("zero", the measure itself), or
        its discount ("keep", as RankLib and LightGBM do). With a `depth`, λ follows the measure down to that rank at
        least, though its own cutoff is higher: long lists give more pairs to learn from. Which lists are too short to
        count is still told by the cutoff. `normalise` scales gradient and second derivative of a query by
        log2(1 + S) / S, S being the sum of the sizes of its forces, and `damp` divides |Δ| of a pair by 0.01 + the
        distance of its scores (unless all scores of the query are equal); LightGBM's `lambdarank_norm` does both.
        """
        if beyond not in ("zero", "keep"):
            raise ConventionError(f"beyond is zero or keep, not {beyond!r}")
        if not sigma > 0:
            raise ConventionError(f"sigma is above 0, not {sigma}")
        self.data, self.sigma, self._keep, self._normalise = data, float(sigma), beyond == "keep", normalise
        self._damp = damp
        self._labels, self._ties, self._float32 = data.labels, "input", False
        if measure is None:
            # Only the order of labels counts: close ranks, so that no label is large.
            self._labels = np.unique(data.labels, return_inverse=True)[1].astype(np.int32)
            self._form, self._rules = "pairs", _no_rules(self._labels)
            self.scales = np.ones(data.queries)
            return
        parsed, ruling = resolve(measure, convention)
        _refuse(data, parsed, ruling)
        self._labels = _labels_under(data, ruling)
        self._float32 = ruling.precision == "float32"
        if ruling.ties != "expected" and not (ruling.ties.startswith("id-") and data.document_ids is None):
            self._ties = ruling.ties
        self._form, self._rules = _form(data, self._labels, parsed, ruling)
        self._keep = self._keep and self._form in ("ndcg", "dcg")
        if depth is not None:
            self._rules = _deeper(self._form, self._rules, depth)
        self.scales = kernel.swap_scales(self._form, self._labels, data.offsets, self._rules)
        if ruling.short == "zero" and self._form in ("ndcg", "dcg"):
            self.scales[np.diff(data.offsets) < (parsed.cutoff or 0 if ruling.cut else 0)] = 0.0
        self.scales[np.diff(data.offsets) < ruling.least] = 0.0
        if ruling.all_relevant == "drop":
            self.scales[all_relevant(self._labels, data.offsets, ruling.relevant_at)] = 0.0

    def order(self, scores: F64) -> NDArray[np.int64]:
        """Rows in rank order; a query's rows stay within its stretch."""
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
        """What one relevant document is worth at each of so many positions, under measures that add up discounts."""
        if self._form not in ("ndcg", "dcg"):
            raise ConventionError("λ of preferred pairs follows NDCG or DCG, which add up what each rank is worth")
        rules = self._rules
        worth = rules.multipliers[:size] / rules.divisors[:size]
        if rules.cutoff and not self._keep:
            worth[rules.cutoff :] = 0.0
        return worth

    def changes(self, query: int, scores: F64) -> F64:
        """table[a, b], a < b: the change of a query's value if the documents at positions a and b swapped places."""
        begin, end = self.data.offsets[query], self.data.offsets[query + 1]
        ranked = self._labels[self.order(np.ascontiguousarray(scores, np.float64))[begin:end]]
        raw = kernel.swap_changes(self._form, ranked, self._rules, self._keep)
        return raw * float(self.scales[query])


def _no_rules(labels: NDArray[np.int32]) -> Rules:
    return Rules(np.zeros(int(labels.max(initial=0)) + 1), np.ones(1), np.ones(1))


def _refuse(data: Dataset, measure: Measure, convention: Convention) -> None:
    """Say so where the change of a measure by a swap is not the one that the native forms know.

    Whatever else a convention says they honour, or it changes no swap of two documents.
    """
    for axis, value, kinds, why in _UNKNOWN:
        if getattr(convention, axis) != value or (kinds and measure.kind not in kinds):
            continue
        if axis == "negative" and data.labels.min(initial=0) >= 0:
            continue
        if axis == "ap_undefined" and (convention.empty == 0 or not (measure.cutoff and convention.cut)):
            continue
        raise ConventionError(
            f"λ swaps two documents, and under {axis}={value} {why}; choose another {AXES[axis].words} to learn by "
            f"{measure}"
        )


def _labels_under(data: Dataset, convention: Convention) -> NDArray[np.int32]:
    """The labels in the order of the data as the convention counts them; labels below 0 count as 0."""
    unranked = rank(data, np.zeros(len(data)), convention.replace(queries="judged", least=0, ties="input"))
    if not np.array_equal(unranked.offsets, data.offsets):
        raise ConventionError("this convention drops documents, and λ orders all that a query has")
    return np.ascontiguousarray(np.maximum(unranked.labels, 0), np.int32)


def _form(data: Dataset, labels: NDArray[np.int32], measure: Measure, convention: Convention) -> tuple[str, Rules]:
    """The native form of a measure and the rules it has under the convention."""
    if measure.kind not in _FORMS:
        raise ConventionError(f"λ follows {', '.join(_FORMS)}; how {measure} changes by a swap is not known here")
    form, parameter = _FORMS[measure.kind]
    pool = sort_pools(labels, data.offsets, np.arange(data.queries), data.offsets)
    tied = np.zeros(len(labels), np.uint8)
    ranking = Ranking(data.query_ids, labels, data.offsets, tied, pool, data.offsets, expected=False)
    if form == "err":
        ruling = err_rules(ranking, convention, measure)
    else:
        ruling = rules(ranking, convention, measure, measure.parameter(parameter) if parameter else 0.0)
    if form in ("p", "recall") and ruling.cutoff == 0:
        raise ConventionError(f"{measure} without a cutoff is the same for every order; nothing can be learned from it")
    if form not in ("ndcg", "dcg", "err"):  # the others do not look gains up
        ruling = _without_gains(ruling, labels)
    return form, ruling


def _deeper(form: str, ruling: Rules, depth: int) -> Rules:
    """The rules with the cutoff at `depth` at least; what P and recall count is their cutoff, so that it stays."""
    if form in ("p", "recall") or ruling.cutoff == 0 or depth <= ruling.cutoff:
        return ruling
    return replace(ruling, cutoff=depth, short_is_zero=False)


def _without_gains(ruling: Rules, labels: NDArray[np.int32]) -> Rules:
    return replace(ruling, gains=np.zeros(int(labels.max(initial=0)) + 1))
