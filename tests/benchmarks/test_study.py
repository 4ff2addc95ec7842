"""The conclusions of Busa-Fekete et al. on results that do or do not support them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.benchmarks.grids import HandGrid, number_queries

from pippin.benchmarks.studies.conclusions import CUTOFFS, Conclusion
from pippin.benchmarks.studies.training_conventions import Study, plan_study, study
from pippin.display.tables import render_all
from pippin.errors import DataError, UnknownName
from pippin.reports.paper import write_study_figures
from pippin.reports.training_conventions import csv_table, parts, record, study_figures

QUERIES, EMPTY, SHORT = 20, 5, 8  # of a fold: the first are empty, the last shorter than 8
RANKERS = ("adarank", "lambdamart", "coordinate-ascent", "ranknet", "ranksvm", "rankboost")
# Query of each document: the last lists are shorter than the largest cutoff.
DOCUMENTS = [f"q{i + 1}" for i in range(QUERIES) for _ in range(7 if i >= QUERIES - SHORT else 12)]


def make_results(effects: dict[tuple[str, str], float] | None = None, conventions: tuple[str, ...] = ()) -> HandGrid:
    """Results in which training `ranker` under `convention` adds `effects[ranker, convention]` to every query."""
    grid = HandGrid(documents=DOCUMENTS)
    draw = np.random.default_rng(1)
    base = {fold: 0.3 + 0.4 * draw.random(QUERIES) for fold in ("Fold1", "Fold2")}
    for fold, ranker in ((f, r) for f in base for r in RANKERS):
        for convention in conventions or ("official", "ranklib", "yahoo", "letor4"):
            effect = (effects or {}).get((ranker, convention), 0.0)
            shift = 0.01 * RANKERS.index(ranker) + effect * (1 + 0.1 * draw.random(QUERIES))
            for k in CUTOFFS:
                values = base[fold] + shift + 0.01 * k
                values[:EMPTY] = 0
                results = {"official": values, "ranklib": values, "yahoo": values.copy(), "letor4": values.copy()}
                results["yahoo"][:EMPTY] = 1
                results["letor4"][-SHORT:] = 0 if k >= 8 else values[-SHORT:]
                for tool, of in results.items():
                    grid.add(ranker, number_queries(of.tolist()), fold=fold, convention=convention, tool=tool,
                             measure=f"NDCG@{k}")  # fmt: skip
            precision = number_queries([0.0] * EMPTY + [0.5] * (QUERIES - EMPTY))
            grid.add(ranker, precision, fold=fold, convention=convention, measure="MAP")
            key = ("D", fold, ranker, convention, 1)
            # In AdaRank the value of empty queries matters, so its scores follow the convention.
            grid.scored[key] = [float(len(convention)) if ranker == "adarank" else 2.0] * len(DOCUMENTS)
    return grid


def conclusion(study: Study, name: str) -> Conclusion:
    return next(c for c in study.conclusions if c.name == name)


def test_the_bias_is_the_share_of_empty_queries() -> None:
    result = conclusion(study(make_results(), "D"), "bias")
    assert (result.holds, result.value) == ("yes", EMPTY / QUERIES)
    assert all(e.value == pytest.approx(EMPTY / QUERIES) for e in result.evidence)


def test_one_query_with_another_bias_is_enough_to_deny_it() -> None:
    grid = make_results()
    grid.held["D", "Fold2", "ranknet", "letor4", 1]["yahoo", "NDCG@3"]["q9"] = 0.9999
    assert conclusion(study(grid, "D"), "bias").holds == "no"


def test_letor4_collapses_where_lists_are_short_and_not_elsewhere() -> None:
    result = conclusion(study(make_results(), "D"), "collapse")
    assert result.holds == "yes"
    assert result.p < 0.001
    assert f"gives 0 to {100 * SHORT / QUERIES:.1f} % of the queries" in result.explanation
    grid = make_results()
    for cell in grid.held.values():
        for k in CUTOFFS:
            cell["letor4", f"NDCG@{k}"] = dict(cell["official", f"NDCG@{k}"])
    assert conclusion(study(grid, "D"), "collapse").holds == "no"


def test_training_under_letor4_hurts_all_some_or_none() -> None:
    hurt = {(r, "letor4"): -0.05 for r in RANKERS[:3]}
    assert conclusion(study(make_results(hurt), "D"), "training under letor4").holds == "yes"
    result = conclusion(study(make_results({("adarank", "letor4"): -0.05}), "D"), "training under letor4")
    assert result.holds == "partly"
    by_ranker = {e.ranker: e for e in result.evidence}
    expected = -0.05 * 1.05 * (QUERIES - EMPTY) / QUERIES  # on empty queries nothing can change
    assert by_ranker["adarank"].value == pytest.approx(expected, rel=0.05)
    assert by_ranker["adarank"].low < expected < by_ranker["adarank"].high < 0
    assert by_ranker["ranknet"].note == "control"
    assert conclusion(study(make_results(), "D"), "training under letor4").holds == "no"
    control = conclusion(study(make_results({("ranknet", "letor4"): -0.05}), "D"), "training under letor4")
    assert control.holds == "no"  # a control says nothing about the rankers that look at the measure


def test_rankers_that_are_lower_only_together_hold_partly() -> None:
    grid = make_results()
    for i, ranker in enumerate(("adarank", "lambdamart", "coordinate-ascent")):  # each on five queries of its own
        for fold, count in (("Fold1", 3), ("Fold2", 2)):
            values = grid.held["D", fold, ranker, "letor4", 1]["official", "NDCG@10"]
            for query in (f"q{EMPTY + 1 + 3 * i + k}" for k in range(count)):
                values[query] = (values[query] or 0) - 0.02
    result = conclusion(study(grid, "D"), "training under letor4")
    assert all(e.p > 0.05 for e in result.evidence)
    assert result.high < 0
    assert result.holds == "partly"
    assert "The interval of their mean is below 0." in result.explanation


def test_yahoo_helps_adarank_or_not() -> None:
    assert conclusion(study(make_results({("adarank", "yahoo"): 0.05}), "D"), "training under yahoo").holds == "yes"
    assert conclusion(study(make_results({("adarank", "yahoo"): -0.05}), "D"), "training under yahoo").holds == "no"
    grid = make_results()
    for query, change in (("q8", 0.02), ("q9", -0.01)):  # higher, but no more than by chance
        values = grid.held["D", "Fold1", "adarank", "yahoo", 1]["official", "NDCG@10"]
        values[query] = (values[query] or 0) + change
    result = conclusion(study(grid, "D"), "training under yahoo")
    assert result.holds == "no"
    assert result.value == pytest.approx((0.02 - 0.01) / QUERIES / 2)


def test_models_are_held_against_each_other_bit_by_bit() -> None:
    grid = make_results()
    assert conclusion(study(grid, "D"), "invariance").holds == "yes"
    grid.scored["D", "Fold1", "lambdamart", "yahoo", 1] = [math.nextafter(2.0, 3.0)] * len(DOCUMENTS)
    result = conclusion(study(grid, "D"), "invariance")
    assert (result.holds, result.value) == ("no", (1 / 2 + 1) / 2)


def test_without_ranklib_a_difference_may_come_from_ties() -> None:
    grid = make_results(conventions=("official", "yahoo", "letor4"))
    assert conclusion(study(grid, "D"), "invariance").holds == "yes"
    grid.scored["D", "Fold1", "lambdamart", "yahoo", 1] = [3.0] * len(DOCUMENTS)
    result = conclusion(study(grid, "D"), "invariance")
    assert result.holds == "unknown"
    assert "train under ranklib to separate the two causes" in result.explanation


def test_untrained_features_are_unknown() -> None:
    result = study(make_results(conventions=("official", "ranklib")), "D")
    assert {c.name: c.holds for c in result.conclusions if c.holds == "unknown"} == {
        "training under letor4": "unknown", "training under yahoo": "unknown", "invariance": "unknown",
        "best training": "unknown",
    }  # fmt: skip


def test_yahoo_is_the_best_convention_to_train_under_unless_another_is_significantly_better() -> None:
    better = {(r, "yahoo"): 0.05 for r in RANKERS}
    result = conclusion(study(make_results(better), "D"), "best training")
    assert (result.holds, len(result.evidence)) == ("yes", 3 * 3)  # rankers that evaluate the measure × conventions
    expected = 0.05 * 1.05 * (QUERIES - EMPTY) / QUERIES
    assert result.value == pytest.approx(expected, rel=0.05)
    assert result.low < expected < result.high
    worse = conclusion(study(make_results({("lambdamart", "yahoo"): -0.05}), "D"), "best training")
    assert worse.holds == "no"
    assert (
        "significantly worse in 3 (lambdamart, official; lambdamart, letor4; lambdamart, ranklib)" in worse.explanation
    )


def test_coordinate_ascent_is_best_under_all_some_or_no_tools() -> None:
    ahead = {("coordinate-ascent", "official"): 0.2}
    result = conclusion(study(make_results(ahead), "D"), "best ranker")
    assert (result.holds, result.evidence[0].ranker) == ("yes", "rankboost")
    assert 0 < result.low < result.value < result.high
    assert conclusion(study(make_results(), "D"), "best ranker").holds == "no"  # rankboost is first
    grid = make_results(ahead)
    for fold in ("Fold1", "Fold2"):
        values = grid.held["D", fold, "rankboost", "official", 1]["letor4", "NDCG@10"]
        grid.held["D", fold, "rankboost", "official", 1]["letor4", "NDCG@10"] = dict.fromkeys(values, 0.9)
    assert conclusion(study(grid, "D"), "best ranker").holds == "partly"


def test_rankboost_on_short_lists_is_compared_with_the_other_two() -> None:
    result = conclusion(study(make_results({("rankboost", "official"): 0.1}), "D"), "short lists")
    assert result.holds == "yes"
    assert result.explanation.startswith(f"{2 * SHORT} of {2 * QUERIES} queries have fewer than 10 documents.")
    assert result.low < result.value < result.high
    assert conclusion(study(make_results({("rankboost", "official"): -0.1}), "D"), "short lists").holds == "no"
    groups = study(make_results(), "D").by_length
    assert [(g.documents, g.queries) for g in groups] == [("1 to 9", 2 * SHORT), ("10 to 19", 2 * (QUERIES - SHORT))]


def test_the_flips_that_empty_queries_cause_vanish_without_them() -> None:
    grid = make_results()
    for fold in ("Fold1", "Fold2"):  # a tool that gives an empty query 1 for one ranker alone turns pairs round
        values = grid.held["D", fold, "adarank", "official", 1]["yahoo", "NDCG@10"]
        values.update({f"q{i + 1}": 5.0 for i in range(EMPTY)})
    result = study(grid, "D")
    assert conclusion(result, "order").value == len(RANKERS) - 1
    without = conclusion(result, "order without empty queries")
    assert (without.holds, without.value) == ("yes", 0)
    assert (without.low, without.high) == (0, 0)


def test_indistinguishable_curves_and_tools() -> None:
    result = study(make_results(), "D")
    assert len(result.points) == len(RANKERS) * 4 * 4 * 10
    assert result.alike == (("official", "ranklib"), ("letor4",), ("yahoo",))
    point = next(p for p in result.points if (p.ranker, p.tool, p.cutoff) == ("adarank", "yahoo", 1))
    assert point.mean - next(p.mean for p in result.points if (p.ranker, p.tool, p.cutoff) == (
        "adarank", "official", 1)) == pytest.approx(EMPTY / QUERIES)  # fmt: skip


def test_a_missing_cell_leaves_a_gap_that_is_reported() -> None:
    grid = make_results()
    del grid.held["D", "Fold2", "lambdamart", "letor4", 1]
    grid.fail("lambdamart", "out of memory", fold="Fold2", convention="letor4")
    result = study(grid, "D")
    assert "lambdamart" not in {e.ranker for e in conclusion(result, "training under letor4").evidence}
    assert "lambdamart trained under letor4, Fold2: out of memory" in render_all(parts(result))


def test_refusals() -> None:
    with pytest.raises(DataError, match="at least two training conventions, found 1"):
        study(make_results(conventions=("official",)), "D")
    with pytest.raises(UnknownName, match="training convention of the results is called 'mslr'"):
        study(make_results(), "D", conventions=("official", "mslr"))
    with pytest.raises(UnknownName, match="no tool of the results is called 'gdeval'"):
        study(make_results(), "D", tools=("gdeval",))


def test_it_is_written_in_every_form() -> None:
    result = study(make_results(), "D")
    terminal, markdown = render_all(parts(result)), render_all(parts(result), "markdown")
    assert "The bias of yahoo equals the share of empty queries exactly." in terminal
    assert "| 1 | The bias of yahoo equals the share of empty queries exactly. | yes | 0.2500 |  |  |" in markdown
    assert len(csv_table([result]).rows) == len(result.points)
    written = record(result)
    names = ["bias", "collapse", "training under letor4", "training under yahoo", "invariance", "best training",
             "best ranker", "short lists", "order", "order without empty queries"]  # fmt: skip
    assert [c["name"] for c in written["conclusions"]] == names
    assert written["conclusions"][0]["p"] is None  # an identity is not tested


def test_the_figures_draw_every_curve() -> None:
    result = study(make_results(), "D")
    figures = study_figures(result)
    assert set(figures) == {"figure1", "figure2"}
    first = figures["figure1"]
    assert len(first["data"]["values"]) == len(RANKERS) * 4 * len(result.alike) * 10
    assert first["facet"]["column"]["sort"] == ["official (+1)", "letor4", "yahoo"]
    assert {v["convention"] for v in figures["figure2"]["data"]["values"]} == {"official"}


def test_the_figures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    written = write_study_figures([study(make_results(), "D")], tmp_path / "figures")
    assert [file.name for file in written] == ["D-figure1.svg", "D-figure1.png", "D-figure2.svg", "D-figure2.png"]
    assert written[0].read_text().count("<path") > 100
    assert written[1].read_bytes().startswith(b"\x89PNG")


def test_the_plan_has_the_six_algorithms_and_grids_of_the_paper() -> None:
    plan = plan_study(["mine"], None, ("official", "ranklib", "yahoo", "letor4"), ("official",), 1, quick=False)
    tasks = list(plan.tasks([("mine", "Fold1", {"train": "", "vali": "", "test": ""})]))
    cells = Counter(task.ranker for task in tasks)
    assert cells == {"adarank": 4, "rankboost": 4, "coordinate-ascent": 4, "lambdamart": 4, "ranksvm": 1,
                     "ranknet(measure=loss)": 1}  # fmt: skip
    by_ranker = {task.ranker: task for task in tasks}
    assert by_ranker["ranknet(measure=loss)"].grid == {"hidden_layers": [1, 2, 3], "hidden_units": [10, 50, 100, 500]}
    assert by_ranker["ranksvm"].grid == {"C": [10.0**k for k in range(-6, 5)]}
    assert all(not by_ranker[name].grid for name in ("adarank", "rankboost", "coordinate-ascent", "lambdamart"))
    assert by_ranker["coordinate-ascent"].parameters["n_restarts"] == 30
    assert by_ranker["lambdamart"].parameters["num_leaves"] == 10
    assert {task.parameters.get("measure") for task in tasks} == {"NDCG@10", "loss", None}
