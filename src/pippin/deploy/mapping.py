"""What is a feature called in the engine, and how does the engine compute it? A JSON file says so, by feature.

    {"bm25@title": {"name": "title_bm25", "template": {"match": {"title": "{{keywords}}"}}},
     "length@body": "body_length"}

A text alone is the name in the engine. What else an object holds (`template` and `params` for Elasticsearch and
OpenSearch, `class` and `params` for Solr, `expression` for Vespa) goes into the feature set that stands beside the
model. `pippin features --to ENGINE` writes such a file for the features that the engine can compute.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pippin.errors import DataError


@dataclass(frozen=True)
class Mapping:
    """Names and definitions by feature; empty where none was given."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    file: str | None = None

    def __bool__(self) -> bool:
        return bool(self.entries)

    def name(self, feature: str) -> str:
        """What the engine calls a feature."""
        return str(self.entries.get(feature, {}).get("name", feature))

    def names(self, features: Sequence[str]) -> tuple[str, ...]:
        """What the engine calls features; two of one name are an error."""
        found = tuple(self.name(feature) for feature in features)
        if len(set(found)) != len(found):
            twice = next(name for i, name in enumerate(found) if name in found[:i])
            raise DataError(f"two features are called {twice} in the engine", self.file)
        return found

    def defined(self, names: Iterable[str], key: str) -> dict[str, dict[str, Any]]:
        """The entries of features by the engine's names; each must say how the engine computes it."""
        known = {self.name(feature): feature for feature in self.entries}
        found = {}
        for name in names:
            feature = known.get(name, name)
            entry = self.entries.get(feature, {})
            if key not in entry:
                raise DataError(
                    f"the mapping does not say how the engine computes {feature} ({key!r} is missing)", self.file
                )
            found[name] = entry
        return found

    def of(self, features: Sequence[str]) -> Mapping:
        """The mapping by the names that a model has: where those are numbers, by the numbers that entries have."""
        if not self.entries or any(feature in self.entries for feature in features):
            return self
        numbered = {str(entry["number"]): entry for entry in self.entries.values() if "number" in entry}
        found = {feature: numbered[feature] for feature in features if feature in numbered}
        if not found:
            own = next(iter(self.entries))
            raise DataError(
                f"the mapping names no feature of the model: it has {own}, the model {features[0]}", self.file
            )
        return Mapping(found, self.file)

    def has(self, key: str) -> bool:
        """Whether some feature says this."""
        return any(key in entry for entry in self.entries.values())


def read_mapping(path: str | os.PathLike[str]) -> Mapping:
    """The mapping of a JSON file."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror})", path) from None
    except (ValueError, RecursionError):
        raise DataError("a mapping of features is a JSON file, and this is none", path) from None
    if not isinstance(content, dict):
        raise DataError("a mapping of features is a JSON object", path)
    entries = {}
    for feature, value in content.items():
        entry = {"name": value} if isinstance(value, str) else value
        if not isinstance(entry, dict) or not isinstance(entry.get("name", feature), str):
            raise DataError(f"{feature} is mapped to neither a name nor an object", path)
        entries[feature] = entry
    return Mapping(entries, os.fspath(path))
