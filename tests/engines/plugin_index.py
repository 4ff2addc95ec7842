"""An index of OpenSearch or Elasticsearch for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx

TEXT = {"type": "text", "fields": {"length": {"type": "token_count", "analyzer": "standard"}}}
FIELDS = {
    "title": TEXT, "body": TEXT, "query": {"type": "keyword"}, "price": {"type": "float"},
    "published": {"type": "date"}, **{f"value_{i}": {"type": "float"} for i in range(6)},
}  # fmt: skip
SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0}


class PluginIndex:
    """An index of an engine with the learning-to-rank plugin, by its address."""

    def __init__(self, address: str, engine: str) -> None:
        self.address, self.engine = address, engine

    def replace_documents(self, documents: Iterable[dict[str, Any]]) -> None:
        """Create the index again with these documents."""
        self.delete()
        body = {"settings": SETTINGS, "mappings": {"properties": FIELDS}}
        httpx.put(self.address, json=body, timeout=60).raise_for_status()
        lines = [
            json.dumps(line)
            for document in documents
            for line in ({"index": {"_id": document["id"]}}, {k: v for k, v in document.items() if k != "id"})
        ]
        answer = httpx.post(
            f"{self.address}/_bulk?refresh=true", content="\n".join([*lines, ""]), timeout=120,
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        answer.raise_for_status()
        assert not answer.json()["errors"]

    def delete(self) -> None:
        """Delete the index if it exists."""
        httpx.delete(self.address, timeout=60)
