"""Judgements and runs of `ir_datasets`, by id, where that package is installed.

`irds:cranfield` stands for the judgements of that data set, and, where scores are asked for, for the documents with
scores that come with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pippin.data.trec import Judgements, Run
from pippin.errors import DataError, PippinError
from pippin.extras import need

PREFIX = "irds:"


def is_id(text: object) -> bool:
    """Whether a text names a data set of ir_datasets.

    >>> is_id("irds:cranfield"), is_id("cranfield.qrels")
    (True, False)
    """
    return isinstance(text, str) and text.startswith(PREFIX)


def read_judged(name: str) -> Judgements:
    """The judgements of a data set of ir_datasets, by its id with or without `irds:`."""

    def label(row: Any) -> int:
        if row.relevance != int(row.relevance):
            raise DataError(f"the label {row.relevance} of {row.doc_id} is not a whole number", name)
        return int(row.relevance)

    name = PREFIX + name.removeprefix(PREFIX)
    return Judgements.of(_nested(name, "qrels", "judgements", label), name)


def read_scored(name: str) -> Run:
    """The documents with scores that a data set of ir_datasets brings along, by its id."""
    name = PREFIX + name.removeprefix(PREFIX)
    return Run.of(_nested(name, "scoreddocs", "scored documents", lambda row: float(row.score)), name)


def _nested(name: str, entity: str, word: str, value: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    """Query to document to value, from the rows of one entity of a data set."""
    need(f"reading {name}", "ir_datasets")
    import ir_datasets

    nested: dict[str, dict[str, Any]] = {}
    try:
        dataset = ir_datasets.load(name.removeprefix(PREFIX))
        if not getattr(dataset, f"has_{entity}")():
            raise DataError(f"this data set of ir_datasets has no {word}", name)
        for row in getattr(dataset, f"{entity}_iter")():
            documents = nested.setdefault(str(row.query_id), {})
            if row.doc_id in documents:
                raise DataError(f"document {row.doc_id} stands twice in query {row.query_id}", name)
            documents[str(row.doc_id)] = value(row)
    except PippinError:
        raise
    except KeyError:
        raise DataError("ir_datasets knows no data set of that id", name) from None
    except Exception as error:  # whatever a download or a parser of another package runs into
        raise DataError(f"ir_datasets could not read it ({type(error).__name__}: {error})", name) from error
    return nested
