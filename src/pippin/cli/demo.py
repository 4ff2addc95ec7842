"""`pippin demo`: the main job on data that every machine has, from documents to a leaderboard and a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from pippin.cli.options import flag, old, shared
from pippin.cli.output import write
from pippin.tables import Heading, Part, Prose, together

HELP = """Do the main job on data that every machine has, from documents to a leaderboard and a page.

Three data sets are built from the documentation of this Python's standard library, all rankers benched on them in five
folds with small grids, the leaderboards printed, and the page made. A few minutes; run again, it goes on where it was
stopped. --full takes the whole grids, and an hour."""
ABOUT = ("Python's own standard library as pages to search, in three tasks: find the home page of a module (HP), a "
         "page by its name (NP), all pages on a topic (TD); 64 features, 5 folds.")  # fmt: skip
EXAMPLES = ("pippin demo --sample 10 --ranker best-feature,regression --out small-demo",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    flag(parser, "out", metavar="FOLDER", default="pippin-demo")
    shared(parser, "jobs", "quiet", sample=60, ranker=["all"], format="table")
    parser.add_argument("--full", action="store_true", help="the whole grids and all rounds instead of a first look")
    old(parser, "--output", "--out")
    old(parser, "--rankers", "--ranker")


def run(options: argparse.Namespace) -> int:
    """Build, bench, show; status 1 where a cell failed."""
    from pippin.bench.leaderboard import datasets_of, leaderboards
    from pippin.bench.plan import Experiment
    from pippin.bench.runner import run as run_bench
    from pippin.bench.winning_numbers import means_of, winning_numbers
    from pippin.cli.report import write_page
    from pippin.report.bench_data import Gathered
    from pippin.report.leaderboard import gap_notes, letor_tables, record, winning_table

    folder = Path(options.output)
    experiment = Experiment(("stdlib",), sample=options.sample, rankers=tuple(options.ranker), quick=not options.full)
    notes = [experiment.left_out] if experiment.left_out else []
    if options.format == "table":
        print(f"{together([Prose(text) for text in (ABOUT, *notes)])}\n")
    outcome = run_bench(experiment, folder, jobs=options.jobs, command="pippin demo")
    boards = leaderboards(outcome.results)
    parts: list[Part] = []
    for data in datasets_of(boards):
        tables = letor_tables(boards, data, "official")
        parts += [Heading(data), tables[0]]
    parts += [Prose(note) for note in tables[-1].notes if len(tables) > 1]
    parts += [Heading("Over all three"), winning_table(winning_numbers(means_of(boards, "official")))]
    parts += [Prose(note) for note in (*gap_notes(boards.values()), *notes)]
    page = folder / "report" / "index.html"
    title = "The rankers on Python's standard library"
    write_page(Gathered(outcome.results), page, title, notes=[note.removesuffix(".") for note in notes])
    parts += [Prose(f"The page: {page.resolve()}"),
              Prose(f"The same in full: pippin leaderboard {folder}; pippin report {folder}")]  # fmt: skip
    record_of = {"results": str(folder), "page": str(page.resolve()), "boards": [record(b) for b in boards.values()],
                 "left_out": notes}  # fmt: skip
    write(options.format, "-", lambda: parts, lambda: record_of)
    return outcome.status
