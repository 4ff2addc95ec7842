"""Which code computes a cell: Pippin, the source of the rooms whose result it is, and the libraries below them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

import pippin

ROOMS = ("kernels", "evaluation", "rankers")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm", "torch")


@cache
def versions() -> dict[str, str]:
    """Names and versions; `code` is a digest of the source files and of the native module."""
    found = {"pippin": pippin.__version__, "code": _code()}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def _code() -> str:
    from pippin.kernels import native

    root = Path(pippin.__file__).parent
    files = [file for room in ROOMS for file in sorted((root / room).rglob("*.py"))]
    hashed = hashlib.sha256()
    for file in (*files, root / "bench" / "cell.py"):
        hashed.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    hashed.update(Path(str(native.__file__)).read_bytes())
    return hashed.hexdigest()[:16]
