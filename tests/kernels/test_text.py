"""Number parsing equals Python's to the last bit, independent of threads."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pippin.errors import DataError
from pippin.kernels.text import find_queries, format_numbers, line_at, parse_leading_number, parse_number

HARD = [
    "0", "-0", "0.0", "-0.0", "1.", ".5", "+1.5", "00012", "0.000000", "123456789012345678901234567890",
    "9007199254740992", "9007199254740993", "9007199254740994.9999999999999999999", "9007199254740991e22", "1e22",
    "1e23",
    "8.5e-23", "2.2250738585072011e-308", "2.2250738585072014e-308", "5e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623158e308", "1e309", "-1e309", "1e-400",
    "0e999999999999999999999", "1e-999999999999999999999", "1e999999999999999999999", "0.1", "0.30000000000000004",
    "1234567.12345678", "12345678.12345678", "1234567.123456789", "0.12345678", "0.123456789", "3.14159265358979323846",
    "1" + "0" * 400, "0." + "0" * 400 + "1", "1" + "0" * 400 + "e-400", "0." + "0" * 330 + "1e330", "1E5", "1e+05",
    "7.0e-10", "6929495644600919.5", "3.7455744005952583e15", "100000000000000016777215",
    "1.00000000000000011102230246251565",
]  # fmt: skip
NOT_NUMBERS = [
    "", "-", "+", ".", "-.", "e5", "1e", "1e+", "1x", "x1", "1,5", "0x10", "1_000", "--1", "1..2", "1.2.3", "1-",
    "NULL", "nano", "infin", "1e5.0", "é", "1é",
]  # fmt: skip


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize("text", HARD)
def test_hard_numbers_are_correctly_rounded(text: str) -> None:
    value = parse_number(text)
    assert value is not None
    assert bits(value) == bits(float(text))


@given(st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_any_decimal_is_read_as_python_reads_it(text: str) -> None:
    value = parse_number(text)
    assert value is not None
    assert bits(value) == bits(float(text))


@given(st.integers(0, 10**7 - 1), st.integers(0, 10**8 - 1), st.integers(1, 8))
def test_short_decimals_are_read_as_python_reads_them(whole: int, fraction: int, places: int) -> None:
    text = f"{whole}.{str(fraction).zfill(8)[:places]}"
    value = parse_number(text)
    assert value is not None
    assert bits(value) == bits(float(text))


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1e16)
def test_written_numbers_read_back_the_same(value: float) -> None:
    output = format_numbers(np.array([value])).decode()
    read = parse_number(output.strip())
    assert read is not None
    assert bits(read) == bits(value)
    assert len(output.strip()) <= len(repr(value))


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_invalid_numbers_are_refused(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "inf", "-Infinity", "+INF"])
def test_special_words(text: str) -> None:
    value = parse_number(text)
    assert value is not None
    assert math.isnan(value) if "n" in text.lower()[:4] and "nan" in text.lower() else value == float(text)


@pytest.mark.parametrize(
    ("text", "c", "perl"),
    [
        ("12abc", 12, 12), ("abc", 0, 0), ("", 0, 0), ("  7 8", 7, 7), ("1e3x", 1000, 1000), ("1e", 1, 1),
        ("-2.5.1", -2.5, -2.5),
        ("0x10", 16, 0), ("-0x1p3", -8, 0), ("0x", 0, 0), ("infinite", math.inf, math.inf),
        ("-inf", -math.inf, -math.inf),
        ("+.5.", 0.5, 0.5), ("1e400", math.inf, math.inf), ("--1", 0, 0),
    ],
)  # fmt: skip
def test_leading_numbers_as_the_original_tools_read_them(text: str, c: float, perl: float) -> None:
    assert parse_leading_number(text) == c
    assert parse_leading_number(text, hexadecimal=False) == perl


def test_leading_nan() -> None:
    assert math.isnan(parse_leading_number("nan(3)"))
    assert math.isnan(parse_leading_number("NaNaNa", hexadecimal=False))


def test_line_at_counts_newlines_before_the_byte() -> None:
    text = np.frombuffer(b"a\nbb\n\nc" + b"x" * 1000 + b"\n" * 700 + b"z", np.uint8)
    for offset in (0, 1, 2, 4, 5, 6, 900, 1200, len(text) - 1):
        assert line_at(text, offset) == 1 + bytes(text[:offset]).count(b"\n")


def test_queries_are_found_without_reading_their_numbers() -> None:
    text = "\ufeff# c\n1 qid:a 1:x 3:1 # 9:9\n\n 0  qid:a\n2 qid:b 2:1\r\n#\n1 qid:a 7:1".encode()
    queries = find_queries(np.frombuffer(text, np.uint8), "file")
    assert [text[s : s + n] for s, n in zip(queries.starts, queries.lengths, strict=True)] == [b"a", b"b", b"a"]
    assert [text[begin:].split(b"\n")[0] for begin in queries.begins] == [
        b"1 qid:a 1:x 3:1 # 9:9", b"2 qid:b 2:1\r", b"1 qid:a 7:1",
    ]  # fmt: skip
    assert (queries.rows.tolist(), queries.widths.tolist()) == ([2, 1, 1], [3, 2, 7])


def test_queries_over_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"1 qid:%d 1:0.5 2:0.25 3:0.125 #docid = some-document-with-a-name\n"
    text = np.frombuffer(b"".join(line % (i // 9000) for i in range(60_000)), np.uint8)
    assert len(text) > 3 << 20
    by_threads = []
    for threads in ("1", "3"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        queries = find_queries(text, "file")
        by_threads.append([column.tolist() for column in vars(queries).values()])
    assert by_threads[0] == by_threads[1]
    assert queries.rows.tolist() == [9000] * 6 + [6000]


@pytest.mark.parametrize("text", ["1\n", "1 1:2\n", "1 qid: 1:2\n", "1 qid:1 2000000:1\n"])
def test_lines_without_a_query_are_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"^file:1: "):
        find_queries(np.frombuffer(text.encode(), np.uint8), "file")
