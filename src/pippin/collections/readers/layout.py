"""Find the queries and qrels of a collection, and match their ids.

Files that the user names come first, then files beside the documents. Rules for several files:

- parts of one split are read as one, unless they contradict each other;
- of several splits, test comes before dev before train (`detect.select_split`);
- of several query files, those that contain the judged queries;
- of several texts for the same queries, the titles; of several label scales for the same documents, the finest.

Ids are matched as written, else without leading zeros, else by number (CLEF's qrels judge topic C041 as 41).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from pathlib import Path

from pippin.collections.collection import Diagnostics, Query
from pippin.collections.readers import detect
from pippin.collections.readers.columns import text_id
from pippin.collections.readers.detect import QRELS_FILES, QUERY_FILES
from pippin.collections.readers.files import decode_text, format_examples, read_head, sample_files
from pippin.collections.readers.qrels import read_embedded_queries, read_qrels
from pippin.collections.readers.records import file_format
from pippin.collections.readers.topics import QUERY_TEXT_PRIORITY, read_queries, strip_leading_zeros
from pippin.data.adapters import is_irds_id
from pippin.data.qrels import Qrels
from pippin.errors import DataError, PippinError, UnknownName
from pippin.kernels.strings import StringColumn

FLAGS = {"queries": "--queries", "qrels": "--qrels"}
NUMBERED = re.compile(r"([A-Za-z_-]*)0*(\d+)")
PREFIX = "the prefix of the number"
ID_NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "case": str.casefold,
    "leading zeros": strip_leading_zeros,
    "“.0” behind numbers": lambda name: re.sub(r"(?<=\d)\.0+$", "", name),
    "angle brackets": lambda name: name.strip("<>"),
    "folders and suffixes": lambda name: re.sub(r".*/|\.[A-Za-z]\w*$", "", name),
    PREFIX: lambda name: strip_leading_zeros(re.sub(r"^.*?(?=\d+$)", "", name)),
}
MAX_PROBED_SIZE = 1 << 26  # bytes of a file that is tried as queries though its name does not say so

ReadQueries = Callable[[Path], tuple[Query, ...]]
Labels = dict[str, dict[str, int]]  # query → document → label


@dataclass(frozen=True)
class ReadRequest:
    """The arguments of `read_collection` that readers need."""

    path: Path
    queries: Path | None
    qrels: Path | None
    name: str
    fields: tuple[str, ...] | None
    query_field: str | None
    documents_only: bool = False  # skip queries and qrels
    jobs: int = 1  # processes that parse web pages
    links_only: bool = False  # skip texts, keep urls and links

    @property
    def folder(self) -> Path:
        """The folder of the documents."""
        return self.path if self.path.is_dir() else self.path.parent

    def find_files(self, pattern: str, role: str) -> list[Path]:
        """Return the files beside the documents that may hold "queries" or "qrels", by name or else by content."""
        if is_irds_id(str(self.path)):
            return []
        is_denormalized = role == "qrels" and self.path.is_file() and bool(detect.denormalized_columns(self.path))
        if is_denormalized or detect.has_section(self.path, role):
            return [self.path]
        matches = re.compile(pattern, re.IGNORECASE).fullmatch
        files = detect.find_role_files(self.folder, role, matches, () if self.path.is_dir() else (self.path,))
        return [file for file in files if not detect.name_parts(file)] or files  # queries.tsv before test-queries.tsv

    def require_one(self, files: Sequence[Path], role: str) -> Path | None:
        """Return the only file, or None if there is none; raise if there are several."""
        if len(files) > 1:
            raise self.ambiguous_files(files, role)
        return files[0] if files else None

    def ambiguous_files(self, files: Sequence[Path], role: str, reason: str = "") -> DataError:
        """Return the error about several files of which the user has to name one."""
        names = ", ".join(str(file.relative_to(self.folder)) for file in files)
        action = f"name one with {FLAGS[role]}" if role in FLAGS else "keep one"
        return DataError(f"several files may hold the {role} ({names}){reason}; {action}", self.folder)

    def select_fields(self, available: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
        """Return the requested fields in their order, or the default; raise `UnknownName` for any other."""
        for name in self.fields or ():
            if name not in available:
                raise UnknownName("field", name, available)
        return tuple(dict.fromkeys(self.fields)) if self.fields else tuple(default)


@dataclass(frozen=True)
class CompanionFiles:
    """File name patterns (full match, any case) and parsers of the queries and qrels of a format."""

    query_files: str = QUERY_FILES
    qrels_files: str = QRELS_FILES
    read_queries: Callable[[Path, str | None, Qrels | None], tuple[Query, ...]] = lambda path, query_field, qrels: (
        read_queries(path, query_field)
    )
    read_qrels: Callable[[Path, Diagnostics], Qrels] = read_qrels


DEFAULT_COMPANIONS = CompanionFiles()


@dataclass(frozen=True)
class Topics:
    """Queries and qrels with their files and messages about them."""

    queries: tuple[Query, ...]
    qrels: Qrels | None
    files: Mapping[str, tuple[Path, ...]] = dataclass_field(default_factory=dict)
    diagnostics: Sequence[str] = ()


def find_topics(request: ReadRequest, companions: CompanionFiles, documents: Sequence[Path] = ()) -> Topics:
    """Read the queries and qrels that the user named, or those beside the documents."""
    diagnostics = Diagnostics()
    candidates, split = _find_qrels_files(request, companions)
    qrels_files, qrels = _merge_qrels(request, split, lambda path: companions.read_qrels(path, diagnostics))
    unused_qrels = _report_unused(candidates, qrels_files, "qrels")

    def read(path: Path) -> tuple[Query, ...]:
        return companions.read_queries(path, request.query_field, qrels)

    query_files, unused_queries = _find_query_files(request, companions, (qrels_files, qrels), documents, read)
    has_lists = len(query_files) == 1 and detect.has_relevant_lists(query_files[0])
    if qrels is None and request.qrels is None and has_lists:
        qrels_files, qrels = query_files, companions.read_qrels(query_files[0], diagnostics)
    source = query_files or tuple(file for file in qrels_files if detect.has_relevant_lists(file))
    queries = _merge_queries(request, source, read) if source else _read_embedded(qrels_files)
    alignment: list[str] = []
    if qrels is not None and queries:
        qrels, alignment = _align_query_ids(queries, qrels)
    files = {"queries": query_files or (qrels_files if queries else ()), "qrels": qrels_files}
    messages = Diagnostics(unused_qrels, diagnostics, unused_queries, alignment)
    return Topics(queries, qrels, {role: paths for role, paths in files.items() if paths}, messages)


def _find_qrels_files(request: ReadRequest, companions: CompanionFiles) -> tuple[Sequence[Path], tuple[Path, ...]]:
    """Return all files that may hold qrels, and those of one split."""
    if request.qrels is not None:
        return (), (request.qrels,)
    candidates = request.find_files(companions.qrels_files, "qrels")
    return candidates, tuple(detect.select_split(candidates) if len(candidates) > 1 else candidates)


def _find_query_files(
    request: ReadRequest,
    companions: CompanionFiles,
    judgements: tuple[Sequence[Path], Qrels | None],
    documents: Sequence[Path],
    read: ReadQueries,
) -> tuple[tuple[Path, ...], list[str]]:
    """Return the query files and a message about other candidates: by name, or by the ids of judged queries."""
    if request.queries is not None:
        return (request.queries,), []
    qrels_files, qrels = judgements
    candidates_by_name = request.find_files(companions.query_files, "queries")
    candidates = [file for file in candidates_by_name if file not in qrels_files or detect.has_section(file, "queries")]
    files = candidates
    if qrels is None:
        if len({tuple(detect.name_parts(file)) for file in candidates}) > 1:
            raise request.ambiguous_files(candidates, "queries")
    elif len(candidates) > 1:
        files = detect.select_query_files(candidates, qrels, qrels_files, read) or candidates
    elif (
        not candidates
        and not is_irds_id(str(request.path))
        and not any(read_embedded_queries(file) or detect.has_relevant_lists(file) for file in qrels_files)
    ):
        skip = (*qrels_files, *documents, request.path)
        unclassified = detect.unclassified_files(request.folder, skip, MAX_PROBED_SIZE)
        files = candidates = detect.select_query_files(unclassified, qrels, qrels_files, read)
    selection = _prefer_title_file(tuple(files), read)
    return selection, _report_unused(candidates, selection, "queries")


def _read_embedded(qrels_files: Sequence[Path]) -> tuple[Query, ...]:
    """Return the queries whose texts are in the qrels."""
    return tuple({query.id: query for file in qrels_files for query in read_embedded_queries(file)}.values())


def _report_unused(candidates: Sequence[Path], files: Sequence[Path], role: str) -> list[str]:
    """Return a message about candidates that are not used, if there are any."""
    unused = [file for file in candidates if file not in files]
    if not files or not unused:
        return []
    names = format_examples(unused)
    return [f"{role} are those of {format_examples(files)}; {names} may hold some too ({FLAGS[role]} names another)"]


def _merge_qrels(
    request: ReadRequest, files: tuple[Path, ...], read: Callable[[Path], Qrels]
) -> tuple[tuple[Path, ...], Qrels | None]:
    """Merge the qrels of several files.

    If a document has two labels, the file whose labels refine all others wins; if there is none, that is an error.
    """
    if len(files) < 2:
        return files, read(files[0]) if files else None
    merged: Labels = {}
    by_file = {file: read(file).by_query() for file in files}
    for labels in by_file.values():
        for query, documents in labels.items():
            merged_documents = merged.setdefault(query, {})
            for document, label in documents.items():
                if merged_documents.setdefault(document, label) == label:
                    continue
                if finest := _find_finest(by_file):
                    return (finest,), Qrels.from_dict(by_file[finest], finest.name)
                conflict = f"document {document} of query {query}: {merged_documents[document]} and {label}"
                raise request.ambiguous_files(files, "qrels", f" and disagree ({conflict})")
    return files, Qrels.from_dict(merged, ", ".join(file.name for file in files))


def _find_finest(by_file: Mapping[Path, Labels]) -> Path | None:
    """Return the file whose labels refine those of all others, the one with most relevant documents first."""
    finest = [file for file, labels in by_file.items() if all(_is_refinement(labels, of) for of in by_file.values())]
    n_relevant = {file: sum(label > 0 for of in by_file[file].values() for label in of.values()) for file in finest}
    return max(finest, key=n_relevant.__getitem__, default=None)


def _is_refinement(fine: Labels, coarse: Labels) -> bool:
    """Return whether each fine label implies one coarse label, in the same order; unjudged is the lowest.

    >>> fine = {"q": {"a": 3, "b": 2, "c": 1}}
    >>> _is_refinement(fine, {"q": {"a": 1, "b": 1}}), _is_refinement({"q": {"a": 1}}, {"q": {"b": 1}})
    (True, False)
    """
    if any(document not in fine.get(query, {}) for query, documents in coarse.items() for document in documents):
        return False
    lowest = min((label for documents in coarse.values() for label in documents.values()), default=0) - 1
    implied: dict[int, set[int]] = {}
    for query, documents in fine.items():
        for document, label in documents.items():
            implied.setdefault(label, set()).add(coarse.get(query, {}).get(document, lowest))
    ascending = [implied[label] for label in sorted(implied)]
    largest = [max(labels) for labels in ascending]
    return all(len(labels) == 1 for labels in ascending) and largest == sorted(largest)


def _merge_queries(request: ReadRequest, files: Sequence[Path], read: ReadQueries) -> tuple[Query, ...]:
    """Merge the queries of several files; a query with two texts is an error."""
    merged: dict[str, Query] = {}
    for file in files:
        for query in read(file):
            if merged.setdefault(query.id, query).text != query.text:
                raise request.ambiguous_files(files, "queries", f" and disagree (query {query.id} has two texts)")
    return tuple(merged.values())


def _prefer_title_file(files: tuple[Path, ...], read: ReadQueries) -> tuple[Path, ...]:
    """Return the file named after the searched field, among files with different texts for the same queries."""
    if len(files) < 2:
        return files
    texts = {file: {query.id: query.text for query in read(file)} for file in files}
    first = texts[files[0]]
    if any(of.keys() != first.keys() for of in texts.values()) or all(of == first for of in texts.values()):
        return files
    for word in QUERY_TEXT_PRIORITY:
        candidates_by_name = tuple(file for file in files if {word, f"{word}s"} & set(detect.name_parts(file)))
        if len(candidates_by_name) == 1:
            return candidates_by_name
    return files


def _align_query_ids(queries: tuple[Query, ...], qrels: Qrels) -> tuple[Qrels, list[str]]:
    """Return the qrels with the ids of the queries, and a message if ids had to change."""
    query_ids = {query.id for query in queries}
    if query_ids & set(qrels.query_ids):
        return qrels, []
    stripped = tuple(map(strip_leading_zeros, qrels.query_ids))
    if len(set(stripped)) == len(stripped) and query_ids & set(stripped):
        return replace(qrels, query_ids=stripped), []
    if (aligned := _match_by_number(queries, qrels)) is not None:
        message = f"queries are matched by their numbers: judgements of {qrels.query_ids[0]} are of {aligned[0]}"
        return replace(qrels, query_ids=aligned), [message]
    by_text = {text_id(query.text): query.id for query in queries}
    if len(by_text) == len(queries) and any(name in by_text for name in qrels.query_ids):
        aligned = tuple(by_text.get(name, name) for name in qrels.query_ids)
        return replace(qrels, query_ids=aligned), ["judgements name queries by their texts"]
    second_column = set(qrels.document_ids)
    if 10 * len(query_ids & second_column) >= 9 * len(second_column):  # a few numbers are ids of both
        swapped: Labels = {}
        for document, of in qrels.by_query().items():
            for query, label in of.items():
                swapped.setdefault(query, {})[document] = label
        return Qrels.from_dict(swapped, qrels.name), ["judgements name the document before the query"]
    judged_ids, existing = format_examples(qrels.query_ids), format_examples([query.id for query in queries])
    raise DataError(
        f"none of the judged queries ({judged_ids}) is among the queries ({existing})", qrels.file or qrels.name
    )


def _match_by_number(queries: Sequence[Query], qrels: Qrels) -> tuple[str, ...] | None:
    """Return the query ids that have the numbers of the judged ones; None if that is not one to one."""
    existing = [NUMBERED.fullmatch(query.id) for query in queries]
    judged_ids = [NUMBERED.fullmatch(name) for name in qrels.query_ids]
    if (
        not all(existing)
        or not all(judged_ids)
        or any(len({m[1] for m in ids if m}) > 1 for ids in (existing, judged_ids))
    ):
        return None
    if not _have_same_prefix(qrels.query_ids, [query.id for query in queries]):
        return None
    by_number = {match[2]: match[0] for match in existing if match}
    numbers = [match[2] for match in judged_ids if match]
    if len(by_number) < len(existing) or len(set(numbers)) < len(numbers) or not set(numbers) <= by_number.keys():
        return None
    return tuple(by_number[number] for number in numbers)


def _have_same_prefix(judged_ids: Sequence[str], existing: Sequence[str]) -> bool:
    """Return whether numbered ids have the same prefix, or one side has none: D7 is not Q7, but may be 7.

    >>> _have_same_prefix(["D7"], ["Q7"]), _have_same_prefix(["7"], ["D7"]), _have_same_prefix(["D07"], ["D7", "D8"])
    (False, True, True)
    """
    prefixes = [{re.sub(r"\d+$", "", name) for name in ids if name[-1:].isdigit()} for ids in (judged_ids, existing)]
    return {""} in prefixes or prefixes[0] <= prefixes[1]


def align_document_ids(qrels: Qrels, document_ids: Sequence[str]) -> tuple[Qrels, str] | None:
    """Return qrels with the ids of the documents, and a message.

    None if no normalization in `ID_NORMALIZERS` is one to one and finds at least 90% of the judged documents.
    """
    judged_ids = list(dict.fromkeys(qrels.document_ids))
    for difference, normalize in ID_NORMALIZERS.items():
        by_key = {normalize(name): name for name in document_ids}
        aligned = {name: by_key.get(normalize(name), name) for name in judged_ids}
        matches = {name for name in judged_ids if normalize(name) in by_key}
        one_to_one = len(by_key) == len(document_ids) and len(set(map(normalize, judged_ids))) == len(judged_ids)
        is_other_prefix = difference == PREFIX and not _have_same_prefix(judged_ids, document_ids)
        if one_to_one and not is_other_prefix and 10 * len(matches) >= 9 * len(judged_ids) > 0:
            first = next(name for name in judged_ids if name in matches)
            message = f"documents are matched without {difference}: judgements of {first} are of {aligned[first]}"
            ids = StringColumn.of([aligned[name] for name in qrels.document_ids])
            return replace(qrels, document_ids=ids, file=None), message
    return None


def describe_unknown_documents(judged_ids: Sequence[str], existing: Sequence[str]) -> str:
    """Return the message about qrels that share no document with the collection.

    >>> describe_unknown_documents(["FT-1"], ["ft-1"]).partition("; ")[2]
    'some ids differ only by case'
    """
    difference = next(
        (
            name
            for name, normalize in ID_NORMALIZERS.items()
            if set(map(normalize, judged_ids)) & set(map(normalize, existing))
        ),
        None,
    )
    hint = f"; some ids differ only by {difference}" if difference else ""
    examples = f"judged {format_examples(judged_ids)}, documents {format_examples(existing)}"
    return f"no judged document is in the collection: {examples}{hint}"


PANDAS = """python -c "import pandas{more}; pandas.{read}.to_csv('documents.csv', index=False)\""""
SQLITE = "read_sql('SELECT * FROM TABLE', sqlite3.connect('{name}'))"
CONVERSIONS = {  # suffixes → a command that converts such a file
    (".7z", ".rar"): "7z x {name} -o{stem}",
    (".sql",): "load it into its database, and write each table as CSV with headings",
    (".db", ".sqlite", ".sqlite3"): PANDAS.format(more=", sqlite3", read=SQLITE),
    (".xlsx", ".xls", ".ods"): PANDAS.format(more="", read="read_excel('{name}')"),
    (".pkl", ".pickle"): PANDAS.format(more="", read="DataFrame(pandas.read_pickle('{name}'))"),
    (".pdf",): 'for f in *.pdf; do pdftotext "$f"; done',
    (".doc", ".docx", ".odt", ".epub", ".tex", ".org"): "pandoc {name} -o {stem}.md",
    (".bib",): "pandoc {name} -t csljson -o documents.json",
}
RECORDS = """write the documents as JSON lines, {"id": "7", "text": "…"}, with the program that made the file"""
LINES = (
    """python -c "import json; [print(json.dumps({'id': i, 'text': t})) for i, t in enumerate(open('FILE'))]" """
    "> documents.jsonl"
)
FEATURES = re.compile(rb"-?\d+ +qid:\S+ +\d+:")


