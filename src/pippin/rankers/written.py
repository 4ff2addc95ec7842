"""How a ranker with settings is written: `lambdamart(rounds=300, leaves=15)`, `best-feature(feature=bm25@whole)`.

The text is the ranker's name on a leaderboard, so that one ranker can stand there several times with other settings.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from pippin.errors import ConventionError
from pippin.registry import between_commas

_WRITTEN = re.compile(r"\s*([^\s(),]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def plain_name(text: str) -> str:
    """The registered name in what was written.

    >>> plain_name("best-feature(feature=bm25@whole)")
    'best-feature'
    """
    return _parts(text)[0]


def settings(text: str) -> dict[str, Any]:
    """The parameters that were written.

    >>> settings("lambdamart(rounds=300, measure=NDCG@10)"), settings("mart")
    ({'rounds': 300, 'measure': 'NDCG@10'}, {})
    """
    values: dict[str, Any] = {}
    for part in between_commas(_parts(text)[1]):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise ConventionError(f"a ranker is written name(parameter=value), not {text!r}")
        values[name.strip()] = value_of(value.strip())
    return values


def canonical(text: str) -> str:
    """What was written without blanks that mean nothing.

    >>> canonical("lambdamart( rounds = 300,leaves=15 )"), canonical("mart()")
    ('lambdamart(rounds=300,leaves=15)', 'mart')
    """
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
