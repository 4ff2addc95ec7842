"""Solr over HTTP: log its features, deploy a model, run queries, and verify the engine's scores.

The learning-to-rank module of Solr keeps feature stores and models. A deployment gives every model a feature store of
its own with the model's name, and replaces both if they exist, because Solr refuses to change either in place.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Query
from pippin.collections.search import load_queries
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements
from pippin.data.qrels import Qrels, Run
from pippin.data.read import write
from pippin.errors import DataError, PippinError
from pippin.models.certificate import Certificate, score_exported
from pippin.models.export import render_files
from pippin.models.exporters.base import EXPORTERS, FeatureMapping, as_mapping
from pippin.models.exporters.solr import FEATURES, feature_store
from pippin.rankers.export import export
from pippin.rankers.models import load

USER, PASSWORD = "PIPPIN_ENGINE_USER", "PIPPIN_ENGINE_PASSWORD"
LOG_STORE = "pippin_log"  # the feature store that log_features() fills
DOCUMENTS_PER_REQUEST = 500
_QUERY = "pippin_query"  # the request parameter that holds the words of a query

Queries = str | os.PathLike[str] | Iterable[Query]


@dataclass(frozen=True)
class Deployment:
    """A model in the engine."""

    name: str
    n_features: int
    certificate: Certificate


@dataclass(frozen=True)
class LoggedFeatures:
    """The engine's feature values of judged documents."""

    dataset: Dataset
    not_indexed: list[tuple[str, str]]  # judged documents that the engine does not have, as (query, document)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the data set: LETOR text, or a table by the extension of the file."""
        write(self.dataset, path)


@dataclass(frozen=True)
class EngineRun:
    """The results of queries, and how long the engine took."""

    run: Run
    unmatched: list[str]  # queries without a result
    milliseconds: NDArray[np.float64] = field(repr=False)  # one per query

    def latency(self, percentile: float) -> float:
        """Return a percentile of the response times, in milliseconds."""
        return float(np.percentile(self.milliseconds, percentile))


@dataclass(frozen=True)
class Verification:
    """The engine's scores of documents beside those that the certificate's arithmetic gives for the same features."""

    n_documents: int
    largest_difference: float
    differing: list[tuple[str, str, float, float]]  # query, document, the engine's score, the expected score

    @property
    def passed(self) -> bool:
        """Whether all scores are equal in float32."""
        return not self.differing


