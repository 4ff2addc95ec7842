"""SQL: one query that adds a score to every row of a table; `CASE` for nodes, in the order of the trees.

Numbers have an exponent, so that databases that know decimal numbers take them for doubles. Trees are added up in
steps of 100, each a materialised subquery, because databases limit how deep an expression may be.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from pippin.deploy.target import F64, Engine, Files, Option, Request, Target, register
from pippin.forms.form import Linear, Tree, Trees

_STEP = 100  # trees or weights in one expression


def write(request: Request) -> Files:
    """The query."""
    form, table = request.form, request.options["table"]
    terms = _trees(form) if isinstance(form, Trees) else _weights(form)
    steps, source = [], quoted(table)
    for i, (carried, part) in enumerate(_cut(terms)):
        start = "CAST(0 AS DOUBLE PRECISION)" if carried is None else f"{carried}"
        steps.append(f"pippin_{i} AS MATERIALIZED (\n  SELECT *, " + "\n    + ".join([start, *part]) +
                     f"\n    AS pippin_score_{i} FROM {source}\n)")  # fmt: skip
        source = f"pippin_{i}"
    last = f"pippin_score_{len(steps) - 1}"
    names = ", ".join(quoted(name) for name in form.names)
    query = (f"-- {_comment(request.name)}: a score for each row of {_comment(table)}, by the columns\n-- "
             f"{_comment(names)}\nWITH {', '.join(steps)}\nSELECT *, {last} AS score FROM {source};\n")  # fmt: skip
    return {"": query.encode("utf-8", "surrogatepass")}


def _cut(terms: list[str]) -> list[tuple[str | None, list[str]]]:
    """The terms in steps, each with the column that it goes on from."""
    parts = [terms[at : at + _STEP] for at in range(0, len(terms), _STEP)] or [[]]
    return [(None if i == 0 else f"pippin_score_{i - 1}", part) for i, part in enumerate(parts)]


def _trees(form: Trees) -> list[str]:
    return [case(one, form.names) for one in form.flat()]


def _weights(form: Linear) -> list[str]:
    found = [f"{number(form.weights[i])} * {quoted(form.names[i])}" for i in form.used()]
    return found + ([number(form.bias)] if form.bias else [])


def case(one: Tree, names: tuple[str, ...], node: int = 0) -> str:
    """A tree from a node on; where NULL goes left, the question is turned round, as NULL is neither."""
    if not len(one):
        return number(one.value[0])
    parts: list[str] = []
    todo: list[Any] = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, str):
            parts.append(at)
        elif at < 0:
            parts.append(number(one.value[-1 - at]))
        else:
            left, right = int(one.left[at]), int(one.right[at])
            sign, first, second = (">", right, left) if one.missing_left[at] else ("<=", left, right)
            feature, threshold = names[int(one.feature[at])], number(one.threshold[at])
            parts.append(f"CASE WHEN {quoted(feature)} {sign} {threshold} THEN ")
            todo += [" END", second, " ELSE ", first]
    return "".join(parts)


def number(value: float) -> str:
    """A double that databases do not take for a decimal number.

    >>> number(0.1), number(-2.0)
    ('1.00000000000000006e-01', '(-2.00000000000000000e+00)')
    """
    text = f"{value:.17e}"
    return f"({text})" if value < 0 else text


def quoted(name: str) -> str:
    """A name in quotes."""
    return '"' + name.replace('"', '""').replace("\x00", "") + '"'


def _comment(text: str) -> str:
    return " ".join(text.split())


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """SQLite's answer to the query."""
    connection = sqlite3.connect(":memory:")
    names = ", ".join(f"{quoted(name)} REAL" for name in request.form.names)
    connection.execute(f"CREATE TABLE {quoted(request.options['table'])} (pippin_row INTEGER PRIMARY KEY, {names})")
    places = ", ".join("?" * (1 + len(request.form.names)))
    rows = ([i, *(None if np.isnan(value) else float(value) for value in row)] for i, row in enumerate(table))
    connection.executemany(f"INSERT INTO {quoted(request.options['table'])} VALUES ({places})", rows)
    query = base.read_text(encoding="utf-8", errors="surrogatepass").rstrip().rstrip(";")
    found = connection.execute(f"SELECT score FROM ({query}) ORDER BY pippin_row").fetchall()
    connection.close()
    return f"SQLite {sqlite3.sqlite_version}", np.array([row[0] for row in found], np.float64)


register(Target(
    "sql", "an SQL query", "SQL:1999 CASE; common table expressions", ("linear", "trees"), write,
    engine=Engine("SQLite", run),
    options={"table": Option(("documents", ""), "the table that holds the features")},
    refused={"network": "tanh is no function of SQL"},
))  # fmt: skip
