"""Parse measures in the notations of trec_eval, ir_measures, ranx, XGBoost and others.

`ndcg@10`, `nDCG@10`, `ndcg_cut_10`, `ndcg_cut.10`, `map`, `MRR@10`, `P_5`, `P(rel=2)@5`, `nDCG(dcg='exp-log2')@10`,
`IPrec@0.1`, `ndcg_burges@5`, `ndcg@10-` (XGBoost: an empty query counts 0), `precision@5-l2` (ranx: labels from 2 on),
`rbp.95` (ranx: p is 0.95).
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.errors import ConventionError, PippinError, UnknownName
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.measures import (
    MEASURE_DEFINITIONS,
    Measure,
    MeasureDefinition,
    Values,
    register,
    rules,
    trec_eval,
)
from pippin.kernels.measures import UNJUDGED

if TYPE_CHECKING:
    from pippin.evaluation.ranking import Ranking

_PATTERN = re.compile(
    r"^(?P<name>[A-Za-z\d][\w-]*?)"  # ndcg, ndcg_cut, r-precision, 11pt_avg
    r"(?:\((?P<arguments>[^()]*)\))?"  # (rel=2, p=0.8)
    r"(?:(?P<mark>[@_.])(?P<cutoff>\d+))?"  # @10, _10, .10
    r"(?P<minus>-)?"  # XGBoost: an empty query counts 0
    r"(?:-l(?P<level>\d+))?$"  # ranx's relevance level
)
_AXIS_OF_ARGUMENT = {argument: name for name, axis in AXES.items() for argument in (name, *axis.arguments)}
_DCG_OF_IR_MEASURES = {"exp-log2": "exp2", "log2": "label"}
# Endings of names that imply the value of an axis.
_IMPLIED_AXES = {"_burges": ("gain", "exp2"), "r_cap": ("recall_denominator", "cutoff")}


def names() -> dict[str, str]:
    """Return alias in lower case → kind, for all registered measures."""
    return dict(_names(MEASURE_DEFINITIONS.generation))


@lru_cache(maxsize=1)
def _names(registered: int) -> dict[str, str]:
    """Return the aliases; `registered` invalidates the cache when measures are added."""
    aliases: dict[str, str] = {}
    for kind in MEASURE_DEFINITIONS.loaded_items.values():
        for alias in (kind.name, *kind.aliases):
            aliases.setdefault(alias.lower(), kind.name)
    return aliases


def texts_of(measures: Any) -> list[str]:
    """Return one measure or several as texts; each is a text, a `Measure`, or an object of ir_measures.

    >>> texts_of("NDCG@10"), texts_of([Measure("P", 5), "MAP"])
    (['NDCG@10'], ['P@5', 'MAP'])
    """
    if isinstance(measures, str) or _is_object(measures):
        return [str(measures)]
    try:
        several = list(measures)
    except TypeError:
        several = [measures]
    for measure in several:
        if not isinstance(measure, str) and not _is_object(measure):
            raise ConventionError(
                f"a measure must be a text such as NDCG@10, got {measure!r} of type {type(measure).__name__}"
            )
    return [str(measure) for measure in several]


def text_of(measure: Any) -> str:
    """Return a single measure as a text."""
    texts = texts_of(measure)
    if len(texts) != 1:
        raise ConventionError(f"expected one measure, found {len(texts)}: {', '.join(texts) or 'none'}")
    return texts[0]


def _is_object(measure: Any) -> bool:
    """Return whether this is a `Measure` or a measure of ir_measures; the text of both is their identity."""
    return isinstance(measure, Measure) or type(measure).__module__.partition(".")[0] == "ir_measures"


def parse(text: str) -> Measure:
    """Parse a measure.

    >>> [parse(t).text for t in ("ndcg_cut_10", "MRR@10", "P(rel=2)@5", "ndcg_burges@5", "ndcg@10-", "rbp.95")]
    ['NDCG@10', 'RR@10', 'P(rel=2)@5', 'NDCG(gain=exp2)@5', 'NDCG(empty=0)@10', 'RBP(p=0.95)']
    """
    measure = _read(text, _names(MEASURE_DEFINITIONS.generation))
    if measure is None:
        MEASURE_DEFINITIONS.load()  # plugins
        measure = _read(text, _names(MEASURE_DEFINITIONS.generation))
    if measure is None:
        raise _parse_error(text.strip())
    return measure


def _parse_error(text: str) -> PippinError:
    """Return the error for an invalid cutoff or an unknown name."""
    name, _, cutoff = text.partition("@")
    if name.lower() in names() and not cutoff.isdecimal():
        return ConventionError(f"{text}: the cutoff must be a whole number, as in {name}@10")
    aliases = {alias for kind in MEASURE_DEFINITIONS.values() for alias in (kind.name, *kind.aliases)}
    ending = re.search(r"[@_.]?(\d*)$", text)
    word = text[: ending.start()] if ending else text
    if ending and word.lower() in names() and MEASURE_DEFINITIONS[names()[word.lower()]].cutoff != "never":  # ndcg10
        return UnknownName("measure", text, [f"{names()[word.lower()]}@{ending[1]}"])
    return UnknownName("measure", text, aliases, ending[0] if ending else "")


def _read(text: str, aliases: dict[str, str]) -> Measure | None:
    """Parse a measure; return None if its name is not among the aliases."""
    text = translate_ir_measures(text)
    exact = trec_eval.read(text.strip()) or _read_exact(text, aliases)
    if exact is not None:
        return exact
    match = _PATTERN.match(text.strip())
    name = aliases.get(match["name"].lower()) if match else None
    if match is None or name is None:
        return None
    kind = MEASURE_DEFINITIONS[name]
    parameters, overrides = _arguments(kind, match["arguments"] or "", text)
    overrides |= _implied_axes(match["name"])
    if match["minus"]:
        overrides["empty"] = 0.0
    if match["level"]:
        overrides["gain_threshold" if "gain_threshold" in kind.axes else "relevance_threshold"] = int(match["level"])
    cutoff = int(match["cutoff"]) if match["cutoff"] else None
    if name == "RBP" and match["mark"] == ".":  # ranx: the decimals of p follow the point
        parameters.setdefault("p", float(f"0.{match['cutoff']}"))
        cutoff = None
    _check_cutoff(kind, cutoff, text)
    return Measure(name, cutoff or None, tuple(parameters.items()), tuple(sorted(overrides.items())))


def _read_exact(text: str, aliases: dict[str, str]) -> Measure | None:
    """Parse a name that looks like a name with a cutoff, such as bpref_5."""
    name = aliases.get(text.strip().lower())
    if name is None or MEASURE_DEFINITIONS[name].cutoff == "required":
        return None
    return Measure(name, None, (), tuple(_implied_axes(text.strip()).items()))


def _implied_axes(name: str) -> dict[str, Any]:
    """Return the axes that a name implies, such as gain=exp2 for Burges' NDCG."""
    return dict(axis_value for end, axis_value in _IMPLIED_AXES.items() if name.lower().endswith(end))


