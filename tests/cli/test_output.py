"""JSON output equals that of the standard library with indentation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pippin.cli.output import format_json

RECORDS: list[Any] = [
    {}, [], "x", 1.5, None, [[]], {"a": {}}, {"a": [], "b": [1, [2, {"c": None}]]},
    {"flat": {"q 1": 0.1, "q,\n2": 1e-300, "é": 3, "t": True}, "mixed": [1, {"x": "y"}, "z"], "deep": [[[0.5]]]},
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS)
def test_the_text_is_that_of_the_standard_library(record: Any) -> None:
    assert format_json(record) == json.dumps(record, indent=1, ensure_ascii=False)


def test_values_that_json_does_not_have() -> None:
    record = {1: np.float64(0.5), "nan": float("nan"), "set": {2}, "array": np.arange(3), "pair": (np.int64(4), np.inf)}
    assert json.loads(format_json(record)) == {"1": 0.5, "nan": None, "set": [2], "array": [0, 1, 2], "pair": [4, None]}


@pytest.mark.parametrize("character", ["\x7f", "\u200b", "é\u2028"])
def test_invisible_characters_are_escaped(character: str) -> None:
    text = format_json({"a": [character], "b": 1})
    assert f"\\u{ord(character[-1]):04x}" in text
    assert json.loads(text) == {"a": [character], "b": 1}
