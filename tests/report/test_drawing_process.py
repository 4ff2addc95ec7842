"""Does the process that draws figures write them, and say what it could not write?"""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.errors import ConventionError, PippinError
from pippin.report.drawing_process import DrawingProcess

pytest.importorskip("vl_convert")
BAR = {"mark": "bar", "data": {"values": [{"a": 1.5}]}, "encoding": {"x": {"field": "a", "type": "quantitative"}}}


def test_figures_are_written_by_another_process_and_what_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken.svg").mkdir()
    steps: list[str] = []
    with DrawingProcess(tmp_path, ["svg", "pdf"]) as drawing:
        drawing.begin([("first", BAR)])
        assert drawing.finish(steps.append) == [tmp_path / "first.svg", tmp_path / "first.pdf"]
        assert steps == ["first"]
        drawing.begin([("taken", BAR)])
        with pytest.raises(PippinError, match=r"figure taken: .*taken.svg"):
            drawing.finish()
    assert (tmp_path / "first.svg").read_bytes().startswith(b"<svg")
    assert (tmp_path / "first.pdf").read_bytes().startswith(b"%PDF")


def test_a_process_that_ended_is_an_error(tmp_path: Path) -> None:
    with DrawingProcess(tmp_path, ["svg"]) as drawing:
        drawing._process.kill()
        drawing.begin([("first", BAR)] * 100)
        with pytest.raises(PippinError, match="figure first: the process that draws figures ended"):
            drawing.finish()


def test_an_unknown_kind_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(ConventionError, match="not as gif"):
        DrawingProcess(tmp_path, ["gif"])