class Solr:
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

    def __init__(self, url: str, *, id_field: str = "id", timeout: float = 60.0) -> None:
        import httpx

        self.url, self.id_field = url.rstrip("/"), id_field
        user, password = os.environ.get(USER), os.environ.get(PASSWORD)
        self._client = httpx.Client(timeout=timeout, auth=(user, password or "") if user else None)

    def __repr__(self) -> str:
        return f"Solr({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Solr:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, method: str, path: str, **options: Any) -> Any:
        """Send a request and return the parsed answer; the message of an error is the engine's own."""
        import httpx

        try:
            response = self._client.request(method, self.url + path, **options)
        except httpx.HTTPError as error:
            raise PippinError(f"cannot reach Solr: {error}: {self.url}") from None
        try:
            answer = response.json()
        except ValueError:
            answer = {}
        if response.is_error:
            reason = answer.get("error", {}).get("msg") or response.reason_phrase
            raise PippinError(f"Solr answered {response.status_code} to {method} {path}: {reason}")
        return answer

    def _select(self, **parameters: Any) -> list[dict[str, Any]]:
        documents: list[dict[str, Any]] = self._send("POST", "/select", data=parameters)["response"]["docs"]
        return documents

    def _replace_store(self, name: str, features: list[dict[str, Any]]) -> None:
        """Write a feature store; a model of that name, which would use the old one, is deleted first."""
        models = self._send("GET", "/schema/model-store").get("models", [])
        if name in {model["name"] for model in models}:
            self._send("DELETE", f"/schema/model-store/{name}")
        if name in self._send("GET", "/schema/feature-store").get("featureStores", []):
            self._send("DELETE", f"/schema/feature-store/{name}")
        self._send("PUT", "/schema/feature-store", json=features)

    def deploy(
        self, model: Any, mapping: Any, *, name: str = "pippin", check: Any = None, require: str = "order",
        force: bool = False, **options: Any,
    ) -> Deployment:  # fmt: skip
        """Write a model and its feature store into the engine.

        Parameters
        ----------
        model : Ranker or path
            A trained ranker, or its file.
        mapping : path or dict
            How the engine computes the features; ``pippin engine features`` writes such a file.
        name : str, default "pippin"
            Name of the model and of its feature store. An existing model of this name is replaced.
        check : Dataset, path or DataFrame, optional
            Labelled data for the certificate. Default: the documents of the training set that the model holds.
        require : str, default "order"
            What the certificate must show, as in :func:`pippin.export`.
        force : bool, default False
            Deploy the model even if the certificate does not meet `require`.
        **options
            Options of the Solr exporter, such as ``missing="direction"``.

        Returns
        -------
        Deployment
            The name of the model, the number of its features, and the certificate.
        """
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "model.json"
            result = export(
                model, "solr", out, check=check, features=mapping, name=name, options={"store": name, **options},
                require=require, force=force,
            )  # fmt: skip
            store = Path(f"{out}{FEATURES}")
            if not store.exists():
                raise DataError(
                    "the mapping does not define features for Solr; write one with `pippin engine features`"
                )
            features = json.loads(store.read_bytes())
            self._replace_store(name, features)
            self._send("PUT", "/schema/model-store", json=json.loads(out.read_bytes()))
        return Deployment(name, len(features), result.certificate)

    def log_features(
        self,
        queries: Queries,
        qrels: Any,
        mapping: Any,
        *,
        depth: int = 0,
        parameters: Mapping[str, str] | None = None,
        missing: Literal["zero", "direction"] = "zero",
    ) -> LoggedFeatures:
        """Return the engine's own feature values of judged documents as a data set.

        A model that is trained on these values scores in the engine as it does in Pippin.

        Parameters
        ----------
        queries : path or iterable of Query
            The queries, in any format that `pippin build` reads.
        qrels : Qrels, dict or path
            The judgements; those of other queries are ignored.
        mapping : path or dict
            How the engine computes the features.
        depth : int, default 0
            Also log the first documents that the engine retrieves for each judged query, with label 0 if they are not
            judged. Needed where only relevant documents are judged.
        parameters : dict, optional
            Request parameters of the first phase, for `depth`.
        missing : {"zero", "direction"}, default "zero"
            What the engine sends for an absent value: 0, or NaN for models exported with ``missing="direction"``.

        Returns
        -------
        LoggedFeatures
            The data set, and the judged documents that the engine does not have.
        """
        features = as_mapping(mapping)
        if any(str(entry.get("class", "")).endswith("OriginalScoreFeature") for entry in features.entries.values()):
            raise DataError(
                "an OriginalScoreFeature cannot be logged: its value depends on the query of the first phase"
            )
        judgements = coerce_judgements(qrels)
        if not isinstance(judgements, Qrels):
            raise DataError("log_features needs qrels: query ids, document ids and labels")
        names = features.names(list(features.entries))
        self._replace_store(LOG_STORE, feature_store(features, names, LOG_STORE, missing == "direction"))
        topics = {query.id: query for query in load_queries(queries)}
        rows: list[list[float]] = []
        labels, query_ids, document_ids = [], [], []
        not_indexed: list[tuple[str, str]] = []
        for query, judged in _labels_by_query(judgements):
            if query not in topics:
                continue
            candidates = dict(judged)
            if depth:
                for _, documents, _ in self._search([topics[query]], None, depth, parameters, "score"):
                    retrieved = (str(document[self.id_field]) for document in documents)
                    candidates |= {document: 0 for document in retrieved if document not in judged}
            values = self._feature_values(topics[query].text, list(candidates), features)
            not_indexed += [(query, document) for document in judged if document not in values]
            for document, label in candidates.items():
                if document in values:
                    rows.append(values[document])
                    labels.append(label)
                    query_ids.append(query)
                    document_ids.append(document)
        if not rows:
            raise DataError(
                f"{self.url} has none of the judged documents; does the field {self.id_field!r} hold their ids?"
            )
        dataset = Dataset.from_arrays(
            np.array(rows), labels, qid=query_ids, document_ids=document_ids, feature_names=list(features.entries)
        )
        return LoggedFeatures(dataset, not_indexed)

    def _feature_values(self, text: str, documents: Sequence[str], mapping: FeatureMapping) -> dict[str, list[float]]:
        """Return the values of all features by document id; documents that are not indexed are absent."""
        names = mapping.names(list(mapping.entries))
        result: dict[str, list[float]] = {}
        for start in range(0, len(documents), DOCUMENTS_PER_REQUEST):
            batch = documents[start : start + DOCUMENTS_PER_REQUEST]
            documents_found = self._select(
                q=f"{{!terms f={self.id_field} separator=\"\t\" v=$pippin_ids}}", pippin_ids="\t".join(batch),
                rows=len(batch), fl=f"{self.id_field},[features store={LOG_STORE} format=dense efi.text=${_QUERY}]",
                **{_QUERY: text},
            )  # fmt: skip
            for document in documents_found:
                values = _parse_features(document)
                result[str(document[self.id_field])] = [values.get(name, 0.0) for name in names]
        return result

    def run(
        self,
        queries: Queries,
        *,
        model: str | None = None,
        depth: int = 100,
        parameters: Mapping[str, str] | None = None,
    ) -> EngineRun:
        """Run queries, and return the ranked documents.

        Parameters
        ----------
        queries : path or iterable of Query
            The queries.
        model : str, optional
            Name of a deployed model that re-ranks the first `depth` documents. Default: the engine's own order.
        depth : int, default 100
            Number of documents to retrieve for each query.
        parameters : dict, optional
            Request parameters of the first phase, such as ``{"defType": "edismax", "qf": "title body"}``.

        Returns
        -------
        EngineRun
            The run, the queries without a result, and the response times.
        """
        ranked: dict[str, dict[str, float]] = {}
        milliseconds, unmatched = [], []
        for query, documents, seconds in self._search(queries, model, depth, parameters, "score"):
            milliseconds.append(seconds * 1000)
            if documents:
                # The position decides: Solr breaks ties of the score by its own order.
                ranked[query] = {str(document[self.id_field]): -float(i) for i, document in enumerate(documents)}
            else:
                unmatched.append(query)
        if not ranked:
            raise DataError(f"no query has a result in {self.url}; give the fields to search with qf")
        return EngineRun(Run.from_dict(ranked, name=model or "solr"), unmatched, np.array(milliseconds))

    def _search(
        self, queries: Queries, model: str | None, depth: int, parameters: Mapping[str, str] | None, fields: str
    ) -> Iterator[tuple[str, list[dict[str, Any]], float]]:
        """Yield the id, the documents and the response time in seconds of every query."""
        rerank = {} if model is None else {"rq": f"{{!ltr model={model} reRankDocs={depth} efi.text=${_QUERY}}}"}
        for query in load_queries(queries):
            started = time.perf_counter()
            documents = self._select(q=query.text, rows=depth, fl=f"{self.id_field},{fields}", **rerank,
                                     **{_QUERY: query.text, **(parameters or {})})  # fmt: skip
            yield query.id, documents, time.perf_counter() - started

    def verify(
        self, model: Any, mapping: Any, queries: Queries, *, name: str = "pippin", depth: int = 100,
        parameters: Mapping[str, str] | None = None, **options: Any,
    ) -> Verification:  # fmt: skip
        """Compare the engine's scores with those that the certificate's arithmetic gives for the same feature values.

        Parameters
        ----------
        model : Ranker or path
            The model that was deployed.
        mapping : path or dict
            The mapping of the deployment.
        queries : path or iterable of Query
            Queries whose first `depth` documents are compared.
        name : str, default "pippin"
            Name of the deployed model.
        depth : int, default 100
            Number of documents for each query.
        parameters : dict, optional
            Request parameters of the first phase.
        **options
            Options of the Solr exporter, as in :meth:`deploy`.

        Returns
        -------
        Verification
            The number of documents, the largest difference, and the documents whose scores differ.
        """
        ranker = load(model) if isinstance(model, (str, os.PathLike)) else model
        exporter, trained = EXPORTERS["solr"], ranker.to_model()
        request, files = render_files(exporter, trained, Path("model.json"), mapping, name, {"store": name, **options})
        names = request.mapping.names(trained.names)
        keys: list[tuple[str, str]] = []
        scores: list[float] = []
        rows: list[list[float]] = []
        transformer = f"score,[features store={name} format=dense efi.text=${_QUERY}]"
        for query, documents, _ in self._search(queries, name, depth, parameters, transformer):
            for document in documents:
                values = _parse_features(document)
                keys.append((query, str(document[self.id_field])))
                scores.append(float(document["score"]))
                rows.append([values.get(feature, 0.0) for feature in names])
        if not rows:
            raise DataError(f"no query has a result in {self.url}; give the fields to search with qf")
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "model.json"
            for suffix, content in files.items():
                Path(f"{base}{suffix}").write_bytes(content)
            _, expected, _ = score_exported(exporter, request, np.array(rows), base)
        single = np.asarray(expected, np.float32)
        engine = np.array(scores, np.float32)
        differing = [
            (*keys[i], float(engine[i]), float(single[i])) for i in np.flatnonzero(engine != single).tolist()
        ]  # fmt: skip
        return Verification(len(rows), float(np.abs(engine - single).max()), differing)


def _labels_by_query(qrels: Qrels) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield every query with its labels by document."""
    documents = list(qrels.document_ids)
    for query, start, stop in zip(qrels.query_ids, qrels.offsets[:-1], qrels.offsets[1:], strict=True):
        yield query, dict(zip(documents[start:stop], qrels.labels[start:stop].tolist(), strict=True))


def _parse_features(document: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of Solr's feature transformer, which prints the shortest decimals of float32 numbers."""
    pairs = (pair.split("=") for pair in document["[features]"].split(",") if pair)
    return {name: float(np.float32(value)) for name, value in pairs}
