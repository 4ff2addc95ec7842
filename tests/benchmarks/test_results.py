"""Results of a run: cell content, tables, and no repeated computation."""

from __future__ import annotations

import errno
import math
import os
import shutil
from pathlib import Path

import polars
import pytest
from tests.benchmarks.small import CHEAP, bench, whole, write_folds

import pippin
from pippin.benchmarks.inputs import resolve_inputs
from pippin.benchmarks.plan import MEASURES
from pippin.benchmarks.records import KEY, read_record
from pippin.benchmarks.store import Results
from pippin.errors import DataError
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.tools import resolve_tools
from pippin.rankers import models
from pippin.storage.files import remove_path
from pippin.storage.manifest import dump_with_checksum


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folds(tmp_path_factory.mktemp("data") / "small")


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    outcome = bench(folder, tmp_path_factory.mktemp("results") / "r")
    assert (outcome.computed, outcome.failed) == (10, {})
    return outcome.results


def test_cells_are_in_their_order(results: Results) -> None:
    assert [cell.key for cell in results.cells] == [
        ("small", f"Fold{fold}", ranker, "official", 1) for fold in range(1, 6) for ranker in CHEAP
    ]
    assert all(cell.address == cell.path.name for cell in results.cells)
    assert not results.missing()


def test_a_cell_holds_what_its_model_gives(results: Results, folder: Path) -> None:
    test = resolve_inputs([str(folder)])[0].read()[0].test
    cell = results.cells[1]
    model = models.load(cell.model)
    assert model.name == "regression"
    assert model.get_params()["lambda_l2"] == cell.record["selected"]["parameters"]["lambda_l2"]
    scores = polars.DataFrame(cell.scores())
    assert scores["score"].to_list() == model.predict(test).tolist()
    assert scores["label"].to_list() == test.labels.tolist()
    assert scores["query"].unique(maintain_order=True).to_list() == list(test.query_ids)


def test_values_and_means_are_those_of_evaluate(results: Results, folder: Path) -> None:
    test = resolve_inputs([str(folder)])[0].read()[0].test
    cell = results.cells[1]
    for tool, measure in (("official", "NDCG@10"), ("letor4", "P@3"), ("yahoo", "MAP"), ("gdeval", "NDCG@5")):
        expected = evaluate(test, cell.scores()["score"].to_numpy(), [measure], tool)
        kept = polars.DataFrame(cell.values()).filter(polars.col("tool") == tool, polars.col("measure") == measure)
        values = dict(zip(kept["query"], kept["value"], strict=True))
        assert values == {
            query: None if math.isnan(value) else value for query, value in expected.per_query[measure].items()
        }
        assert cell.record["means"][tool][measure] == expected.mean[measure]
    assert None in values.values()  # gdeval leaves queries without a relevant document out


def test_the_choice_is_the_first_best_on_validation(results: Results) -> None:
    selected = results.cells[1].record["selected"]
    values = [candidate["value"] for candidate in selected["candidates"]]
    assert len(values) == 3
    assert selected["value"] == max(values)
    assert selected["parameters"] == selected["candidates"][values.index(max(values))]["parameters"]


def test_tables(results: Results) -> None:
    means = polars.DataFrame(results.means())
    assert means.columns == [*KEY, "tool", "measure", "mean"]
    assert set(means["measure"]) == set(MEASURES)
    assert set(means["tool"]) == {tool.name for tool in resolve_tools("classic")}
    assert len(means.filter(polars.col("tool") == "official")) == 10 * len(MEASURES)
    catboost = set(means.filter(polars.col("tool") == "catboost")["measure"])
    assert catboost == set(MEASURES) - {"ERR@10"}  # labels above 1 are no probabilities
    values = polars.DataFrame(results.values(tools=["official"], measures=["MAP"]))
    assert values.columns == [*KEY, "tool", "measure", "query", "value"]
    assert len(values) == 2 * 30  # every query is tested once by each ranker
    mean = values.filter(polars.col("fold") == "Fold1", polars.col("ranker") == "regression")["value"].mean()
    assert mean == pytest.approx(means.filter(
        polars.col("fold") == "Fold1", polars.col("ranker") == "regression", polars.col("tool") == "official",
        polars.col("measure") == "MAP",
    )["mean"].item(), rel=1e-12)  # fmt: skip
    costs = polars.DataFrame(results.costs())
    assert len(costs) == 10
    assert (costs["train_seconds"] <= costs["select_seconds"]).all()
    assert (costs["select_processor_seconds"] >= costs["train_processor_seconds"]).all()
    assert (costs["train_processor_seconds"] > 0).all()
    assert (costs["peak_bytes"] > 10 << 20).all()
    assert len(results.failures()) == 0
    assert set(results.importances()["feature"].to_pylist()) == {"1", "2", "3", "4", "5"}
    data = results.datasets()
    assert data["queries"].to_pylist() == [30] * 5
    assert data["fold"].to_pylist() == [f"Fold{i}" for i in range(1, 6)]
    assert "findings" in results.audits()["small"]
    plan = results.plan()
    assert (plan["data"], plan["ranker"], plan["select"]) == (["small"], list(CHEAP), ["MAP"])
    assert results.versions["pippin"] == [pippin.__version__]


