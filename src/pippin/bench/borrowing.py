"""Which other data sets does a cell learn from? Those that steps such as `transfer(from=stdlib-HP)` name.

A name is that of a data set of the same benchmark, or a file. The digest of what is borrowed becomes a parameter of the
step, so that it is part of the cell's identity, and the worker that trains is told where the data stand. A data set
never learns from itself in this way: its test queries would be among what is learned from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from pippin.bench.inputs import FoldRef, opened
from pippin.bench.plan import Task
from pippin.data.dataset import Dataset
from pippin.data.packing import digest
from pippin.rankers.parts.sources import borrowed, offer

_FROM, _DIGEST = "__from", "__digest"


def sources_of(task: Task) -> dict[str, str]:
    """The parameters of a task that name other data sets, with the names."""
    return {key: str(value) for key, value in task.parameters.items() if key.endswith(_FROM) and value is not None}


def with_sources(task: Task, refs: Mapping[str, FoldRef]) -> tuple[Task, dict[str, FoldRef]] | None:
    """The task with the digests of what it borrows, and where that stands; None where it would borrow from itself."""
    named = sources_of(task)
    if task.data in named.values():
        return None
    digests = {key.removesuffix(_FROM) + _DIGEST: _digest_of(name, refs.get(name)) for key, name in named.items()}
    told = replace(task, parameters={**task.parameters, **digests}) if digests else task
    return told, {name: refs[name] for name in named.values() if name in refs}


@cache
def _digest_of(name: str, ref: FoldRef | None) -> str:
    return digest(borrowed(name, None) if ref is None else _whole(ref))


def offer_sources(records: Mapping[str, Any]) -> None:
    """Let the rankers of this process borrow from these data sets, each told as JSON holds its place."""
    for name, record in records.items():
        offer(name, partial(_whole, FoldRef.of(record)))


def _whole(ref: FoldRef) -> Dataset:
    """All queries of a data set."""
    return opened(ref).data
