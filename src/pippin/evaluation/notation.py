"""The notations people type for a measure, understood.

`ndcg@10`, `nDCG@10`, `ndcg_cut_10`, `ndcg_cut.10`, `map`, `MRR@10`, `P_5`, `P(rel=2)@5`, `nDCG(dcg='exp-log2')@10`,
`IPrec@0.1`, `ndcg_burges@5`, `ndcg@10-` (XGBoost: an empty query counts 0), `precision@5-l2` (ranx: labels from 2 on),
`rbp.95` (ranx: p is 0.95).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

from pippin.errors import ConventionError, PippinError, UnknownName
from pippin.evaluation import ir_measures, trec_measures
from pippin.evaluation.convention import AXES
from pippin.evaluation.measures import KINDS, Kind, Measure

_SHAPE = re.compile(
    r"^(?P<name>[A-Za-z\d][\w-]*?)"  # ndcg, ndcg_cut, r-precision, 11pt_avg
    r"(?:\((?P<arguments>[^()]*)\))?"  # (rel=2, p=0.8)
    r"(?:(?P<mark>[@_.])(?P<cutoff>\d+))?"  # @10, _10, .10
    r"(?P<minus>-)?"  # XGBoost's way to say that an empty query counts 0
    r"(?:-l(?P<level>\d+))?$"  # ranx's relevance level
)
_AXIS_OF_ARGUMENT = {argument: name for name, axis in AXES.items() for argument in (name, *axis.arguments)}
_DCG_OF_IR_MEASURES = {"exp-log2": "exp2", "log2": "label"}
# How names end that say more than a kind: an axis, and its value.
_IMPLIED = {"_burges": ("gain", "exp2"), "r_cap": ("recall_denominator", "cutoff")}


def names() -> dict[str, str]:
    """Every spelling that is understood by now, in lower case, with the kind it stands for."""
    return dict(_names(KINDS.registered))


@lru_cache(maxsize=1)
def _names(registered: int) -> dict[str, str]:
    """The spellings while no more than so many kinds were registered."""
    known: dict[str, str] = {}
    for kind in KINDS.known.values():
        for spelling in (kind.name, *kind.aliases):
            known.setdefault(spelling.lower(), kind.name)
    return known


def texts_of(measures: Any) -> list[str]:
    """What is asked for, as texts: one measure or several, each a text, a `Measure`, or an object of ir_measures.

    >>> texts_of("NDCG@10"), texts_of([Measure("P", 5), "MAP"])
    (['NDCG@10'], ['P@5', 'MAP'])
    """
    if isinstance(measures, str) or _is_object(measures):
        return [str(measures)]
    try:
        several = list(measures)
    except TypeError:
        several = [measures]
    for one in several:
        if not isinstance(one, str) and not _is_object(one):
            raise ConventionError(f"a measure is a text such as NDCG@10, and {one!r} is {type(one).__name__}")
    return [str(one) for one in several]


def text_of(measure: Any) -> str:
    """The one measure that is asked for, as a text."""
    texts = texts_of(measure)
    if len(texts) != 1:
        raise ConventionError(f"one measure at a time, not {len(texts)}: {', '.join(texts) or 'none'}")
    return texts[0]


def _is_object(measure: Any) -> bool:
    """A measure of ours, or of ir_measures, whose text is its identity, too."""
    return isinstance(measure, Measure) or type(measure).__module__.partition(".")[0] == "ir_measures"


def parse(text: str) -> Measure:
    """The measure that `text` asks for.

    >>> [parse(t).text for t in ("ndcg_cut_10", "MRR@10", "P(rel=2)@5", "ndcg_burges@5", "ndcg@10-", "rbp.95")]
    ['NDCG@10', 'RR@10', 'P(rel=2)@5', 'NDCG(gain=exp2)@5', 'NDCG(empty=0)@10', 'RBP(p=0.95)']
    """
    measure = _read(text, _names(KINDS.registered))
    if measure is None:
        KINDS.load()  # what nobody knows here, an installed package may
        measure = _read(text, _names(KINDS.registered))
    if measure is None:
        raise _unknown(text.strip())
    return measure


def _unknown(text: str) -> PippinError:
    """What is wrong with a text that asks for no measure: its cutoff, or its name."""
    name, _, cutoff = text.partition("@")
    if name.lower() in names() and not cutoff.isdecimal():
        return ConventionError(f"{text}: a cutoff is a whole number, as in {name}@10")
    spelled = {spelling for kind in KINDS.values() for spelling in (kind.name, *kind.aliases)}
    ending = re.search(r"[@_.]?(\d*)$", text)
    word = text[: ending.start()] if ending else text
    if ending and word.lower() in names() and KINDS[names()[word.lower()]].cutoff != "never":  # ndcg10
        return UnknownName("measure", text, [f"{names()[word.lower()]}@{ending[1]}"])
    return UnknownName("measure", text, spelled, ending[0] if ending else "")


def _read(text: str, known: dict[str, str]) -> Measure | None:
    """The measure that `text` asks for, if its name is among the known spellings."""
    text = ir_measures.respelled(text)
    exact = trec_measures.read(text.strip()) or _exact(text, known)
    if exact is not None:
        return exact
    shape = _SHAPE.match(text.strip())
    name = known.get(shape["name"].lower()) if shape else None
    if shape is None or name is None:
        return None
    kind = KINDS[name]
    parameters, overrides = _arguments(kind, shape["arguments"] or "", text)
    overrides |= _implied(shape["name"])
    if shape["minus"]:
        overrides["empty"] = 0.0
    if shape["level"]:
        overrides["gain_at" if "gain_at" in kind.axes else "relevant_at"] = int(shape["level"])
    cutoff = int(shape["cutoff"]) if shape["cutoff"] else None
    if name == "RBP" and shape["mark"] == ".":  # ranx writes the decimals of p behind the point
        parameters.setdefault("p", float(f"0.{shape['cutoff']}"))
        cutoff = None
    _check_cutoff(kind, cutoff, text)
    return Measure(name, cutoff or None, tuple(parameters.items()), tuple(sorted(overrides.items())))


def _exact(text: str, known: dict[str, str]) -> Measure | None:
    """Names that themselves look like a name with a cutoff, such as bpref_5."""
    name = known.get(text.strip().lower())
    if name is None or KINDS[name].cutoff == "required":
        return None
    return Measure(name, None, (), tuple(_implied(text.strip()).items()))


def _implied(name: str) -> dict[str, Any]:
    """What a name says beside the kind that it stands for: that Burges' NDCG gains 2^label - 1."""
    return dict(said for end, said in _IMPLIED.items() if name.lower().endswith(end))


