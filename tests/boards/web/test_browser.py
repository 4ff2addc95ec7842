"""Boards in a real browser with real server processes: phone and desktop, by keyboard, checked by axe-core."""

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
from tests.boards.conftest import BoardSite, make_site

from pippin.boards import accounts, audit_log
from pippin.boards.web.processes import serve_folder
from pippin.cli.main import main

AxeCheck = Callable[[Any], list[Any]]


@dataclass
class Server:
    site: BoardSite
    address: str


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The board `cup`, served by `pippin serve` in its own processes."""
    stopped, started = threading.Event(), threading.Event()
    addresses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # readable by the user of the web process
        board_site = make_site(Path(folder) / "boards", title="Summer cup")

        def on_start(address: str) -> None:
            addresses.append(address)
            started.set()

        options = {"port": 0, "on_start": on_start, "is_stopped": stopped.is_set}
        thread = threading.Thread(target=serve_folder, args=(board_site.site.folder,), kwargs=options)
        thread.start()
        try:
            assert started.wait(60)
            yield Server(board_site, addresses[0])
        finally:
            stopped.set()
            thread.join(60)


# Pages poll the server only while they are visible; hide them so that they do not reload during axe-core checks.
HIDE_PAGE = "Object.defineProperty(document, 'hidden', { get: () => !sessionStorage.visible })"


class KeyboardUser:
    """A browser used by keyboard only, whose pages are checked by axe-core."""

    def __init__(self, browser: Any, server: Server, axe: AxeCheck, width: int) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
        self.context.add_init_script(HIDE_PAGE)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.address, self.axe, self.width = server.address, axe, width
        self.console: list[str] = []
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))

    def open(self, path: str) -> Any:
        self.page.goto(self.address + path)
        return self.check()

    def check(self) -> Any:
        """Wait for the page and check it."""
        self.page.wait_for_selector("body[data-ready]")
        assert self.axe(self.page) == []
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width
        return self.page

    def focus(self, selector: str) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("s => document.activeElement.matches(s)", selector):
                assert self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
        raise AssertionError(f"{selector} cannot be reached by the keyboard")

    def type(self, selector: str, text: str) -> None:
        self.focus(selector)
        self.page.keyboard.type(text)

    def press(self, selector: str) -> None:
        """Press a button or follow a link; check the next page."""
        self.focus(selector)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.check()


@pytest.mark.parametrize("width", [390, 1280])
def test_join_submit_and_verify(
    server: Server, browser: Any, axe: AxeCheck, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    site, ann = server.site.site, KeyboardUser(browser, server, axe, width)
    ann.open("/")
    ann.open("/join")
    ann.type("#name", f"Ann {width}")
    ann.type("#invitation", accounts.invite(site.store))
    ann.press("button.do")
    token = ann.page.locator("#secret").inner_text()
    ann.open("/boards/cup/take-part")
    ann.open("/boards/cup/submit")
    scores = tmp_path / "scores.txt"
    scores.write_text("".join(f"{score!r}\n" for score in server.site.scores(1.5, width).tolist()))
    ann.page.set_input_files("#file", str(scores))
    ann.type("#name", "by the page")
    ann.press("form button.do")
    ann.page.evaluate("sessionStorage.visible = true")
    ann.page.wait_for_selector("text=row on the leaderboard")
    ann.check()
    (tmp_path / "card.toml").write_text('name = "by the command"\nauthors = ["Ann"]\n')
    scores.write_text("".join(f"{score!r}\n" for score in server.site.scores(0.4, width).tolist()))
    monkeypatch.setenv("PIPPIN_TOKEN", token)
    receipt = tmp_path / "receipt.json"
    command = ["board", "submit", server.address, "cup", str(scores), "--card", str(tmp_path / "card.toml")]
    assert main([*command, "--receipt", str(receipt), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_shown"] is True
    page = ann.open("/boards/cup")
    assert "by the command" in page.locator("#board tbody").inner_text()
    assert "by the page" not in page.locator("#board tbody").inner_text()
    ann.type("#filter", "no such name")
    assert page.locator("#none").is_visible()
    page.emulate_media(color_scheme="dark")
    ann.open("/boards/cup/log")
    exported = tmp_path / "cup.json"
    exported.write_bytes(urllib.request.urlopen(f"{server.address}/boards/cup/export.json").read())
    assert [check.error for check in audit_log.verify([exported, receipt], site.key)] == ["", ""]
    assert ann.console == []


def test_pages_work_without_scripts_and_load_only_from_this_site(server: Server, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{server.address}/boards/cup")
    assert page.locator("h1").inner_text() == "Summer cup"
    assert not page.locator("#theme").is_visible()
    assert all(url.startswith((server.address, "data:")) for url in requests)
    context.close()


def test_an_organiser_closes_and_reveals_the_board(server: Server, browser: Any, axe: AxeCheck) -> None:
    """Runs last, because it closes the board."""
    server.site.account("Boss", "organiser")
    boss = KeyboardUser(browser, server, axe, 1280)
    boss.open("/login?next=/boards/cup")
    boss.type("#token", server.site.tokens["Boss"])
    boss.press("form button.do")
    boss.open("/account")
    boss.open("/boards/cup")
    boss.press(".organise button")
    boss.press(".organise button")
    deadline = time.monotonic() + 120
    while "closed and revealed" not in boss.page.locator(".facts").inner_text():  # by the scorer process
        assert time.monotonic() < deadline
        time.sleep(0.2)
        boss.page.reload()
    boss.check()
    assert boss.console == []
