"""Clicks in the place of labels: what would a ranker have learned from people who click on what another one shows?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.log import ClickLog
from pippin.clicks.models import MODELS, Habits, attraction, examination
from pippin.clicks.preference import DEBIASING
from pippin.clicks.propensity import METHODS, Propensities, propensities
from pippin.clicks.simulation import simulate
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.forms.form import Form
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.convex import with_pairs
from pippin.rankers.parts.parameters import above_zero, at_least, one_of, parameter
from pippin.rankers.parts.preferred import clicked
from pippin.rankers.parts.states import count, numbers
from pippin.rankers.steps.base import Step, register

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_FEWEST = 5  # queries that the ranker in use has learned from at least
_TRUE = "true"


@register("clicks")
class Clicks(Step):
    """Learns from simulated clicks on the training part, in the place of its labels: lambdamart and ranksvm can.

    A RankSVM that saw the labels of a few training queries ranks all of them; people click on its lists as `people`
    says, from the labels of the training part alone. The validation part keeps its labels, as a small judged set would
    be there in practice.
    """

    source = "Joachims, Swaminathan & Schnabel 2017; Hu et al. 2019"
    milliseconds: ClassVar[float] = 500
    takes_weights = False

    debias: str = parameter("ips", "how clicks are taken: ips (weighed by one over propensity), pairwise, or naive")
    propensities: str | float = parameter(
        "em", "for ips: em, swaps, regression, true, or a number, the eta that is believed in"
    )
    people: str = parameter("pbm", "how people click: pbm, cascade, dcm, trust")
    sessions: int = parameter(100, "how often each query is asked")
    depth: int = parameter(10, "documents shown")
    eta: float = parameter(1.0, "of pbm and trust: a rank is looked at by (1 / rank) ** eta")
    persistence: float = parameter(0.5, "of dcm: the chance to read on after a click")
    trust: float = parameter(0.3, "of trust: the chance to click on something bad because it stands first")
    noise: float = parameter(0.1, "the chance of a click on a document without any relevance that is looked at")
    swaps: float = parameter(0.1, "share of sessions in which the first and a random document change places")
    judged: float = parameter(
        0.01, f"share of the training queries that the ranker in use learned from, {_FEWEST} at least"
    )
    clip: float = parameter(0.01, "for ips: no click is divided by less")
    power: float = parameter(1.0, "for pairwise: how far the trust in ranks is drawn towards 1")
    seed: int = parameter(1, "of clicks and of the queries that the ranker in use learned from")

    def _check(self) -> None:
        one_of(self, debias=DEBIASING)
        MODELS[self.people]
        at_least(self, sessions=1, depth=1, power=0, seed=0)
        above_zero(self, "clip", "judged")
        attraction(np.zeros(0, np.int32), self.noise, 1)
        self._habits()
        if isinstance(self.propensities, str):
            one_of(self, propensities=(*METHODS, _TRUE))
        else:
            at_least(self, propensities=0)
        for name in ("swaps", "judged", "clip"):
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{self.name}: {name} is at most 1, not {getattr(self, name)}")

    def _habits(self) -> Habits:
        return Habits(eta=self.eta, persistence=self.persistence, trust=self.trust)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        log = self.log(train)
        believed = self._believed(log, train) if self.debias == "ips" else None
        pairs = clicked(
            train, log, debias=self.debias, propensities=believed, clip=self.clip, power=self.power,
        )  # fmt: skip
        self.shown_, self.clicks_ = len(log.items), int(log.clicks.sum())
        self.propensities_ = np.empty(0) if believed is None else believed.values
        self.models_ = [rest.fresh().fit(pairs, eval_set=valid)]

    def log(self, train: Dataset) -> ClickLog:
        """The clicks that the step learns from."""
        return simulate(
            train, self._in_use(train).predict(train), people=self.people, habits=self._habits(),
            sessions=self.sessions, depth=self.depth, noise=self.noise, swaps=self.swaps, seed=self.seed,
        )  # fmt: skip

    def _in_use(self, train: Dataset) -> Ranker:
        """The ranker whose lists people saw."""
        from pippin.rankers.ranksvm import RankSVM

        telling = with_pairs(train)
        if not telling.queries:
            raise DataError(f"no query of {train.name} has documents of different labels; nobody would click for one")
        size = max(_FEWEST, round(self.judged * train.queries))
        drawn = np.random.default_rng(self.seed).permutation(telling.queries)[:size]
        return RankSVM().fit(telling.select(np.sort(drawn)))

    def _believed(self, log: ClickLog, train: Dataset) -> Propensities:
        if self.propensities == _TRUE:
            return Propensities(examination(self.depth, self.eta), _TRUE)
        if not isinstance(self.propensities, str):
            return Propensities(examination(self.depth, self.propensities), "believed")
        return propensities(log, self.propensities, data=train if self.propensities == "regression" else None)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The scores of what learned from the clicks."""
        return self.models_[0].scores(features, offsets)

    def _state(self) -> dict[str, Any]:
        return {"shown": self.shown_, "clicks": self.clicks_, "propensities": self.propensities_.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.shown_, self.clicks_ = count(state["shown"]), count(state["clicks"])
        self.propensities_ = numbers(state["propensities"])

    def _form(self, forms: Sequence[Form]) -> Form:
        return forms[0]

    def words_of_model(self) -> str:
        """What it learned from, in a sentence."""
        told = f"learned from {self.clicks_:,} clicks on {self.shown_:,} documents shown"
        if not len(self.propensities_):
            return f"{told}."
        return f"{told}; ranks are looked at by {', '.join(f'{value:.3g}' for value in self.propensities_)}."
