"""Figures are written to one file per format, and figures that cannot be written are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.errors import ConventionError, PippinError
from pippin.reports.figures import check_kinds, write_figure

pytest.importorskip("vl_convert")
BAR = {"mark": "bar", "data": {"values": [{"a": 1.5}]}, "encoding": {"x": {"field": "a", "type": "quantitative"}}}


def test_a_figure_is_written_and_a_failure_names_its_figure(tmp_path: Path) -> None:
    assert write_figure(tmp_path, "first", BAR, ["svg", "pdf"]) == [tmp_path / "first.svg", tmp_path / "first.pdf"]
    assert (tmp_path / "first.svg").read_bytes().startswith(b"<svg")
    assert (tmp_path / "first.pdf").read_bytes().startswith(b"%PDF")
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(PippinError, match=r"figure taken: .*taken.svg"):
        write_figure(tmp_path, "taken", BAR, ["svg"])


def test_an_invalid_specification_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PippinError, match="figure wrong"):
        write_figure(tmp_path, "wrong", {"mark": "nothing"}, ["svg"])


def test_an_unknown_format_is_rejected() -> None:
    with pytest.raises(ConventionError, match="gif"):
        check_kinds(["gif"])
