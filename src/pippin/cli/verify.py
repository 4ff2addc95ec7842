"""`pippin verify`: whether what Pippin wrote is still what it wrote."""

from __future__ import annotations

import argparse

from pippin.cli.options import printing
from pippin.cli.output import write

HELP = """Verify everything that Pippin wrote at a path.

That is indexes, stores, partitions, webs, built data sets, folders of results, models, Parquet and Arrow files. Every
byte is read and compared with the checksums that were written with it, a line per thing. The exit status is 0 if all is
whole, and 2 if something is damaged. Parquet and Arrow files of other programs are read, and said to be unverified
where they have no checksums."""

EXAMPLES = (
    "pippin verify results/",
    "pippin verify cacm.index model.json",
    "pippin verify parts/ --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders")
    printing(parser)


def run(options: argparse.Namespace) -> int:
    """Look at everything, and say what is wrong."""
    from pippin.bench.verify import verify
    from pippin.tables import Table

    verified = [one for path in options.paths for one in verify(path)]

    def table() -> Table:
        rows = [[one.path, one.what, f"{one.files:,}", f"{one.bytes:,}", one.state, one.damage] for one in verified]
        return Table(["path", "what", "files", "bytes", "state", ""], rows, names=2, remarks=2)

    def record() -> list[dict[str, object]]:
        return [
            {"path": one.path, "what": one.what, "files": one.files, "bytes": one.bytes, "state": one.state,
             "damage": one.damage or None}
            for one in verified
        ]  # fmt: skip

    write(options.format, options.output, lambda: [table()], record, table)
    return 2 if any(one.damage for one in verified) else 0
