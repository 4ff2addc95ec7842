"""Recorded values of current evaluators against the corresponding tools."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from tests.golden import recordings

PAGE = Path(__file__).parents[2] / "docs" / "notes" / "tool-checks.md"


def test_the_recordings_are_small() -> None:
    assert recordings.ARCHIVE.stat().st_size <= 980_000


@pytest.mark.timeout(1200)  # minutes of work on a busy machine
def test_every_number_of_the_map_is_right(golden_folder: Path) -> None:
    misses = recordings.compare(golden_folder / "inputs", "modern.tsv")
    assert not {folder: value[:3] for folder, value in misses.items() if value}


def test_shuffled_ties_lie_between_the_worst_order_and_the_best(golden_folder: Path) -> None:
    misses = recordings.compare(golden_folder / "inputs", recordings.SHUFFLED)
    assert not {folder: value[:3] for folder, value in misses.items() if value}


def test_the_page_tells_how_many_numbers_are_compared() -> None:
    assert recordings.coverage() in PAGE.read_text()


def test_nine_of_ten_numbers_are_covered_or_the_page_says_why() -> None:
    recorded: dict[str, set[str]] = defaultdict(set)
    for folder, _, _, recording in recordings.recordings():
        recorded[folder] |= set(recording.get("mean") or {}) | set(recording.get("per_query") or {})
    mapped: dict[str, set[str]] = defaultdict(set)
    for row in (*recordings.rows("modern.tsv"), *recordings.rows(recordings.SHUFFLED)):
        mapped[row["recorded"]].add(row["key"])
    reasons = PAGE.read_text().partition("## Numbers of today's evaluators that are not compared\n")[2]
    for folder, keys in recorded.items():
        missing = keys - mapped[folder]
        assert not missing or f"| {folder} |" in reasons, (folder, sorted(missing)[:5])


def test_the_checker_itself_finds_no_miss(shared: Path, golden_folder: Path, tmp_path: Path) -> None:
    checker = shared / "golden" / "check-modern"
    for folder, name in (("ydf", "c11.perquery.json"), ("cornac", "c13.trec.perquery.json")):
        (tmp_path / folder).mkdir()
        recorded = checker.parent / "modern" / "outputs" / folder / name
        (tmp_path / folder / name).write_text(recorded.read_text())
    done = subprocess.run(
        [sys.executable, checker, "--map", recordings.ARCHIVE.parents[1] / "modern.tsv", "--outputs", tmp_path,
         "--inputs", golden_folder / "inputs", "--pippin", f"{sys.executable} -m pippin"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ydf: 16 of 16 right; 16 of 17 numbers covered" in done.stdout
