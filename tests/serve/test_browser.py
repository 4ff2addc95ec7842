"""The whole way in a real browser, served by real processes: phone and desktop, by keyboard alone, axe-core content."""

from __future__ import annotations

import json
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.boards.conftest import Fair, fair

from pippin.boards import accounts, log
from pippin.cli.main import main
from pippin.serve.running import serve

Look = Callable[[Any], list[Any]]


@dataclass
class Served:
    fair: Fair
    address: str


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The board `cup`, served by `pippin serve` in its own processes."""
    ended, started = threading.Event(), threading.Event()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # run as root, the web's process is another user
        made = fair(Path(folder) / "boards", title="Summer cup")

        def tell(address: str) -> None:
            found.append(address)
            started.set()

        thread = threading.Thread(
            target=serve, args=(made.site.folder,), kwargs={"port": 0, "started": tell, "ended": ended.is_set}
        )
        thread.start()
        try:
            assert started.wait(60)
            yield Served(made, found[0])
        finally:
            ended.set()
            thread.join(60)


# A page looks at its server, and loads itself again, only while somebody watches it.
UNWATCHED = "Object.defineProperty(document, 'hidden', { get: () => !sessionStorage.watched })"


class Person:
    """Somebody at a browser, whose pages are all looked at by axe-core and who has no mouse."""

    def __init__(self, browser: Any, served: Served, axe: Look, width: int) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
        self.context.add_init_script(UNWATCHED)  # or it would be gone while axe-core looks at it
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.address, self.axe, self.width = served.address, axe, width
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def open(self, path: str) -> Any:
        self.page.goto(self.address + path)
        return self.look()

    def look(self) -> Any:
        """Wait for the page, and have it looked at."""
        self.page.wait_for_selector("body[data-ready]")
        assert self.axe(self.page) == []
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width
        return self.page

    def reach(self, selector: str) -> None:
        """Press Tab until something has the focus."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("s => document.activeElement.matches(s)", selector):
                assert self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
        raise AssertionError(f"{selector} cannot be reached by the keyboard")

    def type(self, selector: str, text: str) -> None:
        self.reach(selector)
        self.page.keyboard.type(text)

    def press(self, selector: str) -> None:
        """Press a button or follow a link, by the keyboard, and look at what comes."""
        self.reach(selector)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.look()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_whole_way(
    served: Served, browser: Any, axe: Look, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    site, ann = served.fair.site, Person(browser, served, axe, width)
    ann.open("/")
    ann.open("/join")
    ann.type("#name", f"Ann {width}")
    ann.type("#invitation", accounts.invite(site.store))
    ann.press("button.do")
    token = ann.page.locator("#secret").inner_text()
    ann.open("/boards/cup/take-part")
    ann.open("/boards/cup/submit")
    scores = tmp_path / "scores.txt"
    scores.write_text("".join(f"{one!r}\n" for one in served.fair.scores(1.5, width).tolist()))
    ann.page.set_input_files("#file", str(scores))  # the system's own dialogue
    ann.type("#name", "by the page")
    ann.press("form button.do")
    ann.page.evaluate("sessionStorage.watched = true")
    ann.page.wait_for_selector("text=row on the leaderboard")
    ann.look()
    (tmp_path / "card.toml").write_text('name = "by the command"\nauthors = ["Ann"]\n')
    scores.write_text("".join(f"{one!r}\n" for one in served.fair.scores(0.4, width).tolist()))
    monkeypatch.setenv("PIPPIN_TOKEN", token)
    receipt = tmp_path / "receipt.json"
    sent = ["submit", served.address, "cup", str(scores), "--card", str(tmp_path / "card.toml")]
    assert main([*sent, "--receipt", str(receipt), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["released"] is True
    page = ann.open("/boards/cup")
    assert "by the command" in page.locator("#board tbody").inner_text()
    assert "by the page" not in page.locator("#board tbody").inner_text()
    ann.type("#filter", "nobody")
    assert page.locator("#none").is_visible()
    page.emulate_media(color_scheme="dark")
    ann.open("/boards/cup/log")
    exported = tmp_path / "cup.json"
    exported.write_bytes(urllib.request.urlopen(f"{served.address}/boards/cup/export.json").read())
    assert [one.fault for one in log.verify([exported, receipt], site.key)] == ["", ""]
    assert ann.said == []


def test_pages_work_without_scripts_and_load_nothing_from_elsewhere(served: Served, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served.address}/boards/cup")
    assert page.locator("h1").inner_text() == "Summer cup"
    assert not page.locator("#theme").is_visible()
    assert all(url.startswith((served.address, "data:")) for url in asked)
    context.close()


def test_an_organiser_ends_it(served: Served, browser: Any, axe: Look) -> None:
    """Last: the board is closed and revealed by its page."""
    served.fair.person("Boss", "organiser")
    boss = Person(browser, served, axe, 1280)
    boss.open("/login?next=/boards/cup")
    boss.type("#token", served.fair.tokens["Boss"])
    boss.press("form button.do")
    boss.open("/account")
    boss.open("/boards/cup")
    boss.press(".organise button")
    boss.press(".organise button")
    late = time.monotonic() + 120
    while "closed and revealed" not in boss.page.locator(".facts").inner_text():  # the scorer's process does it
        assert time.monotonic() < late
        time.sleep(0.2)
        boss.page.reload()
    boss.look()
    assert boss.said == []
