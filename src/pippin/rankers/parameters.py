"""Parameters of estimators, declared in one line each, and the scikit-learn protocol on top of them.

The base class does not derive from scikit-learn's BaseEstimator, whose import takes longer than a small training.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import Convention

T = TypeVar("T")


@dataclass(frozen=True)
class Parameter:
    """Default, meaning and type of a parameter."""

    default: Any
    meaning: str
    kind: str = ""  # annotation in the class


def parameter(default: T, meaning: str) -> T:
    """Declare a parameter of a ranker or step; type checkers see its default.

    Parameters
    ----------
    default : object
        Default value.
    meaning : str
        Description for the docstring and `pippin rankers NAME`.

    Returns
    -------
    object
        A placeholder with the type of the default.

    Examples
    --------
    >>> parameter(1.0, "weight of each feature").meaning
    'weight of each feature'
    """
    return cast(T, Parameter(default, meaning))


def collect_parameters(cls: type) -> dict[str, Parameter]:
    """Return the parameters declared in a class body, and replace each attribute by its default."""
    annotations, parameters = inspect.get_annotations(cls), {}
    for name, value in list(vars(cls).items()):
        if isinstance(value, Parameter):
            parameters[name] = Parameter(value.default, value.meaning, str(annotations[name]))
            setattr(cls, name, value.default)
    return parameters


# Names that users of scikit-learn, LightGBM, XGBoost and PyTorch type → the parameter in Pippin.
SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("n_estimators", "num_iterations", "num_boost_round", "trees", "epochs"), "rounds"),
    "random_state": "seed", "n_iter_no_change": "early_stopping_rounds", "max_leaf_nodes": "num_leaves",
    "min_child_samples": "min_data_in_leaf", "reg_lambda": "lambda_l2", "subsample": "bagging_fraction",
    "colsample_bytree": "feature_fraction", "lr": "learning_rate", "lambdarank_truncation_level": "truncation_level",
    "lambdarank_norm": "lambda_norm", "metric": "measure",
}  # fmt: skip


def resolve_names(owner: str, parameters: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return parameters under Pippin's names; a stage prefix such as `pca__` is kept.

    >>> resolve_names("mart", {"n_estimators": 5, "random_state": 2}, ("rounds", "seed"))
    {'rounds': 5, 'seed': 2}
    """
    resolved: dict[str, Any] = {}
    for name, value in parameters.items():
        prefix, separator, last = name.rpartition("__")
        canonical = name if name in names else prefix + separator + SYNONYMS.get(last, last)
        if canonical not in names:
            raise UnknownName(f"parameter of {owner}", name, names)
        if canonical in resolved:
            raise DataError(f"{owner}: {name} sets {canonical} a second time")
        resolved[canonical] = value
    return resolved


def make_constructor(name: str, parameters: Mapping[str, Parameter]) -> Callable[..., None]:
    """Return an `__init__` with these keyword parameters."""

    def init(self: Any, **values: Any) -> None:
        try:
            values = resolve_names(name, values, parameters)
        except UnknownName as error:
            raise TypeError(str(error)) from None
        for key, parameter in parameters.items():
            setattr(self, key, values.get(key, parameter.default))

    keyword_only = inspect.Parameter.KEYWORD_ONLY
    arguments = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    keywords = [
        inspect.Parameter(key, keyword_only, default=parameter.default) for key, parameter in parameters.items()
    ]
    init.__signature__ = inspect.Signature([*arguments, *keywords])  # type: ignore[attr-defined]
    init.__name__, init.__qualname__ = "__init__", f"{name}.__init__"
    return init


def make_docstring(summary: str, parameters: Mapping[str, Parameter], example: str = "") -> str:
    """Return a class docstring: first line, parameters, the other lines of the summary as notes, and an example."""
    first_line, _, details = inspect.cleandoc(summary).partition("\n")
    notes = ["", "Notes", "-----", details.strip()] if details.strip() else []
    lines = [
        f"{key} : {parameter.kind}, default {parameter.default!r}\n    {parameter.meaning}"
        for key, parameter in parameters.items()
    ]
    examples = ["", "Examples", "--------", example] if example else []
    section = ["", "Parameters", "----------", *lines] if lines else []
    return "\n".join([first_line, *section, *notes, *examples]).rstrip() + "\n"


