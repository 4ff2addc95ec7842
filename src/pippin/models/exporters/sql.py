"""Export as an SQL query that adds a score to every row of a table; nodes become `CASE`, in the order of the trees.

Numbers have an exponent, so that databases with decimal numbers read them as float64. Trees are added in steps of 100,
each a materialised subquery, because databases limit the depth of an expression.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from pippin.models.exporters.base import F64, Engine, Exporter, ExportRequest, Files, Option, register
from pippin.models.model import LinearModel, Tree, TreeEnsemble

_MAX_TERMS = 100  # trees or weights in one expression


def write(request: ExportRequest) -> Files:
    """Return the query."""
    model, table = request.model, request.options["table"]
    if isinstance(model, TreeEnsemble):
        terms = [_case(tree, model.names) for tree in model.flat()]
    else:
        terms = _weighted_terms(model)
    steps: list[str] = []
    source, score = _quote(table), "CAST(0 AS DOUBLE PRECISION)"
    for i in range(max(1, -(-len(terms) // _MAX_TERMS))):
        expression = "\n    + ".join([score, *terms[i * _MAX_TERMS : (i + 1) * _MAX_TERMS]])
        select = f"SELECT *, {expression}\n    AS pippin_score_{i} FROM {source}"
        steps.append(f"pippin_{i} AS MATERIALIZED (\n  {select}\n)")
        source, score = f"pippin_{i}", f"pippin_score_{i}"
    names = _comment(", ".join(_quote(name) for name in model.names))
    query = (f"-- {_comment(request.name)}: a score for each row of {_comment(table)}, by the columns\n-- {names}\n"
             f"WITH {', '.join(steps)}\nSELECT *, {score} AS score FROM {source};\n")  # fmt: skip
    return {"": query.encode("utf-8", "surrogatepass")}


def _weighted_terms(model: LinearModel) -> list[str]:
    terms = [f"{_number(model.weights[i])} * {_quote(model.names[i])}" for i in model.used_features()]
    return terms + ([_number(model.bias)] if model.bias else [])


def _case(tree: Tree, names: tuple[str, ...]) -> str:
    """Return a tree; where NULL goes left the comparison is `>`, because NULL satisfies none and takes ELSE."""
    parts: list[str] = []
    stack: list[Any] = [0 if len(tree) else -1]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            parts.append(entry)
        elif entry < 0:
            parts.append(_number(tree.value[-1 - entry]))
        else:
            left, right = int(tree.left[entry]), int(tree.right[entry])
            operator, first, second = (">", right, left) if tree.missing_left[entry] else ("<=", left, right)
            feature = _quote(names[int(tree.feature[entry])])
            parts.append(f"CASE WHEN {feature} {operator} {_number(tree.threshold[entry])} THEN ")
            stack += [" END", second, " ELSE ", first]
    return "".join(parts)


def _number(value: float) -> str:
    """Return a number that databases read as float64, not as a decimal.

    >>> _number(0.1), _number(-2.0)
    ('1.00000000000000006e-01', '(-2.00000000000000000e+00)')
    """
    text = f"{value:.17e}"
    return f"({text})" if value < 0 else text


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\x00", "") + '"'


def _comment(text: str) -> str:
    return " ".join(text.split())


def score(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Run the query in SQLite."""
    connection = sqlite3.connect(":memory:")
    target = _quote(request.options["table"])
    columns = ", ".join(f"{_quote(name)} REAL" for name in request.model.names)
    connection.execute(f"CREATE TABLE {target} (pippin_row INTEGER PRIMARY KEY, {columns})")
    placeholders = ", ".join("?" * (1 + len(request.model.names)))
    rows = ([i, *(None if np.isnan(value) else float(value) for value in row)] for i, row in enumerate(table))
    connection.executemany(f"INSERT INTO {target} VALUES ({placeholders})", rows)
    query = base.read_text(encoding="utf-8", errors="surrogatepass").rstrip().rstrip(";")
    scores = connection.execute(f"SELECT score FROM ({query}) ORDER BY pippin_row").fetchall()
    connection.close()
    return f"SQLite {sqlite3.sqlite_version}", np.array([row[0] for row in scores], np.float64)


register(Exporter(
    "sql", "SQL query", "SQL:1999 CASE; common table expressions", ("linear", "trees"), write,
    engine=Engine("SQLite", score),
    options={"table": Option("documents", "the table that holds the features")},
    refused={"network": "SQL has no function tanh"},
))  # fmt: skip
