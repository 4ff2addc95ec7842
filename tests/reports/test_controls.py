"""Controls of the benchmark page: numbers equal the results, and axe-core reports no violation."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.conftest import RANKERS, TOOLS_ASKED, BrowserPage, draw_figures

import pippin
from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.store import Results
from pippin.data import synthetic
from pippin.evaluation.tools import TOOLS
from pippin.reports.comparison import compare_page
from pippin.reports.reconciliation import reconcile_page

DATA = synthetic.make_dataset(40)
DRAWS = np.random.default_rng(3)
SYSTEMS = {name: np.round(DATA.labels * weight + DRAWS.random(len(DATA.labels)), 1)
           for name, weight in (("a", 0.10), ("b", 0.11), ("c", 0.12))}  # fmt: skip
MIXED = ("official", "letor4", "yahoo", "mteb", "recbole")  # of several groups


@pytest.fixture(scope="module")
def mixed_groups_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of three systems under tools of several groups, which do not all agree."""
    compared = pippin.compare(DATA, SYSTEMS, "NDCG@10", list(MIXED))
    path = tmp_path_factory.mktemp("mixed") / "mixed.html"
    path.write_text(compare_page([compared], "synthetic", []), encoding="utf-8")
    return path


def four(value: float) -> str:
    return f"{value:.4f}"


