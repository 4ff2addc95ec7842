"""A temporary PostgreSQL cluster on a Unix socket, run by a user other than root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_SETTINGS = ("listen_addresses=", "fsync=off", "unix_socket_permissions=0777", "max_connections=40")


@dataclass
class Cluster:
    """A running cluster; every test creates its own database."""

    socket: Path
    binaries: Path
    user: list[str]
    count: int = 0

    def start(self) -> None:
        """Start the cluster; retry while a killed one shuts down."""
        settings = f"-k {self.socket} " + " ".join(f"-c {setting}" for setting in _SETTINGS)
        command = [*self.user, str(self.binaries / "pg_ctl"), "-D", str(self.socket / "data"), "-l",
                   str(self.socket / "log"), "-o", settings, "-w", "start"]  # fmt: skip
        for last in range(20, -1, -1):
            try:
                _run(command)
                return
            except subprocess.CalledProcessError:
                if not last:
                    raise
                time.sleep(0.5)

    def kill(self) -> None:
        """Kill the cluster, as a power failure would."""
        os.kill(int((self.socket / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def database(self) -> str:
        self.count += 1
        name = f"boards{self.count}"
        connection = ["-h", str(self.socket), "-U", "pippin"]
        subprocess.run([*self.user, str(self.binaries / "createdb"), *connection, name], check=True, cwd="/")
        return f"postgresql://pippin@/{name}?host={self.socket}"


@contextmanager
def start_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a cluster; skip the test if PostgreSQL is not installed."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    initdb = shutil.which("initdb")
    binaries = folders[-1] if folders else Path(initdb).parent if initdb else None
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    user: list[str] = []
    home = Path(tempfile.mkdtemp(prefix="pippin-pg-", dir="/tmp"))  # the path of a socket has at most 107 characters
    home.chmod(0o755)  # accessible to other users
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root, and setpriv is not installed")
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        shutil.chown(home, "nobody", "nogroup")
    data = home / "data"
    control = str(binaries / "pg_ctl")
    try:
        _run([*user, str(binaries / "initdb"), "-D", str(data), "-U", "pippin", "-A", "trust", "-N"])
        cluster = Cluster(home, binaries, user)
        cluster.start()
        yield cluster
        _run([*user, control, "-D", str(data), "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
