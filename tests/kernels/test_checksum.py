"""XXH3 against its reference library, and verification that reads each block once."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.kernels import MIN_WORK_FOR_THREADS
from pippin.kernels.checksum import block_checksums, find_damaged_block, xxh3

# What the library xxhash gives for the bytes 0, 1, 2, …, modulo 251, for lengths on either side of every branch.
KNOWN = {
    0: 0x2D06800538D394C2, 1: 0xC44BDFF4074EECDB, 3: 0x5F4299FC161C9CBB, 4: 0x60DAB036A58211F2, 8: 0x3A1C2D7C85AF88F8,
    9: 0xE9612598145BB9DC, 16: 0x8355E3A6F61770DB, 17: 0x9EF341A99DE37328, 128: 0x85C6174C7FF4C46B,
    129: 0xEC7642B431BA3E5A, 240: 0x375A384D957FE865, 241: 0x02E8CD95421C6D02, 1024: 0xE5D78BAFA45B2AA5,
    1025: 0xE95C42288F28186E, 5000: 0xB418500FC42320EE,
}  # fmt: skip


def some(size: int) -> bytes:
    return bytes(i % 251 for i in range(size))


@pytest.mark.parametrize("size", KNOWN)
def test_known_values(size: int) -> None:
    assert xxh3(some(size)) == KNOWN[size]


@pytest.mark.parametrize(
    "size", [*range(260), 511, 512, 513, 1023, 1024, 1025, 1088, 2048, 4097, 65536, 65537, 200_000]
)
def test_equal_to_the_library(size: int) -> None:
    xxhash = pytest.importorskip("xxhash")
    content = some(size)
    assert xxh3(content) == xxhash.xxh3_64_intdigest(content)
    assert xxh3(memoryview(b"x" + content)[1:]) == xxhash.xxh3_64_intdigest(content), "bytes that are not aligned"


@pytest.mark.parametrize("threads", ["1", "2"])
def test_damage_is_detected_and_checked_blocks_are_not_read_again(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", threads)
    monkeypatch.setitem(MIN_WORK_FOR_THREADS, "bytes", 0)
    content = np.frombuffer(some(10_000), np.uint8).copy()
    sums = block_checksums(content, 64)
    assert sums.tolist() == [xxh3(content[i : i + 64]) for i in range(0, 10_000, 64)]
    checked = np.zeros(len(sums), np.uint8)
    content[[700, 6400]] ^= 1
    assert find_damaged_block(content, sums, checked, 0, len(sums), 64) == 10
    assert find_damaged_block(content, sums, checked, 11, len(sums), 64) == 100
    assert find_damaged_block(content, sums, checked, 11, 100, 64) == -1
    assert np.flatnonzero(checked == 0).tolist() == [10, 100]
    content[0] ^= 1
    assert find_damaged_block(content, sums, checked, 0, 10, 64) == -1, "trusted, because it was whole before"


def test_inconsistent_inputs_are_refused() -> None:
    content = np.zeros(100, np.uint8)
    with pytest.raises(ValueError, match="a checksum for every block"):
        find_damaged_block(content, np.zeros(1, np.uint64), np.zeros(1, np.uint8), 0, 1, 64)
    with pytest.raises(ValueError, match="blocks that are there"):
        find_damaged_block(content, np.zeros(2, np.uint64), np.zeros(2, np.uint8), 1, 3, 64)
