"""Search engines over HTTP: log their features, deploy a model, run queries, and verify the engine's scores.

The learning-to-rank modules of the engines keep sets of features and models. A deployment gives every model a set of
its own with the model's name, and replaces both if they exist, because engines refuse to change either in place.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Query
from pippin.collections.search import load_queries
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements
from pippin.data.qrels import Qrels, Run
from pippin.data.read import write
from pippin.errors import DataError, PippinError, UnknownName
from pippin.models.certificate import Certificate, score_exported
from pippin.models.export import render_files, with_normalisers
from pippin.models.exporters.base import EXPORTERS, FeatureMapping, as_mapping
from pippin.models.model import LinearModel, Normaliser
from pippin.rankers.export import export
from pippin.rankers.models import load

USER, PASSWORD, API_KEY = "PIPPIN_ENGINE_USER", "PIPPIN_ENGINE_PASSWORD", "PIPPIN_ENGINE_API_KEY"
LOG_STORE = "pippin_log"  # the features that log_features() logs
DOCUMENTS_PER_REQUEST = 500  # limits the length of a request that logs features

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
        """Write the data set: LETOR text, or a table by the extension of the file.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        write(self.dataset, path)


@dataclass(frozen=True)
class EngineRun:
    """The results of queries, and how long the engine took."""

    run: Run
    unmatched: list[str]  # queries without a result
    milliseconds: NDArray[np.float64] = field(repr=False)  # one per query

    def latency(self, percentile: float) -> float:
        """Return a percentile of the response times, in milliseconds.

        Parameters
        ----------
        percentile : float
            Percentile from 0 to 100.
        """
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


@dataclass(frozen=True)
class Hit:
    """A document that the engine returned, with its feature values by name if they were requested."""

    id: str
    score: float
    features: Mapping[str, float] = field(default_factory=dict)


