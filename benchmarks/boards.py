"""Test boards under attack, under load and under `kill -9`.

    python benchmarks/boards.py attack     10,000 adaptive submissions against the Ladder, Blum & Hardt's, and none
    python benchmarks/boards.py load       200 submitters at once, and how pages answer meanwhile
    python benchmarks/boards.py kill       web and scorer killed while submissions come; --postgres: the database
    python benchmarks/boards.py page       how long a board of 10,000 submissions takes to open

What each prints stands in docs/boards.md.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.boards.accounts import invite, make_account
from pippin.boards.board import SPLITS, HiddenLabels, Limits
from pippin.boards.client import Client
from pippin.boards.ladder import board_step, decide, standard_error
from pippin.boards.scoring import SubmissionScores, create_board, random_order, score_submission
from pippin.boards.site import Site
from pippin.boards.submissions import make_card
from pippin.boards.web.processes import MODULES
from pippin.data import synthetic
from pippin.data.dataset import Dataset, rows_of_queries
from pippin.errors import PippinError
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.rankers.training import rank, train

Floats = NDArray[np.float64]
CARD = make_card({"name": "load"})


class Game:
    """A board in memory, its honest submission, and what a climber is told."""

    def __init__(self, queries: int, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        site = Site.create(Path(self.folder.name) / "boards")
        drawn = synthetic.make_dataset(queries=queries * 2, seed=seed)
        data = Dataset(np.nan_to_num(drawn.features), drawn.labels, drawn.offsets, drawn.query_ids, drawn.document_ids)
        board = create_board(site, "cup", data, test_fraction=0.5, seed=seed)
        self.labels = HiddenLabels.open(board, site.hidden_folder("cup"))
        self.offsets = self.labels.data.offsets
        from pippin.data.letor import read_letor

        model = train(read_letor(board.folder / "train.txt"), "ranksvm")
        scores = rank(model, board.test)
        self.honest = scores / np.std(scores)
        self.rows = {half: rows_of_queries(self.offsets, selected) for half, selected in self.labels.queries.items()}
        self.start = self.worth(self.honest, *SPLITS)
        first, second = (score_submission(self.labels, random_order(self.labels, n)).values["public"] for n in (0, 1))
        self.step = board_step(first, second)

    def worth(self, scores: Floats, *halves: str) -> SubmissionScores:
        """Return the values of the public half, or of the named halves, under the board's tool only."""
        board, means, values = self.labels.board, {}, {}
        for half in halves or ("public",):
            part, rows = self.labels.parts[half], self.rows[half]
            column = evaluate_rankings(RankingCache(part, scores[rows]), [board.measure], board.tool, {}, "x").columns[
                0
            ]
            means[half], values[half] = column.mean, column.values
        return SubmissionScores(means, values, {})

    def told(self, rule: str, worth: SubmissionScores, best: SubmissionScores, count: int) -> float | None:
        """Return what the attacker is shown; None if the submission is not better."""
        mean, values = worth.means["public"], worth.values["public"]
        if rule == "off":
            return round(mean, 4)
        if rule == "blum-hardt":
            ahead = standard_error(values - best.values["public"])
            return mean if mean - best.means["public"] > ahead else None
        result = decide(mean, values, best.means["public"], best.values["public"], count, self.step)
        return result.value if result.is_shown else None

    def change(self, rng: np.random.Generator, share: float, size: float) -> Floats:
        """A random change of the documents of a share of the queries."""
        touched = rng.random(len(self.offsets) - 1) < share
        return np.where(np.repeat(touched, np.diff(self.offsets)), rng.normal(0, size, len(self.honest)), 0.0)

    def gain(self, scores: Floats, half: str) -> float:
        """How far ahead of the honest submission, in standard errors of its mean."""
        worth = self.worth(scores, half)
        return (worth.means[half] - self.start.means[half]) / standard_error(self.start.values[half])


