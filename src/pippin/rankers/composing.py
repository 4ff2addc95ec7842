"""Chains: steps and a ranker as one ranker, `gas(k=20) > ranksvm`, trained, chosen, saved and shown as any other.

A chain is a step and its rest, which is the ranker or again a chain; the step decides what the rest learns from and how
often. Every chain of the same names is an instance of one class, so that whoever asks a ranker's class for parameters,
grid or needs asks a chain's in the same words. Parameters are those of the stages (`gas__k`, `ranksvm__C`), and for all
stages at once `measure`, `convention`, `seed` and `verbose`, where one of them has such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.modules import load_folder
from pippin.rankers.base import RANKERS, Features, Ranker
from pippin.rankers.parts.parameters import Parameter
from pippin.rankers.steps.base import STEPS, Step
from pippin.rankers.written import ARROW, labels, plain_name, settings

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
SHARED = ("convention", "seed", "verbose")  # of all stages alike; a measure can be each stage's own, too
_MEASURE = Parameter(None, "what all stages look at; None: each what it says itself", "str | None")


class Chain(Ranker):
    """Steps and a ranker as one ranker."""

    steps: ClassVar[tuple[type[Step], ...]] = ()
    last: ClassVar[type[Ranker]] = Ranker
    labels: ClassVar[tuple[str, ...]] = ()  # of the stages, in the names of parameters

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The names of all parameters, in alphabetical order."""
        return sorted(cls.parameters)

    @property
    def step_(self) -> Step:
        """The first step, fitted."""
        step: Step = vars(self)["_first"]
        return step

    @property
    def ranker_(self) -> Ranker:
        """The ranker at the end of the chain, fitted; the first where the steps trained several."""
        model = self.step_.models_[0]
        return model.ranker_ if isinstance(model, Chain) else model

    def _given(self, stage: int) -> dict[str, Any]:
        """The parameters of a stage, as its class takes them."""
        cls = (*self.steps, self.last)[stage]
        head, given = f"{self.labels[stage]}__", {}
        for key in cls.parameters:
            flat = head + key.removesuffix("_")
            given[key] = getattr(self, flat) if flat in self.parameters else getattr(self, key)
        if "measure" in given and vars(self)["measure"] is not None:
            given["measure"] = vars(self)["measure"]
        return given

    def first(self) -> Step:
        """The first step with its parameters, which has learned nothing."""
        return self.steps[0](**self._given(0))

    def rest(self) -> Ranker:
        """What stands behind the first step, with its parameters, which has learned nothing."""
        *others, last = self.stages()[1:]
        return chain(*others, last) if others else cast(Ranker, last)

    def _check(self) -> None:
        self.first().check_parameters()
        self.rest().check_parameters()

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        step = self.first()
        step.learn(train, valid, self.rest())
        self._first = step
        self.curve_ = list(getattr(step.models_[0], "curve_", []))

    def _predict(self, features: Features) -> F64:
        return self.step_.scores(features, None)

    def _predict_lists(self, features: Features, offsets: I64) -> F64:
        return self.step_.scores(features, offsets)

    def _state(self) -> dict[str, Any]:
        from pippin.rankers.models import packed_models

        contents, arrays = packed_models(self.step_.models_)
        return {**self.step_._state(), "models": contents, **arrays}

    def _restore(self, state: dict[str, Any]) -> None:
        from pippin.rankers.models import unpacked_models

        step, rest = self.first(), type(self.rest())
        step.feature_names_, step.n_features_in_ = self.feature_names_, self.n_features_in_
        step._restore(state)
        step.models_ = unpacked_models(state["models"], state)
        if not step.models_ or any(type(model) is not rest for model in step.models_):
            raise ValueError(f"what stands behind {step.name} is not what it should be")
        step.check_models()
        self._first = step

    def stages(self) -> list[Step | Ranker]:
        """The steps and the ranker, each with its parameters, which have learned nothing."""
        return [*(step(**self._given(i)) for i, step in enumerate(self.steps)), self.last(**self._given(-1))]

    def __repr__(self) -> str:
        return f"chain({', '.join(map(repr, self.stages()))})"

    def importance(self) -> dict[str, float]:
        """How much each feature counts, by name, as the first step sees it."""
        return self.step_.importance()

    def words_of_model(self) -> list[str]:
        """What each step learned, in a sentence."""
        words, model = [], self
        while True:
            words.append(model.step_.words_of_model())
            rest = model.step_.models_[0]
            if not isinstance(rest, Chain):
                return [sentence for sentence in words if sentence]
            model = rest


def chain(*given: Step | Ranker | str) -> Chain:
    """Steps and, at the end, a ranker, as one ranker; each an object with its parameters, or written.

    >>> from pippin.rankers import RankSVM
    >>> from pippin.rankers.steps import PCA
    >>> chain(PCA(k=10), RankSVM(C=0.5)).get_params()["pca__k"], chain("pca(10)", "ranksvm").name
    (10, 'pca > ranksvm')
    """
    parts = [part for i, one in enumerate(given) for part in _parts(_staged(one, last=i == len(given) - 1))]
    if len(parts) < 2:
        raise ConventionError("a chain has a step and a ranker at least")
    cls = class_of([part.name for part in parts])
    flat: dict[str, Any] = {}
    for label, part in zip(cls.labels, parts, strict=True):
        for key, value in part.get_params().items():
            written = f"{label}__{key.removesuffix('_')}"
            if written in cls.parameters:
                flat[written] = value
            elif value == type(part).parameters[key].default:
                continue  # of all stages alike: whoever was told something says it
            elif flat.setdefault(key, value) != value:
                raise ConventionError(f"{key} is one for all stages of a chain, not {flat[key]} and {value}")
    return cls(**flat)


