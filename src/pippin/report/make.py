"""A result as a page, as tables and as figures in files: the verb `pippin.report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pippin.bench.published import Published, read_published
from pippin.bench.store import Results
from pippin.errors import ConventionError, DataError
from pippin.evaluation.compare import Comparison
from pippin.evaluation.reconcile import Reconciliation, Reconciliations
from pippin.files import atomic_write

PAGES = (".html", ".htm")


def report(
    result: Any,
    output: str | os.PathLike[str] = "report",
    *,
    page: bool = True,
    tables: bool = True,
    figures: str | Sequence[str] = ("svg", "pdf"),
    published: str | os.PathLike[str] | Sequence[Published] = (),
    convention: str | None = None,
    title: str = "",
    step: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write a result for people: one self-contained page, tables and figures for a paper; the files written.

    result      Results or the folder of some; a Comparison or several; a Reconciliation or several
    output      a folder, or the name of a page that ends in .html (then the page is all)
    page        the page, index.html
    tables      of Results: Markdown, LaTeX and CSV
    figures     of Results: in these formats (svg, pdf, png)
    published   a CSV file with dataset, ranker, measure, value to set beside ours
    convention  tables and figures of rankers trained under this tool; the page has all
    step        called with a word whenever a part of the work is done

    >>> import pippin, tempfile
    >>> labels, scores, qid = [0, 1, 2, 0], [0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2]
    >>> why = pippin.reconcile(labels, scores, target="letor4", qid=qid)
    >>> [path.name for path in pippin.report(why, tempfile.mkdtemp() + "/why.html")]
    ['why.html']
    """
    target = Path(output)
    alone = target.suffix.lower() in PAGES
    if isinstance(result, (str, os.PathLike, Results)):
        results = result if isinstance(result, Results) else Results.open(result)
        beside = read_published(published) if isinstance(published, (str, os.PathLike)) else list(published)
        kinds = [figures] if isinstance(figures, str) else list(figures)
        return _of_results(
            results,
            target,
            page or alone,
            tables and not alone,
            [] if alone else kinds,
            beside,
            convention,
            title,
            step,
        )
    text = _page_of(result)
    place = target if alone else target / "index.html"
    _write(place, text)
    return [place]


def _of_results(
    results: Results, target: Path, page: bool, tables: bool, figures: list[str], published: list[Published],
    convention: str | None, title: str, step: Callable[[str], None],
) -> list[Path]:  # fmt: skip
    from pippin.report.bench_data import Gathered
    from pippin.report.bench_page import bench_page
    from pippin.report.export import figures_begun, write_tables

    gathered, written = Gathered(results), []
    with figures_begun(gathered, target / "figures", figures, convention) if figures else nullcontext() as drawing:
        if page:
            written.append(target if target.suffix.lower() in PAGES else target / "index.html")
            _write(written[0], bench_page(gathered, title=title, published=published, step=step))
        if tables:
            written += write_tables(gathered, target / "tables", published, convention)
        if drawing is not None:
            written += drawing.finish(step)
    return written


def _page_of(result: Any) -> str:
    """The page of comparisons or of reconciliations."""
    if isinstance(result, Reconciliations):
        result = list(result.values())
    several: Any = [result] if isinstance(result, (Comparison, Reconciliation)) else result
    if isinstance(several, Sequence) and several and all(isinstance(one, Comparison) for one in several):
        from pippin.report.compare_page import compare_page

        return compare_page(several, "the data", [f"test {several[0].first.tested.test}"])
    if isinstance(several, Sequence) and several and all(isinstance(one, Reconciliation) for one in several):
        from pippin.report.reconcile_page import reconcile_page

        return reconcile_page(several, [])
    if isinstance(several, (list, tuple)):
        raise ConventionError("a page shows several comparisons, or several reconciliations, and not a mixture")
    raise DataError(f"a report is made of results, comparisons or reconciliations, not of {type(result).__name__}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as out:
        out.write(text.encode())
