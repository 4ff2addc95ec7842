"""The version is defined once, in the package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import pippin

ROOT = Path(__file__).resolve().parent.parent


def test_the_project_asks_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    build = pytest.importorskip("scikit_build_core.build")
    monkeypatch.chdir(ROOT)
    assert build.prepare_metadata_for_build_wheel(str(tmp_path)) == f"pippin-{pippin.__version__}.dist-info"