def test_nothing_is_computed_twice_and_bytes_are_the_same(results: Results, folder: Path, tmp_path: Path) -> None:
    assert bench(folder, results.path).computed == 0
    again = bench(folder, tmp_path / "again", rankers=tuple(reversed(CHEAP)))
    assert again.computed == 10
    assert again.results.digest() == results.digest()
    (again.results.cells[0].path / "cell.json").write_text("{}")
    assert again.results.digest() != results.digest()


def test_a_later_plan_adds_to_an_earlier_one_or_takes_its_place(folder: Path, tmp_path: Path) -> None:
    def means() -> dict[str, int]:
        frame = polars.DataFrame(Results.open(tmp_path / "r").means()).filter(polars.col("tool") == "official")
        return dict(frame.filter(polars.col("measure") == "MAP").group_by("ranker").len().iter_rows())

    bench(folder, tmp_path / "r", rankers=("best-feature",))
    bench(folder, tmp_path / "r", rankers=("regression",), command="second")
    assert means() == {"best-feature": 5, "regression": 5}
    other = bench(folder, tmp_path / "r", rankers=("regression",), parameters={"regression": {"lambda_l2": 1.0}})
    assert other.computed == 5
    assert means() == {"best-feature": 5, "regression": 5}
    assert len(list((tmp_path / "r" / "cells").iterdir())) == 15
    # The same name with other folds: those of before would be compared with something else, and are not shown.
    more = write_folds(tmp_path / "small", whole(20, seed=3), folds=4)
    bench(more, tmp_path / "r", rankers=("regression",))
    assert means() == {"regression": 4}
    assert "second" in Results.open(tmp_path / "r").plan()["commands"]


def test_a_ranker_that_takes_no_null_fails_with_its_sentence_and_is_tried_again(tmp_path: Path) -> None:
    data = write_folds(tmp_path / "null", whole(null=True))
    for _ in range(2):
        outcome = bench(data, tmp_path / "r")
        assert len(outcome.failed) == 5
    failures = outcome.results.failures()
    assert failures.column_names == [*KEY, "reason"]
    assert set(failures["ranker"].to_pylist()) == {"regression"}
    assert "regression does not support NULL (NaN) features" in failures["reason"][0].as_py()
    assert len(outcome.results.cells) == 5
    assert len(outcome.results.missing()) == 5


def test_a_cell_that_comes_at_last_is_no_failure(folder: Path, tmp_path: Path) -> None:
    outcome = bench(folder, tmp_path / "r", rankers=("best-feature",))
    results, cell = outcome.results, outcome.results.cells[0]
    kept = {file.name: file.read_bytes() for file in cell.path.iterdir()}
    for file in cell.path.iterdir():
        file.unlink()
    cell.path.rmdir()
    results.write_failure(outcome.tasks[0], "bad luck")
    fresh = Results.open(results.path)
    assert fresh.failures()["reason"].to_pylist() == ["bad luck"]
    assert bench(folder, tmp_path / "r", rankers=("best-feature",)).computed == 1
    fresh = Results.open(results.path)
    assert not len(fresh.failures())
    assert not list((fresh.path / "failures").iterdir())
    assert {file.name: file.read_bytes() for file in cell.path.iterdir()} == kept


def test_results_of_another_version_are_refused(tmp_path: Path) -> None:
    for record, sentence in (
        ({"format": "pippin results", "version": 4, "pippin": "9.0"}, r"of version 4, written by pippin 9\.0"),
        ({"format": "pippin results", "version": 1}, "an earlier version, which cannot be verified: run the same"),
        ({"schema": 1, "pippin": "0.1.0"}, "has another format"),
    ):
        (tmp_path / "results.json").write_bytes(dump_with_checksum(record))
        for use in (Results.open, Results.create):
            with pytest.raises(DataError, match=sentence):
                use(tmp_path)
    for content, sentence in (("[]", "has another format"), ("{", "damaged: its results.json cannot be read")):
        (tmp_path / "results.json").write_text(content)
        with pytest.raises(DataError, match=sentence):
            Results.open(tmp_path)


