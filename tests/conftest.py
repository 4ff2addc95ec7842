"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.golden import unpack

# Tests are of what comes out, not of how fast a busy machine draws examples.
settings.register_profile("pippin", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pippin")

# Folders of tests have long names, and a sentence with one in it would be broken where the screen ends.
os.environ["COLUMNS"] = "200"

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
