"""Pippin and its peers side by side: every line is one piece of work, done by all of them in one run.

python benchmarks/side_by_side [--only LINE]… [--without NAME]… [--turns N] [--quick] [--peers PYTHON]
                               [--limits] [--growth] [--docs] [--json FILE]

What is measured is kept in a file of records (`--json`, benchmarks/measured.json), a line by its key, so that lines can
be measured one at a time; `--docs` makes the tables of docs/performance.md from that file. With `--quick` all sizes are
about a tenth, and nothing is kept. trec_eval takes part where TREC_EVAL names its binary.
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

from contest import Interpreters, main_interpreter, run
from growth import draw, exponent, grow
from limits import limits, machine
from lines import LINES
from tables import markdown, physical, plain, put

ROOT = Path(__file__).resolve().parents[2]
KEPT, PAGE, FIGURE = ROOT / "benchmarks/measured.json", ROOT / "docs/performance.md", ROOT / "docs/images/growth.svg"


def stamp() -> dict[str, Any]:
    """When and where something is measured."""
    return {"date": datetime.date.today().isoformat(), "machine": {**machine(), "load": round(os.getloadavg()[0], 1)}}


def versions(python: Path) -> dict[str, str]:
    """What is installed beside the peers' interpreter."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    found = json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
    wanted = [
        line.partition("==")[0].strip() for line in (ROOT / "benchmarks/requirements.txt").read_text().splitlines()
    ]
    known = {name.lower().replace("_", "-"): version for name, version in found.items()}
    return {
        name: known.get(name.lower().replace("_", "-"), "not installed") for name in wanted if name and name[0] != "#"
    }


def document(records: dict[str, Any]) -> None:
    """Make the tables of the page from the records."""
    page = PAGE.read_text()
    for section in dict.fromkeys(line.section for line in LINES):
        page = put(page, section, markdown([line for line in LINES if line.section == section], records))
    if "limits" in records:
        page = put(page, "limits", physical(records["limits"]["rates"]))
    if "growth" in records:
        steps = records["growth"]["steps"]
        page = put(page, "growth", f"The exponent that fits from {100_000:,} rows on is {exponent(steps):.2f}.\n")
        FIGURE.write_text(draw(steps))
    told = ", ".join(f"{name} {version}" for name, version in records.get("versions", {}).items())
    PAGE.write_text(put(page, "versions", f"{told}.\n"))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[line.key for line in LINES], help="a line (default: all)")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="a contestant to leave out")
    parser.add_argument("--turns", type=int, help="how many turns everyone has (default: the line's own)")
    parser.add_argument("--none", action="store_true", help="no line: the limits, the growth or the page alone")
    parser.add_argument("--quick", action="store_true", help="about a tenth of every size")
    parser.add_argument("--peers", type=Path, help="the interpreter that has the peers (default: .venv-peers, or this)")
    parser.add_argument("--limits", action="store_true", help="also the limits of the machine")
    parser.add_argument(
        "--growth", action="store_true", help="also how the cost grows from a thousand rows to ten million"
    )
    parser.add_argument("--docs", action="store_true", help="make the tables of docs/performance.md")
    parser.add_argument("--json", type=Path, default=KEPT, help="where the records are kept")
    return parser.parse_args()


def main() -> None:
    asked = options()
    beside = ROOT / ".venv-peers/bin/python"
    theirs = asked.peers or (beside if beside.exists() else main_interpreter())
    pythons = Interpreters(main_interpreter(), theirs)
    records: dict[str, Any] = json.loads(asked.json.read_text()) if asked.json.exists() and not asked.quick else {}
    chosen = [] if asked.none else [line for line in LINES if not asked.only or line.key in asked.only]
    records["versions"] = versions(theirs)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if asked.limits:
            records["limits"] = {**stamp(), "rates": limits(folder)}
            print(physical(records["limits"]["rates"]))
        for line in chosen:
            size = line.quick if asked.quick else line.size
            record = {**stamp(), "title": line.title, "size": size}
            found = list(run(line, folder, size, pythons, asked.turns, asked.without))
            records[line.key] = {**record, "contestants": found}
            print(plain([line], records), flush=True)
        if asked.growth:
            records["growth"] = {**stamp(), "steps": grow(folder, 10**6 if asked.quick else 10**7)}
            print(f"\nseconds of the processor ∝ rows^{exponent(records['growth']['steps']):.2f}")
    if not asked.quick:
        asked.json.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    if asked.docs:
        document(records)


if __name__ == "__main__":
    main()
