"""The scorer process: score queued submissions, each in a child process with limits.

Only this process opens the hidden labels. A child process is forked, so that labels and code are in its memory. Its
processor time, memory and decompressed bytes are limited before it opens the submission; if the scorer runs as root,
the child switches to the user of the web process first. Its result is returned through a pipe. A submission is rejected
if its child process is killed or exceeds the time limit.
"""

from __future__ import annotations

import os
import resource
import select as select_module
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import numpy as np
from sqlalchemy import and_, exists, select, update

from pippin.boards.board import HiddenLabels, Limits
from pippin.boards.database import BOARDS, SUBMISSIONS, Row
from pippin.boards.leaderboard import annotate, reveal_requested
from pippin.boards.queue import remove_leftovers
from pippin.boards.scoring import SubmissionScores, random_order, reject, score_submission, settle, sign_heads
from pippin.boards.site import Site
from pippin.boards.submissions import detect_kind, read_submission
from pippin.data import synthetic
from pippin.data.letor import write_scores
from pippin.data.qrels import Run, write_run
from pippin.errors import DataError, MissingDependency, PippinError
from pippin.rankers import names, ranker
from pippin.rankers.models import from_bytes, to_bytes
from pippin.storage.compression import set_max_bytes
from pippin.system import die_with_parent

POLL_INTERVAL = 0.1  # seconds between queries of an empty queue
RETRY_INTERVAL = 1.0  # seconds before the next attempt if the database is unavailable
WALL_TIME_FACTOR = 4  # wall-clock limit of a child process, as a multiple of its limit of processor time
_INTERNAL_ERROR = "the submission could not be scored; submit it again, and contact the organiser if this is repeated"


@dataclass
class _Child:
    row: Row
    process: int
    pipe: int
    deadline: float
    output: bytes = b""


