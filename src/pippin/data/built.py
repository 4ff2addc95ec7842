"""Is this file part of a data set that `pippin build` made, and is it still what was built?

LETOR text has numbers only; the manifest of a built data set has the names of its features, and the checksums of its
files. Files stand up to three folders below their `dataset.json`.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pippin.manifest import Format, Manifest

FILE = "dataset.json"
DEPTH = 4


@cache
def built_format() -> Format:
    """What a data set says it is; made when one is met, because nobody who reads other files needs manifests."""
    from pippin.manifest import Format

    return Format("pippin data set", 2, "data set", "build it again with `pippin build`", FILE)


def built_folder(file: Path) -> Path | None:
    """The folder of the data set that a file is part of, also where one stands in that folder."""
    folders = (folder for place in (file, _absolute(file)) for folder in place.parents[:DEPTH])
    return next((folder for folder in folders if _may_be(folder) and built_format().is_at(folder)), None)


def _absolute(path: Path) -> Path:
    """The whole path, in which `..` is no folder of its own; links are not followed."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _may_be(folder: Path) -> bool:
    """Whether a folder is worth a second look, which most are not; one that is missing may have to be brought back."""
    return os.path.lexists(folder / FILE) or not os.path.lexists(folder)


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
    name = _absolute(file).relative_to(_absolute(folder)).as_posix()
    if name in manifest.files:
        with built_format().described(folder):
            manifest.open(name).check()


def _manifest(folder: Path) -> Manifest:
    state = (folder / FILE).stat()
    return _read(folder.resolve(), (state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=4)
def _read(folder: Path, _state: tuple[int, ...]) -> Manifest:
    return built_format().read(folder)


def _earlier(folder: Path) -> dict[str, Any]:
    """What a data set says that was built before manifests had checksums: its text is text as any; else nothing."""
    import json

    with (folder / FILE).open("rb") as file:
        if b'"schema": 1,' not in file.read(200):
            return {}
    try:
        content = json.loads((folder / FILE).read_bytes())
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) and "checksum" not in content else {}
