"""What does the machine offer: cores, memory, locks? Every difference between systems stands here, and nowhere else.

Linux tells most through `/proc`, macOS through `ps` and `getrusage`; what a system cannot tell is 0 or left undone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pippin
from pippin.errors import DataError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PR_SET_PDEATHSIG = 1


def cpu_count() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def try_lock(file: IO[Any]) -> bool:
    """Hold an open file alone until it is closed by everybody who inherited it; False where another process does."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
    try:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False)
        return 1024 * int(told.stdout)
    except (OSError, ValueError):
        return 0


def die_with_parent() -> None:
    """Ask the system (Linux) to end this process when its parent ends, though it be deep in a native function."""
    if sys.platform == "linux":
        import ctypes

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