class Scorer:
    """Scores the queued submissions of a site."""

    def __init__(self, site: Site, jobs: int = 1, user: int | None = None) -> None:
        self.site, self.jobs, self.user = site, max(1, jobs), user
        self._labels: dict[str, HiddenLabels] = {}
        self._children: list[_Child] = []
        self._changed_boards: set[str] = set()

    def start(self) -> None:
        """Queue again what a killed scorer had started, and delete leftovers of killed processes."""
        with self.site.store.writing() as connection:
            started = SUBMISSIONS.c.state == "scoring"
            connection.execute(update(SUBMISSIONS).where(started).values(state="queued"))
        remove_leftovers(self.site)

    def run(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Score submissions until stopped."""
        self.start()
        while not is_stopped():
            if not self.step():
                time.sleep(POLL_INTERVAL)
        for child in self._children:
            os.kill(child.process, signal.SIGKILL)
            self._wait(child)

    def drain(self) -> None:
        """Score all queued submissions."""
        self.start()
        while self.step():
            pass

    def step(self) -> bool:
        """Start and finish what is possible now; return False if there was nothing to do."""
        is_busy = self._start_children()
        if self._children:
            self._collect()
            return True
        for board in sorted(self._changed_boards):
            annotate(self.site, board)
            is_busy = True
        self._changed_boards.clear()
        is_busy = self._reveal_requested() or is_busy
        sign_heads(self.site)
        return is_busy

    def _reveal_requested(self) -> bool:
        with self.site.store.reading() as connection:
            boards = connection.execute(select(BOARDS.c.name).where(BOARDS.c.requested.is_not(None))).scalars().all()
        for board in boards:
            reveal_requested(self.site, board)
        return bool(boards)

    def _start_children(self) -> bool:
        free_jobs = self.jobs - len(self._children)
        rows = self._claim(free_jobs) if free_jobs > 0 else []
        for row in rows:
            try:
                self._children.append(self._fork(row, self._open_labels(row["board"])))
            except PippinError as error:
                reject(self.site, row, f"the board cannot score submissions: {error}")
        return bool(rows)

    def _open_labels(self, board: str) -> HiddenLabels:
        if board not in self._labels:
            labels = HiddenLabels.open(self.site.board(board), self.site.hidden_folder(board))
            _ = labels.parts  # computed once, before child processes are forked
            if self.user is not None:
                warm_up(labels)
            self._labels[board] = labels
        return self._labels[board]

    def _claim(self, count: int) -> list[Row]:
        """Claim the next submissions: one at a time per account and board, since the Ladder depends on the order."""
        earlier = SUBMISSIONS.alias()
        same = and_(earlier.c.board == SUBMISSIONS.c.board, earlier.c.account == SUBMISSIONS.c.account)
        is_unfinished = earlier.c.state.in_(("queued", "scoring"))
        has_earlier = exists().where(same, is_unfinished, earlier.c.number < SUBMISSIONS.c.number)
        is_queued = SUBMISSIONS.c.state == "queued"
        query = select(SUBMISSIONS).where(is_queued, ~has_earlier).order_by(SUBMISSIONS.c.number).limit(count)
        with self.site.store.reading() as connection:
            if not connection.execute(select(SUBMISSIONS.c.id).where(is_queued).limit(1)).first():
                return []
        with self.site.store.writing() as connection:
            rows = connection.execute(query).mappings().all()
            ids = [row["id"] for row in rows]
            connection.execute(update(SUBMISSIONS).where(SUBMISSIONS.c.id.in_(ids)).values(state="scoring"))
        return list(rows)

    def _fork(self, row: Row, labels: HiddenLabels) -> _Child:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:  # the child process: it ends in _run_child
            os.close(reading)
            _run_child(writing, labels, self.site.upload_path(row["id"]), row, self.user)
        os.close(writing)
        os.set_blocking(reading, False)
        deadline = time.monotonic() + labels.board.limits.seconds * WALL_TIME_FACTOR
        return _Child(row, process, reading, deadline)

    def _collect(self) -> None:
        """Read the output of child processes; settle those that have finished."""
        ready, _, _ = select_module.select([child.pipe for child in self._children], [], [], POLL_INTERVAL)
        for child in list(self._children):
            is_finished = False
            if child.pipe in ready:
                chunk = os.read(child.pipe, 1 << 20)
                child.output += chunk
                is_finished = not chunk
            is_late = time.monotonic() > child.deadline
            if is_late:
                os.kill(child.process, signal.SIGKILL)
            if is_finished or is_late:
                self._children.remove(child)
                self._wait(child)
                self._settle(child, b"" if is_late else child.output)

    def _wait(self, child: _Child) -> None:
        os.close(child.pipe)
        with suppress(ChildProcessError):
            os.waitpid(child.process, 0)

    def _settle(self, child: _Child, output: bytes) -> None:
        row, limits = child.row, self.site.board(child.row["board"]).limits
        status, _, content = output.partition(b"\n")
        if status == b"scores":
            kind, _, text = content.partition(b"\n")
            decision = settle(self.site, row, kind.decode(), SubmissionScores.from_json(text))
            if decision is not None and decision.is_shown:
                self._changed_boards.add(row["board"])
        elif status == b"error":
            reject(self.site, row, content.decode("utf-8", "replace"))
        elif status == b"failure":  # tell the organiser the place, and nothing of the submission
            print(f"pippin: scoring failed: {content.decode('utf-8', 'replace')}", file=sys.stderr, flush=True)
            reject(self.site, row, _INTERNAL_ERROR)
        else:
            reject(self.site, row, f"scoring exceeded the limit of {limits.seconds} seconds or "
                   f"{limits.memory >> 20} MB")  # fmt: skip


def _run_child(pipe: int, labels: HiddenLabels, upload: Path, row: Row, user: int | None) -> None:
    """Score a submission in a child process, write the result to the pipe, and exit."""
    try:
        _set_limits(labels.board.limits, user)
        kind = row["kind"] if row["kind"] != "auto" else detect_kind(upload, row["file"])
        submitted = read_submission(labels.board, upload, kind, row["file"])
        try:
            scores = score_submission(labels, submitted)
        except PippinError as error:  # its message may depend on labels or on the split
            raise RuntimeError from error
        _write_output(pipe, b"scores\n" + kind.encode() + b"\n" + scores.to_json().encode())
    except MemoryError:
        _write_output(pipe, b"")
    except PippinError as error:
        _write_output(pipe, b"error\n" + str(error).encode("utf-8", "replace"))
    except BaseException as error:
        cause = error.__cause__ or error
        trace = traceback.extract_tb(cause.__traceback__)[-1]
        _write_output(pipe, f"failure\n{type(cause).__name__} at {trace.filename}:{trace.lineno}".encode())
    finally:
        os._exit(0)


def _write_output(pipe: int, content: bytes) -> None:
    with suppress(OSError), os.fdopen(pipe, "wb") as out:
        out.write(content)


def _set_limits(limits: Limits, user: int | None) -> None:
    """Limit this process before it opens the submission."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_max_bytes(limits.bytes)
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * os.sysconf("SC_PAGE_SIZE") + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if user is not None and os.getuid() == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def score_waiting(site: Site, jobs: int = 1) -> None:
    """Score all queued submissions, unless a running server does."""
    with suppress(DataError), site.lock("scorer"):
        Scorer(site, jobs).drain()


_MODEL_KINDS = ("ranksvm", "mart", "ranknet")  # linear, trees, network


def warm_up(labels: HiddenLabels) -> None:
    """Score a submission of every kind, so that child processes need no file that only this user can read."""
    scores = random_order(labels)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "submission"
        if isinstance(scores, Run):
            write_run(scores, file)
        else:
            write_scores(scores, file)
        score_submission(labels, read_submission(labels.board, file, detect_kind(file, "submission"), "submission"))
    if labels.board.kind == "qrels":
        return
    for name in names():
        ranker(name)
    synthetic_data = synthetic.make_dataset(queries=12, seed=1)
    data = replace(synthetic_data, features=np.nan_to_num(synthetic_data.features))
    for name in _MODEL_KINDS:
        with suppress(MissingDependency):
            from_bytes(to_bytes(ranker(name)().fit(data)), name).predict(data)


def main() -> None:
    """Score until the supervisor stops this process; retry while the database is unavailable."""
    is_stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True

    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor stops this process
    folder, jobs, user = sys.argv[2:]
    signal.signal(signal.SIGTERM, stop)
    while not is_stopped:
        try:
            site = Site(folder)
            with site.lock("scorer"):
                Scorer(site, int(jobs), int(user) if user else None).run(lambda: is_stopped)
        except DataError as error:
            print(f"pippin: {error}", flush=True)
            time.sleep(RETRY_INTERVAL)


if __name__ == "__main__":
    main()
