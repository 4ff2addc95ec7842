"""Features of the numeric fields of documents, such as prices, popularities and dates."""

from __future__ import annotations

from datetime import UTC, datetime

from pippin.collections.features.base import feature
from pippin.collections.index.statistics import Candidates, Floats, NumericField
from pippin.errors import ConventionError

NEWEST = "newest"
_SECONDS_PER_DAY = 86400


@feature("value", kind="D", numeric=True, formula="x(d), of a date in days since 1970-01-01",
         source="Solr, FieldValueFeature", missing_when="the document has no value")  # fmt: skip
def value(candidates: Candidates, field: NumericField) -> Floats:
    """Return the number in a field."""
    return field.values.copy()


@feature("age", kind="D", numeric=True, formula="t − x(d) in days; t: the collection's newest date, or the date on",
         source="Solr, function queries", missing_when="the document has no date")  # fmt: skip
def age(candidates: Candidates, field: NumericField, *, on: str = NEWEST) -> Floats:
    """Return the days from the date in a field to the newest date of the collection, or to a given date."""
    if field.kind != "date":
        raise ConventionError("age needs a field of dates; use value for numbers")
    return (field.largest if on == NEWEST else days_since_epoch(on)) - field.values


def days_since_epoch(text: str) -> float:
    """Return the days from 1970-01-01 to a date such as 2026-12-31.

    >>> days_since_epoch("1970-02-01")
    31.0
    """
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() / _SECONDS_PER_DAY
    except ValueError:
        raise ConventionError(f"age: on must be a date such as 2026-12-31, or {NEWEST}, got {text!r}") from None
