"""The benchmark page in a browser: every control shows the right numbers, and no request leaves the page."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.reports.conftest import EVIL, RANKERS, BrowserPage

from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.store import Results
from pippin.cli.main import main
from pippin.evaluation.tools import TOOLS
from pippin.reports.benchmark_data import BenchmarkData, bench_data, finding
from pippin.reports.benchmark_page import bench_page
from pippin.reports.page_arrays import encode_array, to_fixed_point
from pippin.storage.manifest import dump_with_checksum


def means(results: Results, data: str, tool: str, measure: str, convention: str = "official") -> dict[str, str]:
    """Ranker → the mean over folds, as printed, straight from the results."""
    here = (pl.col("data") == data) & (pl.col("tool") == tool) & (pl.col("measure") == measure)
    own = (pl.col("convention") == convention) | (pl.col("ranker") != "best-feature")  # which alone looks at a measure
    rows = pl.DataFrame(results.means()).filter(here & own).group_by("ranker").agg(pl.col("mean").mean())
    return {ranker: f"{mean:.4f}" for ranker, mean in rows.iter_rows()}


def test_page_loads_without_errors_or_requests(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    for figure in ("spread", "curves", "across", "time", "importance", "winning", "query-figure"):
        page.locator(f"#{figure}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{figure} svg")
    assert [url for url in browser_page.requests if url != "about:blank"] == [file.as_uri()]
    assert browser_page.said == []
    assert page.locator("body").get_attribute("data-error") is None
    assert page.locator("h1").inner_text() == f"A page {EVIL}"


def test_switches_show_the_right_numbers(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    for data, tool, measure in [("one", "letor4", "NDCG@5"), ("two", "yahoo", "NDCG@1"), ("two", "gdeval", "MAP")]:
        family, _, cutoff = measure.partition("@")
        page.select_option("#data", data)
        page.select_option("#tool", tool)
        page.check(f"input[name=family][value={family}]", force=True)
        if cutoff:
            page.check(f'input[name=cutoff][value="{cutoff}"]', force=True)
        expected = means(results, data, tool, measure)
        assert dict(zip(browser_page.column("ranker"), browser_page.column("mean"), strict=True)) == expected
        assert browser_page.column("ranker") == list(leaderboard(results, data, measure, tool).by_ranker)
        assert f"{measure} of 3 rankers on {data} under {tool}" in page.locator("#board-caption").inner_text()
        assert TOOLS[tool].title in page.locator("#convention-words").inner_text()
        assert page.locator("#finding").inner_text().startswith(f"On {data}, ")


def test_all_data_sets_together(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    page.select_option("#data", "")
    first, second = (means(results, data, "official", "NDCG@10") for data in ("one", "two"))
    assert dict(zip(browser_page.column("ranker"), browser_page.column("on one"), strict=True)) == first
    assert dict(zip(browser_page.column("ranker"), browser_page.column("on two"), strict=True)) == second
    wins = {r: sum(float(t[r]) > float(t[o]) for t in (first, second) for o in RANKERS) for r in RANKERS}
    assert dict(zip(browser_page.column("ranker"), browser_page.column("wins"), strict=True)) == {
        r: f"{w} of 4" for r, w in wins.items()
    }


def test_training_conventions_can_be_switched(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file, "#tool=letor4")
    page.select_option("#convention", "yahoo")
    expected = means(results, "one", "letor4", "NDCG@10", "yahoo")
    assert dict(zip(browser_page.column("ranker"), browser_page.column("mean"), strict=True)) == expected
    assert "trained under yahoo" in page.locator("#board-words").inner_text()
    page.click("[data-open=regression]")
    browser_page.settle()
    assert "s per fold to select and train" in page.locator("tr.more").inner_text()


def test_a_row_opens_to_its_folds(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    page.click("[data-open=ranksvm]")
    browser_page.settle()
    assert page.locator("[data-open=ranksvm]").get_attribute("aria-expanded") == "true"
    texts = page.locator("tr.more tbody td:nth-child(2)").all_inner_texts()
    standing = leaderboard(results, "one", "NDCG@10").by_ranker["ranksvm"]
    assert texts == [f"{value:.4f}" for value in standing.by_fold.values()]
    assert "C " in page.locator("tr.more").inner_text()
    page.click("[data-open=ranksvm]")
    assert page.locator("tr.more").count() == 0


def test_published_values_stand_beside_ours(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    ours = leaderboard(results, "one", "NDCG@10").by_ranker["ranksvm"].mean
    text = page.locator("tr[data-ranker=ranksvm]").inner_text()
    assert "0.5000" in text
    assert f"{ours - 0.5:+.4f}".replace("-", "−") in text
    page.select_option("#data", "two")
    assert "Published" not in page.locator("#board thead").inner_text()


def test_sorting_and_filtering(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    page.click('[data-sort="ranker"]')
    assert browser_page.column("ranker") == sorted(RANKERS)
    assert page.locator("#board th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.click('[data-sort="ranker"]')
    assert browser_page.column("ranker") == sorted(RANKERS, reverse=True)
    page.click('[data-sort="mean"]')
    assert browser_page.column("mean") == sorted(browser_page.column("mean"), reverse=True)
    page.fill("#filter", "SVM")
    assert browser_page.column("ranker") == ["ranksvm"]
    page.fill("#filter", "nobody")
    assert browser_page.column("ranker") == []
    assert "No ranker matches" in page.locator("#board").inner_text()


def test_the_keyboard_is_enough(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "document.activeElement.id || document.activeElement.name || document.activeElement.dataset.sort"
        )
        reached.add(name)
        if name == "ranker":
            break
    assert {"theme", "data", "tool", "family", "cutoff", "filter"} <= reached
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert browser_page.column("ranker") == sorted(RANKERS)
    page.focus("input[name=cutoff]:checked")
    page.keyboard.press("ArrowLeft")
    assert "NDCG@5 of 3 rankers" in page.locator("#board-caption").inner_text()
    assert page.evaluate("document.activeElement.value") == "5"


def test_address_keeps_the_selection(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file)
    page.select_option("#data", "two")
    page.select_option("#tool", "mslr")
    page.check("input[name=family][value=P]", force=True)
    page.fill("#filter", "ran")
    page.click("#theme")
    fragment = "#" + page.url.partition("#")[2]
    page = browser_page.open(file, fragment)
    assert page.locator("#data").input_value() == "two"
    assert browser_page.column("ranker") == ["ranksvm"]
    assert browser_page.column("mean") == [means(results, "two", "mslr", "P@5")["ranksvm"]]
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page = browser_page.open(file, "#tool=nobody&measure=NDCG%407")
    assert page.locator("#tool").input_value() == "official"


def test_light_and_dark(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    assert light != dark
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.locator("#switches").is_visible()
    page.emulate_media(media="screen", color_scheme="dark")
    assert browser_page.open(file).evaluate(ground) == dark


@pytest.mark.parametrize("width", [360, 390, 768, 1400])
def test_nothing_is_wider_than_the_screen(browser_page: BrowserPage, file: Path, width: int) -> None:
    browser_page.page.set_viewport_size({"width": width, "height": 800})
    page = browser_page.open(file, "#data=")
    assert page.locator("#curves svg").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_and_figures_have_names(browser_page: BrowserPage, file: Path) -> None:
    page = browser_page.open(file)
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption || t.closest('.more, .vg-tooltip'))"
    )
    assert page.evaluate("[...document.querySelectorAll('th')].every(t => t.scope)")
    assert page.evaluate("[...document.querySelectorAll('[role=img]')].every(t => t.getAttribute('aria-label'))")
    assert page.evaluate("[...document.querySelectorAll('select, input')].every(t => t.labels.length)")


def test_which_queries_decide(browser_page: BrowserPage, file: Path, results: Results) -> None:
    page = browser_page.open(file, "#tool=gdeval&measure=NDCG%405")
    page.select_option("#first", "ranksvm")
    page.select_option("#second", "best-feature")
    values = pl.DataFrame(results.values(["gdeval"], ["NDCG@5"]))
    frame = values.filter((pl.col("data") == "one") & pl.col("value").is_not_null())
    by_ranker = {r: dict(frame.filter(pl.col("ranker") == r).select("query", "value").iter_rows()) for r in RANKERS}
    a, b = by_ranker["ranksvm"], by_ranker["best-feature"]
    words = page.locator("#query-words").inner_text()
    assert f"ranksvm is better on {sum(f'{a[q]:.4f}' > f'{b[q]:.4f}' for q in a)} queries" in words
    assert f"of {len(a)} they are equal" in words
    query, first, second, difference = (
        page.locator(f"#query-table tbody tr:first-child > *:nth-child({i})").text_content() for i in (1, 3, 4, 5)
    )
    assert (first, second) == (f"{a[query]:.4f}", f"{b[query]:.4f}")
    largest = max(abs(a[q] - b[q]) for q in a)
    assert abs(float(difference.replace("−", "-"))) == pytest.approx(largest, abs=1e-4)


def test_values_survive_packing() -> None:
    array = np.array([[0.1, np.nan], [1.0, -2.5]])
    packed = encode_array(array)
    back = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), "<f8").reshape(packed["shape"])
    np.testing.assert_array_equal(back, array)


def test_values_are_rounded_as_they_are_printed() -> None:
    middles = (np.arange(10_000) + 0.5) / 1e4  # each on either side of its middle, or on it
    values = np.concatenate(([0.00005, 0.00015, 0.03125, 2 / 3, 1.0], middles, np.nextafter(middles, 1)))
    assert [f"{n / 1e4:.4f}" for n in to_fixed_point(values)] == [f"{v:.4f}" for v in values]


def test_the_page_holds_no_address_of_the_network_and_no_half_script(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?https?:", text)
    assert "<b>evil</b>" not in text
    assert len(text) < 3_000_000


def test_the_finding_says_who_wins_and_who_disagrees(results: Results) -> None:
    boards = [leaderboard(results, "one", "NDCG@10", tool) for tool in ("official", "letor4")]
    text = finding(boards, "official")
    assert text.startswith("On one, ")
    assert f"NDCG@10 under official ({boards[0].standings[0].mean:.4f})" in text
    assert "significant" in text
    same = boards[0].best == boards[1].best
    assert text.endswith("All 2 tools rank it first." if same else f"letor4 ranks {boards[1].best} first.")


def test_a_failed_cell_is_reported_with_its_reason(browser_page: BrowserPage, results: Results, tmp_path: Path) -> None:
    copied = tmp_path / "results"
    shutil.copytree(results.path, copied)
    cell = next(c for c in results.cells if c.key[:3] == ("one", "Fold1", "ranksvm"))
    shutil.rmtree(copied / "cells" / cell.address)
    (copied / "failures" / f"{cell.address}.json").write_bytes(dump_with_checksum({"reason": "the memory <ran> out"}))
    file = tmp_path / "page.html"
    file.write_text(bench_page(BenchmarkData(Results.open(copied))), encoding="utf-8")
    page = browser_page.open(file)
    assert set(browser_page.column("ranker")) == set(RANKERS) - {"ranksvm"}
    assert "Not ranked on one: ranksvm (the memory <ran> out)." in page.locator("#board-notes").inner_text()
    assert "the memory <ran> out" in page.locator("#audit").inner_text()
    assert "1 failed" in page.locator("header .facts").inner_text()
    assert page.locator("h1").inner_text() == "Rankers on one and two"
    page.select_option("#data", "two")
    assert set(browser_page.column("ranker")) == set(RANKERS)
    assert browser_page.said == []


def test_the_data_of_the_page_are_json(results: Results) -> None:
    data = bench_data(BenchmarkData(results))
    assert json.loads(json.dumps(data, allow_nan=False))["families"] == {"NDCG": [1, 5, 10], "P": [5], "MAP": []}


def test_report_writes_page_tables_and_figures(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(results.path), "-o", str(tmp_path / "out"), "--tables", "--figures", "svg,pdf"]) == 0
    written = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert {"tables/one.tex", "tables/two.md", "tables/winning.md", "tables/leaderboards.csv", "figures/one-curves.svg",
            "figures/two-agreement.pdf", "figures/winning.svg"} <= written  # fmt: skip
    assert "index.html" not in written
    latex = (tmp_path / "out/tables/one.tex").read_text(encoding="utf-8")
    assert leaderboard(results, "one", "NDCG@10").standings[0].ranker in latex
    assert f"{leaderboard(results, 'one', 'NDCG@10').standings[0].mean:.4f}" in latex
    svg = (tmp_path / "out/figures/one-time.svg").read_text(encoding="utf-8")
    assert "var(--" not in svg
    assert "ranksvm" in svg
    assert (tmp_path / "out/figures/one-curves.pdf").read_bytes().startswith(b"%PDF")
    assert main(["report", str(results.path), "-o", str(tmp_path / "alone.html"), "--title", "Alone"]) == 0
    assert "<title>Alone</title>" in (tmp_path / "alone.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "alone.html")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "x.html", "--tables"], "tables and figures go into a folder"),
        (["-o", "x", "--figures", "gif"], "unknown figure format 'gif'"),
        (["-o", "x", "--published", "nowhere.csv"], "nowhere.csv: cannot r"),
        (["-o", "x", "--tables", "--convention", "nobody"], "no training convention of the results is called 'nobody'"),
    ],
)
def test_bad_arguments_are_reported(
    results: Results, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(results.path), *arguments]) == 2
    output = capsys.readouterr().err
    assert words in output
    assert output.count("\n") == 1


def test_a_folder_without_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "no results" in capsys.readouterr().err
