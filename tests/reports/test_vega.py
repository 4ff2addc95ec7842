"""The Vega library from an installed package and from a source tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pippin.errors import MissingDependency
from pippin.reports import vega


@pytest.fixture(autouse=True)
def anew() -> None:
    vega.drawing_library.cache_clear()


def test_an_installed_page_needs_no_other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / vega.FILE).write_text("/* from the package */", encoding="utf-8")
    monkeypatch.setattr(vega, "__file__", str(tmp_path / "vega.py"))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert vega.drawing_library() == "/* from the package */"


def test_a_source_tree_without_vl_convert_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "__file__", str(tmp_path / "vega.py"))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingDependency, match=r"pip install 'pippin\[report\]'"):
        vega.drawing_library()


def test_the_build_writes_the_script_that_a_source_tree_makes(tmp_path: Path) -> None:
    """As CMake runs it: by path, without Pippin at hand."""
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    path = tmp_path / "vega.js"
    subprocess.run([sys.executable, "-P", str(Path(vega.__file__)), str(path)], check=True, cwd=tmp_path)
    text = path.read_text(encoding="utf-8")
    assert text == vega.bundle()
    assert text.startswith("/* Vega ")
    assert "window.vegaEmbed" in text
    assert "</script" not in text
