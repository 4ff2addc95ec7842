"""What today's evaluators computed for the inputs of `tests/golden`, packed: a value per number, query and case.

`modern.tsv` says how each recorded number is asked for, in the columns that the checker beside the data sets knows;
`modern-rest.tsv` has those that it cannot compare, because the original raised an error for some query or left tied
documents in an arbitrary order there. `compare` looks at all other queries of these.

    python -m tests.golden.recordings        how many of each evaluator's numbers are compared, as a table
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import shlex
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.golden import HERE

from pippin.cli.main import main

ARCHIVE = HERE / "modern" / "recordings.tar.xz"
KEPT = ("mean", "per_query", "unstable", "unstable_mean")
Row = dict[str, str]


def rows(name: str) -> list[Row]:
    """The rows of a map."""
    with (HERE / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def pack(outputs: Path, forms: Path) -> None:
    """Keep the recordings of a folder, without what no comparison looks at."""
    with tarfile.open(ARCHIVE, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in [forms, *sorted(outputs.glob("*/*.json"))]:
            content = path.read_bytes()
            if path.suffix == ".json":
                whole = json.loads(content)
                content = json.dumps({key: whole[key] for key in KEPT if key in whole}, separators=(",", ":")).encode()
            entry = tarfile.TarInfo(path.name if path == forms else path.relative_to(outputs).as_posix())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def recordings() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Each recording: whose, of which case, from which form of input, and what it holds."""
    with tarfile.open(ARCHIVE) as archive:
        forms: dict[str, str] = {}
        for entry in archive:
            file = archive.extractfile(entry)
            assert file is not None
            content = file.read().decode()
            if entry.name == "forms.tsv":
                forms = {line.split("\t")[0]: line.split("\t")[1] for line in content.splitlines()}
                continue
            folder, _, name = entry.name.partition("/")
            form = "trec" if ".trec." in name else forms[folder]
            yield folder, name.partition(".")[0], form, json.loads(content)


def evaluated(inputs: Path, case: str, form: str, tool: str, options: str, measures: list[str]) -> Any:
    """What `pippin eval` says, as its JSON has it."""
    ends = ("letor4.txt", "scores") if form == "letor" else ("qrels", "run")
    files = [str(inputs / f"{case}.{end}") for end in ends]
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    asked = [word for measure in measures for word in ("-m", measure)]
    with contextlib.redirect_stdout(out):
        status = main(
            ["eval", *files, "--tool", tool, *shlex.split(options), "--per-query", "--format", "json", *asked]
        )
    assert status == 0, (case, tool, options, measures)
    return json.loads(out.buffer.getvalue())


def near(ours: Any, theirs: Any, tolerance: float) -> bool:
    """As the checker beside the data sets compares."""
    missing = [value is None or (isinstance(value, float) and math.isnan(value)) for value in (ours, theirs)]
    return all(missing) if any(missing) else abs(ours - theirs) <= tolerance * max(1.0, abs(theirs))


def unstable(recording: dict[str, Any], field: str, key: str) -> set[str]:
    """Queries (or means) whose value hangs on the order of the input."""
    listed = recording.get(field, [])
    if isinstance(listed, dict):
        listed = listed.get(key, [])
    return set(map(str, listed)) if isinstance(listed, list) else {key} if listed else set()


def tied_queries(inputs: Path, case: str, form: str) -> set[str]:
    """Queries with scores that are equal in single precision."""
    scores: dict[str, list[np.float32]] = defaultdict(list)
    if form == "trec":
        for line in (inputs / f"{case}.run").read_text().splitlines():
            scores[line.split()[0]].append(np.float32(float(line.split()[4])))
    else:
        listed = (inputs / f"{case}.scores").read_text().split()
        for line, score in zip((inputs / f"{case}.letor4.txt").read_text().splitlines(), listed, strict=True):
            scores[line.split()[1].removeprefix("qid:")].append(np.float32(float(score)))
    return {query for query, found in scores.items() if len(set(found)) < len(found)}


def compare(inputs: Path, name: str, *, whole: bool) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Misses by evaluator, and which numbers of each were compared; `whole`: every query that is not called unstable,
    or only those without ties and without a recorded error.
    """
    asked: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows(name):
        asked[row["recorded"], row["form"]].append(row)
    misses: dict[str, list[str]] = defaultdict(list)
    covered: dict[str, set[str]] = defaultdict(set)
    for folder, case, form, recording in recordings():
        groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in asked[folder, form]:
            if row["key"] in (recording.get("mean") or {}) or row["key"] in (recording.get("per_query") or {}):
                groups[row["tool"], row["options"]].append(row)
        left = set() if whole else tied_queries(inputs, case, form)
        for (tool, options), group in groups.items():
            found = evaluated(inputs, case, form, tool, options, sorted({row["measure"] for row in group}))
            for row in group:
                covered[folder].add(row["key"])
                misses[folder] += [f"{case} {row['key']}: {m}" for m in _misses(row, recording, found, left, whole)]
    return misses, covered


def coverage() -> str:
    """By evaluator: its numbers, those that the map compares, and those that are compared in part or not at all."""
    recorded: dict[str, set[str]] = defaultdict(set)
    refused: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for folder, _, form, recording in recordings():
        values = {**(recording.get("mean") or {}), **(recording.get("per_query") or {})}
        recorded[folder] |= set(values)
        refused[folder] |= {(key, form) for key in values if _refused(recording, key)}
    whole, part = (
        {folder: {row["key"] for row in rows(name) if row["recorded"] == folder} for folder in recorded}
        for name in ("modern.tsv", "modern-rest.tsv")
    )
    lines = ["| evaluator | numbers | compared | share | in part | errors | not |", "| --- |" + " ---: |" * 6]
    for folder, keys in sorted(recorded.items()):
        compared, partly = len(keys & whole[folder]), len(keys & part[folder] - whole[folder])
        errors = len({key for key, _ in refused[folder]} - whole[folder])
        lines.append(
            f"| {folder} | {len(keys)} | {compared} | {compared / len(keys):.0%} | {partly} | {errors} | "
            f"{len(keys) - compared - partly} |"
        )
    return "\n".join(lines)


def _refused(recording: dict[str, Any], key: str) -> bool:
    """Whether the original raised an error for a query, or for the mean, of this number."""
    values = ((recording.get("per_query") or {}).get(key) or {}).values()
    return any(isinstance(value, dict) for value in (*values, (recording.get("mean") or {}).get(key)))


def _misses(row: Row, recording: dict[str, Any], found: Any, left: set[str], whole: bool) -> Iterator[str]:
    key, measure, tolerance = row["key"], row["measure"], float(row["tolerance"])
    skip = unstable(recording, "unstable", key)
    values = (recording.get("per_query") or {}).get(key) or {}
    refused = {query for query, value in values.items() if isinstance(value, dict)}
    for query, value in values.items():
        ours = found["per_query"][measure].get(query)
        if query not in skip | left | (set() if whole else refused) and not near(ours, value, tolerance):
            yield f"query {query}: {ours}, recorded {value}"
    means = recording.get("mean") or {}
    if key not in means or skip or key in unstable(recording, "unstable_mean", key):
        return
    if not whole and (left or refused or isinstance(means[key], dict)):
        return
    if not near(found["mean"][measure], means[key], tolerance):
        yield f"mean: {found['mean'][measure]}, recorded {means[key]}"


if __name__ == "__main__":
    print(coverage())
