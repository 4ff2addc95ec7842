"""`pippin interleave`: which of two rankings do people prefer, by clicks on lists that are made of both?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pippin.cli.options import printing, shared
from pippin.cli.output import write
from pippin.cli.simulate import people, scores_of, told
from pippin.clicks.interleaving import METHODS, Interleaving
from pippin.errors import DataError
from pippin.tables import Part, Prose, Table, number

HELP = """Say which of two rankings people prefer, with an interval over queries.

Give DATA and two files of scores (or models): lists are made of both, and people simulated who click on them. Or give
one LOG of lists that were interleaved already, with a column team, A or B."""
EXAMPLES = (
    "pippin interleave test.txt a.scores b.scores",
    "pippin interleave test.txt a.scores b.scores --method probabilistic --people cascade --log interleaved.tsv",
    "pippin interleave interleaved.tsv --test t",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="DATA A B, or the LOG of interleaved lists")
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help="how a list is made of two (default: "
                        "team-draft)")  # fmt: skip
    people(parser)
    shared(parser, test="randomization")
    parser.add_argument("--log", metavar="LOG", help="also write the log of the simulated lists and clicks")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Compare and print."""
    found = simulated(options) if len(options.files) == 3 else logged(options)
    write(options.format, options.output, lambda: parts(found), lambda: record(found))
    return 0


def simulated(options: argparse.Namespace) -> Interleaving:
    """The verdict of simulated people."""
    from pippin.cli.train import read_data
    from pippin.clicks import files
    from pippin.clicks.interleaving import interleave

    data = read_data(options.files[0])
    a, b = (scores_of(path, data) for path in options.files[1:])
    first, second = (Path(path).stem for path in options.files[1:])
    names = (first, second) if first != second else (options.files[1], options.files[2])
    found, log = interleave(data, a, b, method=options.method, names=names, test=options.test, **told(options))
    if options.log is not None:
        files.write(log, options.log)
    return found


def logged(options: argparse.Namespace) -> Interleaving:
    """The verdict of a log."""
    from pippin.clicks.files import read
    from pippin.clicks.interleaving import judge_log

    if len(options.files) != 1:
        raise DataError(f"give DATA A B, or one LOG; {len(options.files)} files are neither")
    if options.log is not None:
        raise DataError("--log is for simulated lists; this log is there already")
    return judge_log(read(options.files[0]), test=options.test)


def record(found: Interleaving) -> dict[str, Any]:
    """What programs get."""
    return {
        "names": found.names, "method": found.method, "sessions": found.sessions, "wins": found.wins,
        "queries": len(found.values), "difference": found.difference, "low": found.low, "high": found.high,
        "p": found.p, "test": found.test, "verdict": found.verdict,
        "per_query": dict(zip(found.query_ids, found.values.tolist(), strict=True)),
    }  # fmt: skip


def parts(found: Interleaving) -> list[Part]:
    """What people get."""
    rows = [
        [name, f"{won:,}", number(won / found.sessions, 4)]
        for name, won in (*zip(found.names, found.wins, strict=True), ("neither", found.sessions - sum(found.wins)))
    ]
    notes = [
        f"{found.method}, {found.sessions:,} sessions. The difference is the mean over queries of what their sessions "
        f"say, from -1 to 1, with a 95 % interval and the p of the test {found.test}."
    ]
    return [Prose(found.verdict), Table(["ranking", "sessions won", "share"], rows, notes=notes)]
