"""RankLib's evaluator: log, metrics, options and errors."""

from __future__ import annotations

import io
from math import log2
from pathlib import Path

import numpy as np
import pytest

from pippin.compat import EMULATORS
from pippin.errors import ConventionError, DataError, PippinError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> tuple[int, list[str], str]:
    out, err = io.StringIO(), io.StringIO()
    status = EMULATORS["ranklib"].main(list(arguments), out, err)
    return status, out.getvalue().splitlines(), err.getvalue()


def write(name: str, *lines: str) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines))


def value(metric: str, *arguments: str) -> float:
    """Return the mean with full precision from the -idv file."""
    assert run("-test", "f", "-metric2T", metric, "-idv", "o", *arguments)[0] == 0
    return float(Path("o").read_text().split()[-1])


def test_the_log() -> None:
    write("f", "0 qid:1 1:0", "1 qid:1 1:0", "# a comment", "", "0 qid:2 1:0 # docid")
    write("s", "0.5", "0.7", "1")
    assert run("-test", "f", "-score", "s", "-metric2T", "ERR@5") == (0, [
        "INFO: Discard orig. features",
        "INFO: Model file: ",
        "INFO: Feature normalization: No",
        "INFO: Test metric: ERR@5",
        "INFO: Highest relevance label (to compute ERR): 4",
        "INFO: Reading feature file [f]: 0... ",
        "INFO: Reading feature file [f]...",
        "INFO: (2 ranked lists, 3 entries read)",
        "INFO: ERR@5 on test data: 0.0313",  # 1 / 16 / 2 = 0.03125, rounded half up
    ], "")  # fmt: skip


def test_progress_comes_once_in_10000_entries() -> None:
    write("f", *["0 qid:1 1:0"] * 20001)
    lines = run("-test", "f", "-metric2T", "MAP")[1]
    assert lines.count("INFO: Reading feature file [f]: 0... ") == 3


def test_individual_values_without_scores_only() -> None:
    write("f", "0 qid:b 1:0", "1 qid:b 1:0", "1 qid:a 1:0")
    status, lines, _ = run("-test", "f", "-metric2T", "map", "-idv", "o")
    assert status == 0
    assert lines[-2:] == ["INFO: MAP on test data: 0.75", "INFO: Per-ranked list performance saved to: o"]
    assert Path("o").read_text() == "MAP   b   0.5\nMAP   a   1.0\nMAP   all   0.75\n"
    write("s", "1", "2", "3")
    assert run("-test", "f", "-score", "s", "-metric2T", "map", "-idv", "p")[1][-1] == "INFO: MAP on test data: 1.0"
    assert not Path("p").exists()


@pytest.mark.parametrize(
    ("metric", "name", "expected"),
    [("NDCG@2", "NDCG@2", (3 / log2(3)) / (3 + 1 / log2(3))),
     ("ndcg", "NDCG@10", (3 / log2(3) + 1 / log2(4)) / (3 + 1 / log2(3))),
     ("DCG@3", "DCG@3", 3 / log2(3) + 1 / log2(4)), ("P@2", "P@2", 1 / 2), ("P@9", "P@9", 2 / 3), ("P@0", "P@0", 2 / 3),
     ("MAP@1", "MAP", (1 / 2 + 2 / 3) / 2), ("RR@5", "RR@5", 1 / 2), ("RR@1", "RR@1", 0.0), ("RR", "RR@0", 0.0),
     ("ERR@0", "ERR@0", 3 / 16 / 2 + 13 / 16 / 16 / 3), ("ERR@2", "ERR@2", 3 / 16 / 2), ("Best@1", "Best@1", 0.0),
     ("BEST", "Best@10", 2.0), ("NDCG@-1", "NDCG@-1", (3 / log2(3) + 1 / log2(4)) / (3 + 1 / log2(3)))],
)  # fmt: skip
def test_metrics(metric: str, name: str, expected: float) -> None:
    write("f", "0 qid:1 1:0", "2 qid:1 1:0", "1 qid:1 1:0")
    assert value(metric) == pytest.approx(expected, abs=1e-15)
    assert Path("o").read_text().startswith(f"{name}   1   ")


def test_reciprocal_rank_is_single_precision() -> None:
    write("f", "0 qid:1", "0 qid:1", "1 qid:1")
    assert value("RR@10") == float(np.float32(1) / np.float32(3))


def test_a_query_that_comes_back_is_measured_against_its_first_list() -> None:
    write("f", "2 qid:1", "1 qid:1", "0 qid:2", "0 qid:1", "1 qid:1")
    assert value("NDCG@10") == pytest.approx((1 + 0 + (1 / log2(3)) / (3 + 1 / log2(3))) / 3, abs=1e-15)
    assert value("MAP") == pytest.approx((1 + 0 + 1 / 2) / 3, abs=1e-15)  # no memory here


