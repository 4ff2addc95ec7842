"""Shared fixtures."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.golden import unpack

# Tests are of what comes out, not of how fast a busy machine draws examples; and they are the same every time, so that
# who changes a line hears of that line. `--hypothesis-profile=search` looks for examples that were never drawn.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("pippin", settings.get_profile("search"), derandomize=True)
settings.load_profile("pippin")

# Folders of tests have long names, and a sentence with one in it would be broken where the screen ends.
os.environ["COLUMNS"] = "200"

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
# Where else a rule holds, and how to name the places, takes a quarter of the time and is not asked.
WRONG = """axe.run({ resultTypes: ["violations"], selectors: false })
    .then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))]))"""
ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Thousands of tests are made once and stay: the collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def golden_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the original tools printed for synthetic inputs: inputs/, outputs/TOOL/ and commands.tsv."""
    return unpack(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder that holds golden/ and data/: beside the project, or the parent of the data folder PIPPIN_DATA."""
    named = os.environ.get("PIPPIN_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    folder = folder if (folder / "golden").is_dir() else folder.parent
    if not (folder / "golden").is_dir():
        pytest.skip(f"no golden outputs beside {folder / 'data'} (PIPPIN_DATA names the folder with the data sets)")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, one for all tests of a process: Playwright holds the loop of its thread until the end."""
    result = shutil.which("chromium")
    if result is None:
        pytest.skip("no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=result, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def axe() -> Callable[[Any], list[Any]]:
    """What axe-core finds wrong with a page: rules, each with the places that break it."""
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    script = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")

    def look(page: Any) -> list[Any]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(script)
        result: list[Any] = page.evaluate(WRONG)
        return result

    return look