def _check_cutoff(kind: MeasureDefinition, cutoff: int | None, text: str) -> None:
    if cutoff == 0:
        raise ConventionError(f"{text}: the cutoff must be at least 1; omit it to evaluate complete lists")
    if kind.cutoff == "never" and cutoff is not None:
        raise ConventionError(f"{text}: {kind.name} does not take a cutoff")
    if kind.cutoff == "required" and not cutoff:
        raise ConventionError(f"{text}: {kind.name} needs a cutoff, as in {kind.name}@10")


def _arguments(kind: MeasureDefinition, inside: str, text: str) -> tuple[dict[str, float], dict[str, Any]]:
    parameters: dict[str, float] = {}
    overrides: dict[str, Any] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", inside) if inside.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        value = value.strip("'\"")
        if not equals:
            raise ConventionError(f"{text}: write arguments as name=value")
        if key == "gains" and value.startswith("{"):
            overrides["gain"] = _table_of_gains(value, text)
        elif key == "dcg" and value in _DCG_OF_IR_MEASURES:
            overrides["gain"] = _DCG_OF_IR_MEASURES[value]
        elif key in kind.parameters:
            try:
                parameters[key] = float(value)
            except ValueError:
                raise ConventionError(f"{text}: {key} must be a number, got {value!r}") from None
            # A default below 0, as in utility, allows any number.
            lowest = 0.0 if min(kind.parameters.values()) >= 0 else -math.inf
            if not math.isfinite(parameters[key]) or parameters[key] < lowest:
                valid = "a finite number" + (" of 0 or more" if lowest == 0 else "")
                raise ConventionError(f"{text}: {key} must be {valid}, got {value}")
        else:
            axis = _AXIS_OF_ARGUMENT.get(key)
            if axis is None:
                raise UnknownName(f"argument of {kind.name}", key, {*kind.parameters, *_AXIS_OF_ARGUMENT})
            overrides[axis] = AXES[axis].parse(value)
    return parameters, overrides


