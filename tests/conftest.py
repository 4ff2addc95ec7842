"""What every test may ask for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.golden import unpack

# Tests are of what comes out, not of how fast a busy machine draws examples.
settings.register_profile("pippin", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pippin")

# Folders of tests have long names, and a sentence with one in it would be broken where the screen ends.
os.environ["COLUMNS"] = "200"

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent


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
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield running
        running.close()
