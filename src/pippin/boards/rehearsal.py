"""Everything once before it counts: what scoring loads is loaded now, by a process that may still read it.

A child that scores becomes another user, who may not be allowed to read the files of this Python.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from pippin.boards.board import Hidden
from pippin.boards.scoring import evaluated, random_order
from pippin.boards.submission import kind_of, read_submission
from pippin.data import synthetic
from pippin.data.dataset import Dataset
from pippin.data.scores import write_scores
from pippin.data.trec import Run
from pippin.data.trec_text import write_run
from pippin.errors import MissingExtra
from pippin.rankers import names, ranker
from pippin.rankers.models import from_bytes, to_bytes

_KINDS = ("ranksvm", "mart", "ranknet")  # a weighted sum, trees, a network


def rehearse(hidden: Hidden) -> None:
    """Read and evaluate a submission of every kind that the board takes."""
    made = random_order(hidden)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "submission"
        if isinstance(made, Run):
            write_run(made, file)
        else:
            write_scores(made, file)
        evaluated(hidden, read_submission(hidden.board, file, kind_of(file, "submission"), "submission"))
    if hidden.board.kind == "dataset":
        _models()


def _models() -> None:
    for name in names():
        ranker(name)
    drawn = synthetic.make(queries=12, seed=1)
    data = Dataset(np.nan_to_num(drawn.features), drawn.labels, drawn.offsets, drawn.query_ids)
    for name in _KINDS:
        try:
            from_bytes(to_bytes(ranker(name)().fit(data)), name).predict(data)
        except MissingExtra:
            continue