def test_one_ranking_and_the_numbers_of_all_tools(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    best = leaderboard(results, "one", "NDCG@10").standings[0].ranker
    numbers = {
        tool: leaderboard(results, "one", "NDCG@10", tool).by_ranker[best].mean for tool in TOOLS_ASKED.split(",")
    }
    dots = page.locator("#spread circle")
    assert {dots.nth(i).get_attribute("data-tip") for i in range(dots.count())} == {
        f"{tool}: {four(value)}" for tool, value in numbers.items()
    }
    different = {four(value) for value in numbers.values()}
    assert page.locator("#spread-title").inner_text() == f"One ranking, 5 tools, {len(different)} values"
    words = page.locator("#spread-words").inner_text()
    assert words == f"NDCG@10 of {best}: from {min(different)} to {max(different)}."
    page.locator('#spread [data-column="yahoo"]').click(force=True)
    assert page.locator("#tool").input_value() == "yahoo"
    assert page.locator("#spread .chosen[data-column]").get_attribute("data-column") == "yahoo"


def test_a_pointer_is_reported_the_number(browser_page: BrowserPage, file: Path, results: Results) -> None:
    """The words stand beside the pointer, over the page, and go when it leaves."""
    page = browser_page.open(file)
    dot = page.locator("#curves circle").first
    dot.hover(force=True)
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert tip.evaluate("e => getComputedStyle(e).position") == "fixed"
    near, place = tip.bounding_box(), dot.bounding_box()
    assert near is not None
    assert place is not None
    assert abs(near["x"] - place["x"]) < near["width"] + 40
    assert abs(near["y"] - place["y"]) < near["height"] + 40
    ranker, _, number = tip.inner_text().replace("\n", " ").split()
    assert number == four(leaderboard(results, "one", "NDCG@1").by_ranker[ranker].mean)
    page.mouse.move(1, 1)
    assert not tip.is_visible()


def test_an_empty_filter_shows_the_way_back(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file, "#filter=nobody")
    assert browser_page.column("ranker") == []
    page.click("#clear-filter")
    assert len(browser_page.column("ranker")) == len(RANKERS)
    assert page.locator("#filter").input_value() == ""
    assert page.evaluate("document.activeElement.id") == "filter"


def test_the_address_keeps_the_order(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    page.click('[data-sort="seconds"]')
    page.click('[data-sort="seconds"]')
    order = browser_page.column("ranker")
    again = browser_page.open(file, "#" + page.url.partition("#")[2])
    assert browser_page.column("ranker") == order
    assert again.locator("#board th[aria-sort]").inner_text().startswith("Seconds")
    spent = [float(text) for text in browser_page.column("seconds")]
    assert spent == sorted(spent, reverse=True)


@pytest.mark.parametrize("place", ["#across rect.column", "#across text.column-name"])
def test_a_column_takes_its_tool(browser_page: BrowserPage, file: Path, results: Results, place: str) -> None:
    page = browser_page.open(file)
    page.locator(f'{place}[data-column="letor4"]').click(force=True, position={"x": 2, "y": 2})
    assert page.locator("#tool").input_value() == "letor4"
    best = leaderboard(results, "one", "NDCG@10", "letor4").standings[0]
    assert (browser_page.column("ranker")[0], browser_page.column("mean")[0]) == (best.ranker, four(best.mean))


def test_tools_that_give_the_same_leaderboard_share_a_row(browser_page: BrowserPage, mixed_groups_page: Path) -> None:
    page = browser_page.open(mixed_groups_page)
    tips = page.locator("#agreement text[data-column][text-anchor=end]:not([transform])")
    rows = [set(tips.nth(i).get_attribute("data-tip").split(", ")) for i in range(tips.count())]
    compared = pippin.compare(DATA, SYSTEMS, "NDCG@10", list(MIXED))
    orders: dict[tuple[str, ...], set[str]] = {}
    for board in compared.boards:
        orders.setdefault(tuple(board.order()), set()).add(board.name)
    assert sorted(map(sorted, rows)) == sorted(map(sorted, orders.values()))
    assert 1 < len(rows) < len(MIXED)
    assert (
        f"{len(MIXED)} tools give {len(rows)} different leaderboards" in page.locator("#agreement-words").inner_text()
    )
    page.locator("#agreement .cell").last.click()
    assert page.locator("#tool").input_value() in rows[-1]


def test_where_all_agree_words_take_the_matrix_s_place(browser_page: BrowserPage, file: Path, results: Results) -> None:
    orders = {tuple(leaderboard(results, "one", "NDCG@10", t).by_ranker) for t in TOOLS_ASKED.split(",")}
    page = browser_page.open(file)
    assert page.locator("#agreement").is_visible() == (len(orders) > 1)
    if len(orders) == 1:
        assert "all 5 tools give the same leaderboard" in page.locator("#agreement-words").inner_text()


def test_a_group_of_tools_can_be_chosen(browser_page: BrowserPage, mixed_groups_page: Path) -> None:
    page = browser_page.open(mixed_groups_page)
    columns = "#across text.column-name"
    assert set(page.locator(columns).all_text_contents()) == set(MIXED)
    group = next(
        name for name in ("retrieval", "recommenders") if page.locator(f'#group option[value="{name}"]').count()
    )
    page.select_option("#group", group)
    draw_figures(page)
    expected = {tool for tool in MIXED if TOOLS[tool].group == group} | {"official"}
    assert set(page.locator(columns).all_text_contents()) == expected
    assert f"group={group}" in page.url


def test_another_ranker_is_explained_with_all_parts(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file, "#tool=letor4")
    other = page.locator("#explained option").last.get_attribute("value")
    page.select_option("#explained", other)
    before, after = (leaderboard(results, "one", "NDCG@10", t).by_ranker[other].mean for t in ("official", "letor4"))
    assert f"{four(before)} under official, {four(after)} under letor4" in page.locator("#waterfall-words").inner_text()
    parts = page.locator("#carriers .chips button")
    assert parts.count() > 1
    last = parts.last.inner_text().rpartition(" ")[0]
    parts.last.click()
    assert page.locator("#carriers .note b").inner_text().startswith(last)
    page.locator("#waterfall .asks").first.click()
    assert page.locator("#carriers [aria-pressed=true]").inner_text() == parts.first.inner_text()


def test_importance_of_another_ranker(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    options = page.locator("#important option").all_text_contents()
    page.select_option("#important", options[-1])
    draw_figures(page)
    assert f"for {options[-1]} on one" in page.locator("#importance svg").get_attribute("aria-label")
    assert f"important={options[-1]}" in page.url


def test_a_bar_opens_its_query(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    page.locator("#query-figure [data-key]").first.click()
    browser_page.settle()
    key = page.locator("#query-figure .catch.chosen").get_attribute("data-key")
    assert page.locator("#query-table tr.chosen").get_attribute("data-key") == key
    values = [text.text_content() for text in page.locator("#query-table tr.chosen td").all()]
    assert f"{values[1]} against {values[2]}" in page.locator("#query-detail .head").inner_text()
    page.locator("#query-figure .catch.chosen").click()
    assert not page.locator("#query-detail").is_visible()


@pytest.mark.parametrize(("name", "column"), [("a", 3), ("b", 4), ("difference", 5), ("size", 6)])
def test_queries_are_sorted_by_every_head(browser_page: BrowserPage, file: Path, name: str, column: int) -> None:
    page = browser_page.open(file)
    page.click(f'[data-qsort="{name}"]')
    texts = page.locator(f"#query-table tbody tr > *:nth-child({column})").all_text_contents()
    values = [float(text.replace("−", "-").replace("+", "")) for text in texts]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 1


def test_link_and_tables_are_copied_with_a_confirmation(
    browser_page: BrowserPage, file: Path, results: Results
) -> None:
    page = browser_page.open(file, "#tool=letor4")
    page.evaluate("navigator.clipboard.writeText = words => { window.taken = words; return Promise.resolve(); }")
    page.click("#link")
    assert page.evaluate("window.taken") == page.url
    status_line = page.locator("#said")
    assert (status_line.inner_text(), status_line.is_visible()) == ("Copied.", True)
    for form, start in (("CSV", "#,Ranker,NDCG@10"), ("LaTeX", "\\begin{tabular}")):
        page.click("#leaderboard .head .save > summary")
        page.locator("#leaderboard .head .save button", has_text=f"Copy as {form}").click()
        taken = page.evaluate("window.taken")
        assert taken.startswith(start)
        assert repr(leaderboard(results, "one", "NDCG@10", "letor4").standings[0].mean)[:8] in taken


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    menu = page.locator("#leaderboard .head .save")
    for keys in (True, False):
        menu.locator("summary").click()
        assert menu.get_attribute("open") is not None
        if keys:
            page.keyboard.press("Escape")
        else:
            page.click("h1")
        assert menu.get_attribute("open") is None


def test_the_choices_of_a_tool_are_held_against_the_definition(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    assert not page.locator("#axes").is_visible()
    page.select_option("#tool", "gdeval")
    ours, base = TOOLS["gdeval"].convention, TOOLS["official"].convention
    different = [name for name in vars(ours) if getattr(ours, name) != getattr(base, name)]
    assert page.locator("#axes tbody th").all_inner_texts() == different
    assert f"on {len(different)} axes" in page.locator("#convention-words").inner_text()
    ties = page.locator("#axes tr", has=page.locator("th", has_text=re.compile("^ties$")))
    assert ties.locator("td").all_inner_texts()[:2] == ["id-descending", "expected"]
    page.click("#all-axes-words")
    assert page.locator("#all-axes tbody tr").count() == len(vars(ours))


def test_a_reconciliation_offers_nothing_that_leads_nowhere(browser_page: BrowserPage, tmp_path: Path) -> None:
    """It has no lists of queries, so that names of queries are words, and the definition cannot be explained."""
    reconciliation = pippin.reconcile(
        DATA, np.nan_to_num(DATA.features[:, 0]), "NDCG@10", "official", ["letor4", "yahoo"]
    )
    (tmp_path / "found.html").write_text(reconcile_page(list(reconciliation.values()), []), encoding="utf-8")
    page = browser_page.open(tmp_path / "found.html", "#tool=yahoo")
    assert page.locator("#carriers li").count() > 0
    assert page.locator("#carriers li button").count() == 0
    page.locator('#spread [data-column="official"]').click(force=True)
    assert page.locator("#tool").input_value() == "yahoo"


def test_switches_of_a_telephone_fold_as_the_reader_goes_on(browser_page: BrowserPage, file: Path) -> None:
    browser_page.page.set_viewport_size({"width": 390, "height": 800})
    page = browser_page.open(file)
    page.click("#chosen")
    assert page.locator("#tool").is_visible()
    page.select_option("#tool", "letor4")
    assert "letor4" in page.locator("#chosen").inner_text()
    page.mouse.wheel(0, 900)
    page.wait_for_selector('#chosen[aria-expanded="false"]')
    assert not page.locator("#tool").is_visible()


def test_links_of_the_head_lead_to_their_parts(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file, "#tool=letor4")
    for link in page.locator("nav a").all():
        link.evaluate("e => e.click()")
        top = page.locator(link.get_attribute("href")).evaluate("e => e.getBoundingClientRect().top")
        assert -5 < top < page.viewport_size["height"]
        assert "tool=letor4" in page.url


def _open_much(page: Any) -> None:
    page.click("[data-open=ranksvm]")
    page.locator("#query-table [data-show]").first.click()
    page.click("#leaderboard .head .save > summary")
    page.evaluate("saving.say('Copied.')")
    page.locator("#curves circle").first.hover(force=True)


def _find_nothing(page: Any) -> None:
    page.evaluate("location.hash = 'data=&across=number'")
    page.fill("#filter", "nobody")
    page.fill("#query-filter", "nobody")


def _take_another_tool(page: Any) -> None:
    page.evaluate("location.hash = 'tool=gdeval&data=two'")
    page.click("#all-axes-words")


@pytest.mark.parametrize("act", [_open_much, _find_nothing, _take_another_tool])
def test_axe_finds_nothing_in_what_is_opened(
    browser_page: BrowserPage, file: Path, axe: Callable[[Any], list[Any]], act: Callable[[Any], None]
) -> None:
    page = browser_page.open(file)
    act(page)
    browser_page.settle()
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("new Promise(requestAnimationFrame)")
        if width == 390:
            page.evaluate("document.getElementById('chosen').click()")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert (width, theme, axe(page)) == (width, theme, [])
