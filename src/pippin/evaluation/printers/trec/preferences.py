"""How many of the preferences that users expressed between documents does a ranking keep?

A judgement gives a document a level within a subgroup of a group (a user). Within a subgroup every document is
preferred to those with a lower level; within a group preferences are transitive. A preference is kept among retrieved
documents if the preferred one stands higher, and by implication if only the preferred one was retrieved. Documents are
known by their place: retrieved ones by rank, then the others by name.
Source: trec_eval 9.0.8, form_prefs_counts and the measures prefs_*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.evaluation.printers.trec.sorting import compare_numbers, merge_sort

I64 = NDArray[np.int64]
NO_LEVEL = -3.0  # the original's mark for “no level yet”: a first level that is just this one goes uncounted


class Judgement(NamedTuple):
    """One line of a file of preferences, without its topic."""

    group: str
    subgroup: str
    document: str
    level: float


class Placed(NamedTuple):
    """A judgement whose document has its place."""

    group: str
    subgroup: str
    level: float
    place: int
    document: str


class Contradiction(Exception):
    """What trec_eval says of preferences that contradict each other; some make it abort."""

    def __init__(self, reason: str, aborts: bool = False) -> None:
        super().__init__(reason)
        self.aborts = aborts


@dataclass
class Group:
    """Preferences of one group: kept and possible among retrieved documents, kept and possible where one of the two
    was retrieved, and those where neither was.
    """

    kept: int = 0
    possible: int = 0
    kept_implied: int = 0
    possible_implied: int = 0
    absent: int = 0
    relevant: int = 0
    relevant_retrieved: int = 0
    nonrelevant: int = 0
    nonrelevant_retrieved: int = 0
    # Where levels order all documents, the places of each level, best first, and where in `Preferences.places` the
    # last level begins; otherwise who is preferred to whom, and the level of each place.
    classes: list[I64] = field(default_factory=list)
    last_class: int = 0
    prefers: NDArray[np.bool_] | None = None
    levels: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def tally(self, scope: str) -> tuple[int, int]:
        """Kept and possible preferences: among retrieved documents, also where one was retrieved, or of all."""
        if scope == "ret":
            return self.kept, self.possible
        kept, possible = self.kept + self.kept_implied, self.possible + self.possible_implied
        return kept, possible + (self.absent if scope == "all" else 0)

    def count(self, better: I64, worse: I64, retrieved: int) -> None:
        """Add preferences, given as pairs of places."""
        keeps = better < worse
        both, one = np.maximum(better, worse) < retrieved, np.minimum(better, worse) < retrieved
        self.kept += int((keeps & both).sum())
        self.possible += int(both.sum())
        self.kept_implied += int((keeps & one & ~both).sum())
        self.possible_implied += int((one & ~both).sum())
        self.absent += int((~one).sum())


@dataclass
class Preferences:
    """What a ranking does with the preferences of one topic."""

    retrieved: int
    counts: NDArray[np.int64]  # how many groups prefer place i to place j
    groups: list[Group] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # of all groups whose levels order all documents, one after another

    def value(self, name: str) -> float:
        """The measure `prefs_<name>` of trec_eval."""
        scope = "ret" if name.endswith("_ret") else "imp" if name.endswith("_imp") else "all"
        base = name.removesuffix(f"_{scope}")
        if base == "pair":
            return self._pairs(scope)
        if base == "avgjg_Rnonrel":
            return self._capped(scope == "ret")
        tallies = [group.tally(scope) for group in self.groups]
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
            kept, possible = self._cap(group, retrieved_only)
            if possible == 0:
                return 0.0  # 0/0 in the original: no sum is above 0 after it
            total += kept / possible
        return total / len(self.groups) if total > 0 else 0.0

    def _cap(self, group: Group, retrieved_only: bool) -> tuple[int, int]:
        """Kept and possible preferences when each group has as many non-relevant documents as relevant ones: missing
        ones are made up and stand below all, surplus ones are left out.
        """
        relevant = group.relevant_retrieved if retrieved_only else group.relevant
        nonrelevant = group.nonrelevant_retrieved if retrieved_only else group.nonrelevant
        if relevant >= nonrelevant:
            kept, possible = group.tally("ret" if retrieved_only else "all")
            extra = relevant - nonrelevant
            return kept + group.relevant_retrieved * extra, possible + group.relevant * extra
        if group.prefers is None:
            return self._cap_classes(group, relevant, retrieved_only)
        reach = self.retrieved if retrieved_only else len(group.levels)
        counted = np.arange(reach)
        lows = np.flatnonzero(group.levels[:reach] == 0)
        if len(lows) > group.relevant:
            counted = counted[(group.levels[:reach] != 0) | (counted < lows[group.relevant])]
        pairs = group.prefers[np.ix_(counted, counted)]
        return int(np.triu(pairs, 1)[counted < self.retrieved].sum()), int(pairs.sum())

    def _cap_classes(self, group: Group, relevant: int, retrieved_only: bool) -> tuple[int, int]:
        """The same where levels order all documents. As the original does, the last class is also held against
        itself, and is as long as it should be, even if that is more than it holds: what follows it is another group's,
        and after the last group what memory holds, which is 0 where nothing was there before.
        """
        n = self.retrieved
        held = self.places[group.last_class : group.last_class + relevant]
        last = np.array(held + [0] * (relevant - len(held)), np.int64)
        classes = group.classes
        if retrieved_only:
            classes = [places[places < n] for places in classes]
            beyond = np.flatnonzero(last >= n)
            last = last[: beyond[0]] if len(beyond) else last
        pairs = [(better, worse) for i, better in enumerate(classes) for worse in classes[i + 1 : -1]]
        pairs += [(better, last) for better in classes]
        kept = possible = 0
        for better, worse in pairs:
            kept += int(((better[:, None] < worse[None, :]) & (better[:, None] < n)).sum())
            possible += len(better) * len(worse)
        return kept, possible


def count_preferences(judgements: Sequence[Judgement], ranked: Sequence[str]) -> Preferences:
    """Count over the documents of a ranking, first to last. Judgements come sorted by document."""
    documents = list(dict.fromkeys(judgement.document for judgement in judgements))
    judged = set(documents)
    retrieved_judged = [document for document in ranked if document in judged]
    retrieved = set(retrieved_judged)
    places = {d: i for i, d in enumerate([*retrieved_judged, *(d for d in documents if d not in retrieved)])}
    preferences = Preferences(len(retrieved_judged), np.zeros((len(places), len(places)), np.int64))
    rows = [Placed(j.group, j.subgroup, j.level, places[j.document], j.document) for j in judgements]
    for _, group in groupby(_sorted(rows), lambda row: row.group):
        members = list(group)
        several = members[0].subgroup != members[-1].subgroup
        preferences.groups.append((_array_group if several else _class_group)(members, preferences))
    return preferences


def _sorted(rows: list[Placed]) -> list[Placed]:
    """By group, subgroup, level from the top, place."""

    def ids(row: Placed) -> tuple[bytes, bytes]:
        return row.group.encode("utf-8", "surrogateescape"), row.subgroup.encode("utf-8", "surrogateescape")

    if not any(np.isnan(row.level) for row in rows):
        return sorted(rows, key=lambda row: (ids(row), -row.level, row.place))

    def compare(a: Placed, b: Placed) -> int:
        return (ids(a) > ids(b)) - (ids(a) < ids(b)) or compare_numbers(b.level, a.level) or a.place - b.place

    return merge_sort(rows, compare)


def _class_group(rows: list[Placed], topic: Preferences) -> Group:
    """A group of one subgroup: its levels order all its documents."""
    levels, starts = [rows[0].level], [0]
    counted, before = 0, NO_LEVEL
    for i, row in enumerate(rows):
        if row.level != levels[-1]:
            levels.append(row.level)
            starts.append(i)
        counted += row.level != before
        before = row.level
    places = [row.place for row in rows]
    group = Group(last_class=len(topic.places))
    topic.places += places
    ends = [*starts[1:], len(rows)]
    for level, start, end in list(zip(levels, starts, ends, strict=True))[:counted]:
        group.classes.append(np.array(places[start:end], np.int64))
        retrieved = int((group.classes[-1] < topic.retrieved).sum())
        if level > 0:
            group.relevant, group.relevant_retrieved = (
                group.relevant + end - start,
                group.relevant_retrieved + retrieved,
            )
        else:
            group.nonrelevant += end - start
            group.nonrelevant_retrieved += retrieved
    if group.classes:
        group.last_class += starts[len(group.classes) - 1]
    for i, high in enumerate(group.classes):
        for low in group.classes[i + 1 :]:
            better, worse = np.repeat(high, len(low)), np.tile(low, len(high))
            if (better == worse).any():
                place = better[better == worse][0]
                raise Contradiction(f"Internal docid {place} occurs with different rel_level in same jsg")
            np.add.at(topic.counts, (better, worse), 1)
            group.count(better, worse, topic.retrieved)
    return group


def _array_group(rows: list[Placed], topic: Preferences) -> Group:
    """A group of several subgroups: what follows from all their preferences."""
    size, n = len(topic.counts), topic.retrieved
    levels, prefers = np.full(size, -1.0), np.eye(size, dtype=bool)
    for row in rows:
        known = levels[row.place]
        if (known > 0 and row.level == 0) or (known == 0 and row.level > 0):
            raise Contradiction(f"doc '{row.document}' has both 0 and non-0 rel_level assigned")
        levels[row.place] = row.level
    for _, subgroup in groupby(rows, lambda row: row.subgroup):
        _prefer(list(subgroup), prefers)
    _close(prefers)
    better, worse = np.nonzero(prefers)
    topic.counts += prefers
    group = Group(prefers=prefers, levels=levels)
    group.count(better, worse, n)
    group.relevant, group.relevant_retrieved = int((levels > 0).sum()), int((levels[:n] > 0).sum())
    group.nonrelevant, group.nonrelevant_retrieved = int((levels == 0).sum()), int((levels[:n] == 0).sum())
    return group


def _prefer(rows: list[Placed], prefers: NDArray[np.bool_]) -> None:
    """Each document of a subgroup is preferred to all that come after those of its own level."""
    places = np.array([row.place for row in rows])
    for i, row in enumerate(rows):
        after = i + 1
        while after < len(rows) and rows[after].level == row.level:
            after += 1
        prefers[row.place, places[after:]] = True


def _close(prefers: NDArray[np.bool_]) -> None:
    """Add what follows from the preferences; nobody is preferred to himself."""
    while True:
        further = (prefers.astype(np.float32) @ prefers.astype(np.float32)) > 0
        if (further == prefers).all():
            break
        prefers[:] = further
    np.fill_diagonal(prefers, False)
    conflicts = np.argwhere(prefers & prefers.T)
    if len(conflicts):
        i, j = conflicts[0]
        lines = f"internal rank {i} and internal rank {j} are conflicted"
        raise Contradiction(f"Pref inconsistency found\n      {lines}", aborts=True)
