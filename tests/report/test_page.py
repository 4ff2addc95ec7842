"""The page in a real browser: it draws, it sorts, nothing leaves it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pippin.report.page import Drawing, Section, Shown, page
from pippin.tables import Table

FIGURE = Drawing("bars", [{"name": "a", "value": 1, "words": "1"}, {"name": "b", "value": 2, "words": "2"}], "Means")


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on this machine")
    return found


def rendered(chromium: str, file: Path, folder: Path) -> tuple[str, str]:
    """The page after its scripts ran, and what the browser logged."""
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=8000", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


def example() -> str:
    table = Table(["system", "MAP"], [["a", "0.1"], ["b", "0.3"], ["<c>", "0.2"]], best={(1, 1)})
    sections = [Section("Means", ["Words & more."], [FIGURE], [Shown(table, "Means of all", "means")])]
    return page("Pippin", "A <title>", "lead", sections, ["seed 1"])


def test_what_a_user_named_cannot_break_the_page() -> None:
    text = example()
    assert "A &lt;title&gt;" in text
    assert "&lt;c&gt;" in text
    assert '<td class="best">0.3</td>' in text


def test_nothing_in_the_page_asks_the_network() -> None:
    text = example()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?https?:", text)
    assert "@import" not in text


def test_it_draws_without_errors(chromium: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(example(), encoding="utf-8")
    dom, log = rendered(chromium, file, tmp_path)
    assert 'class="bar-fill"' in dom
    assert "data-error" not in dom
    assert "CONSOLE" not in log


def test_a_click_on_a_header_sorts(chromium: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    click = '<script>addEventListener("load", () => document.querySelectorAll("thead button")[1].click())</script>'
    file.write_text(example().replace("</body>", click + "</body>"), encoding="utf-8")
    dom, _ = rendered(chromium, file, tmp_path)
    order = re.findall(r'<td class="name">([^<]+)</td>', dom)
    assert order == ["b", "&lt;c&gt;", "a"]
    assert 'aria-sort="descending"' in dom
