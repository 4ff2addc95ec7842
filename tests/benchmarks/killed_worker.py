"""A worker that is killed in the middle of its work."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from pippin.data.partitions import Partition
from pippin.evaluation import streaming

evaluate = streaming._evaluate_partition


def evaluate_or_die(folder: str, *arguments: Any) -> Any:
    """Evaluate a partition; the first worker that reaches the fourth partition is killed."""
    part: Partition = arguments[-1]
    marker = Path(folder).parent / "killed"
    if part.file == "part-00003.parquet" and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluate(folder, *arguments)
