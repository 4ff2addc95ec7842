"""Pippin: an apple-to-apple learning-to-rank workbench.

    read                            read any file or folder: Dataset, Qrels, Run, scores, Folds
    read_dataset, read_folds, read_qrels, read_run     read one type
    evaluate, compare               evaluate as one or every tool does; compare systems with significance tests
    reconcile, correlate, audit     explain why tools disagree; correlate leaderboards; check data for problems
    bounds, agree                   bound a measure over unjudged documents; measure the agreement of two judges
    train, rank, save, load         train rankers, score documents, write and read models
    export                          write a model for another engine, with a certificate
    build, index                    from documents to a data set, or to an index
    search, rerank, diversify       from new queries to a run
    links                           the link structure of a collection
    Pipeline                        candidates, features and a model as one object
    bench, report                   benchmark rankers on data sets; write pages, tables and figures
    tools, measures, features, list_rankers     list what is registered
    engines                         Solr, OpenSearch, Elasticsearch: log features, deploy models, verify scores
    boards                          leaderboards with hidden labels that others submit to
    clicks                          click logs, click models, propensities, interleaving
    studies                         feature curves, learning curves, training conventions, research directions
    compat                          emulators of the original evaluation tools
    convert                         convert ranking data between formats
    demo, synthetic                 benchmark on data that every machine has; disagreement of tools on a small data set
    metrics, correlation            a scorer for scikit-learn; single rank correlation coefficients

A name is imported when it is first used, so that `import pippin` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pippin._version import __version__ as __version__
from pippin.display import set_renderer

if TYPE_CHECKING:
    from pippin import boards, clicks, compat, correlation, engines, metrics, rankers
    from pippin.benchmarks import studies
    from pippin.benchmarks.bench import bench
    from pippin.benchmarks.leaderboard import Leaderboard
    from pippin.benchmarks.runner import BenchResult
    from pippin.benchmarks.store import Results
    from pippin.benchmarks.verify import verify
    from pippin.collections.build import Built, build, explain_collection
    from pippin.collections.collection import Collection
    from pippin.collections.diversify import diversify
    from pippin.collections.features.base import features
    from pippin.collections.index.index import Index
    from pippin.collections.link_summary import links
    from pippin.collections.search import Pipeline, SearchResults, index, rerank, search
    from pippin.data.dataset import Dataset
    from pippin.data.fold_files import read_folds
    from pippin.data.folds import Folds
    from pippin.data.qrels import Qrels, Run
    from pippin.data.read import convert, read, read_dataset, read_qrels, read_run
    from pippin.errors import (
        ConventionError,
        DataError,
        MissingDependency,
        PippinError,
        PippinWarning,
        PluginError,
        UnknownName,
    )
    from pippin.evaluation.agreement import AssessorAgreement, agree
    from pippin.evaluation.audit import Audit, audit
    from pippin.evaluation.bounds import Bounds, bounds
    from pippin.evaluation.compare import Comparison, Comparisons, compare
    from pippin.evaluation.convention import Convention
    from pippin.evaluation.correlation import Correlation, correlate
    from pippin.evaluation.evaluate import evaluate
    from pippin.evaluation.evaluation import Evaluation, Evaluations
    from pippin.evaluation.measures import Measure
    from pippin.evaluation.reconcile import Reconciliation, Reconciliations, reconcile
    from pippin.evaluation.registry_views import measures, tools
    from pippin.evaluation.reported import check_reported
    from pippin.evaluation.tools import Tool
    from pippin.rankers import list_rankers
    from pippin.rankers.base import Ranker
    from pippin.rankers.export import export
    from pippin.rankers.models import load, save
    from pippin.rankers.training import rank, train
    from pippin.reports.demo import demo, synthetic
    from pippin.reports.report import report

# Public name → the module that defines it.
_HOMES = {
    "AssessorAgreement": "pippin.evaluation.agreement",
    "Audit": "pippin.evaluation.audit",
    "BenchResult": "pippin.benchmarks.runner",
    "Bounds": "pippin.evaluation.bounds",
    "Built": "pippin.collections.build",
    "Collection": "pippin.collections.collection",
    "Comparison": "pippin.evaluation.compare",
    "Comparisons": "pippin.evaluation.compare",
    "Convention": "pippin.evaluation.convention",
    "ConventionError": "pippin.errors",
    "Correlation": "pippin.evaluation.correlation",
    "DataError": "pippin.errors",
    "Dataset": "pippin.data.dataset",
    "Evaluation": "pippin.evaluation.evaluation",
    "Evaluations": "pippin.evaluation.evaluation",
    "Folds": "pippin.data.folds",
    "Index": "pippin.collections.index.index",
    "Leaderboard": "pippin.benchmarks.leaderboard",
    "Measure": "pippin.evaluation.measures",
    "MissingDependency": "pippin.errors",
    "Pipeline": "pippin.collections.search",
    "PippinError": "pippin.errors",
    "PippinWarning": "pippin.errors",
    "PluginError": "pippin.errors",
    "Qrels": "pippin.data.qrels",
    "Ranker": "pippin.rankers.base",
    "Reconciliation": "pippin.evaluation.reconcile",
    "Reconciliations": "pippin.evaluation.reconcile",
    "Results": "pippin.benchmarks.store",
    "Run": "pippin.data.qrels",
    "SearchResults": "pippin.collections.search",
    "Tool": "pippin.evaluation.tools",
    "UnknownName": "pippin.errors",
    "agree": "pippin.evaluation.agreement",
    "audit": "pippin.evaluation.audit",
    "bench": "pippin.benchmarks.bench",
    "bounds": "pippin.evaluation.bounds",
    "build": "pippin.collections.build",
    "check_reported": "pippin.evaluation.reported",
    "compare": "pippin.evaluation.compare",
    "convert": "pippin.data.read",
    "correlate": "pippin.evaluation.correlation",
    "demo": "pippin.reports.demo",
    "diversify": "pippin.collections.diversify",
    "evaluate": "pippin.evaluation.evaluate",
    "explain_collection": "pippin.collections.build",
    "export": "pippin.rankers.export",
    "features": "pippin.collections.features.base",
    "index": "pippin.collections.search",
    "links": "pippin.collections.link_summary",
    "list_rankers": "pippin.rankers",
    "load": "pippin.rankers.models",
    "measures": "pippin.evaluation.registry_views",
    "rank": "pippin.rankers.training",
    "read": "pippin.data.read",
    "read_dataset": "pippin.data.read",
    "read_folds": "pippin.data.fold_files",
    "read_qrels": "pippin.data.read",
    "read_run": "pippin.data.read",
    "reconcile": "pippin.evaluation.reconcile",
    "report": "pippin.reports.report",
    "rerank": "pippin.collections.search",
    "save": "pippin.rankers.models",
    "search": "pippin.collections.search",
    "synthetic": "pippin.reports.demo",
    "tools": "pippin.evaluation.registry_views",
    "train": "pippin.rankers.training",
    "verify": "pippin.benchmarks.verify",
}
# Public package → its module.
_PACKAGES = {
    **{
        name: f"pippin.{name}"
        for name in ("boards", "clicks", "compat", "correlation", "engines", "metrics", "rankers")
    },
    "studies": "pippin.benchmarks.studies",
}

__all__ = [
    "AssessorAgreement",
    "Audit",
    "BenchResult",
    "Bounds",
    "Built",
    "Collection",
    "Comparison",
    "Comparisons",
    "Convention",
    "ConventionError",
    "Correlation",
    "DataError",
    "Dataset",
    "Evaluation",
    "Evaluations",
    "Folds",
    "Index",
    "Leaderboard",
    "Measure",
    "MissingDependency",
    "Pipeline",
    "PippinError",
    "PippinWarning",
    "PluginError",
    "Qrels",
    "Ranker",
    "Reconciliation",
    "Reconciliations",
    "Results",
    "Run",
    "SearchResults",
    "Tool",
    "UnknownName",
    "agree",
    "audit",
    "bench",
    "boards",
    "bounds",
    "build",
    "check_reported",
    "clicks",
    "compare",
    "compat",
    "convert",
    "correlate",
    "correlation",
    "demo",
    "diversify",
    "engines",
    "evaluate",
    "explain_collection",
    "export",
    "features",
    "index",
    "links",
    "list_rankers",
    "load",
    "measures",
    "metrics",
    "rank",
    "rankers",
    "read",
    "read_dataset",
    "read_folds",
    "read_qrels",
    "read_run",
    "reconcile",
    "report",
    "rerank",
    "save",
    "search",
    "studies",
    "synthetic",
    "tools",
    "train",
    "verify",
]


set_renderer(lambda: importlib.import_module("pippin.reports.renderers"))

if not TYPE_CHECKING:  # type checkers read the imports above

    def __getattr__(name):
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        if name in _PACKAGES:
            return importlib.import_module(_PACKAGES[name])
        raise AttributeError(f"module 'pippin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
