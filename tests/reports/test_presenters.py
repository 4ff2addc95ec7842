"""Results as text, notebook view, data frame and figure."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.grids import HandGrid, number_queries

import pippin
from pippin.benchmarks.leaderboard import leaderboard
from pippin.collections.build import Built
from pippin.data import synthetic
from pippin.display import Displayable, Plottable, ResultsByTool
from pippin.errors import ConventionError, UnknownName
from pippin.evaluation import registry_views as shelves
from pippin.evaluation.agreement import agree
from pippin.evaluation.audit import audit
from pippin.evaluation.bounds import bounds
from pippin.evaluation.compare import compare
from pippin.evaluation.correlation import bootstrap, correlate
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import SystemEvaluations
from pippin.evaluation.paired_tests import anova
from pippin.evaluation.reconcile import reconcile
from pippin.reports.figures import MIME, Figure
from pippin.reports.renderers import RENDERERS, renderer_for

DATA = synthetic.make_dataset(12)
SYSTEMS = {"a": DATA.features[:, 0], "b": DATA.features[:, 1], "<c>": DATA.features[:, 2]}
VALUES = [[0.1, 0.4, 0.3], [0.2, 0.5, 0.6], [0.0, 0.7, 0.2]]


MANIFEST = {
    "collection": {"name": "pages", "documents": 3}, "features": ["bm25@title"],
    "tasks": {"": {"queries": 2, "documents": 6, "sampling": {"relevant": 3, "lost": 1}}},
}  # fmt: skip


def results() -> dict[str, Any]:
    compared = compare(DATA, SYSTEMS)
    grid = HandGrid()
    for ranker, values in (("good", [0.5, 0.6, 0.7]), ("poor", [0.2, 0.3, 0.5])):
        grid.add(ranker, number_queries(values))
    return {
        "Anova": anova(compared.first.table),
        "Audit": audit(DATA, SYSTEMS["a"]),
        "Built": Built(Path("mine"), MANIFEST),
        "Comparison": compared,
        "Comparisons": compare(DATA, SYSTEMS, ["NDCG@10", "AP"]),
        "Bounds": bounds({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}),
        "AssessorAgreement": agree({"q": {"a": 1, "b": 0}}, {"q": {"a": 2, "b": 0}}),
        "Correlation": correlate([1, 2, 3], [1, 3, 2]),
        "Correlations": correlate([1, 2, 3], [1, 3, 2], None),
        "CorrelationInterval": bootstrap(VALUES, VALUES, "tau_b", resamples=20),
        "Evaluation": evaluate(DATA, SYSTEMS["a"], ["NDCG@10", "num_ret"], "letor4"),
        "Evaluations": evaluate(DATA, SYSTEMS["a"], ["NDCG@10", "num_ret"], "all"),
        "Leaderboard": leaderboard(grid, "D"),
        "Reconciliation": reconcile(DATA, SYSTEMS["a"], target="letor4"),
        "Reconciliations": reconcile(DATA, SYSTEMS["a"]),
        "RegistryView": shelves.tools,
        "SystemEvaluations": SystemEvaluations(
            [evaluate(DATA, scores, "NDCG@10", "letor4") for scores in SYSTEMS.values()], {}
        ),
        "PairwiseTests": compared.first.tests,
    }


RESULTS = results()


def kinds(cls: type) -> set[type]:
    result = {cls}.union(*map(kinds, cls.__subclasses__()))
    return {kind for kind in result if kind.__module__.startswith("pippin.")}


def test_every_kind_of_result_is_shown_and_tried_here() -> None:
    for module in pkgutil.walk_packages(pippin.__path__, "pippin."):
        if module.name.split(".")[1] in ("evaluation", "benchmarks", "collections"):
            importlib.import_module(module.name)
    names = {kind.__name__ for kind in kinds(Displayable) - {Displayable, Plottable, ResultsByTool}}
    assert names == set(RENDERERS) - {"Tool"} == set(RESULTS)  # a tool is looked up, and no result


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_text_notebook_and_frames(name: str) -> None:
    result = RESULTS[name]
    assert type(result).__name__ == name
    assert len(repr(result)) > 20
    assert "object at 0x" not in repr(result)
    html = result._repr_html_()
    assert "<c>" not in html
    assert html.count("<table") == html.count("</table>")
    for document in (result.to_latex(), result.to_markdown()):
        assert len(document) > 20
        assert "object at 0x" not in document
    columns = result.to_dict()
    polars, pandas = result.to_polars(), result.to_pandas()
    assert polars.columns == list(pandas.columns) == list(columns)
    assert len(polars) == len(pandas) == len(next(iter(columns.values()))) > 0


@pytest.mark.parametrize("name", sorted(n for n, r in RESULTS.items() if isinstance(r, Plottable)))
def test_pictures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    result = RESULTS[name]
    with pytest.raises(UnknownName, match=f"no picture of {name} is called 'nothing'"):
        result.plot("nothing")
    first = result.plot()
    for kind in renderer_for(result).figures:
        figure = result.plot(kind)
        assert isinstance(figure, Figure)
        json.dumps(figure.spec, allow_nan=False)
        bundle = figure._repr_mimebundle_()
        assert bundle[MIME] == figure.spec
        assert bundle["image/svg+xml"].startswith("<svg")
        for ending in ("svg", "png", "pdf", "html", "json"):
            figure.save(tmp_path / f"{kind}.{ending}")
            assert (tmp_path / f"{kind}.{ending}").stat().st_size > 200
    with pytest.raises(ConventionError, match="unknown figure format 'xyz': use svg, pdf, png, html or json"):
        first.save(tmp_path / "figure.xyz")


def test_tools_without_a_value_are_reported_with_the_reason() -> None:
    labels, scores, qid = [5, 0, 1], [3.0, 2.0, 1.0], [1, 1, 1]
    evaluation = evaluate(labels, scores, "ERR", "all", qid=qid)
    assert "gdeval refuses labels above 4" in evaluation.left_out["gdeval"]
    assert "gdeval" not in evaluation
    assert "gdeval is left out: gdeval refuses labels above 4" in repr(evaluation)
    assert "gdeval is left out" in evaluation._repr_html_()
    with pytest.raises(ConventionError, match="label 5 is above"):
        evaluate(labels, scores, "ERR", ["xgboost", "gdeval"], qid=qid)
    with pytest.raises(UnknownName, match="no tool of this result is called 'gdeval'"):
        evaluation["gdeval"]


def test_registered_items_have_a_repr_and_a_notebook_view() -> None:
    tool = pippin.tools["beir"]
    assert repr(tool).startswith("Tool('beir': BEIR ")
    assert repr(tool).endswith(", retrieval)")
    page = tool._repr_html_()
    assert "self_retrieval" in page
    assert tool.caveats[0] in page
    assert "recall_level_rounding" not in page  # as in the definition
    assert repr(pippin.Convention()) == "Convention()"
    assert repr(pippin.Convention(empty=1.0, gain="label")) == "Convention(gain='label', empty=1.0)"
    assert eval(repr(tool.convention), {"Convention": pippin.Convention}) == tool.convention
    assert repr(pippin.measures["NDCG"]).startswith("MeasureDefinition('NDCG': discounted gain")
    good, bad = {"a": 2, "b": 1}, {"a": 1, "b": 2}
    qrels = {"q": {"a": 1, "b": 0}, "p": {"a": 1, "b": 0}}
    compared = pippin.compare(qrels, {"x": {"q": bad, "p": bad}, "y": {"q": good, "p": bad}}, "RR", "official")
    assert repr(compared.first) == "ToolLeaderboard('official', RR: y 0.7500, x 0.5000)"
