"""Small results, their page and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.benchmarks.published import PublishedValue
from pippin.benchmarks.store import Results
from pippin.cli.main import main
from pippin.data import synthetic
from pippin.data.letor import write_letor
from pippin.reports.benchmark_data import BenchmarkData
from pippin.reports.benchmark_page import bench_page

RANKERS = ("best-feature", "regression", "ranksvm")
TOOLS_ASKED = "official,letor4,yahoo,gdeval,mslr"
MEASURES = ("NDCG@1", "NDCG@5", "NDCG@10", "P@5", "MAP")
EVIL = "</script><b>evil</b>"


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three rankers on two small data sets in three folds."""
    folder = tmp_path_factory.mktemp("bench")
    for seed, name in enumerate(("one", "two"), 1):
        data = synthetic.make_dataset(queries=60, seed=seed)
        dense = type(data)(np.nan_to_num(data.features), data.labels, data.offsets, data.query_ids, data.document_ids)
        write_letor(dense, folder / f"{name}.txt")
    files = [str(folder / "one.txt"), str(folder / "two.txt")]
    grid = ["--ranker", ",".join(RANKERS), "--tool", TOOLS_ASKED, "--measure", ",".join(MEASURES), "--folds", "3",
            "--convention", "official,yahoo"]  # fmt: skip
    code = main(["bench", *files, *grid, "--quick", "--jobs", "1", "-q", "-o", str(folder / "results")])
    assert code == 0
    return Results.open(folder / "results")


@pytest.fixture(scope="session")
def file(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    published = [PublishedValue("one", "Ranking SVM", "ranksvm", "NDCG@10", 0.5)]
    path.write_text(bench_page(BenchmarkData(results), title=f"A page {EVIL}", published=published), encoding="utf-8")
    return path


SETTLED, MOVING = "body[data-ready]:not([data-coming])", "body:not([data-ready]), body[data-coming]"


def draw_figures(page: Any) -> None:
    """Draw now what waits until its reader comes to it."""
    page.evaluate("for (const place of document.querySelectorAll('.figure')) place.waiting?.()")


@dataclass
class BrowserPage:
    """A page in the browser, with all it asked for and said."""

    page: Any
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def open(self, file: Path, fragment: str = "", *, draw: bool = True) -> Any:
        """Open a page and wait until nothing changes any more."""
        self.page.goto("about:blank")
        self.page.goto(file.as_uri() + fragment)
        self.settle()
        if draw:
            draw_figures(self.page)
        return self.page

    def settle(self) -> Any:
        """Wait until data decoded on demand has arrived: numbers of folds, pairs and queries."""
        self.page.wait_for_selector(SETTLED)
        return self.page

    def column(self, name: str) -> list[str]:
        cells = f'#board tbody tr[data-ranker] > [data-id="{name}"]'
        return [text.strip() for text in self.page.locator(cells).all_inner_texts()]


@pytest.fixture
def browser_page(browser: Any) -> Iterator[BrowserPage]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(60_000)  # a busy machine draws slowly
    result = BrowserPage(page)
    page.add_locator_handler(page.locator(MOVING), lambda: None)  # no click before it is settled: it would be lost
    page.on("request", lambda request: result.requests.append(request.url))
    page.on("console", lambda message: result.said.append(message.text))
    page.on("pageerror", lambda error: result.said.append(str(error)))
    yield result
    page.close()
