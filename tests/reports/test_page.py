"""A single page in a browser: drawing, sorting and no external requests."""

from __future__ import annotations

import re
from pathlib import Path

from tests.reports.conftest import BrowserPage

from pippin.display.tables import Table
from pippin.reports.html import CaptionedTable, Chart, Section, page

FIGURE = Chart("bars", [{"name": "a", "value": 1, "words": "1"}, {"name": "b", "value": 2, "words": "2"}], "Means")


def example() -> str:
    table = Table(["system", "MAP"], [["a", "0.1"], ["b", "0.3"], ["<c>", "0.2"]], highlighted={(1, 1)})
    sections = [Section("Means", ["Words & more."], [FIGURE], [CaptionedTable(table, "Means of all", "means")])]
    return page("Pippin", "A <title>", "lead", sections, ["seed 1"])


def test_user_supplied_names_are_escaped() -> None:
    text = example()
    assert "A &lt;title&gt;" in text
    assert "&lt;c&gt;" in text
    assert '<td class="best">0.3</td>' in text


def test_nothing_in_the_page_asks_the_network() -> None:
    text = example()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?https?:", text)
    assert "@import" not in text


def test_it_draws_without_errors(browser_page: BrowserPage, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(example(), encoding="utf-8")
    page = browser_page.open(file)
    assert page.locator(".bar-fill").count() == 2
    assert page.locator("[data-error]").count() == 0
    assert browser_page.said == []


def test_a_click_on_a_header_sorts(browser_page: BrowserPage, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(example(), encoding="utf-8")
    page = browser_page.open(file)
    page.locator("thead button").nth(1).click()
    assert page.locator("td.name").all_inner_texts() == ["b", "<c>", "a"]
    assert page.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
