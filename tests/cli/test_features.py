"""`pippin features` lists feature sets, shows one set and describes one feature."""

from __future__ import annotations

import pytest

from pippin.cli.main import main
from pippin.collections.features import FEATURES, SETS


def test_the_list_has_every_feature_and_every_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["features"]) == 0
    first = {line.split(" ")[0] for line in capsys.readouterr().out.splitlines()}
    assert set(FEATURES) <= first
    assert set(SETS) <= first


def test_a_set_shows_its_features_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["features", "ohsumed@name+text+whole", "-f", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("45,lmir_abs(delta=0.5)@whole,Q-D,")
    assert any(line.startswith("16,tf@text,Q-D,") for line in lines)


def test_one_feature_tells_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["features", "bm25(k1=0.9)@title"]) == 0
    output = capsys.readouterr().out
    assert "bm25(k1=0.9)@title — Compute Okapi BM25" in output
    assert "where the field contains no word of the query" in output
    assert "Feature-min writes 0 there" in output
    assert ["k1", "0.9", "2.5", "[0,", "inf)"] in [line.split() for line in output.splitlines()]


def test_omitted_features_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["features", "gov_text"]) == 0
    assert "left out  41–60: links and urls" in capsys.readouterr().out


def test_an_unknown_name_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["features", "bm52"]) == 2
    assert capsys.readouterr().err.startswith("pippin: no feature is called 'bm52'; did you mean bm25")
