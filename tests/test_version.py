"""The version is defined once, in the package."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import pippin
from pippin.dependencies import INSTALL

ROOT = Path(__file__).resolve().parent.parent


def test_the_project_asks_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    build = pytest.importorskip("scikit_build_core.build")
    monkeypatch.chdir(ROOT)
    assert build.prepare_metadata_for_build_wheel(str(tmp_path)) == f"pippin-{pippin.__version__}.dist-info"


def test_a_release_states_one_version_everywhere() -> None:
    assert f"version: {pippin.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    changes = (ROOT / "CHANGELOG.md").read_text()
    heading, *older = re.split(r"^## ", changes, flags=re.MULTILINE)[1:]
    assert re.match(rf"{re.escape(pippin.__version__)} - \d{{4}}-\d\d-\d\d\n", heading)
    assert all(len(release.splitlines()) <= 80 for release in (heading, *older))
    date = re.search(r"^date-released: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert date is not None
    assert heading.startswith(f"{pippin.__version__} - {date[1]}\n")


def test_pages_install_pippin_as_the_constant_says() -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
    installs = {
        page.name: re.findall(r"^\$ (pip install (?:\.|pippin)(?!\S)|pip install pippin$)", text, re.MULTILINE)
        for page, text in pages.items()
    }
    assert {name for name, commands in installs.items() if commands} >= {
        "README.md",
        "index.md",
        "install.md",
        "start.md",
    }
    assert {command for commands in installs.values() for command in commands} == {INSTALL}


def test_the_bill_of_materials_lists_what_is_bundled_and_needed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    runpy.run_path(str(ROOT / "tools" / "sbom"), run_name="__main__")
    bill = json.loads(capsys.readouterr().out)
    names = {component["name"] for component in bill["components"]}
    assert bill["metadata"]["component"]["version"] == pippin.__version__
    assert {"nanobind", "vega", "vega-lite", "numpy", "lightgbm"} <= names
    notices = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "licenses").glob("*.txt"))
    assert all(word in notices for word in ("nanobind", "robin_map", "Vega-Lite", "vega-embed"))


def test_the_release_workflow_runs_every_check() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert set(jobs["publish"]["needs"]) == {"install", "check"}
    assert jobs["install"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert len(jobs["wheels"]["strategy"]["matrix"]["system"]) == 3
    for command in (
        "twine check --strict",
        "abi3audit",
        "auditwheel show",
        "check-wheel-contents",
        "attest-build-provenance",
    ):
        assert command in text
