"""Auto: evaluate many rankers within a time budget, and blend the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.display.tables import Table
from pippin.display.terminal import ProgressBar
from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import aggregate
from pippin.evaluation.objective import Objective
from pippin.models.model import LinearModel, Model, TreeEnsemble, map_features
from pippin.rankers.auto_search import (
    BLENDERS,
    ENOUGH_QUERIES,
    Blender,
    CandidateSpec,
    TimeBudget,
    Trial,
    Trials,
    blend_label,
    combine_splits,
    cross_validate_blend,
    drop_small_weights,
    select_blender,
    slow_candidates,
    split_folds,
)
from pippin.rankers.base import Features, Ranker, read_count, read_number, register
from pippin.rankers.boosting import require_comparable_queries
from pippin.rankers.chains import parse_parameters
from pippin.rankers.parameters import check_minima, one_of, parameter

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


# Candidates in order: the best linear ranker and the best trees, so that a short budget is well spent, then fast
# ones, then diverse ones.
SETTINGS = (
    CandidateSpec("ranksvm", "linear"),
    CandidateSpec("lambdamart", "trees"),
    CandidateSpec("best-feature", "linear"),
    CandidateSpec("listnet", "linear"),
    CandidateSpec("ranksvm(pair_weighting=pair,C=0.0001)", "linear"),
    CandidateSpec("gas(10) > ranksvm", "linear"),
    CandidateSpec("pca(10) > ranksvm", "linear"),
    CandidateSpec("regression(label_gain=exp2,lambda_l2=100.0)", "linear"),
    CandidateSpec("svmmap", "linear"),
    CandidateSpec("listnet(scale=4.0)", "linear"),
    CandidateSpec("adarank", "linear"),
    CandidateSpec("xendcg", "trees"),
    CandidateSpec("approxndcg", "linear"),
    CandidateSpec("permutation(10) > ranksvm", "linear"),
    CandidateSpec("rankboost", "trees"),
    CandidateSpec("lambdamart(num_leaves=4)", "trees"),
    CandidateSpec("lambdarank", "network"),
    CandidateSpec("lambdamart(num_leaves=10,bagging_fraction=0.5,feature_fraction=0.3)", "trees"),
    CandidateSpec("xendcg(bagging_fraction=0.5,feature_fraction=0.3)", "trees"),
)
_MIN_FOLDS = 3  # inner folds: one each for training, early stopping and evaluation


@dataclass(frozen=True)
class Part:
    """A trained ranker of the blend, the weight of its scores, and the columns of its features."""

    weight: float
    ranker: Ranker
    columns: I64


@register("auto")
class Auto(Ranker):
    """Evaluates linear rankers, trees and networks on inner folds, and returns a blend of the best.

    The queries of training and validation set are split into inner folds. A candidate is trained on all folds but two
    (one for early stopping, one for evaluation), so every query gets scores from models that were not trained on it
    (Wolpert 1992). All candidates are evaluated on the first fold (on large data on a sample first), and the better
    half of linear rankers and of trees on each further one (successive halving). Blends score(x) = Σ w_i s_i(x) / σ_i,
    with σ_i the deviation of s_i within a query, are evaluated with weights fitted on the other folds. The weights are
    RankSVM's unless another blend is better by more than the standard error. Each part is then trained on all queries,
    for the mean number of rounds of the inner folds.

    With a `budget`, the time decides which candidates are evaluated on how many inner folds, and thus the result; the
    report names the parameters that repeat the same model without a budget.
    """

    requires = ("lightgbm", "scipy")
    source = "Wolpert 1992 (stacking)"
    allow_nan = True
    cost_ms = 30_000
    small_limits: ClassVar[Mapping[str, int]] = {"max_candidates": 9, "rounds": 100}

    budget: float | None = parameter(None, "time limit in seconds of clock time; None: evaluate all candidates")
    max_candidates: int = parameter(len(SETTINGS), "maximum number of candidates, in their order")
    exclude: str = parameter("", "candidates to skip, as written in the table, separated by ;")
    include: str = parameter(
        "", "candidates to evaluate on all evaluated folds, without others and without halving, separated by ;"
    )
    n_folds: int = parameter(5, "number of inner folds")
    evaluated_folds: int | None = parameter(
        None,
        f"inner folds on which candidates are evaluated; None: until {ENOUGH_QUERIES} queries were, within the budget",
    )
    model_family: str = parameter(
        "all", 'candidates: "all", or only "linear" or "trees", so that the blend can be exported to any engine'
    )
    rounds: int = parameter(1000, "maximum number of rounds of a candidate with early stopping")
    measure: str = parameter("NDCG@10", "measure of candidates and blends")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(1, "seed of the inner folds")
    verbose: bool = parameter(False, "show progress")

    def _check(self) -> None:
        one_of(self, model_family=("all", "linear", "trees"))
        check_minima(self, max_candidates=1, n_folds=_MIN_FOLDS, evaluated_folds=1, rounds=1, seed=0)
        for name in (*_split(self.exclude), *_split(self.include)):
            if name not in map(str, SETTINGS):
                raise UnknownName(f"candidate of {self.name}", name, [str(setting) for setting in SETTINGS])
        if self.budget is not None and not self.budget > 0:
            raise DataError(f"{self.name}: budget must be above 0 seconds, got {self.budget}")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        clock = TimeBudget(self.budget)
        pool = combine_splits(train, valid)
        applicable = [setting for setting in SETTINGS if self._is_applicable(setting, pool)]
        self.skipped_ = [] if self.include else slow_candidates(applicable, pool)
        candidates = [setting for setting in applicable if str(setting) not in self.skipped_][: self.max_candidates]
        if not candidates:
            raise DataError(f"{self.name}: every candidate is excluded or does not support this data. Exclude fewer")
        comparable = require_comparable_queries(pool, self.name)
        parts = split_folds(pool, comparable, self.n_folds, self.seed)
        if len(parts) < _MIN_FOLDS:
            self._train_first_candidate(candidates, pool, len(parts))
            return
        counts = np.cumsum([np.isin(part, comparable).sum() for part in parts])
        folds = min(self.evaluated_folds or 1 + int(np.searchsorted(counts, ENOUGH_QUERIES)), len(parts))
        if np.isin(np.concatenate(parts[:folds]), comparable).sum() < _MIN_FOLDS:
            raise DataError(f"{self.name}: evaluated_folds={folds} has fewer than {_MIN_FOLDS} queries: use more folds")
        bar = ProgressBar(len(candidates) * folds, self.name) if self.verbose else None
        judge = Objective(pool, self.measure, self.convention)
        trials = Trials(self._make_ranker, judge, pool, parts, clock, bar, is_halved=not self.include)
        try:
            trials.run(candidates, folds)
        finally:
            if bar is not None:
                bar.close()
        self._blend(pool, trials)
        self.reasons_ = self._reasons(pool, trials, candidates)

    def _blend(self, pool: Dataset, trials: Trials) -> None:
        """Fit the blend on the scores of the evaluated queries, and train its parts."""
        tried, parts = trials.tried, list(trials.folds)
        scores, judged_pool = [trial.scores for trial in tried], pool
        if trials.n_evaluated_folds < len(parts):
            queries = np.sort(np.concatenate(parts[: trials.n_evaluated_folds]))
            rows, judged_pool = np.isin(pool.qid(), queries), pool.select(queries)
            scores = [trial_scores[rows] for trial_scores in scores]
            parts = split_folds(
                judged_pool, require_comparable_queries(judged_pool, self.name), self.n_folds, self.seed
            )
        blender = Blender(judged_pool, scores, Objective(judged_pool, self.measure, self.convention))
        names = [*BLENDERS] if len(tried) > 1 else ["the best alone"]
        values = {name: cross_validate_blend(blender, parts, name) for name in names}
        selected = select_blender(values)
        weights = drop_small_weights(BLENDERS[selected](blender, np.ones(judged_pool.queries, bool)))
        self.way_ = blend_label(selected, len(tried))
        self.parts_ = [
            self._train_part(tried[i], float(weights[i] / blender.spreads[i]), pool) for i in np.flatnonzero(weights)
        ]
        self.ways_ = {blend_label(name, len(tried)): aggregate(value, "mean") for name, value in values.items()}
        self.tried_ = [
            (str(trial.setting), aggregate(values, "mean"), trial.rounds, float(weight), trial.seconds)
            for trial, values, weight in zip(tried, blender.single_values, weights, strict=True)
        ]
        self.dropped_ = [(str(trial.setting), trial.value, trial.folds) for trial in trials.dropped]

    def _is_applicable(self, setting: CandidateSpec, pool: Dataset) -> bool:
        """Return whether a candidate is enabled and supports this data."""
        from pippin.rankers import ranker

        if self.model_family not in ("all", setting.kind) or str(setting) in _split(self.exclude):
            return False
        if self.include and str(setting) not in _split(self.include):
            return False
        sizes = [
            value
            for key, value in parse_parameters(setting.text).items()
            if key.endswith(("__n_features", "__n_components"))
        ]
        if any(size >= pool.features.shape[1] for size in sizes):
            return False  # keeping all features is another candidate
        return ranker(setting.text).allow_nan or not np.isnan(pool.features).any()

    def _train_first_candidate(self, candidates: Sequence[CandidateSpec], pool: Dataset, queries: int) -> None:
        """Train the first candidate because there are too few queries for an evaluation."""
        first = Trial(candidates[0], np.empty(0))
        self.parts_, self.ways_ = [self._train_part(first, 1.0, pool)], {}
        self.tried_, self.dropped_ = [(str(first.setting), float("nan"), None, 1.0, 0.0)], []
        self.reasons_ = (
            f"Only {queries} {'query has' if queries == 1 else 'queries have'} documents with different labels, too "
            f"few to compare candidates: {first.setting} was trained on all queries."
        )

    def _make_ranker(self, setting: CandidateSpec, rounds: int | None = None) -> Ranker:
        """Return the ranker of a candidate with this ranker's convention and number of rounds."""
        from pippin.rankers import ranker

        cls = ranker(setting.text)
        params = {"convention": self.convention, **parse_parameters(setting.text)}
        if cls.is_iterative:
            params["rounds"] = min(self.rounds, cls.parameters["rounds"].default) if rounds is None else rounds
        return cls(**{key: value for key, value in params.items() if key in cls.parameters})

    def _train_part(self, trial: Trial, weight: float, pool: Dataset) -> Part:
        """Return a part of the blend, trained on all queries."""
        every = np.arange(pool.features.shape[1])
        return Part(weight, self._make_ranker(trial.setting, trial.rounds).fit(pool), every)

    def _predict(self, features: Features) -> F64:
        total = np.zeros(len(features))
        for part in self.parts_:
            total += part.weight * part.ranker.predict(np.ascontiguousarray(features[:, part.columns]))
        return total

    def _reasons(self, pool: Dataset, trials: Trials, candidates: Sequence[CandidateSpec]) -> str:
        """Return what was evaluated, what was not and why, and what the model consists of."""
        name, value, *_ = max(self.tried_, key=lambda entry: entry[1])
        known = {str(trial.setting) for trial in (*trials.tried, *trials.dropped)}
        not_reached = [
            str(setting) for setting in candidates
            if str(setting) not in known and str(setting) not in trials.failed and str(setting) not in trials.too_slow
        ]  # fmt: skip
        within = "" if self.budget is None else f" within a budget of {self.budget:g} s of clock time"
        folds = f"{trials.n_evaluated_folds} of {len(trials.folds)} inner folds of {pool.queries} queries"
        best = f", the best {len(trials.tried)} of them" if trials.dropped else ""
        text = [f"Evaluated {len(known)} of {len(candidates)} candidates{best} on {folds}{within}."]
        if self.skipped_:
            text.append(f"Skipped, because their time grows with the pairs of documents: {'; '.join(self.skipped_)}.")
        if trials.failed:
            errors = "; ".join(f"{key} ({error})" for key, error in trials.failed.items())
            text.append(f"Failed: {errors}.")
        if trials.too_slow:
            text.append(f"Too slow for the budget: {'; '.join(trials.too_slow)}.")
        if not_reached:
            cause = "before Ctrl-C" if trials.is_interrupted else "before the budget was used up"
            text.append(f"Not reached {cause}: {'; '.join(not_reached)}.")
        if len(known) == 1 and len(candidates) > 1:
            text.append(f"There was no comparison: {name} is the only candidate that was evaluated.")
        text.append(f"Best candidate: {name}, {self.measure} {value:.4f}.")
        if len(self.ways_) > 1:
            best = "" if self.way_ == "the best alone" else f"; the best alone has {self.ways_['the best alone']:.4f}"
            text.append(f"Selected blend: {self.way_}, {self.ways_[self.way_]:.4f} on held-out queries{best}.")
        shares = sorted(((share, setting) for setting, _, _, share, _ in self.tried_ if share), reverse=True)
        text.append("The model is " + ", ".join(f"{share:.0%} {setting}" for share, setting in shares) + ".")
        text.append("Each part was trained again on all queries" + _by_rounds(self.parts_) + ".")
        if self.budget is not None or trials.is_interrupted:
            text.append(
                f"The same model without a budget: evaluated_folds={trials.n_evaluated_folds}, "
                f'include="{"; ".join(str(trial.setting) for trial in trials.tried)}".'
            )
        return " ".join(text)

    def table(self) -> Table:
        """Return a table of the candidates: measure on held-out queries, rounds, share in the blend, time.

        Candidates without rounds and time were dropped after fewer queries than the others.
        """
        self._check_fitted()
        rows = [
            [setting, "" if value != value else f"{value:.4f}", "" if rounds is None else str(rounds),  # noqa: PLR0124 - NaN
             f"{share:.0%}" if share else "", f"{seconds:.1f}" if seconds else ""]
            for setting, value, rounds, share, seconds in self.tried_
        ]  # fmt: skip
        dropped = [[name, f"{value:.4f}", "", "", ""] for name, value, _ in self.dropped_]
        blends = [[blend, f"{value:.4f}", "", "", ""] for blend, value in self.ways_.items()]
        return Table(["candidate", self.measure, "rounds", "share", "seconds"], [*rows, *dropped, *blends])

    def _to_model(self) -> Model:
        """Return a blend whose parts are all weighted sums, or all trees, as one of these; refuse others."""
        names = self.feature_names_
        parts: list[tuple[float, Any]] = [
            (part.weight, map_features(part.ranker.to_model(), names)) for part in self.parts_
        ]
        kinds = sorted({model.kind for _, model in parts})
        if kinds == ["linear"]:
            weights: Any = sum(weight * model.weights for weight, model in parts)
            return LinearModel(names, weights, sum(weight * (model.bias + model.start) for weight, model in parts))
        if kinds == ["trees"]:
            trees = tuple(
                replace(tree, value=tree.value * weight / model.divisor)
                for weight, model in parts
                for tree in model.trees()
            )
            return TreeEnsemble(names, (trees,), base=sum(weight * model.base for weight, model in parts))
        raise DataError(
            f"this blend of {' and '.join(kinds)} cannot be exported as one model: "
            "train with model_family=linear or model_family=trees"
        )

    def _state(self) -> dict[str, Any]:
        from pippin.rankers.models import pack_models

        contents, arrays = pack_models([part.ranker for part in self.parts_])
        parts = [{"weight": part.weight, "model": content} for part, content in zip(self.parts_, contents, strict=True)]
        tried = [[setting, _or_none(value), rounds, share] for setting, value, rounds, share, _ in self.tried_]
        blends = [[blend, value] for blend, value in self.ways_.items()]
        dropped = [[setting, _or_none(mean), folds] for setting, mean, folds in self.dropped_]
        return {"parts": parts, "tried": tried, "dropped": dropped, "ways": blends, "reasons": self.reasons_, **arrays}

    def _restore(self, state: dict[str, Any]) -> None:
        from pippin.rankers.models import unpack_models

        self.parts_ = []
        rankers = unpack_models([part["model"] for part in state["parts"]], state)
        for part, ranker in zip(state["parts"], rankers, strict=True):
            columns = np.array([self.feature_names_.index(name) for name in ranker.feature_names_], np.int64)
            self.parts_.append(Part(read_number(part["weight"]), ranker, columns))
        if not self.parts_:
            raise ValueError("the blend is empty")
        self.tried_ = [
            (
                str(setting),
                float("nan") if value is None else read_number(value),
                None if rounds is None else int(rounds),
                read_number(share),
                0.0,
            )
            for setting, value, rounds, share in state["tried"]
        ]
        self.dropped_ = [
            (str(setting), float("nan") if value is None else read_number(value), read_count(folds))
            for setting, value, folds in state.get("dropped", ())
        ]
        self.ways_ = {str(blend): read_number(value) for blend, value in state["ways"]}
        self.reasons_ = str(state["reasons"])

    def importance(self) -> dict[str, float]:
        """Return the importance of features in the parts, weighted by their shares; parts without one are skipped."""
        total = np.zeros(len(self.feature_names_))
        shares = [share for *_, share, _ in self.tried_ if share]
        for part, share in zip(self.parts_, shares, strict=True):
            try:
                total[part.columns] += share * part.ranker.feature_importances_
            except AttributeError:
                continue
        return dict(zip(self.feature_names_, total.tolist(), strict=True))


def _by_rounds(parts: Sequence[Part]) -> str:
    is_any_iterative = any(part.ranker.is_iterative for part in parts)
    return ", for the mean number of rounds of the inner folds" if is_any_iterative else ""


def _split(names: str) -> list[str]:
    """Return the names of a list that is separated by semicolons."""
    return [name.strip() for name in names.split(";") if name.strip()]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
