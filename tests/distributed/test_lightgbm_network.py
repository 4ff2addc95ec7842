"""LightGBM listens only on the configured address."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pippin.distributed.lightgbm_network import bind_to_host
from pippin.errors import DataError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what listens is read from /proc")

# One of two machines, the other of which never comes: it prints on which address it waits, and is gone.
WAIT = """
import os, socket, sys, threading, time
from lightgbm.basic import _LIB
from pippin.distributed.lightgbm_network import bind_to_host

found = []
while not found:  # a port that was free may be taken before it is listened on: then with others
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        ports = [free.getsockname()[1] for free in (one, other)]
    machines = ",".join(f"127.0.0.1:{port}" for port in ports).encode()
    with bind_to_host("127.0.0.1"):
        waiting = threading.Thread(target=_LIB.LGBM_NetworkInit, args=(machines, ports[0], 1, 2), daemon=True)
        waiting.start()
        while waiting.is_alive() and not found:
            time.sleep(0.01)
            rows = [line.split() for line in open("/proc/self/net/tcp")]
            found = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{ports[0]:04X}")]
sys.stderr.write(found[0].partition(":")[0])
sys.stderr.flush()
os._exit(0)
"""


def test_where_lightgbm_listens() -> None:
    path = [part for part in sys.path if part]
    start = f"import sys; sys.path[:] = {path!r}\n{WAIT}"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr[-8:] == "0100007F"  # 127.0.0.1; by itself it is 00000000


def test_unknown_limits_start_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(DataError, match="on every network interface"), bind_to_host("127.0.0.1"):
        pass
