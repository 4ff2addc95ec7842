"""The process that scores: takes submissions from the queue, at most so many at a time, each in a child with limits.

A child is forked, so that it has the labels and all code in memory; its processor time, memory and the bytes it may
unpack are limited before it opens what was sent, and where this process is root it becomes the web's user first. What
it found comes back through a pipe. A child that is killed, or takes too long, is a submission that is refused.
"""

from __future__ import annotations

import os
import resource
import select as waiting
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import and_, exists, select, update

from pippin.boards.board import Hidden
from pippin.boards.rehearsal import rehearse
from pippin.boards.scoring import Worth, evaluated, refuse, settle
from pippin.boards.sending import sweep
from pippin.boards.site import Site
from pippin.boards.standing import annotate, perform
from pippin.boards.store import Row
from pippin.boards.submission import kind_of, read_submission
from pippin.boards.tables import BOARDS, SUBMISSIONS
from pippin.errors import DataError, PippinError
from pippin.limits import set_max_bytes

PAUSE = 0.1  # seconds between looks at an empty queue
PATIENCE = 4  # times the seconds of processor that a child may take by the clock
_OUTSIDE = "it could not be scored; send it again, and tell the organiser if it happens twice"


@dataclass
class _Child:
    row: Row
    process: int
    pipe: int
    deadline: float
    told: bytes = b""


