"""Is this file part of a data set that `pippin build` made, and is it still what was built?

LETOR text has numbers only; the manifest of a built data set has the names of its features, and the checksums of its
files. Files stand up to three folders below their `dataset.json`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from pippin.manifest import Format, Manifest

FORMAT = Format("pippin data set", 2, "data set", "build it again with `pippin build`", "dataset.json")
DEPTH = 4


def built_folder(file: Path) -> Path | None:
    """The folder of the data set that a file is part of."""
    return next((folder for folder in file.parents[:DEPTH] if FORMAT.is_at(folder)), None)


def built_names(file: Path, width: int) -> tuple[str, ...]:
    """The features' names where a file is part of a built data set; none elsewhere."""
    folder = built_folder(file)
    names = [] if folder is None else (_earlier(folder) or _manifest(folder).record).get("features", [])
    return tuple(map(str, names)) if len(names) == width else ()


def check_built(file: Path) -> None:
    """Raise where a file is part of a built data set and is not what was built; other files are not looked at."""
    folder = built_folder(file)
    if folder is None or _earlier(folder):
        return
    manifest = _manifest(folder)
    name = file.relative_to(folder).as_posix()
    if name in manifest.files:
        with FORMAT.described(folder):
            manifest.open(name).check()


def _manifest(folder: Path) -> Manifest:
    state = (folder / FORMAT.file).stat()
    return _read(folder.resolve(), (state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=4)
def _read(folder: Path, _state: tuple[int, ...]) -> Manifest:
    return FORMAT.read(folder)


def _earlier(folder: Path) -> dict[str, Any]:
    """What a data set says that was built before manifests had checksums: its text is text as any; else nothing."""
    with (folder / FORMAT.file).open("rb") as file:
        if b'"schema": 1,' not in file.read(200):
            return {}
    try:
        content = json.loads((folder / FORMAT.file).read_bytes())
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) and "checksum" not in content else {}