def test_external_judgements_make_the_ideal() -> None:
    write("f", "1 qid:1", "0 qid:1", "1 qid:2")
    write("q", "1 0 a 1", "1 0 b 2", "1 0 c 0", "3 0 d 1")
    lines = run("-test", "f", "-metric2T", "NDCG@10", "-qrel", "q")[1]
    assert lines[1:3] == ["INFO: Relevance judgment file loaded. [#q=2]"] * 2
    assert value("NDCG@10", "-qrel", "q") == pytest.approx((1 / (3 + 1 / log2(3)) + 1) / 2, abs=1e-15)
    assert value("MAP", "-qrel", "q") == pytest.approx((1 / 2 + 0) / 2, abs=1e-15)  # query 2 has no judgement
    assert value("P@1", "-qrel", "q") == 1.0
    assert value("NDCG@0", "-qrel", "q") == 1 / 2  # a cutoff of 0 leaves query 1 without an ideal


@pytest.mark.parametrize("line", ["1\t0\ta\t1", "1 0 a", "1 0 a x", "1 0 a -1"])
def test_judgements_that_ranklib_cannot_read(line: str) -> None:
    write("f", "1 qid:1")
    write("q", line)
    assert run("-test", "f", "-metric2T", "NDCG@10", "-qrel", "q")[0] == 1


def test_lists_without_a_relevant_document_are_dropped_with_their_place_in_the_scores() -> None:
    write("f", "0 qid:1", "0 qid:2", "1 qid:2")
    write("s", "1", "2", "3")
    assert run("-test", "f", "-score", "s", "-metric2T", "P@1", "-hr")[1][-2:] == [
        "INFO: (1 ranked lists, 3 entries read)", "INFO: P@1 on test data: 1.0"]  # fmt: skip
    write("s", "1", "0", "9")  # the dropped document's score goes to the next list
    assert run("-test", "f", "-score", "s", "-metric2T", "P@1", "-hr")[1][-1] == "INFO: P@1 on test data: 0.0"


def test_the_highest_label() -> None:
    write("f", "2 qid:1")
    lines = run("-test", "f", "-metric2T", "ERR@10", "-GMAX", "2")[1]
    assert lines[4] == "INFO: Highest relevance label (to compute ERR): 2"
    assert lines[-1] == "INFO: ERR@10 on test data: 0.75"


@pytest.mark.parametrize(
    ("gmax", "label", "value"),
    [("4", "4", "0.6992"), ("3", "3", "1.2969"), ("2", "2", "2.1875"), ("1", "1", "2.75"), ("0", "0", "-1.0"),
     ("-1", "-1", "-28.0"), ("2.5", "2", "1.7151"), ("100", "100", "0.0"), ("NaN", "0", "NaN"),
     ("-Infinity", "-2147483648", "NaN")],
)  # fmt: skip
def test_a_highest_label_below_a_label_gives_ranklibs_own_nonsense_and_a_warning(
    gmax: str, label: str, value: str
) -> None:
    write("f", "4 qid:1 1:0", "2 qid:1 1:0", "0 qid:1", "3 qid:2 1:1", "1 qid:2")
    status, lines, complaint = run("-test", "f", "-metric2T", "ERR@10", "-gmax", gmax)
    assert (status, lines[-1]) == (0, f"INFO: ERR@10 on test data: {value}")
    assert lines[4] == f"INFO: Highest relevance label (to compute ERR): {label}"
    assert (complaint == "") == (gmax in ("4", "100"))
    assert gmax in ("4", "100") or complaint.startswith("pippin as ranklib: label 4 is above -gmax")


@pytest.mark.parametrize(
    ("features", "fails"),
    [("0:1", True), ("-1:2", True), ("x:1", True), ("1:", True), ("1", True), ("1:2:3", False), ("1:0x1p2", False),
     ("1:1e-3 2:NaN", False)],
)  # fmt: skip
def test_features_have_a_form(features: str, fails: bool) -> None:
    write("f", f"1 qid:1 {features}")
    status, lines, _ = run("-test", "f", "-metric2T", "P@1")
    assert status == fails
    assert lines[-1] == ("INFO: Reading feature file [f]: 0... " if fails else "INFO: P@1 on test data: 1.0")


