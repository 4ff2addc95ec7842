"""Pippin: an apple-to-apple learning-to-rank workbench.

    read                            any file or folder: Dataset, Judgements, Run, scores, Folds
    evaluate, compare               what a tool, or every tool, says of one ranking; of many systems, with significance
    reconcile, correlate, audit     why tools disagree; whether leaderboards agree; whether data are fit
    bounds, agree                   what unjudged documents could change; whether two judges, people and a model, agree
    train, rank, save, load         rankers and their models
    export                          a model as another engine reads it, with a certificate
    build, Pipeline                 from documents to a data set; from new queries to a run
    bench, report                   all rankers on all data; pages, tables and figures
    tools, measures, rankers, features      what there is to choose from
    clicks                          logs, simulated people, propensities, interleaving: learning without labels
    metrics, correlation            a scorer for scikit-learn; each rank correlation by itself

Names are loaded when they are first used, so that `import pippin` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pippin import shown

if TYPE_CHECKING:
    from pippin import clicks, correlation, metrics, rankers
    from pippin.bench.benchmark import bench
    from pippin.bench.leaderboard import Leaderboard
    from pippin.bench.store import Results
    from pippin.collection.built import Built, build
    from pippin.collection.collection import Collection
    from pippin.collection.features.shelf import features
    from pippin.collection.retrieval import Pipeline
    from pippin.data.dataset import Dataset
    from pippin.data.folds import Folds
    from pippin.data.read import read
    from pippin.data.trec import Judgements, Run
    from pippin.deploy.exporting import export
    from pippin.errors import ConventionError, DataError, MissingExtra, PippinError, PluginError, UnknownName
    from pippin.evaluation.audit import Audit, audit
    from pippin.evaluation.bounds import Bounds, bounds
    from pippin.evaluation.compare import Comparison, compare
    from pippin.evaluation.convention import Convention
    from pippin.evaluation.correlation import Correlation, correlate
    from pippin.evaluation.evaluate import Evaluation, Evaluations, evaluate
    from pippin.evaluation.judges import Judges, agree
    from pippin.evaluation.measures import Measure
    from pippin.evaluation.reconcile import Reconciliation, Reconciliations, reconcile
    from pippin.evaluation.shelves import measures, tools
    from pippin.evaluation.tools import Tool
    from pippin.rankers.base import Ranker
    from pippin.rankers.models import load, save
    from pippin.rankers.training import rank, train
    from pippin.report.make import report

__version__ = "0.1.0"

shown.introduce("pippin.report.presenters")

# Where a name is at home. `bench` and `report` are packages that are called themselves; `rankers` lists its own.
_HOMES = {
    "Audit": "pippin.evaluation.audit",
    "Bounds": "pippin.evaluation.bounds",
    "Built": "pippin.collection.built",
    "Collection": "pippin.collection.collection",
    "Comparison": "pippin.evaluation.compare",
    "Convention": "pippin.evaluation.convention",
    "ConventionError": "pippin.errors",
    "Correlation": "pippin.evaluation.correlation",
    "DataError": "pippin.errors",
    "Dataset": "pippin.data.dataset",
    "Evaluation": "pippin.evaluation.evaluate",
    "Evaluations": "pippin.evaluation.evaluate",
    "Folds": "pippin.data.folds",
    "Judgements": "pippin.data.trec",
    "Judges": "pippin.evaluation.judges",
    "Leaderboard": "pippin.bench.leaderboard",
    "Measure": "pippin.evaluation.measures",
    "MissingExtra": "pippin.errors",
    "Pipeline": "pippin.collection.retrieval",
    "PippinError": "pippin.errors",
    "PluginError": "pippin.errors",
    "Ranker": "pippin.rankers.base",
    "Reconciliation": "pippin.evaluation.reconcile",
    "Reconciliations": "pippin.evaluation.reconcile",
    "Results": "pippin.bench.store",
    "Run": "pippin.data.trec",
    "Tool": "pippin.evaluation.tool",
    "UnknownName": "pippin.errors",
    "agree": "pippin.evaluation.judges",
    "audit": "pippin.evaluation.audit",
    "bounds": "pippin.evaluation.bounds",
    "build": "pippin.collection.built",
    "compare": "pippin.evaluation.compare",
    "correlate": "pippin.evaluation.correlation",
    "evaluate": "pippin.evaluation.evaluate",
    "export": "pippin.deploy.exporting",
    "features": "pippin.collection.features.shelf",
    "load": "pippin.rankers.models",
    "measures": "pippin.evaluation.shelves",
    "rank": "pippin.rankers.training",
    "read": "pippin.data.read",
    "reconcile": "pippin.evaluation.reconcile",
    "save": "pippin.rankers.models",
    "tools": "pippin.evaluation.shelves",
    "train": "pippin.rankers.training",
}
_PACKAGES = ("bench", "clicks", "correlation", "metrics", "rankers", "report")

__all__ = [
    "Audit",
    "Bounds",
    "Built",
    "Collection",
    "Comparison",
    "Convention",
    "ConventionError",
    "Correlation",
    "DataError",
    "Dataset",
    "Evaluation",
    "Evaluations",
    "Folds",
    "Judgements",
    "Judges",
    "Leaderboard",
    "Measure",
    "MissingExtra",
    "Pipeline",
    "PippinError",
    "PluginError",
    "Ranker",
    "Reconciliation",
    "Reconciliations",
    "Results",
    "Run",
    "Tool",
    "UnknownName",
    "agree",
    "audit",
    "bench",
    "bounds",
    "build",
    "clicks",
    "compare",
    "correlate",
    "correlation",
    "evaluate",
    "export",
    "features",
    "load",
    "measures",
    "metrics",
    "rank",
    "rankers",
    "read",
    "reconcile",
    "report",
    "save",
    "tools",
    "train",
]


if not TYPE_CHECKING:  # type checkers know the names above, and should know no others

    def __getattr__(name):
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        try:
            return importlib.import_module(f"pippin.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"pippin.{name}":
                raise
            raise AttributeError(f"module 'pippin' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return list(__all__)
