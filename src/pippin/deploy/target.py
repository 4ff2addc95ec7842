"""What is a target of an export? An engine's file format, how the engine scores, and who can check it here.

A target is registered like a tool, one file in `targets` each. It takes a form that is already fitted to its scoring
convention (see `thresholds`) and gives files; the certificate asks its engine for scores, or the interpreter in the
engine's precision where the engine cannot run here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.deploy.mapping import Mapping as FeatureMapping
from pippin.deploy.thresholds import Fitted, fitted
from pippin.errors import ConventionError, UnknownName
from pippin.forms.form import DOUBLE, Form, Layer, Linear, Network, Scoring, Trees, folded
from pippin.modules import load_folder
from pippin.registry import Registry

F64 = NDArray[np.float64]
Files = dict[str, bytes]  # by what is added to the name of the file that was asked for; "" is that file
KINDS = ("linear", "trees", "network")


@dataclass(frozen=True)
class Request:
    """What an export is asked to write: the form as the target computes it, a name, the mapping, the options."""

    form: Any
    name: str
    mapping: FeatureMapping
    options: Mapping[str, str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Option:
    """A choice that a target offers: the first is the default."""

    choices: tuple[str, ...]
    help: str


class NotHere(Exception):
    """An engine that is not installed; the interpreter takes its place, and the certificate says so."""


@dataclass(frozen=True)
class Engine:
    """Who scores for the certificate: its name with version, and scores of features with the files in a folder.

    Where it cannot run here, `run` raises NotHere.
    """

    name: str
    run: Callable[[Path, F64, Request], tuple[str, F64]]


@dataclass(frozen=True)
class Target:
    """A format, its engine, and the engine's way of scoring."""

    name: str
    title: str
    source: str  # where the convention was read
    kinds: tuple[str, ...]
    write: Callable[[Request], Files]
    scoring: Scoring = DOUBLE
    engine: Engine | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)  # by kind, why it cannot be written
    by_option: Callable[[Mapping[str, str], Form], Scoring] | None = (
        None  # where options or forms change the convention
    )
    keeps_normalisers: bool = False
    reread: Callable[[Path, Request], Form] | None = None  # the form that stands in a file, for the interpreter

    def words(self) -> str:
        """How the engine scores, for each kind of model that it takes, with the default options."""
        sentences: dict[str, list[str]] = {}
        for kind in self.kinds:
            scoring = self.scoring if self.by_option is None else self.by_option(self.chosen({}), EXAMPLES[kind])
            sentences.setdefault(scoring.sentence(trees=kind == "trees"), []).append(kind)
        return "; ".join(f"{', '.join(kinds)}: {words}" for words, kinds in sentences.items())

    def checked_by(self) -> str:
        """Who makes the certificate."""
        return "an interpreter in its precision" if self.engine is None else self.engine.name

    def chosen(self, given: Mapping[str, Any]) -> dict[str, str]:
        """The options as they were given, and the defaults of the others."""
        found = {name: option.choices[0] if option.choices else "" for name, option in self.options.items()}
        for name, value in given.items():
            if name not in self.options:
                raise UnknownName(f"option of {self.name}", name, self.options)
            choices = self.options[name].choices
            if choices and str(value) not in choices and choices[-1] != "":
                raise ConventionError(f"{name} of {self.name} is {' or '.join(choices)}, not {value!r}")
            found[name] = str(value)
        return found

    def fit(self, form: Form, options: Mapping[str, str]) -> Fitted:
        """The form as this target computes it; refused where it has no way to."""
        if form.kind not in self.kinds:
            why = self.refused.get(form.kind) or f"it reads {' and '.join(_WORDS[kind] for kind in self.kinds)} alone"
            raise ConventionError(f"{self.name} cannot take {_WORDS[form.kind]}: {why}")
        scoring = self.by_option(options, form) if self.by_option is not None else self.scoring
        notes: list[str] = []
        if isinstance(form, Linear) and not (any(form.normalisers) and self.keeps_normalisers):
            if any(form.normalisers):
                notes.append("the normalisation of features is in the weights")
            form = folded(form)
        if any(form.normalisers) and not self.keeps_normalisers:
            raise ConventionError(f"{self.name} cannot normalise features as this model does")
        if isinstance(form, Trees):
            found = fitted(form, scoring)
            return Fitted(found.form, (*notes, *found.notes))
        if isinstance(form, Network) and scoring.values == "float32" and (form.mean.any() or (form.factor != 1).any()):
            form = replace(form, layers=form.folded(), mean=form.mean * 0, factor=form.factor * 0 + 1)
            notes.append("the standardisation of features is in the weights of the first layer")
        return Fitted(replace(form, scoring=scoring), tuple(notes))


_WORDS = {"linear": "a weighted sum", "trees": "trees", "network": "a network"}

_NONE = np.zeros(1)
EXAMPLES: Mapping[str, Form] = {
    "linear": Linear(("x",), _NONE), "trees": Trees(("x",), ()),
    "network": Network(("x",), (Layer(np.zeros((1, 1)), _NONE),), _NONE, _NONE),
}  # fmt: skip
TARGETS: Registry[Target] = Registry("target", "pippin.targets", Target)


def rereader(format: str) -> Callable[[Path, Request], Form]:
    """A target's file as the importer of a format reads it, over the features of the export."""

    def reread(base: Path, request: Request) -> Form:
        from pippin.forms.importers import read_form
        from pippin.rankers.imported import placed

        return placed(read_form(base.read_bytes(), base, format)[1], request.form.names)

    return reread


def register(target: Target) -> Target:
    """Put a target on the shelf."""
    return TARGETS.register(target.name, target)


def targets() -> Registry[Target]:
    """All targets."""
    load_folder("pippin.deploy.targets")
    TARGETS.load()
    return TARGETS
