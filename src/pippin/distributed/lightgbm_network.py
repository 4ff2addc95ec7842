"""Restrict LightGBM's distributed training to one network interface.

LightGBM binds its port on every interface of a machine (`0.0.0.0`) and has no setting for it. During training its calls
of the system's `bind` go through a function that replaces "every interface" by the worker's own address: the slot of
`bind` in the library's table of imported functions is found by its ELF headers and changed. On systems without ELF
training is refused.
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
_ANCHOR = "LGBM_GetLastError"  # a function of the library; its address tells where the library was loaded
_BIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, use_errno=True)
_ADDRESS = struct.Struct("=H2s4s8x")  # sockaddr_in: family, port, address
_ANY_ADDRESS = b"\0\0\0\0"


class _Slots(NamedTuple):
    anchor: int  # offset of the anchor function from the start of the library
    binds: tuple[int, ...]  # the slots that hold the address of `bind`


@contextmanager
def bind_to_host(host: str) -> Iterator[None]:
    """Let LightGBM listen on this address of the machine only."""
    from lightgbm import basic

    library: Any = vars(basic)["_LIB"]
    if sys.platform != "linux":
        raise DataError("training on a cluster needs Linux: elsewhere LightGBM would listen on every network interface")
    slots = _find_slots(Path(library._name))
    if not slots.binds:
        raise DataError("LightGBM would listen on every network interface: its call of `bind` is not found")
    start = _function_address(library[_ANCHOR]) - slots.anchor
    original = {start + slot: ctypes.c_void_p.from_address(start + slot).value for slot in slots.binds}
    bind = _BIND(_restricted_bind(host))
    try:
        _write_slots(dict.fromkeys(original, _function_address(bind)))
        yield
    finally:
        _write_slots({slot: value or 0 for slot, value in original.items()})


def _restricted_bind(host: str) -> Callable[[int, int, int], int]:
    """Return the system's `bind`, with this address in place of "every interface"."""
    system = ctypes.CDLL(None, use_errno=True)
    own_address = socket.inet_aton(socket.gethostbyname(host))

    def bind(handle: int, address: int, size: int) -> int:
        content = ctypes.string_at(address, size)
        if size >= _ADDRESS.size:
            family, port, host_address = _ADDRESS.unpack(content[: _ADDRESS.size])
            if family == socket.AF_INET and host_address == _ANY_ADDRESS:
                content = _ADDRESS.pack(family, port, own_address)
        return int(system.bind(handle, content, len(content)))

    return bind


def _function_address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _write_slots(slots: dict[int, int]) -> None:
    """Write addresses into slots; their page may have become read-only when the library was loaded."""
    system = ctypes.CDLL(None, use_errno=True)
    for slot, value in slots.items():
        page = slot - slot % mmap.PAGESIZE
        if system.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_WRITE):
            raise DataError("LightGBM would listen on every network interface: its call of `bind` cannot be replaced")
        ctypes.c_void_p.from_address(slot).value = value


def _find_slots(library: Path) -> _Slots:
    """Find the slots of a 64-bit ELF library that hold the address of `bind`."""
    content = library.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        return _Slots(0, ())
    first, size, count = (*struct.unpack_from("<Q", content, 40), *struct.unpack_from("<HH", content, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, first + size * i) for i in range(count)]
    symbols = next(section for section in sections if section[1] == _DYNAMIC_SYMBOLS)
    names = sections[symbols[6]][4]
    anchor, bind_symbol = 0, -1
    for i, offset in enumerate(range(symbols[4], symbols[4] + symbols[5], symbols[9])):
        name, value = struct.unpack_from("<I4xQ", content, offset)
        text = content[names + name : content.index(b"\0", names + name)]
        if text == _ANCHOR.encode():
            anchor = value
        elif text == b"bind":
            bind_symbol = i
    slots = []
    for section in sections:
        if section[1] == _RELOCATIONS:
            for offset in range(section[4], section[4] + section[5], section[9]):
                slot, info = struct.unpack_from("<QQ", content, offset)
                if info >> 32 == bind_symbol:
                    slots.append(slot)
    return _Slots(anchor, tuple(slots))
