"""How many of the preferences that users expressed between documents does a ranking keep?

A judgement gives a document a level within a subgroup of a group (a user). Within a subgroup every document is
preferred to those with a lower level; within a group preferences are transitive. A preference is kept among retrieved
documents if the preferred one stands higher, and by implication if only the preferred one was retrieved.
Source: trec_eval 9.0.8, form_prefs_counts and the measures prefs_*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError

I64 = NDArray[np.int64]


class Judgement(NamedTuple):
    """One line of a file of preferences, without its topic."""

    group: str
    subgroup: str
    document: str
    level: float


@dataclass
class GroupCounts:
    """Preferences of one group: kept and possible among retrieved documents, kept and possible where one of the two
    was retrieved, and those where neither was.
    """

    kept: int
    possible: int
    kept_implied: int
    possible_implied: int
    absent: int
    relevant: int
    relevant_retrieved: int
    nonrelevant: int
    nonrelevant_retrieved: int
    capped: tuple[int, int]  # kept and possible when only as many non-relevant documents count as there are relevant
    capped_retrieved: tuple[int, int]


@dataclass
class Preferences:
    """What a ranking does with the preferences of one topic."""

    groups: list[GroupCounts]
    counts: NDArray[np.int64]  # how many groups prefer document i to document j; retrieved ones first, by rank
    retrieved: int

    def value(self, name: str) -> float:
        """The measure `prefs_<name>` of trec_eval."""
        base, _, scope = name.partition("_ret") if name.endswith("_ret") else name.partition("_imp")
        scope = "ret" if name.endswith("_ret") else "imp" if name.endswith("_imp") else "all"
        if base == "pair":
            return self._pairs(scope)
        if base == "avgjg_Rnonrel":
            return self._capped(scope == "ret")
        tallies = [_tally(group, scope) for group in self.groups]
        if base == "num_prefs_poss":
            return float(sum(possible for _, possible in tallies))
        if base == "num_prefs_ful":
            return float(sum(kept for kept, _ in tallies))
        if base == "simp":
            kept, possible = (sum(column) for column in zip(*tallies, strict=True))
            return kept / possible if possible else 0.0
        total = 0.0
        for kept, possible in tallies:
            total += kept / possible if possible else 0.0
        return total / len(tallies) if total > 0 else 0.0

    def _pairs(self, scope: str) -> float:
        """The share of groups that a pair of documents satisfies, averaged over pairs: retrieved pairs first, then
        pairs of which one was retrieved.
        """
        n = self.retrieved
        above, below = np.triu(self.counts, 1), np.tril(self.counts, -1).T
        wanted = above + below
        inside = np.zeros_like(wanted, bool)
        inside[:n, :n] = True
        across = np.zeros_like(inside)
        across[:n, n:] = scope != "ret"
        shares = []
        pairs = 0
        for part in (inside, across):
            rows, columns = np.nonzero((wanted > 0) & part)
            shares.append(above[rows, columns] / wanted[rows, columns])
            pairs += len(rows)
        if scope == "all":
            pairs += int((wanted[n:, n:] > 0).sum())
        summed = np.cumsum(np.concatenate(shares))
        return float(summed[-1]) / pairs if pairs and len(summed) else 0.0

    def _capped(self, retrieved_only: bool) -> float:
        total = 0.0
        for group in self.groups:
            kept, possible = group.capped_retrieved if retrieved_only else group.capped
            if possible == 0:
                return 0.0  # 0/0 in the original: no sum is above 0 after it
            total += kept / possible
        return total / len(self.groups) if total > 0 else 0.0


def _tally(group: GroupCounts, scope: str) -> tuple[int, int]:
    """Kept and possible preferences: among retrieved documents, also where one was retrieved, or of all."""
    if scope == "ret":
        return group.kept, group.possible
    kept, possible = group.kept + group.kept_implied, group.possible + group.possible_implied
    return kept, possible + (group.absent if scope == "all" else 0)


def count_preferences(judgements: Sequence[Judgement], ranked: Sequence[str]) -> Preferences:
    """Count over the documents of a ranking, first to last."""
    place = {document: i for i, document in enumerate(ranked)}
    documents = sorted({j.document for j in judgements})
    found = sorted((d for d in documents if d in place), key=place.__getitem__)
    order = {d: i for i, d in enumerate([*found, *(d for d in documents if d not in place)])}
    counts = np.zeros((len(order), len(order)), np.int64)
    rows = sorted(
        ((j.group, j.subgroup, -j.level, order[j.document]) for j in judgements),
    )
    groups = [
        _count_group([(subgroup, -level, at) for _, subgroup, level, at in group], counts, len(found))
        for _, group in groupby(rows, lambda row: row[0])
    ]
    return Preferences(groups, counts, len(found))


def _count_group(rows: list[tuple[str, float, int]], counts: NDArray[np.int64], retrieved: int) -> GroupCounts:
    """Count one group's preferences and add them to the pairs of the topic."""
    subgroups = [list(group) for _, group in groupby(rows, lambda row: row[0])]
    classes = None
    levels = np.full(len(counts), -1.0)
    for _, level, at in rows:
        if (levels[at] > 0 and level == 0) or (levels[at] == 0 and level > 0):
            raise DataError("a document has both a level of 0 and another in one group")
        levels[at] = level
    if len(subgroups) == 1:
        classes = [np.array([at for _, _, at in group]) for _, group in groupby(rows, lambda row: row[1])]
        prefers = _class_preferences(classes, len(counts))
        nonrelevant = np.array([at for _, level, at in rows if level <= 0], np.int64)
        relevant = np.array([at for _, level, at in rows if level > 0], np.int64)
    else:
        prefers = _subgroup_preferences(subgroups, len(counts))
        nonrelevant, relevant = np.flatnonzero(levels == 0), np.flatnonzero(levels > 0)
    counts += prefers
    ahead = np.triu(prefers, 1)
    n = retrieved
    group = GroupCounts(
        kept=int(ahead[:n, :n].sum()), possible=int(prefers[:n, :n].sum()),
        kept_implied=int(prefers[:n, n:].sum()),
        possible_implied=int(prefers[:n, n:].sum() + prefers[n:, :n].sum()),
        absent=int(prefers[n:, n:].sum()),
        relevant=len(relevant), relevant_retrieved=int((relevant < n).sum()),
        nonrelevant=len(nonrelevant), nonrelevant_retrieved=int((nonrelevant < n).sum()),
        capped=(0, 0), capped_retrieved=(0, 0),
    )  # fmt: skip
    group.capped = _cap(group, prefers, classes, levels, n, retrieved_only=False)
    group.capped_retrieved = _cap(group, prefers, classes, levels, n, retrieved_only=True)
    return group