@pytest.fixture
def copy(results: Results, tmp_path: Path) -> Results:
    shutil.copytree(results.path, tmp_path / "copy")
    return Results.open(tmp_path / "copy")


def look(results: Results) -> list[object]:
    """Everything that a leaderboard and a report read."""
    fresh = Results.open(results.path)
    tables = (fresh.means(), fresh.values(), fresh.costs(), fresh.failures(), fresh.importances(), fresh.datasets())
    remaining = [fresh.audits(), fresh.feature_names(), fresh.plan(), fresh.versions]
    return [
        *(table.to_pydict() for table in tables),
        *remaining,
        [(c.scores().to_pydict(), c.model.read_bytes()) for c in fresh.cells],
    ]


def test_every_flipped_bit_is_detected(copy: Results) -> None:
    before = look(copy)
    cell = copy.cells[0].path
    digest = next((copy.path / "data").iterdir())
    for file in (*sorted(cell.iterdir()), copy.path / "plan.json", copy.path / "results.json", digest,
                 copy.path / "costs" / f"{cell.name}.json"):  # fmt: skip
        content = file.read_bytes()
        for place in {0, 7, len(content) // 3, len(content) // 2, len(content) - 40, len(content) - 1}:
            changed = bytearray(content)
            changed[place] ^= 4
            file.write_bytes(changed)
            with pytest.raises(DataError):
                look(copy)
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(DataError):
            look(copy)
        file.unlink()
        if file.name != "plan.json":
            with pytest.raises(DataError):
                look(copy)
        file.write_bytes(content)
    assert look(copy) == before


@pytest.mark.parametrize("file", ["cell.json", "values.parquet", "scores.parquet", "model.json"])
def test_a_damaged_cell_is_computed_again(copy: Results, folder: Path, file: str) -> None:
    cell = copy.cells[0].path
    whole = (cell / file).read_bytes()
    (cell / file).write_bytes(whole[:-3])
    assert bench(folder, copy.path).computed == 1
    assert (cell / file).read_bytes() == whole
    assert bench(folder, copy.path).computed == 0


@pytest.mark.parametrize("kind", ["cell", "cost", "failure", "data", "plan"])
def test_forged_records_are_refused(tmp_path: Path, kind: str) -> None:
    for record in ({"x": 1}, {"cells": [], "runs": [3]}, {"data": 5}, {"reason": None}):
        (tmp_path / "it.json").write_bytes(dump_with_checksum(record))
        with pytest.raises(DataError, match=f"does not match the schema of a {kind} record"):
            read_record(tmp_path / "it.json", kind)


def test_addresses_do_not_lead_out_of_the_folder(copy: Results) -> None:
    plan = read_record(copy.path / "plan.json", "plan")
    for key in ("address", "digest"):
        forged = [{**plan["cells"][0], key: "../../elsewhere"}]
        (copy.path / "plan.json").write_bytes(dump_with_checksum({**plan, "cells": forged}))
        with pytest.raises(DataError, match="does not match the schema of a plan record"):
            Results.open(copy.path).means()


@pytest.mark.parametrize(
    "name", [".new", ".lock", "cells", "data", "costs", "failures", "plan.json", "cells/x", ".new/x"]
)
def test_symlinks_in_untrusted_folders_are_not_followed(copy: Results, folder: Path, tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years of work")
    place = copy.path / name
    remove_path(place)
    place.symlink_to(precious if name != ".lock" else precious / "thesis")
    with pytest.raises(DataError, match="this is a symbolic link; Pippin does not write through links"):
        bench(folder, copy.path)
    if name == ".lock":
        with pytest.raises(DataError, match="symbolic link"), copy.lock():
            pass
    assert [file.read_text() for file in precious.iterdir()] == ["years of work"]


def test_finished_results_on_a_disk_that_cannot_be_written(copy: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_os_error(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    before = look(copy)
    monkeypatch.setattr(os, "open", raise_os_error)
    with pytest.raises(DataError, match=r"cannot be written \(Read-only file system\)"), copy.lock():
        pass
    monkeypatch.undo()
    assert look(copy) == before


def test_unrelated_folder_is_not_a_results_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder of results: there is no results"):
        Results.open(tmp_path)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="not a folder of results"):
        Results.create(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        Results.create(tmp_path / "file" / "r")


def test_two_processes_on_one_folder(tmp_path: Path) -> None:
    results = Results.create(tmp_path / "r")
    (results.path / ".new" / "left").mkdir()
    with results.lock():
        assert not list((results.path / ".new").iterdir())  # what a killed process left is gone
        with pytest.raises(DataError, match="another process is writing to these results"), results.lock():
            pass
    with results.lock():
        pass
