"""Research directions as tables and pages, and benchmarks that learn from other data sets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.small import here, write_folds
from tests.rankers.test_estimators import plant_sum

from pippin.benchmarks.inputs import open_source_folds
from pippin.benchmarks.plan import Experiment
from pippin.benchmarks.runner import run
from pippin.benchmarks.studies import retrieval
from pippin.benchmarks.studies.curves import learning_curves
from pippin.benchmarks.studies.directions import DIRECTIONS, ResearchDirection, StudyContext, research
from pippin.data.digest import digest
from pippin.display.tables import Table
from pippin.errors import DataError, UnknownName
from pippin.reports import studies as report


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("data")
    return tuple(str(write_folds(folder / name, plant_sum(queries=15, size=6, seed=seed), 3))  # type: ignore[return-value]
                 for seed, name in enumerate(("one", "two")))  # fmt: skip


def _run_direction(place: StudyContext) -> Iterator[object]:
    chains = ["pca(2) > regression", "transfer(source_data=two) > regression"]
    yield place.compare(lambda data, names: [("regression", chains)] if data == names[0] else [])
    yield Table(["a"], [["1"]])


def test_a_direction_is_tables_for_people_programs_and_a_page(two: tuple[str, str], tmp_path: Path) -> None:
    items = [(ResearchDirection("mine", "Mine", "Why?", _run_direction), list(_run_direction(  # type: ignore[arg-type]
        StudyContext(two, tmp_path / "r", folds=3, run_options={"executor": here, "verbose": False}))))]  # fmt: skip
    text = "\n".join(part.render() for part in report.parts(items))  # type: ignore[arg-type]
    assert "transfer(source_data=two) > regression" in text
    assert "2 comparisons: " in text
    (record,) = report.records(items)  # type: ignore[arg-type]
    assert [row[1] for row in record["tables"][0]["rows"]] == [
        "regression", "pca(2) > regression", "transfer(source_data=two) > regression",
    ]  # fmt: skip
    page = "# Mine\n<!-- research: mine -->\nold\n<!-- end of mine -->\nwords\n"
    filled = report.fill_placeholders(page, items, "page.md")  # type: ignore[arg-type]
    assert "old" not in filled
    assert filled.count("| pca(2)") + filled.count("pca(2) \\> regression") >= 1
    assert filled.endswith("<!-- end of mine -->\nwords\n")
    assert report.fill_placeholders(filled, items, "page.md") == filled  # type: ignore[arg-type]
    with pytest.raises(DataError, match="missing placeholder"):
        report.fill_placeholders("nothing", items, "page.md")  # type: ignore[arg-type]


def test_a_chain_that_failed_is_reported_and_not_counted(two: tuple[str, str], tmp_path: Path) -> None:
    place = StudyContext(two[:1], tmp_path / "r", folds=3, run_options={"executor": here, "verbose": False})
    comparison = place.compare(lambda *_: [("regression", ["without(nothing) > regression", "pca(2) > regression"])])
    assert [(item.ranker, item.is_incomplete) for item in comparison] == [
        ("regression", False), ("pca(2) > regression", False), ("without(nothing) > regression", True),
    ]  # fmt: skip
    table = report.table(comparison)
    assert table.rows[-1][7] == "not finished"
    assert "1 comparisons" in table.notes[0]
    assert "1 not finished" in table.notes[0]


def test_every_direction_of_the_page_has_its_place() -> None:
    page = (Path(__file__).parents[2] / "docs" / "notes" / "research-tables.md").read_text(encoding="utf-8")
    for name in DIRECTIONS.loaded_items:
        assert f"<!-- research: {name} -->" in page
        assert f"<!-- end of {name} -->" in page


def test_tournament_counts_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_has_torch", lambda: False)
    table = retrieval.tournament_costs(plant_sum(queries=6, size=6), sizes=(4, 8), repeats=1)
    assert [row[0] for row in table.rows] == ["4", "8"]
    assert [row[2] for row in table.rows] == ["6", "28"]  # n(n − 1)/2
    assert all(int(row[4]) <= most for row, most in zip(table.rows, (5, 17), strict=True))  # n⌈log₂n⌉ − 2^⌈log₂n⌉ + 1
    assert len(table.headers) == len(table.rows[0]) == 6


def test_a_laboratory_builds_collections_with_more_features(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "docs.tsv").write_text("".join(f"d{i}\tred apples {i} pears\n" for i in range(8)))
    (folder / "topics.tsv").write_text("".join(f"q{i}\tred pears {i}\n" for i in range(6)))
    (folder / "qrels").write_text("".join(f"q{i} 0 d{i} 1\nq{i} 0 d7 0\n" for i in range(6)))
    place = StudyContext((f"mine={folder}",), tmp_path / "r", folds=3)
    (richer,) = place.with_features("auto positions")
    assert richer.data == "mine+"
    built = Path(richer.path).parent
    assert StudyContext((f"mine={built}",), tmp_path / "r", folds=3).with_features("auto positions") == []
    names = open_source_folds(richer).data.feature_names
    assert names[:-2] == open_source_folds(place.inputs()[0]).data.feature_names
    assert [name.partition("@")[0] for name in names[-2:]] == ["first_position", "bm25_proximity"]


def test_research_knows_its_directions(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="selection"):
        research(["x"], tmp_path / "r", only=["selecton"])


def test_curves_with_and_without_a_source(two: tuple[str, str], tmp_path: Path) -> None:
    rankers = ("regression", "transfer(source_data=two) > regression")
    options: dict[str, Any] = {
        "rankers": rankers,
        "sizes": (3,),
        "seeds": 1,
        "quick": True,
        "folds": 3,
        "executor": here,
    }
    first, second = learning_curves(two, tmp_path / "r", verbose=False, **options)
    assert list(first.curves) == list(rankers)
    assert list(second.curves) == ["regression"]
    (alone,) = learning_curves(two, tmp_path / "r", verbose=False, targets=("one",), **options)
    assert alone.curves == first.curves


def test_a_cell_knows_the_data_that_it_borrowed_from(two: tuple[str, str], tmp_path: Path) -> None:
    plan = Experiment(
        two, rankers=("transfer(source_data=two) > regression",), tools=("official",), measures=("MAP",), folds=3
    )
    outcome = run(plan, tmp_path / "r", executor=here, verbose=False)
    assert {task.data for task in outcome.tasks} == {"one"}  # nothing learns from itself
    assert not outcome.failed
    record = json.loads((outcome.results.cells[0].path / "cell.json").read_text())
    full = plant_sum(queries=15, size=6, seed=1)
    assert len(record["sources"]["two"]) == len(digest(full))
    other = str(write_folds(tmp_path / "two", replace(full, labels=full.labels[::-1].copy()), 3))
    again = run(replace(plan, data=(two[0], other)), tmp_path / "r2", executor=here, verbose=False)
    assert {task.address for task in again.tasks}.isdisjoint(task.address for task in outcome.tasks)