def _class_preferences(classes: list[I64], size: int) -> NDArray[np.int64]:
    prefers = np.zeros((size, size), np.int64)
    for i, better in enumerate(classes):
        for worse in classes[i + 1 :]:
            prefers[np.ix_(better, worse)] += 1
    if np.diagonal(prefers).any():
        raise DataError("a document has two levels in one subgroup")
    return prefers


def _subgroup_preferences(subgroups: list[list[tuple[str, float, int]]], size: int) -> NDArray[np.int64]:
    """Preferences of several subgroups with what follows from them."""
    prefers = np.eye(size, dtype=bool)
    for rows in subgroups:
        levels, at = np.array([level for _, level, _ in rows]), np.array([row[2] for row in rows])
        prefers[np.ix_(at, at)] |= levels[:, None] > levels[None, :]
    while True:
        further = (prefers.astype(np.float32) @ prefers.astype(np.float32)) > 0
        if (further == prefers).all():
            break
        prefers = further
    np.fill_diagonal(prefers, False)
    if (prefers & prefers.T).any():
        raise DataError("two documents are preferred to each other in one group")
    return prefers.astype(np.int64)


def _cap(
    group: GroupCounts,
    prefers: NDArray[np.int64],
    classes: list[I64] | None,
    levels: NDArray[np.float64],
    retrieved: int,
    retrieved_only: bool,
) -> tuple[int, int]:
    """Kept and possible preferences when each group has as many non-relevant documents as relevant ones: missing ones
    are made up and stand below all, surplus ones are left out.
    """
    relevant = group.relevant_retrieved if retrieved_only else group.relevant
    nonrelevant = group.nonrelevant_retrieved if retrieved_only else group.nonrelevant
    if relevant >= nonrelevant:
        kept, possible = _tally(group, "ret" if retrieved_only else "all")
        extra = relevant - nonrelevant
        return kept + group.relevant_retrieved * extra, possible + group.relevant * extra
    if classes is not None:
        return _cap_classes(classes, relevant, retrieved, retrieved_only)
    reach = retrieved if retrieved_only else len(levels)
    lows = np.flatnonzero(levels[:reach] == 0)
    counted = np.arange(reach)
    if len(lows) > group.relevant:
        counted = counted[(levels[:reach] != 0) | (counted < lows[group.relevant])]
    kept_pairs = prefers[np.ix_(counted, counted)]
    possible = int(kept_pairs.sum())
    kept = int(np.triu(kept_pairs, 1)[counted < retrieved].sum())
    return kept, possible


def _cap_classes(classes: list[I64], relevant: int, retrieved: int, retrieved_only: bool) -> tuple[int, int]:
    """The same where levels order all documents. As the original does, the last class is also held against itself."""
    if retrieved_only:
        classes = [ranks[ranks < retrieved] for ranks in classes]
    last = classes[-1][:relevant]
    pairs = [(better, worse) for i, better in enumerate(classes) for worse in classes[i + 1 : -1]]
    pairs += [(better, last) for better in classes]
    kept = possible = 0
    for better, worse in pairs:
        kept += int(((better[:, None] < worse[None, :]) & (better[:, None] < retrieved)).sum())
        possible += len(better) * len(worse)
    return kept, possible
