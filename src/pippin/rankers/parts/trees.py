"""Boosted regression trees for ranking: LightGBM grows the trees, the ranker says how each score should move.

What LambdaMART, MART and XE-NDCG share: binning, the loop of rounds, early stopping by our own measure under our own
convention, several ensembles grown side by side (`bags`), the model as text, and the importance of features. LightGBM
is needed to grow trees only: `kernels.forest` applies them, to the bit as LightGBM would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.forms.form import ZERO
from pippin.kernels import threads
from pippin.kernels.forest import Forest
from pippin.manifest import fits
from pippin.rankers.base import QUICK_ROUNDS, Features, Ranker
from pippin.rankers.parts.binned import Binned, bin_both
from pippin.rankers.parts.finite import check_finite
from pippin.rankers.parts.parameters import above_zero, at_least, parameter
from pippin.rankers.parts.starts import start_of
from pippin.rankers.parts.states import count
from pippin.rankers.parts.tree_text import Ensemble, read_trees
from pippin.rankers.parts.watch import Watch
from pippin.rankers.parts.weights import row_weights

if TYPE_CHECKING:
    from lightgbm import Booster

F64 = NDArray[np.float64]
# How scores should move: (scores, round, bag) → gradient and second derivative of a cost there.
Gradient = Callable[[F64, int, int], tuple[F64, F64]]

# Documents whose values say where to cut a feature: LightGBM holds 12 bytes for each value of them, so that its own
# 200,000 would be more than the features of most sets.
_SAMPLE = 50_000
# Below this many values one thread is faster than the barriers between several; the trees are the same.
_ALONE = 4_000_000
# Documents and features that each tree sees at least, whatever the shares: a handful teaches nothing.
_FEWEST = (500, 10)
# Times that a tree is tried with other random documents and features before growing ends.
_TRIES = 10
# Sum of second derivatives in a leaf at least: a leaf with none has no Newton step, and LightGBM, which estimates how
# many documents a leaf has from that sum, would split it by rounding errors.
_LEAST_WEIGHT = 1e-3


# Training queries below which trees are kept small where their size is left open, and the two sizes: of the usual
# tree, and of one for so little data. Both are the protocol's decision, see `docs/rankers-measured.md`.
FEW = 100
_SIZES: Mapping[str, tuple[float, float]] = {
    "leaves": (10, 6), "row_fraction": (1.0, 0.5), "feature_fraction": (1.0, 0.3),
}  # fmt: skip
_OPEN = f"fewer than {FEW} queries can be learned from"
# Documents from which on trees count more where that is left open, so that fewer of them do (the two rates), and close
# pairs in λ (`damp`).
MANY = 50_000
_RATES = (0.05, 0.1)


class BoostedRanker(Ranker):
    """A sum of regression trees, each one fitted to the gradient at the scores so far (Friedman 2001)."""

    needs = ("lightgbm", "scipy")
    takes_null = True
    takes_weights = True
    takes_start = True
    by_rounds = True
    cautious = True
    quick_limits: ClassVar[Mapping[str, int]] = QUICK_ROUNDS

    rounds: int = parameter(1000, "trees at most")
    leaves: int | None = parameter(10, f"leaves of a tree at most; None: 10, or 6 where {_OPEN}")
    learning_rate: float | None = parameter(
        0.1, f"what each tree's values are multiplied by; None: 0.05, or 0.1 from {MANY:,} documents on"
    )
    min_leaf: int = parameter(20, "documents in a leaf at least")
    l2: float = parameter(0.0, "added to the second derivative a leaf's value is divided by")
    bins: int = parameter(255, "thresholds tried per feature at most")
    row_fraction: float | None = parameter(
        1.0, f"share of the documents each tree sees (but 500 of them at least); None: 1, or 0.5 where {_OPEN}"
    )
    feature_fraction: float | None = parameter(
        1.0, f"share of the features each tree sees (but 10 at least); None: 1, or 0.3 where {_OPEN}"
    )
    bags: int = parameter(1, "ensembles grown side by side with other random shares; scores are averaged")
    patience: int | None = parameter(100, "rounds without a better validation value before the end")
    measure: str = parameter("NDCG@10", "what the validation set is judged by")
    convention: str | Convention = parameter("official", "the convention of that measure")
    seed: int = parameter(1, "of the random shares")
    verbose: bool = parameter(False, "shows progress")

    _network: ClassVar[Mapping[str, Any]] = {}  # LightGBM's way to processes that hold the other queries

    def _gradient(self, train: Dataset) -> Gradient:
        raise NotImplementedError

    def _heeded(self, train: Dataset) -> Gradient:
        """The gradient, times the weight of each document's query, and an error where it is not finite.

        LightGBM holds gradients in single precision, so that what is beyond that is not finite either.
        """
        plain, weights, start = self._gradient(train), row_weights(train), start_of(train)

        def gradient(scores: F64, round_: int, bag: int) -> tuple[F64, F64]:
            first, second = plain(scores if start is None else start + scores, round_, bag)
            if weights is not None:
                first, second = weights * first, weights * second
            with np.errstate(over="ignore"):
                check_finite("a derivative by a score", first.astype(np.float32), second.astype(np.float32))
            return first, second

        return gradient

    def _grow(self, train: Dataset, valid: Dataset | None) -> None:
        """Grow the ensembles; `boosters_` holds them up to the best round."""
        sized = self._settled(train)
        self.reasons_ = _told(train, sized)
        parameters = self._tree_parameters(train, {**self.get_params(), **sized})
        binned: Binned | None = vars(self).pop("_binned", None)
        growth = _Growth(train, valid, parameters, self.bags, self.seed, self._network, binned)
        gradient, first = self._heeded(train), start_of(valid)
        with Watch(
            valid, self.measure, self.convention, self.rounds, self.patience, verbose=self.verbose, title=self.name
        ) as watch:
            for round_ in range(self.rounds):
                if not growth.step(gradient, round_):
                    break  # no document can be told from another any more
                if watch.after(growth.valid_scores if first is None else lambda: first + growth.valid_scores()):
                    break
        self.curve_ = watch.curve
        self.rounds_ = watch.best + 1
        self.boosters_ = growth.texts(watch.best)
        self._loaded()

    def fits_alone(self, train: Dataset) -> bool:
        """Where the table is small: LightGBM's threads would only wait for each other."""
        return train.features.size < _ALONE and not self._network and not self.verbose

    def share(self, kept: dict[str, Any]) -> None:
        """Points that differ in their trees alone have the same bins."""
        self._binned: Binned = kept.setdefault("binned", Binned())

    def sizes(self, queries: int, documents: int) -> dict[str, Any]:
        """What the parameters that are left open (None) are with so much to learn from."""
        settled = {name: both[queries < FEW] for name, both in _SIZES.items()}
        settled |= {"learning_rate": _RATES[documents >= MANY], "damp": documents >= MANY}
        return {name: value for name, value in settled.items() if getattr(self, name, value) is None}

    def _settled(self, train: Dataset) -> dict[str, Any]:
        """What the parameters that are left open are on this data."""
        return self.sizes(train.queries, len(train))

    def _check(self) -> None:
        at_least(self, rounds=1, leaves=2, min_leaf=1, bags=1, bins=2, l2=0, patience=1, seed=0)
        for name in ("learning_rate", "row_fraction", "feature_fraction"):
            if getattr(self, name) is None:
                continue
            above_zero(self, name)
            if name != "learning_rate" and getattr(self, name) > 1:
                raise DataError(f"{self.name}: {name} is at most 1, not {getattr(self, name)}")

    def _tree_parameters(self, train: Dataset, given: Mapping[str, Any]) -> dict[str, Any]:
        documents, columns = train.features.shape
        rows = max(given["row_fraction"], min(1.0, _FEWEST[0] / documents))
        features = max(given["feature_fraction"], min(1.0, _FEWEST[1] / columns))
        return {
            "objective": "none", "metric": "None", "boosting": "gbdt", "verbosity": -1,
            "num_leaves": given["leaves"], "max_depth": -1, "learning_rate": given["learning_rate"],
            "min_data_in_leaf": self.min_leaf, "min_sum_hessian_in_leaf": _LEAST_WEIGHT, "lambda_l2": self.l2,
            "max_bin": self.bins, "min_data_in_bin": 1, "bin_construct_sample_cnt": _SAMPLE,
            "feature_pre_filter": False, "feature_fraction": features,
            "bagging_fraction": rows, "bagging_freq": int(rows < 1),
            # One thread owns a feature, so that the number of threads changes no sum.
            "deterministic": True, "force_col_wise": True,
            "num_threads": 1 if train.features.size < _ALONE else threads(),
        }  # fmt: skip

    def _predict(self, features: Features) -> NDArray[np.float64]:
        return self._loaded()[0].scores(features) / max(1, len(self.boosters_))

    def _loaded(self) -> tuple[Forest, list[Ensemble]]:
        """The ensembles, read from their texts once, so that a loaded model is the trained one."""
        held: tuple[list[str], Forest, list[Ensemble]] | None = vars(self).get("_read")
        if held is None or held[0] is not self.boosters_:
            width = len(self.feature_names_)
            ensembles = [read_trees(text, width) for text in self.boosters_]
            forest = Forest([ensemble.trees for ensemble in ensembles], width, ZERO)
            held = self._read = (self.boosters_, forest, ensembles)
        return held[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_read", "_binned")}

    def _state(self) -> dict[str, Any]:
        reasons = {"reasons": self.reasons_} if self.reasons_ else {}
        return {
            **reasons,
            "rounds": self.rounds_,
            "ensembles": [{"lightgbm": text.split("\n")} for text in self.boosters_],
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.rounds_ = count(state["rounds"])
        self.reasons_ = str(state.get("reasons", ""))
        if not fits(state["ensembles"], [{"lightgbm": [str]}]):
            raise ValueError("the trees are not lines of text")
        self.boosters_ = ["\n".join(ensemble["lightgbm"]) for ensemble in state["ensembles"]]
        for text, ensemble in zip(self.boosters_, state["ensembles"], strict=True):
            if "sha256" in ensemble and ensemble["sha256"] != _digest(text):  # of models of version 1
                raise ValueError("the trees are not those that were written")
        self._loaded()

    def importance(self) -> dict[str, float]:
        """The gain of all splits on each feature, averaged over the ensembles."""
        total = np.zeros(len(self.feature_names_))
        for ensemble in self._loaded()[1]:
            total += np.bincount(ensemble.trees.features, np.maximum(ensemble.gains, 0), len(total))
        return dict(zip(self.feature_names_, (total / max(1, len(self.boosters_))).tolist(), strict=True))


def _told(train: Dataset, sized: Mapping[str, Any]) -> str:
    """What was settled by the size of the data, in words; nothing where it is as usual."""
    words = {"leaves": "trees of {} leaves", "row_fraction": "{} of the documents for each",
             "feature_fraction": "{} of the features for each"}  # fmt: skip
    chosen = ", ".join(words[name].format(value) for name, value in sized.items() if name in words)
    said = []
    if train.queries < FEW and chosen:
        said.append(f"{train.queries} queries are few to learn trees from, so they are kept small: {chosen}.")
    many = [f"trees count more and fewer grow: learning_rate={_RATES[1]}"] if "learning_rate" in sized else []
    many += ["pairs of close scores weigh more: damp=True"] if sized.get("damp") else []
    if len(train) >= MANY and many:
        said.append(f"{len(train):,} documents are many, so that {', and '.join(many)}.")
    return " ".join(said)


class _Growth:
    """Ensembles growing in step on one data set, each with its own random rows and features."""

    def __init__(
        self,
        train: Dataset,
        valid: Dataset | None,
        parameters: Mapping[str, Any],
        bags: int,
        seed: int,
        network: Mapping[str, Any],
        binned: Binned | None,
    ) -> None:
        import lightgbm

        binning = {**parameters, "data_random_seed": seed}
        self.boosters: list[Booster] = []
        made = nullcontext(bin_both(train, valid, binning)) if binned is None else binned.of(train, valid, binning)
        with made as (data, held):
            for bag in range(bags):
                # The first joins the network before bins are found: all processes must cut the features alike.
                joined = {key: value for key, value in network.items() if bag == 0 or key != "machines"}
                self.boosters.append(lightgbm.Booster({**binning, **_seeds(seed, bag), **joined}, data))
            if held is not None:
                for booster in self.boosters:
                    booster.add_valid(held, "valid")
        sampled = parameters["bagging_fraction"] < 1 or parameters["feature_fraction"] < 1
        self._tries = _TRIES if sampled else 1
        self._sizes: list[list[int]] = []  # trees of each ensemble after each round

    def step(self, gradient: Gradient, round_: int) -> bool:
        """One more tree for each ensemble; False where none could grow."""
        grown = [self._grow_one(bag, gradient, round_) for bag in range(len(self.boosters))]
        self._sizes.append([booster.current_iteration() for booster in self.boosters])
        return any(grown)

    def _grow_one(self, bag: int, gradient: Gradient, round_: int) -> bool:
        def wanted(scores: Any, _: Any) -> tuple[F64, F64]:
            return gradient(np.asarray(scores, np.float64), round_, bag)

        # LightGBM says True where no split was found and no tree added.
        return any(not self.boosters[bag].update(fobj=wanted) for _ in range(self._tries))

    def valid_scores(self) -> F64:
        """Mean validation scores of the ensembles, which LightGBM keeps up to date tree by tree."""
        kept: list[F64] = []

        def keep(scores: Any, _: Any) -> tuple[str, float, bool]:
            kept.append(np.array(scores, np.float64))
            return "kept", 0.0, True

        for booster in self.boosters:
            booster.eval_valid(keep)
        total = kept[0]
        for scores in kept[1:]:
            total += scores
        return total / len(kept)

    def texts(self, best: int) -> list[str]:
        """The ensembles as they were after round `best`; none where nothing ever grew."""
        if best < 0:
            return []
        return [_text(booster, size) for booster, size in zip(self.boosters, self._sizes[best], strict=True)]


def _seeds(seed: int, bag: int) -> dict[str, int]:
    """Seeds of one ensemble's random choices."""
    return {"bagging_seed": seed + 7919 * bag, "feature_fraction_seed": seed + 7919 * bag + 1}


def _text(booster: Booster, trees: int) -> str:
    """LightGBM's model text without the training parameters, which name the number of threads."""
    text: str = booster.model_to_string(num_iteration=trees, importance_type="gain")
    head, _, rest = text.partition("\nparameters:")
    return head.rstrip("\n") + "\n" + rest.partition("end of parameters\n")[2]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def unlike_queries(data: Dataset, name: str) -> NDArray[np.int64]:
    """The queries that have documents of different labels; there must be one, or no order is there to learn."""
    filled = np.flatnonzero(np.diff(data.offsets))
    starts = data.offsets[filled]
    kept = filled[np.minimum.reduceat(data.labels, starts) < np.maximum.reduceat(data.labels, starts)]
    if not len(kept):
        raise DataError(
            f"no query of {data.name} ({len(data)} sample{'s' * (len(data) != 1)}) has documents of different labels, "
            f"so {name} has nothing to learn"
        )
    return kept
