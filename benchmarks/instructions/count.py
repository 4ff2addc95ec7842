"""Count the instructions of the main kernels on small inputs to detect slowdowns independent of machine noise.

python benchmarks/instructions/count.py [--accept]

Callgrind counts the instructions of each kernel of kernels.cpp, built as the module is. The accepted counts stand in
accepted.json by compiler, because another compiler makes other instructions; a count that is more than 5 % above the
accepted one is told, with status 1. `--accept` writes the counts down. Where valgrind is not installed, or nothing is
accepted for this compiler, that is said, and the status is 0.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT, ACCEPTED = HERE.parents[1], HERE / "accepted.json"
BUILD = ROOT / "build" / "instructions"
GROWTH = 0.05


def compiler() -> str:
    """The compiler and its version, without the distribution's."""
    output = subprocess.run([os.environ.get("CXX", "c++"), "-dumpfullversion", "-dumpversion"], capture_output=True,
                          text=True, check=True).stdout.strip()  # fmt: skip
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    return f"g++ {output.rpartition('.')[0] or output}, {machine}"


def build() -> Path:
    """The program of the kernels."""
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DPIPPIN_INSTRUCTIONS=ON"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--parallel", "2"], check=True, stdout=subprocess.DEVNULL)
    return BUILD / "kernels"


def count(program: Path, kernel: str) -> int:
    """Instructions of one kernel."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_work*"]
    done = subprocess.run([*command, program, kernel], capture_output=True, text=True, check=True)
    hits = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if hits is None or not int(hits[1]):
        raise SystemExit(f"callgrind counted nothing for {kernel}")
    return int(hits[1])


def find_regressions(counts: Mapping[str, int], accepted: Mapping[str, int]) -> list[str]:
    """Return a message for each kernel above its limit or without an accepted count.

    >>> grown({"a": 104, "b": 106, "c": 1}, {"a": 100, "b": 100})
    ['b: 106 instructions, accepted are 100 (+6.0 %)', 'c: 1 instructions, none are accepted']
    """
    lines = []
    for kernel, instructions in counts.items():
        if kernel not in accepted:
            lines.append(f"{kernel}: {instructions:,} instructions, none are accepted")
        elif instructions > accepted[kernel] * (1 + GROWTH):
            more = 100 * (instructions / accepted[kernel] - 1)
            lines.append(f"{kernel}: {instructions:,} instructions, accepted are {accepted[kernel]:,} (+{more:.1f} %)")
    return lines


def main() -> int:
    if shutil.which("valgrind") is None:
        print("instructions: not counted, because valgrind is not installed (Debian: apt-get install valgrind)")
        return 0
    records: dict[str, dict[str, int]] = json.loads(ACCEPTED.read_text()) if ACCEPTED.exists() else {}
    program, by = build(), compiler()
    kernels = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    counts = {kernel: count(program, kernel) for kernel in kernels}
    for kernel, instructions in counts.items():
        before = records.get(by, {}).get(kernel)
        print(f"{kernel:32}{instructions:12,}" + (f"{100 * (instructions / before - 1):+8.1f} %" if before else ""))
    if "--accept" in sys.argv[1:]:
        ACCEPTED.write_text(json.dumps({**records, by: counts}, indent=1, sort_keys=True) + "\n")
        return 0
    if by not in records:
        print(f"instructions: not compared, because none are accepted for {by} (--accept accepts them)")
        return 0
    told = find_regressions(counts, records[by])
    print(*told, sep="\n")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
