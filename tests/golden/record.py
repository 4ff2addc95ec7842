"""Run the original tools and compare with the stored output, or store the new output.

    python -m tests.golden.record letor4 gdeval LETOR4=~/Eval-Score-4.0.pl GDEVAL=~/gdeval.pl
    python -m tests.golden.record --keep letor4 LETOR4=~/Eval-Score-4.0.pl

The commands stand in `commands.tsv` (`python -m tests.golden.record --unpack FOLDER` shows it); NAME=PATH says what
stands for {NAME} in them. Pippin holds none of these programs; README.md says which they are.
"""

from __future__ import annotations

import argparse
import csv
import filecmp
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.golden import INPUTS, archives, pack, unpack

PLACE = re.compile(r"\{([A-Z0-9_.]+)\}")


def commands(folder: Path, tool: str) -> list[dict[str, str]]:
    """Return the recorded commands of a tool."""
    with (folder / "commands.tsv").open(newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["tool"] == tool]


def run(folder: Path, tool: str, programs: dict[str, str]) -> list[str]:
    """Run a tool's commands in the folder, whose outputs they write; what went otherwise than recorded."""
    shutil.rmtree(folder / "outputs" / tool, ignore_errors=True)
    (folder / "outputs" / tool).mkdir(parents=True)
    complaints = []
    for row in commands(folder, tool):
        missing = set(PLACE.findall(row["command"])) - set(programs)
        if missing:
            raise SystemExit(f"{tool} needs {', '.join(f'{name}=PATH' for name in sorted(missing))}")
        command = PLACE.sub(lambda place: programs[place[1]], row["command"])
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        if str(done.returncode) != row["exit"]:
            complaints.append(f"{row['case']} {row['what']}: exit {done.returncode}, recorded {row['exit']}")
        if done.stderr:
            (folder / "outputs" / tool / f"{row['case']}.{row['what']}.stderr.txt").write_text(done.stderr)
    return complaints


def differences(ours: Path, kept: Path) -> list[str]:
    """Files of outputs that are not the same in both folders."""
    names = {path.name for folder in (ours, kept) for path in folder.iterdir()}
    _, unlike, absent = filecmp.cmpfiles(ours, kept, sorted(names), shallow=False)
    return [f"{name}: differs" for name in unlike] + [f"{name}: only in one" for name in absent]


def main(arguments: list[str]) -> int:
    """Compare or keep the outputs of the named tools."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="TOOL | NAME=PATH")
    parser.add_argument("--keep", action="store_true", help="pack what the tools print now")
    parser.add_argument("--unpack", type=Path, metavar="FOLDER", help="unpack everything here, and no more")
    options = parser.parse_args(arguments)
    if options.unpack is not None:
        options.unpack.mkdir(parents=True, exist_ok=True)
        unpack(options.unpack)
        return 0
    programs = {
        name: str(Path(path).expanduser()) for name, _, path in (n.partition("=") for n in options.names) if path
    }
    status = 0
    for tool in (name for name in options.names if "=" not in name):
        if tool not in archives() or tool == INPUTS:
            raise SystemExit(f"{tool} is none of {', '.join(name for name in archives() if name != INPUTS)}")
        with tempfile.TemporaryDirectory() as scratch:
            kept, now = unpack(Path(scratch, "kept")), unpack(Path(scratch, "now"))
            complaints = run(now, tool, programs)
            complaints += differences(now / "outputs" / tool, kept / "outputs" / tool)
            if options.keep:
                pack(now, tool)
        print(f"{tool}: {len(complaints)} differences", *complaints[:20], sep="\n  ")
        status |= bool(complaints) and not options.keep
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