class SearchEngine(ABC):
    """A client of one index of a search engine with a learning-to-rank module.

    Credentials come from the environment variables ``PIPPIN_ENGINE_USER`` and ``PIPPIN_ENGINE_PASSWORD``.

    Parameters
    ----------
    url : str
        Address of the index.
    id_field : str, optional
        The field that holds the document ids of judgements and runs.
    timeout : float, default 60
        Seconds to wait for an answer.
    """

    name: ClassVar[str]  # in messages
    target: ClassVar[str]  # the exporter
    features_file: ClassVar[str]  # the suffix of the file with features that the exporter writes
    default_id_field: ClassVar[str]

    def __init__(self, url: str, *, id_field: str | None = None, timeout: float = 60.0) -> None:
        import httpx

        self.url, self.id_field = url.rstrip("/"), id_field or self.default_id_field
        user, password = os.environ.get(USER), os.environ.get(PASSWORD)
        key = os.environ.get(API_KEY)
        self._client = httpx.Client(
            timeout=timeout,
            auth=(user, password or "") if user else None,
            headers={"Authorization": f"ApiKey {key}"} if key else None,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _write_features(self, name: str, features: Any) -> int:
        """Write a set of features and return their number; an earlier set and its model are deleted first."""

    @abstractmethod
    def _write_model(self, name: str, model: Any) -> None:
        """Write a model whose features were written under the same name."""

    @abstractmethod
    def _stored_normalisers(self, name: str) -> dict[str, Normaliser]:
        """Return the normalisers of a deployed model by the names of its features."""

    @abstractmethod
    def _feature_definitions(self, mapping: FeatureMapping, name: str, keeps_missing: bool) -> Any:
        """Return the content of a set with all features of a mapping."""

    @abstractmethod
    def _retrieve(
        self, text: str, depth: int, parameters: Mapping[str, str] | None, model: str | None, logs_features: bool
    ) -> list[Hit]:
        """Return the first documents of a query, re-ranked by a model and with its features if requested."""

    @abstractmethod
    def _log(self, text: str, documents: Sequence[str]) -> list[Hit]:
        """Return the values of the features of LOG_STORE for a query and some documents."""

    @abstractmethod
    def _describe_error(self, answer: Mapping[str, Any]) -> str | None:
        """Return the engine's own message of an error."""

    def _export_options(self, name: str) -> dict[str, str]:
        """Return the options of the exporter for a model of this name."""
        return {}

    def _keeps_missing(self) -> bool:
        """Return whether the engine sends absent values as missing to a model that is exported with default options."""
        return True

    def _send(self, method: str, path: str, *, accept: Sequence[int] = (), **options: Any) -> dict[str, Any]:
        """Send a request and return the JSON object of the answer; statuses in `accept` are not errors.

        An answer that is not a JSON object gives an empty dict.
        """
        import httpx

        url = path if path.startswith("http") else self.url + path
        try:
            response = self._client.request(method, url, **options)
        except httpx.HTTPError as error:
            raise PippinError(f"cannot reach {self.name}: {error}: {self.url}") from None
        try:
            content = response.json()
        except ValueError:
            content = None
        answer: dict[str, Any] = content if isinstance(content, dict) else {}
        if response.is_error and response.status_code not in accept:
            reason = self._describe_error(answer)
            raise PippinError(
                f"{self.name} answered {response.status_code} to {method} {path}: {reason or response.reason_phrase}"
            )
        return answer

    def _member(self, answer: Mapping[str, Any], *names: str) -> Any:
        """Return a nested member of an answer; PippinError if the server is another one."""
        value: Any = answer
        for name in names:
            if not isinstance(value, Mapping) or name not in value:
                raise PippinError(f"{self.url} does not answer as {self.name} does: {'.'.join(names)} is missing")
            value = value[name]
        return value

    def _document_id(self, fields: Mapping[str, Any]) -> str:
        """Return the id of a document in judgements and runs."""
        if self.id_field not in fields:
            raise DataError(f"a document lacks the field {self.id_field!r}; name the field of ids with --id-field")
        return str(fields[self.id_field])

    def write_features(self, mapping: Any, *, name: str) -> int:
        """Write all features of a mapping into the engine, replacing an earlier set of that name.

        Parameters
        ----------
        mapping : path or dict
            How the engine computes the features; ``pippin engine features`` writes such a file.
        name : str
            Name of the feature store (Solr) or feature set (Elasticsearch, OpenSearch).

        Returns
        -------
        int
            The number of features.
        """
        features = as_mapping(mapping)
        return self._write_features(name, self._feature_definitions(features, name, self._keeps_missing()))

    def deploy(
        self, model: Any, mapping: Any, *, name: str = "pippin", check: Any = None, require: str = "order",
        force: bool = False, **options: Any,
    ) -> Deployment:  # fmt: skip
        """Write a model and its features into the engine.

        Parameters
        ----------
        model : Ranker or path
            A trained ranker, or its file.
        mapping : path or dict
            How the engine computes the features; ``pippin engine features`` writes such a file.
        name : str, default "pippin"
            Name of the model and of its set of features. An existing model of this name is replaced.
        check : Dataset, path or DataFrame, optional
            Labelled data for the certificate. Default: the documents of the training set that the model holds.
        require : str, default "order"
            What the certificate must show, as in :func:`pippin.export`.
        force : bool, default False
            Deploy the model even if the certificate does not meet `require`.
        **options
            Options of the exporter, such as ``missing="direction"`` for Solr.

        Returns
        -------
        Deployment
            The name of the model, the number of its features, and the certificate.
        """
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "model.json"
            result = export(
                model, self.target, out, check=check, features=mapping, name=name,
                options=self._export_options(name) | options, require=require, force=force,
            )  # fmt: skip
            file = Path(f"{out}{self.features_file}")
            if not file.exists():
                raise DataError(
                    f"the mapping does not define features for {self.name}; write one with `pippin engine features`"
                )
            n_features = self._write_features(name, json.loads(file.read_bytes()))
            self._write_model(name, json.loads(out.read_bytes()))
        return Deployment(name, n_features, result.certificate)

    def log_features(
        self,
        queries: Queries,
        qrels: Any,
        mapping: Any,
        *,
        depth: int = 0,
        parameters: Mapping[str, str] | None = None,
        missing: str | None = None,
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
            Parameters of the first phase, for `depth`.
        missing : {"zero", "direction"}, optional
            What an absent value is for the model: 0, or NaN. Default: what the engine sends to models that are exported
            with default options.

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
        if missing not in (None, "zero", "direction"):
            raise UnknownName("treatment of missing values", missing, ("zero", "direction"))
        keeps_missing = self._keeps_missing() if missing is None else missing == "direction"
        self._write_features(LOG_STORE, self._feature_definitions(features, LOG_STORE, keeps_missing))
        topics = {query.id: query for query in load_queries(queries)}
        names = features.names(list(features.entries))
        rows: list[list[float]] = []
        labels, query_ids, document_ids = [], [], []
        not_indexed: list[tuple[str, str]] = []
        for query, judged in judgements.by_query().items():
            if query not in topics:
                continue
            text = topics[query].text
            candidates = dict(judged)
            if depth:
                for hit in self._retrieve(text, depth, parameters, None, logs_features=False):
                    candidates.setdefault(hit.id, 0)
            values = self._logged_values(text, list(candidates), names, math.nan if keeps_missing else 0.0)
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

    def _logged_values(
        self, text: str, documents: Sequence[str], names: Sequence[str], absent: float
    ) -> dict[str, list[float]]:
        """Return the values of features by document id; documents that are not indexed are absent."""
        result: dict[str, list[float]] = {}
        for start in range(0, len(documents), DOCUMENTS_PER_REQUEST):
            for hit in self._log(text, documents[start : start + DOCUMENTS_PER_REQUEST]):
                result[hit.id] = [hit.features.get(name, absent) for name in names]
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
            Parameters of the first phase: request parameters of Solr such as ``{"defType": "edismax", "qf": "title
            body"}``, or members of a ``multi_match`` query such as ``{"fields": "title body"}``.

        Returns
        -------
        EngineRun
            The run, the queries without a result, and the response times.
        """
        ranked: dict[str, dict[str, float]] = {}
        milliseconds, unmatched = [], []
        for query in load_queries(queries):
            started = time.perf_counter()
            hits = self._retrieve(query.text, depth, parameters, model, logs_features=False)
            milliseconds.append((time.perf_counter() - started) * 1000)
            if hits:
                # The position decides: engines break ties of the score by their own order.
                ranked[query.id] = {hit.id: -float(i) for i, hit in enumerate(hits)}
            else:
                unmatched.append(query.id)
        if not ranked:
            raise self._no_result_error()
        return EngineRun(Run.from_dict(ranked, name=model or self.name.lower()), unmatched, np.array(milliseconds))

    def _no_result_error(self) -> DataError:
        return DataError(f"no query has a result in {self.url}; name the fields to search in the parameters")

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
            Parameters of the first phase, as in :meth:`run`.
        **options
            Options of the exporter, as in :meth:`deploy`.

        Returns
        -------
        Verification
            The number of documents, the largest difference, and the documents whose scores differ.
        """
        ranker = load(model) if isinstance(model, (str, os.PathLike)) else model
        exporter, trained = EXPORTERS[self.target], ranker.to_model()
        options = self._export_options(name) | options
        normalisers = self._stored_normalisers(name)
        if normalisers and isinstance(trained, LinearModel):  # the export adds them where float32 sums need them
            engine_names = as_mapping(mapping).for_model(trained.names).names(trained.names)
            trained = with_normalisers(trained, [normalisers[feature] for feature in engine_names])
        request, files = render_files(exporter, trained, Path("model.json"), mapping, name, options)
        names = request.mapping.names(trained.names)
        keys: list[tuple[str, str]] = []
        scores: list[float] = []
        rows: list[list[float]] = []
        for query in load_queries(queries):
            for hit in self._retrieve(query.text, depth, parameters, name, logs_features=True):
                keys.append((query.id, hit.id))
                scores.append(hit.score)
                rows.append([hit.features.get(feature, math.nan) for feature in names])
        if not rows:
            raise self._no_result_error()
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
