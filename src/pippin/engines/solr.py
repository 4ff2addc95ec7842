"""Solr over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pippin.engines.base import LOG_STORE, Hit, SearchEngine
from pippin.models.exporters.base import FeatureMapping
from pippin.models.exporters.solr import FEATURES, feature_store
from pippin.models.model import Normaliser

_QUERY = "pippin_query"  # the request parameter that holds the words of a query


class Solr(SearchEngine):
    """A client of one Solr core or collection with the learning-to-rank module.

    Parameters
    ----------
    url : str
        Address of the core or collection, such as ``http://localhost:8983/solr/products``. Credentials come from the
        environment variables ``PIPPIN_ENGINE_USER`` and ``PIPPIN_ENGINE_PASSWORD``.
    id_field : str, default "id"
        The field that holds the document ids of judgements and runs.
    timeout : float, default 60
        Seconds to wait for an answer.

    Examples
    --------
    >>> Solr("http://localhost:8983/solr/products/")
    Solr('http://localhost:8983/solr/products')
    """

    name, target, features_file, default_id_field = "Solr", "solr", FEATURES, "id"

    def _describe_error(self, answer: Mapping[str, Any]) -> str | None:
        error = answer.get("error")
        return error.get("msg") if isinstance(error, dict) else None

    def _export_options(self, name: str) -> dict[str, str]:
        return {"store": name}

    def _keeps_missing(self) -> bool:
        return False

    def _feature_definitions(self, mapping: FeatureMapping, name: str, keeps_missing: bool) -> Any:
        return feature_store(mapping, mapping.names(list(mapping.entries)), name, keeps_missing)

    def _write_features(self, name: str, features: Any) -> int:
        models = self._send("GET", "/schema/model-store").get("models", [])
        if name in {model["name"] for model in models}:
            self._send("DELETE", f"/schema/model-store/{name}")
        if name in self._send("GET", "/schema/feature-store").get("featureStores", []):
            self._send("DELETE", f"/schema/feature-store/{name}")
        self._send("PUT", "/schema/feature-store", json=features)
        return len(features)

    def _write_model(self, name: str, model: Any) -> None:
        self._send("PUT", "/schema/model-store", json=model)

    def _stored_normalisers(self, name: str) -> dict[str, Normaliser]:
        models = {model["name"]: model for model in self._send("GET", "/schema/model-store").get("models", [])}
        return {
            feature["name"]: Normaliser(
                float(feature["norm"]["params"]["avg"]), float(feature["norm"]["params"]["std"])
            )
            for feature in models.get(name, {}).get("features", [])
            if feature.get("norm", {}).get("class", "").endswith("StandardNormalizer")
        }

    def _retrieve(
        self, text: str, depth: int, parameters: Mapping[str, str] | None, model: str | None, logs_features: bool
    ) -> list[Hit]:
        rerank = {} if model is None else {"rq": f"{{!ltr model={model} reRankDocs={depth} efi.text=${_QUERY}}}"}
        fields = "score"
        if logs_features:
            fields += f",[features store={model} format=dense efi.text=${_QUERY}]"
        return self._select(text, fields, q=text, rows=depth, **rerank, **(parameters or {}))

    def _log(self, text: str, documents: Sequence[str]) -> list[Hit]:
        return self._select(
            text, f"[features store={LOG_STORE} format=dense efi.text=${_QUERY}]",
            q=f"{{!terms f={self.id_field} separator=\"\t\" v=$pippin_ids}}", pippin_ids="\t".join(documents),
            rows=len(documents),
        )  # fmt: skip

    def _select(self, text: str, fields: str, **parameters: Any) -> list[Hit]:
        data = {_QUERY: text, "fl": f"{self.id_field},{fields}", **parameters}
        documents = self._member(self._send("POST", "/select", data=data), "response", "docs")
        return [
            Hit(self._document_id(d), float(d.get("score", 0.0)), _parse_features(d.get("[features]", "")))
            for d in documents
        ]


def _parse_features(text: str) -> dict[str, float]:
    """Return the values of Solr's feature transformer, which prints the shortest decimals of float32 numbers."""
    pairs = (pair.split("=") for pair in text.split(",") if pair)
    return {name: float(np.float32(value)) for name, value in pairs}
