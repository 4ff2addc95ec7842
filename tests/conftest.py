"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests are of what comes out, not of how fast a busy machine draws examples.
settings.register_profile("pippin", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pippin")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with golden outputs and real data sets, beside the project or named by PIPPIN_DATA."""
    folder = Path(os.environ.get("PIPPIN_DATA", ROOT.parent / "shared"))
    if not (folder / "golden").is_dir():
        pytest.skip(f"no golden outputs in {folder} (set PIPPIN_DATA to the folder that holds golden/ and data/)")
    return folder
