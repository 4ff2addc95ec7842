"""Which column of a table is what: the names people give to queries, documents, labels and scores.

The names are listed in the docstring of `columns.py`. The caller's word goes before what Pippin noted in the file's
metadata when it wrote the table, and that before the names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pippin.data.tables import Sheet
from pippin.errors import DataError

ROLES = {
    "query": ("query_id", "qid", "queryid", "topic_id", "topic", "query"),
    "document": ("docno", "doc_id", "docid", "document_id", "did", "document", "doc"),
    "label": ("label", "relevance", "rel", "grade", "judgement", "judgment"),
    "score": ("score", "scores", "prediction", "sim"),
    "comment": ("comment",),
    "tag": ("tag", "run_id", "system"),
    "": ("rank", "iteration", "iter", "q0"),
}
# What evaluators of recommenders call a query, a document and a label, where nothing is called a query.
USERS = {
    "query": ("user", "user_id", "userid"),
    "document": ("item", "item_id", "itemid"),
    "label": ("rating",),
}
KNOWN = {name for names in ROLES.values() for name in names}
METADATA = b"pippin"  # the key in a file's metadata under which a written table says which column is what


@dataclass(frozen=True)
class Roles:
    """Which column of a sheet is what."""

    sheet: Sheet
    named: dict[str, str]
    features: tuple[str, ...] | None

    def need(self, *roles: str) -> list[str]:
        """The columns of these roles; an error that names the columns found where one is missing."""
        for role in roles:
            if role not in self.named:
                columns, names = ", ".join(map(repr, self.sheet.columns)), ", ".join(ROLES[role] + USERS.get(role, ()))
                raise self.sheet.error(
                    f"no column for the {role} (it may be called {names}); the columns are {columns}"
                )
        return [self.named[role] for role in roles]


def find_roles(sheet: Sheet, names: Mapping[str, str] | None = None, features: Iterable[str] | None = None) -> Roles:
    """Which column is what: as the caller says, as the file's own metadata says, or by the table of names."""
    columns = sheet.columns
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise sheet.error(f"two columns are called {twice!r}")
    named: dict[str, str] = {}
    lowered = {name.lower().strip(): name for name in reversed(columns)}
    for role, spellings in ROLES.items():
        matching = [lowered[spelling] for spelling in spellings if spelling in lowered]
        if role and matching:
            named[role] = matching[0]
    if "query" not in named:
        for role, spellings in USERS.items():
            matching = [lowered[spelling] for spelling in spellings if spelling in lowered]
            if matching:
                named.setdefault(role, matching[0])
    written = _metadata(sheet)
    if written is not None:
        named, features = dict(written["columns"]), features or written["features"]
    for role, name in (names or {}).items():
        if role not in ROLES or not role:
            raise DataError(f"there is no role {role!r}; the roles are {', '.join(r for r in ROLES if r)}")
        named[role] = name
    chosen = None if features is None else tuple(features)
    for name in (*named.values(), *(chosen or ())):
        if name not in columns:
            raise sheet.error(f"no column is called {name!r}; the columns are {', '.join(map(repr, columns))}")
    return Roles(sheet, named, chosen)


def _metadata(sheet: Sheet) -> dict[str, Any] | None:
    """What Pippin wrote about this table, unless columns have been taken away since."""
    try:
        written = json.loads((sheet.table.schema.metadata or {})[METADATA])
        claimed = {*written["columns"].values(), *written["features"]}
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return written if claimed <= set(sheet.columns) else None