def hill_climbing(game: Game, rule: str, submissions: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Change some queries of the best at random, keep what is shown to be better; how many adapts to success."""
    scores, best, shown, share, released = game.honest, game.start, game.start.means["public"], 0.1, 0
    for count in range(2, submissions + 1):
        tried = scores + game.change(rng, share, 1.0)
        worth = game.worth(tried)
        value = game.told(rule, worth, best, count)
        if value is not None and value > shown:
            scores, best, shown, released = tried, worth, value, released + 1
            share = min(1.0, share * 1.2)
        else:
            share = max(0.02, share * 0.98)
    return scores, released


def boosting(game: Game, rule: str, submissions: int, rng: np.random.Generator) -> tuple[Floats, int]:
    """Blum & Hardt's attack: random changes, and in the end the sum of those that were shown to help."""
    total, best, keep_mask, released = np.zeros_like(game.honest), game.start, game.honest, 0
    for count in range(2, submissions):
        change = game.change(rng, 0.3, 1.0)
        worth = game.worth(game.honest + change)
        value = game.told(rule, worth, best, count)
        if rule == "off":
            if value is not None and value > game.start.means["public"]:
                total, released = total + change, released + 1
            elif value is not None:
                total -= change
        elif value is not None:
            total, best, keep_mask, released = total + change, worth, game.honest + change, released + 1
    if rule == "off":
        return game.honest + total / np.std(total), released
    boosted = game.honest + total
    return boosted if game.gain(boosted, "public") > game.gain(keep_mask, "public") else keep_mask, released


def attack(submissions: int, queries: int) -> None:
    """Print what climbers gain."""
    print(f"{submissions:,} adaptive submissions, {queries} test queries; gains in standard errors of the honest mean")
    print(f"{'attack':<14} {'rule':<12} {'shown anew':>10} {'public half':>12} {'final half':>11} {'seconds':>8}")
    for name, climb in (("hill climbing", hill_climbing), ("boosting", boosting)):
        for rule in ("off", "blum-hardt", "ladder"):
            game, began = Game(queries, seed=3), time.perf_counter()
            scores, released = climb(game, rule, submissions, np.random.default_rng(7))
            gains = f"{game.gain(scores, 'public'):>12.2f} {game.gain(scores, 'final'):>11.2f}"
            print(f"{name:<14} {rule:<12} {released:>10} {gains} {time.perf_counter() - began:>8.1f}", flush=True)
            game.folder.cleanup()


@contextmanager
def serve(folder: Path, store: str | None = None, jobs: int = 2) -> Iterator[tuple[str, int]]:
    """`pippin serve` of a folder; its address, and its process."""
    code = "import sys; from pippin.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-u", "-c", code, "serve", str(folder), "--port", "0", "--jobs", str(jobs)]
    environment = {**os.environ, **({"PIPPIN_STORE": store} if store else {})}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        line = process.stdout.readline() if process.stdout else ""
        address = line.split()[2].rstrip(";")
        for _ in range(600):
            try:
                urllib.request.urlopen(address, timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(30)


def new_site(folder: Path, store: str | None = None, queries: int = 157) -> Site:
    """A site with one board of MQ2008's size."""
    folder.chmod(0o755)
    site = Site.create(folder / "boards", store)
    limits = Limits(per_day=10**6, per_account=10**6, bytes=25_000_000)
    create_board(site, "cup", synthetic.make_dataset(queries=queries, seed=1), seed=1, limits=limits)
    return site


def files(folder: Path, documents: int, sizes: list[int], seed: int = 1) -> list[Path]:
    """Files of scores with these sizes: the numbers are padded with zeros."""
    items, rng = [], np.random.default_rng(seed)
    for number, size in enumerate(sizes):
        digits = max(3, size // documents - 3)
        text = "".join(f"{value:.{min(digits, 15)}f}".ljust(digits + 2, "0") + "\n" for value in rng.random(documents))
        items.append(folder / f"scores{number}.txt")
        items[-1].write_text(text)
    return items


def states(site: Site) -> dict[str, int]:
    """State → how many submissions; and how often a submission has two entries of a kind."""
    with site.store.reading() as connection:
        rows = connection.exec_driver_sql("SELECT state, count(*) FROM submissions GROUP BY state").all()
        logged = connection.exec_driver_sql(
            "SELECT count(*), count(DISTINCT subject) FROM log WHERE kind IN ('scored', 'rejected')"
        ).one()
    return {**{state: int(count) for state, count in rows}, "logged": int(logged[0]), "subjects": int(logged[1])}


def wait_scored(site: Site, seconds: float = 900) -> float:
    """Wait until the queue is empty; how long that took."""
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        result = states(site)
        if not result.get("queued") and not result.get("scoring"):
            break
        time.sleep(0.2)
    return time.perf_counter() - began


def load(submitters: int, each: int) -> None:
    """Print what many submitters at once do to the queue and to the pages."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        site = new_site(folder)
        documents = len(site.board("cup").test)
        sizes = [int(64_000 * (20_000_000 / 64_000) ** (i / max(1, submitters - 1))) for i in range(submitters)]
        submitted = files(folder, documents, sizes)
        tokens = [make_account(site.store, f"account {n}")[1] for n in range(submitters)]
        accepted: list[str] = []
        with serve(folder / "boards") as (address, _):
            waits = _latencies(address, lambda: _send_all(address, tokens, submitted, accepted))
            left = wait_scored(site)
            result = states(site)
            print(f"{submitters} submitters at once, {sizes[0] // 1000} kB … {sizes[-1] // 10**6} MB: {len(accepted)} "
                  f"acknowledged, {result.get('scored', 0)} scored, {result['logged'] - result['subjects']} twice; "
                  f"pages meanwhile {statistics.median(waits) * 1000:.0f} ms at the median, {max(waits) * 1000:.0f} ms "
                  f"at most; the queue was empty {left:.1f} s after the last")  # fmt: skip
            began = time.perf_counter()
            small = [submitted[0]] * each
            accepted.clear()
            _send_all(address, tokens[: min(8, submitters)] * (each // min(8, submitters)), small, accepted)
            wait_scored(site)
            took = time.perf_counter() - began
            print(f"{len(accepted)} submissions of 64 kB one after the other from 8 accounts: "
                  f"{len(accepted) / took * 60:,.0f} a minute")  # fmt: skip


def _send_all(address: str, tokens: list[str], sent: list[Path], accepted: list[str]) -> None:
    def one(token: str, file: Path) -> None:
        try:
            accepted.append(Client(address, token).submit("cup", file, CARD)["id"])
        except PippinError as error:
            print(f"refused: {error}", file=sys.stderr)

    threads = [threading.Thread(target=one, args=pair) for pair in zip(tokens, sent, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _latencies(address: str, work: Any) -> list[float]:
    """Measure the response time of the board's page repeatedly while other work runs."""
    thread = threading.Thread(target=work)
    waits: list[float] = []
    thread.start()
    while thread.is_alive():
        began = time.perf_counter()
        urllib.request.urlopen(f"{address}/boards/cup", timeout=60).read()
        waits.append(time.perf_counter() - began)
        time.sleep(0.05)
    thread.join()
    return waits or [math.nan]


def _children(process: int) -> dict[str, int]:
    """The processes of `pippin serve` by their name."""
    output = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(process)], capture_output=True, text=True, check=False
    )
    results = {}
    for line in output.stdout.splitlines():
        number, _, command = line.strip().partition(" ")
        for name in ("web", "scorer"):
            if f"{MODULES[name]} " in command:
                results[name] = int(number)
    return results


