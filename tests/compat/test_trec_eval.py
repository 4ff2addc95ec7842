"""`pippin as trec_eval`: bytes of three versions, options, judgement formats and errors."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from pippin.compat.trec_eval import main
from pippin.compat.trec_eval.preferences import Judgement, count_preferences

Write = Callable[[str, str], str]
QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 0\n2 0 b 1\n10 0 a 1\n"
RUN = "1 Q0 a 1 3 t\n1 Q0 z 2 2 t\n1 Q0 b 3 1 t\n2 Q0 a 1 2 t\n2 Q0 b 2 1 tag\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a small file and name it."""

    def make(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return make


@pytest.fixture
def files(write: Write) -> list[str]:
    """Qrels of three topics and results for two of them."""
    return [write("qrels", QRELS), write("run", RUN)]


def call(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    status = main(list(arguments), out, err)
    return status, out.getvalue(), err.getvalue()


def values(text: str) -> dict[tuple[str, str], str]:
    """Printed values by name and topic."""
    rows = [line.split("\t") for line in text.splitlines()]
    return {(name.strip(), topic): value for name, topic, value in rows}


@pytest.mark.parametrize(
    ("tool", "version"), [("trec_eval-8.1", "8.1"), ("trec_eval-9.0.8", "9"), ("trec_eval-10.0", "10")]
)
def test_prints_the_bytes_of_the_original(
    tool: str, version: str, golden_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = golden_folder
    monkeypatch.chdir(folder)
    checked = 0
    with (folder / "commands.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["tool"] != tool:
                continue
            arguments, _, target = row["command"].split("}", 1)[1].partition(">")
            path = folder / target.strip()
            status, printed, message = call("--version", version, *shlex.split(arguments))
            assert (row["case"], row["what"], status) == (row["case"], row["what"], int(row["exit"]))
            assert printed == (path.read_text() if path.exists() else "")
            if status:
                assert message == path.with_name(path.name.removesuffix("txt") + "stderr.txt").read_text()
            checked += 1
    assert checked >= 24


def test_topics_come_in_the_order_of_their_names_and_average_over_those_found(files: list[str]) -> None:
    status, printed, _ = call("-q", "-m", "map", "-m", "num_q", "-m", "runid", *files)
    assert status == 0
    first, second = 1 / 2, (1 / 2) / 1  # topic 1 finds one of two relevant documents, at rank 1
    assert printed.splitlines() == [
        f"map                   \t1\t{first:.4f}",
        f"map                   \t2\t{second:.4f}",
        "runid                 \tall\ttag",
        "num_q                 \tall\t2",
        f"map                   \tall\t{(first + second) / 2:.4f}",
    ]


def test_complete_average_counts_topics_without_results(files: list[str]) -> None:
    got = values(call("-c", "-l2", "-m", "map", "-m", "num_rel", "-m", "gm_map", "-m", "num_q", *files)[1])
    assert got["num_q", "all"] == "3"
    assert got["num_rel", "all"] == "4"  # all labels above 0, although -l2 asks for labels from 2 on
    assert got["map", "all"] == f"{0 / 3:.4f}"
    assert got["gm_map", "all"] == f"{math.exp(3 * math.log(0.00001) / 3):.4f}"


def test_version_10_makes_up_a_topic_or_stops(files: list[str]) -> None:
    status, printed, message = call("--version", "10", "-q", "-m", "num_ret", *files)
    assert (status, message) == (4, "trec_eval: result qid '10' not found in qrels\n")
    assert printed == "num_ret               \t1\t3\n"  # topics before 10 in the order of names
    status, printed, _ = call("--version", "10", "-q", "-c", "-m", "num_ret", "-m", "yaap", "-m", "relstring", *files)
    assert values(printed)["num_ret", "10"] == "0"
    assert values(printed)["relstring", "10"] == "''"
    assert values(printed)["yaap", "10"] == f"{math.log(1 / 2):.4f}"


def test_depth_and_judged_only(files: list[str]) -> None:
    assert values(call("-M1", "-m", "num_ret", *files)[1])["num_ret", "all"] == "2"
    got = values(call("-J", "-q", "-m", "num_ret", "-m", "relstring.2", "-m", "P.2", *files)[1])
    assert got["num_ret", "1"] == "2"
    assert got["relstring_2", "1"] == "'10'"
    assert got["P_2", "1"] == f"{1 / 2:.4f}"


def test_relevance_string_tells_unjudged_from_pooled(write: Write) -> None:
    qrels = write("q", "1 0 a 12\n1 0 b -1\n1 0 c 3\n")
    run = write("r", "1 Q0 a 1 4 t\n1 Q0 b 1 3 t\n1 Q0 z 1 2 t\n1 Q0 c 1 1 t\n")
    assert values(call("-q", "-m", "relstring", qrels, run)[1])["relstring", "1"] == "'>.-3'"


def test_parameters_of_measures(files: list[str]) -> None:
    got = values(call("-m", "P.3,1", "-m", "iprec_at_recall..25,.5", "-m", "utility.2,-1,0,0", "-m", "ndcg.1=3,2=1",
                      "-m", "11pt_avg..25,.75", "-m", "success.1", "-m", "P.7", *files)[1])  # fmt: skip
    assert [name for name, _ in got] == [
        "iprec_at_recall_0.25", "iprec_at_recall_0.50", "P_1", "P_3", "utility_2,-1,0,0", "11pt_avg_.25,.75",
        "ndcg_1=3,2=1", "success_1",
    ]  # fmt: skip
    assert got["utility_2,-1,0,0", "all"] == f"{((2 - 2) + (2 - 1)) / 2:.4f}"
    ideal = 3 + 1 / math.log2(3)  # topic 1: the label 1 is worth 3, the label 2 is worth 1
    assert got["ndcg_1=3,2=1", "all"] == f"{(3 / ideal + 1 / math.log2(3)) / 2:.4f}"


def test_gains_that_differ_by_less_than_one_are_not_sorted(write: Write) -> None:
    # The original compares gains cut down to whole numbers, so the ideal ranking takes the last of equal ones first.
    qrels = write("q", "1 0 a 1\n1 0 b 2\n")
    run = write("r", "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    wrong = 0.2 / math.log2(3) + 0.9
    assert values(call("-m", "dcg.1=0.2,2=0.9", "-m", "ideal_dcg.2=0.9,1=0.2", qrels, run)[1]) == {}
    got = values(call("--version", "10", "-m", "dcg.1=0.2,2=0.9", "-m", "ideal_dcg.2=0.9,1=0.2", qrels, run)[1])
    assert got["dcg_1=0.2,2=0.9", "all"] == f"{wrong:.4f}"
    assert got["ideal_dcg_2=0.9,1=0.2", "all"] == "0.0000"  # label 0, worth 0, stands last and ends the ideal ranking


def test_zscores_replace_every_value(files: list[str], write: Write) -> None:
    path = write("z", "1 map 0.25 0.125\n2 map 0.5 0\n1 num_ret 1 4\n2 num_ret 1 0\n")
    got = values(call("-q", "-Z", path, "-m", "map", "-m", "num_ret", "-m", "num_q", "-m", "relstring", *files)[1])
    assert got["Zmap", "1"] == f"{(0.5 - 0.25) / 0.125:.4f}"
    assert got["Zmap", "2"] == "0.0000"
    assert got["Znum_ret", "2"] == "-1000000.0000"
    assert got["Znum_ret", "all"] == f"{(3 - 1) / 4 - 1000000:.4f}"
    assert got["Znum_q", "all"] == "2.0000"
    assert got["relstring", "1"] == "'1-0'"


def test_groups_of_users_are_averaged(write: Write) -> None:
    qrels = write("q", "1 u a 1\n1 u b 0\n1 v b 1\n2 u a 1\n")
    run = write("r", "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n2 Q0 a 1 1 t\n")
    got = values(call("-q", "-R", "qrels_jg", "-m", "qrels_jg", qrels, run)[1])
    assert got["map_avgjg", "1"] == f"{(1 + 1 / 2) / 2:.4f}"
    assert got["P_avgjg_5", "1"] == f"{(1 / 5 + 1 / 5) / 2:.4f}"
    assert got["Rprec_mult_avgjg_1.00", "1"] == f"{(1 + 0) / 2:.4f}"
    assert got["map_avgjg", "all"] == f"{(0.75 + 1) / 2:.4f}"


def test_preferences_among_retrieved_implied_and_absent_documents() -> None:
    # a > b > c by one user in two statements; b and a are retrieved, in this order.
    judgements = [Judgement("u", "1", "a", 2.0), Judgement("u", "1", "b", 1.0), Judgement("u", "2", "b", 5.0),
                  Judgement("u", "2", "c", 1.0)]  # fmt: skip
    counts = count_preferences(judgements, ["z", "b", "a"])
    assert counts.value("num_prefs_poss") == 3  # a > c follows
    assert counts.value("num_prefs_ful") == 2  # a > c and b > c, since c was not retrieved
    assert counts.value("num_prefs_ful_ret") == 0
    assert counts.value("simp") == 2 / 3
    assert counts.value("simp_ret") == 0.0
    assert counts.value("pair") == 2 / 3
    assert counts.value("avgjg_imp") == 2 / 3


def test_preferences_of_two_users_about_one_pair() -> None:
    levels = {"u": (1.0, 0.0), "v": (1.0, 2.0), "w": (3.0, 2.0)}
    judgements = [Judgement(user, "0", d, x) for user, pair in levels.items() for d, x in zip("ab", pair, strict=True)]
    counts = count_preferences(judgements, ["a", "b"])
    assert counts.value("simp") == 2 / 3
    assert counts.value("pair") == 2 / 3
    assert counts.value("avgjg") == (1 + 0 + 1) / 3
    # As many non-relevant documents as relevant ones: two users have no document at 0, and two are made up below all.
    assert counts.value("avgjg_Rnonrel") == (1 + 4 / 5 + 5 / 5) / 3


def test_preferences_of_more_nonrelevant_documents_than_relevant_ones() -> None:
    judgements = [Judgement("u", "0", d, float(level)) for d, level in (("a", 1), ("b", 0), ("c", 0))]
    counts = count_preferences(judgements, ["b", "a", "c"])
    # Only the first non-relevant document counts, and it is held against the non-relevant ones too.
    assert counts.value("avgjg_Rnonrel") == 0.0
    assert count_preferences(judgements, ["a", "b", "c"]).value("avgjg_Rnonrel") == 1 / 3


def test_preferences_are_read_in_both_formats(files: list[str], write: Write) -> None:
    prefs = write("prefs", "1 u 1 a 2.5\n1 u 1 b 1\n")
    assert values(call("-R", "prefs", "-m", "prefs", prefs, files[1])[1])["prefs_simp", "all"] == "1.0000"
    got = values(call("-q", "-R", "qrels_prefs", "-m", "all_prefs", *files)[1])
    assert got["prefs_num_prefs_poss", "1"] == "3"  # c > a, c > b, a > b
    assert got["prefs_num_prefs_ful", "1"] == "1"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 1, "Usage: trec_eval"),
        (("-m", "nonsense"), 1, "trec_eval: illegal measure 'nonsense'\n"),
        (("-m", "rbp"), 1, "trec_eval: illegal measure 'rbp'\n"),
        (("-m", "P."), 1, "trec_eval: improper measure in parameter 'P'\n"),
        (("-m", "P.0", "Q", "R"), 2, "trec_eval: Negative cutoff detected\ntrec_eval: Cannot initialize measure 'P'\n"),
        (("-m", "P.5,5", "Q", "R"), 2, "trec_eval: duplicate cutoffs detected\n"),
        (("-m", "ndcg.1", "Q", "R"), 2, "trec_eval: malformed pair parameters in '1'\n"),
        (("-m", "utility.1", "Q", "R"), 4, "trec_eval.calc_utility: improper number of coefficients\n"),
        (("-R", "odd", "Q", "R"), 2, "trec_eval: Illegal rel_format 'odd'\n"),
        (("-T", "odd", "Q", "R"), 2, "trec_eval: Illegal retrieval results format 'odd'\n"),
        (("-m", "prefs", "Q", "R"), 4, "trec_eval.form_prefs_info: "),
        (("-R", "prefs", "-m", "map", "P", "R"), 4, "trec_eval.form_res_qrels: rel_info format not qrels"),
        (
            ("nowhere", "R"),
            2,
            "trec_eval.get_qrels: Cannot read qrels file 'nowhere'\ntrec_eval: Quit in file 'nowhere'\n",
        ),
        (("Q", "nowhere"), 2, "trec_eval.get_results: Cannot read results file 'nowhere'\n"),
        (("Q", "short"), 2, "trec_eval.get_results: Malformed line 1\n"),
        (("Q", "other"), 7, "trec_eval: No queries with both results and relevance info\n"),
        (("Q", "twice"), 4, "trec_eval.form_res_qrels: duplicate docs atrec_eval: Can't calculate measure 'num_ret'\n"),
        (("-Z", "nowhere", "Q", "R"), 255, "trec_eval.get_prefs: Cannot read zscores file 'nowhere'\n"),
        (("-v",), 0, "trec_eval version 9.0.7\n"),
        (("--version", "10", "-v"), 0, "trec_eval version 10.0-rc3\n"),
        (("--version", "8.1", "-x", "Q", "R"), 1, "Usage: trec_eval"),
        (("--version", "8.1", "Q", "other"), 255, ""),
    ],
)
def test_complains_as_the_original_does(
    arguments: tuple[str, ...], status: int, said: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Q", QRELS)
    write("R", RUN)
    write("P", "1 u 1 a 1\n")
    write("short", "1 Q0 a 1\n")
    write("other", "9 Q0 a 1 1 t\n")
    write("twice", "1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n")
    monkeypatch.chdir(tmp_path)
    got = call(*arguments)
    assert (got[0], got[1]) == (status, "")
    assert got[2].startswith(said)


def test_a_list_without_judged_documents_prints_the_originals_nan(write: Write) -> None:
    qrels, run = write("q", "1 0 a 1\n"), write("r", "1 Q0 z 1 1 t\n")
    got = values(call("-J", "-m", "iprec_at_recall.0,1", "-m", "P.5", qrels, run)[1])
    assert got == {
        ("iprec_at_recall_0.00", "all"): "  -nan",
        ("iprec_at_recall_1.00", "all"): "0.0000",
        ("P_5", "all"): "0.0000",
    }


def test_version_8_takes_its_own_options(files: list[str]) -> None:
    got = values(call("--version", "8.1", "-q", "-a", "-N100", "-Ua2", "-Ud0.5", *files)[1])
    assert got["utility_2.0_-1.0_0.0_0.5", "1"] == f"{2 * 1 - 2 + 0.5 * (100 + 1 - 3 - 2):.4f}"
    assert got["rank_first_rel", "2"] == "2"
    assert ("gm_ap", "1") not in got
    assert got["micro_prec", "all"] == f"{2 / 5:.4f}"
    assert got["avg_doc_prec", "all"] == f"{(1 + 1 / 2) / 3:.4f}"
    short = values(call("--version", "8.1", "-l2", "-M1", "-c", *files)[1])
    assert short["num_q", "all"] == "3"
    assert short["num_ret", "all"] == "2"
    assert ("bpref_5", "all") not in short


def test_version_8_prints_the_old_form(files: list[str]) -> None:
    status, printed, _ = call("--version", "8.1", "-o", *files)
    assert status == 0
    assert printed.startswith(
        "\nQueryid (Num):\tAll\nTotal number of documents over all queries\n    Retrieved:        5\n"
    )
    assert f"\n  At    5 docs:   {(1 / 5 + 1 / 5) / 2:.4f}\n" in printed


def test_help_is_printed(files: list[str]) -> None:
    assert "all_trec" in call("-h")[1]
    assert "-Ua" in call("--version", "8.1", "-h")[1]
