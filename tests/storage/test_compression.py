"""Compressed files of every kind are read within a memory limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from pippin.cli.main import main
from pippin.data.buffers import open_buffer
from pippin.data.inputs import coerce_judgements
from pippin.data.streaming import LineOffsets, iter_letor_chunks
from pippin.errors import DataError
from pippin.storage import compression as limits
from pippin.storage.compression import decompress, detect_compression, open_decompressed

LETOR = b"".join(b"%d qid:%d 1:0.5 2:%d\n" % (i % 3, i // 5, i) for i in range(500))


def zstd(data: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(data, asbytes=True)) if data else b""


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd,
}  # fmt: skip


@pytest.fixture(autouse=True)
def usual_limits() -> Iterator[None]:
    yield
    limits.set_max_bytes(None)


@pytest.mark.parametrize("name", PACKERS)
def test_every_packing_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes(LETOR)
    packed = PACKERS[name](LETOR)
    assert detect_compression(packed) == name
    (tmp_path / "packed").write_bytes(packed)
    assert open_buffer(tmp_path / "packed").data.tobytes() == LETOR
    plain, read = coerce_judgements(tmp_path / "data.txt"), coerce_judgements(tmp_path / "packed")
    assert np.array_equal(plain.labels, read.labels)
    stretches = list(iter_letor_chunks(tmp_path / "packed", LineOffsets(), 1000))
    assert sum(map(len, stretches)) == 500
    assert open_decompressed(io.BytesIO(packed), name, len(packed), "it").read() == LETOR


@pytest.mark.parametrize("name", PACKERS)
def test_damaged_or_truncated_files_are_reported_or_complete(name: str) -> None:
    packed = PACKERS[name](LETOR)
    for end in range(8, len(packed) - 1, max(1, len(packed) // 60)):
        with pytest.raises(DataError, match=rf"it: the {name} file is (truncated|damaged) after"):
            decompress(memoryview(packed[:end]), name, "it")
    for place in range(6, len(packed), max(1, len(packed) // 60)):
        damaged = packed[:place] + bytes([packed[place] ^ 16]) + packed[place + 1 :]
        try:
            content = decompress(memoryview(damaged), name, "it")
        except DataError:
            continue
        assert name == "zstd" or content == LETOR, "zstd has no checksum unless it is asked for"


@pytest.mark.parametrize("name", PACKERS)
def test_a_bomb_is_stopped(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MIN_LIMIT", 1 << 20)
    (tmp_path / "bomb").write_bytes(PACKERS[name](bytes(20 << 20)))
    for read in (open_buffer, lambda file: list(iter_letor_chunks(file, LineOffsets()))):
        with pytest.raises(DataError, match=r"it unpacks to more than 1.* MiB, but a file of .*; .*--max-bytes"):
            read(tmp_path / "bomb")
    limits.set_max_bytes(30 << 20)
    assert len(open_buffer(tmp_path / "bomb").data) == 20 << 20


def test_the_command_takes_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.txt").write_text("1 qid:1 1:1 1000000:2\n" + "0 qid:1 1:1\n" * 99)
    (tmp_path / "s.txt").write_text("1\n2\n")
    arguments = ["eval", str(tmp_path / "d.txt"), str(tmp_path / "s.txt")]
    assert main(arguments) == 2
    assert (
        "100 documents × 1,000,000 features take 762.9 MiB, but a file of 1.2 KiB may take" in capsys.readouterr().err
    )
    (tmp_path / "d.txt").write_text("1 qid:1 1:1 1000:2\n0 qid:1 1:1\n")
    assert main([*arguments, "--max-bytes", "1K"]) == 2
    assert main([*arguments, "--max-bytes", "1M"]) == 0
    assert main([*arguments, "--max-bytes", "much"]) == 2
