"""What is known of a published data set before a byte of it is read: its files, its width, its labels, its counts.

A source is one declaration. Counts come from the publications and from the files themselves; one that is not certain
is None, and then nothing is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pippin.registry import Registry

FIVE = ("Fold1", "Fold2", "Fold3", "Fold4", "Fold5")
# The names LETOR 4.0 and MSLR use, then those of LETOR 3.0's Feature-null and Feature-min.
LETOR_FILES = {
    "train": ("train.txt", "trainingset.txt"),
    "vali": ("vali.txt", "validationset.txt"),
    "test": ("test.txt", "testset.txt"),
}


class Count(NamedTuple):
    """How many queries and documents there are; None where that is not known for certain."""

    queries: int | None = None
    documents: int | None = None

    def __add__(self, other: object) -> Count:
        if not isinstance(other, Count):
            return NotImplemented
        pairs = zip(self, other, strict=True)
        return Count(*(None if a is None or b is None else a + b for a, b in pairs))


UNKNOWN = Count()


@dataclass(frozen=True)
class Source:
    """A published data set: where its parts stand in a folder, and what they must hold."""

    name: str
    title: str
    features: int | None
    labels: tuple[int, ...]
    origin: str
    folds: tuple[str, ...] = FIVE
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: LETOR_FILES)
    counts: Mapping[tuple[str, str], Count] = field(default_factory=dict)  # (fold, part) -> count
    total: Count = UNKNOWN  # of train, vali and test of one fold together
    aliases: tuple[str, ...] = ()  # folder names it is found under, besides its own

    def count(self, fold: str, part: str) -> Count:
        """The declared counts of one part."""
        return self.counts.get((fold, part), UNKNOWN)


SOURCES: Registry[Source] = Registry("data set", "pippin.datasets", Source)


def register(source: Source) -> Source:
    """Put a data set on the shelf."""
    return SOURCES.register(source.name, source)


def rotate(fifths: Sequence[Count]) -> dict[tuple[str, str], Count]:
    """Counts of all folds from those of S1 … S5: fold k trains on three of them, from S_k on, and so on round.

    Source: LETOR 3.0, Table 4.

    >>> rotate([Count(1), Count(2), Count(3), Count(4), Count(5)])["Fold4", "train"].queries  # S4 + S5 + S1
    10
    """
    counts = {}
    for k, fold in enumerate(FIVE):
        turned = [*fifths[k:], *fifths[:k]]
        counts[fold, "train"] = turned[0] + turned[1] + turned[2]
        counts[fold, "vali"], counts[fold, "test"] = turned[3], turned[4]
    return counts
