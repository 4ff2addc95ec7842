"""How rankers are written: `lambdamart(rounds=300, leaves=15)`, and chains of steps, `gas(k=20) > pca(10) > ranksvm`.

The text is the ranker's name on a leaderboard, so that one ranker can stand there several times with other settings. A
stage of a chain is a step or, at the end, the ranker; a parameter of a chain is a stage's, `gas__k`. The first
parameter of a step needs no name: `pca(10)` is `pca(k=10)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from pippin.errors import ConventionError
from pippin.registry import between_commas

_WRITTEN = re.compile(r"\s*([^\s(),>]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
ARROW = " > "


def stages(text: str) -> list[str]:
    """The stages of a chain as they are written; one, where it is a plain ranker.

    >>> stages("gas(k=20) > ranksvm"), stages("mart")
    (['gas(k=20)', 'ranksvm'], ['mart'])
    """
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == ">" and depth <= 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    if len(parts) > 1 and not all(parts):
        raise ConventionError(f"a chain is written step > step > ranker, not {text!r}")
    return parts


def plain_name(text: str) -> str:
    """The registered name in what was written, or those of a chain.

    >>> plain_name("best-feature(feature=bm25@whole)"), plain_name("pca(10)>ranksvm(C=1)")
    ('best-feature', 'pca > ranksvm')
    """
    return ARROW.join(_parts(stage)[0] for stage in stages(text))


def labels(names: Sequence[str]) -> list[str]:
    """What stages of these names are called in parameters: a name of Python's; one that comes again is numbered.

    >>> labels(["pca", "pca", "best-feature"])
    ['pca', 'pca2', 'best_feature']
    """
    before = [names[:i].count(name) for i, name in enumerate(names)]
    return [name.replace("-", "_") + (str(n + 1) if n else "") for name, n in zip(names, before, strict=True)]


def settings(text: str) -> dict[str, Any]:
    """The parameters that were written; those of a chain with their stages.

    >>> settings("lambdamart(rounds=300, measure=NDCG@10)"), settings("mart")
    ({'rounds': 300, 'measure': 'NDCG@10'}, {})
    >>> settings("pca(10) > ranksvm(C=0.5)")
    {'pca__k': 10, 'ranksvm__C': 0.5}
    """
    *before, last = map(_parts, stages(text))
    if not before:
        return _values(text, last[1])
    from pippin.rankers.steps import step

    called = labels([name for name, _ in (*before, last)])
    values = [_values(text, inside, step(name).first_parameter()) for name, inside in before]
    values.append(_values(text, last[1]))
    return {f"{label}__{key}": value for label, own in zip(called, values, strict=True) for key, value in own.items()}


def _values(text: str, inside: str, first: str | None = None) -> dict[str, Any]:
    """The settings inside brackets; the first may lack its name, where `first` says what that is."""
    values: dict[str, Any] = {}
    for i, part in enumerate(between_commas(inside)):
        name, equals, value = part.partition("=")
        if not equals and i == 0 and first is not None:
            name, equals, value = first, "=", part
        if not equals or not name.strip():
            raise ConventionError(f"a ranker is written name(parameter=value), not {text!r}")
        values[name.strip()] = value_of(value.strip())
    return values


def canonical(text: str) -> str:
    """What was written without blanks that mean nothing.

    >>> canonical("lambdamart( rounds = 300,leaves=15 )"), canonical("mart()"), canonical("pca( 10 )>mart")
    ('lambdamart(rounds=300,leaves=15)', 'mart', 'pca(10) > mart')
    """
    return ARROW.join(map(_canonical, stages(text)))


def _canonical(text: str) -> str:
    name, inside = _parts(text)
    parts = ["=".join(side.strip() for side in part.split("=", 1)) for part in between_commas(inside)]
    return f"{name}({','.join(parts)})" if parts else name


def value_of(text: str) -> Any:
    """Numbers, lists, True and None as Python writes them; anything else is text.

    >>> value_of("0.5"), value_of("[10, 20]"), value_of("paper")
    (0.5, [10, 20], 'paper')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _parts(text: str) -> tuple[str, str]:
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ConventionError(f"a ranker is written name(parameter=value), not {text!r}")
    return match[1], match[2] or ""
