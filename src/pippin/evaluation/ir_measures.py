"""The names of ir_measures, whose notation is understood as it stands: `IPrec@0.1`, `SetF(beta=2)`, `NumRet(rel=1)`.

Most of them are other names of measures that are here already, and stand with these as aliases. Here are the two that
are not, and the spellings that mean another measure when they have an argument.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Kind, Measure, Values, compute, register, rules
from pippin.evaluation.ranking import Ranking

_SOURCE = "ir_measures 0.4.3"


def _judged(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Precision, of a list in which all that somebody judged is relevant; a label below 0 is no judgement here."""
    known = replace(ranking, labels=(ranking.labels >= 0).astype(np.int32))
    ruling = convention.replace(relevant_at=1, short_precision="list")
    return compute("p", known, rules(known, ruling, Measure("P", measure.cutoff)))


def _one_each(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    return np.ones(len(ranking.query_ids))


register(Kind(
    "Judged", "the share of judged documents in the first k", "judged@k / min(k, n)", _SOURCE, _judged, ("cut",),
))  # fmt: skip
register(Kind(
    "NumQ", "queries that count", "a count, summed over queries", _SOURCE, _one_each, (), cutoff="never",
    aliases=("num_q",), aggregate="sum",
))  # fmt: skip


def respelled(text: str) -> str:
    """The same measure by a name of ours, where an argument of ir_measures makes it another one.

    >>> [respelled(t) for t in ("IPrec(rel=2)@0.1", "NumRet(rel=1)", "SetF(beta=2.0)", "SetP(relative=True)", "P@5")]
    ['iprec_at_recall(rel=2,recall=0.1)', 'num_rel_ret(rel=1)', 'set_F(weight=2.0)', 'relative_P', 'P@5']
    """
    shape = re.fullmatch(r"(iprec|numret|setf|setp)(?:\(([^()]*)\))?(?:@(\d*\.?\d+))?", text.strip(), re.IGNORECASE)
    if shape is None:
        return text
    name, at = shape[1].lower(), shape[3]
    arguments = [part.strip() for part in (shape[2] or "").split(",") if part.strip()]
    keys = {part.partition("=")[0].strip() for part in arguments}
    if name == "iprec" and (at is not None or "recall" in keys):
        return _written("iprec_at_recall", [*arguments, *([] if at is None else [f"recall={at}"])])
    if name == "numret" and "rel" in keys:
        return _written("num_rel_ret", arguments)
    if name == "setf" and "beta" in keys:
        return _written("set_F", [re.sub(r"^beta\b", "weight", part) for part in arguments])
    if name == "setp" and "relative" in keys:
        others = [part for part in arguments if not part.startswith("relative")]
        return _written("relative_P" if "relative=True" in arguments else "P", others)
    return text


def _written(name: str, arguments: list[str]) -> str:
    return f"{name}({','.join(arguments)})" if arguments else name
