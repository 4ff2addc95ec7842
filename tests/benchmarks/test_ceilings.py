"""Upper bounds of a sample on the leaderboard, and MAP over all judged documents."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.small import CHEAP, bench
from tests.collections.test_build import SMALL, orchard

from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.records import read_record
from pippin.benchmarks.store import Results
from pippin.benchmarks.tables import table_rows
from pippin.cli.main import main
from pippin.collections.build import build_dataset
from pippin.data.qrels import Qrels
from pippin.errors import DataError
from pippin.evaluation.evaluate import evaluate
from pippin.storage.manifest import dump_with_checksum

JUDGED = {str(query): {f"d{number}": 1 for number in range(query, 40, 3)} for query in range(6)}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("ceilings")
    build_dataset(replace(orchard(), qrels=Qrels.from_dict(JUDGED)), folder / "built", replace(SMALL, meta=False))
    return bench(folder / "built", folder / "results").results


def test_map_over_all_judged_is_that_of_an_evaluation_over_them(results: Results) -> None:
    ceiling, board = results.ceilings()["orchard"], leaderboard(results, "orchard", "MAP")
    assert ceiling.relevant == sum(map(len, JUDGED.values()))
    assert 0 < ceiling.lost < ceiling.relevant
    result = ceiling.map_over_judged(board)
    for ranker, value in result.items():
        folds = []
        for cell in results.cells:
            if cell.record["ranker"] == ranker:
                run: dict[str, dict[str, float]] = {}
                for query, document, score in table_rows(cell.scores(), "query", "document", "score"):
                    run.setdefault(query, {})[document] = score
                folds.append(evaluate({q: JUDGED[q] for q in run}, run, "MAP", "official")["MAP"])
        assert value == pytest.approx(float(np.mean(folds)), abs=1e-12)
        assert value < board.by_ranker[ranker].mean
        assert value <= ceiling.best["judged"]["MAP"]


def test_the_leaderboard_and_the_bench_tell_it(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    ceiling = results.ceilings()["orchard"]
    assert main(["leaderboard", str(results.path)]) == 0
    output = capsys.readouterr().out
    assert f"the sample lacks {ceiling.lost} of {ceiling.relevant} relevant documents" in output
    assert "upper bound" in output
    assert main(["leaderboard", str(results.path), "--format", "json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)["ceilings"]
    assert (record["data"], record["lost"], {item["ranker"] for item in record["MAP"]}) == (
        "orchard",
        ceiling.lost,
        set(CHEAP),
    )


def test_a_sample_that_lost_nothing_says_so(tmp_path: Path) -> None:
    build_dataset(orchard(), tmp_path / "built", replace(SMALL, meta=False, sampling="both"))
    results = bench(tmp_path / "built", tmp_path / "results").results
    ceiling = results.ceilings()["orchard"]
    assert ceiling.sentence() == "orchard: the sample holds all 12 relevant documents"
    board = leaderboard(results, "orchard", "MAP")
    assert ceiling.map_over_judged(board) == pytest.approx({s.ranker: s.mean for s in board.standings})


def test_a_forged_record_of_a_sample_is_refused(results: Results, tmp_path: Path) -> None:
    shutil.copytree(results.path / "data", tmp_path / "data")
    file = next((tmp_path / "data").iterdir())
    record = read_record(file, "data")
    file.write_bytes(dump_with_checksum({**record, "sampled": {**record["sampled"], "partial": {"1": [3, 0]}}}))
    with pytest.raises(DataError, match="does not match the schema of a data record"):
        read_record(file, "data")
