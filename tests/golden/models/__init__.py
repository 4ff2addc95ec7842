"""Models that other programs trained on synthetic documents, with the scores of these programs.

`recorded.tar.xz` holds the documents (`train.txt`, `test.txt`), a model `PROGRAM-KIND.model` each and its scores of the
test documents, a line each, `PROGRAM-KIND.scores`. `record.py` makes it anew where someone has the programs.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE / "recorded.tar.xz"


def unpack_models() -> dict[str, bytes]:
    """Return the files of the archive by name."""
    with tarfile.open(ARCHIVE) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]


def pack(folder: Path) -> None:
    """Pack what a recording left in a folder, so that the same files give the same bytes."""
    kept = [folder / "train.txt", folder / "test.txt", *folder.glob("*.model"), *folder.glob("*.scores")]
    with tarfile.open(ARCHIVE, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(kept):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
