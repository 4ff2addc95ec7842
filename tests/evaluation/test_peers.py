"""Conventions reproduce the values of Python peers and of Yahoo's script on the golden inputs.

Named exceptions: ranx where lists of more than 15 documents are tied (its order is then arbitrary, and nothing was
recorded), scikit-learn for queries of one document (it raises an error) and for ignore_ties=True with tied scores
(again an arbitrary order), rankeval's queries with ties and more than 16 documents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference import near

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.evaluation.evaluation import Evaluation, evaluate_tool
from pippin.evaluation.tools import TOOLS
from pippin.kernels.strings import StringColumn

LISTS = ("g2", "g4", *(f"c{i:02}" for i in range(4, 25)))  # cases with LETOR files and scores
CASES = (*LISTS, "partial")  # cases with judgements and runs
FOLDS = tuple(f"{name}.Fold{fold}.{feature}" for name, feature in (("MQ2008", "f25"), ("OHSUMED", "f11"))
              for fold in range(1, 6))  # fmt: skip
RANX_SKIPS = 14  # cases with ties in lists of more than 15 documents


@cache
def run_of(path: Path) -> Run:
    results: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        results.setdefault(query, {})[document] = float(score)
    return Run.from_dict(results)


@cache
def judgements_of(path: Path) -> Qrels:
    results: dict[str, dict[str, int]] = {}
    for line in path.read_text().splitlines():
        query, _, document, label = line.split()
        results.setdefault(query, {})[document] = int(label)
    return Qrels.from_dict(results)


def dataset_of(lines: list[str]) -> Dataset:
    """Return labels, queries and document ids of a LETOR file with contiguous queries."""
    queries = [line.split(None, 2)[1].removeprefix("qid:") for line in lines]
    firsts = [i for i, query in enumerate(queries) if i == 0 or queries[i - 1] != query]
    labels = np.array([int(line.split(None, 1)[0]) for line in lines], np.int32)
    documents = StringColumn.of(line.split("docid = ")[1].split()[0] for line in lines)
    offsets = np.array([*firsts, len(lines)], np.int64)
    return Dataset(np.zeros((len(lines), 1)), labels, offsets, tuple(queries[i] for i in firsts), documents)


@cache
def lists_of(folder: Path, case: str, scores: str = "scores") -> tuple[Dataset, NDArray[np.float64]]:
    data = dataset_of((folder / f"inputs/{case}.letor4.txt").read_text().splitlines())
    return data, np.array([float(x) for x in (folder / f"inputs/{case}.{scores}").read_text().split()])


def golden(folder: Path, tool: str, name: str) -> tuple[Path, dict[str, Any]]:
    return folder, json.loads((folder / "outputs" / tool / f"{name}.perquery.json").read_text())


def agree(actual: Evaluation, values: Mapping[str, float | None], mean: float | None, tolerance: float = 1e-12) -> None:
    """Compare recorded queries and the mean within the tolerance; a recorded null is NaN."""
    (text,) = actual.mean
    assert values
    for query, value in values.items():
        expected = float("nan") if value is None else value
        assert near(actual.per_query[text][query], expected, tolerance), (text, query)
    if mean is not None:
        assert near(actual.mean[text], mean, tolerance), text


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("peer", "tool"), [("pytrec_eval", "trec_eval9"), ("ir_measures", "ir_measures")])
def test_peers_that_read_runs(golden_folder: Path, peer: str, tool: str, case: str) -> None:
    folder, expected = golden(golden_folder, peer, case)
    qrels, run = judgements_of(folder / f"inputs/{case}.qrels"), run_of(folder / f"inputs/{case}.run")
    for text, mean in expected["mean"].items():
        from_gdeval = peer == "ir_measures" and ("exp" in text or "ERR" in text)  # printed with 5 digits
        evaluation = evaluate_tool(qrels, run, [text], TOOLS[tool], {}, case)
        assert evaluation.per_query[text].keys() >= expected["per_query"][text].keys()
        agree(evaluation, expected["per_query"][text], mean, 6e-6 if from_gdeval else 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_ranx(golden_folder: Path, case: str) -> None:
    folder, expected = golden(golden_folder, "ranx", case)
    if "skipped" in expected:
        assert expected["queries"]
        pytest.skip(f"ranx: {expected['skipped']}")
    qrels, run = judgements_of(folder / f"inputs/{case}.qrels"), run_of(folder / f"inputs/{case}.run")
    for text, mean in expected["mean"].items():
        agree(evaluate_tool(qrels, run, [text], TOOLS["ranx"], {}, case), expected["per_query"][text], mean)


def test_ranx_is_skipped_for_no_other_case(golden_folder: Path) -> None:
    assert sum("skipped" in golden(golden_folder, "ranx", case)[1] for case in CASES) == RANX_SKIPS


@pytest.mark.parametrize("case", LISTS)
@pytest.mark.parametrize("peer", ["lightgbm", "xgboost"])
def test_boosters(golden_folder: Path, peer: str, case: str) -> None:
    folder, expected = golden(golden_folder, peer, case)
    for text, mean in expected["mean"].items():
        agree(evaluate_tool(*lists_of(folder, case), [text], TOOLS[peer], {}, case), expected["per_query"][text], mean)
        if text.endswith("-"):  # the suffix is also a tool
            alone = evaluate_tool(*lists_of(folder, case), [text[:-1]], TOOLS["xgboost-"], {}, case)
            agree(alone, expected["per_query"][text], mean)


@pytest.mark.parametrize("case", LISTS)
@pytest.mark.parametrize(
    ("peer", "gains", "tolerance"),
    [
        ("catboost", {"NDCG:top=10;type=Base": "label", "NDCG:top=10;type=Exp": "exp2"}, 1e-12),
        ("rankeval", {"NDCG@10 exp": "exp2", "NDCG@10 flat": "label"}, 1e-6),
    ],
)
def test_peers_with_two_gains(
    golden_folder: Path, peer: str, gains: dict[str, str], tolerance: float, case: str
) -> None:
    folder, expected = golden(golden_folder, peer, case)
    assert set(expected["per_query"]) == set(gains)
    unstable = {str(q) for key, queries in expected.items() if key.startswith("unstable") for q in queries}
    for key, gain in gains.items():
        evaluation = evaluate_tool(*lists_of(folder, case), ["NDCG@10"], TOOLS[peer], {"gain": gain}, case)
        values = {q: v for q, v in expected["per_query"][key].items() if q not in unstable}
        agree(evaluation, values, None if unstable else expected["mean"][key], tolerance)


@pytest.mark.parametrize("case", LISTS)
def test_scikit_learn(golden_folder: Path, case: str) -> None:
    folder, expected = golden(golden_folder, "sklearn", case)
    data, scores = lists_of(folder, case)
    single = {q for q, size in zip(data.query_ids, np.diff(data.offsets), strict=True) if size == 1}
    assert {str(q) for q in expected["single_document_queries"]} == single
    if len(single) == data.queries:
        pytest.skip("scikit-learn takes no query of one document, and this case has no other")
    for key, values in expected["per_query"].items():
        name, gain, ties = key.split()
        text = name.replace("@None", "")
        overrides = {"gain": "label" if gain == "gain=linear" else "exp2"}
        if ties == "ignore_ties=True":  # recorded only where nothing is tied
            overrides["ties"] = "reversed"
        else:
            assert values.keys() == set(data.query_ids) - single
        evaluation = evaluate_tool(data, scores, [text], TOOLS["sklearn"], overrides, case)
        agree(evaluation, values, None)
        mean = np.mean([evaluation.per_query[text][query] for query in values])
        assert near(float(mean), expected["mean_over_listed_queries"][key])


@pytest.mark.parametrize("case", LISTS)
@pytest.mark.parametrize("scores", ["scores", "scores2"])
def test_yahoo(golden_folder: Path, scores: str, case: str) -> None:
    folder, expected = golden(golden_folder, "yahoo", f"{case}.{scores}")
    for text, mean in expected["mean"].items():
        evaluation = evaluate_tool(*lists_of(folder, case, scores), [text], TOOLS["yahoo"], {}, case)
        agree(evaluation, expected["per_query"][text], mean)


@pytest.mark.parametrize("name", FOLDS)
def test_yahoo_on_real_data(shared: Path, name: str) -> None:
    """The score of a line is one of its features, as text after ` 25:` or ` 11:`."""
    real = shared / "golden/public/real"
    method = next(line for line in (real / "HOW.txt").read_text().splitlines() if line.startswith(f"{name}:"))
    collection, fold, feature = name.split(".")
    part = (int(fold.removeprefix("Fold")) + 3) % 5 + 1  # fold 1 tests on S5, fold 2 on S1, …
    folder = shared / "data" / collection / ("QueryLevelNorm" if collection == "OHSUMED" else "")
    content = (folder / f"S{part}.txt").read_bytes()
    assert f"sha256 {hashlib.sha256(content).hexdigest()[:16]}," in method
    lines = content.decode().splitlines()
    scores = np.array([float(line.split(f" {feature.removeprefix('f')}:")[1].split()[0]) for line in lines])
    expected = json.loads((real / f"yahoo/{name}.perquery.json").read_text())
    data = dataset_of(lines)
    for text, mean in expected["mean"].items():
        evaluation = evaluate_tool(data, scores, [text], TOOLS["yahoo"], {}, name)
        assert expected["per_query"][text].keys() == set(data.query_ids)
        agree(evaluation, expected["per_query"][text], mean)
