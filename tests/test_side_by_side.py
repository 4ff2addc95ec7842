"""The harness of `make bench-peers`: equal results, turns, tables between markers and the growth exponent."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "side_by_side"


@pytest.fixture(scope="module")
def contest() -> Iterator[ModuleType]:
    places = [str(FOLDER), str(FOLDER.parent)]
    sys.path[:0] = places
    try:
        yield importlib.import_module("contest")
    finally:
        del sys.path[: len(places)]


def line_of(contest: ModuleType, *printed: str) -> object:
    """Return a line whose contestants are programs that print."""
    programs = [
        contest.Contestant(f"{n}", ("{python}", "-c", f"print({text!r})"), ours=True) for n, text in enumerate(printed)
    ]
    absent = contest.Contestant("absent", ("{NOWHERE}",), needs=("$NOWHERE",))
    return contest.Line("a", "trec", "work", lambda *_: None, (*programs, absent), 1, 1, {"1": 2.0}, turns=2)


def test_contestants_take_turns_and_absent_ones_are_reported(contest: ModuleType, tmp_path: Path) -> None:
    pythons = contest.Interpreters(Path(sys.executable), Path(sys.executable))
    line = line_of(contest, "map all 0.5", "AP 0.5")
    ours, theirs, absent = contest.run(line, tmp_path, 1, pythons)
    assert ours["turns"] == theirs["turns"] == 2
    assert min(ours["clock"], ours["processor"], ours["peak"]) > 0
    assert absent == {"name": "absent", "absent": "NOWHERE is not set"}
    tables = importlib.import_module("tables")
    where = {"date": "2026-01-01", "machine": {"processor": "p", "cores": 2, "system": "s", "python": "3", "load": 0.5}}
    text = tables.markdown([line], {"a": {**where, "title": "work", "contestants": [ours, theirs, absent]}})
    assert "≥ 2×" in text
    assert "NOWHERE is not set" in text


def test_other_numbers_are_not_timed(contest: ModuleType, tmp_path: Path) -> None:
    pythons = contest.Interpreters(Path(sys.executable), Path(sys.executable))
    ours, theirs, _ = contest.run(line_of(contest, "map all 0.5", "map all 0.6"), tmp_path, 1, pythons)
    assert ours["turns"] == 2
    assert theirs == {"name": "1", "absent": "gives other numbers, up to 0.1 apart, so it is not timed"}


def test_a_line_is_kept_beside_what_others_have_measured(contest: ModuleType, tmp_path: Path) -> None:
    records = importlib.import_module("records")
    stored = tmp_path / "measured.json"
    records.keep(stored, "a", {"date": "yesterday"})
    records.keep(stored, "b", {"date": "today"})
    assert records.keep(stored, "a", {"date": "today"}) == {"a": {"date": "today"}, "b": {"date": "today"}}


def test_every_section_has_its_markers_in_the_page(contest: ModuleType) -> None:
    lines, tables = importlib.import_module("lines"), importlib.import_module("tables")
    page = (FOLDER.parents[1] / "docs" / "notes" / "performance.md").read_text()
    for section in {line.section for line in lines.LINES} | {"limits", "growth", "versions"}:
        assert tables.replace_section(page, section, "x\n") != page
    with pytest.raises(SystemExit, match="no markers for other"):
        tables.replace_section(page, "other", "")


def test_the_exponent_is_the_slope_of_the_logarithms(contest: ModuleType) -> None:
    growth = importlib.import_module("growth")
    steps = [{"rows": 10**p, "processor": 2e-9 * 10.0 ** (1.5 * p), "clock": 1.0} for p in range(3, 8)]
    assert growth.exponent(steps) == pytest.approx(1.5)
    assert growth.draw(steps).count("<circle") == len(steps)


def test_instructions_that_grow_are_reported() -> None:
    spec = importlib.util.spec_from_file_location("count", FOLDER.parent / "instructions" / "count.py")
    assert spec is not None
    assert spec.loader is not None
    count = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(count)
    regressions = count.find_regressions({"a": 105, "b": 106}, {"a": 100, "b": 100})
    assert regressions == ["b: 106 instructions, accepted are 100 (+6.0 %)"]
    assert count.find_regressions({"c": 1}, {}) == ["c: 1 instructions, none are accepted"]
    accepted = json.loads(count.ACCEPTED.read_text())
    assert all(n > 0 for counts in accepted.values() for n in counts.values())
