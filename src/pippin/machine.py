"""What does the machine offer: cores, memory, locks? Every difference between systems stands here, and nowhere else.

Linux tells most through `/proc`, macOS through `ps` and `getrusage`; what a system cannot tell is 0 or left undone.
Windows has neither file locks of its own kind (`fcntl`) nor ways to open a folder or to refuse a link while opening.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pippin
from pippin.errors import DataError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PR_SET_PDEATHSIG = 1
# How files are opened: bytes as they are, never through a link, never waiting for a pipe, each where a system knows it.
PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
AT_ONCE = getattr(os, "O_NONBLOCK", 0)


def cpu_count() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def try_lock(file: IO[Any]) -> bool:
    """Hold an open file alone until it is closed by everybody who inherited it; False where another process does."""
    return _lock(file.fileno(), wait=False)


def hold_folder(folder: Path, wait: bool = False) -> int | None:
    """What says, until it is closed, that somebody is at work in a folder; None where another process says so already
    or the folder is gone.

    The folder itself is locked; Windows cannot open one, and has a file beside it that vanishes when it is closed.
    """
    try:
        if hasattr(os, "O_DIRECTORY"):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | PLAIN)
        elif folder.is_dir():
            beside = folder.with_name(f"{folder.name}.lock")
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | PLAIN | getattr(os, "O_TEMPORARY", 0), 0o666)
        else:
            return None
    except OSError:
        return None
    if not _lock(handle, wait):
        os.close(handle)
        return None
    return handle


def _lock(handle: int, wait: bool) -> bool:
    """Lock what is open, or say that another process has."""
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
    """The memory that this machine has, in bytes; 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def reset_peak_memory() -> None:
    """Forget the largest memory of this process so far, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory() -> int:
    """The largest resident memory of this process, in bytes: since the reset on Linux, since its start elsewhere."""
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
    """The memory of a process now, in bytes; 0 where it is gone or the system does not tell."""
    if sys.platform == "linux":
        try:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")
    import subprocess

    try:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False)
        return 1024 * int(told.stdout)
    except (OSError, ValueError):
        return 0


def own_group(handle: int) -> dict[str, Any]:
    """How a process is started that Ctrl-C does not reach and that keeps an open file, as arguments of `Popen`.

    On Windows a process has no part in a lock that was taken before it began.
    """
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": [handle], "process_group": 0}


def die_with_parent() -> None:
    """Ask the system (Linux) to end this process when its parent ends, though it be deep in a native function."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def parse_size(text: str) -> int:
    """Bytes of 512M, 2G, 1.5GB.

    >>> parse_size("2G"), parse_size("512mb"), parse_size("1000")
    (2147483648, 536870912, 1000)
    """
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = _UNITS.get(plain[-1:], 1)
    try:
        size = int(float(plain[:-1] if unit > 1 else plain) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise DataError(f"a size of memory is a number with K, M, G or T, such as 4G, not {text!r}")
    return size


def size_text(size: int) -> str:
    """Bytes for people.

    >>> size_text(1536 << 20), size_text(12)
    ('1.5 GB', '12 bytes')
    """
    for unit, worth in reversed(_UNITS.items()):
        if size >= worth:
            return f"{size / worth:.3g} {unit}B"
    return f"{size} bytes"


def isolated_python(module: str, modules: Sequence[str] = ()) -> list[str]:
    """The command that runs `main` of a module in another Python, which imports what this one would.

    Neither the current folder nor `PYTHON…` variables decide what that is; `modules` are looked for beside themselves.
    """
    import json

    start = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"
    return [sys.executable, "-I", "-c", start, json.dumps(isolated_path(modules))]


def isolated_path(modules: Sequence[str]) -> list[str]:
    """Where another Python looks for modules: as this one does, but in the current folder only for `modules`, last."""
    here = Path.cwd()
    kept = [path for path in sys.path if path and Path(path).resolve() != here]
    asked = [folder for name in modules if (folder := _folder_of(name)) is not None]
    return list(dict.fromkeys([*kept, *asked, str(Path(pippin.__file__).parent.parent)]))


def _folder_of(module: str) -> str | None:
    """The folder in which an imported module, or the first package of its name, was found."""
    top = sys.modules.get(module.partition(".")[0])
    packages = list(getattr(top, "__path__", ()))
    file = packages[0] if packages else getattr(top, "__file__", None)
    return None if file is None else str(Path(file).resolve().parent)
