"""Minimal client of Solr's HTTP interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset


class SolrClient:
    """A core of a running Solr with the LTR module, by its address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = httpx.Client(base_url=address, timeout=60, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, method: str, path: str, **options: Any) -> Any:
        answer = self._client.request(method, path, **options)
        assert answer.status_code == 200, f"Solr answered {answer.status_code}: {answer.text[:500]}"
        return answer.json()

    def index_dataset(self, data: Dataset) -> None:
        """Replace all documents by the rows of a data set; missing values become absent fields."""
        documents = [
            {"id": str(row), "query": str(query)}
            | {f"value_{i}": float(v) for i, v in enumerate(values) if not np.isnan(v)}
            for row, (query, values) in enumerate(zip(data.qid(), data.features, strict=True))
        ]
        self.replace_documents(documents)

    def replace_documents(self, documents: Iterable[dict[str, Any]]) -> None:
        """Replace all documents."""
        self._send("POST", "/update", json={"delete": {"query": "*:*"}})
        self._send("POST", "/update", params={"commit": "true"}, json=list(documents))

    def put_features(self, features: list[dict[str, Any]]) -> None:
        """Create a feature store from the file that an export writes."""
        self._send("PUT", "/schema/feature-store", json=features)

    def put_model(self, model: dict[str, Any]) -> None:
        """Load a model."""
        self._send("PUT", "/schema/model-store", json=model)

    def delete(self, model: str, store: str) -> None:
        """Delete a model and its feature store."""
        self._client.delete(f"/schema/model-store/{model}")
        self._client.delete(f"/schema/feature-store/{store}")

    def rerank(self, model: str, data: Dataset) -> tuple[NDArray[np.float64], list[dict[str, float]]]:
        """Return the model's score and the engine's feature values for each row of an indexed data set."""
        scores = np.full(len(data), np.nan)
        features: list[dict[str, float]] = [{} for _ in range(len(data))]
        sizes = np.diff(data.offsets)
        for query, size in enumerate(sizes):
            answer = self._send("GET", "/select", params={
                "q": "*:*", "fq": f"query:{query}", "rows": int(size), "fl": "id,score,[features]",
                "rq": f"{{!ltr model={model} reRankDocs={size}}}",
            })  # fmt: skip
            for document in answer["response"]["docs"]:
                row = int(document["id"])
                scores[row] = np.float32(document["score"])  # printed with the digits of a float
                pairs = (pair.split("=") for pair in document["[features]"].split(",") if pair)
                features[row] = {name: float(value) for name, value in pairs}
        return scores, features
