"""On which address does LightGBM listen while workers find each other? On the cluster's, and no other.

LightGBM binds its port on every interface of a machine (`0.0.0.0`) and has no setting for it. Here its call of the
system's `bind` goes through a function that puts the worker's own address in the place of “every”: the slot for `bind`
in the table of functions that the library has from elsewhere is found by its ELF headers, and changed for the time of
the training. On systems without ELF nothing is started at all.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pippin.errors import DataError

_DYNAMIC_SYMBOLS, _RELOCATIONS = 11, 4  # kinds of sections: SHT_DYNSYM, SHT_RELA
_ANCHOR = "LGBM_GetLastError"  # a function of the library, which tells where it was loaded
_BIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, use_errno=True)
_ADDRESS = struct.Struct("=H2s4s8x")  # sockaddr_in: family, port, address
_EVERY = b"\0\0\0\0"


class _Slots(NamedTuple):
    anchor: int  # where the anchor stands, from where the library begins
    binds: tuple[int, ...]  # the slots that hold the address of `bind`


@contextmanager
def listening_on(host: str) -> Iterator[None]:
    """Inside, LightGBM listens on this address of the machine alone."""
    from lightgbm import basic

    library: Any = vars(basic)["_LIB"]
    if sys.platform != "linux":
        raise DataError("LightGBM would listen on every interface of this machine, which is prevented on Linux alone")
    slots = _slots_of(Path(library._name))
    if not slots.binds:
        raise DataError("LightGBM would listen on every interface of this machine: its call is not found")
    start = _pointer(library[_ANCHOR]) - slots.anchor
    held = {start + slot: ctypes.c_void_p.from_address(start + slot).value for slot in slots.binds}
    narrow = _BIND(_narrow_bind(host))
    try:
        _set(dict.fromkeys(held, _pointer(narrow)))
        yield
    finally:
        _set({slot: value or 0 for slot, value in held.items()})


def _narrow_bind(host: str) -> Callable[[int, int, int], int]:
    """The system's `bind`, with this address where every one is asked for."""
    system = ctypes.CDLL(None, use_errno=True)
    narrow = socket.inet_aton(socket.gethostbyname(host))

    def bind(handle: int, address: int, size: int) -> int:
        asked = ctypes.string_at(address, size)
        if size >= _ADDRESS.size:
            family, port, where = _ADDRESS.unpack(asked[: _ADDRESS.size])
            if family == socket.AF_INET and where == _EVERY:
                asked = _ADDRESS.pack(family, port, narrow)
        return int(system.bind(handle, asked, len(asked)))

    return bind


def _pointer(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _set(slots: dict[int, int]) -> None:
    """Write addresses into slots, whose page may have been closed for writing when the library was loaded."""
    system = ctypes.CDLL(None, use_errno=True)
    for slot, value in slots.items():
        page = slot - slot % mmap.PAGESIZE
        if system.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_WRITE):
            raise DataError("LightGBM would listen on every interface of this machine: its call cannot be turned")
        ctypes.c_void_p.from_address(slot).value = value


def _slots_of(library: Path) -> _Slots:
    """Where a 64-bit ELF library keeps the address of `bind`, by its sections."""
    content = library.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        return _Slots(0, ())
    first, size, count = (*struct.unpack_from("<Q", content, 40), *struct.unpack_from("<HH", content, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, first + size * i) for i in range(count)]
    symbols = next(section for section in sections if section[1] == _DYNAMIC_SYMBOLS)
    names = sections[symbols[6]][4]
    anchor, wanted = 0, -1
    for i, place in enumerate(range(symbols[4], symbols[4] + symbols[5], symbols[9])):
        name, value = struct.unpack_from("<I4xQ", content, place)
        text = content[names + name : content.index(b"\0", names + name)]
        if text == _ANCHOR.encode():
            anchor = value
        elif text == b"bind":
            wanted = i
    slots = []
    for section in sections:
        if section[1] == _RELOCATIONS:
            for place in range(section[4], section[4] + section[5], section[9]):
                slot, about = struct.unpack_from("<QQ", content, place)
                if about >> 32 == wanted:
                    slots.append(slot)
    return _Slots(anchor, tuple(slots))
