"""Processors, memory and locks on Linux, macOS and Windows.

Linux reports through `/proc`, macOS through `ps` and `getrusage`; unknown values are 0. Windows lacks `fcntl` locks,
opening of folders, and refusing links while opening.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from pippin.errors import DataError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PR_SET_PDEATHSIG = 1  # prctl(2): send a signal to the child if its parent dies
# Flags for opening files, where the system has them: binary, no symbolic links, no waiting for pipes.
OPEN_NOFOLLOW = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
OPEN_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def cpu_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file until all its handles are closed; return False if another process holds the lock."""
    return _lock(file.fileno(), wait=False)


def lock_folder(folder: Path, wait: bool = False) -> int | None:
    """Lock a folder; return the handle to close, or None if another process holds the lock or the folder is missing.

    On Windows, which cannot open folders, a temporary file beside the folder is locked.
    """
    try:
        if hasattr(os, "O_DIRECTORY"):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | OPEN_NOFOLLOW)
        elif folder.is_dir():
            lock_file = folder.with_name(f"{folder.name}.lock")
            handle = os.open(lock_file, os.O_RDWR | os.O_CREAT | OPEN_NOFOLLOW | getattr(os, "O_TEMPORARY", 0), 0o666)
        else:
            return None
    except OSError:
        return None
    if not _lock(handle, wait):
        os.close(handle)
        return None
    return handle


def _lock(handle: int, wait: bool) -> bool:
    """Lock a handle; return False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _lock_first_byte(handle, wait)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _lock_first_byte(handle: int, wait: bool) -> bool:
    import msvcrt

    try:
        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


def memory_size() -> int:
    """Return the memory of this machine in bytes, or 0 if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def reset_peak_memory() -> None:
    """Reset the peak memory of this process, where the system supports it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes: since the reset on Linux, else since its start."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    except (OSError, IndexError, ValueError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    return (1 if sys.platform == "darwin" else 1024) * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def resident_memory(process: int) -> int:
    """Return the resident memory of a process in bytes, or 0 if it is unknown."""
    if sys.platform == "linux":
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")
    import subprocess

    try:
        completed = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False
        )
        return 1024 * int(completed.stdout)
    except (OSError, ValueError):
        return 0


def process_group_options(handle: int) -> dict[str, Any]:
    """Return arguments of `Popen` for a process that ignores Ctrl-C and inherits an open file.

    On Windows a process cannot inherit a lock.
    """
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": [handle], "process_group": 0}


def die_with_parent() -> None:
    """End this process when its parent ends (Linux only), even inside a native function."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def parse_size(text: str) -> int:
    """Return the number of bytes of a size such as 512M, 2G or 1.5GB.

    >>> parse_size("2G"), parse_size("512mb"), parse_size("1000")
    (2147483648, 536870912, 1000)
    """
    normalized = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = _UNITS.get(normalized[-1:], 1)
    try:
        size = int(float(normalized[:-1] if unit > 1 else normalized) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise DataError(f"invalid memory size {text!r}; use a number with K, M, G or T, such as 4G")
    return size


def format_bytes(size: float) -> str:
    """Format a number of bytes with a binary unit.

    >>> format_bytes(1536 << 20), format_bytes(256 << 20), format_bytes(12)
    ('1.5 GiB', '256 MiB', '12 bytes')
    """
    for unit, scale in reversed(_UNITS.items()):
        if size >= scale:
            return f"{size / scale:,.1f}".removesuffix(".0") + f" {unit}iB"
    return f"{size} bytes"


def isolated_python(module: str, modules: Sequence[str] = ()) -> list[str]:
    """Return the command that runs `main` of a module in a new Python with the same import path.

    The current folder and `PYTHON…` variables are ignored; `modules` are found in their own folders.
    """
    import json

    start = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
    return [sys.executable, "-I", "-c", start, json.dumps(isolated_path(modules))]


def isolated_path(modules: Sequence[str]) -> list[str]:
    """Return the import path without the current folder, followed by the folders of `modules`."""
    current = Path.cwd()
    paths = [path for path in sys.path if path and Path(path).resolve() != current]
    folders = [folder for name in modules if (folder := _folder_of(name)) is not None]
    return list(dict.fromkeys([*paths, *folders, str(Path(__file__).parent.parent)]))


def _folder_of(module: str) -> str | None:
    """Return the folder that contains an imported module or its top-level package."""
    top = sys.modules.get(module.partition(".")[0])
    packages = list(getattr(top, "__path__", ()))
    file = packages[0] if packages else getattr(top, "__file__", None)
    return None if file is None else str(Path(file).resolve().parent)
