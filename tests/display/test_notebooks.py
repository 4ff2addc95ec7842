"""Results, figures and progress bars in a running Jupyter kernel."""

from __future__ import annotations

from typing import Any

import pytest

CELLS = {
    "data": """
import numpy as np, pippin, time
generator = np.random.default_rng(1)
X = generator.random((300, 4))
y, qid = np.round(2 * X[:, 0] * X[:, 1] + generator.random(300) / 2).astype(int), np.repeat(np.arange(30), 10)
systems = {"first": X[:, 0], "second": X[:, 1]}
data = pippin.Dataset.from_arrays(X, y, qid)
data""",
    "evaluation": "pippin.evaluate(y, X[:, 0], ['NDCG@5', 'MAP'], qid=qid)",
    "evaluations": "pippin.evaluate(y, X[:, 0], 'NDCG@5', tool=['official', 'letor4', 'yahoo'], qid=qid)",
    "comparison": "pippin.compare(y, systems, 'NDCG@5', qid=qid)",
    "reconciliation": "pippin.reconcile(y, X[:, 0], 'NDCG@5', 'yahoo', 'letor4', qid=qid)",
    "figure": "pippin.compare(y, systems, 'NDCG@5', qid=qid).plot()",
    "progress": """
from pippin.display.terminal import progress
with progress(3, 'training') as bar:
    for name in ('a', 'b', 'c<'):
        time.sleep(0.25)
        bar.step(name)""",
    "model": "pippin.train(data, 'ranksvm')",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[Any]]:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["data", "evaluation", "evaluations", "comparison", "reconciliation", "figure"])
def test_results_show_as_html(name: str, outputs: dict[str, list[Any]]) -> None:
    results = [output.data for output in outputs[name] if output.output_type == "execute_result"]
    assert len(results) == 1
    if name == "figure":  # Jupyter draws Vega-Lite itself
        assert any("vega" in kind for kind in results[0])
        return
    assert "Traceback" not in results[0]["text/html"]
    if name in ("evaluation", "comparison", "reconciliation"):
        assert "<script" in results[0]["text/html"]  # draws the figure, without a network
        assert "src=" not in results[0]["text/html"]
    assert not any(output.output_type == "stream" for output in outputs[name])


@pytest.mark.filterwarnings("ignore")
def test_long_work_shows_a_bar_that_disappears(outputs: dict[str, list[Any]]) -> None:
    (bar,) = outputs["progress"]  # the bar, whose last state is empty
    assert bar.output_type == "display_data"
    assert bar.data["text/html"] == ""


def test_a_bar_escapes_its_text() -> None:
    from pippin.display.terminal import _NotebookBar

    bar = _NotebookBar("training", 1, 3, ", 2 s left", "c<")
    assert bar._repr_html_() == '<progress value="1" max="3"></progress> training: 1 of 3, 2 s left; c&lt;'
    assert repr(bar) == "training: 1 of 3, 2 s left; c<"
