"""Comparison of systems under every tool: winners, flips and agreement."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pippin._version import __version__
from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.data.qrels import Qrels, Run, write_qrels, write_run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.compare import TestSettings as Plan
from pippin.evaluation.compare import compare, compare_rankings, compare_table
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import RankingCache, evaluate_tool
from pippin.evaluation.reported import check_reported
from pippin.evaluation.tools import TOOLS
from pippin.evaluation.value_table import ValueTable
from pippin.kernels.strings import StringColumn
from pippin.reports.comparison import PaperTable


def flipping() -> dict[str, RankingCache]:
    """`short` is right on short lists, `long` on long ones: letor4, which zeroes short lists, flips the pair."""
    labels, good_on_short, good_on_long, sizes = [], [], [], []
    for query in range(9):
        size = 3 if query < 7 else 12
        right = list(range(size, 0, -1))
        wrong = right[::-1]
        labels += [1] + [0] * (size - 1)
        good_on_short += right if size == 3 else wrong
        good_on_long += right if size == 12 else wrong
        sizes.append(size)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    ids = StringColumn.of(f"d{i:03}" for i in range(len(labels)))
    data = Dataset(
        np.zeros((len(labels), 1)), np.array(labels, np.int32), offsets, tuple(f"q{i}" for i in range(9)), ids
    )
    return {
        "short": RankingCache(data, np.array(good_on_short, float)),
        "long": RankingCache(data, np.array(good_on_long, float)),
    }


def test_a_pair_that_flips_is_found_with_its_cause() -> None:
    comparison = compare_rankings(flipping(), "NDCG@10", [TOOLS["official"], TOOLS["letor4"]], Plan(), {})
    (verdict,) = comparison.verdicts
    assert (verdict.a, verdict.b) == ("short", "long")
    assert verdict.flips
    assert (verdict.tools_preferring_a, verdict.tools_preferring_b) == (("official",), ("letor4",))
    ((tool, choice, moved),) = verdict.causes
    assert (tool, choice) == ("letor4", "short lists")
    assert moved < 0
    assert "The winner depends on the tool (long, short)" in comparison.sentence()
    assert comparison.agreement("tau_b")[0][1] == -1


def test_means_are_those_of_evaluate() -> None:
    systems = flipping()
    comparison = compare_rankings(systems, "MAP", list(TOOLS.values()), Plan(), {})
    for board in comparison.boards:
        for name, rankings in systems.items():
            alone = evaluate_tool(rankings.qrels, rankings.run, ["MAP"], TOOLS[board.name], {}, name)
            assert board.means[name] == alone.mean["MAP"]


def test_ties_alone_bound_the_mean() -> None:
    systems = flipping()
    tied = RankingCache(systems["short"].qrels, np.zeros(len(systems["short"].qrels.labels)))
    comparison = compare_rankings({**systems, "tied": tied}, "NDCG@10", [TOOLS["official"]], Plan(), {})
    worst, best = comparison.first.ties["tied"]
    assert worst < comparison.first.means["tied"] < best == pytest.approx(1.0)
    assert comparison.first.ties["short"] == (comparison.first.means["short"],) * 2


def test_runs_with_different_queries_are_an_error_or_counted() -> None:
    qrels = Qrels.from_dict({q: {"a": 1, "b": 0} for q in ("1", "2", "3")})
    full = Run.from_dict({q: {"a": 2.0, "b": 1.0} for q in ("1", "2", "3")})
    part = Run.from_dict({q: {"a": 1.0, "b": 2.0} for q in ("1", "2")})
    systems = {"whole": RankingCache(qrels, full), "part": RankingCache(qrels, part)}
    with pytest.raises(DataError, match=r"under trec_eval9 the systems have different queries.*'3'"):
        compare_rankings(systems, "MAP", [TOOLS["trec_eval9"]], Plan(), {})
    counts = compare_rankings(systems, "MAP", [TOOLS["trec_eval9"]], Plan(missing=0.0), {})
    assert counts.first.table.values[:, 1].tolist() == [0.5, 0.5, 0.0]
    dropped = compare_rankings(systems, "MAP", [TOOLS["trec_eval9"]], Plan(missing="drop"), {})
    assert dropped.first.table.query_ids == ("1", "2")
    # A tool that counts every judged query needs no such word.
    assert compare_rankings(systems, "MAP", [TOOLS["official"]], Plan(), {}).first.means["part"] == pytest.approx(1 / 3)


def test_one_system_is_no_comparison() -> None:
    systems = flipping()
    with pytest.raises(DataError, match="at least two systems"):
        compare_rankings({"short": systems["short"]}, "MAP", [TOOLS["official"]], Plan(), {})


def test_a_matrix_is_compared_without_tools() -> None:
    values = np.array([[0.1, 0.5, 0.3], [0.2, 0.7, 0.3], [0.1, 0.6, 0.2], [0.0, 0.9, 0.4]])
    comparison = compare_table(ValueTable.from_arrays(values, systems=["a", "b", "c"]), "ap", Plan(baseline="a"))
    assert comparison.first.order() == ["b", "c", "a"]
    assert comparison.first.significant("b", "a")
    assert not comparison.first.significant("b", "c")  # not tested: only against the baseline
    assert comparison.sentence().startswith("b leads with 0.6750")


def test_tools_that_need_what_the_data_lack_are_left_out_and_reported() -> None:
    data = Dataset.from_arrays(np.zeros((4, 1)), np.array([1, 0, 0, 1], np.int32), np.array([1, 1, 2, 2]))
    comparison = compare(data, {"a": [2.0, 1.0, 2.0, 1.0], "b": [1.0, 1.0, 1.0, 2.0]}, "NDCG@10")
    assert comparison.left_out["trec_eval9"] == "ties=id-descending needs document ids, and data has none"
    assert "trec_eval9" not in {board.name for board in comparison.boards}
    assert "Left out: " in comparison.sentence()
    with pytest.raises(ConventionError, match="needs document ids"):
        compare(data, {"a": [2.0, 1.0, 2.0, 1.0], "b": [1.0, 1.0, 1.0, 2.0]}, "NDCG@10", ["official", "trec_eval9"])


def test_a_reported_number_names_the_tools_that_give_it(shared: Path) -> None:
    path = shared / "data" / "MQ2008" / "S5.txt"
    data = read_letor(path)
    scores = np.ascontiguousarray(data.features[:, 24])
    for tool in ("official", "letor4", "trec_eval9"):
        printed = f"{evaluate(data, scores, 'NDCG@10', tool).mean['NDCG@10']:.4f}"
        matches = check_reported(data, scores, printed)
        assert tool in [match.note for match in matches]
        assert all(match.same and abs(match.recomputed - float(printed)) <= 0.5e-4 + 1e-12 for match in matches)
        distances = [abs(match.recomputed - float(printed)) for match in matches if "with" not in match.note]
        assert distances == pytest.approx(sorted(distances), abs=1e-6)
        assert [m.note for m in check_reported(data, scores, printed, "all")] == [m.note for m in matches]


def test_the_reviewers_number_names_official(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # RR of 0.4418 for 4,300 queries: 1/1 for 1,000 of them, 1/3 for 2,699, 0 for the rest.
    ranks = [1] * 1000 + [3] * 2699 + [0] * 601
    judged = [f"q{q} 0 d{d} {int(d == rank)}" for q, rank in enumerate(ranks) for d in (1, 2, 3)]
    retrieved = [f"q{q} Q0 d{d} {d} {4 - d} tag" for q in range(len(ranks)) for d in (1, 2, 3)]
    (tmp_path / "qrels").write_text("\n".join(judged) + "\n")
    (tmp_path / "run").write_text("\n".join(retrieved) + "\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    assert main(["compare", *files, "--measure", "RR", "--reported", "0.4418"]) == 0
    assert capsys.readouterr().out.startswith("RR: 0.441783 under official.\n")
    assert main(["compare", *files, "--measure", "RR", "--reported", "0.4418", "--tool", "all"]) == 0
    assert capsys.readouterr().out.startswith("RR: 0.441783 under official.\n")


def test_choices_that_change_nothing_are_no_matches_of_their_own() -> None:
    qrels, run = {"q1": {"a": 1, "b": 0}}, {"q1": {"a": 0.5, "b": 0.6}}
    notes = [match.note for match in check_reported(qrels, run, "0.6309", "classic")]
    assert notes[0] == "official"
    assert not [note for note in notes if note.startswith("official with")]


def test_a_reported_number_is_found_one_choice_away() -> None:
    qrels, run = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0}}, {"q1": {"a": 0.5, "b": 0.6}, "q2": {"a": 1.0}}
    value = evaluate(qrels, run, "NDCG@10", "trec_eval9", empty=1.0).mean["NDCG@10"]
    matches = check_reported(qrels, run, f"{value:.4f}", "trec_eval9")
    assert "trec_eval9 with empty=1" in [match.note for match in matches]
    nearest = check_reported(qrels, run, "0.1234", "trec_eval9")
    assert nearest
    assert not any(match.same for match in nearest)
    assert nearest[0].sentence().endswith("(no match).")


def test_the_sentence_counts_tested_pairs_and_says_no_difference() -> None:
    base = {f"q{i}": i / 30 for i in range(30)}
    better = {query: value + 0.1 + 0.01 * (i % 3) for i, (query, value) in enumerate(base.items())}
    systems = {"base": base, **{f"s{i}": {q: v + i for q, v in better.items()} for i in range(4)}}
    assert "; 4 of 4 differences are significant" in compare(systems, baseline="base").sentence()
    assert compare({"a": base, "b": dict(base)}).sentence().startswith("No difference: every system has the mean")


def parse_booktabs(text: str) -> tuple[str, list[list[str]]]:
    """Return the caption and the rows of a LaTeX table whose structure is sound."""
    body = re.sub(r"^%.*\n", "", text, flags=re.MULTILINE)
    opened = []
    for kind, environment in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            opened.append(environment)
        else:
            assert opened.pop() == environment
    assert not opened
    assert body.count("{") - body.count(r"\{") == body.count("}") - body.count(r"\}")
    assert len(re.findall(r"(?<!\\)\$", body)) % 2 == 0
    outside_math = re.sub(r"\$[^$]*\$", "", re.sub(r"\\[&%#_{}]", "", body))
    assert not re.search(r"[#_^~]|[^\x00-\x7f]", outside_math.replace("%", ""))
    (specification,) = re.findall(r"\\begin\{tabular\}\{(l+)\}", body)
    rules = [body.index(rf"\{rule}") for rule in ("toprule", "midrule", "bottomrule")]
    assert rules == sorted(rules)
    rows = []
    for line in body[rules[0] : rules[2]].splitlines()[1:]:
        if "&" in line:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)&", line[: line.index(r"\\")])]
            width = sum(int((re.match(r"\\multicolumn\{(\d+)\}", cell) or [0, 1])[1]) for cell in cells)
            assert width == len(specification)
            rows.append(cells)
    (caption,) = re.findall(r"\\caption\{(.*)\}\n", body)
    return caption, rows


def random_systems(queries: int = 40) -> tuple[Qrels, dict[str, Run]]:
    rng = np.random.default_rng(7)
    documents = [f"d{i}" for i in range(15)]
    labels = {f"q{q}": {d: int(rng.integers(0, 3)) for d in documents} for q in range(queries)}
    noise = {"BM25": 2.0, "LM_ABS": 1.9, "ours & theirs": 0.6, "weak%": 6.0}
    runs = {
        name: {q: {d: label + rng.normal(0, scale) for d, label in row.items()} for q, row in labels.items()}
        for name, scale in noise.items()
    }
    return Qrels.from_dict(labels), {name: Run.from_dict(run, name) for name, run in runs.items()}


def test_one_table_of_systems_and_measures_for_a_paper() -> None:
    qrels, runs = random_systems()
    measures = ["NDCG@10", "MAP", "P@10"]
    result = compare(qrels, runs, measures, "trec_eval9")
    caption, (header, *rows) = parse_booktabs(result.to_latex())
    assert header == ["", "System", "NDCG@10", "MAP", "P@10"]
    assert [row[0] for row in rows] == ["a", "b", "c", "d"]
    assert {row[1] for row in rows} == {"BM25", r"LM\_ABS", r"ours \& theirs", r"weak\%"}
    for words in (
        r"trec\_eval 9.0.7",
        "40 queries",
        "paired t, 39 degrees",
        "holm over 6 pairs per measure",
        __version__,
    ):
        assert words in caption
    letters = {row[1].replace("\\", ""): row[0] for row in rows}
    for column, measure in enumerate(measures, 2):
        values = {name: evaluate(qrels, run, measure, "trec_eval9") for name, run in runs.items()}
        best = max(values, key=lambda name: values[name].mean[measure])
        p = {}
        for a, b in combinations(runs, 2):  # SciPy, and Holm's procedure step by step
            columns = (list(values[name].per_query[measure].values()) for name in (a, b))
            p[a, b] = stats.ttest_rel(*columns).pvalue
        significant = set()
        for step, pair in enumerate(sorted(p, key=lambda pair: p[pair])):
            if p[pair] * (len(p) - step) > 0.05:
                break
            significant.add(pair)
        for row in rows:
            name = row[1].replace("\\", "")
            mean = values[name].mean[measure]
            beaten = [
                other for other in runs
                if ((name, other) in significant or (other, name) in significant) and mean > values[other].mean[measure]
            ]  # fmt: skip
            marks = "".join(sorted(letters[other] for other in beaten))
            value = rf"\textbf{{{mean:.4f}}}" if name == best else f"{mean:.4f}"
            assert row[column] == value + (f"$^{{{marks}}}$" if marks else "")
    assert any("$^" in cell for row in rows for cell in row)


def test_the_paper_table_in_other_forms() -> None:
    qrels, runs = random_systems()
    result = compare(qrels, runs, ["NDCG@10", "MAP"], "official", baseline=["BM25", "LM_ABS"])
    markdown = result.to_markdown().splitlines()
    assert markdown[0] == "|  | system | NDCG@10 | MAP |"
    assert markdown[2].startswith("| a | BM25 |")
    assert markdown[3].startswith("| b | LM_ABS |")
    assert "<sub>" in next(line for line in markdown if "weak%" in line)  # worse than a baseline
    assert "**" in next(line for line in markdown if "ours & theirs" in line)
    frame = result.to_pandas()
    assert list(frame.columns[:4]) == ["measure", "tool", "system", "rank"]
    assert len(frame) == 2 * 4
    ours = frame[(frame.system == "ours & theirs") & (frame.measure == "MAP")].iloc[0]
    assert (ours["rank"], ours.better_than, ours.worse_than) == (1, "BM25, LM_ABS", "")
    caption, rows = parse_booktabs(result["MAP"].to_latex())
    assert rows[0] == ["", "System", "MAP"]
    assert "holm over 5 pairs per measure" in caption
    tools = ["official", "letor4"]
    several = list(compare(qrels, runs, ["MAP", "P@5"], tools).values())
    caption, rows = parse_booktabs(PaperTable(several, tools).render("latex"))
    assert rows[1] == ["", "System", "official", "letor4", "official", "letor4"]
    with pytest.raises(UnknownName, match="NDCG@5"):
        result["NDCG@5"]


def test_systems_are_named_by_tag_or_argument(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, runs = random_systems()
    write_qrels(qrels, tmp_path / "qrels")
    for number, run in enumerate(list(runs.values())[:2]):
        write_run(run, tmp_path / f"{number}.run")
    files = [str(tmp_path / "0.run"), str(tmp_path / "1.run")]
    assert set(compare(str(tmp_path / "qrels"), files, "MAP", "official").first.means) == {"BM25", "LM_ABS"}
    arguments = ["compare", str(tmp_path / "qrels"), files[0], f"mine={files[1]}", "-m", "MAP,P@10", "-t", "trec_eval9"]
    assert main([*arguments, "-f", "latex", "--baseline", "BM25,mine"]) == 0
    _, rows = parse_booktabs(capsys.readouterr().out)
    assert [row[:2] for row in rows[1:]] == [["a", "BM25"], ["b", "mine"]]
    assert main([*arguments, "-f", "latex", "--baseline", "BM25", "--baseline", "mine"]) == 0
    assert parse_booktabs(capsys.readouterr().out)[1] == rows
    (tmp_path / "copy.run").write_text((tmp_path / "0.run").read_text())
    same_tag = [files[0], str(tmp_path / "copy.run")]
    assert set(compare(str(tmp_path / "qrels"), same_tag, "MAP", "official").first.means) == {"0.run", "copy.run"}


@pytest.mark.parametrize("typed", ["abc", "nan", "inf", "none.json"])
def test_a_reported_value_that_is_neither_a_number_nor_a_file_is_refused(typed: str) -> None:
    with pytest.raises(DataError, match=f"^the reported value must be a finite number or a file, got '{typed}'$"):
        check_reported({"q": {"a": 1}}, {"q": {"a": 1.0}}, typed)


def test_a_constant_difference_is_reported_with_an_exact_p() -> None:
    base = {f"q{i}": i / 8 for i in range(4)}
    systems = {"base": base, "better": {query: value + 0.25 for query, value in base.items()}}
    assert (
        "base − better: the difference is constant, −0.25 for all 4 queries, so t is undefined"
        in compare(systems).sentence()
    )
    assert "sign and randomization tests give p = 0.125" in compare(systems).sentence()
    many = {**systems, "worst": {query: value - 0.5 for query, value in base.items()}, "zero": dict.fromkeys(base, 0.0)}
    printed = " ".join(repr(compare(many)).split())
    assert "base − worst: the difference is constant, +0.5 for all 4 queries" in printed


def test_the_advice_on_undefined_values_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "values.csv").write_text("query,a,b\n1,0.5,0.25\n2,nan,0.5\n3,0.5,0.75\n4,0.5,0.375\n")
    arguments = ["compare", "--scores", str(tmp_path / "values.csv"), "--format", "json", "-q"]
    assert main(arguments) == 2
    assert "--missing drop" in capsys.readouterr().err
    assert main([*arguments, "--missing", "drop"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["boards"][0]["queries"] == 3
