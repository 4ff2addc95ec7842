"""All pages in a browser: axe-core reports no violation, and controls show the results' numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.benchmarks.test_study import make_results
from tests.reports.conftest import RANKERS, BrowserPage, draw_figures

import pippin
from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.store import Results
from pippin.benchmarks.studies.baselines import BaselineComparison
from pippin.benchmarks.studies.curves import Crossover, FeatureCurve, LearningCurves
from pippin.benchmarks.studies.training_conventions import study
from pippin.data import synthetic
from pippin.reports.audit import audit_page
from pippin.reports.comparison import compare_page
from pippin.reports.page_arrays import tied_groups
from pippin.reports.reconciliation import reconcile_page
from pippin.reports.studies import learning_page, selection_page
from pippin.reports.training_conventions import study_page

DATA = synthetic.make_dataset(40)
SYSTEMS = {name: np.nan_to_num(DATA.features[:, i]) + DATA.labels * w
           for i, (name, w) in enumerate((("bm25", 0.1), ("lm", 0.2), ("<dense>", 0.6)))}  # fmt: skip
PAGES = ("bench", "compare", "reconcile", "audit", "study", "select", "curve")


@pytest.fixture(scope="session")
def pages(file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind."""
    folder = tmp_path_factory.mktemp("pages")
    compared = [
        pippin.compare(DATA, SYSTEMS, measure, ["official", "letor4", "yahoo"]) for measure in ("NDCG@5", "MAP")
    ]
    reconciliation = pippin.reconcile(DATA, SYSTEMS["bm25"], "NDCG@10", "official", ["letor4", "yahoo", "gdeval"])
    texts = {
        "compare": compare_page(compared, "synthetic", ["seed 0"]),
        "reconcile": reconcile_page(list(reconciliation.values()), []),
        "audit": audit_page(pippin.audit(DATA, SYSTEMS["bm25"])),
        "study": study_page([study(make_results(), "D")]),
        "select": selection_page([_path("one"), _path("two")]),
        "curve": learning_page([_curves("one"), _curves("two")]),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {"bench": file, **{name: folder / f"{name}.html" for name in texts}}


def _path(data: str) -> FeatureCurve:
    """Three points, the last of all features; one feature is significantly worse."""
    points = [
        BaselineComparison(
            data, "gas > ranksvm", mean, mean - 0.1, mean + 0.1, mean - 0.5, mean - 0.6, mean - 0.4, p, 0.5
        )
        for mean, p in ((0.3, 0.001), (0.48, 0.4))
    ]
    nan = math.nan
    everything = BaselineComparison(data, "ranksvm", 0.5, 0.4, 0.6, nan, nan, nan, nan, 1.0)
    kept = {1: {"BM25 of title": 3}, 5: {"BM25 of title": 3, "PageRank": 2}}
    return FeatureCurve(data, "gas", "ranksvm", "NDCG@10", 46, everything, ((1, points[0]), (5, points[1])), kept, 3)


def _curves(data: str) -> LearningCurves:
    """Two rankers, the trees ahead in the end; the last two numbers of queries stand close together."""
    curves = {
        ranker: tuple((n, mean, mean - 0.1, mean + 0.1) for n, mean in zip((5, 40, 320, 392), means, strict=True))
        for ranker, means in (("ranksvm", (0.4, 0.45, 0.5, 0.5)), ("lambdamart", (0.3, 0.4, 0.55, 0.6)))
    }
    return LearningCurves(data, "NDCG@10", 392, curves, (Crossover("lambdamart", "ranksvm", 100, 60, math.inf),))


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(
    browser_page: BrowserPage, pages: dict[str, Path], axe: Callable[[Any], list[Any]], name: str
) -> None:
    """In a window that its reader makes wider and wider, by day and by night."""
    browser_page.page.set_viewport_size({"width": 390, "height": 900})
    page = browser_page.open(pages[name], "#pairs=open" if name in ("bench", "compare") else "")
    page.evaluate(
        "for (const part of document.querySelectorAll('details')) if (part.className !== 'save') part.open = true"
    )
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("new Promise(requestAnimationFrame)")
        draw_figures(page)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert (width, theme, axe(page)) == (width, theme, [])
            assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert browser_page.said == []


@pytest.mark.parametrize("width", [390, 1440])
def test_numbers_of_an_axis_do_not_touch(browser_page: BrowserPage, pages: dict[str, Path], width: int) -> None:
    browser_page.page.set_viewport_size({"width": width, "height": 900})
    page = browser_page.open(pages["curve"])
    axis = page.locator('[data-figure="figure1-1"] text.tick[text-anchor="middle"]')
    places = sorted((box["x"], box["width"]) for box in (axis.nth(i).bounding_box() for i in range(axis.count())))
    assert all(x + wide < after for (x, wide), (after, _) in pairwise(places))
    assert axis.last.text_content() == "392"
    assert ("320" in axis.all_text_contents()) == (width == 1440)
    assert "training queries (log scale)" in page.locator('[data-figure="figure1-1"]').text_content()


def test_a_section_without_a_figure_is_not_there(browser_page: BrowserPage, pages: dict[str, Path], file: Path) -> None:
    assert not browser_page.open(pages["compare"]).locator('#figures, nav a[href="#figures"]').first.is_visible()
    assert browser_page.open(file).locator('nav a[href="#figures"]').is_visible()


def test_targets_can_be_hit_with_a_thumb(browser_page: BrowserPage, pages: dict[str, Path]) -> None:
    browser_page.page.set_viewport_size({"width": 390, "height": 800})
    page = browser_page.open(pages["bench"])
    page.click("#chosen")
    small = page.evaluate(
        """[...document.querySelectorAll("button, select, summary, input[type=search], .choices label")].filter(e => {
             const box = e.getBoundingClientRect(); return box.width && (box.width < 24 || box.height < 24); })
             .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert small == []
    assert page.locator("nav").is_visible()


def test_the_headline_follows_the_tool(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    for tool in ("official", "gdeval", "letor4"):
        page.select_option("#tool", tool)
        best = leaderboard(results, "one", "NDCG@10", tool)
        words = page.locator("#finding").inner_text()
        assert words.startswith("On one, ")
        assert f"NDCG@10 under {tool} ({best.standings[0].mean:.4f})" in words


def test_over_all_data_sets_headline_and_order_agree(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file, "#data=")
    for tool in ("official", "yahoo"):
        page.select_option("#tool", tool)
        assert f"under {tool}, {browser_page.column('ranker')[0]} wins most" in page.locator("#finding").inner_text()
        wins = [int(text.split()[0]) for text in browser_page.column("wins")]
        assert wins == sorted(wins, reverse=True)


def test_indistinguishable_places(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    board = leaderboard(results, "one", "NDCG@10")
    tested = board.board
    assert tested is not None
    result = tied_groups(list(board.by_ranker), lambda a, b: tested.winner(a, b) > 0 and tested.significant(a, b))
    first = result[0]
    words = page.locator("#groups-words").inner_text()
    if first[1] == len(board.by_ranker):
        assert words.startswith("No pair of rankers differs significantly")
    else:
        assert (f"Ranks 1–{first[1]} do not differ significantly" in words) == (first[1] > 1)


def test_every_pair_with_p_and_effect(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    page.click("#pairs-box > summary")
    page.wait_for_selector("#pairs svg")  # a folded part says in an event of its own that it was opened
    board = leaderboard(results, "one", "NDCG@10")
    assert board.board is not None
    pair = board.board.tests.pair("ranksvm", "best-feature")
    tip = page.locator('#pairs [data-row="ranksvm"][data-column="best-feature"]').get_attribute("data-tip")
    effect = pair.effect if pair.a == "ranksvm" else -pair.effect
    assert f"effect {effect:.2f}" in tip
    p = pair.p_adjusted
    assert ("p < 0.0001" if p < 1e-4 else f"p {p:.4f}" if p < 0.01 else f"p {p:.3f}") in tip
    page.locator('#pairs [data-row="ranksvm"][data-column="best-feature"]').click()
    assert "ranksvm against best-feature" in page.locator("#pair-card").inner_text()
    assert page.locator("#first").input_value() == "ranksvm"
    assert "pairs=open" in page.url


def test_a_pair_that_nothing_separates_has_p_1(browser_page: BrowserPage, tmp_path: Path) -> None:
    """Three scorers that know nothing: their corrected p is 1, and must not look like the smallest there is."""
    draws = np.random.default_rng(4)
    noise = {name: draws.random(len(DATA.labels)) for name in ("a", "b", "c")}
    compared = pippin.compare(DATA, noise, "NDCG@5", ["official", "letor4"])
    level = [pair for pair in compared.first.tests.pairs if pair.p_adjusted >= 0.9995]
    assert level
    (tmp_path / "noise.html").write_text(compare_page([compared], "noise", []), encoding="utf-8")
    page = browser_page.open(tmp_path / "noise.html", "#pairs=open")
    page.wait_for_selector("#pairs svg")
    words = page.locator("#pairs .cell-words").all_text_contents()
    assert words.count("1") == 2 * len(level)
    assert ".000" not in words


def test_names_of_points_do_not_cover_points(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    touching = page.evaluate(
        """[...document.querySelectorAll("#time text.name")].flatMap(t => { const a = t.getBBox();
             return [...document.querySelectorAll("#time circle")].filter(c => { const b = c.getBBox();
               return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height; })
               .map(() => t.textContent); })"""
    )
    assert page.locator("#time text.name").count() == len(RANKERS)
    assert touching == []


def test_a_reconciliation_follows_its_tool(browser_page: BrowserPage, pages: dict[str, Path]) -> None:
    reconciliation = pippin.reconcile(DATA, SYSTEMS["bm25"], "NDCG@10", "official", ["letor4", "yahoo", "gdeval"])
    page = browser_page.open(pages["reconcile"])
    most = max(reconciliation.values(), key=lambda r: abs(r.difference))
    assert page.locator("#tool").input_value() == most.target.name
    assert page.locator("#tool option[value=official]").count() == 0
    for tool in ("gdeval", "letor4"):
        page.click(f'#tool-chips [data-tool="{tool}"]')
        assert page.locator("#tool").input_value() == tool
        assert page.locator("#finding").inner_text() == next(
            r.sentence() for r in reconciliation.values() if r.target.name == tool
        )
    assert page.locator('nav a[href="#tools"]').is_visible()


def test_a_reconciliation_says_what_a_tool_does_not_give(browser_page: BrowserPage, tmp_path: Path) -> None:
    """CatBoost's ERR takes labels for probabilities."""
    queries = {"NDCG@10": ["letor4", "catboost"], "ERR@10": ["letor4"]}
    reconciliation = [
        r for m, tools in queries.items() for r in pippin.reconcile(DATA, SYSTEMS["lm"], m, "official", tools).values()
    ]
    (tmp_path / "two.html").write_text(reconcile_page(reconciliation, []), encoding="utf-8")
    page = browser_page.open(tmp_path / "two.html", "#tool=catboost&measure=ERR@10")
    assert page.locator("#finding").inner_text() == "catboost does not define ERR@10 on these data."


def test_the_waterfall_leads_from_the_definition_to_the_tool(
    browser_page: BrowserPage, file: Path, results: Results
) -> None:
    page = browser_page.open(file)
    page.click('#tool-chips [data-tool="yahoo"]')
    ranker = page.locator("#explained").input_value()
    before, after = (leaderboard(results, "one", "NDCG@10", t).by_ranker[ranker].mean for t in ("official", "yahoo"))
    words = page.locator("#waterfall-words").inner_text()
    assert f"{before:.4f} under official, {after:.4f} under yahoo" in words
    shares = [
        float(text.split()[-1].replace("−", "-")) for text in page.locator("#carriers .chips button").all_inner_texts()
    ]
    assert sum(shares) == pytest.approx(after - before, abs=2e-4)
    page.locator("#carriers .open-query").first.click()
    assert "query=one%2F" in page.url


def test_two_lists_side_by_side(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file, "#a=ranksvm&b=regression")
    page.locator("#query-table [data-show]").first.click()
    page.wait_for_selector("#query-detail .doc")
    query = page.locator("#query-table tr.chosen th").inner_text()
    cells = {c.key[2]: c for c in results.cells if c.key[0] == "one" and query in set(c.scores()["query"].to_pylist())}
    rows = pl.DataFrame(cells["ranksvm"].scores()).filter(pl.col("query") == query)
    order = np.argsort(-rows["score"].to_numpy(), kind="stable")[:10]
    labels = [str(rows["label"][int(i)]) for i in order]
    lists = page.locator("#query-detail .lists ol")
    assert [text.split()[0] for text in lists.nth(0).locator(".label").all_inner_texts()] == labels
    assert page.locator("#query-detail .between path").count() > 0
    assert "Why" in page.locator("#query-detail").inner_text()
    address = page.url
    assert "query=one" in address
    again = browser_page.open(file, "#" + address.partition("#")[2])
    again.wait_for_selector("#query-detail .doc")


def test_queries_are_searched_and_sorted(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    page.click('[data-qsort="query"]')
    ids = page.locator("#query-table tbody th").all_inner_texts()
    assert ids == sorted(
        ids, key=lambda text: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]
    )
    page.fill("#query-filter", ids[3])
    assert ids[3] in page.locator("#query-table tbody th").all_inner_texts()
    page.fill("#query-filter", "nobody asks this")
    assert "No query matches" in page.locator("#query-table").inner_text()


def test_nothing_moves_when_a_figure_is_drawn_late(browser_page: BrowserPage, file: Path) -> None:
    """A table that slides away under the pointer loses the click."""
    browser_page.page.add_init_script("window.requestIdleCallback = () => 0")
    page = browser_page.open(file, draw=False)
    assert page.locator("#query-figure svg").count() == 0
    below = "(t => t('query-table') - t('query-figure'))(id => document.getElementById(id).getBoundingClientRect().top)"
    before = page.evaluate(below)
    draw_figures(page)
    assert page.locator("#query-figure svg").count() == 1
    assert page.evaluate(below) == pytest.approx(before, abs=1)


@pytest.mark.parametrize("form", ["CSV", "LaTeX"])
def test_the_table_is_handed_out(browser_page: BrowserPage, file: Path, results: Results, form: str) -> None:
    page = browser_page.open(file)
    page.click("#leaderboard .save > summary")
    with page.expect_download() as caught:
        page.locator("#leaderboard .save button", has_text=re.compile(f"^{form}$")).first.click()
    text = Path(caught.value.path()).read_text(encoding="utf-8")
    best = leaderboard(results, "one", "NDCG@10").standings[0]
    assert best.ranker in text
    assert repr(best.mean)[:8] in text
    assert text.startswith("#,Ranker,NDCG@10" if form == "CSV" else "\\begin{tabular}")


@pytest.mark.parametrize(("form", "start"), [("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"series,column,y")])
def test_figures_are_handed_out(browser_page: BrowserPage, file: Path, form: str, start: bytes) -> None:
    page = browser_page.open(file)
    figure = page.locator("figure", has=page.locator("#across"))
    figure.locator(".save > summary").click()
    with page.expect_download() as caught:
        figure.locator(".save button", has_text=re.compile(f"^{form}$")).click()
    content = Path(caught.value.path()).read_bytes()
    assert content.startswith(start)
    assert b"var(--" not in content


def test_a_shared_figure_has_its_title_and_caption(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    figure = page.locator("figure", has=page.locator("#time"))
    figure.locator(".save > summary").click()
    with page.expect_download() as caught:
        figure.locator(".save button", has_text=re.compile("^SVG$")).click()
    text = Path(caught.value.path()).read_text(encoding="utf-8")
    assert ">Time against quality</text>" in text
    assert "Pareto front" in text
    assert "Pippin" in text.rpartition("<text")[2]


def test_all_figures_are_drawn_without_scrolling(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file, draw=False)
    page.wait_for_function(
        "[...document.querySelectorAll('.figure')].every(f => !f.checkVisibility() || f.querySelector('svg, .empty'))"
    )


def test_a_phone_shows_whole_intervals(browser_page: BrowserPage, file: Path) -> None:
    browser_page.page.set_viewport_size({"width": 390, "height": 844})
    page = browser_page.open(file)
    bounds = page.locator("#board small.narrow")
    assert bounds.count() == len(RANKERS)
    boxes = [bounds.nth(i).bounding_box() for i in range(len(RANKERS))]
    assert all(box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_empty_columns_are_omitted(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    assert "Rank vs official" not in page.locator("#board thead").inner_text()
    assert page.locator("#board thead th.bar svg text").count() == 3


def test_places_from_first_to_last_are_labelled_at_both_ends(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    names = page.locator("#across text.name").all_inner_texts() or page.locator("#across text.name").all_text_contents()
    assert len(names) == 2 * len(RANKERS)
    page.check("input[name=across][value=number]", force=True)
    assert page.locator("#across text.name").count() == len(RANKERS)
    assert "across=number" in page.url


def test_a_comparison_shows_its_numbers(browser_page: BrowserPage, pages: dict[str, Path]) -> None:
    page = browser_page.open(pages["compare"])
    compared = pippin.compare(DATA, SYSTEMS, "MAP", ["official", "letor4", "yahoo"])
    page.check("input[name=family][value=MAP]", force=True)
    page.select_option("#tool", "letor4")
    board = next(b for b in compared.boards if b.name == "letor4")
    assert browser_page.column("ranker") == board.order()
    assert browser_page.column("mean") == [f"{board.means[s]:.4f}" for s in board.order()]


def test_it_prints_on_few_sheets(browser_page: BrowserPage, file: Path, tmp_path: Path) -> None:
    page = browser_page.open(file)
    page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
    score_tables = re.findall(rb"/Type\s*/Page\b(?!s)", (tmp_path / "page.pdf").read_bytes())
    assert 1 <= len(score_tables) <= 8


def test_notebooks_show_the_pieces(browser_page: BrowserPage, results: Results, tmp_path: Path) -> None:
    items = [results.leaderboard(data="one"), pippin.evaluate(DATA, SYSTEMS["bm25"], ["NDCG@10"], "letor4"),
             pippin.reconcile(DATA, SYSTEMS["bm25"], target="letor4"), pippin.compare(DATA, SYSTEMS)]  # fmt: skip
    body = "".join(result._repr_html_() for result in items)
    notebook = f"<!doctype html><title>x</title><body data-ready=yes>{body}"
    (tmp_path / "notebook.html").write_text(notebook, encoding="utf-8")
    actual = browser_page.open(tmp_path / "notebook.html")
    assert actual.locator(".piece").count() == len(items)
    assert actual.locator(".piece svg.chart").count() >= len(items)
    assert "<dense>" in actual.locator(".piece").last.inner_text()
    assert browser_page.said == []


def test_the_page_of_a_study(browser_page: BrowserPage, pages: dict[str, Path]) -> None:
    page = browser_page.open(pages["study"])
    result = study(make_results(), "D")
    assert page.locator("h1").inner_text() == "Do published conclusions hold on D?"
    words = page.locator("main").inner_text()
    assert all(conclusion.statement in words for conclusion in result.conclusions)
    assert page.locator("svg.chart").count() >= len(result.rankers)