def kill(rounds: int, submitters: int) -> None:
    """Print what is left of acknowledged submissions where processes are killed while they come."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        site = new_site(folder)
        submitted = files(folder, len(site.board("cup").test), [64_000])
        tokens = [make_account(site.store, f"account {n}")[1] for n in range(submitters)]
        accepted: list[str] = []
        killed = {"web": 0, "scorer": 0}
        rng = np.random.default_rng(5)
        with serve(folder / "boards") as (address, process):
            for number in range(rounds):
                worker = threading.Thread(target=_try_all, args=(address, tokens, submitted[0], accepted))
                worker.start()
                time.sleep(float(rng.uniform(0.05, 1.0)))
                name = ("web", "scorer")[number % 2]
                if name in (running := _children(process)):
                    os.kill(running[name], signal.SIGKILL)
                    killed[name] += 1
                worker.join()
                time.sleep(0.5)
            wait_scored(site)
            result = states(site)
        with site.store.reading() as connection:
            there = {row[0] for row in connection.exec_driver_sql("SELECT id FROM submissions WHERE state = 'scored'")}
        print(f"killed: web {killed['web']} times, scorer {killed['scorer']} times; {len(accepted)} submissions "
              f"acknowledged, {len(set(accepted) - there)} of them missing or not scored, "
              f"{result['logged'] - result['subjects']} scored twice")  # fmt: skip


def kill_database(rounds: int, submitters: int) -> None:
    """Kill and restart PostgreSQL during the same load."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.boards.postgres import start_cluster

    accepted: list[str] = []
    with start_cluster(Path()) as cluster, tempfile.TemporaryDirectory() as place:
        folder, address_of_store = Path(place), cluster.database()
        site = new_site(folder, address_of_store)
        submitted = files(folder, len(site.board("cup").test), [64_000])
        tokens = [make_account(site.store, f"account {n}")[1] for n in range(submitters)]
        with serve(folder / "boards", address_of_store) as (address, _):
            for number in range(rounds):
                worker = threading.Thread(target=_try_all, args=(address, tokens, submitted[0], accepted))
                worker.start()
                time.sleep(0.3 + 0.2 * number)
                cluster.kill()
                time.sleep(1)
                cluster.start()
                worker.join()
            wait_scored(site)
            result = states(site)
        with site.store.reading() as connection:
            there = {row[0] for row in connection.exec_driver_sql("SELECT id FROM submissions WHERE state = 'scored'")}
        site.store.close()
    print(f"killed: PostgreSQL {rounds} times; {len(accepted)} submissions acknowledged, "
          f"{len(set(accepted) - there)} of them missing or not scored, {result['logged'] - result['subjects']} scored "
          "twice")  # fmt: skip


