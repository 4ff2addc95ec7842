"""`pippin datasets` lists published data sets and the files that they need."""

from __future__ import annotations

import json

import pytest

from pippin.cli.main import main
from pippin.collections.readers import READERS
from pippin.data.published import PUBLISHED_DATASETS


def test_the_list_has_every_data_set_and_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets"]) == 0
    first = {line.split(" ")[0] for line in capsys.readouterr().out.splitlines()}
    assert set(PUBLISHED_DATASETS) | set(READERS) <= first


def test_index_lists_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "mq2008"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["Fold4", "test", "157", "3,062"] in rows


def test_json_has_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "ohsumed", "-f", "json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["total"] == {"queries": 106, "documents": 16140}
    assert main(["datasets", "-f", "json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)["collections"]} == set(READERS)


def test_an_unknown_name_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "mq2080"]) == 2
    assert capsys.readouterr().err.startswith("pippin: no data set is called 'mq2080'; did you mean mq2008")
