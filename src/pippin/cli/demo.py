"""`pippin demo`: the main job on data that every machine has, from documents to a leaderboard and a page."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = """Build three data sets from the standard library of this Python, bench all rankers on them in five folds with
small grids, print the leaderboards, and make the page. A few minutes; run again, it goes on where it was stopped.

  pippin demo
  pippin demo -o FOLDER --sample 200 --full      more documents per query, and the rankers' whole grids (an hour)"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", default="pippin-demo", metavar="FOLDER", help="(default: %(default)s)")
    parser.add_argument(
        "--sample", type=int, default=60, metavar="N", help="documents per query (default: %(default)s)"
    )
    parser.add_argument("--rankers", default="all", metavar="A,B", help="names, or all (default: all)")
    parser.add_argument("--full", action="store_true", help="the whole grids and all rounds instead of a first look")
    parser.add_argument("--jobs", type=int, metavar="N", help="cells at a time (default: one per core)")


def run(options: argparse.Namespace) -> int:
    """Build, bench, show; status 1 where a cell failed."""
    from pippin.bench.leaderboard import datasets_of, leaderboards
    from pippin.bench.plan import Experiment
    from pippin.bench.runner import run as run_bench
    from pippin.bench.winning_numbers import means_of, winning_numbers
    from pippin.cli.report import write_page
    from pippin.report.bench_data import Gathered
    from pippin.report.leaderboard import letor_tables, winning_table

    folder = Path(options.output)
    rankers = tuple(name.strip() for name in options.rankers.split(","))
    experiment = Experiment(("stdlib",), sample=options.sample, rankers=rankers, quick=not options.full)
    print("The standard library as a collection: home pages (HP), named pages (NP), topics (TD); 64 features, 5 folds.")
    outcome = run_bench(experiment, folder, jobs=options.jobs, command="pippin demo")
    boards = leaderboards(outcome.results)
    for data in datasets_of(boards):
        print(f"\n{data}\n{letor_tables(boards, data, 'official')[0].render()}")
    print(f"\nOver all three\n{winning_table(winning_numbers(means_of(boards, 'official'))).render()}")
    page = folder / "report" / "index.html"
    write_page(Gathered(outcome.results), page, "The rankers on the standard library")
    print(f"\nThe page: {page.resolve()}\nThe same in full: pippin leaderboard {folder}; pippin report {folder}")
    return outcome.status
