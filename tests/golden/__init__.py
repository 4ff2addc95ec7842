"""Packed output of the original tools on synthetic inputs; opened by the fixture `golden_folder`.

`inputs.tar.xz` holds the inputs and the list of commands, and there is one archive of outputs per tool. `record.py`
runs the originals again where someone has them.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
INPUTS = "inputs"  # the archive that holds inputs/, cases.tsv and commands.tsv


def archives() -> list[str]:
    """Names of the archives: the inputs, and the tools."""
    return sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))


def unpack(folder: Path, names: Iterable[str] | None = None) -> Path:
    """Unpack inputs/, outputs/TOOL/, cases.tsv and commands.tsv into a folder."""
    for name in archives() if names is None else names:
        with tarfile.open(HERE / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
    return folder


def pack(folder: Path, name: str) -> Path:
    """Pack the inputs, or the outputs of a tool, so that the same files give the same bytes."""
    inside = ["inputs", "cases.tsv", "commands.tsv"] if name == INPUTS else [f"outputs/{name}"]
    files = sorted(path for part in inside for path in (folder / part, *(folder / part).rglob("*")) if path.is_file())
    target = HERE / f"{name}.tar.xz"
    with tarfile.open(target, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in files:
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target
