"""Combine feature steps and a ranker into one estimator, such as "gas(20) > ranksvm"."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.models.model import Model
from pippin.rankers.base import RANKERS, Features, Ranker
from pippin.rankers.parameters import Parameter
from pippin.rankers.steps.base import STEPS, Step
from pippin.registry import split_names

_WRITTEN = re.compile(r"\s*([^\s(),>]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
ARROW = " > "


def split_stages(text: str) -> list[str]:
    """Return the stages of a chain as text; one stage for a plain ranker.

    >>> split_stages("gas(n_features=20) > ranksvm"), split_stages("mart")
    (['gas(n_features=20)', 'ranksvm'], ['mart'])
    """
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == ">" and depth <= 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    if len(parts) > 1 and not all(parts):
        raise ConventionError(f"invalid chain {text!r}: write step > step > ranker")
    return parts


def ranker_name(text: str) -> str:
    """Return the name of a ranker, or the names of a chain, without parameters.

    >>> ranker_name("best-feature(feature=bm25@whole)"), ranker_name("pca(10)>ranksvm(C=1)")
    ('best-feature', 'pca > ranksvm')
    """
    return ARROW.join(_split_name(stage)[0] for stage in split_stages(text))


def stage_labels(names: Sequence[str]) -> list[str]:
    """Return the prefixes of stages in parameter names; repeated names are numbered.

    >>> stage_labels(["pca", "pca", "best-feature"])
    ['pca', 'pca2', 'best_feature']
    """
    before = [names[:i].count(name) for i, name in enumerate(names)]
    return [name.replace("-", "_") + (str(n + 1) if n else "") for name, n in zip(names, before, strict=True)]


def parse_parameters(text: str) -> dict[str, Any]:
    """Return the parameters in the text of a ranker; those of a chain with the prefix of their stage.

    >>> parse_parameters("lambdamart(rounds=300, measure=NDCG@10)"), parse_parameters("mart")
    ({'rounds': 300, 'measure': 'NDCG@10'}, {})
    >>> parse_parameters("pca(10) > ranksvm(C=0.5)")
    {'pca__n_components': 10, 'ranksvm__C': 0.5}
    """
    *steps, last = map(_split_name, split_stages(text))
    if not steps:
        return _parse_stage_parameters(text, last[1])
    from pippin.rankers.steps import step

    prefixes = stage_labels([name for name, _ in (*steps, last)])
    values = [_parse_stage_parameters(text, inside, step(name).first_parameter()) for name, inside in steps]
    values.append(_parse_stage_parameters(text, last[1]))
    return {
        f"{label}__{key}": value
        for label, values_of_stage in zip(prefixes, values, strict=True)
        for key, value in values_of_stage.items()
    }


def uses_convention(parameters: Mapping[str, Any]) -> bool:
    """Return whether training with these parameters evaluates a measure under a convention.

    >>> uses_convention({"convention": "official"}), uses_convention({"convention": "official", "measure": "loss"})
    (True, False)
    """
    return "convention" in parameters and parameters.get("measure") != "loss"


def _parse_stage_parameters(text: str, inside: str, first: str | None = None) -> dict[str, Any]:
    """Return the parameters inside the parentheses; `first` is the name of a first value without one."""
    values: dict[str, Any] = {}
    for i, part in enumerate(split_names(inside)):
        name, equals, value = part.partition("=")
        if not equals and i == 0 and first is not None:
            name, equals, value = first, "=", part
        if not equals or not name.strip():
            raise ConventionError(f"invalid ranker {text!r}: write name(parameter=value)")
        values[name.strip()] = parse_literal(value.strip())
    return values


def canonical(text: str) -> str:
    """Return the canonical text of a ranker or chain, without redundant spaces.

    >>> canonical("lambdamart( rounds = 300,num_leaves=15 )"), canonical("mart()"), canonical("pca( 10 )>mart")
    ('lambdamart(rounds=300,num_leaves=15)', 'mart', 'pca(10) > mart')
    """
    return ARROW.join(map(_canonical, split_stages(text)))


def _canonical(text: str) -> str:
    name, inside = _split_name(text)
    parts = ["=".join(side.strip() for side in part.split("=", 1)) for part in split_names(inside)]
    return f"{name}({','.join(parts)})" if parts else name


def parse_literal(text: str) -> Any:
    """Parse numbers, lists, True and None as in Python; other text is returned unchanged.

    >>> parse_literal("0.5"), parse_literal("[10, 20]"), parse_literal("paper")
    (0.5, [10, 20], 'paper')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _split_name(text: str) -> tuple[str, str]:
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ConventionError(f"invalid ranker {text!r}: write name(parameter=value)")
    return _registered_name(match[1]), match[2] or ""


def _registered_name(name: str) -> str:
    """Return the registered name of a ranker or step that is written as its class (LambdaMART, PairLDA)."""
    if name == name.lower():
        return name
    registries: tuple[Any, ...] = (RANKERS, STEPS)
    if any(name in registry for registry in registries):
        return name
    by_class = {registry[key].__name__.lower(): key for registry in registries for key in registry}
    return str(by_class.get(name.lower(), name))


F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
SHARED = ("convention", "seed", "verbose")  # one value for all stages; a measure can also be set per stage
_MEASURE = Parameter(None, "measure of all stages; None: each stage's own", "str | None")


class Chain(Ranker):
    """Steps and a ranker as one ranker; each step fits the next ranker into its `estimators_`."""

    steps: ClassVar[tuple[type[Step], ...]] = ()
    last: ClassVar[type[Ranker]] = Ranker
    labels: ClassVar[tuple[str, ...]] = ()  # prefixes of the stages in parameter names

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of all parameters, sorted."""
        return sorted(cls.parameters)

    @property
    def step_(self) -> Step:
        """Return the first step, fitted."""
        step: Step = vars(self)["_first"]
        return step

    @property
    def ranker_(self) -> Ranker:
        """Return the fitted ranker at the end of the chain; the first one if the steps trained several."""
        model = self.step_.estimators_[0]
        return model.ranker_ if isinstance(model, Chain) else model

    def _stage_parameters(self, stage: int) -> dict[str, Any]:
        """Return the parameters of a stage for its class."""
        cls = (*self.steps, self.last)[stage]
        head, params = f"{self.labels[stage]}__", {}
        for key in cls.parameters:
            flat = head + key
            params[key] = getattr(self, flat) if flat in self.parameters else getattr(self, key)
        if "measure" in params and vars(self)["measure"] is not None:
            params["measure"] = vars(self)["measure"]
        return params

    def make_first_step(self) -> Step:
        """Return the first step, not fitted."""
        return self.steps[0](**self._stage_parameters(0))

    def make_next_ranker(self) -> Ranker:
        """Return the ranker or chain after the first step, not fitted."""
        *steps, last = self.stages()[1:]
        return chain(*steps, last) if steps else cast(Ranker, last)

    def _check(self) -> None:
        self.make_first_step().check_parameters()
        self.make_next_ranker().check_parameters()

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        step = self.make_first_step()
        step.fit_checked(train, valid, self.make_next_ranker())
        self._first = step
        self.curve_ = list(getattr(step.estimators_[0], "curve_", []))

    def _predict(self, features: Features) -> F64:
        return self.step_.scores(features, None)

    def _predict_lists(self, features: Features, offsets: I64) -> F64:
        return self.step_.scores(features, offsets)

    def _to_model(self) -> Model:
        return self.step_._to_model([model.to_model() for model in self.step_.estimators_])

    def _state(self) -> dict[str, Any]:
        from pippin.rankers.models import pack_models

        contents, arrays = pack_models(self.step_.estimators_)
        return {**self.step_._state(), "models": contents, **arrays}

    def _restore(self, state: dict[str, Any]) -> None:
        from pippin.rankers.models import unpack_models

        step, next_class = self.make_first_step(), type(self.make_next_ranker())
        step.feature_names_, step.n_features_in_ = self.feature_names_, self.n_features_in_
        step._restore(state)
        step.estimators_ = unpack_models(state["models"], state)
        if not step.estimators_ or any(type(model) is not next_class for model in step.estimators_):
            raise ValueError(f"the models after {step.name} have another type than the parameters require")
        step.check_models()
        self._first = step

    def stages(self) -> list[Step | Ranker]:
        """Return the steps and the ranker, not fitted."""
        return [
            *(step(**self._stage_parameters(i)) for i, step in enumerate(self.steps)),
            self.last(**self._stage_parameters(-1)),
        ]

    def __repr__(self) -> str:
        return f"chain({', '.join(map(repr, self.stages()))})"

    def importance(self) -> dict[str, float]:
        """Return the importance of each input feature, by name."""
        return self.step_.importance()

    def describe(self) -> list[str]:
        """Return a sentence about each step."""
        sentences, model = [], self
        while True:
            sentences.append(model.step_.describe())
            next_ranker = model.step_.estimators_[0]
            if not isinstance(next_ranker, Chain):
                return [sentence for sentence in sentences if sentence]
            model = next_ranker


def chain(*parts: Step | Ranker | str) -> Chain:
    """Combine steps and a ranker into one ranker.

    Parameters
    ----------
    *parts : Step, Ranker or str
        Steps, and at the end a ranker or chain; objects, or text such as "pca(10)".

    Returns
    -------
    Chain
        The chain, which is a ranker.

    Raises
    ------
    ConventionError
        If the last part is not a ranker, another part is not a step, or parts disagree about a shared parameter.

    Examples
    --------

    >>> from pippin.rankers import RankSVM
    >>> from pippin.rankers.steps import PCA
    >>> chain(PCA(n_components=10), RankSVM(C=0.5)).get_params()["pca__n_components"], chain("pca(10)", "ranksvm").name
    (10, 'pca > ranksvm')
    """
    stages = [stage for i, part in enumerate(parts) for stage in _flatten(_make_stage(part, last=i == len(parts) - 1))]
    if len(stages) < 2:
        raise ConventionError("a chain needs at least one step and a ranker")
    cls = chain_class([stage.name for stage in stages])
    flat: dict[str, Any] = {}
    for label, stage in zip(cls.labels, stages, strict=True):
        for key, value in stage.get_params().items():
            name = f"{label}__{key}"
            if name in cls.parameters:
                flat[name] = value
            elif value == type(stage).parameters[key].default:
                continue  # shared by all stages: values that differ from the default win
            elif flat.setdefault(key, value) != value:
                raise ConventionError(f"{key} must be the same for all stages of a chain, got {flat[key]} and {value}")
    return cls(**flat)


def _flatten(stage: Step | Ranker) -> list[Any]:
    """Return the stages of a chain, or a list of one stage."""
    return stage.stages() if isinstance(stage, Chain) else [stage]


def _make_stage(stage: Any, last: bool) -> Any:
    """Return a stage as an object: a step, or with `last` a ranker."""
    if isinstance(stage, str):
        from pippin.rankers import ranker
        from pippin.rankers.steps import step

        if last:
            return ranker(stage)(**parse_parameters(stage))
        cls, params = step(ranker_name(stage)), parse_parameters(f"{stage}{ARROW}mart")
        return cls(**{key.split("__", 1)[1]: value for key, value in params.items()})
    if isinstance(stage, Ranker) != last or not isinstance(stage, Step | Ranker):
        message = "a chain consists of steps and a ranker at the end"
        hint = ". Use scikit-learn's Pipeline for its transformers: they cannot be saved without pickle"
        raise ConventionError(message + ("" if isinstance(stage, Step | Ranker) else hint))
    return stage


def chain_class(names: Sequence[str]) -> type[Chain]:
    """Return the class of chains with these stages."""
    from pippin.rankers import ranker
    from pippin.rankers.steps import step

    classes: tuple[Any, ...] = (*map(step, names[:-1]), ranker(names[-1]))
    return _make_chain_class(tuple(names), classes)


@cache
def _make_chain_class(names: tuple[str, ...], classes: tuple[Any, ...]) -> type[Chain]:
    *steps, last = classes
    prefixes = stage_labels(names)
    parameters = _combine_parameters(prefixes, classes)

    def combine(attribute: str) -> dict[str, Any]:
        values = {f"{label}__{key}": value for label, cls in zip(prefixes, classes, strict=True)
               for key, value in getattr(cls, attribute).items()}  # fmt: skip
        return {key if key in parameters else key.split("__", 1)[1]: value for key, value in values.items()}

    summaries = " ".join(f"{cls.name}: {cls.summary.partition(chr(10))[0]}" for cls in classes)
    body: dict[str, Any] = {
        "__doc__": f"A chain of {len(classes)} stages.\n\n{summaries}", "__module__": __name__,
        "__annotations__": {key: parameter.kind for key, parameter in parameters.items()}, **parameters,
        "steps": tuple(steps), "last": last, "labels": tuple(prefixes), "name": ARROW.join(names),
        "source": "; ".join(dict.fromkeys(cls.source for cls in classes if cls.source)),
        "grid": combine("grid"), "small_grid": combine("small_grid"), "small_limits": combine("small_limits"),
        "cost_ms": sum(cls.cost_ms for cls in classes), "one_standard_error_rule": last.one_standard_error_rule,
        "requires": tuple(dict.fromkeys(module for cls in classes for module in cls.requires)),
        "is_iterative": last.is_iterative, "needs_query_groups": any(cls.needs_query_groups for cls in classes),
        "allow_nan": all(cls.allow_nan for cls in classes),
        "supports_sample_weight": all(cls.supports_sample_weight for cls in classes),
    }  # fmt: skip
    result: type[Chain] = type("Chain", (Chain,), body)
    return result


def _combine_parameters(prefixes: Sequence[str], classes: Sequence[type[Step | Ranker]]) -> dict[str, Parameter]:
    """Return the parameters of all stages with their prefixes; shared parameters occur once, without one."""
    parameters: dict[str, Parameter] = {}
    shared: dict[str, Parameter] = {}
    for label, cls in zip(prefixes, classes, strict=True):
        for key, parameter in cls.parameters.items():
            if key in SHARED:
                shared[key] = parameter  # the ranker's default wins, because it is last
            else:
                parameters[f"{label}__{key}"] = parameter
            if key == "measure":
                shared[key] = _MEASURE
    return {**parameters, **shared}


def registered_stages(text: str) -> list[tuple[Any, str]]:
    """Return the names of all stages, each with its registry."""
    *steps, last = ranker_name(text).split(ARROW)
    return [*((STEPS, name) for name in steps), (RANKERS, last)]


def is_known(text: str) -> bool:
    """Return whether all stages are registered."""
    return all(name in registry for registry, name in registered_stages(text))


def parse_stage_parameters(text: str, parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return parameters given by the names of rankers and steps as parameters of a ranker or chain.

    >>> parse_stage_parameters("pca(10) > ranksvm", {"ranksvm": {"C": 0.5}, "mart": {"rounds": 5}})
    {'ranksvm__C': 0.5}
    """
    names = ranker_name(text).split(ARROW)
    if len(names) == 1:
        return dict(parameters.get(names[0], {}))
    return {f"{label}__{key}": value for label, name in zip(stage_labels(names), names, strict=True)
            for key, value in parameters.get(name, {}).items()}  # fmt: skip


def estimate_cost(text: str, parameters: Mapping[str, Any], grid: Mapping[str, Sequence[Any]]) -> float:
    """Estimate the time of one training, in milliseconds on 3/5 of OHSUMED, to start the longest ones first."""
    from pippin.rankers import ranker

    cls = ranker(text)
    last, head = (cls.last, f"{cls.labels[-1]}__") if issubclass(cls, Chain) else (cls, "")
    n_bags = max(grid.get(f"{head}n_bags", [parameters.get(f"{head}n_bags", 1)]))
    rounds = parameters[f"{head}rounds"] if last.is_iterative else 1
    cost = float(last.cost_ms * n_bags * rounds)
    stages = zip(cls.labels, cls.steps, strict=False) if issubclass(cls, Chain) else ()
    for label, step in stages:
        cost = step.cost_ms + cost * (parameters[f"{label}__{step.n_fits_parameter}"] if step.n_fits_parameter else 1)
    return cost