def _parts(stage: Step | Ranker) -> list[Any]:
    """The stages of a chain that stands at the end of another; anything else is one stage."""
    return stage.stages() if isinstance(stage, Chain) else [stage]


def _staged(one: Any, last: bool) -> Any:
    """A stage as an object: a step, or the ranker at the end."""
    if isinstance(one, str):
        from pippin.rankers import ranker
        from pippin.rankers.steps import step

        if last:
            return ranker(one)(**settings(one))
        cls, given = step(plain_name(one)), settings(f"{one}{ARROW}mart")
        return cls(**{_own(cls, key.split("__", 1)[1]): value for key, value in given.items()})
    if isinstance(one, Ranker) != last or not isinstance(one, Step | Ranker):
        what = "a chain ends in a ranker, and what stands before are steps"
        hint = "; scikit-learn's transformers compose in its own Pipeline, as without pickle nobody can keep them"
        raise ConventionError(what + ("" if isinstance(one, Step | Ranker) else hint))
    return one


def _own(cls: type[Step], written: str) -> str:
    """A step's own name of a parameter that was written: a word of Python's has an underscore behind it."""
    return written if written in cls.parameters else f"{written}_"


def class_of(names: Sequence[str]) -> type[Chain]:
    """The class of all chains of these names."""
    from pippin.rankers import ranker
    from pippin.rankers.steps import step

    classes: tuple[Any, ...] = (*map(step, names[:-1]), ranker(names[-1]))
    return _class_of(tuple(names), classes)


@cache
def _class_of(names: tuple[str, ...], kinds: tuple[Any, ...]) -> type[Chain]:
    *steps, last = kinds
    called = labels(names)
    parameters = _parameters(called, kinds)

    def joined(attribute: str) -> dict[str, Any]:
        own = {f"{label}__{key}": value for label, kind in zip(called, kinds, strict=True)
               for key, value in getattr(kind, attribute).items()}  # fmt: skip
        return {key if key in parameters else key.split("__", 1)[1]: value for key, value in own.items()}

    words = " ".join(f"{kind.name}: {kind.words.partition(chr(10))[0]}" for kind in kinds)
    body: dict[str, Any] = {
        "__doc__": f"A chain of {len(kinds)} stages.\n\n{words}", "__module__": __name__,
        "__annotations__": {key: one.kind for key, one in parameters.items()}, **parameters,
        "steps": tuple(steps), "last": last, "labels": tuple(called), "name": ARROW.join(names),
        "source": "; ".join(dict.fromkeys(kind.source for kind in kinds if kind.source)),
        "grid": joined("grid"), "quick_grid": joined("quick_grid"), "quick_limits": joined("quick_limits"),
        "milliseconds": sum(kind.milliseconds for kind in kinds), "cautious": last.cautious,
        "needs": tuple(dict.fromkeys(module for kind in kinds for module in kind.needs)),
        "by_rounds": last.by_rounds, "whole_queries": any(kind.whole_queries for kind in kinds),
        "takes_null": all(kind.takes_null for kind in kinds),
        "takes_weights": all(kind.takes_weights for kind in kinds),
    }  # fmt: skip
    made: type[Chain] = type("Chain", (Chain,), body)
    return made


def _parameters(called: Sequence[str], kinds: Sequence[type[Step | Ranker]]) -> dict[str, Parameter]:
    """The parameters of the stages under their labels; what all stages share stands there once."""
    found: dict[str, Parameter] = {}
    shared: dict[str, Parameter] = {}
    for label, kind in zip(called, kinds, strict=True):
        for key, one in kind.parameters.items():
            if key in SHARED:
                shared[key] = one  # the ranker's word counts, as it comes last
            else:
                found[f"{label}__{key.removesuffix('_')}"] = one
            if key == "measure":
                shared[key] = _MEASURE
    return {**found, **shared}


def parts_of(text: str) -> list[tuple[Any, str]]:
    """The registered things in what was written, each with its shelf."""
    *steps, last = plain_name(text).split(ARROW)
    return [*((STEPS, name) for name in steps), (RANKERS, last)]


def is_known(text: str) -> bool:
    """Whether everything in what was written stands on a shelf here."""
    load_folder("pippin.rankers")
    load_folder("pippin.rankers.steps")
    return all(name in shelf for shelf, name in parts_of(text))


def stage_settings(text: str, given: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is given for rankers and steps by their names, as parameters of the ranker or chain that is written so.

    >>> stage_settings("pca(10) > ranksvm", {"ranksvm": {"C": 0.5}, "mart": {"rounds": 5}})
    {'ranksvm__C': 0.5}
    """
    names = plain_name(text).split(ARROW)
    if len(names) == 1:
        return dict(given.get(names[0], {}))
    return {f"{label}__{key}": value for label, name in zip(labels(names), names, strict=True)
            for key, value in given.get(name, {}).items()}  # fmt: skip


def guess(text: str, parameters: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> float:
    """How long one training will take, as milliseconds on 3/5 of OHSUMED: good enough to begin with the longest."""
    from pippin.rankers import ranker

    cls = ranker(text)
    last, head = (cls.last, f"{cls.labels[-1]}__") if issubclass(cls, Chain) else (cls, "")
    bags = max(grid.get(f"{head}bags", [parameters.get(f"{head}bags", 1)]))
    rounds = parameters[f"{head}rounds"] if last.by_rounds else 1
    longest = float(last.milliseconds * bags * rounds)
    stages = zip(cls.labels, cls.steps, strict=False) if issubclass(cls, Chain) else ()
    for label, step in stages:
        longest = step.milliseconds + longest * (parameters[f"{label}__{step.trainings}"] if step.trainings else 1)
    return longest
