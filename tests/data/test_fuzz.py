"""Parsers on arbitrary bytes: data or one DataError, independent of the number of threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.data.buffers import Buffer
from pippin.data.inputs import coerce_judgements
from pippin.data.letor import read_letor, read_scores
from pippin.data.qrels import parse_qrels, parse_run
from pippin.data.read import detect_text_format
from pippin.errors import DataError

SEEDS = (
    b"2 qid:10 1:0.5 2:-3e2 3:7 #docid = GX1 inc = 1 prob = 0.25\n0 qid:10 1:1 2:.5 3:NULL # x\n1.0 qid:a 2:1.5#y\r\n",
    b"q1 0 d1 1\nq1 0 d2 -1\n# c\nq2 Q0 d1 2.0\n",
    b"q1 Q0 d1 1 0.5 mine\nq1 Q0 d2 2 -1e-3 other\n\nq2 Q0 d1 1 7 third\r\n",
    b"1\n2.5\n-3e-7\n12345678.12345678\n",
)
TOKENS = (
    b"1", b"qid:", b"2", b":", b" ", b"\n", b"#", b"NULL", b"docid = ", b".", b"e", b"-", b"\t", b"\r\n", b"9" * 20,
    b"\xff", b"\0", b"q", b"nan", b"inf", b"0x",
)  # fmt: skip
READERS: tuple[Callable[[Buffer], Any], ...] = (
    read_letor,
    lambda b: read_letor(b, missing_value="null", merge_queries=True, dtype=np.float32),
    parse_qrels,
    lambda b: parse_qrels(b, lenient=True),
    parse_run,
    lambda b: parse_run(b, lenient=True),
    read_scores,
    lambda b: read_scores(b, lenient=True),
    detect_text_format,
    coerce_judgements,
)


def error_of(read: Callable[[Buffer], Any], text: bytes) -> DataError | None:
    try:
        read(Buffer(np.frombuffer(text, np.uint8), "fuzz"))
    except DataError as error:
        return error
    return None


def survives(text: bytes) -> None:
    for read in READERS:
        error = error_of(read, text)
        assert error is None or error.file == "fuzz"
        assert error is None or error.line is None or 1 <= error.line <= text.count(b"\n") + 1


@given(st.binary(min_size=1, max_size=300))
def test_random_bytes(text: bytes) -> None:
    survives(text)


@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=60))
def test_random_tokens(parts: list[bytes]) -> None:
    survives(b"".join(parts))


@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_mutated_files(seed: bytes, generator: random.Random) -> None:
    text = bytearray(seed * generator.randint(1, 4))
    for _ in range(generator.randint(1, 6)):
        at = generator.randrange(len(text) + 1)
        match generator.randrange(4):
            case 0:
                text[at:at] = bytes([generator.randrange(256)])
            case 1:
                del text[at : at + generator.randint(1, 9)]
            case 2:
                text[at : at + 1] = generator.choice(b" \n\r:#.-+e0123456789").to_bytes()
            case _:
                text[at:at] = text[: generator.randrange(len(text) + 1)]
    if text:
        survives(bytes(text))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_cut(seed: bytes) -> None:
    for end in range(1, len(seed)):
        survives(seed[:end])
        survives(seed[end:])
