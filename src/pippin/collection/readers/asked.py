"""What was asked, and who judged what? Queries and judgements, named by the user or found beside the documents.

Several files of one split, or pieces of one table, are read as one where they do not contradict each other. Of several
splits the first is taken (`roles.first_split`), of several files of queries those that know the judged ones, of several
texts of all queries the titles, of several scales of labels the finest. Where ids
of queries differ by leading zeros, or by letters before a number (CLEF judges topic C041 as 41), the numbers decide;
where judgements name the document first, they are turned round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pippin.collection.collection import Query
from pippin.collection.field_names import text_id
from pippin.collection.readers import roles
from pippin.collection.readers.judged import Told, queries_within, read_judged
from pippin.collection.readers.roles import JUDGEMENT_FILES, QUERY_FILES
from pippin.collection.topics import USUAL, plain_number, read_queries, shortened
from pippin.data.irds import is_id
from pippin.data.texts import Texts
from pippin.data.trec import Judgements
from pippin.errors import DataError, UnknownName

OPTIONS = {"queries": "--topics", "judgements": "--judgements"}
SHOWN = 3  # ids of each side that an error names
NUMBERED = re.compile(r"([A-Za-z_-]*)0*(\d+)")
BEFORE = "what stands before the number"
ALIKE: Mapping[str, Callable[[str], str]] = {
    "case": str.casefold,
    "leading zeros": plain_number,
    "“.0” behind numbers": lambda name: re.sub(r"(?<=\d)\.0+$", "", name),
    "angle brackets": lambda name: name.strip("<>"),
    "folders and endings": lambda name: re.sub(r".*/|\.[A-Za-z]\w*$", "", name),
    BEFORE: lambda name: plain_number(re.sub(r"^.*?(?=\d+$)", "", name)),
}
LARGEST = 1 << 26  # bytes of a file that is tried as queries though nothing but its ids says so


@dataclass(frozen=True)
class Wanted:
    """What `read_collection` was asked for."""

    path: Path
    queries: Path | None
    judgements: Path | None
    name: str
    streams: tuple[str, ...] | None
    query_field: str | None
    documents_only: bool = False  # neither queries nor judgements are looked for
    jobs: int = 1  # processes that parse pages
    links_only: bool = False  # what documents say does not matter, but where they stand and lead to

    @property
    def folder(self) -> Path:
        """Where files beside the documents are looked for."""
        return self.path if self.path.is_dir() else self.path.parent

    def beside(self, pattern: str, what: str) -> list[Path]:
        """The files of the folder that may hold the queries or judgements: whole names in any case, or by content."""
        if is_id(str(self.path)):
            return []
        alone = what == "judgements" and self.path.is_file() and bool(roles.tells_all(self.path))
        if alone or roles.holds(self.path, what):
            return [self.path]
        matching = re.compile(pattern, re.IGNORECASE).fullmatch
        files = roles.beside(self.folder, what, matching, () if self.path.is_dir() else (self.path,))
        return [p for p in files if not roles.name_parts(p)] or files  # `queries.tsv` before `test-queries.tsv`

    def one(self, files: Sequence[Path], what: str) -> Path | None:
        """The one file there is; several are an error."""
        if len(files) > 1:
            raise self.several(files, what)
        return files[0] if files else None

    def several(self, files: Sequence[Path], what: str, why: str = "") -> DataError:
        """The error about several files of which one must be chosen."""
        names = ", ".join(str(p.relative_to(self.folder)) for p in files)
        named = f"name one with {OPTIONS[what]}" if what in OPTIONS else "leave one"
        return DataError(f"several files may hold the {what} ({names}){why}; {named}", self.folder)

    def choose(self, offered: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
        """The streams asked for, in that order, or the usual ones."""
        for name in self.streams or ():
            if name not in offered:
                raise UnknownName("stream", name, offered)
        return tuple(dict.fromkeys(self.streams)) if self.streams else tuple(usual)


def _read_queries(path: Path, field: str | None, _: Judgements | None) -> tuple[Query, ...]:
    return read_queries(path, field)


@dataclass(frozen=True)
class Beside:
    """How queries and judgements that stand beside the documents are called (whole names, in any case), and read."""

    query_files: str = QUERY_FILES
    judgement_files: str = JUDGEMENT_FILES
    read_queries: Callable[[Path, str | None, Judgements | None], tuple[Query, ...]] = _read_queries
    read_judgements: Callable[[Path, Told], Judgements] = read_judged


BESIDE = Beside()


@dataclass(frozen=True)
class Asked:
    """Queries and judgements, the files they stand in, and what is to be said about them."""

    queries: tuple[Query, ...]
    judgements: Judgements | None
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def find_asked(wanted: Wanted, beside: Beside, documents: Sequence[Path] = ()) -> Asked:
    """The queries and judgements that were named, or those found beside the documents."""
    told = Told()
    offered, split = _judged_files(wanted, beside)
    judged, judgements = _joined_judgements(wanted, split, lambda path: beside.read_judgements(path, told))
    told.notes[:0] = _passed_over(offered, judged, "judgements")

    def read(path: Path) -> tuple[Query, ...]:
        return beside.read_queries(path, wanted.query_field, judgements)

    asked = _query_files(wanted, beside, (judged, judgements), documents, read, told)
    if asked and judgements is None and len(asked) == 1 and wanted.judgements is None and roles.lists(asked[0]):
        judged, judgements = asked, beside.read_judgements(asked[0], told)
    within = () if asked else tuple(file for file in judged if roles.lists(file))
    queries = _joined_queries(wanted, asked or within, read) if asked or within else _queries_within(judged)
    if judgements is not None and queries:
        judgements = _agreed(queries, judgements, told)
    places = {"queries": asked or (judged if queries else ()), "judgements": judged}
    return Asked(queries, judgements, {what: files for what, files in places.items() if files}, told.notes)


def _judged_files(wanted: Wanted, beside: Beside) -> tuple[Sequence[Path], tuple[Path, ...]]:
    """The files that may hold judgements, and those of them of one split."""
    if wanted.judgements is not None:
        return (), (wanted.judgements,)
    several = wanted.beside(beside.judgement_files, "judgements")
    return several, tuple(roles.first_split(several) if len(several) > 1 else several)


def _query_files(
    wanted: Wanted,
    beside: Beside,
    judged: tuple[Sequence[Path], Judgements | None],
    documents: Sequence[Path],
    read: Callable[[Path], tuple[Query, ...]],
    told: Told,
) -> tuple[Path, ...]:
    """The files of queries: those that were named, are called so, or know the queries that were judged."""
    if wanted.queries is not None:
        return (wanted.queries,)
    files, judgements = judged
    called = wanted.beside(beside.query_files, "queries")
    several = [file for file in called if file not in files or roles.holds(file, "queries")]
    taken = several
    if judgements is None:
        if len({tuple(roles.name_parts(file)) for file in several}) > 1:
            raise wanted.several(several, "queries")
    elif len(several) > 1:
        taken = roles.asked_files(several, judgements, files, read) or several
    elif not several and not is_id(str(wanted.path)) and not any(queries_within(f) or roles.lists(f) for f in files):
        others = roles.unnamed(wanted.folder, (*files, *documents, wanted.path), LARGEST)
        taken = several = roles.asked_files(others, judgements, files, read)
    chosen = _titles(tuple(taken), read)
    told.notes += _passed_over(several, chosen, "queries")
    return chosen


def _queries_within(files: Sequence[Path]) -> tuple[Query, ...]:
    """The queries whose texts stand in the judgements."""
    return tuple({query.id: query for file in files for query in queries_within(file)}.values())


def _passed_over(several: Sequence[Path], taken: Sequence[Path], what: str) -> list[str]:
    """A sentence about files that were not taken."""
    others = [file.name for file in several if file not in taken]
    if not taken or not others:
        return []
    names = some_ids([file.name for file in taken])
    return [f"{what} are those of {names}; {some_ids(others)} may hold some too ({OPTIONS[what]} names another)"]


def _joined_judgements(
    wanted: Wanted, files: tuple[Path, ...], read: Callable[[Path], Judgements]
) -> tuple[tuple[Path, ...], Judgements | None]:
    """The judgements of all files, and those files; a document of a query with two labels is an error, unless one file
    says all that the others do, in finer grades.
    """
    if len(files) < 2:
        return files, read(files[0]) if files else None
    joined: dict[str, dict[str, int]] = {}
    apart = {file: as_dict(read(file)) for file in files}
    for of_file in apart.values():
        for query, of_query in of_file.items():
            known = joined.setdefault(query, {})
            for document, label in of_query.items():
                if known.setdefault(document, label) == label:
                    continue
                if finest := _finest(apart):
                    return (finest,), Judgements.of(apart[finest], finest.name)
                said = f"document {document} of query {query}: {known[document]} and {label}"
                raise wanted.several(files, "judgements", f" and disagree ({said})")
    return files, Judgements.of(joined, ", ".join(file.name for file in files))


def _finest(apart: Mapping[Path, dict[str, dict[str, int]]]) -> Path | None:
    """The file whose labels tell those of all others, the one with most relevant documents first; None if none does."""
    fine = [file for file, one in apart.items() if all(_finer(one, other) for other in apart.values())]
    relevant = {file: sum(label > 0 for of in apart[file].values() for label in of.values()) for file in fine}
    return max(fine, key=relevant.__getitem__, default=None)


def _finer(one: dict[str, dict[str, int]], other: dict[str, dict[str, int]]) -> bool:
    """Whether the labels of one tell those of the other, in the same order; what the other does not judge is lowest.

    >>> _finer({"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "b": 1}}), _finer({"q": {"a": 1}}, {"q": {"b": 1}})
    (True, False)
    """
    if any(document not in one.get(query, {}) for query, of_query in other.items() for document in of_query):
        return False
    lowest = min((label for of_query in other.values() for label in of_query.values()), default=0) - 1
    told: dict[int, set[int]] = {}
    for query, of_query in one.items():
        for document, label in of_query.items():
            told.setdefault(label, set()).add(other.get(query, {}).get(document, lowest))
    means = [told[label] for label in sorted(told)]
    return all(len(labels) == 1 for labels in means) and [max(x) for x in means] == sorted(max(x) for x in means)


def as_dict(judgements: Judgements) -> dict[str, dict[str, int]]:
    """Query to document to label."""
    documents, labels = list(judgements.document_ids), judgements.labels.tolist()
    bounds = zip(judgements.query_ids, judgements.offsets, judgements.offsets[1:], strict=False)
    return {query: dict(zip(documents[a:b], labels[a:b], strict=True)) for query, a, b in bounds}


def _joined_queries(
    wanted: Wanted, files: Sequence[Path], read: Callable[[Path], tuple[Query, ...]]
) -> tuple[Query, ...]:
    """The queries of all files; one with two texts is an error."""
    joined: dict[str, Query] = {}
    for file in files:
        for query in read(file):
            if joined.setdefault(query.id, query).text != query.text:
                raise wanted.several(files, "queries", f" and disagree (query {query.id} has two texts)")
    return tuple(joined.values())


def _titles(files: tuple[Path, ...], read: Callable[[Path], tuple[Query, ...]]) -> tuple[Path, ...]:
    """Of files that say the same queries in other words the one that is called after the part that is searched."""
    if len(files) < 2:
        return files
    texts = {file: {query.id: query.text for query in read(file)} for file in files}
    first = texts[files[0]]
    if any(of.keys() != first.keys() for of in texts.values()) or all(of == first for of in texts.values()):
        return files
    for word in USUAL:
        called = tuple(file for file in files if {word, f"{word}s"} & set(roles.name_parts(file)))
        if len(called) == 1:
            return called
    return files


def _agreed(queries: tuple[Query, ...], judgements: Judgements, told: Told) -> Judgements:
    """The judgements of these queries, by the ids that the queries have."""
    known = {query.id for query in queries}
    if known & set(judgements.query_ids):
        return judgements
    plain = tuple(map(plain_number, judgements.query_ids))
    if len(set(plain)) == len(plain) and known & set(plain):
        return replace(judgements, query_ids=plain)
    if (same := _by_number(queries, judgements)) is not None:
        first = judgements.query_ids[0]
        told.notes.append(f"queries are matched by their numbers: judgements of {first} are of {same[0]}")
        return replace(judgements, query_ids=same)
    by_text = {text_id(query.text): query.id for query in queries}
    if len(by_text) == len(queries) and any(name in by_text for name in judgements.query_ids):
        told.notes.append("judgements name queries by their texts")
        return replace(judgements, query_ids=tuple(by_text.get(name, name) for name in judgements.query_ids))
    second = set(judgements.document_ids)
    if 10 * len(known & second) >= 9 * len(second):  # numbers of a few queries are those of documents too
        turned: dict[str, dict[str, int]] = {}
        for document, of in as_dict(judgements).items():
            for query, label in of.items():
                turned.setdefault(query, {})[document] = label
        told.notes.append("judgements name the document before the query")
        return Judgements.of(turned, judgements.name)
    theirs, ours = some_ids(judgements.query_ids), some_ids([query.id for query in queries])
    raise DataError(
        f"none of the judged queries ({theirs}) is among the queries ({ours})", judgements.file or judgements.name
    )


def _by_number(queries: Sequence[Query], judgements: Judgements) -> tuple[str, ...] | None:
    """The ids of queries that have the numbers of the judged ones; None where that is not one to one."""
    ours = [NUMBERED.fullmatch(query.id) for query in queries]
    theirs = [NUMBERED.fullmatch(name) for name in judgements.query_ids]
    if not all(ours) or not all(theirs) or any(len({m[1] for m in side if m}) > 1 for side in (ours, theirs)):
        return None
    if not _same_letters(judgements.query_ids, [query.id for query in queries]):
        return None
    by_number = {m[2]: m[0] for m in ours if m}
    numbers = [m[2] for m in theirs if m]
    if len(by_number) < len(ours) or len(set(numbers)) < len(numbers) or not set(numbers) <= by_number.keys():
        return None
    return tuple(by_number[number] for number in numbers)


def _same_letters(theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether the same stands before the numbers of both, or nothing before those of one: D7 is not Q7, but may be 7.

    >>> _same_letters(["D7"], ["Q7"]), _same_letters(["7"], ["D7"]), _same_letters(["D07"], ["D7", "D8"])
    (False, True, True)
    """
    before = [{re.sub(r"\d+$", "", name) for name in side if name[-1:].isdigit()} for side in (theirs, ours)]
    return {""} in before or before[0] <= before[1]


def alike_documents(judgements: Judgements, ours: Sequence[str]) -> tuple[Judgements, str] | None:
    """Judgements that know none of the documents, by the ids of these, and what sets them apart; None where that is not
    one to one, or leaves more than one in ten judged documents unknown.
    """
    theirs = list(dict.fromkeys(judgements.document_ids))
    for what, alike in ALIKE.items():
        by_name = {alike(name): name for name in ours}
        names = {name: by_name.get(alike(name), name) for name in theirs}
        known = {name for name in theirs if alike(name) in by_name}
        one_to_one = len(by_name) == len(ours) and len({alike(name) for name in theirs}) == len(theirs)
        told_apart = what == BEFORE and not _same_letters(theirs, ours)
        if one_to_one and not told_apart and 10 * len(known) >= 9 * len(theirs) > 0:
            first = next(name for name in theirs if name in known)
            said = f"documents are matched, {what} apart: judgements of {first} are of {names[first]}"
            ids = Texts.of([names[name] for name in judgements.document_ids])
            return replace(judgements, document_ids=ids, file=None), said
    return None


def unknown_documents(theirs: Sequence[str], ours: Sequence[str]) -> str:
    """The sentence about judgements that know none of the documents, and what would make them the same.

    >>> unknown_documents(["FT-1"], ["ft-1"]).partition("; ")[2]
    'case apart they are the same'
    """
    said = f"they speak of {some_ids(theirs)}, the documents are {some_ids(ours)}"
    same = next((what for what, alike in ALIKE.items() if set(map(alike, theirs)) & set(map(alike, ours))), None)
    hint = f"; {same} apart they are the same" if same else ""
    return f"the judgements know none of the documents: {said}{hint}"


def some_ids(ids: Sequence[str]) -> str:
    """A few of many ids.

    >>> some_ids(["1", "2"]), some_ids(["a", "b", "c", "d"])
    ('1, 2', 'a, b, c …')
    """
    return ", ".join(map(shortened, ids[:SHOWN])) + (" …" if len(ids) > SHOWN else "")
