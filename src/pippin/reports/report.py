"""Write a result as a page, tables and figures: the function `pippin.report`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pippin.benchmarks.published import PublishedValue, read_published
from pippin.benchmarks.store import Results
from pippin.dependencies import missing_dependency, missing_modules
from pippin.display.terminal import disable_progress, progress
from pippin.errors import ConventionError, DataError, PippinWarning
from pippin.evaluation.compare import Comparison
from pippin.evaluation.reconcile import Reconciliation, Reconciliations
from pippin.reports.benchmark_data import BenchmarkData
from pippin.reports.benchmark_page import bench_page
from pippin.reports.figures import check_kinds
from pippin.reports.paper import write_figures, write_tables
from pippin.storage.files import atomic_write

PAGES = (".html", ".htm")


def report(
    result: Any,
    out: str | os.PathLike[str] = "report",
    *,
    page: bool = False,
    tables: bool = False,
    figures: str | Sequence[str] = (),
    published: str | os.PathLike[str] | Sequence[PublishedValue] = (),
    convention: str | None = None,
    title: str = "",
    verbose: bool = False,
) -> list[Path]:
    """Write a result for readers: one self-contained page, and tables and figures for a paper.

    Without `page`, `tables` and `figures`, everything is written; figures then only where vl-convert is installed.

    Parameters
    ----------
    result : Results, path, Comparison, Reconciliation or a sequence of the last two
        What is shown; a path names the folder of benchmark results. Tables and figures are made of results only.
    out : path, default "report"
        A folder, or the name of a page that ends in ``.html``, which is then all that is written.
    page : bool, default False
        Write the page, ``index.html``.
    tables : bool, default False
        Write tables: Markdown, LaTeX and CSV.
    figures : str or sequence of str, optional
        Write figures in these formats: "svg", "pdf", "png".
    published : path or sequence of PublishedValue, optional
        CSV file with the columns dataset, ranker, measure and value to compare with the results.
    convention : str, optional
        Training convention of tables and figures; the page has all.
    title : str, optional
        Title of the page.
    verbose : bool, default False
        Show progress.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ConventionError
        If tables or figures are requested together with a page named by `out`, or results are mixed.
    MissingDependency
        If figures are requested and vl-convert is not installed.

    Examples
    --------
    >>> import pippin, tempfile
    >>> labels, scores, qid = [0, 1, 2, 0], [0.4, 0.3, 0.2, 0.1], [1, 1, 2, 2]
    >>> reconciliation = pippin.reconcile(labels, scores, target="letor4", qid=qid)
    >>> [path.name for path in pippin.report(reconciliation, tempfile.mkdtemp() + "/why.html")]
    ['why.html']
    """
    target = Path(out)
    is_page = target.suffix.lower() in PAGES
    formats = [figures] if isinstance(figures, str) else list(figures)
    if is_page and (tables or formats):
        raise ConventionError("tables and figures go into a folder; name one as out, or leave them out")
    page_path = target if is_page else target / "index.html"
    if not isinstance(result, (str, os.PathLike, Results)):
        _write(page_path, _page_of(result))
        return [page_path]
    everything = not (is_page or page or tables or formats)
    if everything:
        formats = _available_formats()
    elif formats:
        check_kinds(formats)
    comparison_values = read_published(published) if isinstance(published, (str, os.PathLike)) else list(published)
    data = BenchmarkData(result if isinstance(result, Results) else Results.open(result))
    paths = []
    with nullcontext() if verbose else disable_progress():
        if page or is_page or everything:
            _write(page_path, _benchmark_page(data, title, comparison_values))
            paths.append(page_path)
        if tables or everything:
            paths += write_tables(data, target / "tables", comparison_values, convention)
        if formats:
            with progress(0, "figures") as bar:
                for figure_paths in write_figures(data, target / "figures", formats, convention):
                    paths += figure_paths
                    bar.step(figure_paths[0].stem)
    return paths


def _available_formats() -> list[str]:
    """Return the formats of figures that are drawn by default: none, with a warning, without vl-convert."""
    if not missing_modules("vl_convert"):
        return ["svg", "pdf"]
    warnings.warn(
        f"the page and the tables are written without figures: {missing_dependency('drawing figures', 'vl_convert')}",
        PippinWarning,
        stacklevel=3,
    )
    return []


def _benchmark_page(data: BenchmarkData, title: str, published: Sequence[PublishedValue]) -> str:
    names = data.names
    with progress(len(names.conventions) * len(names.data) * len(names.measures), "page") as bar:
        return bench_page(data, title=title, published=published, step=bar.step)


def _page_of(result: Any) -> str:
    """Return the page of comparisons or of reconciliations."""
    if isinstance(result, Reconciliations):
        result = list(result.values())
    results: Any = [result] if isinstance(result, (Comparison, Reconciliation)) else result
    if not isinstance(results, Sequence):
        raise DataError(f"cannot report {type(result).__name__}: expected results, comparisons or reconciliations")
    if results and all(isinstance(item, Comparison) for item in results):
        from pippin.reports.comparison import compare_page

        return compare_page(results, "the data", [f"test {results[0].first.tests.test}"])
    if results and all(isinstance(item, Reconciliation) for item in results):
        from pippin.reports.reconciliation import reconcile_page

        return reconcile_page(results, [])
    raise ConventionError("a page needs comparisons only, or reconciliations only")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as out:
        out.write(text.encode())
