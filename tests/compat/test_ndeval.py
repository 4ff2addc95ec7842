"""`pippin as ndeval`: output of the original on small files, and errors."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import pippin
from pippin.compat import EMULATORS

QRELS = "1 1 a 1\n1 2 a 0\n1 2 b 1\n1 1 c 0\n2 1 a 0\n3 1 z 1\n"
RUN = "1 Q0 b 1 3 t\n1 Q0 c 2 2 t\n1 Q0 a 3 1 t\nwt09-2 Q0 a 1 1 t\n9 Q0 x 1 1 t\n"
# what ndeval 4.5 prints for these two files
NONE = ",".join(["0.000000"] * 21)
PRINTED = [
    "t,1,0.484115,0.480955,0.480898,0.888889,0.888889,0.888889,0.493916,0.487322,0.487155,0.919721,0.919721,0.919721,"
    "0.468750,0.833333,0.666667,0.200000,0.100000,0.050000,1.000000,1.000000,1.000000",
    "t,2," + ",".join(["0.000000"] * 13 + ["-nan"] + ["0.000000"] * 7),
    f"t,9,{NONE}",
    "t,amean,0.242057,0.240478,0.240449,0.444444,0.444444,0.444444,0.246958,0.243661,0.243577,0.459860,0.459860,0.459860,"
    "0.234375,-nan,0.333333,0.100000,0.050000,0.025000,0.500000,0.500000,0.500000",
]


def run(folder: Path, *arguments: str, qrels: str = QRELS, listed: str = RUN) -> tuple[int, str, str]:
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(listed)
    out, err = io.StringIO(), io.StringIO()
    status = EMULATORS["ndeval"].main([*arguments, str(folder / "qrels"), str(folder / "run")], out, err)
    return status, out.getvalue(), err.getvalue()


def test_output_equals_the_original(tmp_path: Path) -> None:
    status, out, _ = run(tmp_path)
    assert status == 0
    assert out.splitlines()[0].startswith("runid,topic,ERR-IA@5,ERR-IA@10,ERR-IA@20,nERR-IA@5")
    assert out.splitlines()[1:] == PRINTED


def test_c_divides_by_all_judged_topics(tmp_path: Path) -> None:
    ours = run(tmp_path, "-c")[1].splitlines()[-1].split(",")
    assert ours[2] == f"{0.48411497730711045 / 3:.6f}"


def test_ranks_or_scores_order_a_list(tmp_path: Path) -> None:
    tied = "1 Q0 c 1 1 t\n1 Q0 a 2 1 t\n1 Q0 b 3 1 t\n"
    qrels = "1 1 a 1\n1 1 b 1\n1 2 b 1\n1 1 c 0\n"
    by_rank, by_score = (
        run(tmp_path, *flags, qrels=qrels, listed=tied)[1].splitlines()[1] for flags in ((), ("-traditional",))
    )
    assert by_rank != by_score  # c, a, b by rank; c, b, a by document downwards
    measures = ["alpha-nDCG@5", "NRBP"]
    files = str(tmp_path / "qrels"), str(tmp_path / "run")
    down, up = (pippin.evaluate(*files, measures, tool=tool).mean for tool in ("ndeval", "pyndeval"))
    assert f"{down['NRBP']:.6f}" == by_score.split(",")[14]
    assert up["NRBP"] > down["NRBP"]  # pyndeval settles ties by document upwards: a, b, c


@pytest.mark.parametrize(
    ("qrels", "listed", "told"),
    [("1 1 a -1\n", RUN, "syntax error in qrel file"), (QRELS, "1 Q0 a\n", "syntax error in run file"),
     (QRELS, "1 Q0 a 1 1 t\n1 Q0 b 1 2 t\n", "duplicate rank (1) for topic 1"),
     (QRELS, "1 Q0 a 1 1 t\n1 Q0 a 2 2 t\n", "duplicate docno (a) for topic 1"), ("", RUN, "is empty")],
)  # fmt: skip
def test_how_it_stops(tmp_path: Path, qrels: str, listed: str, told: str) -> None:
    status, out, err = run(tmp_path, qrels=qrels, listed=listed)
    assert (status, out) == (1, "")
    assert told in err


def test_usage_and_version(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert EMULATORS["ndeval"].main([], out, err) == 1
    assert err.getvalue().startswith("Usage: ndeval [options] qrels run")
    assert EMULATORS["ndeval"].main(["-version"], out, err) == 0
    assert "version 4.5" in out.getvalue()
    assert run(tmp_path, "-alpha", "2")[0] == 1
