"""What a worker does once: end in the middle of its work."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pippin.bench.dask import memory as larger
from pippin.data.partitions import Partition

evaluate = larger._evaluate


def evaluate_or_die(folder: str, part: Partition, *arguments: Any) -> Any:
    """The evaluation of a partition; whoever first comes to the fourth one is killed."""
    marker = Path(folder).parent / "killed"
    if part.file == "part-00003.parquet" and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluate(folder, part, *arguments)