def _table_of_gains(mapping: str, text: str) -> tuple[float, ...]:
    """Return the table of gains of ir_measures' mapping; a label without a gain gains itself.

    >>> _table_of_gains("{1:5,3:2}", "nDCG(gains={1:5,3:2})")
    (0.0, 5.0, 2.0, 2.0, 4.0)
    """
    try:
        gains = {
            int(label): float(gain) for label, gain in (pair.split(":") for pair in mapping.strip("{}").split(","))
        }
        table = AXES["gain"].check([gains.get(label, label) for label in range(max([4, *gains]) + 1)])
    except ValueError:
        raise ConventionError(f"{text}: gains are written as {{1:5,2:3}}, and label 0 gains 0") from None
    return tuple(table)


def _judged(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return precision with every judged document as relevant, whatever its label."""
    all_judged = replace(ranking, labels=(ranking.labels != UNJUDGED).astype(np.int32))
    all_relevant = convention.replace(relevance_threshold=1, precision_denominator="list")
    return all_judged.compute("p", rules(all_judged, all_relevant, Measure("P", measure.cutoff)))


register(MeasureDefinition(
    "Judged", "the share of judged documents in the first k", "judged@k / min(k, n)", "ir_measures 0.4.3", _judged,
    ("apply_cutoff",),
))  # fmt: skip


def _accuracy(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return the accuracy of pairs above the cutoff, undefined without a relevant or without another document there."""
    kernel_rules = rules(ranking, convention, measure)
    hits, sizes = ranking.compute("hits", kernel_rules), ranking.sizes()
    depths = np.minimum(sizes, kernel_rules.cutoff) if kernel_rules.cutoff else sizes
    return np.where((hits > 0) & (hits < depths), ranking.compute("auc", kernel_rules), np.nan)


register(MeasureDefinition(
    "Accuracy", "pairs of a relevant and another document in the correct order, if one is relevant",
    "correct pairs / pairs, in the first k", "ir_measures 0.4.3", _accuracy,
    ("relevance_threshold", "empty", "apply_cutoff"), supports_expected_ties=False, better="",
))  # fmt: skip
register(MeasureDefinition(
    "NumQ", "queries that count", "a count, summed over queries", "ir_measures 0.4.3",
    lambda ranking, convention, measure: np.ones(len(ranking.query_ids)), (), cutoff="never", aliases=("num_q",),
    aggregate="sum",
))  # fmt: skip


def translate_ir_measures(text: str) -> str:
    """Translate names of ir_measures whose argument makes them another measure.

    >>> names = ("IPrec(rel=2)@0.1", "NumRet(rel=1)", "SetF(beta=2.0)", "SetP(relative=True)", "P@5")
    >>> [translate_ir_measures(name) for name in names]
    ['iprec_at_recall(rel=2,recall=0.1)', 'num_rel_ret(rel=1)', 'set_F(weight=2.0)', 'relative_P', 'P@5']
    """
    match = re.fullmatch(r"(iprec|numret|setf|setp)(?:\(([^()]*)\))?(?:@(\d*\.?\d+))?", text.strip(), re.IGNORECASE)
    if match is None:
        return text
    name, level = match[1].lower(), match[3]
    arguments = [part.strip() for part in (match[2] or "").split(",") if part.strip()]
    keys = {part.partition("=")[0].strip() for part in arguments}
    if name == "iprec" and (level is not None or "recall" in keys):
        return _call("iprec_at_recall", [*arguments, *([] if level is None else [f"recall={level}"])])
    if name == "numret" and "rel" in keys:
        return _call("num_rel_ret", arguments)
    if name == "setf" and "beta" in keys:
        return _call("set_F", [re.sub(r"^beta\b", "weight", part) for part in arguments])
    if name == "setp" and "relative" in keys:
        remaining = [part for part in arguments if not part.startswith("relative")]
        return _call("relative_P" if "relative=True" in arguments else "P", remaining)
    return text


def _call(name: str, arguments: list[str]) -> str:
    return f"{name}({','.join(arguments)})" if arguments else name
