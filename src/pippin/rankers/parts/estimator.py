"""The manners of a scikit-learn estimator without scikit-learn, which takes longer to import than most trainings.

`clone`, `Pipeline`, `GridSearchCV` and metadata routing ask for methods, not for a base class: parameters by name
(`get_params`, `set_params`), tags and routing. Tags and routing are scikit-learn's own types, imported when it asks.
"""

from __future__ import annotations

import copy
import inspect
from importlib.util import find_spec
from typing import Any, ClassVar, Self, dataclass_transform

from pippin.errors import UnknownName
from pippin.rankers.parts.parameters import Parameter, constructor, declared, documented


class NotFitted(ValueError, AttributeError):
    """A model that has learned nothing yet is asked for scores; scikit-learn's own error where that is installed."""


def not_fitted(sentence: str) -> Exception:
    """The error that people who know scikit-learn catch."""
    if find_spec("sklearn") is None:
        return NotFitted(sentence)
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(sentence)
    return error


def unfinished_warning() -> type[Warning]:
    """The warning that people who know scikit-learn filter."""
    if find_spec("sklearn") is None:
        return UserWarning
    from sklearn.exceptions import ConvergenceWarning

    kind: type[Warning] = ConvergenceWarning
    return kind


@dataclass_transform(kw_only_default=True, eq_default=False)
class Estimator:
    """Something with parameters that learns; see `parameters` for how a class declares them."""

    words: ClassVar[str] = ""  # what the class says of itself, without the parameters
    parameters: ClassVar[dict[str, Parameter]] = {}  # by name
    takes_null: ClassVar[bool] = False  # whether NaN = NULL is understood

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited = {} if "__init__" in vars(cls) else cls.parameters  # who writes a constructor says what it takes
        cls.parameters = {**inherited, **declared(cls)}
        if "__init__" not in vars(cls):
            cls.__init__ = constructor(cls.__name__, cls.parameters)  # type: ignore[method-assign]
        cls.words = inspect.cleandoc(vars(cls).get("__doc__") or cls.words)
        if cls.parameters and cls.words:
            cls.__doc__ = documented(cls.words, cls.parameters)

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The names of all parameters, in alphabetical order."""
        taken = inspect.signature(cls.__init__).parameters
        return sorted(name for name in taken if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` is scikit-learn's, and changes nothing where no parameter is an estimator."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **given: Any) -> Self:
        """Set parameters by name."""
        known = self.parameter_names()
        for name, value in given.items():
            if name not in known:
                raise ValueError(str(UnknownName(f"parameter of {type(self).__name__}", name, known)))
            setattr(self, name, value)
        return self

    def fresh(self) -> Self:
        """An estimator with the same parameters that has learned nothing."""
        made = type(self)(**copy.deepcopy(self.get_params()))
        if "_requested" in vars(self):
            made._requested = copy.deepcopy(self._requested)
        return made

    __sklearn_clone__ = fresh

    def __repr__(self) -> str:
        usual = {name: taken.default for name, taken in inspect.signature(type(self).__init__).parameters.items()}
        other = [f"{name}={value!r}" for name, value in self.get_params().items() if value != usual[name]]
        return f"{type(self).__name__}({', '.join(other)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True, positive_only=True),
            input_tags=InputTags(allow_nan=self.takes_null),
        )  # fmt: skip

    def get_metadata_routing(self) -> Any:
        """What `fit` and `score` want to be handed in a pipeline or a search: qid always, the rest as requested."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method in (name for name in ("fit", "score") if hasattr(type(self), name)):
            taken = inspect.signature(getattr(type(self), method)).parameters
            asked = {name: True if name == "qid" else None for name in taken if name not in ("self", "X", "y")}
            for name, alias in {**asked, **self._requests(method)}.items():
                getattr(request, method).add_request(param=name, alias=alias)
        return request

    def _requests(self, method: str) -> dict[str, Any]:
        requests: dict[str, dict[str, Any]] = vars(self).get("_requested", {})
        return requests.get(method, {})

    def _request(self, method: str, given: dict[str, Any]) -> Self:
        taken = inspect.signature(getattr(type(self), method)).parameters
        for name in given:
            if name not in taken or name in ("self", "X", "y"):
                raise TypeError(str(UnknownName(f"argument of {method}", name, [n for n in taken if n != "self"])))
        now = vars(self).get("_requested", {})
        self._requested = {**now, method: {**self._requests(method), **given}}
        return self

    def set_fit_request(self, **given: Any) -> Self:
        """Which arguments of `fit` scikit-learn's metadata routing hands on: set_fit_request(sample_weight=True)."""
        return self._request("fit", given)

    def set_score_request(self, **given: Any) -> Self:
        """The same for `score`."""
        return self._request("score", given)
