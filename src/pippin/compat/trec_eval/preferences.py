"""Count the preferences between documents that a ranking fulfils.

A judgement gives a document a level within a subgroup of a group (a user). Within a subgroup every document is
preferred to those with a lower level; within a group preferences are transitive. A preference between retrieved
documents is fulfilled if the preferred one is ranked higher; it is fulfilled by implication if only the preferred one
was retrieved. Documents are numbered: retrieved ones by rank, then the others by name.
Source: trec_eval 9.0.8, form_prefs_counts and the measures prefs_*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.compat.trec_eval.measures import compare_numbers, merge_sort

I64 = NDArray[np.int64]
NO_LEVEL = -3.0  # the original's mark for "no level yet"; a first level of this value is not counted


class Judgement(NamedTuple):
    """One line of a file of preferences, without its topic."""

    group: str
    subgroup: str
    document: str
    level: float


class PlacedJudgement(NamedTuple):
    """A judgement with the number of its document."""

    group: str
    subgroup: str
    level: float
    place: int
    document: str


class Contradiction(Exception):
    """The error message for contradictory preferences; some make trec_eval abort."""

    def __init__(self, reason: str, aborts: bool = False) -> None:
        super().__init__(reason)
        self.aborts = aborts


@dataclass
class Group:
    """Counts of the preferences of one group.

    Fulfilled and possible ones among retrieved documents, those of which one document was retrieved (implied), and
    those without a retrieved document (absent).
    """

    fulfilled: int = 0
    possible: int = 0
    fulfilled_implied: int = 0
    possible_implied: int = 0
    absent: int = 0
    relevant: int = 0
    relevant_retrieved: int = 0
    nonrelevant: int = 0
    nonrelevant_retrieved: int = 0
    # If levels order all documents: the places of each level, best first, and the start of the last level in
    # `Preferences.places`. Otherwise: the matrix of preferences, and the level of each place.
    classes: list[I64] = field(default_factory=list)
    last_class: int = 0
    prefers: NDArray[np.bool_] | None = None
    levels: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def tally(self, scope: str) -> tuple[int, int]:
        """Return the fulfilled and possible preferences of a scope: "ret", "imp" or "all"."""
        if scope == "ret":
            return self.fulfilled, self.possible
        fulfilled, possible = self.fulfilled + self.fulfilled_implied, self.possible + self.possible_implied
        return fulfilled, possible + (self.absent if scope == "all" else 0)

    def count(self, better: I64, worse: I64, retrieved: int) -> None:
        """Count preferences between pairs of places."""
        is_fulfilled = better < worse
        both_retrieved, some_retrieved = np.maximum(better, worse) < retrieved, np.minimum(better, worse) < retrieved
        self.fulfilled += int((is_fulfilled & both_retrieved).sum())
        self.possible += int(both_retrieved.sum())
        self.fulfilled_implied += int((is_fulfilled & some_retrieved & ~both_retrieved).sum())
        self.possible_implied += int((some_retrieved & ~both_retrieved).sum())
        self.absent += int((~some_retrieved).sum())


@dataclass
class Preferences:
    """The preferences of one topic and their counts."""

    retrieved: int
    counts: NDArray[np.int64]  # number of groups that prefer place i to place j
    groups: list[Group] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # concatenated over the groups whose levels order all documents

    def value(self, name: str) -> float:
        """Return the measure `prefs_<name>` of trec_eval."""
        scope = "ret" if name.endswith("_ret") else "imp" if name.endswith("_imp") else "all"
        base = name.removesuffix(f"_{scope}")
        if base == "pair":
            return self._pairs(scope)
        if base == "avgjg_Rnonrel":
            return self._capped_mean(scope == "ret")
        tallies = [group.tally(scope) for group in self.groups]
        if base == "num_prefs_poss":
            return float(sum(possible for _, possible in tallies))
        if base == "num_prefs_ful":
            return float(sum(fulfilled for fulfilled, _ in tallies))
        if base == "simp":
            fulfilled, possible = (sum(column) for column in zip(*tallies, strict=True))
            return fulfilled / possible if possible else 0.0
        total = 0.0
        for fulfilled, possible in tallies:
            total += fulfilled / possible if possible else 0.0
        return total / len(tallies) if total > 0 else 0.0

    def _pairs(self, scope: str) -> float:
        """Return the share of groups whose preference is fulfilled, averaged over pairs of documents.

        Retrieved pairs come first, then pairs of which one was retrieved.
        """
        n = self.retrieved
        above, below = np.triu(self.counts, 1), np.tril(self.counts, -1).T
        requested = above + below
        inside = np.zeros_like(requested, bool)
        inside[:n, :n] = True
        across = np.zeros_like(inside)
        across[:n, n:] = scope != "ret"
        shares = []
        pairs = 0
        for part in (inside, across):
            rows, columns = np.nonzero((requested > 0) & part)
            shares.append(above[rows, columns] / requested[rows, columns])
            pairs += len(rows)
        if scope == "all":
            pairs += int((requested[n:, n:] > 0).sum())
        summed = np.cumsum(np.concatenate(shares))
        return float(summed[-1]) / pairs if pairs and len(summed) else 0.0

    def _capped_mean(self, retrieved_only: bool) -> float:
        total = 0.0
        for group in self.groups:
            fulfilled, possible = self._cap(group, retrieved_only)
            if possible == 0:
                return 0.0  # 0/0 in the original, so its total is not above 0
            total += fulfilled / possible
        return total / len(self.groups) if total > 0 else 0.0

    def _cap(self, group: Group, retrieved_only: bool) -> tuple[int, int]:
        """Count fulfilled and possible preferences with as many non-relevant documents as relevant ones.

        Missing non-relevant documents are added below all others; surplus ones are left out.
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
        positions = np.arange(reach)
        nonrelevant_places = np.flatnonzero(group.levels[:reach] == 0)
        if len(nonrelevant_places) > group.relevant:
            positions = positions[(group.levels[:reach] != 0) | (positions < nonrelevant_places[group.relevant])]
        pairs = group.prefers[np.ix_(positions, positions)]
        return int(np.triu(pairs, 1)[positions < self.retrieved].sum()), int(pairs.sum())

    def _cap_classes(self, group: Group, relevant: int, retrieved_only: bool) -> tuple[int, int]:
        """Do the same for levels that order all documents.

        As in the original, the last class is also compared with itself and has the intended length, even if it has
        fewer documents: then the documents of the next group follow, and after the last group zeros of unused memory.
        """
        n_retrieved = self.retrieved
        stored = self.places[group.last_class : group.last_class + relevant]
        last = np.array(stored + [0] * (relevant - len(stored)), np.int64)
        classes = group.classes
        if retrieved_only:
            classes = [places[places < n_retrieved] for places in classes]
            beyond = np.flatnonzero(last >= n_retrieved)
            last = last[: beyond[0]] if len(beyond) else last
        pairs = [(better, worse) for i, better in enumerate(classes) for worse in classes[i + 1 : -1]]
        pairs += [(better, last) for better in classes]
        fulfilled = possible = 0
        for better, worse in pairs:
            fulfilled += int(((better[:, None] < worse[None, :]) & (better[:, None] < n_retrieved)).sum())
            possible += len(better) * len(worse)
        return fulfilled, possible