class Scorer:
    """Works off the queue of a site."""

    def __init__(self, site: Site, jobs: int = 1, user: int | None = None) -> None:
        self.site, self.jobs, self.user = site, max(1, jobs), user
        self._hidden: dict[str, Hidden] = {}
        self._children: list[_Child] = []
        self._changed: set[str] = set()

    def start(self) -> None:
        """Take up again what a killed scorer had begun, and sweep up after killed servers."""
        with self.site.store.writing() as connection:
            begun = SUBMISSIONS.c.state == "scoring"
            connection.execute(update(SUBMISSIONS).where(begun).values(state="queued"))
        sweep(self.site)

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Score until asked to end."""
        self.start()
        while not ended():
            if not self.step():
                time.sleep(PAUSE)
        for child in self._children:
            os.kill(child.process, signal.SIGKILL)
            self._wait(child)

    def drain(self) -> None:
        """Score all that waits, and no more."""
        self.start()
        while self.step():
            pass

    def step(self) -> bool:
        """Begin what can be begun, finish what is finished; False where there is nothing to do."""
        begun = self._begin()
        if self._children:
            self._collect()
            return True
        for board in sorted(self._changed):
            annotate(self.site, board)
        busy = bool(self._changed)
        self._changed.clear()
        return self._asked() or busy or begun

    def _asked(self) -> bool:
        """Do what organisers asked for by the page: reveal a board."""
        with self.site.store.reading() as connection:
            boards = connection.execute(select(BOARDS.c.name).where(BOARDS.c.asked.is_not(None))).scalars().all()
        for board in boards:
            perform(self.site, board)
        return bool(boards)

    def _begin(self) -> bool:
        room = self.jobs - len(self._children)
        rows = self._claim(room) if room > 0 else []
        for row in rows:
            try:
                self._children.append(self._fork(row, self._opened(row["board"])))
            except PippinError as error:
                refuse(self.site, row, f"the board cannot score now: {error}")
        return bool(rows)

    def _opened(self, board: str) -> Hidden:
        if board not in self._hidden:
            hidden = Hidden.open(self.site.board(board), self.site.hidden(board))
            hidden.parts["public"]  # read once, before children are forked
            if self.user is not None:
                rehearse(hidden)
            self._hidden[board] = hidden
        return self._hidden[board]

    def _claim(self, room: int) -> list[Row]:
        """The next submissions, in their order; of one account and board one at a time, for the Ladder has an order."""
        other = SUBMISSIONS.alias()
        same = and_(other.c.board == SUBMISSIONS.c.board, other.c.account == SUBMISSIONS.c.account)
        earlier = exists().where(same, other.c.state.in_(("queued", "scoring")), other.c.number < SUBMISSIONS.c.number)
        wanted = select(SUBMISSIONS).where(SUBMISSIONS.c.state == "queued", ~earlier)
        wanted = wanted.order_by(SUBMISSIONS.c.number).limit(room)
        with self.site.store.reading() as connection:
            if not connection.execute(select(SUBMISSIONS.c.id).where(SUBMISSIONS.c.state == "queued").limit(1)).first():
                return []
        with self.site.store.writing() as connection:
            rows = connection.execute(wanted).mappings().all()
            ids = [row["id"] for row in rows]
            connection.execute(update(SUBMISSIONS).where(SUBMISSIONS.c.id.in_(ids)).values(state="scoring"))
        return list(rows)

    def _fork(self, row: Row, hidden: Hidden) -> _Child:
        limits = hidden.board.limits
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:  # the child: nothing but this function, and no way back
            os.close(reading)
            _work(writing, hidden, self.site.upload(row["id"]), row, self.user)
        os.close(writing)
        os.set_blocking(reading, False)
        return _Child(row, process, reading, time.monotonic() + limits.seconds * PATIENCE)

    def _collect(self) -> None:
        """Read what children tell; settle those that are done."""
        ready, _, _ = waiting.select([child.pipe for child in self._children], [], [], PAUSE)
        for child in list(self._children):
            done = False
            if child.pipe in ready:
                part = os.read(child.pipe, 1 << 20)
                child.told += part
                done = not part
            late = time.monotonic() > child.deadline
            if late:
                os.kill(child.process, signal.SIGKILL)
            if done or late:
                self._children.remove(child)
                self._wait(child)
                self._settle(child, late)

    def _wait(self, child: _Child) -> None:
        os.close(child.pipe)
        with suppress(ChildProcessError):
            os.waitpid(child.process, 0)

    def _settle(self, child: _Child, late: bool) -> None:
        row, limits = child.row, self.site.board(child.row["board"]).limits
        head, _, rest = child.told.partition(b"\n")
        if head == b"worth" and not late:
            kind, _, text = rest.partition(b"\n")
            found = settle(self.site, row, kind.decode(), Worth.from_json(text))
            if found is not None and found.released:
                self._changed.add(row["board"])
        elif head == b"fault" and not late:
            refuse(self.site, row, rest.decode("utf-8", "replace"))
        else:
            refuse(self.site, row, f"scoring it took more than the {limits.seconds} seconds or the "
                   f"{limits.memory >> 20} MB that this board allows")  # fmt: skip


def _work(pipe: int, hidden: Hidden, upload: Path, row: Row, user: int | None) -> None:
    """What a child does; it ends here."""
    try:
        _limit(hidden, user)
        kind = row["kind"] if row["kind"] != "auto" else kind_of(upload, row["file"])
        worth = evaluated(hidden, read_submission(hidden.board, upload, kind, row["file"]))
        _tell(pipe, b"worth\n" + kind.encode() + b"\n" + worth.to_json().encode())
    except DataError as error:
        _tell(pipe, b"fault\n" + str(error).encode("utf-8", "replace"))
    except MemoryError:
        _tell(pipe, b"")
    except PippinError as error:
        _tell(pipe, b"fault\n" + str(error).encode("utf-8", "replace"))
    except BaseException as error:
        _report(error)
        _tell(pipe, b"fault\n" + _OUTSIDE.encode())
    finally:
        os._exit(0)


def _report(error: BaseException) -> None:
    """A mistake of ours, for the organiser: its kind and place, and nothing of what was sent."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    os.write(2, f"pippin: scoring failed: {type(error).__name__}{place}\n".encode())


def _tell(pipe: int, content: bytes) -> None:
    with suppress(OSError), os.fdopen(pipe, "wb") as out:
        out.write(content)


def _limit(hidden: Hidden, user: int | None) -> None:
    """Limit this process before anything is opened."""
    limits = hidden.board.limits
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_max_bytes(limits.bytes)
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = pages * os.sysconf("SC_PAGE_SIZE") + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    if user is not None and os.getuid() == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def score_waiting(site: Site, jobs: int = 1) -> None:
    """Score all that waits, unless a server does; for boards that are not served."""
    with suppress(DataError), site.alone("scorer"):
        Scorer(site, jobs).drain()