def _check_cutoff(kind: Kind, cutoff: int | None, text: str) -> None:
    if cutoff == 0:
        raise ConventionError(f"{text}: a cutoff is at least 1; leave it out for the whole list")
    if kind.cutoff == "never" and cutoff is not None:
        raise ConventionError(f"{text}: {kind.name} has no cutoff")
    if kind.cutoff == "required" and not cutoff:
        raise ConventionError(f"{text}: {kind.name} needs a cutoff, as in {kind.name}@10")


def _arguments(kind: Kind, inside: str, text: str) -> tuple[dict[str, float], dict[str, Any]]:
    parameters: dict[str, float] = {}
    overrides: dict[str, Any] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", inside) if inside.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        value = value.strip("'\"")
        if not equals:
            raise ConventionError(f"{text}: arguments are written name=value")
        if key == "dcg" and value in _DCG_OF_IR_MEASURES:
            overrides["gain"] = _DCG_OF_IR_MEASURES[value]
        elif key in kind.parameters:
            try:
                parameters[key] = float(value)
            except ValueError:
                raise ConventionError(f"{text}: {key} is a number, not {value!r}") from None
            # Where a default is below 0, as in utility, any number will do.
            lowest = 0.0 if min(kind.parameters.values()) >= 0 else -math.inf
            if not math.isfinite(parameters[key]) or parameters[key] < lowest:
                wanted = "a finite number" + (" from 0 on" if lowest == 0 else "")
                raise ConventionError(f"{text}: {key} is {wanted}, not {value}")
        else:
            axis = _AXIS_OF_ARGUMENT.get(key)
            if axis is None:
                raise UnknownName(f"argument of {kind.name}", key, {*kind.parameters, *_AXIS_OF_ARGUMENT})
            overrides[axis] = AXES[axis].parse(value)
    return parameters, overrides
