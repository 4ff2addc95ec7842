"""Public functions: arrays with query ids, one tool or all, all notations and object types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.cli.main import main
from pippin.data import synthetic
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.audit import audit
from pippin.evaluation.compare import compare
from pippin.evaluation.correlation import correlate
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import Evaluation, Evaluations
from pippin.evaluation.measures import Measure
from pippin.evaluation.reconcile import Reconciliation, Reconciliations, reconcile
from pippin.evaluation.tools import TOOLS

DATA = synthetic.make_dataset(20)
Y, QID, SIZES = DATA.labels.tolist(), DATA.qid(), np.diff(DATA.offsets)
SCORES = DATA.features[:, 0]


def test_arrays_say_what_the_data_set_says() -> None:
    full = evaluate(DATA, SCORES, ["NDCG@10", "MAP"], "letor4")
    for grouping in ({"qid": QID}, {"group": SIZES}, {"qid": QID.astype(str)}):
        evaluation = evaluate(Y, SCORES, ["NDCG@10", "MAP"], "letor4", **grouping)
        assert isinstance(evaluation, Evaluation)
        assert evaluation.mean == full.mean


def test_one_tool_gives_an_evaluation_and_several_a_mapping() -> None:
    every = evaluate(DATA, SCORES, tool="all")
    assert isinstance(every, Evaluations)
    assert list(every) == list(TOOLS)
    assert every.mean["yahoo"] == evaluate(DATA, SCORES, tool="yahoo").mean
    assert list(evaluate(DATA, SCORES, tool=("yahoo", TOOLS["letor4"]))) == ["yahoo", "letor4"]
    assert list(evaluate(DATA, SCORES, tool=["yahoo"])) == ["yahoo"]
    with pytest.raises(UnknownName, match="no tool is called 'yaho'; did you mean yahoo"):
        evaluate(DATA, SCORES, tool="yaho")
    with pytest.raises(ConventionError, match="no tool was selected"):
        evaluate(DATA, SCORES, tool=[])


def test_axes_go_on_top_of_the_tool() -> None:
    strict = evaluate(Y, SCORES, "P@5", "trec_eval9", qid=QID, relevance_threshold=2)
    assert strict.mean["P@5"] == evaluate(Y, SCORES, "P(rel=2)@5", "trec_eval9", qid=QID)["P(rel=2)@5"]


def test_a_mean_is_found_by_any_name_of_the_measure() -> None:
    evaluation = evaluate(DATA, SCORES, ["nDCG@10", Measure("P", 5)], "trec_eval9")
    assert evaluation["ndcg_cut_10"] == evaluation.mean["nDCG@10"] == evaluation[Measure("NDCG", 10)]
    assert evaluation["P_5"] == evaluation.mean["P@5"]
    with pytest.raises(UnknownName, match="no measure of this evaluation is called 'MAP'"):
        evaluation["MAP"]


@pytest.mark.parametrize(
    ("wrong", "sentence"), [(3, "got 3 of type int"), ([None], "got None of type NoneType"), ([], "no measure")]
)
def test_invalid_measures_are_reported(wrong: Any, sentence: str) -> None:
    with pytest.raises(ConventionError, match=sentence):
        evaluate(DATA, SCORES, wrong)


@pytest.mark.parametrize(
    ("judged", "more", "sentence"),
    [
        (Y, {}, "labels need qid=, the query of each row, or group="),
        (DATA, {"qid": QID}, "qid and group need one label per row"),
        (Y, {"qid": QID, "group": SIZES}, "pass only one of them"),
        (Y, {"group": [1]}, "add up to 1, but"),
        (7, {"qid": [1]}, "0 query ids are needed"),
    ],
)
def test_queries_that_do_not_fit_are_reported(judged: Any, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        evaluate(judged, SCORES, **more)


def test_compare_takes_arrays_files_and_values(tmp_path: Path) -> None:
    systems = {"a": SCORES, "b": DATA.features[:, 1]}
    result = compare(Y, systems, "MAP", ["letor4", "yahoo"], qid=QID, test="wilcoxon", correction="bonferroni")
    assert [board.name for board in result.boards] == ["letor4", "yahoo"]
    assert result.first.means["a"] == evaluate(DATA, SCORES, "MAP", "letor4").mean["MAP"]
    assert result.first.tests.test == "wilcoxon"
    write_letor(DATA, tmp_path / "test.txt")
    files = []
    for name, scores in systems.items():
        files.append(tmp_path / name)
        files[-1].write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    assert compare(tmp_path / "test.txt", files, "MAP", "letor4").first.means == result.first.means
    per_query = {s: evaluate(DATA, scores, "MAP", "letor4").per_query["MAP"] for s, scores in systems.items()}
    assert compare(per_query).first.means["a"] == pytest.approx(result.first.means["a"], abs=1e-12)
    assert [comparison.measure for comparison in compare(DATA, systems, ["MAP", "P@5"]).values()] == ["MAP", "P@5"]
    with pytest.raises(UnknownName, match="wilcox"):
        compare(DATA, systems, test="wilcox")
    with pytest.raises(DataError, match="two systems have the same name"):
        compare(DATA, [tmp_path / "a", tmp_path / "a"])


def test_reconcile_takes_one_target_or_all() -> None:
    first = reconcile(Y, SCORES, "NDCG@10", "yahoo", "letor4", qid=QID)
    assert isinstance(first, Reconciliation)
    every = reconcile(DATA, SCORES, source="yahoo")
    assert isinstance(every, Reconciliations)
    assert list(every) == [tool.name for tool in TOOLS.values() if tool.group == "classic" and tool.name != "yahoo"]
    assert every["letor4"].sentence() == first.sentence()
    assert sum(share.value for share in first.contributions) == pytest.approx(first.difference)


def test_audit_takes_what_evaluate_takes(tmp_path: Path) -> None:
    keys = {finding.key for finding in audit(DATA, SCORES).findings}
    assert {finding.key for finding in audit(Y, SCORES, qid=QID).findings} <= keys
    for part in ("S1", "S2"):
        half = DATA.select(slice(0, 10) if part == "S1" else slice(10, 20))
        write_letor(half, tmp_path / f"{part}.txt")
    full = audit(tmp_path)
    assert full.about.startswith("20 queries")
    assert "2 files" in full.about
    assert audit([tmp_path / "S1.txt", str(tmp_path / "S2.txt")]).about == full.about
    assert audit({1: {2: 0}})["empty"].number == 1


def test_correlate_matches_names() -> None:
    a, b = {"x": 1.0, "y": 2.0, "z": 3.0}, {"z": 0.3, "x": 0.1, "y": 0.2}
    assert correlate(a, b).value == 1.0
    assert correlate(a, b, "spearman").name == "spearman"
    with pytest.raises(DataError, match="y lacks 'x'"):
        correlate(a, {"y": 1.0, "z": 2.0})
    with pytest.raises(DataError, match="both be dicts by name"):
        correlate(a, [1, 2, 3])


def test_labels_without_features_are_a_data_set() -> None:
    assert Dataset.from_arrays(np.empty((3, 0)), [0, 1, 2], group=[3]).features.shape == (3, 0)


def test_an_array_with_a_row_per_query_is_read_as_scikit_learn_takes_it() -> None:
    y, scores = np.array([[1, 0, 2], [0, 1, 0]]), np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    evaluation = evaluate(y, scores, "NDCG", "sklearn")
    assert evaluation["NDCG"] == evaluate(y.ravel(), scores.ravel(), "NDCG", "sklearn", group=[3, 3])["NDCG"]
    with pytest.raises(DataError, match=r"scores are a list of numbers, not a table of shape \(3, 2\)"):
        evaluate(y, scores.T)


def test_labels_without_queries_say_what_is_missing() -> None:
    for labels in (np.array([1, 0]), [1, 0]):
        with pytest.raises(DataError, match="labels need qid=, the query of each row, or group=, the sizes"):
            evaluate(labels, [0.1, 0.2])


def test_unknown_arguments_suggest_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match=r"no argument of evaluate is called 'metrics'; did you mean measure\?"):
        evaluate(DATA, SCORES, metrics=["MAP"])  # type: ignore[call-overload]
    with pytest.raises(UnknownName, match=r"no argument of compare is called 'metric'; did you mean measure\?"):
        compare(DATA, {"a": SCORES, "b": -SCORES}, metric="MAP")  # type: ignore[call-overload]
    with pytest.raises(UnknownName, match="no argument of evaluate is called 'tols'; did you mean tool "):
        evaluate(DATA, SCORES, tols="letor4")  # type: ignore[call-overload]
    with pytest.raises(UnknownName, match="did you mean relevance_threshold"):
        evaluate(DATA, SCORES, relevance_treshold=2)  # type: ignore[call-overload]


def test_swapped_dicts_are_reported() -> None:
    with pytest.raises(ConventionError, match=r"found label 0\.5; pass the judgements first"):
        evaluate({"q": {"a": 0.5}}, {"q": {"a": 1}})


def test_the_default_tool_follows_the_form_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "b": 0}}
    runs = {"x": {"q1": {"b": 2.0, "a": 1.0}}, "y": {"q1": {"a": 1.0, "b": 1.0}, "q2": {"b": 1.0}}}
    lines = [f"{q} 0 {d} {label}" for q, labels in qrels.items() for d, label in labels.items()]
    Path("qrels").write_text("\n".join(lines) + "\n")
    for tag, run in runs.items():
        rows = [f"{q} Q0 {d} 1 {score} {tag}" for q, scores in run.items() for d, score in scores.items()]
        Path(f"{tag}.run").write_text("\n".join(rows) + "\n")
    Path("data.txt").write_text("2 qid:1 1:0.5\n0 qid:1 1:0.5\n1 qid:2 1:0.1\n")
    Path("scores").write_text("1\n2\n3\n")
    trec, letor = ("qrels", "x.run"), ("data.txt", "scores")

    assert evaluate(qrels, runs["x"]).tool.name == evaluate(*trec).tool.name == "trec_eval9"
    assert evaluate(*trec, stream=True).tool.name == "trec_eval9"
    assert evaluate(qrels, runs["x"])["NDCG@10"] == evaluate(qrels, runs["x"], tool="trec_eval9")["NDCG@10"]
    assert evaluate(*letor).tool.name == evaluate(*letor, stream=True).tool.name == "official"
    assert evaluate([1, 0], [0.5, 0.2], qid=[1, 1]).tool.name == "official"
    assert "trec_eval9 (trec_eval 9.0.7, the default for qrels)" in repr(evaluate(*trec))
    assert "the default" not in repr(evaluate(*trec, tool="trec_eval9"))
    compared = compare(qrels, runs, missing=0.0)
    assert compared.first.name == "trec_eval9"
    assert {board.name for board in compared.boards} >= {"official", "letor4"}
    assert compare(letor[0], {"a": [1.0, 2.0, 3.0], "b": [3.0, 2.0, 1.0]}).first.name == "official"
    assert audit(*trec).tool == "trec_eval9"
    assert audit(*letor).tool == "official"
    assert reconcile(*trec, target="letor4").source.name == "trec_eval9"
    assert reconcile(*letor, target="letor4").source.name == "official"

    for files, tool in ((trec, "trec_eval9"), (letor, "official")):
        for command in (["eval", *files], ["audit", *files, "--all"], ["reconcile", *files, "-t", "letor4", "-q"]):
            assert main(command) == 0
            assert tool in capsys.readouterr().out
    assert main(["compare", "qrels", "x.run", "y.run", "-f", "latex", "--missing", "0", "-q"]) == 0
    assert r"under trec\_eval9 (trec\_eval 9.0.7)" in capsys.readouterr().out