def _try_all(address: str, tokens: list[str], file: Path, accepted: list[str]) -> None:
    def one(token: str) -> None:
        try:
            accepted.append(Client(address, token).submit("cup", file, CARD)["id"])
        except PippinError:
            return  # it was not acknowledged

    threads = [threading.Thread(target=one, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def page(submissions: int) -> None:
    """Print how long the page of a large board takes."""
    from sqlalchemy import insert

    from pippin.boards.database import ACCOUNTS, SUBMISSIONS

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        site = new_site(folder)
        row = {"board": "cup", "card": '{"name": "x"}', "kind": "scores", "file": "s", "digest": "d", "bytes": 1,
               "received": 1, "state": "scored", "is_shown": True, "low": 0.1, "high": 0.9,
               "is_on_leaderboard": True}  # fmt: skip
        people = [{"name": f"n{n}", "role": "participant", "created": 1} for n in range(submissions)]
        rows = [{**row, "id": f"s{n}", "account": n + 1, "name": f"n{n}", "value": round(n / submissions, 2)}
                for n in range(submissions)]  # fmt: skip
        with site.store.writing() as connection:
            connection.execute(insert(ACCOUNTS), people)
            connection.execute(insert(SUBMISSIONS), rows)
        invite(site.store)
        with serve(folder / "boards") as (address, _):
            for path in ("/boards/cup", "/boards/cup?page=50", "/"):
                times = []
                for _ in range(15):
                    began = time.perf_counter()
                    urllib.request.urlopen(address + path, timeout=60).read()
                    times.append((time.perf_counter() - began) * 1000)
                print(f"{submissions:,} submissions, {path}: {statistics.median(times):.0f} ms at the median")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("attack", "load", "kill", "page"))
    parser.add_argument("--submissions", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--submitters", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--postgres", action="store_true", help="kill: the database instead, which is PostgreSQL")
    options = parser.parse_args()
    if options.what == "attack":
        attack(options.submissions, options.queries)
    elif options.what == "load":
        load(options.submitters, min(options.submissions, 200))
    elif options.what == "kill" and options.postgres:
        kill_database(options.rounds, min(options.submitters, 20))
    elif options.what == "kill":
        kill(options.rounds, min(options.submitters, 20))
    else:
        page(options.submissions)


if __name__ == "__main__":
    main()