def count_preferences(judgements: Sequence[Judgement], ranked: Sequence[str]) -> Preferences:
    """Count the preferences of a topic over a ranking; judgements are sorted by document."""
    documents = list(dict.fromkeys(judgement.document for judgement in judgements))
    judged_documents = set(documents)
    retrieved_judged = [document for document in ranked if document in judged_documents]
    retrieved = set(retrieved_judged)
    places = {d: i for i, d in enumerate([*retrieved_judged, *(d for d in documents if d not in retrieved)])}
    preferences = Preferences(len(retrieved_judged), np.zeros((len(places), len(places)), np.int64))
    rows = [PlacedJudgement(j.group, j.subgroup, j.level, places[j.document], j.document) for j in judgements]
    for _, group in groupby(_sort_judgements(rows), lambda row: row.group):
        members = list(group)
        has_subgroups = members[0].subgroup != members[-1].subgroup
        preferences.groups.append((_array_group if has_subgroups else _class_group)(members, preferences))
    return preferences


def _sort_judgements(rows: list[PlacedJudgement]) -> list[PlacedJudgement]:
    """Sort by group, subgroup, descending level and place."""

    def ids(row: PlacedJudgement) -> tuple[bytes, bytes]:
        return row.group.encode("utf-8", "surrogateescape"), row.subgroup.encode("utf-8", "surrogateescape")

    if not any(np.isnan(row.level) for row in rows):
        return sorted(rows, key=lambda row: (ids(row), -row.level, row.place))

    def compare(a: PlacedJudgement, b: PlacedJudgement) -> int:
        return (ids(a) > ids(b)) - (ids(a) < ids(b)) or compare_numbers(b.level, a.level) or a.place - b.place

    return merge_sort(rows, compare)


def _class_group(rows: list[PlacedJudgement], topic: Preferences) -> Group:
    """Count a group of one subgroup, whose levels order all its documents."""
    levels, starts = [rows[0].level], [0]
    n_classes, previous = 0, NO_LEVEL
    for i, row in enumerate(rows):
        if row.level != levels[-1]:
            levels.append(row.level)
            starts.append(i)
        n_classes += row.level != previous
        previous = row.level
    places = [row.place for row in rows]
    group = Group(last_class=len(topic.places))
    topic.places += places
    ends = [*starts[1:], len(rows)]
    for level, start, end in list(zip(levels, starts, ends, strict=True))[:n_classes]:
        group.classes.append(np.array(places[start:end], np.int64))
        retrieved = int((group.classes[-1] < topic.retrieved).sum())
        if level > 0:
            group.relevant += end - start
            group.relevant_retrieved += retrieved
        else:
            group.nonrelevant += end - start
            group.nonrelevant_retrieved += retrieved
    if group.classes:
        group.last_class += starts[len(group.classes) - 1]
    for i, better_class in enumerate(group.classes):
        for worse_class in group.classes[i + 1 :]:
            better, worse = np.repeat(better_class, len(worse_class)), np.tile(worse_class, len(better_class))
            if (better == worse).any():
                place = better[better == worse][0]
                raise Contradiction(f"Internal docid {place} occurs with different rel_level in same jsg")
            np.add.at(topic.counts, (better, worse), 1)
            group.count(better, worse, topic.retrieved)
    return group


def _array_group(rows: list[PlacedJudgement], topic: Preferences) -> Group:
    """Count a group of several subgroups with the transitive closure of their preferences."""
    size, n = len(topic.counts), topic.retrieved
    levels, prefers = np.full(size, -1.0), np.eye(size, dtype=bool)
    for row in rows:
        level = levels[row.place]
        if (level > 0 and row.level == 0) or (level == 0 and row.level > 0):
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


def _prefer(rows: list[PlacedJudgement], prefers: NDArray[np.bool_]) -> None:
    """Mark each document of a subgroup as preferred to all that follow those of the same level."""
    places = np.array([row.place for row in rows])
    for i, row in enumerate(rows):
        after = i + 1
        while after < len(rows) and rows[after].level == row.level:
            after += 1
        prefers[row.place, places[after:]] = True


def _close(prefers: NDArray[np.bool_]) -> None:
    """Replace the preferences by their transitive closure, without preferences to oneself."""
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
