"""Behaviour of the original trec_eval on odd files and options, found by random comparison.

A line of `trec_eval_cases.jsonl` is a case: what it shows, the version, its arguments, its files (one character a byte;
null: there is none), and what the original wrote and ended with. `only` names the measures whose lines are compared.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from pippin.compat import trec_eval

CASES = [json.loads(line) for line in Path(__file__).with_name("trec_eval_cases.jsonl").read_text("utf-8").splitlines()]
QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 d 0\n"
RESULTS = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 x 3 1 t\n2 Q0 d 1 2 t\n2 Q0 a 2 1 t\n"


def run(arguments: list[str]) -> tuple[int, bytes, bytes]:
    out, err = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(b, "utf-8", "surrogateescape", newline="", write_through=True) for b in (out, err)]
    status = trec_eval.main(arguments, *streams)
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['version']}: {case['why']} ({case['arguments']})")
def test_does_as_the_original(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"q": case.get("qrels", QRELS), "r": case.get("results", RESULTS), "z": case.get("zscores")}
    for name, text in files.items():
        if text is not None:
            Path(name).write_bytes(text.encode("latin-1"))
    status, out, err = run(["--version", case["version"], *case["arguments"].split(), "q", "r"])
    if "only" in case:
        expected = case["only"].split()
        out = b"".join(line + b"\n" for line in out.split(b"\n") if line.split(b"\t")[0].decode().strip() in expected)
    assert (out.decode("latin-1"), err.decode("latin-1"), status) == (case["out"], case["err"], case["status"])


def test_a_depth_below_0_and_labels_below_minus_1_end_as_the_crash_of_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q").write_text(QRELS)
    Path("r").write_text(RESULTS)
    assert run(["-M", "-1", "q", "r"])[0] == 128 + 11
    Path("q").write_text("1 0 a 1\n2 0 a -2\n")
    status, _, err = run(["q", "r"])
    assert status == 128 + 11
    assert b"all labels of a topic are below -1" in err
