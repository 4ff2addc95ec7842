"""Auto: which ranker should be taken? Tries many within a given time, blends the best, and says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import aggregate
from pippin.evaluation.objective import Judge
from pippin.progress import Bar
from pippin.rankers.base import Features, Ranker, register
from pippin.rankers.parts.blending import WAYS, Blender, nested, strong, surest
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.parts.states import number
from pippin.rankers.parts.trees import unlike_queries
from pippin.rankers.parts.trying import Clock, Setting, Trial, Trials, deal, pooled
from pippin.rankers.written import settings
from pippin.tables import Table

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


# What is tried, in this order: the linear ranker and the trees to take first, so that a short time is well spent, then
# what is quick, then what differs from it.
SETTINGS = (
    Setting("ranksvm", "linear"),
    Setting("lambdamart", "trees"),
    Setting("best-feature(measure=NDCG@10)", "linear"),
    Setting("listnet", "linear"),
    Setting("ranksvm(C=0.0001)", "linear"),
    Setting("gas(10) > ranksvm", "linear"),
    Setting("pca(10) > ranksvm", "linear"),
    Setting("regression(mapping=exp2,ridge=100.0)", "linear"),
    Setting("svmmap", "linear"),
    Setting("listnet(scale=4.0)", "linear"),
    Setting("adarank", "linear"),
    Setting("xendcg", "trees"),
    Setting("approxndcg", "linear"),
    Setting("permutation(10) > ranksvm", "linear"),
    Setting("rankboost", "trees"),
    Setting("lambdamart(leaves=4)", "trees"),
    Setting("lambdarank", "network"),
    Setting("lambdamart(leaves=10,row_fraction=0.5,feature_fraction=0.3)", "trees"),
    Setting("xendcg(row_fraction=0.5,feature_fraction=0.3)", "trees"),
)
_FEWEST = 3  # inner folds: one to learn from, one to stop by, one to be judged on


@dataclass(frozen=True)
class Part:
    """A trained ranker of the blend, the features that it takes, and what its scores are multiplied by."""

    weight: float
    ranker: Ranker
    columns: I64


@register("auto")
class Auto(Ranker):
    """Tries linear rankers, trees and networks on inner folds, and returns a blend of the best with its reasons.

    The queries of training and validation set are dealt into inner folds. A setting learns from all of them but two
    (one to stop by, one to be judged on), so that every query gets a score from models that have not seen it. From
    these scores come the ways to blend (`parts.blending`), each judged by weights that were found without the queries
    it is judged on: score(x) = Σ w_i s_i(x) / σ_i, σ_i the spread of s_i within a query. The weights are RankSVM's
    unless another way is ahead by more than the standard error. Each part is then trained again on all queries, for as
    many rounds as the inner folds chose on average.

    With a `budget` the time decides which settings are tried and on how many inner folds, and so the result; the
    reasons say with which `trials`, `without` and `judged` the same model is made again. Without one, the same data
    give the same model.
    """

    needs = ("lightgbm", "scipy")
    source = "Wolpert 1992 (stacking)"
    takes_null = True
    milliseconds = 30_000
    quick_limits: ClassVar[Mapping[str, int]] = {"trials": 9, "rounds": 100}

    budget: float | None = parameter(None, "seconds that training may take; None: until all settings are tried")
    trials: int = parameter(len(SETTINGS), "settings that are tried at most, in their order")
    without: str = parameter("", "settings that are not tried, as the table writes them, with ; between them")
    folds: int = parameter(5, "inner folds")
    judged: int | None = parameter(
        None, "inner folds that settings are tried on; None: all, or with a budget as many as the time allows"
    )
    kinds: str = parameter(
        "all", 'what is tried: "all", or only "linear" or "trees", so that any engine can take the blend'
    )
    rounds: int = parameter(1000, "rounds at most of a part that validation stops")
    measure: str = parameter("NDCG@10", "what settings and blends are judged by")
    convention: str | Convention = parameter("official", "the convention of that measure")
    seed: int = parameter(1, "of the inner folds")
    verbose: bool = parameter(False, "shows progress")

    def _check(self) -> None:
        one_of(self, kinds=("all", "linear", "trees"))
        at_least(self, trials=1, folds=_FEWEST, judged=1, rounds=1, seed=0)
        for name in self._left_out():
            if name not in map(str, SETTINGS):
                raise UnknownName(f"setting of {self.name}", name, [str(one) for one in SETTINGS])
        if self.budget is not None and not self.budget > 0:
            raise DataError(f"{self.name}: budget is a number of seconds above 0, not {self.budget}")

    def _left_out(self) -> list[str]:
        return [name.strip() for name in self.without.split(";") if name.strip()]

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        clock = Clock(self.budget)
        pool = pooled(train, valid)
        able = [one for one in SETTINGS if self._takes(one, pool)][: self.trials]
        if not able:
            raise DataError(f"{self.name}: of the settings that take this data none is left; leave less out by without")
        unlike = unlike_queries(pool, self.name)
        dealt = deal(pool, unlike, self.folds, self.seed)
        if len(dealt) < _FEWEST:
            self._take_first(able, pool, len(dealt))
            return
        folds = min(self.judged or len(dealt), len(dealt))
        if np.isin(np.concatenate(dealt[:folds]), unlike).sum() < _FEWEST:
            raise DataError(f"{self.name}: judged={folds} leaves fewer than {_FEWEST} queries to judge by; take more")
        bar = Bar(len(able) * folds, self.name) if self.verbose else None
        trials = Trials(self._made, pool, dealt, clock, bar)
        try:
            trials.run(able, folds)
        finally:
            if bar is not None:
                bar.close()
        self._blend(pool, trials)
        self.reasons_ = self._reasons(pool, trials, len(able))

    def _blend(self, pool: Dataset, trials: Trials) -> None:
        """The parts and their weights, by the scores of the queries that were judged."""
        tried, parts = trials.tried, list(trials.dealt)
        scores, seen = [trial.scores for trial in tried], pool
        if trials.judged < len(parts):
            queries = np.sort(np.concatenate(parts[: trials.judged]))
            rows, seen = np.isin(pool.qid(), queries), pool.select(queries)
            scores = [given[rows] for given in scores]
            parts = deal(seen, unlike_queries(seen, self.name), self.folds, self.seed)
        blender = Blender(seen, scores, Judge(seen, self.measure, self.convention))
        ways = [*WAYS] if len(tried) > 1 else ["the best alone"]
        by_way = {way: nested(blender, parts, way) for way in ways}
        self.way_ = surest(by_way)
        weights = strong(WAYS[self.way_](blender, np.ones(seen.queries, bool)))
        self.parts_ = [
            self._trained(tried[i], float(weights[i] / blender.spreads[i]), pool) for i in np.flatnonzero(weights)
        ]
        self.ways_ = {name: aggregate(values, "mean") for name, values in by_way.items()}
        self.tried_ = [
            (str(trial.setting), aggregate(values, "mean"), trial.rounds, float(weight), trial.seconds)
            for trial, values, weight in zip(tried, blender.alone, weights, strict=True)
        ]

    def _takes(self, setting: Setting, pool: Dataset) -> bool:
        """Whether this data can be given to that ranker."""
        from pippin.rankers import ranker

        if self.kinds not in ("all", setting.kind) or str(setting) in self._left_out():
            return False
        kept = [value for key, value in settings(setting.written).items() if key.endswith("__k")]
        if any(k >= pool.features.shape[1] for k in kept):
            return False  # to keep all of them is another setting
        return ranker(setting.written).takes_null or not np.isnan(pool.features).any()

    def _take_first(self, able: Sequence[Setting], pool: Dataset, queries: int) -> None:
        """Where nothing can be judged, the first setting."""
        one = Trial(able[0], np.empty(0))
        self.parts_, self.ways_ = [self._trained(one, 1.0, pool)], {}
        self.tried_ = [(str(one.setting), float("nan"), None, 1.0, 0.0)]
        self.reasons_ = (
            f"Only {queries} {'query has' if queries == 1 else 'queries have'} documents of different labels, too few "
            f"to judge anything by; {one.setting} was trained on all."
        )

    def _made(self, setting: Setting, rounds: int | None = None) -> Ranker:
        """A ranker of this setting with the measure, the convention and the rounds of this one."""
        from pippin.rankers import ranker

        cls = ranker(setting.written)
        given = {"convention": self.convention, **settings(setting.written)}
        if cls.by_rounds:
            given["rounds"] = min(self.rounds, cls.parameters["rounds"].default) if rounds is None else rounds
        return cls(**{key: value for key, value in given.items() if key in cls.parameters})

    def _trained(self, trial: Trial, weight: float, pool: Dataset) -> Part:
        """A part of the blend, trained on all queries."""
        every = np.arange(pool.features.shape[1])
        return Part(weight, self._made(trial.setting, trial.rounds).fit(pool), every)

    def _predict(self, features: Features) -> F64:
        total = np.zeros(len(features))
        for part in self.parts_:
            total += part.weight * part.ranker.predict(np.ascontiguousarray(features[:, part.columns]))
        return total

    def _reasons(self, pool: Dataset, trials: Trials, able: int) -> str:
        name, value, *_ = max(self.tried_, key=lambda one: one[1])
        done, folds, way = len(trials.tried) + len(trials.failed), len(trials.dealt), self.way_
        on = f"{folds}" if trials.judged == folds else f"{trials.judged} of {folds}"
        text = [
            f"{done} of {able} settings were tried on {on} inner folds of {pool.queries} queries.",
            f"The best alone is {name}, {self.measure} {value:.4f}.",
        ]
        if len(self.ways_) > 1:
            alone = self.ways_["the best alone"]
            text.append(
                f"Taken: {way}, {self.ways_[way]:.4f} on queries that it was not chosen by"
                + ("." if way == "the best alone" else f"; the best alone, chosen likewise, has {alone:.4f}.")
            )
        shares = sorted(((share, setting) for setting, _, _, share, _ in self.tried_ if share), reverse=True)
        text.append("The model is " + ", ".join(f"{share:.0%} {setting}" for share, setting in shares) + ".")
        text.append("Each part was trained again on all queries" + _by_rounds(self.parts_) + ".")
        if trials.failed:
            text.append(
                "Could not be trained: " + "; ".join(f"{key} ({why})" for key, why in trials.failed.items()) + "."
            )
        if self.budget is not None and (done < able or trials.judged < folds):
            text.append(self._same_again(trials))
        return " ".join(text)

    def _same_again(self, trials: Trials) -> str:
        """What the budget did not allow, and the parameters that make the same model without one."""
        left = "; ".join([*self._left_out(), *trials.late])
        late = f"Left out, as they would have taken too long: {'; '.join(trials.late)}. " if trials.late else ""
        return (
            f"{late}The same model without a budget: judged={trials.judged}"
            + (f', without="{left}"' if left else "")
            + f", trials={len(trials.tried) + len(trials.failed)}."
        )

    def table(self) -> Table:
        """What was tried: the measure on queries that were not learned from, rounds, and the share in the blend."""
        self._check_fitted()
        rows = [
            [setting, "" if value != value else f"{value:.4f}", "" if rounds is None else str(rounds),  # noqa: PLR0124 - NaN
             f"{share:.0%}" if share else "", f"{seconds:.1f}" if seconds else ""]
            for setting, value, rounds, share, seconds in self.tried_
        ]  # fmt: skip
        ways = [[way, f"{value:.4f}", "", "", ""] for way, value in self.ways_.items()]
        return Table(["tried on inner folds", self.measure, "rounds", "share", "seconds"], [*rows, *ways])

    def _state(self) -> dict[str, Any]:
        from pippin.rankers.models import packed_models

        contents, arrays = packed_models([part.ranker for part in self.parts_])
        parts = [{"weight": part.weight, "model": one} for part, one in zip(self.parts_, contents, strict=True)]
        tried = [[setting, _or_none(value), rounds, share] for setting, value, rounds, share, _ in self.tried_]
        ways = [[way, value] for way, value in self.ways_.items()]
        return {"parts": parts, "tried": tried, "ways": ways, "reasons": self.reasons_, **arrays}

    def _restore(self, state: dict[str, Any]) -> None:
        from pippin.rankers.models import unpacked_models

        self.parts_ = []
        rankers = unpacked_models([part["model"] for part in state["parts"]], state)
        for part, ranker in zip(state["parts"], rankers, strict=True):
            columns = np.array([self.feature_names_.index(name) for name in ranker.feature_names_], np.int64)
            self.parts_.append(Part(number(part["weight"]), ranker, columns))
        if not self.parts_:
            raise ValueError("the blend has no part")
        self.tried_ = [
            (str(setting), float("nan") if value is None else number(value), None if rounds is None else int(rounds),
             number(share), 0.0)
            for setting, value, rounds, share in state["tried"]
        ]  # fmt: skip
        self.ways_ = {str(way): number(value) for way, value in state["ways"]}
        self.reasons_ = str(state["reasons"])

    def importance(self) -> dict[str, float]:
        """Each part's shares of the features, times its share in the blend; parts that do not tell are left out."""
        total = np.zeros(len(self.feature_names_))
        shares = [share for *_, share, _ in self.tried_ if share]
        for part, share in zip(self.parts_, shares, strict=True):
            try:
                total[part.columns] += share * part.ranker.feature_importances_
            except AttributeError:
                continue
        return dict(zip(self.feature_names_, total.tolist(), strict=True))


def _by_rounds(parts: Sequence[Part]) -> str:
    chosen = any(part.ranker.by_rounds for part in parts)
    return ", for the rounds that the inner folds chose on average" if chosen else ""


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