def check_types(name: str, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise DataError unless every value has the type of its parameter."""
    for key, parameter in parameters.items():
        kinds = parameter.kind.split(" | ")
        if all(kind in _KINDS for kind in kinds) and not any(_KINDS[kind][0](values[key]) for kind in kinds):
            expected = " or ".join(_KINDS[kind][1] for kind in kinds)
            raise DataError(f"{name}: {key} must be {expected}, got {values[key]!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


# annotation → test of a value, description
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "int": (lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "str": (lambda value: isinstance(value, str), "a name"),
    "None": (lambda value: value is None, "None"),
    "Convention": (lambda value: isinstance(value, Convention), "a Convention"),
    "tuple[float, ...]": (
        lambda value: isinstance(value, tuple | list) and all(map(_is_number, value)), "a list of numbers",
    ),
}  # fmt: skip


def one_of(model: Any, **choices: Sequence[str]) -> None:
    """Raise DataError unless each parameter has one of its options."""
    for name, options in choices.items():
        if getattr(model, name) not in options:
            raise DataError(f"{model.name}: {name} must be {' or '.join(options)}, got {getattr(model, name)!r}")


def check_minima(model: Any, **minima: float) -> None:
    """Raise DataError if a parameter is below its minimum; None is allowed."""
    for name, minimum in minima.items():
        value = getattr(model, name)
        if value is not None and not minimum <= value < math.inf:
            raise DataError(f"{model.name}: {name} must be at least {minimum}, got {value}")


def above_zero(model: Any, *names: str) -> None:
    """Raise DataError unless these parameters are finite numbers above 0."""
    for name in names:
        if not 0 < getattr(model, name) < math.inf:
            raise DataError(f"{model.name}: {name} must be above 0, got {getattr(model, name)}")


def not_fitted(model: Any) -> Exception:
    """Return scikit-learn's error for a model that is used before `fit`."""
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(f"This {type(model).__name__} instance is not fitted yet. Call fit first.")
    return error


@dataclass_transform(kw_only_default=True, eq_default=False)
class Estimator:
    """Base class of rankers and steps: parameters and the scikit-learn protocol."""

    summary: ClassVar[str] = ""  # docstring without the parameters
    example: ClassVar[str] = ""  # code of the docstring's example; {package} and {name} are those of the class
    parameters: ClassVar[dict[str, Parameter]] = {}  # by name
    allow_nan: ClassVar[bool] = False  # missing values (NaN) are supported

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited = {} if "__init__" in vars(cls) else cls.parameters  # a constructor replaces them
        cls.parameters = {**inherited, **collect_parameters(cls)}
        if "__init__" not in vars(cls):
            cls.__init__ = make_constructor(cls.__name__, cls.parameters)  # type: ignore[method-assign]
        cls.summary = inspect.cleandoc(vars(cls).get("__doc__") or cls.summary)
        if cls.summary and cls.parameters:
            cls.__doc__ = make_docstring(cls.summary, cls.parameters)

    @classmethod
    def add_example(cls) -> None:
        """Add the example to the docstring; for the registered classes of Pippin, which its packages export."""
        if cls.__module__.startswith("pippin."):
            example = cls.example.format(package=cls.__module__.rpartition(".")[0], name=cls.__name__)
            cls.__doc__ = make_docstring(cls.summary, cls.parameters, example)

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of all parameters, sorted."""
        arguments = inspect.signature(cls.__init__).parameters
        return sorted(name for name in arguments if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep` is ignored, because no parameter is an estimator."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and return self."""
        try:
            params = resolve_names(type(self).__name__, params, self.parameter_names())
        except UnknownName as error:
            raise ValueError(str(error)) from None
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return an unfitted estimator with the same parameters."""
        result = type(self)(**copy.deepcopy(self.get_params()))
        if "_requested" in vars(self):
            result._requested = copy.deepcopy(self._requested)
        return result

    __sklearn_clone__ = clone

    def __repr__(self) -> str:
        defaults = {
            name: argument.default for name, argument in inspect.signature(type(self).__init__).parameters.items()
        }
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True, positive_only=True),
            input_tags=InputTags(allow_nan=self.allow_nan),
        )  # fmt: skip

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's metadata requests: qid always, other arguments as requested."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method in (name for name in ("fit", "score") if hasattr(type(self), name)):
            arguments = inspect.signature(getattr(type(self), method)).parameters
            requests = {name: True if name == "qid" else None for name in arguments if name not in ("self", "X", "y")}
            for name, alias in {**requests, **self._requests(method)}.items():
                getattr(request, method).add_request(param=name, alias=alias)
        return request

    def _requests(self, method: str) -> dict[str, Any]:
        requests: dict[str, dict[str, Any]] = vars(self).get("_requested", {})
        return requests.get(method, {})

    def _request(self, method: str, requests: dict[str, Any]) -> Self:
        arguments = inspect.signature(getattr(type(self), method)).parameters
        for name in requests:
            if name not in arguments or name in ("self", "X", "y"):
                raise TypeError(str(UnknownName(f"argument of {method}", name, [n for n in arguments if n != "self"])))
        previous = vars(self).get("_requested", {})
        self._requested = {**previous, method: {**self._requests(method), **requests}}
        return self

    def set_fit_request(self, **requests: Any) -> Self:
        """Request arguments of `fit` in scikit-learn's metadata routing, for example sample_weight=True."""
        return self._request("fit", requests)

    def set_score_request(self, **requests: Any) -> Self:
        """Request arguments of `score` in scikit-learn's metadata routing."""
        return self._request("score", requests)
