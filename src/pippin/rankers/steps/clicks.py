"""Train on simulated clicks instead of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import ClickLog
from pippin.clicks.propensity import DEBIASING, METHODS, WEIGHTED, Propensities, propensities
from pippin.clicks.simulation import MODELS, ClickModelParameters, attraction, examination, simulate
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.models.model import Model
from pippin.rankers.base import Features, Ranker, read_count, read_numbers
from pippin.rankers.linear import drop_constant_queries
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.steps.base import Step, register
from pippin.rankers.training_data import from_clicks

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_MIN_LOGGING_QUERIES = 5  # minimum number of queries that the logging ranker is trained on
_TRUE = "true"


@register("clicks")
class Clicks(Step):
    """Trains lambdamart or ranksvm on simulated clicks instead of the labels of the training set.

    A logging RankSVM, trained on the labels of a few queries, ranks the training queries; a click model simulates
    clicks on its rankings from the labels. The validation set keeps its labels, like a small judged set in practice.
    """

    source = "Joachims, Swaminathan & Schnabel 2017; Hu et al. 2019"
    cost_ms: ClassVar[float] = 500
    supports_sample_weight = False

    debias: str = parameter(
        "ips", "ips (clicks weighted by inverse propensity), dr (doubly robust), pairwise, or naive"
    )
    propensities: str | float = parameter(
        "em", "for ips and dr: em, swaps, regression, true, or a number: the assumed eta"
    )
    click_model: str = parameter("pbm", "click model: pbm, cascade, dcm, trust")
    sessions: int = parameter(100, "sessions per query")
    depth: int = parameter(10, "documents shown per session")
    eta: float = parameter(1.0, "of pbm and trust: the examination probability is (1 / rank) ** eta")
    persistence: float = parameter(0.5, "of dcm: probability of reading on after a click")
    trust: float = parameter(0.3, "of trust: probability of clicking an irrelevant document at rank 1")
    noise: float = parameter(0.1, "probability of clicking an examined irrelevant document")
    swap_rate: float = parameter(0.1, "share of sessions in which the first document is swapped with a random one")
    logging_query_fraction: float = parameter(
        0.01, f"share of the training queries with labels for the logging ranker, at least {_MIN_LOGGING_QUERIES}"
    )
    clip: float = parameter(0.01, "for ips and dr: lower bound of propensities")
    power: float = parameter(1.0, "for pairwise: shrinks the trust in ranks towards 1")
    seed: int = parameter(1, "seed of clicks and of the logging queries")

    def _check(self) -> None:
        one_of(self, debias=DEBIASING)
        MODELS[self.click_model]
        check_minima(self, sessions=1, depth=1, power=0, seed=0)
        above_zero(self, "clip", "logging_query_fraction")
        attraction(np.zeros(0, np.int32), self.noise, 1)
        self._click_parameters()
        if isinstance(self.propensities, str):
            one_of(self, propensities=(*METHODS, _TRUE))
        else:
            check_minima(self, propensities=0)
        for name in ("swap_rate", "logging_query_fraction", "clip"):
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{self.name}: {name} must be at most 1, got {getattr(self, name)}")

    def _click_parameters(self) -> ClickModelParameters:
        return ClickModelParameters(eta=self.eta, persistence=self.persistence, trust=self.trust)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        log = self.log(train)
        estimated = self._estimate_propensities(log, train) if self.debias in WEIGHTED else None
        pairs = from_clicks(
            train, log, debias=self.debias, propensities=estimated, clip=self.clip, power=self.power,
        )  # fmt: skip
        self.shown_, self.clicks_ = len(log.items), int(log.clicks.sum())
        self.propensities_ = np.empty(0) if estimated is None else estimated.values
        self.estimators_ = [next_ranker.clone().fit(pairs, eval_set=valid)]

    def log(self, train: Dataset) -> ClickLog:
        """Return the simulated click log."""
        return simulate(
            train, self._logging_ranker(train).predict(train), click_model=self.click_model,
            parameters=self._click_parameters(), sessions=self.sessions, depth=self.depth, noise=self.noise,
            swap_rate=self.swap_rate, seed=self.seed,
        )  # fmt: skip

    def _logging_ranker(self, train: Dataset) -> Ranker:
        """Return the ranker that produced the rankings shown."""
        from pippin.rankers.ranksvm import RankSVM

        informative = drop_constant_queries(train)
        if not informative.queries:
            raise DataError(f"no query of {train.name} has documents with different labels: clicks would be noise only")
        size = max(_MIN_LOGGING_QUERIES, round(self.logging_query_fraction * train.queries))
        sampled = np.random.default_rng(self.seed).permutation(informative.queries)[:size]
        return RankSVM().fit(informative.select(np.sort(sampled)))

    def _estimate_propensities(self, log: ClickLog, train: Dataset) -> Propensities:
        if self.propensities == _TRUE:
            return Propensities(examination(self.depth, self.eta), _TRUE)
        if not isinstance(self.propensities, str):
            return Propensities(examination(self.depth, self.propensities), "assumed")
        return propensities(log, self.propensities, data=train if self.propensities == "regression" else None)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the next ranker's scores."""
        return self.estimators_[0].scores(features, offsets)

    def _state(self) -> dict[str, Any]:
        return {"shown": self.shown_, "clicks": self.clicks_, "propensities": self.propensities_.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.shown_, self.clicks_ = read_count(state["shown"]), read_count(state["clicks"])
        self.propensities_ = read_numbers(state["propensities"])

    def _to_model(self, models: Sequence[Model]) -> Model:
        return models[0]

    def describe(self) -> str:
        """Return a sentence about the clicks."""
        summary = f"trained on {self.clicks_:,} clicks on {self.shown_:,} documents shown"
        if not len(self.propensities_):
            return f"{summary}."
        return f"{summary}; propensities of ranks: {', '.join(f'{value:.3g}' for value in self.propensities_)}."
