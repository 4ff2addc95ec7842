"""The function `pippin.export`: write a trained ranker for an engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pippin.errors import DataError
from pippin.models.export import ExportResult, export_model
from pippin.models.exporters.base import EXPORTERS
from pippin.rankers.models import align_features, as_ranker
from pippin.rankers.training import as_dataset

_NO_SAMPLE = "the model file contains no sample of its training data; pass labelled data with --check DATA"


def export(
    model: Any,
    to: str,
    out: str | os.PathLike[str],
    *,
    check: Any = None,
    features: Any = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    require: str = "order",
    force: bool = False,
) -> ExportResult:
    """Write a model for an engine, with a certificate of what the engine's scoring changes.

    Parameters
    ----------
    model : Ranker, path, or fitted model of another library
        A trained ranker, or its file; files and objects of LightGBM, XGBoost, CatBoost and scikit-learn are read too.
    to : str
        The target, such as "solr"; `pippin export` lists all targets.
    out : path
        The file to write. The certificate is `out` + ".parity.json"; a feature set is written beside it too.
    check : Dataset, path or DataFrame, optional
        Labelled data for the certificate. Default: the documents of the training set that the model holds.
    features : path or dict, optional
        Names and definitions of the features in the engine: a JSON file, or its content.
    name : str, optional
        Name of the model in the engine. Default: the name of the file.
    options : dict, optional
        Options of the target.
    require : {"bits", "order"} or "ndcg=LIMIT", default "order"
        What the engine must keep on the data of the certificate: equal scores, the order of all queries (except between
        documents whose scores are equal in float32), or NDCG@10 up to LIMIT.
    force : bool, default False
        Write the files even if the requirement is not met, or if features are normalised within each query and the
        engine computes raw features.

    Returns
    -------
    ExportResult
        The paths of the files, and the certificate.

    Raises
    ------
    ConventionError
        If the engine cannot represent the model, or does not meet `require`. Nothing is written then.
    DataError
        If there are no documents for the certificate.

    Examples
    --------
    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], [1, 1, 1])
    >>> file = tempfile.mkdtemp() + "/model.sql"
    >>> certificate = export(pippin.train(data, "ranksvm"), "sql", file).certificate
    >>> certificate.reordered_queries, certificate.largest_difference < 1e-12
    ([], True)
    """
    exporter = EXPORTERS["elasticsearch-ltr" if to == "es" else to]  # `es` as in `pippin engine features --for`
    documents = None if check is None else as_dataset(check)
    ranker = as_ranker(model, () if documents is None else documents.feature_names)
    if not hasattr(ranker, "to_model"):
        raise DataError(f"{type(ranker).__name__} cannot be exported: it has no method to_model()")
    trained = ranker.to_model()
    data = ranker.sample_ if documents is None else align_features(ranker, documents)
    if data is None:
        raise DataError(_NO_SAMPLE)
    scores = ranker.predict(data)
    return export_model(
        trained, exporter, out, data, scores, features=features, name=name, options=options,
        feature_version=ranker.feature_version_, require=require, force=force,
    )  # fmt: skip
