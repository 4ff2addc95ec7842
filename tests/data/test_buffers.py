"""File input and output: complete or an error."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from pippin.data.buffers import Buffer, open_buffer
from pippin.errors import DataError
from pippin.storage.files import atomic_write


def test_plain_gzip_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "not-called-gz"
    plain.write_bytes(b"some text\n")
    packed.write_bytes(gzip.compress(b"some ") + gzip.compress(b"text\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"some text\n")))
    for source in (plain, str(plain), packed, "-", open_buffer(plain)):
        assert open_buffer(source).data.tobytes() == b"some text\n"
    assert open_buffer(plain).name == str(plain)
    assert not open_buffer(plain).data.flags.writeable


def test_pipe(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"through a pipe\n")
    os.close(write)
    assert open_buffer(f"/dev/fd/{read}").data.tobytes() == b"through a pipe\n"
    os.close(read)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (gzip.compress(b"some text" * 99, mtime=0)[:-12], "the gzip file is truncated"),
        (gzip.compress(b"some text", mtime=0)[:5], "the gzip file is truncated"),
        (b"\x1f\x8bnonsense that is no gzip", "the gzip file is damaged"),
        (gzip.compress(b"some text", mtime=0) + b"rest", "the gzip file is damaged"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=sentence) as caught:
        open_buffer(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_no_such_file_folder_and_bad_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        open_buffer(tmp_path / "missing")
    with pytest.raises(DataError, match="this is a folder, not a file"):
        open_buffer(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        open_buffer("a\0b")
    with pytest.raises(DataError, match="cannot be read"):
        open_buffer(tmp_path / ("x" * 5000))


def test_writing_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"old")

    def stop_halfway() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop_halfway()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_packs_by_name_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_write(tmp_path / name) as file:
            file.write(b"text" * 100)
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text" * 100
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_writing_to_standard_output_and_devices(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with atomic_write("-") as file:
        file.write(b"shown\n")
    assert capfdbinary.readouterr().out == b"shown\n"
    with atomic_write("/dev/null") as file:
        file.write(b"gone")


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_bytes(b"old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_write(tmp_path / "link.txt") as file:
        file.write(b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_bytes() == b"new"


def test_writing_where_nothing_can_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match="cannot be written: No such file or directory"),
        atomic_write(tmp_path / "no" / "x"),
    ):
        pass
    with pytest.raises(DataError, match="this is a folder"), atomic_write(tmp_path):
        pass


def test_repr() -> None:
    import numpy as np

    assert repr(Buffer(np.zeros(3, np.uint8), "x")) == "Buffer('x': 3 bytes)"


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask
