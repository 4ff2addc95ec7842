"""How bytes come in: files as buffers, mapped or unpacked."""

from __future__ import annotations

import mmap
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.data.built import check_built
from pippin.data.grouped import has_queries_beside, with_queries
from pippin.errors import DataError
from pippin.frozen import Frozen
from pippin.packed import LONGEST, packing_of, unpack


class Buffer(Frozen, eq=False):
    """The bytes of a file and the name errors call it by."""

    data: NDArray[np.uint8]
    name: str

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}: {len(self.data):,} bytes)"


Readable: TypeAlias = str | os.PathLike[str] | Buffer


def open_buffer(source: Readable) -> Buffer:
    """The bytes of a file: mapped if it is plain, unpacked where its first bytes say so; `-` is standard input.

    Where the sizes of its queries stand beside a file, as LightGBM has them, its lines come with their queries.
    """
    if isinstance(source, Buffer):
        return source
    name = os.fspath(source)
    try:
        check_built(Path(name))
        data, name = _read_standard_input() if name == "-" else (_map(name), name)
    except FileNotFoundError:
        raise DataError("there is no such file", name) from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file", name) from None
    except (OSError, ValueError) as error:
        raise DataError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    if not len(data):
        raise DataError("the file is empty", name)
    if packing := packing_of(data[:LONGEST].tobytes()):
        data = np.frombuffer(unpack(data.data, packing, name), np.uint8)
        if not len(data):
            raise DataError("the file is empty", name)
    return Buffer(with_queries(data, name) if has_queries_beside(name) else data, name)


def _read_standard_input() -> tuple[NDArray[np.uint8], str]:
    return np.frombuffer(sys.stdin.buffer.read(), np.uint8), "standard input"


def _map(name: str) -> NDArray[np.uint8]:
    with Path(name).open("rb") as file:
        if os.fstat(file.fileno()).st_size:
            with suppress(OSError, ValueError):  # what cannot be mapped (a pipe, some file systems) is read
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        return np.frombuffer(file.read(), np.uint8)  # a pipe has size 0 too