def describe_unknown_format(path: Path) -> str:
    """Return the message about a path that no reader matches, with a command that converts it if one is known."""
    files = list(sample_files(path))
    if not files:
        return "no document format matches: all files are empty"
    if any(map(is_feature_file, files)):
        return "this is a data set with features, not a collection of documents; use it with pippin bench"
    for file in files:
        for suffixes, command in CONVERSIONS.items():
            if suffix := next((end for end in suffixes if file.name.lower().endswith(end)), None):
                line = command.format(name=file.name, stem=file.name[: -len(suffix)])
                return f"{suffix} files are not supported; convert them: {line}"
    if is_binary(files[0]):
        return f"{files[0].name} is a binary file; {RECORDS}"
    if all(file_format(file) is not None for file in files):
        return f"{files[0].name} has no documents: fields with an id and texts are missing; {RECORDS}"
    suffixes_found = Counter(file.suffix.lower() or file.name for file in files).most_common(3)
    names = ", ".join(suffix for suffix, _ in suffixes_found)
    return f"no document format matches; found {names} files. Convert them to JSON lines: {LINES}"


def is_binary(path: Path) -> bool:
    """Return whether a file is not text."""
    try:
        decode_text(start := read_head(path), path)
    except PippinError:
        return True
    return b"\0" in start


def is_feature_file(path: Path) -> bool:
    """Return whether a file is a LETOR data set."""
    try:
        return FEATURES.match(read_head(path)) is not None
    except PippinError:
        return False
