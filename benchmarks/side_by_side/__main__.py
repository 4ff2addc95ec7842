"""Compare Pippin with its peers: each line is one task that all of them do in the same run.

python benchmarks/side_by_side [--only LINE]… [--long] [--without NAME]… [--turns N] [--quick] [--peers PYTHON]
                               [--limits] [--growth] [--docs] [--json FILE]

What is measured is kept in a file of records (`--json`, benchmarks/measured.json) as soon as a line is done, so that
lines can be measured one at a time; `--docs` makes the tables of docs/notes/performance.md from that file. With
`--quick` all sizes are about a tenth, and nothing is kept. Lines that take minutes are
measured with `--long`, or by name. trec_eval takes part where TREC_EVAL names its binary, RankLib
where RANKLIB_CLASSPATH names its classes; lines on MQ2008 need the folder of data sets that PIPPIN_DATA names.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from contest import Absent, Interpreters, Line, main_interpreter, run
from growth import draw, exponent, grow
from limits import limits, machine
from lines import LINES
from records import keep
from tables import markdown, physical, plain, replace_section

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "benchmarks/measured.json"
PAGE, FIGURE = ROOT / "docs/notes/performance.md", ROOT / "docs/images/growth.svg"


def stamp() -> dict[str, Any]:
    """When and where something is measured."""
    return {"date": datetime.date.today().isoformat(), "machine": {**machine(), "load": round(os.getloadavg()[0], 1)}}


def versions(python: Path) -> dict[str, str]:
    """What is installed beside the peers' interpreter."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    result = json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
    expected = [
        line.partition("==")[0].strip() for line in (ROOT / "benchmarks/requirements.txt").read_text().splitlines()
    ]
    known = {name.lower().replace("_", "-"): version for name, version in result.items()}
    return {
        name: known.get(name.lower().replace("_", "-"), "not installed") for name in expected if name and name[0] != "#"
    }


def document(records: dict[str, Any]) -> None:
    """Make the tables of the page from the records."""
    page = PAGE.read_text()
    for section in dict.fromkeys(line.section for line in LINES):
        page = replace_section(page, section, markdown([line for line in LINES if line.section == section], records))
    if "limits" in records:
        page = replace_section(page, "limits", physical(records["limits"]["rates"]))
    if "growth" in records:
        steps = records["growth"]["steps"]
        page = replace_section(
            page, "growth", f"The exponent that fits from {100_000:,} rows on is {exponent(steps):.2f}.\n"
        )
        FIGURE.write_text(draw(steps))
    record = ", ".join(f"{name} {version}" for name, version in records.get("versions", {}).items())
    PAGE.write_text(replace_section(page, "versions", f"{record}.\n"))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    keys = [line.key for line in LINES]
    parser.add_argument("--only", action="append", choices=keys, metavar="LINE", help=f"one of {', '.join(keys)}")
    parser.add_argument("--long", action="store_true", help="also the lines that take minutes")
    parser.add_argument("--list", action="store_true", help="say which lines there are, and measure nothing")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="a contestant to leave out")
    parser.add_argument("--turns", type=int, help="how many turns everyone has (default: the line's own)")
    parser.add_argument("--none", action="store_true", help="no line: the limits, the growth or the page alone")
    parser.add_argument("--quick", action="store_true", help="about a tenth of every size")
    parser.add_argument("--peers", type=Path, help="the interpreter that has the peers (default: .venv-peers, or this)")
    parser.add_argument("--limits", action="store_true", help="also the limits of the machine")
    parser.add_argument(
        "--growth", action="store_true", help="also how the cost grows from a thousand rows to ten million"
    )
    parser.add_argument("--docs", action="store_true", help="make the tables of docs/notes/performance.md")
    parser.add_argument("--json", type=Path, default=KEPT, help="where the records are kept")
    return parser.parse_args()


def measure(line: Line, folder: Path, pythons: Interpreters, asked: argparse.Namespace) -> dict[str, Any] | None:
    """Return the record of a line, or None with a message if it cannot be measured on this machine."""
    size = line.quick if asked.quick else line.size
    try:
        results = list(run(line, folder, size, pythons, asked.turns, asked.without))
    except Absent as reason:
        print(f"\n{line.title}\n  {line.contestants[0].name}: {reason}", flush=True)
        return None
    return {**stamp(), "title": line.title, "size": size, "contestants": results}


def main() -> None:
    asked = options()
    if asked.list:
        print(*(f"{line.key:27}{'long' if line.long else '':6}{line.title}" for line in LINES), sep="\n")
        return
    beside = ROOT / ".venv-peers/bin/python"
    theirs = asked.peers or (beside if beside.exists() else main_interpreter())
    pythons = Interpreters(main_interpreter(), theirs)
    selected = [line for line in LINES if (line.key in asked.only if asked.only else asked.long or not line.long)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        kept = folder / "quick.json" if asked.quick else asked.json
        records: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
        if not asked.none:
            records = keep(kept, "versions", versions(theirs))
        if asked.limits:
            records = keep(kept, "limits", {**stamp(), "rates": limits(folder)})
            print(physical(records["limits"]["rates"]))
        for line in [] if asked.none else selected:
            record = measure(line, folder, pythons, asked)
            if record is not None:
                records = keep(kept, line.key, record)
                print(plain(line, record), flush=True)
        if asked.growth:
            records = keep(kept, "growth", {**stamp(), "steps": grow(folder, 10**6 if asked.quick else 10**7)})
            print(f"\nseconds of the processor ∝ rows^{exponent(records['growth']['steps']):.2f}")
    if asked.docs:
        document(records)


if __name__ == "__main__":
    main()
