"""Objects and measure names of ir_measures, ranx and pytrec_eval, with the values of these libraries.

They are asked where they are installed; golden outputs of the same libraries are compared elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pippin.errors import UnknownName
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.measures.notation import parse, texts_of

NAMES = {
    "nDCG@10": "NDCG@10", "AP(rel=2)": "AP(rel=2)", "IPrec@0.1": "iprec_at_recall(recall=0.1)",
    "IPrec(rel=2)@1.0": "iprec_at_recall(recall=1,rel=2)", "Judged": "Judged", "Judged@10": "Judged@10",
    "NumQ": "NumQ", "NumRel": "num_rel", "NumRet": "num_ret", "NumRet(rel=1)": "num_rel_ret(rel=1)",
    "NumRelRet": "num_rel_ret", "SetP": "P", "SetP(rel=2)": "P(rel=2)", "SetP(relative=True)": "relative_P",
    "SetR": "Recall", "SetF": "set_F", "SetF(beta=2.0)": "set_F(weight=2)", "SetAP": "set_map", "R@5": "Recall@5",
    "nDCG(dcg='exp-log2')@10": "NDCG(gain=exp2)@10",
}  # fmt: skip
# Computed by pytrec_eval or by ir_measures itself; gdeval's needs Perl, and cwl_eval's a package more.
ASKED = [
    "nDCG@5", "nDCG", "AP", "AP(rel=2)", "AP@5", "P@5", "P(rel=2)@5", "R@5", "RR", "RR@5", "Rprec", "Bpref",
    "Success@3", "infAP", "IPrec@0.1", "IPrec(rel=2)@0.5", "Judged@3", "Judged", "Judged@30", "NumQ", "NumRel",
    "NumRet", "NumRet(rel=1)", "NumRet(rel=2)", "SetP", "SetP(rel=2)", "SetP(relative=True)", "SetR", "SetF",
    "SetF(beta=2.0)", "SetAP",
]  # fmt: skip


@pytest.mark.parametrize(("text", "ours"), NAMES.items())
def test_names_of_ir_measures(text: str, ours: str) -> None:
    assert parse(text).text == ours
    assert parse(ours) == parse(text), "the canonical text says the same"


def test_inapplicable_arguments_are_reported() -> None:
    with pytest.raises(UnknownName, match="no argument of AP is called 'judged_only'"):
        parse("AP(judged_only=True)")


def case(seed: int, ties: bool = True) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judged and retrieved topics that overlap in part, with unjudged documents, and ties or none."""
    generator = np.random.default_rng(seed)
    qrels, run = {}, {}
    for topic in range(12):
        pool = [f"d{i}" for i in generator.permutation(25)]
        grain = 4 if ties else 10**6
        scores = np.unique(generator.integers(0, grain, 20)) if not ties else generator.integers(0, grain, 20)
        if topic != 3:
            qrels[f"q{topic}"] = {d: int(label) for d, label in zip(pool, generator.integers(0, 3, 15), strict=False)}
        if topic != 5:
            retrieved = generator.permutation(pool)[: min(len(scores), int(generator.integers(2, 21)))]
            run[f"q{topic}"] = dict(zip(map(str, retrieved), (scores / 8).tolist(), strict=False))
    return qrels, run


def agree(ours: dict[str, float], theirs: dict[str, float], expected: float, mean: float) -> None:
    for query, value in theirs.items():
        # A judged topic that is not in the run counts 0 there; where it does not count here, it is not among ours.
        assert ours.get(query, 0.0) == pytest.approx(value, abs=1e-12), query
    assert mean == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_of_ir_measures(text: str, seed: int) -> None:
    library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    qrels, run = case(seed)
    measure = library.parse_measure(text)
    theirs = {value.query_id: value.value for value in library.iter_calc([measure], qrels, run)}
    expected = library.calc_aggregate([measure], qrels, run)[measure]
    evaluation = evaluate(qrels, run, measure, tool="ir_measures")
    assert texts_of(measure) == list(evaluation.mean) == [str(measure)]
    agree(evaluation.per_query[str(measure)], theirs, expected, evaluation[measure])


@pytest.mark.parametrize("text", ["ndcg@5", "ndcg", "map", "map@5", "mrr", "precision@5", "recall@5", "r-precision",
                                  "f1@5", "hit_rate@3", "ndcg_burges@5", "precision@5-l2"])  # fmt: skip
@pytest.mark.filterwarnings("ignore:unsafe cast")  # of the compiler that ranx runs on
def test_numbers_of_ranx(text: str) -> None:
    library = pytest.importorskip("ranx", reason="ranx is not installed")
    qrels, run = case(4, ties=False)
    run = {query: value for query, value in run.items() if query in qrels}
    judgements = library.Qrels(qrels)
    retrieved = library.Run(run)
    theirs = library.evaluate(judgements, retrieved, text, return_mean=True, make_comparable=True)
    evaluation = evaluate(judgements, retrieved, text, tool="ranx")
    assert evaluation.mean[text] == pytest.approx(float(theirs), abs=1e-9)


@pytest.mark.parametrize("text", ["map", "ndcg_cut_5", "P_5", "recall_5", "recip_rank", "bpref", "Rprec", "set_F",
                                  "iprec_at_recall_0.20", "num_rel_ret", "success_5", "infAP"])  # fmt: skip
def test_dicts_and_numbers_of_pytrec_eval(text: str) -> None:
    library: Any = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    qrels, run = case(6)
    name = text.rpartition("_")[0] + "." + text.rpartition("_")[2] if text[-1].isdigit() else text
    theirs = library.RelevanceEvaluator(qrels, {name}).evaluate(run)
    evaluation = evaluate(qrels, run, text, tool="trec_eval9").per_query[text]
    assert set(evaluation) == set(theirs)
    for query, values in theirs.items():
        assert evaluation[query] == pytest.approx(values[text], abs=1e-12)
    assert not math.isnan(sum(evaluation.values()))
