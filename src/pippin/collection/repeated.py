"""Documents whose id comes twice: an error in the index, or the first of them alone, where that is asked for.

Tables of documents by split (`train.docs`, `test.docs`) share documents: one that says the same again counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pippin.collection.collection import Collection, Document


def comes_twice(name: str, first: int, again: int) -> str:
    """The sentence about a document whose id is that of an earlier one."""
    places = f"as number {first:,} and as number {again:,}"
    return f"the document {name!r} comes twice: {places} (--repeated first keeps the first)"


def first_of_each(collection: Collection) -> Collection:
    """The collection with the first document of every id; its notes count the others."""
    return replace(collection, read=(kept := _First(collection)).read, notes=kept)


def same_once(collection: Collection) -> Collection:
    """The collection in which a document that stands there again, word for word, counts once."""
    return replace(collection, read=lambda: _different(collection.read()))


def _different(documents: Iterator[Document]) -> Iterator[Document]:
    seen: dict[str, int] = {}
    for document in documents:
        said = hash((document.url, document.links, *sorted(document.streams.items())))
        if seen.get(document.id) != said:  # with other words it is the error of the index
            seen.setdefault(document.id, said)
            yield document


class _First(Sequence[str]):
    """The documents of a collection, each id once, and the notes about what was left out."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.left_out, self.example = collection, 0, ""

    def read(self) -> Iterator[Document]:
        """The first document of every id."""
        self.left_out = 0
        seen: set[str] = set()
        for document in self.collection.read():
            if document.id in seen:
                self.left_out += 1
                self.example = document.id
                continue
            seen.add(document.id)
            yield document

    def _sentences(self) -> list[str]:
        count = self.left_out
        some = (
            f"1 document has the id of an earlier one and is left out: {self.example}" if count == 1
            else f"{count:,} documents have the id of an earlier one and are left out, {self.example} among them"
        )  # fmt: skip
        return [*self.collection.notes, *([some] if count else [])]

    def __len__(self) -> int:
        return len(self._sentences())

    def __getitem__(self, item: Any) -> Any:
        return self._sentences()[item]
