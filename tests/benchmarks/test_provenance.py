"""The digest of the code that computes a cell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pippin
from pippin.benchmarks.provenance import HASHED_SOURCES, hash_sources


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of Pippin's Python files."""
    root = tmp_path / "pippin"
    shutil.copytree(Path(pippin.__file__).parent, root, ignore=shutil.ignore_patterns("*.so", "*.js", "__pycache__"))
    return root


@pytest.mark.parametrize("name", HASHED_SOURCES)
def test_a_change_in_any_package_that_takes_part_changes_the_digest(name: str, sources: Path) -> None:
    before = hash_sources(sources).hexdigest()
    assert hash_sources(sources).hexdigest() == before
    file = sources / name
    file = file if file.is_file() else sorted(file.rglob("*.py"))[-1]
    file.write_text(file.read_text() + "\n# another line\n")
    assert hash_sources(sources).hexdigest() != before


@pytest.mark.parametrize("name", HASHED_SOURCES)
def test_a_missing_package_is_an_error(name: str, sources: Path) -> None:
    path = sources / name
    path.unlink() if path.is_file() else shutil.rmtree(path)
    with pytest.raises(FileNotFoundError, match=path.name):
        hash_sources(sources)
