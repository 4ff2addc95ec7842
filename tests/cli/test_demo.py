from __future__ import annotations

from pathlib import Path

import pytest

from pippin.cli.main import main


def test_the_demo_builds_benches_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["demo", "-o", str(tmp_path / "demo"), "--sample", "10", "--ranker", "best-feature,regression"]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    for part in ("stdlib-TD", "stdlib-HP", "stdlib-NP", "best-feature", "* best of the column", "Over all three"):
        assert part in output
    page = tmp_path / "demo" / "report" / "index.html"
    assert f"The page: {page}" in output
    assert "stdlib-TD" in page.read_text()
    assert len(list((tmp_path / "demo" / "cells").iterdir())) == 3 * 5 * 2
