"""Elasticsearch and OpenSearch with their learning-to-rank plugins over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pippin.engines.base import LOG_STORE, Hit, SearchEngine
from pippin.errors import PippinError
from pippin.models.exporters.base import FeatureMapping
from pippin.models.exporters.elasticsearch import FEATURE_SET, feature_set, opensearch_missing
from pippin.models.model import Normaliser

_LOG = "features"  # the name of the log in an answer


class Elasticsearch(SearchEngine):
    """A client of one index of Elasticsearch with the learning-to-rank plugin.

    Parameters
    ----------
    url : str
        Address of the index, such as ``http://localhost:9200/products``. Credentials come from the environment
        variables ``PIPPIN_ENGINE_USER`` and ``PIPPIN_ENGINE_PASSWORD``, or ``PIPPIN_ENGINE_API_KEY``.
    id_field : str, default "_id"
        The field that holds the document ids of judgements and runs.
    timeout : float, default 60
        Seconds to wait for an answer.

    Examples
    --------
    >>> Elasticsearch("http://localhost:9200/products")
    Elasticsearch('http://localhost:9200/products')
    """

    name, target, features_file = "Elasticsearch", "elasticsearch-ltr", FEATURE_SET
    default_id_field = "_id"

    @cached_property
    def _root(self) -> str:
        """The address of the cluster."""
        root = self.url.rpartition("/")[0]
        if root.endswith("/"):  # of the scheme
            raise PippinError(f"{self.url} names no index; append its name, as in {self.url}/products")
        return root

    @cached_property
    def _about(self) -> dict[str, str]:
        about: dict[str, str] = self._send("GET", f"{self._root}/").get("version", {})
        if "number" not in about:
            raise PippinError(f"neither Elasticsearch nor OpenSearch answers at {self._root}")
        return about

    @property
    def version(self) -> str:
        """The version of the engine."""
        return self._about["number"]

    @property
    def distribution(self) -> str:
        """The engine that answers: "elasticsearch" or "opensearch"."""
        return self._about.get("distribution", "elasticsearch")

    def _describe_error(self, answer: Mapping[str, Any]) -> str | None:
        error = answer.get("error")
        if not isinstance(error, dict):
            return error
        causes = error.get("root_cause") or [error]
        return str(causes[0].get("reason") or error.get("reason"))

    def _feature_definitions(self, mapping: FeatureMapping, name: str, keeps_missing: bool) -> Any:
        return feature_set(mapping, mapping.names(list(mapping.entries)), name)

    def _write_features(self, name: str, features: Any) -> int:
        stores = self._member(self._send("GET", f"{self._root}/_ltr"), "stores")
        if "_default_" not in stores:
            self._send("PUT", f"{self._root}/_ltr")
        for kind in ("model", "featureset"):
            self._send("DELETE", f"{self._root}/_ltr/_{kind}/{name}", accept=(404,))
        self._send("PUT", f"{self._root}/_ltr/_featureset/{name}", json=features)
        return len(features["featureset"]["features"])

    def _write_model(self, name: str, model: Any) -> None:
        self._send("POST", f"{self._root}/_ltr/_featureset/{name}/_createmodel", json=model)

    def _stored_normalisers(self, name: str) -> dict[str, Normaliser]:
        stored = self._send("GET", f"{self._root}/_ltr/_model/{name}", accept=(404,))
        model = stored.get("_source", {}).get("model", {}).get("model", {})
        return {
            feature: Normaliser(
                float(np.float32(entry["standard"]["mean"])), float(np.float32(entry["standard"]["standard_deviation"]))
            )
            for feature, entry in model.get("feature_normalizers", {}).items()
        }

    def _retrieve(
        self, text: str, depth: int, parameters: Mapping[str, str] | None, model: str | None, logs_features: bool
    ) -> list[Hit]:
        match: dict[str, Any] = {"query": text, **(parameters or {})}
        if "fields" in match:
            match["fields"] = match["fields"].split()
        body: dict[str, Any] = {"query": {"multi_match": match}, "size": depth}
        if model is not None:
            sltr = {"sltr": {"params": {"keywords": text}, "model": model}}
            body["rescore"] = {"window_size": depth, "query": {"query_weight": 0, "rescore_query": sltr}}
        if logs_features:
            body["ext"] = _log_request({"rescore_index": 0})
        return self._search(body)

    def _log(self, text: str, documents: Sequence[str]) -> list[Hit]:
        sltr = {"_name": "logged", "featureset": LOG_STORE, "params": {"keywords": text}}
        filters = [{"terms": {self.id_field: list(documents)}}, {"sltr": sltr}]
        body = {"query": {"bool": {"filter": filters}}, "size": len(documents)}
        return self._search({**body, "ext": _log_request({"named_query": "logged"})})

    def _search(self, body: dict[str, Any]) -> list[Hit]:
        source = False if self.id_field == "_id" else [self.id_field]
        answer = self._send("POST", "/_search", json={"_source": source, **body})
        return [self._parse(hit) for hit in self._member(answer, "hits", "hits")]

    def _parse(self, hit: Mapping[str, Any]) -> Hit:
        name = self._document_id({**hit.get("_source", {}), "_id": hit["_id"]})
        log = hit.get("fields", {}).get("_ltrlog", [{}])[0].get(_LOG, [])
        values = {entry["name"]: float(np.float32(entry["value"])) for entry in log if "value" in entry}
        return Hit(name, float(np.float32(hit.get("_score") or 0.0)), values)


class OpenSearch(Elasticsearch):
    """A client of one index of OpenSearch with the learning-to-rank plugin.

    Parameters
    ----------
    url : str
        Address of the index, such as ``https://localhost:9200/products``. Credentials come from the environment
        variables ``PIPPIN_ENGINE_USER`` and ``PIPPIN_ENGINE_PASSWORD``.
    id_field : str, default "_id"
        The field that holds the document ids of judgements and runs.
    timeout : float, default 60
        Seconds to wait for an answer.

    Examples
    --------
    >>> OpenSearch("http://localhost:9200/products")
    OpenSearch('http://localhost:9200/products')
    """

    name, target = "OpenSearch", "opensearch-ltr"

    def _export_options(self, name: str) -> dict[str, str]:
        return {"version": ".".join(self.version.split(".")[:2])}

    def _keeps_missing(self) -> bool:
        return opensearch_missing(self.version) != "zero"


def _log_request(query: Mapping[str, Any]) -> dict[str, Any]:
    return {"ltr_log": {"log_specs": {"name": _LOG, **query}}}