def test_options_match_in_any_case_and_the_last_one_counts() -> None:
    write("f", "1 qid:1")
    lines = run("-TEST", "f", "-metric2t", "MAP", "-metric2T", "P@1", "-keep", "-norm", "Sum", "-thread", "1")[1]
    assert lines[0] == "INFO: Keep orig. features"
    assert lines[2:4] == ["INFO: Feature normalization: sum", "INFO: Test metric: P@1"]


def test_labels_are_numbers_with_a_whole_part() -> None:
    write("f", "1.0 qid:1", "2.7 x:y:1", "0.5 1")  # the query is what follows the last colon
    assert value("DCG@10") == pytest.approx(1 + 3 / log2(3) + 0, abs=1e-15)
    assert value("P@3") == 1.0  # any label above 0 is relevant
    assert value("BEST@3") == float(np.float32(2.7))  # and held in single precision


def test_scores() -> None:
    write("f", "0 qid:1", "1 qid:1")
    for first, second, top in (("1", "2", 1.0), ("1", "Infinity", 1.0), ("1f", "1d", 0.0), ("1", "\n 2 ", 1.0)):
        write("s", first, second, "7")
        assert run("-test", "f", "-score", "s", "-metric2T", "P@1")[1][-1] == f"INFO: P@1 on test data: {top}"
    write("s", "1", "NaN")
    with pytest.raises(DataError, match="s:2: score is NaN"):
        run("-test", "f", "-score", "s", "-metric2T", "P@1")


@pytest.mark.parametrize("scores", [["1"], ["1", "nan"], ["1", "inf"], ["1", "x"], ["1", "1_0"], []])
def test_scores_that_ranklib_cannot_read(scores: list[str]) -> None:
    write("f", "0 qid:1", "1 qid:1")
    write("s", *scores)
    status, _, complaint = run("-test", "f", "-score", "s", "-metric2T", "P@1")
    assert status == 1
    assert complaint.startswith('Exception in thread "main" java.lang.')


@pytest.mark.parametrize("line", ["-1 qid:1", "x qid:1", "1", "1 # qid:1"])
def test_lines_that_ranklib_cannot_read(line: str) -> None:
    write("f", "0 qid:1", line)
    assert run("-test", "f", "-metric2T", "P@1")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [("-test", "f", "-silent"), ("-test", "f", "-metric2T"), ("-test", "f", "-metric2T", "NDCG@x"),
     ("-test", "f", "-metric2T", "nonsense"), ("-test", "none"), ("-test", "f", "-score", "none"),
     ("-test", "f", "-norm", "none"), ("-metric2T", "MAP")],
)  # fmt: skip
def test_command_lines_that_fail(arguments: tuple[str, ...]) -> None:
    write("f", "0 qid:1")
    status, _, complaint = run(*arguments)
    assert status == 1
    assert complaint.startswith('Exception in thread "main" ')


def test_arguments_left_to_ranklib() -> None:
    with pytest.raises(PippinError, match="does not support -train"):
        run("-train", "f", "-test", "f")


def test_usage() -> None:
    status, lines, _ = run("-test")
    assert (status, lines[0]) == (0, "INFO: Usage: java -jar RankLib.jar <Params>")


def test_a_file_without_lists() -> None:
    write("f", "# nothing")
    for metric in ("NDCG@10", "MAP", "BEST@1", "RR", "ERR@10"):
        assert run("-test", "f", "-metric2T", metric)[1][-1].endswith(" on test data: NaN")


def test_small_means_have_an_exponent() -> None:
    write("f", *["0 qid:1"] * 300, "1 qid:1")
    assert run("-test", "f", "-metric2T", "ERR@0")[1][-1] == "INFO: ERR@0 on test data: 2.0E-4"  # 1 / 16 / 301


def test_labels_beyond_32_bits_of_gain_turn_over() -> None:
    write("f", "31 qid:1", "NaN qid:1")
    assert value("MAP") == 1.0
    write("f", "32 qid:1", "31 qid:1", "2 qid:1", "33 qid:2", "0 qid:2", "1 qid:2")
    assert run("-test", "f", "-metric2T", "NDCG@2")[1][-1] == "INFO: NDCG@2 on test data: 0.8066"
    write("f", "32 qid:1", "31 qid:1", "2 qid:1", "33 qid:2")
    assert run("-test", "f", "-metric2T", "DCG@10")[1][-1] == "INFO: DCG@10 on test data: 6.774556653502E8"
    write("f", "31 qid:1", "0x1p1 qid:1")
    assert run("-test", "f", "-metric2T", "ERR@10")[1][-1] == "INFO: ERR@10 on test data: 1.216348160371E8"
    write("f", "Infinity qid:1")
    with pytest.raises(ConventionError, match="label Infinity is too large"):  # RankLib never ends
        run("-test", "f", "-metric2T", "NDCG@1")
