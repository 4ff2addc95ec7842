"""Scores that were computed elsewhere, as a folder of results: whatever `pippin report` shows can be shown of them.

Nothing was trained here, so a cell has values and scores, but no model, no chosen parameters and no cost.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from pippin.bench.cell import cell_of_scores
from pippin.bench.plan import Task, canonical
from pippin.bench.provenance import versions
from pippin.bench.records import COSTS, KEY
from pippin.bench.store import Results
from pippin.data.dataset import Dataset
from pippin.data.packing import digest
from pippin.evaluation.audit import audit
from pippin.evaluation.tools import chosen


def write_outside(
    folder: str | os.PathLike[str],
    data: str,
    fold: str,
    test: Dataset,
    systems: Mapping[str, NDArray[np.float64]],
    measures: Sequence[str],
    tools: Sequence[str] = ("classic",),
    command: str = "",
) -> Results:
    """Evaluate systems by their scores under every tool, and keep all in a new folder of results."""
    results = Results.create(folder)
    digests = {"test": digest(test)}
    whole = hashlib.sha256(canonical([data, fold, digests])).hexdigest()
    names = tuple(tool.name for tool in chosen(tuple(tools)))
    tasks = [
        Task(data, fold, system, "official", 1, "", {}, {}, names, tuple(measures), digests, versions())
        for system in systems
    ]
    audited = audit(test)
    counts = {"queries": test.queries, "documents": len(test), "relevant": int((test.labels > 0).sum())}
    labels, numbers = np.unique(test.labels, return_counts=True)
    results.write_data(whole, {
        "data": data, "fold": fold, "digest": whole, "digests": digests, "parts": {"test": counts},
        "features": test.features.shape[1], "feature_names": list(test.feature_names),
        "labels": {str(label): int(number) for label, number in zip(labels, numbers, strict=True)},
        "audit": {"about": audited.about, "basis": audited.basis, "clean": list(audited.clean),
                  "findings": [asdict(finding) for finding in audited.findings]},
    })  # fmt: skip
    for task in tasks:
        cost = {**dict(zip(KEY, task.key, strict=True)), **dict.fromkeys(COSTS)}
        results.write_cell(task.address, cell_of_scores(task, test, systems[task.ranker]), cost)
    plan = {"data": [data], "rankers": list(systems), "tools": names, "measures": tuple(measures), "select": ""}
    results.write_plan(plan, tasks, {(data, fold): whole}, command)
    return Results.open(folder)
